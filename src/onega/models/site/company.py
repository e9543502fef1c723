"""Which users come in each week, and which of their own weeks they repeat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from onega.core.types import Floats, Ints
from onega.kernels.models.regulate import Weeks, exchange
from onega.models.site.campaigns import Campaigns

MIXING, SETTLING = 5, 20
"""Exchanges tried for each person and week: whatever comes of them, and towards the totals.
With fewer than five, more of a history stands where it stood than chance would leave there."""

AT_ONCE = 1 << 20
"""Trials that are drawn at once: memory."""

SMALL = 0.1
"""Errors of weeks with less than this share of the mean are measured by it, not by themselves."""


class Chosen(NamedTuple):
    """Persons, the campaign that each of them repeats, and in which round, counted from 0."""

    person: Ints
    campaign: Ints
    round: Ints


def weekly_sums(weeks: Weeks) -> Floats:
    """Return work and jobs (rows) of each week, of the persons who are there."""
    present = weeks.level < weeks.people
    week, number = np.nonzero(present)[1], weeks.content[present]
    return np.stack(
        [np.bincount(week, of[number], weeks.people.size) for of in (weeks.work, weeks.jobs)]
    )


@dataclass(frozen=True)
class Crowd:
    """People who repeat their weeks.

    Attributes
    ----------
    people
        How many times the log's users there are in a round, by its number. The fractional part is
        the share of rounds in which one more copy of each user is there, drawn for every user and
        round: which of a user's weeks are left out, or come twice, is then settled by exchanges,
        so that the totals are as regulated as the log's. (Whole users that come or stay away would
        leave holes in the totals that the others can't fill within a season.)
    """

    campaigns: Campaigns
    season: int
    regulated: bool
    people: Callable[[int], float]
    rng: Generator

    def passes(self) -> Iterator[Chosen]:
        """Go through the log's rounds, again and again, and yield the users who come."""
        count, users = self.campaigns.rounds, int(self.campaigns.user.max()) + 1
        first = 0
        while True:
            people = np.array([self.people(first + one) for one in range(count)])
            within = self.rng.random((users, count))
            level = np.concatenate([copy + within for copy in range(math.ceil(people.max()))])
            weeks = self._weeks(level, people)
            scale = weeks.scale.copy()
            weeks.scale[:] = np.inf  # no error is too large
            self._exchange(weeks, MIXING)
            if self.regulated:
                weeks.scale[:] = scale
                self._exchange(weeks, SETTLING)
            person, place = np.nonzero((weeks.content >= 0) & (level < people))
            yield Chosen(person, weeks.content[person, place], first + place)
            first += count

    def _weeks(self, level: Floats, people: Floats) -> Weeks:
        """Lay all users' weeks out as they stood, and the totals in another order."""
        some = self.campaigns
        users = int(some.user.max()) + 1
        history = np.full((users, some.rounds), -1)
        history[some.user, some.place] = np.arange(some.user.size)
        content = np.tile(history, (level.shape[0] // users, 1))
        # The order of k + U(−s/2, s/2): no week goes farther than s.
        half = self.season / 2
        jitter = self.rng.uniform(-half, half, some.rounds)
        source = np.argsort(np.arange(some.rounds) + jitter, kind="stable")
        wanted = some.totals[:, source] * people
        weeks = Weeks(
            content, some.place, np.append(some.work, 0.0), np.append(some.size, 0.0), level,
            people, np.zeros_like(wanted), wanted, np.empty_like(wanted),
        )  # fmt: skip
        weeks.sums[:] = weekly_sums(weeks)
        # Other people than the log's have other work in all; exchanges can't change it.
        wanted *= weeks.sums.sum(axis=1, keepdims=True) / wanted.sum(axis=1, keepdims=True)
        least = np.maximum(SMALL * wanted.mean(axis=1, keepdims=True), np.finfo(float).tiny)
        np.maximum(wanted, least, out=weeks.scale)
        return weeks

    def _exchange(self, weeks: Weeks, trials: int) -> None:
        persons, rounds = weeks.content.shape
        left = trials * persons * rounds
        while left > 0:
            size = min(left, AT_ONCE)
            exchange(
                weeks,
                self.rng.integers(0, persons, size),
                self.rng.integers(0, rounds, size),
                self.rng.integers(-self.season, self.season + 1, size),
                self.season,
            )
            left -= size

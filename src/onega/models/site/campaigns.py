"""Campaigns: what one user submitted in one week, as it came; all of a log's together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.core.units import SECONDS
from onega.core.workload.think_times import last_finished
from onega.models.jobs.jobs import Jobs
from onega.models.parts import Part, Shapes

BURST = 1200.0
"""Seconds. A longer break between two submissions begins a new session; jobs without a user are
taken for one stranger's as long as there is no such break between them."""

PERIODS = tuple(SECONDS[unit] for unit in ("w", "d", "h", "m"))
"""A campaign is a user's week. Logs shorter than three weeks are cut into days, hours, minutes."""

LEAST_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Campaigns(Part):
    """A log by users' weeks.

    Attributes
    ----------
    period, phase, rounds
        Seconds in a round (a week); where in the week a round begins, seconds after a Monday's
        midnight; how many whole rounds the log has.
    user, place, size
        Of each campaign, by round: whose it is (0, 1, …), in which round it stood, how many jobs it
        has.
    submit, procs, runtime, estimate
        Of each job, campaign by campaign: seconds after the round's begin; width; seconds; seconds,
        −1 where unknown.
    after, think
        Which job of the same campaign its user waited for, counted from the campaign's first (−1:
        none), and the seconds from its end.
    """

    KIND: ClassVar[str] = "campaigns"
    SHAPES: ClassVar[Shapes] = dict.fromkeys(
        ("user", "place", "size"), ("campaigns",)
    ) | dict.fromkeys(("submit", "procs", "runtime", "estimate", "after", "think"), ("jobs",))
    period: float
    phase: float
    rounds: int
    user: Ints
    place: Ints
    size: Ints
    submit: Floats
    procs: Ints
    runtime: Floats
    estimate: Floats
    after: Ints
    think: Floats

    def _check(self) -> None:
        if not (self.period > 0 and 0 <= self.phase < SECONDS["w"] and self.rounds >= 1):
            raise ModelError("campaigns: period > 0, 0 <= phase < a week, rounds >= 1 are needed")
        if np.any(self.size < 1) or self.size.sum() != self.submit.size or not self.submit.size:
            raise ModelError("campaigns: sizes must be at least 1 and add up to the jobs")
        if np.any(self.user < 0) or np.any(np.diff(self.place) < 0):
            raise ModelError("campaigns: users are at least 0, places ascend")
        if self.place[0] < 0 or self.place[-1] >= self.rounds:
            raise ModelError(f"campaigns: places lie in 0 … {self.rounds - 1}")
        if np.any(self.procs < 1) or np.any(self.runtime <= 0):
            raise ModelError("campaigns: widths are at least 1, run times positive")
        if np.any(self.submit < 0) or np.any(self.after >= np.repeat(self.size, self.size)):
            raise ModelError("campaigns: submissions are at least 0, waiting stays in a campaign")

    @classmethod
    def of(cls, jobs: Jobs, within: float) -> Campaigns:
        """Cut a log: whole weeks from the hour of its first job on; what is left is left out."""
        span = float(jobs.clock[-1] - jobs.clock[0])
        period = next((one for one in PERIODS if span >= LEAST_ROUNDS * one), max(span, 1.0))
        begin = float(jobs.clock[0])
        if period > SECONDS["h"]:
            begin = float(np.floor(begin / SECONDS["h"]) * SECONDS["h"])
        since = jobs.clock - begin
        rounds = max(1, int(since[-1] // period))
        place = (since // period).astype(np.int64)
        user = _people(jobs, place)
        order = np.lexsort((np.arange(len(jobs)), user, place))
        order = order[place[order] < rounds]
        if not order.size:
            raise ModelError("all jobs were submitted at one instant")
        user, place = user[order], place[order]
        fresh = np.concatenate(([True], (np.diff(user) != 0) | (np.diff(place) != 0)))
        first = np.flatnonzero(fresh)
        after, think = _waited(jobs, order, np.cumsum(fresh) - 1, first, within)
        estimate = jobs.estimate[order]
        return cls(
            period=float(period), phase=begin % SECONDS["w"], rounds=rounds,
            user=np.unique(user[first], return_inverse=True)[1], place=place[first],
            size=np.diff(np.append(first, order.size)),
            submit=since[order] - place * period, procs=jobs.procs[order].astype(np.int64),
            runtime=jobs.runtime[order], estimate=np.where(estimate > 0, estimate, -1.0),
            after=after, think=think,
        )  # fmt: skip

    @cached_property
    def first(self) -> Ints:
        """Row of each campaign's first job."""
        return np.cumsum(self.size) - self.size

    @cached_property
    def work(self) -> Floats:
        """Σ procs·runtime of each campaign."""
        return np.add.reduceat(self.procs * self.runtime, self.first)

    @cached_property
    def totals(self) -> Floats:
        """Work and jobs (rows) of each round."""
        work = np.bincount(self.place, weights=self.work, minlength=self.rounds)
        jobs = np.bincount(self.place, weights=self.size, minlength=self.rounds)
        return np.stack((work, jobs))

    @cached_property
    def fresh(self) -> Ints:
        """1 where a session of a campaign begins, else 0."""
        breaks = np.diff(self.submit, prepend=0.0) > BURST
        breaks[self.first] = True
        return breaks.astype(np.int64)

    @property
    def stay(self) -> float:
        """Mean number of rounds in a row in which a user submits something."""
        here = np.lexsort((self.place, self.user))
        goes_on = (np.diff(self.user[here]) == 0) & (np.diff(self.place[here]) == 1)
        return self.user.size / (self.user.size - np.count_nonzero(goes_on))

    @property
    def rate(self) -> float:
        """Work a second, in processors."""
        return float(self.work.sum()) / (self.rounds * self.period)


def expanded(begin: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Join begin[i] … begin[i]+size[i]−1 over all i, and give each one's place in its own."""
    nth = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    return np.repeat(begin, size) + nth, nth


def _people(jobs: Jobs, place: Ints) -> Ints:
    """Return the number of each job's user.

    A burst of jobs without a user is a stranger's, the nth of a round the nth stranger's.
    """
    unknown = np.flatnonzero(jobs.user < 0)
    breaks = np.diff(jobs.clock[unknown], prepend=-np.inf) > BURST
    breaks |= np.diff(place[unknown], prepend=-1) != 0
    burst = np.cumsum(breaks)
    before = np.maximum.accumulate(np.where(np.diff(place[unknown], prepend=-1) != 0, burst, 0))
    user = jobs.user.copy()
    user[unknown] = int(jobs.user.max()) + 1 + burst - before
    return user


def _waited(
    jobs: Jobs, order: Ints, campaign: Ints, first: Ints, within: float
) -> tuple[Ints, Floats]:
    """Find in each campaign which job was waited for, from the log's own waits."""
    end = jobs.clock + jobs.wait + jobs.runtime
    rows = last_finished(jobs.user, jobs.clock, np.where(np.isnan(end), np.inf, end), within)
    place = np.full(len(jobs), -1)
    place[order] = np.arange(order.size)
    before = rows[order]
    row = np.where(before >= 0, place[before], -1)
    row = np.where((row >= 0) & (campaign[row] == campaign), row, -1)
    think = np.where(row >= 0, jobs.clock[order] - end[before], 0.0)
    return np.where(row >= 0, row - first[campaign], -1), think

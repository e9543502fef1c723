"""Jobs get users: by what each user submits, and by who submitted such a job last (Fig. 7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.core.workload.chains import pair_counts
from onega.models.jobs.laws import categorical
from onega.models.parts import Shapes
from onega.models.users.base import UserModel
from onega.models.users.clusters import UserGrouping, job_kinds

LAG_CLASSES = 12
"""Jobs since the last one of the kind: 1, 2–3, 4–7, … and from 2^11 on."""


@dataclass(frozen=True, eq=False)
class GroupUsers(UserModel):
    """Users in groups, assigned to jobs that another model has drawn.

    A job of kind l goes to the user of the last job of that kind with a probability that falls with
    the number of jobs between them, and else to user j with P(j | l), that user's share of the
    log's jobs of the kind. Whatever the first probability, P(j | l) stays; so do the shares of
    users and groups, if the model draws the kinds as often as the log has them.

    Attributes
    ----------
    users, group
        User numbers, and the group of each (from 0).
    medoids
        Centres of the run-time clusters, log₂ seconds.
    counts
        Jobs by user (rows) and kind (columns: width class × run-time cluster).
    again
        Probability of the same user again, by `LAG_CLASSES`.
    """

    KIND: ClassVar[str] = "group-users"
    SHAPES: ClassVar[Shapes] = {
        "users": ("users",), "group": ("users",), "medoids": (None,), "counts": ("users", None),
        "again": (LAG_CLASSES,),
    }  # fmt: skip
    users: Ints
    group: Ints
    medoids: Floats
    counts: Ints
    again: Floats

    def _check(self) -> None:
        empty = self.users.size == 0 or self.counts.sum() == 0
        if empty or self.counts.shape[1] % self.medoids.size:
            raise ModelError("group-users: counts must hold jobs by user and kind")
        if np.any(self.again < 0) or np.any(self.again > 1):
            raise ModelError("group-users: again must hold probabilities")

    @classmethod
    def of(cls, grouping: UserGrouping) -> GroupUsers:
        """Learn from users in groups."""
        classes = int(np.frexp(grouping.procs.max())[1])
        shape = (grouping.users.size, classes * grouping.medoids.size)
        counts = pair_counts(grouping.user, grouping.kind, shape)
        again = _again(grouping.kind, grouping.user, counts)
        return cls(grouping.users, grouping.group, grouping.medoids, counts, again)

    def draw(self, procs: Floats, runtime: Floats, rng: Generator) -> Ints:
        """Return a user number for each job."""
        classes = self.counts.shape[1] // self.medoids.size
        kind = job_kinds(procs, runtime, self.medoids, classes)
        order, lag = _last_of_kind(kind)
        sorted_kind = kind[order]
        fresh = rng.random(kind.size) >= self.again[_lag_class(lag)]
        fresh[lag == 0] = True
        user = np.empty(kind.size, dtype=np.int64)
        uniforms = rng.random(kind.size)
        edges = np.searchsorted(sorted_kind, np.arange(self.counts.shape[1] + 1))
        for column, (begin, end) in enumerate(pairwise(edges)):
            if begin == end:
                continue
            user[begin:end] = categorical(self._submitters(column), uniforms[begin:end])
        user = user[np.maximum.accumulate(np.where(fresh, np.arange(kind.size), 0))]
        result = np.empty(kind.size, dtype=np.int64)
        result[order] = self.users[user]
        return result

    def _submitters(self, kind: int) -> Ints:
        """Weigh users by their jobs of a kind (if none: of its width, else all their jobs)."""
        cluster = self.medoids.size
        width = slice(kind // cluster * cluster, (kind // cluster + 1) * cluster)
        for columns in (slice(kind, kind + 1), width, slice(None)):
            weights = self.counts[:, columns].sum(axis=1)
            if weights.any():
                break
        return np.asarray(weights, dtype=np.int64)

    def group_of(self, user: Ints) -> Ints:
        """Return the group of each user number, from 1."""
        place = np.searchsorted(self.users, user)
        return self.group[place] + 1


def _last_of_kind(kind: Ints) -> tuple[Ints, Ints]:
    """Return jobs by kind, and how many jobs ago the last one of the kind came (0: never)."""
    order = np.argsort(kind, kind="stable")
    lag = np.zeros(kind.size, dtype=np.int64)
    lag[1:] = np.where(kind[order[1:]] == kind[order[:-1]], np.diff(order), 0)
    return order, lag


def _lag_class(lag: Ints) -> Ints:
    power = np.frexp(np.maximum(lag, 1))[1] - 1
    return np.asarray(np.minimum(power, LAG_CLASSES - 1), dtype=np.int64)


def _again(kind: Ints, user: Ints, counts: Ints) -> Floats:
    """Probability that the last user of the kind stays, beyond chance, by lag class.

    Observed = a + (1 − a)·Σ_j P(j | l)², because a fresh draw may hit the same user.
    """
    order, lag = _last_of_kind(kind)
    total = np.maximum(counts.sum(axis=0), 1)
    chance = np.square(counts / total).sum(axis=0)[kind[order]]
    same = np.zeros(kind.size)
    same[1:] = user[order[1:]] == user[order[:-1]]
    follows = lag > 0
    classes = _lag_class(lag)[follows]
    observed = np.bincount(classes, same[follows] - chance[follows], LAG_CLASSES)
    possible = np.bincount(classes, 1 - chance[follows], LAG_CLASSES)
    return np.clip(observed / np.maximum(possible, 1e-12), 0.0, 1.0)

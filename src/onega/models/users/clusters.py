"""Kinds of jobs and groups of users: the clustering of Song (2006), §5.2.

Jobs fall into kinds: ⌊log₂ width⌋ × a cluster of log₂ run times found by CLARA. A user is the
vector α_j of the shares of the user's jobs in each kind; users are grouped by PAM on a distance
that weighs by submissions, so that three jobs don't make a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.plotting import Plottable
from onega.core.rng import Rng, generator
from onega.core.types import Floats, Ints
from onega.core.workload.chains import pair_counts
from onega.core.workload.workload import Workload
from onega.models.jobs.jobs import Jobs, jobs_of

RUNTIME_KINDS = 4
"""Clusters of run times; the thesis found that more don't make the model better."""

SAMPLES, SAMPLE_SIZE = 5, 1000
"""CLARA: PAM on so many samples of so many run times; the best medoids of all are kept."""

SMALLEST_AREA = 0.01
"""A group below this share of the area has no impact on the machine (Song 2006, §5.4.1)."""


def clara(values: Floats, clusters: int, rng: Generator) -> Floats:
    """Return the medoids of one-dimensional data, ascending (CLARA, Kaufman and Rousseeuw 1990).

    The distance is the square of the difference (Song 2006, §5.2.2). Fewer come back if there are
    fewer distinct values.
    """
    distinct = np.unique(values)
    if distinct.size <= clusters:
        return distinct
    import kmedoids

    best, lowest = distinct[:clusters], np.inf
    for _ in range(SAMPLES):
        size = min(SAMPLE_SIZE, values.size)
        sample = rng.choice(values, size, replace=False)
        if np.unique(sample).size < clusters:
            sample = np.unique(np.concatenate((sample, rng.choice(distinct, clusters))))
        found = kmedoids.fasterpam(
            np.square(sample[:, None] - sample), clusters, init="build", random_state=0
        )
        medoids = np.unique(sample[found.medoids])
        cost = float(np.square(values - medoids[nearest(values, medoids)]).sum())
        if cost < lowest:
            best, lowest = medoids, cost
    return best


def nearest(values: npt.ArrayLike, medoids: Floats) -> Ints:
    """Return the cluster of each value: its nearest medoid, the lower one at a tie."""
    middle = (medoids[1:] + medoids[:-1]) / 2
    return np.searchsorted(middle, np.asarray(values), side="left").astype(np.int64)


def job_kinds(procs: Floats, runtime: Floats, medoids: Floats, classes: int) -> Ints:
    """Return the kind of each job: width class × run-time cluster, numbered row by row.

    Wider jobs than any known count to the widest class.
    """
    width = np.minimum(np.frexp(procs)[1] - 1, classes - 1)
    kind = width * medoids.size + nearest(np.log2(runtime), medoids)
    return np.asarray(kind, dtype=np.int64)


def user_distances(counts: Ints) -> Floats:
    """d(j′, j″) = ‖α_j′ − α_j″‖ · (n_j′ + n_j″) / n for users × kinds of jobs (§5.2.3)."""
    total = counts.sum(axis=1).astype(np.float64)
    alpha = counts / total[:, None]
    square = np.einsum("ij,ij->i", alpha, alpha)
    gram = square[:, None] + square - 2 * alpha @ alpha.T
    distance: Floats = np.sqrt(np.maximum(gram, 0.0)) * (total[:, None] + total) / total.sum()
    np.fill_diagonal(distance, 0.0)
    return distance


def pam(distance: Floats, groups: int) -> Ints:
    """Return the group of each user (PAM: BUILD, then the best exchanges until none helps)."""
    if groups == 1:
        return np.zeros(distance.shape[0], dtype=np.int64)
    import kmedoids

    if groups == distance.shape[0]:
        return np.arange(groups, dtype=np.int64)
    return np.asarray(kmedoids.pam(distance, groups).labels, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class UserGrouping(Plottable):
    """The users of a log in groups, the group with the largest area first.

    Attributes
    ----------
    procs, runtime, user
        Jobs with a positive width and run time and a user, by submission; ``user`` is a place in
        ``users``.
    users
        The log's user numbers.
    group
        The group of each user.
    medoids
        Centres of the run-time clusters, log₂ seconds.
    kind
        The kind of each job.
    without_user
        Jobs left out because the log doesn't say whose they are.
    """

    FIGURES: ClassVar[str] = "users"
    procs: Floats
    runtime: Floats
    user: Ints
    users: Ints
    group: Ints
    medoids: Floats
    kind: Ints
    without_user: int = 0

    @property
    def groups(self) -> int:
        """How many groups."""
        return int(self.group.max()) + 1

    @property
    def job_group(self) -> Ints:
        """The group of each job."""
        return self.group[self.user]

    def counts(self) -> Ints:
        """Jobs of each user (rows) and kind (columns)."""
        return pair_counts(self.user, self.kind, (self.users.size, int(self.kind.max()) + 1))

    def to_polars(self) -> pl.DataFrame:
        """One row per group: shares of area, jobs and users (Table 5.2), and what it submits."""
        table = pl.DataFrame(
            {"group": self.job_group + 1, "procs": self.procs, "runtime": self.runtime}
        )
        area = pl.col("procs") * pl.col("runtime")
        whole = float(self.procs @ self.runtime)
        members = np.bincount(self.group, minlength=self.groups)
        return (
            table.group_by("group")
            .agg(
                (area.sum() / whole).alias("share_of_area"),
                (pl.len() / table.height).alias("share_of_jobs"),
                pl.len().cast(pl.Int64).alias("jobs"),
                pl.col("procs").median().alias("median_procs"),
                (pl.col("procs") == 1).mean().alias("serial"),
                pl.col("runtime").median().alias("median_runtime"),
                (pl.col("runtime") > 3600).mean().alias("over_an_hour"),
            )
            .sort("group")
            .with_columns(
                pl.Series("users", members),
                pl.Series("share_of_users", members / self.users.size),
            )
        )

    def summary(self) -> dict[str, Any]:
        """Return the table as one flat dictionary: ``share_of_area_1`` and so on."""
        flat: dict[str, Any] = {
            "groups": self.groups,
            "users": int(self.users.size),
            "jobs": int(self.user.size),
            "without_user": self.without_user,
            "runtime_medoids": np.exp2(self.medoids).round().tolist(),
        }
        for row in self.to_polars().to_dicts():
            number = row.pop("group")
            flat.update({f"{name}_{number}": value for name, value in row.items()})
        return flat


def group_users(workload: Workload, groups: int = 4, *, rng: Rng = None) -> UserGrouping:
    """Group the users of a log by what they submit (MUGM; Song (2006), §5.2).

    Parameters
    ----------
    groups
        How many; four describe most logs (§5.4.1). `suggest_groups` helps to choose.
    rng
        CLARA looks at samples of the run times; the default is a fixed seed, so that one log
        always gives the same groups.
    """
    return group_jobs(jobs_of(workload), groups, generator(0 if rng is None else rng))


def group_jobs(jobs: Jobs, groups: int, rng: Generator) -> UserGrouping:
    """Group the users of a model's jobs."""
    return _Clustered(jobs, rng).into(groups)


class _Clustered:
    """Jobs in kinds and distances of users, once for any number of groups."""

    def __init__(self, jobs: Jobs, rng: Generator) -> None:
        known = jobs.user >= 0
        if not known.any():
            raise ModelError(
                "the log doesn't say who submitted its jobs; groups of users need the user column"
            )
        self.procs, self.runtime = jobs.procs[known], jobs.runtime[known]
        self.users, self.user = np.unique(jobs.user[known], return_inverse=True)
        self.without_user = int(np.sum(~known))
        self.medoids = clara(np.log2(self.runtime), RUNTIME_KINDS, rng)
        classes = int(np.frexp(self.procs.max())[1])
        self.kind = job_kinds(self.procs, self.runtime, self.medoids, classes)
        shape = (self.users.size, classes * self.medoids.size)
        self.distance = user_distances(pair_counts(self.user, self.kind, shape))

    def into(self, groups: int) -> UserGrouping:
        """Make so many groups."""
        users = self.users.size
        if isinstance(groups, bool) or not 1 <= int(groups) <= users:
            noun = "user" if users == 1 else "users"
            raise ModelError(
                f"groups must be a number from 1 to {users}, as the log has {users} {noun}; "
                f"got {groups}"
            )
        label = pam(self.distance, int(groups))
        area = np.bincount(
            label[self.user], weights=self.procs * self.runtime, minlength=int(groups)
        )
        place = np.empty(area.size, dtype=np.int64)
        place[np.argsort(-area, kind="stable")] = np.arange(area.size)
        return UserGrouping(
            self.procs,
            self.runtime,
            self.user.astype(np.int64),
            self.users,
            place[label],
            self.medoids,
            self.kind,
            self.without_user,
        )


@dataclass(frozen=True, eq=False)
class GroupChoice(Plottable):
    """Groupings of one log into different numbers of groups, and the number to take."""

    FIGURES: ClassVar[str] = "users_choice"
    groupings: tuple[UserGrouping, ...]
    suggested: int

    def into(self, groups: int) -> UserGrouping:
        """Return the grouping into so many groups."""
        for one in self.groupings:
            if one.groups == groups:
                return one
        most = self.groupings[-1].groups
        raise ModelError(f"groups must be a number from 1 to {most} here, got {groups}")

    def to_polars(self) -> pl.DataFrame:
        """Shares of every group of every grouping (Table 5.2)."""
        return pl.concat(
            one.to_polars().select(
                pl.lit(one.groups).alias("groups"),
                "group",
                "share_of_area",
                "share_of_jobs",
                "share_of_users",
            )
            for one in self.groupings
        )

    def summary(self) -> dict[str, Any]:
        """Return the suggestion and the smallest share of area of each grouping."""
        smallest = {
            f"smallest_area_{one.groups}": float(one.to_polars()["share_of_area"].min())  # type: ignore[arg-type]
            for one in self.groupings
        }
        return {"suggested": self.suggested, **smallest}


def suggest_groups(workload: Workload, *, most: int = 8, rng: Rng = None) -> GroupChoice:
    """Try 1 to ``most`` groups and suggest a number.

    The suggestion is the largest number before the first grouping that splits off a group with
    less than 1 % of the area: such a group doesn't matter to the machine (§5.4.1).
    """
    clustered = _Clustered(jobs_of(workload), generator(0 if rng is None else rng))
    groupings = [clustered.into(k) for k in range(1, min(most, clustered.users.size) + 1)]
    suggested = 1
    for one in groupings:
        if float(one.to_polars()["share_of_area"].min()) < SMALLEST_AREA:  # type: ignore[arg-type]
            break
        suggested = one.groups
    return GroupChoice(tuple(groupings), suggested)

"""Models that learn the next job as a function of the past (Song 2006, §7.2, Figure 7.4).

Inputs: the hour and the weekday; the gap, width and run time of the system's last job, and of the
user's last job; whether the user is the same. Outputs, one after another: the class of the gap,
then the width's given the gap, then the run time's given both. Classes are powers of two; within a
class values are drawn as observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.types import Floats, Ints
from onega.core.workload.chains import Chain, floor_power
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.chainpart import ChainPart
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import Observed, draw_by_class
from onega.models.jobs.vlmc import gap_classes
from onega.models.parts import Part, frozen_array

if TYPE_CHECKING:
    from onega.kernels.models.learned import Past

FEATURES = 13
MOST_USERS = 60


@dataclass(frozen=True, eq=False)
class Scaling(Part):
    """Mean and spread of the inputs, classes of the outputs, and who submits.

    Attributes
    ----------
    centre, scale
        Of each of the thirteen inputs.
    gap_levels
        log₂ of each gap class.
    users
        Shares of the most active users; the last share holds all others.
    same
        How often a job's user is the last job's.
    """

    KIND: ClassVar[str] = "scaling"
    centre: Floats
    scale: Floats
    gap_levels: Floats
    users: Floats
    same: float

    def __post_init__(self) -> None:
        for name, size in (("centre", FEATURES), ("scale", FEATURES), ("gap_levels", None),
                           ("users", None)):  # fmt: skip
            value = frozen_array(getattr(self, name), np.float64, shape=(size,))
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a learner is taught: inputs (scaled), and the three classes of each job."""

    inputs: Floats
    classes: tuple[Ints, Ints, Ints]
    sizes: tuple[int, int, int]
    logs: tuple[Floats, Floats, Floats]

    def view(self, attribute: int) -> Floats:
        """Return the inputs known when an attribute is drawn: later ones are blotted out."""
        known = self.inputs.copy()
        known[:, 11 + attribute :] = 0.0
        return known


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned(WorkloadModel):
    """Base of `neural` and `svr`: inputs, values within classes, users."""

    OWN_GAPS: ClassVar[bool] = True
    procs: ChainPart
    runtime: ChainPart
    gap: tuple[Observed, ...]
    scaling: Scaling

    @classmethod
    def _teach(cls, jobs: Jobs, rng: Generator, *, most: int) -> tuple[dict[str, Any], Lesson]:
        """Return the common parameters, and the lesson of at most so many jobs."""
        widths, lengths = Chain.of(jobs.procs), Chain.of(jobs.runtime)
        gaps = gap_classes(jobs.gaps)
        levels = np.array([np.log2(_level(jobs.gaps[gaps == k])) for k in range(gaps.max() + 1)])
        logs = (levels, np.log2(widths.levels), np.log2(lengths.levels))
        classes = (gaps, widths.path, lengths.path)
        users, shares = _user_numbers(jobs)
        raw = _inputs(jobs, classes, logs, users)
        centre, scale = raw.mean(axis=0), raw.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        chosen = np.arange(1, len(jobs))
        if chosen.size > most:
            chosen = np.sort(rng.choice(chosen, most, replace=False))
        same = float(np.mean(users[1:] == users[:-1]))
        parameters = {
            "procs": ChainPart.fit(jobs.procs, within="repeating", most=None),
            "runtime": ChainPart.fit(jobs.runtime, within="repeating", most=200),
            "gap": tuple(
                Observed.of(jobs.gaps[gaps == k], most=100) for k in range(gaps.max() + 1)
            ),
            "scaling": Scaling(centre, scale, levels, shares, same),
        }
        lesson = Lesson(
            (raw[chosen] - centre) / scale,
            (gaps[chosen], widths.path[chosen], lengths.path[chosen]),
            (levels.size, widths.dimension, lengths.dimension),
            logs,
        )
        return parameters, lesson

    def _past(self) -> tuple[Past, Ints]:
        """Return the inputs of the kernels, and the number of classes of each attribute."""
        from onega.kernels.models.learned import Past

        sizes = np.array([len(self.gap), self.procs.dimension, self.runtime.dimension])
        logs = np.zeros((3, int(sizes.max())))
        tables = (
            self.scaling.gap_levels, np.log2(self.procs.levels), np.log2(self.runtime.levels)
        )  # fmt: skip
        for row, values in enumerate(tables):
            logs[row, : values.size] = values
        cells = (np.arange(2016) + 0.5) / 2016 * 604800
        cycle = self.arrivals.cycle
        clock = cells if cycle is None else cycle.clock(cells)
        past = Past(
            logs,
            clock % 604800 / 3600,
            np.cumsum(self.scaling.users) / self.scaling.users.sum(),
            self.scaling.same,
            np.array(self.scaling.centre),
            np.array(self.scaling.scale),
        )
        return past, sizes

    def _values(self, path: Ints, rng: Generator) -> Drawn:
        """Turn classes into values."""
        n = path.shape[1]
        uniforms = rng.random((7, n))
        return Drawn(
            self.procs.values(path[1], uniforms[:3]),
            self.runtime.values(path[2], uniforms[3:6]),
            draw_by_class(self.gap, path[0], uniforms[6]),
            path[3] + 1,
        )


def _level(gaps: Floats) -> float:
    smallest = float(gaps.min())
    return 0.5 if smallest < 1 else float(floor_power(smallest))


def _user_numbers(jobs: Jobs) -> tuple[Ints, Floats]:
    """Users by activity, the rest under one number; without users, all jobs are one user's."""
    if not jobs.has_users:
        return np.zeros(len(jobs), dtype=np.int64), np.ones(1)
    _, place, counts = np.unique(jobs.user, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    users = np.minimum(rank[place], MOST_USERS - 1)
    return users, np.bincount(users) / users.size


def _inputs(
    jobs: Jobs, classes: tuple[Ints, Ints, Ints], logs: tuple[Floats, Floats, Floats], users: Ints
) -> Floats:
    """Thirteen columns, one row per job; `onega.kernels.models.learned` computes the same."""
    gap, width, length = (table[path] for table, path in zip(logs, classes, strict=True))
    # The clock that a job's submitter sees when the gap before it begins: the last job's.
    hour = np.concatenate((jobs.clock[:1], jobs.clock[:-1])) % 604800 / 3600
    day, week = 2 * np.pi * hour / 24, 2 * np.pi * hour / 168
    before = _shift(np.column_stack((gap, width, length)))
    order = np.argsort(users, kind="stable")
    ordered = np.column_stack((width, length, gap))[order]
    own = _shift(ordered)
    starts = np.concatenate(([True], users[order][1:] != users[order][:-1]))
    own[starts] = ordered.mean(axis=0)
    mine = np.empty_like(own)
    mine[order] = own
    same = np.concatenate(([0.0], (users[1:] == users[:-1]).astype(np.float64)))
    columns = (np.sin(day), np.cos(day), np.sin(week), np.cos(week), before, mine, same, gap, width)
    return np.column_stack(columns)


def _shift(rows: Floats) -> Floats:
    shifted: Floats = np.vstack((rows.mean(axis=0), rows[:-1]))
    return shifted

"""A model that may be given away: fitted under differential privacy.

The mechanism is Laplace's (Dwork, McSherry, Nissim and Smith 2006) on four tables of counts, whose
cells don't depend on the log; everything else is computed from the noisy counts. **The unit of
privacy is the job**: two logs that differ in one job, added or taken away, give any model file with
probabilities within a factor e^ε of each other. A user with k jobs is protected with kε only. By
user it isn't feasible here: a few users submit a large part of a log, and noise for all of the jobs
of one would drown the rest.

| table | cells | one job changes | share of ε |
|---|---|---|---|
| widths | every width to 64, then eighths of octaves | 1 | 1/4 |
| run times by octave of width | quarters of octaves of seconds | 1 | 1/4 |
| submissions | hours of the week | 1 | 1/4 |
| gaps in operational time | quarters of octaves of seconds | 3 (two go, one comes) | 1/4 |

Counts below `KEPT` times the noise's scale are taken for nothing, and so is what lies beyond the
last cell of a row that is above what noise alone would reach: one false cell among the longest run
times would weigh more than the log. An octave of widths without any such cell takes the run times
of all. The machine's size and time zone are public. Nothing is kept of users, estimates, the order
of jobs, nor single values: a run time is drawn anywhere in its cell. What is lost is memory: jobs
are drawn independently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.types import Floats
from onega.core.workload.workload import Workload
from onega.models.arrivals.arrivals import SHORTEST, Arrivals
from onega.models.arrivals.cycles import WEEK, HoursOfWeek
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import jobs_of
from onega.models.jobs.laws import categorical
from onega.models.parts import frozen_array

KEPT: Final = 2.0
OCTAVES: Final = 24
"""Cells of run times and gaps end at 2²⁴ s, half a year; longer ones count there."""

STEPS: Final = 4
GRID: Final = np.concatenate(([0.0], 2.0 ** (np.arange(-STEPS, STEPS * OCTAVES + 1) / STEPS)))
"""Edges of the cells of run times and gaps, s."""


def width_edges(machine: int) -> Floats:
    """Edges of the cells of widths: single ones to 64, then eighths of octaves."""
    fine = np.arange(1, 65)
    coarse = np.unique(np.ceil(2.0 ** (6 + np.arange(1, 8 * 20) / 8)))
    edges = np.concatenate((fine, coarse, 2.0 ** np.arange(7, 26), 2.0 ** np.arange(7, 26) + 1))
    edges = np.unique(edges)
    return np.append(edges[edges <= machine], machine + 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Private(WorkloadModel):
    """Noisy counts of widths, run times and gaps, and the privacy that they were bought with.

    Attributes
    ----------
    epsilon
        ε, for one job.
    widths
        Weight of each cell of `width_edges`.
    runtimes
        One row per octave of width, one column per cell of `GRID`.
    gap_cells
        Weight of each cell of `GRID`.
    """

    KIND: ClassVar[str] = "private"
    TITLE: ClassVar[str] = "noisy counts, differentially private by job"
    OWN_GAPS: ClassVar[bool] = True
    epsilon: float
    widths: Floats
    runtimes: Floats
    gap_cells: Floats

    def _check(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon > 0):
            raise ModelError(f"private: epsilon must be positive, got {self.epsilon}")
        size = width_edges(self.machine).size - 1
        shapes = {
            "widths": (size,),
            "runtimes": (None, GRID.size - 1),
            "gap_cells": (GRID.size - 1,),
        }
        for name, shape in shapes.items():
            value = frozen_array(getattr(self, name), np.float64, shape=shape)
            object.__setattr__(self, name, value)
            if np.any(value < 0) or np.any(value.sum(axis=-1) <= 0):
                raise ModelError(f"private: {name} must not be negative, nor all zero")

    @classmethod
    def fit(
        cls,
        workload: Workload,
        *,
        rng: Rng = None,
        epsilon: float = 1.0,
        **options: Any,  # noqa: ANN401
    ) -> Self:
        """Count, add noise, forget the log.

        Parameters
        ----------
        workload
            Its machine's size must be known (``meta.procs``): the widest job would tell of itself.
        rng
            Randomness of the noise. Whoever knows it can take the noise off: keep it secret.
        epsilon
            ε, by job.
        """
        if options:
            raise ModelError(f"private: no option {next(iter(options))!r}; it takes epsilon")
        if not (isinstance(epsilon, int | float) and np.isfinite(epsilon) and epsilon > 0):
            raise ModelError(f"private: epsilon must be a positive number, got {epsilon!r}")
        if workload.meta.procs is None:
            raise ModelError("private: how large the machine is must be said (--procs)")
        jobs, machine = jobs_of(workload), int(workload.meta.procs)
        noise = _Noise(generator(child(seed_sequence(rng), 0)), epsilon / 4)
        edges = width_edges(machine)
        procs = np.minimum(jobs.procs, machine)
        widths = noise.on(np.histogram(procs, edges)[0], 1)
        octave = np.floor(np.log2(procs)).astype(np.int64)
        rows = int(np.log2(machine)) + 1
        cell = _cell(jobs.runtime)
        table = np.zeros((rows, GRID.size - 1))
        np.add.at(table, (octave, cell), 1.0)
        runtimes = noise.on(table, 1)
        hours = np.bincount((jobs.clock % WEEK // 3600).astype(np.int64), minlength=168)
        arrivals = Arrivals(None, HoursOfWeek(noise.on(hours, 1, least=1.0)))
        assert arrivals.cycle is not None
        gaps = np.maximum(np.diff(arrivals.cycle.operational(jobs.clock)), SHORTEST)
        counted = noise.on(np.bincount(_cell(gaps), minlength=GRID.size - 1), 3)
        return cls(
            machine=machine,
            arrivals=arrivals,
            epsilon=float(epsilon),
            widths=widths,
            runtimes=np.where(
                runtimes.sum(axis=1, keepdims=True) > 0, runtimes, runtimes.sum(axis=0)
            ),
            gap_cells=counted,
            learnt=f"a log, {epsilon:g}-differentially private by job",
        )

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """Names of the family's own options of `fit`."""
        return ("epsilon",)

    def _draw(self, n: int, rng: Generator) -> Drawn:
        edges = width_edges(self.machine)
        place = categorical(self.widths, rng.random(n))
        room = edges[place + 1] - edges[place]
        procs = edges[place] + np.floor(rng.random(n) * room)
        row = np.minimum(np.floor(np.log2(procs)).astype(np.int64), self.runtimes.shape[0] - 1)
        runtime, uniforms = np.empty(n), rng.random(n)
        for k in np.unique(row):
            here = row == k
            runtime[here] = _value(self.runtimes[k], uniforms[here], rng)
        gaps = np.maximum(_value(self.gap_cells, rng.random(n), rng), SHORTEST)
        return Drawn(procs, np.maximum(runtime, 1.0), gaps=gaps)


@dataclass(frozen=True)
class _Noise:
    """Laplace's mechanism at a given ε for each table."""

    stream: Generator
    epsilon: float

    def on(self, counts: npt.ArrayLike, sensitivity: int, *, least: float = 0.0) -> Floats:
        """Return noisy counts, at least ``least``; small ones are taken for nothing."""
        table = np.asarray(counts, dtype=np.float64)
        scale = sensitivity / self.epsilon
        noisy = table + self.stream.laplace(0.0, scale, table.shape)
        kept = np.where(noisy >= KEPT * scale, np.rint(noisy), 0.0)
        sure = noisy >= scale * np.log(table.size)
        beyond = np.cumsum(sure[..., ::-1], axis=-1)[..., ::-1] == 0
        kept = np.where(beyond, 0.0, kept)
        return np.maximum(kept, least if kept.any() else 1.0)


def _cell(values: Floats) -> npt.NDArray[np.int64]:
    place = np.searchsorted(GRID, values, side="right") - 1
    return np.clip(place, 0, GRID.size - 2)


def _value(weights: Floats, uniforms: Floats, rng: Generator) -> Floats:
    """Draw cells, and a value anywhere in each."""
    place = categorical(weights, uniforms)
    low, high = GRID[place], GRID[place + 1]
    values: Floats = low + rng.random(place.size) * (high - low)
    return values

"""A model that may be given away: fitted under differential privacy.

The mechanism is Laplace's (`onega.models.noise`) on tables of counts, whose cells don't depend on
the log, and on two sums; everything else is computed from the noisy numbers. **The unit of privacy
is the job**: two logs that differ in one job, added or taken away, give any model file with
probabilities within a factor e^ε of each other. A user with k jobs is protected with kε only. By
user it isn't feasible here: a few users submit a large part of a log, and noise for all of the jobs
of one would drown the rest. (Floating point numbers are used as they are; the attack of Mironov
2012 on their last bits isn't guarded against.)

| number | cells | one job changes it by | share of ε |
|---|---|---|---|
| widths | every width to 64, then eighths of octaves | 1 | 0.1 |
| run times | eighths of octaves of seconds | 1 | 0.15 |
| run times by octave of width | octaves of seconds | 1 | 0.2 |
| submissions | hours of the week | 1 | 0.1 |
| gaps in operational time | quarters of octaves of seconds | 3 (two go, one comes) | 0.2 |
| Σ min(work, A) | one | A | 0.2 |
| Σ min(gap, G) | one | G | 0.05 |

Small counts are taken for nothing, and so are octaves beyond the last one that can't be noise
alone: one false cell among the longest run times would weigh more than the log. Run times given an
octave of width have the octaves' counts of that row and, within an octave, the shape that all jobs
have; raking (Deming and Stephan 1940) brings rows and columns in line with the widths and the run
times of all. What thresholds have taken from the tails is given back by the two sums: laws are
tilted (minimum discrimination information, Kullback 1959) until E min(work, A) and E min(gap, G)
are as measured. A and G are quantiles of the noisy laws themselves, so high that about as much is
cut off as the noise is large (Amin, Kulesza, Muñoz Medina and Vassilvitskii 2019).

The machine's size and time zone are public. Nothing is kept of users, estimates, the order of jobs,
nor single values: a run time is drawn anywhere in its cell. What is lost is memory: jobs are drawn
independently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.types import Floats, Ints
from onega.core.workload.chains import pair_counts
from onega.core.workload.schema import USABLE
from onega.core.workload.workload import Workload
from onega.models.arrivals.arrivals import SHORTEST, Arrivals
from onega.models.arrivals.cycles import WEEK, HoursOfWeek
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import jobs_of
from onega.models.jobs.laws import categorical
from onega.models.noise import Noise, raked, tilted, weighted_quantile
from onega.models.parts import frozen_array

SHARES: Final = {
    "widths": 0.1, "runtimes": 0.15, "joint": 0.2, "hours": 0.1, "gaps": 0.2, "work": 0.2,
    "span": 0.05,
}  # fmt: skip
"""Of ε; they add up to 1."""

OCTAVES: Final = 24
"""Cells of run times and gaps end at 2²⁴ s, half a year; longer ones count there."""


def _edges(steps: int) -> Floats:
    """Edges of cells: up to half a second, then so many to an octave."""
    return np.concatenate(([0.0], 2.0 ** (np.arange(-steps, steps * OCTAVES + 1) / steps)))


def _octaves(steps: int) -> Ints:
    """Octave of each cell; the first one is below a second."""
    return np.maximum(np.arange(steps * (OCTAVES + 1) + 1) - steps - 1, -1) // steps + 1


GRID, COARSE = _edges(8), _octaves(8)
"""Edges of the cells of run times, s: eighths of octaves."""

GAP_GRID, GAP_COARSE = _edges(4), _octaves(4)
"""Edges of the cells of gaps, s: quarters of octaves, since their noise is three times as large."""


def width_edges(machine: int) -> Floats:
    """Edges of the cells of widths: single ones to 64, then eighths of octaves."""
    fine = np.arange(1, 66)
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
        Weight of each cell of `GAP_GRID`.
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
            "gap_cells": (GAP_GRID.size - 1,),
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
            Randomness of the noise. With it anyone can take the noise off: keep it secret.
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
        parts = {name: share * epsilon for name, share in SHARES.items()}
        noise = Noise(generator(child(seed_sequence(rng), 0)), parts)
        procs = np.minimum(jobs.procs, machine)
        widths = noise.on("widths", np.histogram(procs, width_edges(machine))[0], 1)
        runtimes = _runtimes(noise, widths, procs, jobs.runtime, machine)
        hours = np.bincount((jobs.clock % WEEK // 3600).astype(np.int64), minlength=168)
        arrivals = Arrivals(None, HoursOfWeek(np.maximum(noise.on("hours", hours, 1), 1.0)))
        assert arrivals.cycle is not None
        gaps = np.maximum(np.diff(arrivals.cycle.operational(jobs.clock)), SHORTEST)
        return cls(
            machine=machine,
            arrivals=arrivals,
            epsilon=float(epsilon),
            widths=widths,
            runtimes=runtimes,
            gap_cells=_gap_cells(noise, gaps),
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
            runtime[here] = _value(GRID, self.runtimes[k], uniforms[here], rng)
        gaps = np.maximum(_value(GAP_GRID, self.gap_cells, rng.random(n), rng), SHORTEST)
        return Drawn(procs, np.maximum(runtime, 1.0), gaps=gaps)


def avoid_single_users(drawn: Workload, workload: Workload, *, rng: Rng = None) -> Workload:
    """Move run times of drawn jobs whose record only one user of a log has.

    A record is (width, run time in whole seconds). Some of a log's come back by chance. Here such a
    job's run time is changed by as few seconds as it takes, up or down at random, until no single
    user alone has the record; jobs of the log without a user count as a user each.

    **This looks at the log itself**, so the result is no longer differentially private: a reader
    of very many samples could tell from a record that never comes that a user of the log has it.
    """
    usable = workload.table.filter(USABLE)
    stranger = -1 - pl.int_range(pl.len(), dtype=pl.Int32)
    people = usable.select(key=_record(usable), person=pl.col("user").fill_null(stranger))
    alone = people.group_by("key").agg(pl.col("person").n_unique()).filter(pl.col("person") == 1)
    known = np.sort(alone["key"].to_numpy())
    runtime = drawn.table["runtime"].to_numpy().copy()
    width = _record(drawn.table) - np.rint(runtime).astype(np.int64)
    sign = np.where(generator(rng).random(runtime.size) < 0.5, -1.0, 1.0)
    pending = np.flatnonzero(_among(known, width + np.rint(runtime).astype(np.int64)))
    moved, by = pending.size, 0.0
    while pending.size:
        by = -by if by > 0 else 1.0 - by  # 1, −1, 2, −2, … times the sign
        tried = np.rint(runtime[pending]) + by * sign[pending]
        free = (tried >= 1) & ~_among(known, width[pending] + tried.astype(np.int64))
        runtime[pending[free]] = tried[free]
        pending = pending[~free]
    note = f"{moved} run times moved by seconds: only one user of the log had these records"
    return drawn.with_columns(pl.Series("runtime", runtime), note=note)


def _record(table: pl.DataFrame) -> Ints:
    """Return width and whole seconds of run time as one number."""
    procs, runtime = (table[name].fill_null(0).to_numpy() for name in ("procs", "runtime"))
    record: Ints = procs.astype(np.int64) * 2**32 + np.rint(runtime).astype(np.int64)
    return record


def _among(ordered: Ints, values: Ints) -> npt.NDArray[np.bool_]:
    place = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    found: npt.NDArray[np.bool_] = (
        ordered[place] == values if ordered.size else np.zeros(values.size, dtype=bool)
    )
    return found


def _runtimes(noise: Noise, widths: Floats, procs: Floats, runtime: Floats, machine: int) -> Floats:
    """Return the weights of run times' cells (columns) in each octave of width (rows)."""
    cell = _cell(GRID, runtime)
    counts = np.bincount(cell, minlength=GRID.size - 1)
    fine = noise.by_octave("runtimes", counts, COARSE, 1)
    octave = np.floor(np.log2(procs)).astype(np.int64)
    shape = (int(np.log2(machine)) + 1, int(COARSE[-1]) + 1)
    joint = pair_counts(octave, COARSE[cell], shape)
    edges = width_edges(machine)
    row_of = np.floor(np.log2(edges[:-1])).astype(np.int64)
    rows = np.bincount(row_of, weights=widths, minlength=joint.shape[0]).astype(np.float64)
    columns = np.bincount(COARSE, weights=fine).astype(np.float64)
    octaves = raked(noise.on("joint", joint, 1), rows, columns)
    inside = fine / np.where(columns > 0, columns, 1.0)[COARSE]
    law = octaves[:, COARSE] * inside
    # What a job of a row and a cell is worth, in processor-seconds.
    width = (edges[:-1] + edges[1:] - 1) / 2
    total_width = np.bincount(row_of, weights=widths * width, minlength=rows.size)
    work = (total_width / np.maximum(rows, 1.0))[:, None] * (GRID[:-1] + GRID[1:]) / 2
    count = widths.sum()
    most = weighted_quantile(work, law, noise.clipped("work", count))
    wanted = noise.total("work", procs * runtime, most) / count
    found = tilted(law, np.minimum(work, most), wanted, keep_rows=True)
    return np.where(found.sum(axis=1, keepdims=True) > 0, found, fine)


def _gap_cells(noise: Noise, gaps: Floats) -> Floats:
    counts = np.bincount(_cell(GAP_GRID, gaps), minlength=GAP_GRID.size - 1)
    cells = noise.by_octave("gaps", counts, GAP_COARSE, 3)
    gap = (GAP_GRID[:-1] + GAP_GRID[1:]) / 2
    most = weighted_quantile(gap, cells, noise.clipped("span", cells.sum()))
    wanted = noise.total("span", gaps, most) / cells.sum()
    return tilted(cells, np.minimum(gap, most), wanted)


def _cell(grid: Floats, values: Floats) -> npt.NDArray[np.int64]:
    place = np.searchsorted(grid, values, side="right") - 1
    return np.clip(place, 0, grid.size - 2)


def _value(grid: Floats, weights: Floats, uniforms: Floats, rng: Generator) -> Floats:
    """Draw cells, and a value anywhere in each."""
    place = categorical(weights, uniforms)
    low, high = grid[place], grid[place + 1]
    values: Floats = low + rng.random(place.size) * (high - low)
    return values

"""A model that may be given away: fitted under differential privacy.

The mechanism is Laplace's (Dwork, McSherry, Nissim and Smith 2006) on tables of counts, whose cells
don't depend on the log, and on two sums; everything else is computed from the noisy numbers. **The
unit of privacy is the job**: two logs that differ in one job, added or taken away, give any model
file with probabilities within a factor e^ε of each other. A user with k jobs is protected with kε
only. By user it isn't feasible here: a few users submit a large part of a log, and noise for all
of the jobs of one would drown the rest.

| number | cells | one job changes it by | share of ε |
|---|---|---|---|
| widths | every width to 64, then eighths of octaves | 1 | 0.2 |
| run times | quarters of octaves of seconds | 1 | 0.1 |
| run times by octave of width | octaves of seconds | 1 | 0.3 |
| submissions | hours of the week | 1 | 0.1 |
| gaps in operational time | quarters of octaves of seconds | 3 (two go, one comes) | 0.2 |
| Σ min(work, A) | one | A | 0.05 |
| Σ min(gap, G) | one | G | 0.05 |

Counts below `KEPT` times the noise's scale are taken for nothing, and so are cells beyond the last
one that noise alone would reach with a probability of at most `FALSE` in the whole table: one false
cell among the longest run times would weigh more than the log. Run times given an octave of width
have the octaves' counts of that row and, within an octave, the shape that all jobs have; raking
(Deming and Stephan 1940) brings rows and columns in line with the widths and the run times of all.
What thresholds have taken from the tails is given back by the two sums: laws are tilted (minimum
discrimination information, Kullback 1959) until E min(work, A) and E min(gap, G) are as measured.
A and G are the 99.9 % quantiles of the noisy laws themselves: a job counts no more than that, so
that little noise hides it.

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
from onega.core.workload.workload import Workload
from onega.models.arrivals.arrivals import SHORTEST, Arrivals
from onega.models.arrivals.cycles import WEEK, HoursOfWeek
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import jobs_of
from onega.models.jobs.laws import categorical
from onega.models.parts import frozen_array

KEPT: Final = 2.0
FALSE: Final = 0.01
SHARES: Final = {
    "widths": 0.1, "runtimes": 0.15, "joint": 0.2, "hours": 0.1, "gaps": 0.2, "work": 0.2,
    "span": 0.05,
}  # fmt: skip
"""Of ε; they add up to 1."""

RAKINGS: Final = 50
TILTS: Final = 60
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
        noise = _Noise(generator(child(seed_sequence(rng), 0)), epsilon)
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
    usable = workload.table.filter((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    people = usable.select(
        key=_record(usable), person=pl.col("user").fill_null(-pl.int_range(pl.len(), dtype=pl.Int32) - 1)
    )
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
    return procs.astype(np.int64) * 2**32 + np.rint(runtime).astype(np.int64)


def _among(ordered: Ints, values: Ints) -> npt.NDArray[np.bool_]:
    place = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    found: npt.NDArray[np.bool_] = (
        ordered[place] == values if ordered.size else np.zeros(values.size, dtype=bool)
    )
    return found


@dataclass(frozen=True)
class _Noise:
    """Laplace's mechanism: each number has its share of ε."""

    stream: Generator
    epsilon: float

    def on(self, name: str, counts: npt.ArrayLike, sensitivity: int) -> Floats:
        """Return noisy counts; those below `KEPT` times the noise's scale are nothing.

        The others are multiplied so that their sum is that of all noisy counts, which isn't biased.
        """
        noisy, scale = self._noisy(name, counts, sensitivity)
        return _scaled(np.where(noisy >= KEPT * scale, noisy, 0.0), float(noisy.sum()))

    def by_octave(self, name: str, counts: Ints, octave: Ints, sensitivity: int) -> Floats:
        """Return noisy counts of cells whose octaves are given.

        An octave has the sum of its noisy counts, which isn't biased, shared out among its cells as
        `on` would, or evenly if none of them stands out. Octaves that have less than noise would
        reach once in six times are nothing, and so are those beyond the last sure one.
        """
        noisy, scale = self._noisy(name, counts, sensitivity)
        sums = np.bincount(octave, weights=noisy)
        size = np.bincount(octave)
        sure = np.flatnonzero(sums >= scale * _reached(size, FALSE / size.size))
        last = sure[-1] if sure.size else sums.size - 1
        keep = (sums >= scale * np.sqrt(2 * size)) & (np.arange(sums.size) <= last)
        cells = np.where(noisy >= KEPT * scale, noisy, 0.0)
        bare = np.bincount(octave, weights=cells) <= 0
        cells = np.where(bare[octave], 1.0, cells)
        cells *= (np.where(keep, sums, 0.0) / np.bincount(octave, weights=cells))[octave]
        return _scaled(cells, float(noisy.sum()))

    def _noisy(
        self, name: str, counts: npt.ArrayLike, sensitivity: int
    ) -> tuple[Floats, float]:
        table = np.asarray(counts, dtype=np.float64)
        scale = sensitivity / (self.epsilon * SHARES[name])
        return table + self.stream.laplace(0.0, scale, table.shape), scale

    def clipped(self, name: str, count: float) -> float:
        """Return the quantile up to which values should be counted.

        Of ``count`` values the (1/ε)th largest: noise and what is cut off are alike there (Amin,
        Kulesza, Muñoz Medina and Vassilvitskii 2019).
        """
        return max(0.5, 1 - 1 / (self.epsilon * SHARES[name] * max(count, 1.0)))

    def total(self, name: str, values: Floats, most: float) -> float:
        """Return a noisy sum of values, each counted up to ``most``."""
        scale = most / (self.epsilon * SHARES[name])
        return float(np.minimum(values, most).sum() + self.stream.laplace(0.0, scale))


def _scaled(counts: Floats, total: float) -> Floats:
    """Return counts with a given sum; equal ones if there are none."""
    if not counts.any():
        return np.ones_like(counts)
    return counts * (max(total, 1.0) / counts.sum())


def _reached(size: Ints, probability: float) -> Floats:
    """Return what a sum of so many Laplace variables of scale 1 exceeds at most so often.

    Chernoff's bound: ln P(sum ≥ t) ≤ −x·t − size·ln(1 − x²) for any 0 < x < 1.
    """
    x = np.arange(1, 200)[:, None] / 200
    bounds: Floats = ((-size * np.log1p(-(x**2)) - np.log(probability)) / x).min(axis=0)
    return bounds


def _runtimes(
    noise: _Noise, widths: Floats, procs: Floats, runtime: Floats, machine: int
) -> Floats:
    """Return the weights of run times' cells (columns) in each octave of width (rows)."""
    cell = _cell(GRID, runtime)
    counts = np.bincount(cell, minlength=GRID.size - 1)
    fine = noise.by_octave("runtimes", counts, COARSE, 1)
    octave = np.floor(np.log2(procs)).astype(np.int64)
    joint = np.zeros((int(np.log2(machine)) + 1, int(COARSE[-1]) + 1))
    np.add.at(joint, (octave, COARSE[cell]), 1.0)
    edges = width_edges(machine)
    row_of = np.floor(np.log2(edges[:-1])).astype(np.int64)
    rows = np.bincount(row_of, weights=widths, minlength=joint.shape[0])
    columns = np.bincount(COARSE, weights=fine)
    raked = _raked(noise.on("joint", joint, 1), rows, columns)
    inside = fine / np.where(columns > 0, columns, 1.0)[COARSE]
    law = raked[:, COARSE] * inside
    # What a job of a row and a cell is worth, in processor-seconds.
    width = (edges[:-1] + edges[1:] - 1) / 2
    mean_width = np.bincount(row_of, weights=widths * width, minlength=rows.size)
    mean_width /= np.maximum(rows, 1.0)
    work = mean_width[:, None] * (GRID[:-1] + GRID[1:]) / 2
    count = widths.sum()
    most = _quantile(work, law, noise.clipped("work", count))
    wanted = noise.total("work", procs * runtime, most) / count
    tilted = _tilted(law, np.minimum(work, most), wanted, keep_rows=True)
    return np.where(tilted.sum(axis=1, keepdims=True) > 0, tilted, fine)


def _gap_cells(noise: _Noise, gaps: Floats) -> Floats:
    counts = np.bincount(_cell(GAP_GRID, gaps), minlength=GAP_GRID.size - 1)
    cells = noise.by_octave("gaps", counts, GAP_COARSE, 3)
    gap = (GAP_GRID[:-1] + GAP_GRID[1:]) / 2
    most = _quantile(gap, cells, noise.clipped("span", cells.sum()))
    wanted = noise.total("span", gaps, most) / cells.sum()
    return _tilted(cells, np.minimum(gap, most), wanted)


def _raked(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Scale rows and columns in turn until they have the given sums (Deming and Stephan 1940).

    A row that ought to have something and has nothing takes the columns' law first; columns that
    nothing stands in stay so.
    """
    law = np.where((table.sum(axis=1) <= 0)[:, None], columns, table * (columns > 0))
    law = np.where((law.sum(axis=1) <= 0)[:, None], columns, law)
    total = columns.sum()
    for _ in range(RAKINGS):
        law = law * (columns / np.maximum(law.sum(axis=0), 1e-300))
        law = law * (total * rows / rows.sum() / np.maximum(law.sum(axis=1), 1e-300))[:, None]
    return law


def _quantile(values: Floats, weights: Floats, probability: float) -> float:
    order = np.argsort(values, axis=None)
    share = np.cumsum(weights.ravel()[order])
    place = int(np.searchsorted(share, probability * share[-1]))
    return float(values.ravel()[order][min(place, order.size - 1)])


def _tilted(weights: Floats, worth: Floats, wanted: float, *, keep_rows: bool = False) -> Floats:
    """Return weights · exp(θ·worth) with Σ weights·worth / Σ weights = wanted.

    θ is found by bisection between ±30 over the largest worth; with ``keep_rows`` rows keep their
    sums. What can't be reached is come as near to as those allow.
    """
    share = worth / worth.max()
    rows = weights.sum(axis=-1, keepdims=True)

    def tilted(theta: float) -> Floats:
        found = weights * np.exp(theta * (share - 1))
        if not keep_rows:
            return found
        sums = found.sum(axis=-1, keepdims=True)
        moved: Floats = found * (rows / np.where(sums > 0, sums, 1.0))
        return moved

    low, high = -30.0, 30.0
    for _ in range(TILTS):
        middle = (low + high) / 2
        found = tilted(middle)
        less = float((found * worth).sum() / found.sum()) < wanted
        low, high = (middle, high) if less else (low, middle)
    found = tilted((low + high) / 2)
    return found * (weights.sum() / found.sum())


def _cell(grid: Floats, values: Floats) -> npt.NDArray[np.int64]:
    place = np.searchsorted(grid, values, side="right") - 1
    return np.clip(place, 0, grid.size - 2)


def _value(grid: Floats, weights: Floats, uniforms: Floats, rng: Generator) -> Floats:
    """Draw cells, and a value anywhere in each."""
    place = categorical(weights, uniforms)
    low, high = grid[place], grid[place + 1]
    values: Floats = low + rng.random(place.size) * (high - low)
    return values

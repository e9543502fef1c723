"""Sizes that know the hour and the weekday (Song 2006, §7.1).

Jobs submitted at night or at the weekend are larger or smaller than others, in every log. A family
draws sizes without a clock; `SizeCycle.clocked` then changes some of them by the clock of the
submissions themselves, so that there is one clock whatever load is asked for.

With π(b) the share of jobs in a class b of sizes (powers of two of width and run time together)
and π_c(b) its share in a block c of hours, a job of class b keeps its size with probability
min(1, π_c(b)/π(b)); otherwise it takes that of another drawn job, of a class found by the residual
law (π_c − π)₊. That is the maximal coupling of the two laws: as few jobs as possible change, their
law in block c is π_c, and over all hours it stays π. Jobs in a row of one class change together,
into jobs in a row, and a row often goes the way of the row before, as often as it takes to keep the
series' memory (`SizeCycle.together`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.rng import generator
from onega.core.types import Floats, Ints
from onega.core.units import SECONDS
from onega.core.workload.chains import autocorrelation, pair_counts, state_of
from onega.models.jobs.laws import categorical
from onega.models.parts import Part, Shapes, frozen_array

BLOCKS: Final = 12
"""Two-hour blocks of a day; Saturdays and Sundays have their own."""

CELLS: Final = 2 * BLOCKS
PRIOR: Final = 20.0
"""So many jobs as in the whole log are added to each block: few jobs in a block say little."""

TRIALS, HALVINGS = 6, 5
"""Turned logs on which `SizeCycle.together` is tried, and how often its range is halved."""

MOST_TOGETHER: Final = 0.95
"""Twenty rows on average: with more, a sample has too few draws for the law of a block."""

SHORTEST: Final = 2 * SECONDS["w"]
"""Seconds that a log must span: one weekend alone says nothing of weekends."""


def cell_of(clock: Floats) -> Ints:
    """Block of times in seconds after a Monday's midnight: 0–11 in the week, 12–23 after it."""
    block = (clock % SECONDS["d"] // (SECONDS["d"] / BLOCKS)).astype(np.int64)
    return block + BLOCKS * (clock % SECONDS["w"] >= 5 * SECONDS["d"])


@dataclass(frozen=True, eq=False)
class SizeCycle(Part):
    """How much more or less often each class of sizes is submitted in each block of hours.

    Attributes
    ----------
    procs, runtime
        Where the classes of widths and of run times begin, ascending.
    ratios
        π_c(b)/π(b): one row per block of `cell_of`, one column per pair of classes
        (width class · number of run-time classes + run-time class).
    together
        How often, from 0 to 1, a row of jobs in one class goes the way of the row before. Never
        thins the memory of the series, always makes more than there was. It is chosen so that the
        log's own jobs, turned to other times of the log and clocked there, keep the sum of their
        lag-one autocorrelations (widths and run times).
    """

    KIND: ClassVar[str] = "size-cycle"
    SHAPES: ClassVar[Shapes] = {"procs": (None,), "runtime": (None,)}
    procs: Floats
    runtime: Floats
    ratios: Floats
    together: float = 0.5

    def _check(self) -> None:
        shape = (CELLS, self.procs.size * self.runtime.size)
        object.__setattr__(self, "ratios", frozen_array(self.ratios, np.float64, shape=shape))
        if np.any(self.ratios < 0) or np.any(np.all(self.ratios <= 0, axis=1)):
            raise ModelError("size-cycle: ratios must not be negative, nor all zero in a block")
        if not 0 <= self.together <= 1:
            raise ModelError(f"size-cycle: together must lie in [0, 1], got {self.together}")

    @classmethod
    def fit(cls, clock: Floats, procs: Floats, runtime: Floats) -> SizeCycle | None:
        """Count in a log of at least two weeks; None: it is shorter."""
        if clock[-1] - clock[0] < SHORTEST:
            return None
        levels = [2.0 ** np.unique(np.floor(np.log2(values))) for values in (procs, runtime)]
        bare = cls(levels[0], levels[1], np.ones((CELLS, levels[0].size * levels[1].size)))
        size = bare.ratios.shape[1]
        cell, pair = cell_of(clock), bare._classes(procs, runtime)
        counts = pair_counts(cell, pair, (CELLS, size))
        whole = counts.sum(axis=0) / clock.size
        shares = (counts + PRIOR * whole) / (counts.sum(axis=1, keepdims=True) + PRIOR)
        ratios = np.where(whole > 0, shares / np.where(whole > 0, whole, 1), 1.0)
        return cls(levels[0], levels[1], ratios)._keeping_memory(clock, procs, runtime)

    def _keeping_memory(self, clock: Floats, procs: Floats, runtime: Floats) -> SizeCycle:
        """Return the cycle with the ``together`` at which a log's jobs keep their memory.

        The log is turned by a number of jobs, so that sizes stand at hours that aren't theirs, and
        clocked. The more rows go together, the more memory the result has: bisection finds where
        it is the log's, on average over `TRIALS` turns with the same random numbers throughout.
        """
        memory = _memory(procs, runtime)
        turns = np.linspace(0, clock.size, TRIALS + 2)[1:-1].astype(np.int64)
        low, high = 0.0, MOST_TOGETHER
        for _ in range(HALVINGS):
            tried = replace(self, together=(low + high) / 2)
            found = [
                _memory(*tried.clocked(np.roll(clock, turn), procs, runtime, generator(k)))
                for k, turn in enumerate(turns)
            ]
            enough = np.mean(found) >= memory
            low, high = (low, tried.together) if enough else (tried.together, high)
        return replace(self, together=(low + high) / 2)

    def clocked(
        self, clock: Floats, procs: Floats, runtime: Floats, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Sizes as they are at these times, in seconds after a Monday's midnight."""
        cell, pair = cell_of(clock), self._classes(procs, runtime)
        begins = np.concatenate(([True], pair[1:] != pair[:-1]))
        start = np.flatnonzero(begins)  # of each row of jobs in one class
        row = np.cumsum(begins) - 1
        fresh = rng.random(start.size) >= self.together
        fresh[0] = True
        drawn = np.maximum.accumulate(np.where(fresh, np.arange(start.size), 0))
        keeps, which, donor = rng.random((3, start.size))[:, drawn]
        order = np.argsort(pair[start], kind="stable")  # rows by class
        first = np.searchsorted(pair[start][order], np.arange(self.ratios.shape[1] + 1))
        length = np.diff(np.append(start, pair.size))
        share = np.bincount(pair, minlength=self.ratios.shape[1]) / pair.size
        source = np.arange(pair.size)
        for c in np.unique(cell):
            ratio = self.ratios[c] / (share @ self.ratios[c])
            here = np.flatnonzero(cell == c)
            moves = here[keeps[row[here]] >= ratio[pair[here]]]
            excess = share * np.maximum(ratio - 1, 0)
            if moves.size == 0 or excess.sum() <= 0:
                continue
            to = categorical(excess, which[row[moves]])
            count = first[to + 1] - first[to]
            taken = order[first[to] + (donor[row[moves]] * count).astype(np.int64)]
            source[moves] = start[taken] + (moves - start[row[moves]]) % length[taken]
        return procs[source], runtime[source]

    def _classes(self, procs: Floats, runtime: Floats) -> Ints:
        return state_of(procs, self.procs) * self.runtime.size + state_of(runtime, self.runtime)


def _memory(*series: Floats) -> float:
    """Sum of the lag-one autocorrelations; a constant series has none."""
    return float(np.nansum([autocorrelation(values) for values in series]))

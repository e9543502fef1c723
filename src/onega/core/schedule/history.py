"""How the service rate went over time, and pieces of service: what a schedule keeps beside jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onega.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Intervals of service, one or more for each job: rows of the workload, starts, ends."""

    row: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RateHistory:
    """The common service rate R(t), piecewise constant.

    Attributes
    ----------
    since, level
        From when on which level holds; the first entry is the first submission.
    rates
        Work per second at each level.
    """

    since: Floats
    level: Ints
    rates: tuple[float, ...]

    @classmethod
    def constant(cls, since: float, rate: float = 1.0) -> RateHistory:
        """Return the history of a rate that never changes."""
        return cls(np.array([since]), np.array([0], np.int64), (rate,))

    @classmethod
    def joined(
        cls, first: float, times: Floats, levels: Ints, rates: tuple[float, ...]
    ) -> RateHistory:
        """Return the history of changes of level; several at one instant count as one."""
        since = np.concatenate([[first], times])
        level = np.concatenate([np.zeros(1, np.int64), levels])
        last_of_instant = np.concatenate([since[1:] > since[:-1], [True]])
        since, level = since[last_of_instant], level[last_of_instant]
        changes = np.concatenate([[True], level[1:] != level[:-1]])
        return cls(since[changes], level[changes], rates)

    def integral(self, weights: tuple[float, ...], times: npt.ArrayLike) -> Floats:
        """Return ∫ w(level(u)) du from the first entry to each of ``times``.

        With w = rates this is the work clock V, with w = busy power the energy of a processor
        that is busy throughout (Ê of docs/energy.md).
        """
        at = np.asarray(times, dtype=np.float64)
        weight, until = self.steps(weights)
        if self.since.size == 1:
            return np.asarray((at - self.since[0]) * weight[0])
        place = np.maximum(np.searchsorted(self.since, at, side="right") - 1, 0)
        return until[place] + (at - self.since[place]) * weight[place]

    def work(self, since: npt.ArrayLike, until: npt.ArrayLike) -> Floats:
        """Return the work ∫ R done on a processor from each of ``since`` to each of ``until``."""
        return self.integral(self.rates, until) - self.integral(self.rates, since)

    def steps(self, weights: tuple[float, ...]) -> tuple[Floats, Floats]:
        """Return, at each entry, the weight that holds from then on and the integral until then."""
        weight = np.asarray(weights, dtype=np.float64)[self.level]
        until = np.zeros(weight.size)
        np.cumsum(np.diff(self.since) * weight[:-1], out=until[1:])
        return weight, until

    def reaching(self, clock: npt.ArrayLike) -> Floats:
        """Return when the work clock V reaches each value: `integral` of the rates, inverted."""
        values = np.asarray(clock, dtype=np.float64)
        until = self.integral(self.rates, self.since)
        place = np.maximum(np.searchsorted(until, values, side="right") - 1, 0)
        rate = np.asarray(self.rates)[self.level[place]]
        return np.asarray(self.since[place] + (values - until[place]) / rate)

    def at(self, times: npt.ArrayLike) -> Ints:
        """Return the level right after each of ``times``."""
        place = np.searchsorted(self.since, np.asarray(times, dtype=np.float64), side="right") - 1
        return self.level[np.maximum(place, 0)]

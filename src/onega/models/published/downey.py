"""Downey's model: log-uniform work and log-uniform parallelism.

A. B. Downey, *A parallel workload model and its implications for processor allocation*, Cluster
Computing 1 (1998): the distribution functions of a job's sequential lifetime (processors × time)
and of its parallelism are nearly straight lines over a logarithmic axis, in one or more stages.
Downey models jobs that can take any number of processors; here a job runs on as many as its
parallelism, for lifetime / parallelism seconds. Lifetime and parallelism are independent, so the
model makes wide jobs shorter; where a log says otherwise, `onega compare` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.parts import Part, Shapes

STAGES = 2


@dataclass(frozen=True, eq=False)
class LogUniform(Part):
    """A multi-stage log-uniform law: its distribution function is a polygon over log x.

    Attributes
    ----------
    points
        Ascending values (not logarithms) where the stages meet.
    levels
        The distribution function there, from 0 to 1.
    """

    KIND: ClassVar[str] = "log-uniform"
    SHAPES: ClassVar[Shapes] = {"points": ("n",), "levels": ("n",)}
    points: Floats
    levels: Floats

    def _check(self) -> None:
        good = (
            self.points.size >= 2
            and self.points[0] > 0
            and bool(np.all(np.diff(self.points) > 0))
            and bool(np.all(np.diff(self.levels) >= 0))
            and self.levels[0] == 0
            and self.levels[-1] == 1
        )
        if not good:
            raise ModelError("log-uniform: ascending points and levels from 0 to 1 are needed")

    @classmethod
    def fit(cls, values: Floats, *, stages: int = STAGES) -> LogUniform:
        """Fit the polygon to the observed distribution function by least squares in the knots.

        Ends are the smallest and largest value; inner knots are searched on a grid, one by one,
        until none moves.
        """
        logs = np.sort(np.log(values))
        if logs[0] == logs[-1]:
            raise ModelError("log-uniform: all values are equal")
        keep = np.linspace(0, logs.size - 1, min(logs.size, 2000)).astype(np.int64)
        x, y = logs[keep], (keep + 0.5) / logs.size
        knots = np.linspace(logs[0], logs[-1], stages + 1)
        grid = np.linspace(logs[0], logs[-1], 81)[1:-1]
        for _ in range(10):
            before = knots.copy()
            for place in range(1, stages):
                choices = grid[(grid > knots[place - 1]) & (grid < knots[place + 1])]
                trials = [_replaced(knots, place, choice) for choice in choices]
                if trials:
                    knots = min(trials, key=lambda k: _polygon(x, y, k)[1])
            if np.allclose(before, knots):
                break
        return cls(np.exp(knots), _polygon(x, y, knots)[0])

    def draw(self, uniforms: Floats) -> Floats:
        """Turn uniform numbers into values."""
        values: Floats = np.exp(np.interp(uniforms, self.levels, np.log(self.points)))
        return values


@dataclass(frozen=True, eq=False, kw_only=True)
class Downey(WorkloadModel):
    """Log-uniform lifetime and parallelism, independent of each other."""

    KIND: ClassVar[str] = "downey"
    TITLE: ClassVar[str] = "Downey 1997"
    lifetime: LogUniform
    parallelism: LogUniform

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator, *, stages: int = STAGES) -> dict[str, Any]:
        if stages < 1:
            raise ModelError(f"downey: stages must be at least 1, got {stages}")
        # A width of w stands for w − ½ to w + ½.
        spread = np.random.default_rng(0).uniform(-0.5, 0.5, len(jobs))
        return {
            "lifetime": LogUniform.fit(jobs.procs * jobs.runtime, stages=stages),
            "parallelism": LogUniform.fit(jobs.procs + spread, stages=stages),
        }

    def _draw(self, n: int, rng: Generator) -> Drawn:
        uniforms = rng.random((2, n))
        procs = np.clip(np.rint(self.parallelism.draw(uniforms[0])), 1, self.machine)
        return Drawn(procs, np.maximum(self.lifetime.draw(uniforms[1]) / procs, 1.0))


def _replaced(knots: Floats, place: int, value: float) -> Floats:
    moved = knots.copy()
    moved[place] = value
    return moved


def _polygon(x: Floats, y: Floats, knots: Floats) -> tuple[Floats, float]:
    """Levels at the knots (0 and 1 at the ends, ascending) by least squares, and the error."""
    hats = np.array([np.interp(x, knots, row) for row in np.eye(knots.size)]).T
    rest = y - hats[:, -1]
    inner, *_ = np.linalg.lstsq(hats[:, 1:-1], rest, rcond=None)
    levels = np.concatenate(([0.0], np.maximum.accumulate(np.clip(inner, 0, 1)), [1.0]))
    return levels, float(np.sum((hats @ levels - y) ** 2))

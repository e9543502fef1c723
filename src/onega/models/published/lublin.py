"""Lublin and Feitelson's model, with its published parameters or fitted to a log.

U. Lublin and D. G. Feitelson, *The workload on parallel supercomputers: modeling the
characteristics of rigid jobs*, J. Parallel and Distributed Computing 63 (2003) 1105–1122; the
numbers are those of the archive's program for jobs of one type.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.arrivals.arrivals import Arrivals, LogGammaGaps
from onega.models.arrivals.cycles import DAY, HALF_HOURS, Cycle
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import fit_gamma, truncated_gamma
from onega.models.jobs.mixtures import em, gather, line

DAY_BEGINS = 11
"""The half hour (from 1) where the model's day starts: the Gamma law runs from there around."""


@dataclass(frozen=True, eq=False)
class GammaDay(Cycle):
    """A day whose submissions follow a Gamma law over half hours, begun early in the morning."""

    KIND: ClassVar[str] = "gamma-day"
    shape: float = 8.1737
    scale: float = 3.9631

    def intensity(self) -> Floats:
        """Relative rate of each half hour of the week; all days are alike."""
        place = np.arange(DAY_BEGINS, DAY_BEGINS + HALF_HOURS)
        weights = np.empty(HALF_HOURS)
        weights[(place - 1) % HALF_HOURS] = _day_weights(self.shape, self.scale)
        return np.tile(weights, 7)

    @classmethod
    def fit(cls, clock: Floats) -> GammaDay:
        """Fit by maximum likelihood to the half hours of the submissions.

        The law is cut to one day, so the likelihood is that of the 48 shares.
        """
        from scipy.optimize import minimize

        half_hour = (np.asarray(clock) % DAY // 1800).astype(np.int64) + 1
        place = (half_hour - DAY_BEGINS) % HALF_HOURS
        counts = np.bincount(place, minlength=HALF_HOURS)

        def cost(logs: Floats) -> float:
            weights = _day_weights(*np.exp(np.clip(logs, -3, 7))) + 1e-12
            return -float(counts @ np.log(weights / weights.sum()))

        start = np.log(fit_gamma((place + DAY_BEGINS).astype(np.float64)))
        found = minimize(cost, start, method="Nelder-Mead", options={"maxfev": 400})
        shape, scale = np.exp(np.clip(found.x, -3, 7))
        return cls(float(shape), float(scale))


def _day_weights(shape: float, scale: float) -> Floats:
    """Probability of each half hour, from the beginning of the model's day."""
    from scipy.special import gammainc

    place = np.arange(DAY_BEGINS, DAY_BEGINS + HALF_HOURS)
    upper, lower = (gammainc(shape, (place + side) / scale) for side in (0.5, -0.5))
    return np.asarray(upper - lower)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lublin(WorkloadModel):
    """Two-stage uniform widths, hyper-Gamma run times tied to the width, Gamma arrivals.

    Attributes
    ----------
    serial, power_of_two
        Share of serial jobs, and of parallel jobs whose width is made a power of two.
    low, middle, high, first
        log₂ width of parallel jobs: uniform in [low, middle] with probability ``first``, else in
        [middle, high].
    a1, b1, a2, b2
        Shape and scale of the two Gamma laws of log run time (natural logarithm, seconds).
    slope, level
        Share of the first law: slope · width + level, kept in [0, 1].
    limit
        Draws of log run time above it are drawn anew.
    """

    KIND: ClassVar[str] = "lublin"
    TITLE: ClassVar[str] = "Lublin and Feitelson 2003"
    DEFAULT_GAPS: ClassVar[str] = "log-gamma"
    serial: float = 0.244
    power_of_two: float = 0.576
    low: float = 0.8
    middle: float = 4.5
    high: float = 7.0
    first: float = 0.86
    a1: float = 4.2
    b1: float = 0.94
    a2: float = 312.0
    b2: float = 0.03
    slope: float = -0.0054
    level: float = 0.78
    limit: float = 12.0
    arrivals: Arrivals = field(
        default_factory=lambda: Arrivals(LogGammaGaps(10.2303 * 1.0225, 0.4871), GammaDay())
    )
    learnt: str = "published parameters"

    def _check(self) -> None:
        shares = (self.serial, self.power_of_two, self.first)
        if any(not 0 <= s <= 1 for s in shares) or self.serial + self.power_of_two > 1 + 1e-9:
            raise ModelError("lublin: shares must lie in [0, 1], serial + power_of_two too")
        if not self.low <= self.middle <= self.high:
            raise ModelError(
                f"lublin: low ≤ middle ≤ high is needed, got {self.low, self.middle, self.high}"
            )
        if min(self.a1, self.b1, self.a2, self.b2, self.limit) <= 0:
            raise ModelError("lublin: a1, b1, a2, b2 and limit must be positive")

    @classmethod
    def _fit_arrivals(
        cls, jobs: Jobs, arrivals: str | Arrivals | None, cycle: str | None
    ) -> Arrivals:
        short = jobs.clock[-1] - jobs.clock[0] < 2 * DAY  # nothing of a day to be seen
        if arrivals is not None or cycle is not None or short:
            return super()._fit_arrivals(jobs, arrivals, cycle)
        day = Arrivals(None, GammaDay.fit(jobs.clock))
        return replace(day, gaps=LogGammaGaps.fit(day.operational_gaps(jobs.clock)[1:]))

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator) -> dict[str, Any]:
        widths = _fit_widths(jobs.procs.astype(np.int64), jobs.machine)
        # A run time of r whole seconds stands for r to r + 1.
        logs = np.log(jobs.runtime + 0.5)
        values, width, weight = gather(logs, jobs.procs, 0.02)
        values = np.maximum(values, 0.01)
        middle = float(np.median(values))
        halves = [values[values <= middle], values[values > middle]]
        start = tuple(_spread_gamma(half) for half in halves)
        first, second, slope, level = em(
            values, width, weight, start=(start[0], start[1]), density=_gamma_pdf, update=_gamma_ml
        )
        return {
            **widths,
            "a1": first[0],
            "b1": first[1],
            "a2": second[0],
            "b2": second[1],
            "slope": slope,
            "level": level,
            "limit": max(12.0, float(np.log(jobs.runtime.max() + 1))),
        }

    def for_machine(self, machine: int) -> Self:
        """Widths for another machine: ``high`` is log₂ of its size, ``middle`` moves with it."""
        high = float(np.log2(machine))
        if machine == self.machine and abs(high - self.high) < 1e-9:
            return self
        middle = max(self.low, high - (self.high - self.middle))
        low = min(self.low, high)
        return replace(self, machine=machine, low=low, middle=min(middle, high), high=high)

    def _draw(self, n: int, rng: Generator) -> Drawn:
        kind, stage, place = rng.random((3, n))
        early = stage < self.first
        span = np.where(early, self.middle - self.low, self.high - self.middle)
        logs = np.where(early, self.low, self.middle) + place * span
        logs = np.where(kind < self.serial + self.power_of_two, np.floor(logs + 0.5), logs)
        procs = np.where(kind < self.serial, 1.0, np.floor(np.exp2(logs) + 0.5))
        procs = np.minimum(procs, self.machine)
        one = rng.random(n) < line(procs, self.slope, self.level)
        shape, scale = np.where(one, self.a1, self.a2), np.where(one, self.b1, self.b2)
        # The archive's program draws the part anew too; the share of the first part is the same.
        drawn = truncated_gamma(shape, scale, rng, n=n, limit=self.limit)
        return Drawn(procs, np.floor(np.exp(drawn)))


def two_stage_cdf(x: npt.ArrayLike, stages: tuple[float, float, float, float]) -> Floats:
    """P(U ≤ x) of the two-stage uniform law (low, middle, high, first)."""
    low, middle, high, first = stages
    points = np.asarray(x, dtype=np.float64)
    one = np.clip((points - low) / max(middle - low, 1e-9), 0, 1)
    two = np.clip((points - middle) / max(high - middle, 1e-9), 0, 1)
    result: Floats = first * one + (1 - first) * two
    return result


def _fit_widths(procs: npt.NDArray[np.int64], machine: int) -> dict[str, float]:
    """Maximise the likelihood of the widths: a power of two can come from either kind of job."""
    from scipy.optimize import minimize

    serial = float(np.mean(procs == 1))
    high = float(np.log2(machine))
    values, counts = np.unique(procs[procs > 1], return_counts=True)
    default = {"low": min(0.8, high), "high": high, "first": 0.86}
    if values.size < 2 or machine < 4:
        share = float(np.mean((procs > 1) & (procs & (procs - 1) == 0)))
        middle = max(default["low"], high - 2.5)
        return {"serial": serial, "power_of_two": share, "middle": min(middle, high), **default}
    logs = np.log2(values)
    power = values & (values - 1) == 0
    edges = np.log2(np.column_stack((values - 0.5, values + 0.5)))

    def parts(c: Floats) -> tuple[tuple[float, float, float, float], float]:
        low = logs[0] - 0.5 + 1.0 / (1 + np.exp(-c[0]))  # the narrowest width is rounded to
        low = min(low, high - 0.1)
        middle = low + (high - low) / (1 + np.exp(-c[1]))
        first, rounded = 1 / (1 + np.exp(-c[2])), 1 / (1 + np.exp(-c[3]))
        return (low, middle, high, first), rounded

    def cost(c: Floats) -> float:
        stages, rounded = parts(np.clip(c, -20, 20))
        cdf = two_stage_cdf(edges, stages)
        other = cdf[:, 1] - cdf[:, 0]
        whole = two_stage_cdf(logs + 0.5, stages) - two_stage_cdf(logs - 0.5, stages)
        chance = rounded * power * whole + (1 - rounded) * other
        return -float(counts @ np.log(chance + 1e-12))

    found = minimize(
        cost, np.array([0.0, 0.5, 1.5, 1.0]), method="Nelder-Mead", options={"maxfev": 2000}
    )
    (low, middle, _, first), rounded = parts(np.clip(found.x, -20, 20))
    return {
        "serial": serial,
        "power_of_two": float(rounded * (1 - serial)),
        "low": float(low),
        "middle": float(middle),
        "high": high,
        "first": float(first),
    }


def _gamma_pdf(x: Floats, parameters: tuple[float, ...]) -> Floats:
    from scipy.special import gammaln

    shape, scale = parameters
    logs = (shape - 1) * np.log(x) - x / scale - gammaln(shape) - shape * np.log(scale)
    return np.asarray(np.exp(np.maximum(logs, -700)))


def _gamma_ml(x: Floats, weight: Floats) -> tuple[float, float]:
    if weight.sum() < 1e-9:
        return 1.0, 1.0
    shape = min(fit_gamma(x, weight)[0], 1e5)  # a part on one value would become a point
    return shape, float(np.average(x, weights=weight)) / shape


def _spread_gamma(half: Floats) -> tuple[float, float]:
    mean, variance = float(half.mean()), max(float(half.var()), 1e-2)
    return mean**2 / variance, variance / mean

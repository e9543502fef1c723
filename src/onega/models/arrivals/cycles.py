"""The day and the week: how the rate of submissions rises and falls.

A cycle is an intensity with period one week and mean one. It maps *operational* time, in which an
arrival process has no daily cycle, to the clock: the clock moves on until the intensity has paid
for the operational time, t = Λ⁻¹(τ), Λ(t) = ∫₀ᵗ λ. A Poisson process so mapped is the
inhomogeneous Poisson process with intensity λ; a renewal process so mapped is Lublin and
Feitelson's; a chain of gaps keeps its bursts. Load is set in operational time, so the cycle stays
as it is (Song 2006, §2.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.parts import Part, Shapes

DAY = 86400.0
WEEK = 7 * DAY
HALF_HOURS = 48
_GRID = 288  # five minutes


class Cycle(Part):
    """Base: a family only says `intensity`."""

    def intensity(self) -> Floats:
        """Relative rate in equal cells of a week that begins on Monday at midnight."""
        raise NotImplementedError

    def operational(self, clock: npt.ArrayLike) -> Floats:
        """Λ(t): operational time of clock times, in seconds after a Monday's midnight."""
        edges, paid = self._table()
        time = np.asarray(clock, dtype=np.float64)
        weeks = np.floor(time / WEEK)
        result: Floats = weeks * WEEK + np.interp(time - weeks * WEEK, edges, paid)
        return result

    def clock(self, operational: npt.ArrayLike) -> Floats:
        """Λ⁻¹(τ): clock times, in seconds after a Monday's midnight."""
        edges, paid = self._table()
        time = np.asarray(operational, dtype=np.float64)
        weeks = np.floor(time / WEEK)
        # np.interp takes the last of several equal abscissae, the end of a quiet spell: nothing
        # is submitted in it.
        result: Floats = weeks * WEEK + np.interp(time - weeks * WEEK, paid, edges)
        return result

    def _table(self) -> tuple[Floats, Floats]:
        rate = np.asarray(self.intensity(), dtype=np.float64)
        total = rate.sum()
        if not np.isfinite(total) or total <= 0 or np.any(rate < 0):
            raise ModelError(f"{self.KIND}: the intensity must not be negative, nor zero all week")
        paid = np.concatenate(([0.0], np.cumsum(rate))) * (WEEK / total)
        paid[-1] = WEEK
        return np.linspace(0, WEEK, rate.size + 1), paid


@dataclass(frozen=True, eq=False)
class PolynomialCycle(Cycle):
    """A polynomial of degree eight over the day, and a factor for every weekday (§7.1).

    λ(h, d) = w_d · Σ_k c_k T_k(2h/24 − 1), T_k being Chebyshev's polynomials, never negative, with
    equal value and slope at both midnights.
    """

    KIND: ClassVar[str] = "polynomial"
    SHAPES: ClassVar[Shapes] = {"coefficients": (None,), "weekdays": (7,)}
    coefficients: Floats
    weekdays: Floats

    @classmethod
    def fit(cls, clock: Floats, *, degree: int = 8) -> PolynomialCycle:
        """Fit by Poisson maximum likelihood to the submissions of each half hour.

        Parameters
        ----------
        clock
            Submissions in seconds after a Monday's midnight.
        degree
            The polynomial's; the thesis uses 8.
        """
        counts = np.bincount(_half_hour(clock), minlength=HALF_HOURS).astype(np.float64)
        return cls(_fit_polynomial(counts / counts.mean(), degree), weekday_factors(clock))

    def daily(self) -> Floats:
        """Return the polynomial in cells of five minutes; rounding below zero is cut."""
        place = (np.arange(_GRID) + 0.5) / _GRID * 2 - 1
        values: Floats = np.maximum(np.polynomial.chebyshev.chebval(place, self.coefficients), 0)
        return values

    def intensity(self) -> Floats:
        """Relative rate in cells of five minutes."""
        return np.outer(self.weekdays, self.daily()).ravel()


@dataclass(frozen=True, eq=False)
class StepCycle(Cycle):
    """A rate for each half hour of the day, as in Lublin and Feitelson's model."""

    KIND: ClassVar[str] = "half-hours"
    SHAPES: ClassVar[Shapes] = {"weights": (HALF_HOURS,), "weekdays": (7,)}
    weights: Floats
    weekdays: Floats

    @classmethod
    def fit(cls, clock: Floats) -> StepCycle:
        """Count the submissions of each half hour."""
        counts = np.bincount(_half_hour(clock), minlength=HALF_HOURS).astype(np.float64)
        return cls(counts / counts.mean(), weekday_factors(clock))

    def intensity(self) -> Floats:
        """Relative rate in cells of half an hour."""
        return np.outer(self.weekdays, self.weights).ravel()


@dataclass(frozen=True, eq=False)
class DayNight(Cycle):
    """Downey's day and night: submissions at one rate for some hours, none in the others (§7.1)."""

    KIND: ClassVar[str] = "day-night"
    begin: float = 8.0
    hours: float = 12.0

    def _check(self) -> None:
        if not (0 < self.hours <= 24 and 0 <= self.begin < 24):
            raise ModelError(
                f"day-night: begin in [0, 24) and hours in (0, 24] are needed, "
                f"got {self.begin} and {self.hours}"
            )

    @classmethod
    def fit(cls, clock: Floats, *, hours: float = 12.0) -> DayNight:
        """Find the ``hours`` in a row, in steps of half an hour, with most submissions."""
        counts = np.bincount(_half_hour(clock), minlength=HALF_HOURS)
        width = round(hours * 2)
        around = np.concatenate((counts, counts))
        sums = np.convolve(around, np.ones(width), mode="valid")[:HALF_HOURS]
        return cls(begin=int(np.argmax(sums)) / 2, hours=width / 2)

    def intensity(self) -> Floats:
        """One in the day, zero at night, in cells of five minutes."""
        hour = (np.arange(_GRID) + 0.5) / _GRID * 24
        return np.tile(((hour - self.begin) % 24 < self.hours).astype(np.float64), 7)


@dataclass(frozen=True, eq=False)
class HoursOfWeek(Cycle):
    """A rate for each of the 168 hours of the week."""

    KIND: ClassVar[str] = "hours-of-week"
    SHAPES: ClassVar[Shapes] = {"weights": (168,)}
    weights: Floats

    def intensity(self) -> Floats:
        """Relative rate in cells of an hour."""
        return np.array(self.weights)


CYCLES: dict[str, type[PolynomialCycle | StepCycle | DayNight]] = {
    "polynomial": PolynomialCycle,
    "half-hours": StepCycle,
    "day-night": DayNight,
}


def weekday_factors(clock: Floats) -> Floats:
    """Relative rate of the seven weekdays, Monday first, with mean one.

    A day's submissions are divided by how often that weekday lies in the log, so that a log of
    ten days doesn't count its first three weekdays twice. A weekday never seen gets factor one.
    """
    day = np.floor(np.asarray(clock) / DAY).astype(np.int64)
    counts = np.bincount(day % 7, minlength=7).astype(np.float64)
    first, last = float(np.min(clock)), float(np.max(clock))
    days = np.arange(day.min(), day.max() + 1)
    present = np.minimum(days * DAY + DAY, last) - np.maximum(days * DAY, first)
    length = np.bincount(days % 7, weights=present, minlength=7)
    seen = length > DAY / 2  # less than half a day says nothing of that weekday
    if not seen.any():
        return np.ones(7)
    rates = np.where(seen, counts / np.maximum(length, 1.0), 0)
    factors: Floats = np.where(seen, rates / rates[seen].mean(), 1.0)
    return np.asarray(factors / factors.mean())


def _half_hour(clock: Floats) -> npt.NDArray[np.int64]:
    return (np.asarray(clock) % DAY // 1800).astype(np.int64)


def _fit_polynomial(relative: Floats, degree: int) -> Floats:
    """Maximise Σ n log λ − λ over non-negative polynomials with equal ends and end slopes."""
    from scipy.optimize import minimize

    cells = relative.size
    place = (np.arange(cells) + 0.5) / cells * 2 - 1
    basis = np.polynomial.chebyshev.chebvander(place, degree)
    fine = np.polynomial.chebyshev.chebvander(np.linspace(-1, 1, 4 * cells + 1), degree)
    ends = np.polynomial.chebyshev.chebvander(np.array([-1.0, 1.0]), degree)
    slopes = np.array([k * k * (1 - (-1.0) ** (k + 1)) for k in range(degree + 1)])
    equal = np.vstack((ends[1] - ends[0], slopes))
    floor = 1e-3

    def cost(c: Floats) -> float:
        rate = np.maximum(basis @ c, 1e-9)
        return float(np.sum(rate - relative * np.log(rate)))

    def gradient(c: Floats) -> Floats:
        rate = np.maximum(basis @ c, 1e-9)
        slope: Floats = basis.T @ (1 - relative / rate)
        return slope

    start = np.zeros(degree + 1)
    start[0] = 1.0
    answer = minimize(
        cost,
        start,
        jac=gradient,
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda c: equal @ c, "jac": lambda c: equal},
            {"type": "ineq", "fun": lambda c: fine @ c - floor, "jac": lambda c: fine},
        ],
        options={"maxiter": 200, "ftol": 1e-10},
    )
    coefficients = np.asarray(answer.x)
    scale = (basis @ coefficients).mean()
    return np.asarray(coefficients / scale)

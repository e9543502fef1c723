"""One attribute at a time: moments, percentiles, mode (Song 2006, §2.3), weight of the tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onega.core.types import Floats
from onega.traces.description.sections import Lacking, Summary, prefixed

UNITS = {"runtime": "s", "width": "processors", "gap": "s", "estimate": "s", "area": "processor-s",
         "wait": "s"}  # fmt: skip
"""Attribute → unit."""


@dataclass(frozen=True, slots=True)
class Marginal:
    """The distribution of one attribute in three families of numbers (Song 2006, §2.3).

    Attributes
    ----------
    name, unit
        Which attribute, in what.
    count
        Jobs (or gaps) for which it is known.
    mean
        x̄ = Σx / n.
    std
        s = √(Σ(x − x̄)² / (n − 1)); None for a single value.
    cv
        Coefficient of variation s / x̄; None where x̄ = 0.
    minimum, maximum
        The extremes.
    quartiles
        The 25th, 50th and 75th percentiles, interpolated linearly between neighbours of the sorted
        values (R's and NumPy's default rule).
    deciles
        The 10th, 20th, …, 90th percentiles.
    p95, p99
        Two more percentiles, as promises of service name them.
    siqr
        Semi-interquartile range: the mean of the distances from the median to the two other
        quartiles, (p75 − p25) / 2.
    mode
        The most common value; the smallest one of several.
    mode_share
        The share of values equal to the mode.
    """

    name: str
    unit: str
    count: int
    mean: float
    std: float | None
    cv: float | None
    minimum: float
    quartiles: tuple[float, float, float]
    deciles: tuple[float, ...]
    p95: float
    p99: float
    maximum: float
    siqr: float
    mode: float
    mode_share: float

    @property
    def median(self) -> float:
        """Half of the values are smaller, half larger."""
        return self.quartiles[1]

    def summary(self) -> Summary:
        """Every number, its attribute before its name: ``runtime_mean``, ``runtime_p90``."""
        flat: Summary = {
            "count": self.count,
            "mean": self.mean,
            "std": self.std,
            "cv": self.cv,
            "min": self.minimum,
            "p25": self.quartiles[0],
            "median": self.median,
            "p75": self.quartiles[2],
            **{f"p{10 * i}": value for i, value in enumerate(self.deciles, 1)},
            "p95": self.p95,
            "p99": self.p99,
            "max": self.maximum,
            "siqr": self.siqr,
            "mode": self.mode,
            "mode_share": self.mode_share,
        }
        return prefixed(self.name, flat)


def marginal(name: str, values: Floats) -> Marginal:
    """Measure one attribute; NaN is unknown and left out.

    Raises
    ------
    Lacking
        If nothing is known.
    """
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        raise Lacking(f"the log doesn't say: no {name} is known")
    mean = float(known.mean())
    std = float(known.std(ddof=1)) if known.size > 1 else None
    deciles = np.quantile(known, np.arange(1, 10) / 10)
    low, middle, high, p95, p99 = map(float, np.quantile(known, [0.25, 0.5, 0.75, 0.95, 0.99]))
    distinct, counts = np.unique(known, return_counts=True)
    top = int(counts.argmax())
    return Marginal(
        name=name,
        unit=UNITS[name],
        count=known.size,
        mean=mean,
        std=std,
        cv=None if std is None or mean == 0 else std / mean,
        minimum=float(known[0]),
        quartiles=(low, middle, high),
        deciles=tuple(map(float, deciles)),
        p95=p95,
        p99=p99,
        maximum=float(known[-1]),
        siqr=(high - low) / 2,
        mode=float(distinct[top]),
        mode_share=float(counts[top] / known.size),
    )


WORST_FIT = 0.1
"""Kolmogorov–Smirnov distance from which a power law is no description of a tail."""


class HillPoint(NamedTuple):
    """The Hill estimate from the k largest values."""

    k: int
    threshold: float
    alpha: float
    distance: float


@dataclass(frozen=True, slots=True)
class Tail:
    """How heavy the upper tail is: P[X > x] ~ c·x^−α, heavy if α < 2 (Song 2006, §2.3).

    α is Hill's estimate from the k largest values x₍₁₎ ≥ … ≥ x₍k₎ ≥ x₍k+1₎::

        1/α = (1/k) Σ_{i≤k} ln(x₍i₎ / x₍k+1₎)

    k is chosen, of 80 candidates equally spaced on a logarithmic scale from 50 (from n/10 in a log
    of fewer than 500 jobs) to n/4, as the one whose Pareto law is nearest to the tail: the
    smallest Kolmogorov–Smirnov distance between the k values and 1 − (x/x₍k+1₎)^−α (the rule of
    Clauset, Shalizi and Newman 2009). Queues limit run times, which cuts the tail off: then no
    power law fits well, and `fits` says so.

    Attributes
    ----------
    alpha
        The index.
    error
        Its asymptotic standard error, α/√k, as if jobs were independent.
    k
        How many of the largest values it rests on.
    threshold
        x₍k+1₎, where the tail begins, in seconds.
    distance
        The Kolmogorov–Smirnov distance at this k.
    curve
        All candidates, for the Hill plot.
    """

    alpha: float
    error: float
    k: int
    threshold: float
    distance: float
    curve: tuple[HillPoint, ...]

    @property
    def heavy(self) -> bool:
        """Whether the variance would be infinite: α < 2."""
        return self.alpha < 2

    @property
    def fits(self) -> bool:
        """Whether a power law describes the tail at all: distance below 0.1, a rule of thumb."""
        return self.distance < WORST_FIT

    def summary(self) -> Summary:
        """Keys ``tail_index``, ``tail_error``, ``tail_k``, ``tail_threshold`` and more."""
        return {
            "tail_index": self.alpha,
            "tail_error": self.error,
            "tail_k": self.k,
            "tail_threshold": self.threshold,
            "tail_distance": self.distance,
            "tail_heavy": self.heavy,
            "tail_fits": self.fits,
        }


MIN_TAIL_JOBS = 40
"""Below this a tail index says nothing."""


def hill_tail(values: Floats) -> Tail:
    """Estimate the tail index of positive values; see `Tail` for the formula and the choice of k.

    Raises
    ------
    Lacking
        If there are fewer than 40 positive values or the largest ones are all equal.
    """
    largest = np.sort(values[values > 0])[::-1]
    n = largest.size
    if n < MIN_TAIL_JOBS:
        raise Lacking(f"needs at least {MIN_TAIL_JOBS} positive run times, the log has {n}")
    least = min(50, max(n // 10, 4))
    candidates = np.unique(np.geomspace(least, max(n // 4, least + 1), 80).round().astype(int))
    logs = np.log(largest)
    sums = np.cumsum(logs)
    curve = [point for k in candidates if (point := _hill_point(logs, sums, int(k))) is not None]
    if not curve:
        raise Lacking("the largest run times are all equal: no tail to measure")
    best = min(curve, key=lambda point: point.distance)
    return Tail(
        best.alpha, best.alpha / best.k**0.5, best.k, best.threshold, best.distance, tuple(curve)
    )


def _hill_point(logs: Floats, sums: Floats, k: int) -> HillPoint | None:
    excess = sums[k - 1] / k - logs[k]
    if logs[0] == logs[k] or excess <= 0:  # the k + 1 largest values are one and the same
        return None
    alpha = 1 / excess
    # The k values ascending, as uniform under the Pareto law; both sides of each step count.
    law = -np.expm1(-alpha * (logs[:k][::-1] - logs[k]))
    steps = np.arange(k + 1) / k
    distance = max(np.max(steps[1:] - law), np.max(law - steps[:-1]))
    return HillPoint(k, float(np.exp(logs[k])), float(alpha), float(distance))

"""Confidence intervals for means: from replicates, and from one long run by batch means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from onega.core.renamed import renamed


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval [low, high] at ``level``, from ``count`` values."""

    mean: float
    low: float
    high: float
    level: float
    count: int

    @property
    def half_width(self) -> float:
        """Half the interval's length."""
        return (self.high - self.low) / 2

    def at_least(self, bound: float) -> Interval:
        """Return the interval without the part below ``bound``, where no value can lie.

        For means of what can't be negative, such as waits: Student's interval of a few skewed
        values may reach below zero. What is cut off had no chance, so that the rest covers as
        much; the mean stays inside.
        """
        return replace(self, low=max(self.low, bound), high=max(self.high, bound))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.mean:.6g} ± {self.half_width:.2g}"


@renamed(level="confidence")
def mean_interval(values: npt.ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Student's interval for the mean of independent values, e.g. one per replicate.

    x̄ ± t_{n−1, (1+confidence)/2} · s/√n; needs at least two values.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is a probability between 0 and 1, got {confidence}")
    sample = np.asarray(values, dtype=np.float64)
    if sample.size < 2:
        raise ValueError(f"an interval needs at least two values, got {sample.size}")
    from scipy.special import stdtrit

    mean = float(sample.mean())
    error = float(sample.std(ddof=1)) / math.sqrt(sample.size)
    half = float(stdtrit(sample.size - 1, (1 + confidence) / 2)) * error
    return Interval(mean, mean - half, mean + half, confidence, int(sample.size))


@renamed(level="confidence")
def batch_means(values: npt.ArrayLike, *, batches: int = 30, confidence: float = 0.95) -> Interval:
    """Interval for the mean of one long correlated series, by non-overlapping batches.

    The series is cut into ``batches`` pieces of equal length (a remainder at the beginning is
    left out, where the warm-up is); their means are taken as independent. Honest only if the
    batches are long against the series' memory.
    """
    series = np.asarray(values, dtype=np.float64)
    if batches < 2:
        raise ValueError(f"batch means need at least two batches, got {batches}")
    if series.size < 2 * batches:
        raise ValueError(
            f"{batches} batches need at least {2 * batches} values, got {series.size}; "
            "use fewer batches or replicates"
        )
    length = series.size // batches
    cut = series[series.size - length * batches :].reshape(batches, length)
    return mean_interval(cut.mean(axis=1), confidence=confidence)

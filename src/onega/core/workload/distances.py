"""How far two samples lie apart."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def ks_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Kolmogorov–Smirnov: the largest difference of the two empirical distribution functions.

    Exact with ties. NaN if either sample is empty. As in Song (2006) a descriptive figure: jobs are
    not independent, so no p-value is meant.
    """
    a = np.sort(np.asarray(first, dtype=np.float64))
    b = np.sort(np.asarray(second, dtype=np.float64))
    if a.size == 0 or b.size == 0:
        return math.nan
    points = np.concatenate((a, b))
    below_a = np.searchsorted(a, points, side="right") / a.size
    below_b = np.searchsorted(b, points, side="right") / b.size
    return float(np.max(np.abs(below_a - below_b)))


def total_variation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Half the sum of |p − q| of two histograms over the same bins; NaN if one is empty."""
    p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if p.sum() <= 0 or q.sum() <= 0:
        return math.nan
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)

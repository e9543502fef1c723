"""Laws of a job manager's overheads from what was measured on virtual nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onega.core.machine.laws import Law
from onega.core.types import Floats

NONE = Law("fixed", 0.0)

RESOLUTION = 1e-3
"""Seconds to which Slurm's log notes times; shorter durations count as one."""


def fit_law(values: npt.ArrayLike) -> Law:
    """Fit a gamma law by maximum likelihood.

    Its mean is the sample's, its shape k solves ln k − ψ(k) = ln(mean x) − mean(ln x). One duration
    in a hundred is ten times as long as the others, as the machine had other work: it would decide
    about the variance, and so about the body of a law that is fitted by moments. NaN are left out;
    what the clocks' difference makes negative counts as 0.
    """
    sample = np.asarray(values, dtype=np.float64)
    sample = np.maximum(sample[np.isfinite(sample)], 0.0)
    return gamma(float(sample.mean()), _shape(sample)) if sample.size else NONE


def gamma(mean: float, shape: float) -> Law:
    """Return the gamma law with this mean; a fixed one where there is no spread."""
    return Law("gamma", mean, shape) if shape < np.inf and mean > 0 else Law("fixed", mean)


def _shape(sample: Floats) -> float:
    """Return the likeliest shape of a gamma law; ∞ where there is no spread."""
    from scipy.stats import gamma as gamma_law

    if sample.std() <= 1e-4 * sample.mean():
        return float("inf")
    shape, _, _ = gamma_law.fit(np.maximum(sample, RESOLUTION), floc=0.0)
    return float(shape)


def fit_release(width: npt.ArrayLike, seconds: npt.ArrayLike) -> tuple[Law, Law]:
    """Fit laws of the release and of a node's report to what it took until nodes were idle again.

    The means are the least-squares line: seconds = release + report · width. Both laws get the
    shape of the values over it. NaN are left out.
    """
    widths, values = np.asarray(width, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    known = np.isfinite(values)
    widths, values = widths[known], np.maximum(values[known], 0.0)
    if not values.any():
        return NONE, NONE
    slope, base = np.polyfit(widths, values, 1) if np.ptp(widths) else (0.0, values.mean())
    if slope < 0.0:
        slope, base = 0.0, values.mean()
    elif base < 0.0:
        slope, base = widths @ values / (widths @ widths), 0.0
    shape = _shape(values / (base + slope * widths))
    return gamma(float(base), shape), gamma(float(slope), shape)

"""Laws of a job manager's overheads from what was measured on virtual nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onega.core.machine.laws import Law

NONE = Law("fixed", 0.0)


def fit_law(values: npt.ArrayLike) -> Law:
    """Fit a gamma law by its moments: shape k = m²/v, scale θ = v/m, so that draws have both.

    NaN are left out; what the clocks' difference makes negative counts as 0.
    """
    sample = np.asarray(values, dtype=np.float64)
    sample = np.maximum(sample[np.isfinite(sample)], 0.0)
    return gamma(float(sample.mean()), float(sample.std())) if sample.size else NONE


def gamma(mean: float, sd: float) -> Law:
    """Return the gamma law with these moments; a fixed one where there is no spread."""
    return Law("gamma", mean, (mean / sd) ** 2) if mean > 0 and sd > 0 else Law("fixed", mean)


def fit_release(width: npt.ArrayLike, gap: npt.ArrayLike) -> tuple[Law, Law]:
    """Fit laws of the release and of a node's report to (width, gap) of handovers.

    A gap is release + report · width, or longer where slurmctld noticed later that the nodes were
    free; so the line goes through the lower quartiles of classes of width (powers of two). Both
    laws get the relative spread of the gaps on their lower side: median less 16th percentile.
    """
    widths, gaps = np.asarray(width, dtype=np.float64), np.asarray(gap, dtype=np.float64)
    if widths.size == 0:
        return NONE, NONE
    group = np.floor(np.log2(widths))
    kinds = np.unique(group)
    x = np.array([np.median(widths[group == k]) for k in kinds])
    y = np.array([np.quantile(gaps[group == k], 0.25) for k in kinds])
    weight = np.sqrt([np.count_nonzero(group == k) for k in kinds])
    slope, base = np.polyfit(x, y, 1, w=weight) if kinds.size > 1 else (0.0, y[0])
    base, slope = max(0.0, float(base)), max(0.0, float(slope))
    if base + slope == 0.0:
        return NONE, NONE
    low, middle = np.quantile(gaps / (base + slope * widths), (0.16, 0.5))
    spread = float(middle - low)
    return gamma(base, spread * base), gamma(slope, spread * slope)

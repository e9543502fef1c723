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
    return Law("gamma", mean, (mean / sd) ** 2) if sd > 1e-4 * mean > 0 else Law("fixed", mean)


def fit_release(width: npt.ArrayLike, seconds: npt.ArrayLike) -> tuple[Law, Law]:
    """Fit laws of the release and of a node's report to what it took until nodes were idle again.

    The means are the least-squares line: seconds = release + report · width. Both laws get the
    relative spread of the values about it. NaN are left out.
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
    spread = float(np.std(values / (base + slope * widths)))
    return gamma(float(base), spread * base), gamma(float(slope), spread * slope)

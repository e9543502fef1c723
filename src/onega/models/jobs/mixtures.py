"""Two-part mixtures whose share depends on the width, fitted by EM.

Lublin and Feitelson (Gammas of log run time) and Feitelson's 1996 model (exponentials of the run
time) share the construction: the probability of the first part is a line in the width.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onega.core.types import Floats

Density = Callable[[Floats, tuple[float, ...]], Floats]
Update = Callable[[Floats, Floats], tuple[float, ...]]

LEAST, MOST = 1e-3, 1 - 1e-3
STEPS = 200


def line(width: Floats, slope: float, level: float) -> Floats:
    """Share of the first part: slope · width + level, kept in [0, 1]."""
    return np.clip(slope * width + level, 0.0, 1.0)


def em(
    values: Floats,
    width: Floats,
    weight: Floats,
    *,
    start: tuple[tuple[float, ...], tuple[float, ...]],
    density: Density,
    update: Update,
) -> tuple[tuple[float, ...], tuple[float, ...], float, float]:
    """Maximise Σ w log(p(width) f(x; θ₁) + (1 − p(width)) f(x; θ₂)).

    Parameters
    ----------
    values, width, weight
        One row per distinct (value, width), with its count.
    start
        θ₁ and θ₂ to start from.
    density, update
        f(x; θ), and the weighted maximum-likelihood θ of (x, weights).

    Returns
    -------
    θ₁, θ₂, slope, level
    """
    first, second = start
    slope, level = 0.0, 0.5
    before = -np.inf
    for _ in range(STEPS):
        share = np.clip(line(width, slope, level), LEAST, MOST)
        a = share * density(values, first)
        b = (1 - share) * density(values, second)
        total = a + b + 1e-300
        belongs = a / total
        likelihood = float(weight @ np.log(total))
        first = update(values, weight * belongs)
        second = update(values, weight * (1 - belongs))
        slope, level = _fit_line(width, belongs, weight, (slope, level))
        if likelihood - before < 1e-7 * abs(likelihood):
            break
        before = likelihood
    return first, second, slope, level


def _fit_line(
    width: Floats, belongs: Floats, weight: Floats, start: tuple[float, float]
) -> tuple[float, float]:
    """Maximise Σ z log p + (1 − z) log(1 − p), p = slope · width + level; damped Newton steps."""
    widths, place = np.unique(width, return_inverse=True)
    total = np.bincount(place, weights=weight)
    hits = np.bincount(place, weights=weight * belongs)
    scale = float(widths.max())
    basis = np.column_stack((widths / scale, np.ones(widths.size)))
    c = np.array([start[0] * scale, start[1]])

    def score(c: Floats) -> float:
        p = np.clip(basis @ c, LEAST, MOST)
        return float(hits @ np.log(p) + (total - hits) @ np.log(1 - p))

    now = score(c)
    for _ in range(20):
        p = np.clip(basis @ c, LEAST, MOST)
        gradient = basis.T @ (hits / p - (total - hits) / (1 - p))
        curvature = (basis.T * (hits / p**2 + (total - hits) / (1 - p) ** 2)) @ basis
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2) * total.sum(), gradient)
        size = 1.0
        while size > 1e-4 and score(c + size * step) < now:
            size /= 2
        if size <= 1e-4:
            break
        c = c + size * step
        new = score(c)
        if new - now < 1e-9 * abs(now):
            break
        now = new
    return float(c[0] / scale), float(c[1])


def gather(values: Floats, width: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Count the distinct pairs (value rounded to ``step``, width): EM then needs far fewer rows."""
    rounded = np.rint(values / step).astype(np.int64)
    pairs, counts = np.unique(np.column_stack((rounded, width)), axis=0, return_counts=True)
    return (
        np.asarray(pairs[:, 0] * step, dtype=np.float64),
        pairs[:, 1].astype(np.float64),
        counts.astype(np.float64),
    )

"""Integrals over time of what survives: Gauss–Legendre on panels that crowd where it is rough."""

from __future__ import annotations

from typing import Final

import numpy as np

from onega.core.types import Floats

_ORDER: Final = 20
_GRADES: Final = 50
"""Panels halve so often towards both ends: powers t^a and w^a are then integrated to 1e-13."""


def survival_grid(rate: float, atoms: Floats) -> tuple[Floats, Floats]:
    """Nodes t and weights for ∫₀^∞ f(t) dt where f falls at least as fast as e^{−rate·t}.

    In w = e^{−rate·t}, dt = dw/(rate·w); the panels are cut at the atoms, where f jumps.
    """
    halves = 0.5 ** np.arange(1, _GRADES)
    edges = np.concatenate(
        [[0.0], halves, 1.0 - halves, [1.0], np.exp(-rate * atoms[rate * atoms < 700])]
    )
    edges = np.unique(edges)
    x, weight = np.polynomial.legendre.leggauss(_ORDER)
    low, width = edges[:-1, None], np.diff(edges)[:, None]
    w = (low + width * (x + 1) / 2).ravel()
    weights = (width * weight / 2).ravel() / (rate * w)
    return -np.log(w) / rate, weights

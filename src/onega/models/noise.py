"""Laplace's mechanism, and how laws are made of noisy counts and sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onega.core.types import Floats, Ints

KEPT: Final = 2.0
"""Counts below so many times the noise's scale are taken for nothing."""

FALSE: Final = 0.01
"""How often an octave of a table may be taken for sure that is noise alone."""

RAKINGS: Final = 50
TILTS: Final = 60


@dataclass(frozen=True)
class Noise:
    """Laplace's mechanism (Dwork, McSherry, Nissim and Smith 2006).

    Attributes
    ----------
    stream
        Randomness.
    epsilon
        ε of each table and sum, by its name.
    """

    stream: Generator
    epsilon: Mapping[str, float]

    def on(self, name: str, counts: npt.ArrayLike, sensitivity: int) -> Floats:
        """Return noisy counts; those below `KEPT` times the noise's scale are nothing.

        The others are multiplied so that their sum is that of all noisy counts, which isn't biased.
        """
        noisy, scale = self._noisy(name, counts, sensitivity)
        return _scaled(np.where(noisy >= KEPT * scale, noisy, 0.0), float(noisy.sum()))

    def by_octave(self, name: str, counts: Ints, octave: Ints, sensitivity: int) -> Floats:
        """Return noisy counts of cells whose octaves are given.

        An octave has the sum of its noisy counts, which isn't biased, shared out among its cells as
        `on` would, or evenly if none of them stands out. Octaves that have less than noise would
        reach once in six times are nothing, and so are those beyond the last sure one.
        """
        noisy, scale = self._noisy(name, counts, sensitivity)
        sums = np.bincount(octave, weights=noisy)
        size = np.bincount(octave)
        sure = np.flatnonzero(sums >= scale * reached(size, FALSE / size.size))
        last = sure[-1] if sure.size else int(np.argmax(sums))
        keep = (sums >= scale * np.sqrt(2 * size)) & (np.arange(sums.size) <= last)
        cells = np.where(noisy >= KEPT * scale, noisy, 0.0)
        bare = np.bincount(octave, weights=cells) <= 0
        cells = np.where(bare[octave], 1.0, cells)
        cells *= (np.where(keep, sums, 0.0) / np.bincount(octave, weights=cells))[octave]
        return _scaled(cells, float(noisy.sum()))

    def _noisy(self, name: str, counts: npt.ArrayLike, sensitivity: int) -> tuple[Floats, float]:
        table = np.asarray(counts, dtype=np.float64)
        scale = sensitivity / self.epsilon[name]
        return table + self.stream.laplace(0.0, scale, table.shape), scale

    def clipped(self, name: str, count: float) -> float:
        """Return the quantile up to which values should be counted.

        Of ``count`` values the (1/ε)th largest: noise and what is cut off are alike there (Amin,
        Kulesza, Muñoz Medina and Vassilvitskii 2019).
        """
        return max(0.5, 1 - 1 / (self.epsilon[name] * max(count, 1.0)))

    def total(self, name: str, values: Floats, most: float) -> float:
        """Return a noisy sum of values, each counted up to ``most``."""
        scale = most / self.epsilon[name]
        return float(np.minimum(values, most).sum() + self.stream.laplace(0.0, scale))


def _scaled(counts: Floats, total: float) -> Floats:
    """Return counts with a given sum; equal ones if there are none."""
    if not counts.any():
        return np.ones_like(counts)
    found: Floats = counts * (max(total, 1.0) / counts.sum())
    return found


def reached(size: Ints, probability: float) -> Floats:
    """Return what a sum of so many Laplace variables of scale 1 exceeds at most so often.

    Chernoff's bound: ln P(sum ≥ t) ≤ −x·t − size·ln(1 − x²) for any 0 < x < 1.
    """
    x = np.arange(1, 200)[:, None] / 200
    bounds: Floats = ((-size * np.log1p(-(x**2)) - np.log(probability)) / x).min(axis=0)
    return bounds


def raked(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Scale rows and columns in turn until they have the given sums (Deming and Stephan 1940).

    A row that ought to have something and has nothing takes the columns' law first; columns that
    nothing stands in stay so.
    """
    law: Floats = np.where((table.sum(axis=1) <= 0)[:, None], columns, table * (columns > 0))
    law = np.where((law.sum(axis=1) <= 0)[:, None], columns, law)
    total = columns.sum()
    for _ in range(RAKINGS):
        law = law * (columns / np.maximum(law.sum(axis=0), 1e-300))
        law = law * (total * rows / rows.sum() / np.maximum(law.sum(axis=1), 1e-300))[:, None]
    return law


def weighted_quantile(values: Floats, weights: Floats, probability: float) -> float:
    """Return the least value below or at which so much of all weight lies."""
    order = np.argsort(values, axis=None)
    share = np.cumsum(weights.ravel()[order])
    place = int(np.searchsorted(share, probability * share[-1]))
    return float(values.ravel()[order][min(place, order.size - 1)])


def tilted(weights: Floats, worth: Floats, wanted: float, *, keep_rows: bool = False) -> Floats:
    """Return weights · exp(θ·worth) with Σ weights·worth / Σ weights = wanted (Kullback 1959).

    θ is found by bisection between ±30 over the largest worth; with ``keep_rows`` rows keep their
    sums. What can't be reached is come as near to as those allow.
    """
    share = worth / worth.max()
    rows = weights.sum(axis=-1, keepdims=True)

    def moved(theta: float) -> Floats:
        found: Floats = weights * np.exp(theta * (share - 1))
        if keep_rows:
            sums = found.sum(axis=-1, keepdims=True)
            found *= rows / np.where(sums > 0, sums, 1.0)
        return found

    low, high = -30.0, 30.0
    for _ in range(TILTS):
        middle = (low + high) / 2
        found = moved(middle)
        less = float((found * worth).sum() / found.sum()) < wanted
        low, high = (middle, high) if less else (low, middle)
    found = moved((low + high) / 2)
    scaled: Floats = found * (weights.sum() / found.sum())
    return scaled

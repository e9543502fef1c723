"""Laws of one attribute: what was observed, and mixtures that are fitted by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.models.parts import Part, Shapes

RESOLUTION = 1000
"""How many values an observed law keeps at most, unless asked for all."""


@dataclass(frozen=True, eq=False)
class Observed(Part):
    """Values with their weights: a multinomial law over what was seen.

    Attributes
    ----------
    values
        Ascending, distinct.
    weights
        How often each was seen, or any positive numbers in that proportion.
    """

    KIND: ClassVar[str] = "observed"
    SHAPES: ClassVar[Shapes] = {"values": ("n",), "weights": ("n",)}
    values: Floats
    weights: Floats

    def _check(self) -> None:
        if self.values.size == 0 or np.any(self.weights < 0) or self.weights.sum() <= 0:
            raise ModelError("an observed law needs at least one value with a positive weight")

    @classmethod
    def of(cls, values: npt.ArrayLike, *, most: int | None = RESOLUTION) -> Observed:
        """Count the values; more than ``most`` distinct ones are gathered into equal shares.

        Neighbours are replaced by their weighted mean, so the law's mean stays exactly the sample's
        and no point of its distribution function moves by more than 1 / ``most``.
        """
        distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
        if most is None or distinct.size <= most:
            return cls(distinct, counts.astype(np.float64))
        centre = np.cumsum(counts) - counts / 2
        share = np.minimum((centre / counts.sum() * most).astype(np.int64), most - 1)
        weights = np.bincount(share, weights=counts, minlength=most).astype(np.float64)
        sums = np.bincount(share, weights=distinct * counts, minlength=most)
        kept = weights > 0
        return cls(sums[kept] / weights[kept], weights[kept])

    @classmethod
    def by_class(
        cls, values: Floats, classes: Ints, *, most: int | None = RESOLUTION
    ) -> tuple[Observed, ...]:
        """Count the values of each class from 0 to the last."""
        count = int(classes.max()) + 1
        return tuple(cls.of(values[classes == k], most=most) for k in range(count))

    @property
    def mean(self) -> float:
        """The law's mean."""
        return float(np.average(self.values, weights=self.weights))

    def draw(self, uniforms: npt.ArrayLike) -> Floats:
        """Turn uniform numbers into values (inverse distribution function)."""
        drawn: Floats = self.values[categorical(self.weights, uniforms)]
        return drawn


def draw_by_class(laws: tuple[Observed, ...], classes: npt.ArrayLike, uniforms: Floats) -> Floats:
    """Draw one value per job from the law of its class."""
    states = np.asarray(classes)
    drawn = np.empty(states.size)
    order = np.argsort(states, kind="stable")
    edges = np.searchsorted(states[order], np.arange(len(laws) + 1))
    for law, begin, end in zip(laws, edges[:-1], edges[1:], strict=True):
        if end > begin:
            drawn[order[begin:end]] = law.draw(uniforms[order[begin:end]])
    return drawn


def categorical(weights: npt.ArrayLike, uniforms: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Turn uniform numbers into categories with the given weights."""
    cumulative = np.cumsum(np.asarray(weights, dtype=np.float64))
    places = np.searchsorted(cumulative, np.asarray(uniforms) * cumulative[-1], side="right")
    return np.asarray(np.minimum(places, cumulative.size - 1), dtype=np.int64)


def gamma_shape(log_gap: float) -> float:
    """Solve log(k) − ψ(k) = s for the Gamma's shape k, s = log(mean) − mean(log) > 0.

    Newton's iteration from Minka's starting point; the right side falls monotonically, so it
    converges from there.
    """
    from scipy.special import digamma, polygamma

    gap = max(log_gap, 1e-12)
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(50):
        step = (np.log(shape) - digamma(shape) - gap) / (1 / shape - polygamma(1, shape))
        new = shape - step
        if new <= 0:
            new = shape / 2
        if abs(new - shape) < 1e-12 * shape:
            return float(new)
        shape = new
    return float(shape)


def fit_gamma(values: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Maximum-likelihood shape and scale of a Gamma law of positive values."""
    mean = float(np.average(values, weights=weights))
    log_mean = float(np.average(np.log(values), weights=weights))
    shape = gamma_shape(np.log(mean) - log_mean)
    return shape, mean / shape


def truncated_gamma(
    shape: float | Floats, scale: float | Floats, rng: Generator, *, n: int, limit: float
) -> Floats:
    """Draw Gamma numbers, anew those above the limit."""
    shapes = np.broadcast_to(np.asarray(shape, dtype=np.float64), (n,))
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (n,))
    drawn: Floats = np.asarray(rng.gamma(shapes, scales))
    for _ in range(1000):
        over = np.flatnonzero(drawn > limit)
        if over.size == 0:
            return drawn
        drawn[over] = rng.gamma(shapes[over], scales[over])
    return np.minimum(drawn, limit)

"""A neural network that gives the distribution of the next job (Song 2006, §7.2, Figure 7.4)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.types import Floats, Ints
from onega.models.base import Drawn
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.learned import FEATURES, Learned
from onega.models.parts import Part, frozen_array


@dataclass(frozen=True, eq=False)
class Layers(Part):
    """One hidden layer of rectifiers, and scores of the classes."""

    KIND: ClassVar[str] = "layers"
    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "w1", frozen_array(self.w1, np.float64, shape=(FEATURES, None)))
        hidden = self.w1.shape[1]
        object.__setattr__(self, "b1", frozen_array(self.b1, np.float64, shape=(hidden,)))
        object.__setattr__(self, "w2", frozen_array(self.w2, np.float64, shape=(hidden, None)))
        classes = self.w2.shape[1]
        object.__setattr__(self, "b2", frozen_array(self.b2, np.float64, shape=(classes,)))

    def probabilities(self, inputs: Floats) -> Floats:
        """Distribution of the class for each row of (scaled) inputs."""
        scores = np.maximum(inputs @ self.w1 + self.b1, 0) @ self.w2 + self.b2
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True, eq=False, kw_only=True)
class Neural(Learned):
    """Three networks (scikit-learn's MLP): classes of gap, width and run time of the next job."""

    KIND: ClassVar[str] = "neural"
    TITLE: ClassVar[str] = "neural network of the past"
    layers: tuple[Layers, ...]

    @classmethod
    def _fit(
        cls, jobs: Jobs, rng: Generator, *, hidden: int = 24, epochs: int = 12
    ) -> dict[str, Any]:
        parameters, lesson = cls._teach(jobs, rng, most=30_000)
        layers = tuple(
            _train(
                lesson.view(a), lesson.classes[a], lesson.sizes[a],
                hidden=hidden, epochs=epochs, seed=int(rng.integers(2**31)),
            )
            for a in range(3)
        )  # fmt: skip
        return {**parameters, "layers": layers}

    def _draw(self, n: int, rng: Generator) -> Drawn:
        from onega.kernels.models.learned import Network, walk_network

        past, sizes = self._past()
        widest = int(sizes.max())
        stacked = [
            [getattr(layer, name) for layer in self.layers] for name in ("w1", "b1", "w2", "b2")
        ]
        w2 = np.array([np.pad(w, ((0, 0), (0, widest - w.shape[1]))) for w in stacked[2]])
        b2 = np.array([_pad(b, widest) for b in stacked[3]])
        net = Network(np.array(stacked[0]), np.array(stacked[1]), w2, b2)
        path = walk_network(past, net, sizes, rng.random((3, n)), rng.random((2, n)))
        return self._values(path, rng)


def _pad(bias: Floats, size: int) -> Floats:
    """Classes that an attribute doesn't have get a score that is never drawn."""
    return np.concatenate((bias, np.full(size - bias.size, -1e3)))


def _train(
    inputs: Floats, classes: Ints, size: int, *, hidden: int, epochs: int, seed: int
) -> Layers:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    present = np.unique(classes)
    w2, b2 = np.zeros((hidden, size)), np.full(size, -30.0)
    if present.size == 1:
        b2[present[0]] = 0.0
        return Layers(np.zeros((FEATURES, hidden)), np.zeros(hidden), w2, b2)
    net = MLPClassifier(
        (hidden,),
        max_iter=epochs,
        batch_size=min(256, classes.size),
        learning_rate_init=3e-3,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few epochs are meant
        net.fit(inputs, classes)
    last, bias = net.coefs_[1], net.intercepts_[1]
    if present.size == 2:  # scikit-learn gives one score for two classes
        last, bias = np.hstack((np.zeros_like(last), last)), np.concatenate(([0.0], bias))
    w2[:, present], b2[present] = last, bias
    return Layers(net.coefs_[0], net.intercepts_[0], w2, b2)

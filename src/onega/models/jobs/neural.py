"""A recurrent network that gives the distribution of the next job (Song 2006, §7.2, Figure 7.4)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.types import Floats, Ints
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.learned import Layers, Learned


@dataclass(frozen=True, eq=False, kw_only=True)
class Neural(Learned):
    """Three networks (scikit-learn's MLP) over the recurrent state and the other inputs."""

    KIND: ClassVar[str] = "neural"
    TITLE: ClassVar[str] = "recurrent neural network of the past"

    @classmethod
    def _fit(
        cls, jobs: Jobs, rng: Generator, *, hidden: int = 24, epochs: int = 12
    ) -> dict[str, Any]:
        parameters, lesson = cls._teach(jobs, rng, most=30_000)
        layers = [
            _train(
                lesson.view(a), lesson.classes[a], lesson.sizes[a],
                hidden=hidden, epochs=epochs, seed=int(rng.integers(2**31)),
            )
            for a in range(3)
        ]  # fmt: skip
        return cls._calibrated(parameters, layers, jobs.machine, rng)


def _train(
    inputs: Floats, classes: Ints, size: int, *, hidden: int, epochs: int, seed: int
) -> Layers:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    present = np.unique(classes)
    if present.size == 1:
        return Layers.only(int(present[0]), size, hidden)
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
    w2, b2 = np.zeros((hidden, size)), np.full(size, -30.0)
    w2[:, present], b2[present] = last, bias
    return Layers(net.coefs_[0], net.intercepts_[0], w2, b2)

"""Support vector regression of the next job (Song 2006, §7.2).

The Gaussian kernel is written out as random cosines (Rahimi and Recht), so that a linear support
vector machine does the work: the model is a short list of numbers however long the log, and a
million jobs are drawn in seconds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.types import Floats
from onega.models.base import Drawn
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.learned import FEATURES, Learned
from onega.models.parts import Part, frozen_array

BINS = 8
QUANTILES = 100


@dataclass(frozen=True, eq=False)
class Cosines(Part):
    """f(x) = Σ_k w_k cos(x·ω_k + φ_k) + w₀, the regression of log₂ of one attribute.

    Attributes
    ----------
    omega, phase
        The random frequencies and phases.
    weights
        w_1 … w_h, then w₀.
    edges
        Where the predictions are parted into bins, ascending.
    residuals
        Quantiles of observed − predicted in each bin.
    """

    KIND: ClassVar[str] = "cosines"
    omega: Floats
    phase: Floats
    weights: Floats
    edges: Floats
    residuals: Floats

    def __post_init__(self) -> None:
        omega = frozen_array(self.omega, np.float64, shape=(FEATURES, None))
        object.__setattr__(self, "omega", omega)
        size = omega.shape[1]
        for name, shape in (
            ("phase", (size,)), ("weights", (size + 1,)), ("edges", (BINS - 1,)),
            ("residuals", (BINS, QUANTILES)),
        ):  # fmt: skip
            value = frozen_array(getattr(self, name), np.float64, shape=shape)
            object.__setattr__(self, name, value)

    def predict(self, inputs: Floats) -> Floats:
        """Log₂ of the attribute for each row of (scaled) inputs."""
        waves = np.cos(inputs @ self.omega + self.phase)
        return np.asarray(waves @ self.weights[:-1] + self.weights[-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class Svr(Learned):
    """Three support vector regressions, each with the residuals that it left in the log."""

    KIND: ClassVar[str] = "svr"
    TITLE: ClassVar[str] = "support vector regression of the past"
    machines: tuple[Cosines, ...]

    @classmethod
    def _fit(
        cls, jobs: Jobs, rng: Generator, *, cosines: int = 48, width: float = 0.15
    ) -> dict[str, Any]:
        parameters, lesson = cls._teach(jobs, rng, most=12_000)
        machines = []
        for a in range(3):
            # Spread over the class: the next job's class is found by cutting the value again.
            target = lesson.logs[a][lesson.classes[a]] + rng.random(lesson.classes[a].size)
            omega = rng.normal(0, width, (FEATURES, cosines))
            phase = rng.uniform(0, 2 * np.pi, cosines)
            machines.append(_train(lesson.view(a), target, (omega, phase), rng))
        return {**parameters, "machines": tuple(machines)}

    def _draw(self, n: int, rng: Generator) -> Drawn:
        from onega.kernels.models.learned import Regression, walk_regression

        past, sizes = self._past()
        names = ("omega", "phase", "weights", "edges", "residuals")
        net = Regression(*(np.array([getattr(m, name) for m in self.machines]) for name in names))
        path = walk_regression(past, net, sizes, rng.random((3, n)), rng.random((2, n)))
        return self._values(path, rng)


def _train(inputs: Floats, target: Floats, waves: tuple[Floats, Floats], rng: Generator) -> Cosines:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVR

    omega, phase = waves
    features = np.cos(inputs @ omega + phase)
    machine = LinearSVR(C=1.0, epsilon=0.1, max_iter=2000, dual="auto",
                        loss="squared_epsilon_insensitive",
                        random_state=int(rng.integers(2**31)))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(features, target)
    weights = np.append(machine.coef_, float(np.ravel(machine.intercept_)[0]))
    predicted = features @ weights[:-1] + weights[-1]
    edges = np.quantile(predicted, np.arange(1, BINS) / BINS)
    bins = np.searchsorted(edges, predicted)
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES
    left = target - predicted
    residuals = np.array(
        [np.quantile(left[bins == k] if np.any(bins == k) else left, places) for k in range(BINS)]
    )
    return Cosines(omega, phase, weights, edges, residuals)

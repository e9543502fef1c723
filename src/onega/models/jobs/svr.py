"""A support vector machine that gives the distribution of the next job (Song 2006, §7.2).

The solution is a weighted sum of values of a kernel function, as the text has it: scores
f_k(x) = Σ_i α_ki exp(−γ|x − c_i|²) + b_k over a sample c_i of the log's own jobs (a reduced support
vector machine, Lee and Mangasarian 2001), so that the model is a short list of numbers however long
the log. One classifier against the rest for each class; a logistic regression turns their margins
into probabilities (Platt 1999).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.kernels.models.learned import FEATURES, ROOM
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.learned import Layers, Learned


@dataclass(frozen=True, eq=False, kw_only=True)
class Svr(Learned):
    """Three classifiers with a Gaussian kernel (scikit-learn's linear SVM on kernel values)."""

    KIND: ClassVar[str] = "svr"
    TITLE: ClassVar[str] = "support vector machine of the past"

    @classmethod
    def _fit(
        cls, jobs: Jobs, rng: Generator, *, vectors: int = 64, gamma: float = 1 / FEATURES
    ) -> dict[str, Any]:
        if not 1 <= vectors <= ROOM or not gamma > 0:
            raise ModelError(
                f"svr: vectors must lie in 1 … {ROOM} and gamma be positive, got {vectors}, {gamma}"
            )
        parameters, lesson = cls._teach(jobs, rng, most=8000)
        places = np.sort(rng.choice(len(lesson.inputs), vectors, replace=len(jobs) <= vectors))
        layers = [
            _train(lesson.view(a), lesson.classes[a], lesson.sizes[a], places, gamma)
            for a in range(3)
        ]
        return cls._calibrated(parameters, layers, jobs.machine, rng)


def _train(inputs: Floats, classes: Ints, size: int, places: Ints, gamma: float) -> Layers:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import LinearSVC

    present = np.unique(classes)
    if present.size == 1:
        return Layers.only(int(present[0]), size, places.size, gamma)
    centres = inputs[places]
    values = rbf_kernel(inputs, centres, gamma=gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = LinearSVC(C=1.0, dual=False, tol=1e-2, max_iter=200).fit(values, classes)
        margins = values @ machine.coef_.T + machine.intercept_
        scores = LogisticRegression(max_iter=200, tol=1e-3).fit(margins, classes)
    turn, shift = scores.coef_, scores.intercept_
    if present.size == 2:  # scikit-learn gives one score for two classes
        turn = np.vstack((np.zeros_like(turn), turn))
        shift = np.concatenate(([0.0], shift))
    w2, b2 = np.zeros((places.size, size)), np.full(size, -30.0)
    w2[:, present] = machine.coef_.T @ turn.T
    b2[present] = turn @ machine.intercept_ + shift
    return Layers(2 * gamma * centres.T, -gamma * np.sum(centres**2, axis=1), w2, b2, gamma)

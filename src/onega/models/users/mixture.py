"""What a group of users submits: a Gaussian mixture over (log₂ width, log₂ run time)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.threads import one_thread
from onega.core.types import Floats, Ints
from onega.models.jobs.laws import categorical
from onega.models.parts import Part, Shapes

MOST_COMPONENTS = 9
"""BIC chooses among one to nine components, as Fraley and Raftery's software does."""

FITTED_TO = 20_000
"""Jobs that a mixture is fitted to at most, drawn at random from a larger group (docs/users.md)."""

NARROWEST = 1e-4
"""Least variance: a component may stand on one width (a standard deviation of 0.01 rounds away)."""


@dataclass(frozen=True, eq=False)
class JobMixture(Part):
    """Weights, means (components × 2) and covariances (components × 2 × 2)."""

    KIND: ClassVar[str] = "job-mixture"
    SHAPES: ClassVar[Shapes] = {"weights": ("n",), "means": ("n", 2), "covariances": ("n", 2, 2)}
    weights: Floats
    means: Floats
    covariances: Floats

    def _check(self) -> None:
        if self.weights.size == 0 or np.any(self.weights < 0) or self.weights.sum() <= 0:
            raise ModelError("job-mixture: weights must be positive")
        if np.any(np.linalg.eigvalsh(self.covariances) <= 0):
            raise ModelError("job-mixture: covariances must be positive definite")

    @classmethod
    def fit(cls, procs: Floats, runtime: Floats, rng: Generator) -> JobMixture:
        """Fit one to nine components and keep the number with the least BIC."""
        jobs = np.column_stack((np.log2(procs), np.log2(runtime)))
        if jobs.shape[0] > FITTED_TO:
            jobs = jobs[rng.choice(jobs.shape[0], FITTED_TO, replace=False)]
        distinct = np.unique(jobs, axis=0).shape[0]
        if distinct < 3:
            return cls._single(jobs)
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        seed = int(rng.integers(2**31))
        best, lowest = None, np.inf
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for components in range(1, min(MOST_COMPONENTS, distinct - 1) + 1):
                fitted = GaussianMixture(components, reg_covar=NARROWEST, random_state=seed)
                score = float(fitted.fit(jobs).bic(jobs))
                if score < lowest:
                    best, lowest = fitted, score
        assert best is not None
        return cls(best.weights_, best.means_, best.covariances_)

    @classmethod
    def _single(cls, jobs: Floats) -> JobMixture:
        """One component for a handful of jobs, however alike."""
        spread = np.cov(jobs.T, bias=True) + NARROWEST * np.eye(2)
        return cls(np.ones(1), jobs.mean(axis=0)[None], spread[None])

    def components(self, uniforms: Floats) -> Ints:
        """Turn uniform numbers into components."""
        return categorical(self.weights, uniforms)

    def place(
        self, component: Ints, width: Floats, length: Floats,
        between: tuple[float, float] = (-np.inf, np.inf),
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Turn standard normal numbers into log₂ width and log₂ run time.

        ``width`` moves along the component's widths, ``length`` along its run times given the
        width, so that jobs with one ``width`` have one width. Log₂ run times lie ``between`` two
        bounds: the normal law is truncated at the upper one, so that nothing piles up at the
        longest and what is long stays long; below the lower one, the log's least unit of time,
        they are rounded up as a log's are.
        """
        from scipy.special import ndtr, ndtri

        covariance = self.covariances[component]
        deviation = np.sqrt(covariance[:, 0, 0])
        slope = covariance[:, 0, 1] / deviation
        rest = np.sqrt(np.maximum(covariance[:, 1, 1] - slope**2, 1e-12))
        mean = self.means[component]
        centre = mean[:, 1] + slope * width
        if np.isfinite(between[1]):
            length = ndtri(ndtr((between[1] - centre) / rest) * ndtr(length))
        log_runtime = np.clip(centre + rest * length, *between)
        return mean[:, 0] + deviation * width, log_runtime

"""Tsafrir's model of estimates: a handful of popular values, given to jobs that they can hold.

D. Tsafrir, Y. Etsion, D. G. Feitelson, *Modeling user runtime estimates*, JSSPP 2005: about twenty
modal values carry most of the jobs, the longest among them is popular, and no job runs longer
than its estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.estimates.estimates import EstimateModel
from onega.models.jobs.laws import Observed

POPULAR = 20
"""Values that are kept with their shares."""


@dataclass(frozen=True, eq=False)
class TsafrirEstimates(EstimateModel):
    """Popular values with their shares, and a law of the rest.

    Attributes
    ----------
    modal
        The most popular estimates (seconds) and how often each was given.
    rest
        The other estimates; None if there are none.
    share
        The part of all jobs whose estimate is a modal value.
    """

    KIND: ClassVar[str] = "tsafrir"
    modal: Observed
    rest: Observed | None
    share: float

    def _check(self) -> None:
        if not 0 <= self.share <= 1 or (self.rest is None and self.share < 1):
            raise ModelError(f"tsafrir: share must lie in [0, 1], 1 without rest; got {self.share}")

    @classmethod
    def learn(cls, runtime: Floats, estimate: Floats, *, bound: float | None = None) -> Self:
        """Take the most popular values; the rest is gathered into two hundred shares."""
        given = estimate if bound is None else np.minimum(estimate, bound)
        values, counts = np.unique(given, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        popular = np.sort(order[:POPULAR])
        others = np.sort(order[POPULAR:])
        head = Observed(values[popular], counts[popular].astype(np.float64))
        tail = None
        if others.size:
            tail = Observed.of(np.repeat(values[others], counts[others]), most=200)
        return cls(head, tail, float(counts[popular].sum() / counts.sum()))

    def draw(self, runtime: Floats, rng: Generator) -> Floats:
        """Draw as many estimates as jobs, then give every job one that isn't shorter than it.

        From the longest job to the shortest, each takes one at random of those that can hold it
        and are still free. A job longer than all that are left gets its own run time, rounded up
        to a minute.
        """
        from onega.kernels.models.match import match

        n = runtime.size
        pool = self.modal.draw(rng.random(n))
        if self.rest is not None:
            others = self.rest.draw(rng.random(n))
            pool = np.where(rng.random(n) < self.share, pool, others)
        order = np.argsort(-runtime, kind="stable")
        taken = match(runtime[order], -np.sort(-pool), rng.random(n))
        estimate = np.empty(n)
        estimate[order] = taken
        own = np.ceil(runtime / 60) * 60
        return np.where(np.isnan(estimate), own, np.ceil(estimate))

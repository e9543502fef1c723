"""Cirne and Berman's model: what users request, and how much of it their jobs use.

W. Cirne and F. Berman, *A comprehensive model of the supercomputer workload*, IEEE Workshop on
Workload Characterization (WWC-4), 140–148, 2001.

What second-hand sources confirm (its abstract; Song 2006, §4.2; public reading notes): it was made
from four logs (ANL, CTC, KTH, SDSC); the rate of submissions is a polynomial of the hour; widths
are mostly powers of two; the requested time and the accuracy, run time / request, are modelled
apart, the accuracy by a Gamma law that ends at 1, and the run time is their product; cancellations
have a law of their own. What they don't, because the paper itself wasn't at hand: its parameters,
which aren't repeated here, and the form of the laws of width and request, here log-uniform in
stages as Downey's (1997), whose laws the paper improves upon.

Everything is fitted to a log. Requests end at their 99.9 % quantile. The accuracy's Gamma law is
taken by maximum likelihood and cut at 1, or at the 99 % quantile of the log's accuracies where jobs
outlive their requests. Cancelled jobs, which have no run time, are left out. In a log without
estimates the run times take the place of requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.core.workload.chains import floor_power
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import fit_gamma, truncated_gamma
from onega.models.published.downey import STAGES, LogUniform


@dataclass(frozen=True, eq=False, kw_only=True)
class CirneBerman(WorkloadModel):
    """Log-uniform widths and requests, Gamma accuracy.

    Attributes
    ----------
    width, request
        Laws of the partition size and of the requested time, s; two stages, for one straight line
        misses most logs.
    power_of_two
        Probability that a width is moved to the nearest power of two.
    shape, scale
        Of the accuracy's Gamma law; both 0: jobs use all that they request.
    highest
        The largest accuracy.
    """

    KIND: ClassVar[str] = "cirne"
    TITLE: ClassVar[str] = "Cirne and Berman 2001"
    DEFAULT_GAPS: ClassVar[str] = "poisson"
    width: LogUniform
    request: LogUniform
    power_of_two: float
    shape: float
    scale: float
    highest: float = 1.0

    def _check(self) -> None:
        if not 0 <= self.power_of_two <= 1 or min(self.shape, self.scale) < 0 or self.highest <= 0:
            raise ModelError("cirne: power_of_two lies in [0, 1], shape, scale and highest ≥ 0")

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator, *, stages: int = STAGES) -> dict[str, Any]:
        spread = np.random.default_rng(0).uniform(-0.5, 0.5, len(jobs))
        width = LogUniform.fit(jobs.procs + spread, stages=stages)
        # Some are powers of two by themselves: the emphasis explains the rest.
        plain = np.rint(width.draw((np.arange(2000) + 0.5) / 2000))
        already = float(np.mean(_is_power(plain)))
        seen = float(np.mean(_is_power(jobs.procs)))
        known = jobs.estimate > 0
        shape = scale = 0.0
        highest, request = 1.0, jobs.runtime
        if jobs.has_estimates:
            request = jobs.estimate[known]
            accuracy = jobs.runtime[known] / request
            if np.ptp(accuracy) > 0 and np.ptp(request) > 0:
                shape, scale = fit_gamma(accuracy)
                highest = max(1.0, float(np.quantile(accuracy, 0.99)))
            else:
                request = jobs.runtime
        last = np.quantile(request, 0.999)  # one slip of the pen would stretch the last stage
        if last <= request.min():
            last = request.max()
        return {
            "width": width,
            "request": LogUniform.fit(np.minimum(request, last), stages=stages),
            "power_of_two": max(0.0, (seen - already) / (1 - already)) if already < 1 else 1.0,
            "shape": shape,
            "scale": scale,
            "highest": highest,
        }

    def _draw(self, n: int, rng: Generator) -> Drawn:
        procs = np.clip(np.rint(self.width.draw(rng.random(n))), 1, self.machine)
        power = np.exp2(np.rint(np.log2(procs)))
        moves = (rng.random(n) < self.power_of_two) & (power <= self.machine)
        request = np.ceil(self.request.draw(rng.random(n)))
        accuracy = np.ones(n)
        if self.shape > 0 and self.scale > 0:
            accuracy = truncated_gamma(self.shape, self.scale, rng, n=n, limit=self.highest)
        runtime = np.maximum(request * accuracy, 1.0)
        return Drawn(np.where(moves, power, procs), runtime, estimate=request)


def _is_power(procs: Floats) -> Any:  # noqa: ANN401
    return floor_power(procs) == procs

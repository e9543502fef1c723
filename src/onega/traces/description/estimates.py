"""How well users estimate run times (Song 2006, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onega.core.types import Floats
from onega.core.workload.chains import floor_power
from onega.traces.description.sections import Jobs, Lacking, Summary, floats

FREQUENT = 20
"""How many of the most frequent estimates are listed (Tables 4.3–4.5)."""

NEAR_LIMIT = 1.1
"""Accuracies from here on are left out of the class means, as in Fig. 4.1."""


class AccuracyClass(NamedTuple):
    """Jobs that ran [power, 2·power) seconds."""

    power: float
    jobs: int
    accuracy: float


class FrequentEstimate(NamedTuple):
    """One of the estimates that users give most often."""

    estimate: float
    jobs: int
    share: float


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated run times; accuracy = run time / estimate (4.1).

    Attributes
    ----------
    known
        Share of jobs with an estimate (positive).
    maximum
        The largest estimate, in seconds (Table 4.7).
    mean_accuracy, median_accuracy
        Over jobs with an estimate, a positive width and a positive run time; the two shares below
        are over these, too.
    over_jobs, over_area
        Share of jobs, and of their squashed area, with accuracy > 1: they ran longer than said
        (Table 4.2).
    far_over_jobs, far_over_area
        The same with accuracy > 1.1 (Table 4.2).
    most_over
        By how many seconds a job ran longer than said at most; None if none did. A job manager that
        ends jobs at their limits does so some seconds late.
    classes
        Mean accuracy by class of run time, of jobs with accuracy < 1.1 (Fig. 4.1).
    frequent
        The twenty most frequent estimates, the most frequent first (Tables 4.3–4.5).
    frequent_share
        What these are together, of the jobs with an estimate.
    distinct
        How many different estimates there are.
    """

    known: float
    maximum: float
    mean_accuracy: float | None
    median_accuracy: float | None
    over_jobs: float | None
    over_area: float | None
    far_over_jobs: float | None
    far_over_area: float | None
    most_over: float | None
    classes: tuple[AccuracyClass, ...]
    frequent: tuple[FrequentEstimate, ...]
    frequent_share: float
    distinct: int
    missing: dict[str, str]

    def summary(self) -> Summary:
        """Keys ``accuracy_mean``, ``over_estimate_jobs``, ``frequent_estimates`` and more."""
        return {
            "estimate_known_share": self.known,
            "distinct_estimates": self.distinct,
            "accuracy_mean": self.mean_accuracy,
            "accuracy_median": self.median_accuracy,
            "over_estimate_jobs": self.over_jobs,
            "over_estimate_area": self.over_area,
            "far_over_estimate_jobs": self.far_over_jobs,
            "far_over_estimate_area": self.far_over_area,
            "over_estimate_most": self.most_over,
            "frequent_estimates_share": self.frequent_share,
            "frequent_estimates": [one._asdict() for one in self.frequent],
            "accuracy_classes": [one._asdict() for one in self.classes],
        }


def estimates(jobs: Jobs) -> Estimates:
    """Measure the users' estimates against what the jobs took."""
    estimate = floats(jobs.workload, "estimate")
    given = estimate > 0
    if not given.any():
        raise Lacking("the log has no estimated run times")
    both = given & jobs.usable
    # An estimate below a nanosecond counts as one: the quotient stays a number.
    accuracy = jobs.runtime[both] / np.maximum(estimate[both], 1e-9)
    over = (jobs.runtime - estimate)[both][accuracy > 1]
    area = jobs.area[both]
    missing = {}
    if not accuracy.size:
        missing["accuracy"] = "no job has an estimate, a positive width and a positive run time"
    frequent = _frequent(estimate[given])
    return Estimates(
        known=float(given.mean()),
        maximum=float(estimate[given].max()),
        mean_accuracy=float(accuracy.mean()) if accuracy.size else None,
        median_accuracy=float(np.median(accuracy)) if accuracy.size else None,
        over_jobs=_share(accuracy > 1),
        over_area=_share(accuracy > 1, area),
        far_over_jobs=_share(accuracy > NEAR_LIMIT),
        far_over_area=_share(accuracy > NEAR_LIMIT, area),
        most_over=float(over.max()) if over.size else None,
        classes=_classes(jobs.runtime[both], accuracy),
        frequent=frequent,
        frequent_share=sum(one.jobs for one in frequent) / int(given.sum()),
        distinct=int(np.unique(estimate[given]).size),
        missing=missing,
    )


def _share(chosen: np.ndarray, weights: Floats | None = None) -> float | None:
    if not chosen.size:
        return None
    return float(np.average(chosen, weights=weights))


def _classes(runtime: Floats, accuracy: Floats) -> tuple[AccuracyClass, ...]:
    near = accuracy < NEAR_LIMIT
    if not near.any():
        return ()
    powers, place = np.unique(floor_power(runtime[near]), return_inverse=True)
    counts = np.bincount(place)
    means = np.bincount(place, weights=accuracy[near]) / counts
    return tuple(map(AccuracyClass, powers.tolist(), counts.tolist(), means.tolist()))


def _frequent(estimate: Floats) -> tuple[FrequentEstimate, ...]:
    values, counts = np.unique(estimate, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:FREQUENT]
    return tuple(
        FrequentEstimate(float(values[i]), int(counts[i]), float(counts[i] / estimate.size))
        for i in order
    )

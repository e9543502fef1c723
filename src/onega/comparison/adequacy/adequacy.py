"""Adequacy: how far a model's schedule is from the real one (Baranov et al. 2019, VII and VIII)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onega.comparison.adequacy.distance_breakdown import DistanceBreakdown, worst_jobs
from onega.comparison.adequacy.matching import Mismatch, Pairing, as_schedule, pair_up
from onega.core.plotting import Plottable
from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats
from onega.core.workload.distances import ks_distance
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload

PREFIXES = (50, 100, 250, 500, 750)
"""Sizes of Table I; they go on by powers of ten: 1000, 2500, 5000, 7500, 10 000, …."""

SAME = 1e-6
"""Seconds by which two waits may differ and still be the same: what doubles lose at Unix times."""

NO_SKILL = (
    "jobs of like widths all waited the same, so that their mean waits leave nothing to explain"
)
"""Why there is no skill."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The measure over the first ``jobs`` jobs in the order of submission: one row of Table I."""

    jobs: int
    E: float
    P: float
    different: int


@dataclass(frozen=True, eq=False, repr=False)
class Adequacy(Plottable):
    """How far one schedule of a stream is from another. See `adequacy`.

    Attributes
    ----------
    mismatch
        Why the measure is undefined; None if it is defined, and the rest means something.
    pairs
        The jobs of both schedules side by side, in the order of submission.
    reference
        P_ideal, the value up to which a model is adequate; None if none was given.
    same_within
        Waits that differ by no more seconds count as the same.
    names
        What the two sides are called in figures.
    model
        The model's schedule.
    report
        Jobs that could not take part, and why.
    """

    FIGURES: ClassVar[str] = "adequacy"

    mismatch: Mismatch | None
    pairs: Pairing | None
    reference: float | None = None
    same_within: float = SAME
    names: tuple[str, str] = ("real", "model")
    model: Schedule | None = None
    report: Report = field(default_factory=Report)

    def __repr__(self) -> str:
        if self.pairs is None:
            return f"<Adequacy: undefined, {self.reason}>"
        return f"<Adequacy: P = {self.P:.6g} s over {self.jobs} jobs>"

    @property
    def defined(self) -> bool:
        """Whether the two streams are the same stream, so that they can be compared."""
        return self.mismatch is None

    @property
    def reason(self) -> str | None:
        """Why the measure is undefined; None if it is defined."""
        return None if self.mismatch is None else str(self.mismatch)

    @property
    def jobs(self) -> int:
        """How many jobs are compared."""
        return 0 if self.pairs is None else len(self.pairs)

    @property
    def differences(self) -> Floats:
        """V_i − v_i: how much longer each job stays in the model than in reality, seconds."""
        return np.empty(0) if self.pairs is None else self.pairs.differences

    @property
    def E(self) -> float:
        """Euclidean distance √Σ(V_i − v_i)² of the residence times (1), seconds; NaN: undefined."""
        squares = self.differences**2
        return math.sqrt(float(squares.sum())) if self.defined else math.nan

    @property
    def P(self) -> float:
        """The measure √(Σ(V_i − v_i)²/n) (2), seconds; NaN if undefined."""
        return self.E / math.sqrt(self.jobs) if self.jobs else math.nan

    @property
    def different(self) -> int:
        """Jobs that wait for another time than in reality."""
        if self.pairs is None:
            return 0
        return int(np.count_nonzero(self._different()))

    @property
    def adequate(self) -> bool | None:
        """Whether P ≤ P_ideal; None without a reference value or if the measure is undefined."""
        if self.reference is None or not self.defined:
            return None
        value = self.P
        return value <= self.reference

    @property
    def baseline(self) -> float:
        """P of a model that knows no schedule: each job waits the mean of its width class.

        The means are taken from the same stream, so this is as good as a model without a queue can
        be; a model of a scheduler that isn't nearer has explained nothing.
        """
        if self.pairs is None:
            return math.nan
        real, group = self.pairs.real, self.pairs.width_class
        mean = np.bincount(group, real.wait) / np.maximum(np.bincount(group), 1)
        miss = (mean[group] + (real.residence - real.wait)) - real.residence
        return math.sqrt(float(np.mean(miss**2)))

    def prefixes(self, sizes: Sequence[int] | None = None) -> tuple[Prefix, ...]:
        """Measure the first jobs alone, as Table I does; the last row is the whole stream."""
        if self.pairs is None:
            return ()
        wanted = table_sizes(self.jobs) if sizes is None else sizes
        squares = np.cumsum(self.differences**2)
        unlike = np.cumsum(self._different())
        rows = []
        for size in wanted:
            if not 1 <= size <= self.jobs:
                raise ValueError(f"a prefix has 1 to {self.jobs} jobs, got {size}")
            total = float(squares[size - 1])
            p, e = math.sqrt(total / size), math.sqrt(total)
            rows.append(Prefix(size, e, p, int(unlike[size - 1])))
        return tuple(rows)

    def sources(self) -> DistanceBreakdown:
        """Say where the distance comes from: shares of ΣΔ² by job, width, wait and hour."""
        if self.pairs is None:
            raise ValueError(f"the measure is undefined: {self.reason}")
        return DistanceBreakdown.of(self.pairs)

    def summary(self) -> dict[str, Any]:
        """Return everything in one flat dictionary (prefixes are a list of rows)."""
        result: dict[str, Any] = {
            "defined": self.defined,
            "reason": self.reason,
            "job_at_fault": None if self.mismatch is None else self.mismatch.job,
            "jobs": self.jobs,
            "E": self.E,
            "P": self.P,
            "different": self.different,
            "prefixes": [asdict(prefix) for prefix in self.prefixes()],
            "reference": self.reference,
            "adequate": self.adequate,
        }
        return result | (self._beside() if self.pairs is not None else {})

    def _beside(self) -> dict[str, Any]:
        """Return what a reader should see beside P."""
        assert self.pairs is not None
        real, model = self.pairs.real, self.pairs.model
        gaps = self.differences
        worst = worst_jobs(self.pairs)
        kept = np.delete(gaps, worst)
        baseline = self.baseline
        return {
            "baseline_P": baseline,
            "skill": 1 - (self.P / baseline) ** 2 if baseline > SAME else math.nan,
            "skill_reason": None if baseline > SAME else NO_SKILL,
            "worst10_share": _share(gaps[worst], gaps),
            "P_without_worst10": math.sqrt(float(np.mean(kept**2))) if kept.size else math.nan,
            "median_difference": float(np.median(np.abs(gaps))),
            "mean_wait_real": float(real.wait.mean()),
            "mean_wait_model": float(model.wait.mean()),
            "mean_wait_error": float(model.wait.mean() - real.wait.mean()),
            "median_wait_real": float(np.median(real.wait)),
            "median_wait_model": float(np.median(model.wait)),
            "p95_wait_real": float(np.quantile(real.wait, 0.95)),
            "p95_wait_model": float(np.quantile(model.wait, 0.95)),
            "mean_service_real": float((real.residence - real.wait).mean()),
            "mean_service_model": float((model.residence - model.wait).mean()),
            "ks_wait": ks_distance(real.wait, model.wait),
            "wait_distribution_error": float(
                np.mean(np.abs(np.sort(real.wait) - np.sort(model.wait)))
            ),
            "wait_correlation": _correlation(real.wait, model.wait),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per job: both waits and residence times, the difference, its share of ΣΔ²."""
        if self.pairs is None:
            return pl.DataFrame()
        return self.pairs.to_polars()

    def _different(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        assert self.pairs is not None
        return np.abs(self.pairs.model.wait - self.pairs.real.wait) > self.same_within


def adequacy(
    real: Schedule | Workload,
    model: Schedule | Workload,
    *,
    reference: float | None = None,
    tolerance: float = 0.0,
    same_within: float = SAME,
) -> Adequacy:
    """Measure how far a model's schedule is from the real one (Baranov et al. 2019).

    With residence times v_i = s_i − r_i + w_i (wait plus processing) in reality and V_i in the
    model, E = √Σ(V_i − v_i)² (1) and P = √(Σ(V_i − v_i)²/n) (2), in seconds. P doesn't grow with
    the length of the stream. It is defined only for two runs of one stream: equal numbers of
    jobs, submit times, widths and requested times; otherwise the result says what differs first.

    Jobs are paired by id if both sides have the same ids, else by the order of submission; the
    order of the rows doesn't matter.

    Parameters
    ----------
    real, model
        Schedules, or logs with waits. Jobs of a log that never ran are left out and reported.
    reference
        P_ideal: what two runs of the real system differ by (`onega virtual --repeat`).
    tolerance
        Seconds by which submit times may differ: 0 for a model's answer to the same stream; the
        resolution of the clock where two systems kept the times.
    same_within
        Seconds by which two waits may differ and still count as the same.

    Returns
    -------
    Adequacy
        ``P``, ``E``, ``different``, ``prefixes()``, ``sources()``, ``adequate``.
    """
    for name, value in (("reference", reference), ("tolerance", tolerance)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is a number of seconds, at least 0; got {value}")
    first, second = as_schedule(real), as_schedule(model)
    found = pair_up(first, second, tolerance)
    names = (_name(first, "real"), _name(second, "model"))
    mismatch, pairs = (found, None) if isinstance(found, Mismatch) else (None, found)
    left_out = first.report + second.report
    return Adequacy(mismatch, pairs, reference, same_within, names, second, left_out)


def prefix_rows(pairs: Sequence[Adequacy]) -> list[dict[str, float]]:
    """Return P over the first 50, 100, … jobs: mean, least and most over pairs of one stream.

    ``different`` is the mean number of jobs that wait for another time.
    """
    sizes = table_sizes(pairs[0].jobs)
    return [
        {
            "jobs": found[0].jobs,
            "P": float(np.mean([one.P for one in found])),
            "P_min": min(one.P for one in found),
            "P_max": max(one.P for one in found),
            "different": float(np.mean([one.different for one in found])),
        }
        for found in zip(*(pair.prefixes(sizes) for pair in pairs), strict=True)
    ]


def table_sizes(jobs: int) -> tuple[int, ...]:
    """Return Table I's sizes up to a number of jobs, and that number."""
    sizes, scale = list(PREFIXES[:1]), 1
    while sizes[-1] < jobs:
        sizes += [size * scale for size in PREFIXES[1:]]
        scale *= 10
    return (*(size for size in sizes if size < jobs), jobs)


def _share(part: Floats, whole: Floats) -> float:
    total = float(np.sum(whole**2))
    return float(np.sum(part**2)) / total if total > 0 else math.nan


def _correlation(first: Floats, second: Floats) -> float:
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def _name(schedule: Schedule, role: str) -> str:
    if schedule.policy is not None:
        return str(schedule.policy)
    return schedule.workload.meta.source or role

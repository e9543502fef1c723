"""What a log says about the parameters of seed 000's model, and how far it is from the model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError
from onega.core.report import Finding, Report
from onega.core.workload import Workload
from onega.queueing.constant import constant_at, sensitivity
from onega.queueing.harmonic import harmonic_renewal
from onega.queueing.intervals import batch_half_width, check_confidence
from onega.queueing.widths import Widths

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Check:
    """How far the data are from one assumption of a formula.

    Attributes
    ----------
    assumption
        Its short name: ``"poisson_arrivals"``.
    holds
        Whether the data are near enough to it for the formula to be taken at its word.
    measures
        The numbers behind.
    words
        One sentence.
    """

    assumption: str
    holds: bool
    measures: dict[str, float]
    words: str


@dataclass(frozen=True)
class Jobs:
    """The usable jobs of a log, in the order of submission."""

    gaps: Floats
    runtimes: Floats
    procs: npt.NDArray[np.int64]
    report: Report


@dataclass(frozen=True)
class LogEstimates:
    """λ, E[S], C and ρ from a log, with confidence intervals, and the assumption checks.

    Attributes
    ----------
    jobs
        Jobs used (positive width and run time).
    arrival_rate, mean_runtime
        λ in jobs per second, E[S] in seconds.
    arrival_rate_ci, mean_runtime_ci, constant_ci, rho_ci
        Intervals at the level ``confidence``; batch means of each job's influence, so that runs of
        alike jobs widen them.
    offered_load
        λ·E[N·S]/s: the load in processor seconds, without any assumption. Above 1 no scheduler
        keeps up.
    checks
        The assumptions and how far the log is from them.
    report
        Rows that were left out.
    """

    jobs: int
    confidence: float
    arrival_rate: float
    mean_runtime: float
    arrival_rate_ci: Interval
    mean_runtime_ci: Interval
    constant_ci: Interval
    rho_ci: Interval
    offered_load: float
    checks: tuple[Check, ...]
    report: Report = field(default_factory=Report)


def usable_jobs(workload: Workload) -> Jobs:
    """Take the jobs with a positive width and run time, by submission; the rest is reported."""
    ordered = workload.sorted()
    procs, runtime = ordered.column("procs"), ordered.column("runtime")
    narrow = ~(procs > 0)
    short = ~narrow & ~(runtime > 0)
    keep = ~(narrow | short)
    if not keep.any():
        raise QueueingError("the log has no job with a positive width and run time")
    report = Report.of(
        [
            Finding("no_width", "dropped", int(narrow.sum()), "jobs without a positive width"),
            Finding("no_runtime", "dropped", int(short.sum()), "jobs without a positive run time"),
        ]
    )
    gaps = np.diff(ordered.column("submit")[keep])
    return Jobs(gaps, runtime[keep].astype(np.float64), procs[keep].astype(np.int64), report)


def estimate(workload: Workload, procs: int, *, confidence: float = 0.95) -> LogEstimates:
    """Estimate λ, E[S], C and ρ from a log.

    λ = 1/mean gap, E[S] = mean run time, p_k = relative frequencies. log ρ = log λ + log C +
    log E[S] is, to first order, a mean over jobs of −T/E[T] + h(N)/C + S/E[S] with h from
    `onega.queueing.constant.sensitivity`; its interval comes from batch means of that.
    """
    check_confidence(confidence)
    jobs = usable_jobs(workload)
    if jobs.gaps.size < 1 or jobs.gaps.sum() <= 0:
        raise QueueingError(
            "the log's usable jobs were all submitted at one instant; "
            "give the arrival rate (arrival_rate=, --arrival-rate)"
        )
    law = Widths.from_workload(workload)
    gap, runtime = float(jobs.gaps.mean()), float(jobs.runtimes.mean())
    constant = constant_at(law, procs, harmonic_renewal(law.values, law.probs, procs))
    weight = sensitivity(law, procs)[np.searchsorted(law.values, jobs.procs)]
    by_gap = 1.0 - jobs.gaps / gap
    by_runtime = jobs.runtimes / runtime - 1.0
    by_width = (weight - weight.mean()) / constant
    together = by_runtime[1:] + by_width[1:] + by_gap
    rho = constant * runtime / gap
    offered = float(np.mean(jobs.procs * jobs.runtimes)) / gap / procs

    def around(value: float, influence: Floats) -> Interval:
        reach = math.exp(batch_half_width(influence, confidence))
        return value / reach, value * reach

    return LogEstimates(
        jobs=jobs.runtimes.size,
        confidence=confidence,
        arrival_rate=1.0 / gap,
        mean_runtime=runtime,
        arrival_rate_ci=around(1.0 / gap, by_gap),
        mean_runtime_ci=around(runtime, by_runtime),
        constant_ci=around(constant, by_width),
        rho_ci=around(rho, together),
        offered_load=offered,
        checks=checks(jobs, law),
        report=jobs.report,
    )


def checks(jobs: Jobs, law: Widths) -> tuple[Check, ...]:
    """Compare a log with the assumptions of seed 000's formula."""
    return (
        exponential_check("poisson_arrivals", "gaps between submissions", jobs.gaps),
        exponential_check("exponential_runtimes", "run times", jobs.runtimes),
        _one_law(jobs),
        _independent_widths(jobs, law),
    )


def exponential_check(name: str, what: str, values: Floats) -> Check:
    """Squared coefficient of variation (1 if exponential) and the distance sup|F − F_exp|."""
    mean = float(values.mean())
    if values.size < 2 or mean <= 0:
        return _untold(name, f"too few {what} to tell whether they are exponential")
    spread = float(values.var()) / mean**2
    ordered = np.sort(values)
    expected = -np.expm1(-ordered / mean)
    steps = np.arange(values.size + 1) / values.size
    distance = float(max(np.max(steps[1:] - expected), np.max(expected - steps[:-1])))
    holds = abs(math.log(max(spread, 1e-12))) < math.log(1.5) and distance < 0.05
    if holds:
        verdict = "close to exponential"
    elif spread > 1.5:
        verdict = "burstier than exponential" if "gaps" in what else "more varied than exponential"
    elif spread < 1 / 1.5:
        verdict = "more regular than exponential"
    else:
        verdict = "not exponential, though as varied"
    words = (
        f"the {what} are {verdict}: squared coefficient of variation {spread:.3g} "
        f"(exponential: 1), largest gap between the distribution functions {distance:.2f}"
    )
    return Check(name, holds, {"cv2": spread, "distance": distance}, words)


def _one_law(jobs: Jobs) -> Check:
    """Compare the run times of wide and narrow jobs: E[N·S]/(E[N]·E[S]) is 1 for one law."""
    from scipy.stats import rankdata

    mean_width, mean_runtime = float(jobs.procs.mean()), float(jobs.runtimes.mean())
    ratio = float(np.mean(jobs.procs * jobs.runtimes)) / (mean_width * mean_runtime)
    correlation = _correlation(rankdata(jobs.procs), rankdata(jobs.runtimes))
    holds = abs(math.log(ratio)) < math.log(1.1) and abs(correlation) < 0.1
    trend = "longer" if ratio > 1 else "shorter"
    verdict = "run about as long as" if holds else f"run {trend} than"
    words = (
        f"wide jobs {verdict} narrow ones: the work per job is {ratio:.3g} times what equal laws "
        f"would give, rank correlation of width and run time {correlation:.2f}"
    )
    return Check("one_law", holds, {"work_ratio": ratio, "rank_correlation": correlation}, words)


def _independent_widths(jobs: Jobs, law: Widths) -> Check:
    """Compare how often a job has the width of the one before with chance."""
    if jobs.procs.size < 2:
        return _untold("independent_widths", "too few jobs to tell whether widths repeat")
    repeats = float(np.mean(jobs.procs[1:] == jobs.procs[:-1]))
    chance = float(np.dot(law.probs, law.probs))
    holds = abs(repeats - chance) < 0.05
    words = (
        f"{repeats:.0%} of the jobs are as wide as the job before them, "
        f"by chance {chance:.0%} would be"
    )
    return Check("independent_widths", holds, {"repeats": repeats, "by_chance": chance}, words)


def _untold(name: str, words: str) -> Check:
    return Check(name, holds=False, measures={}, words=words)


def _correlation(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])

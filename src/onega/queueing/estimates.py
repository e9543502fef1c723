"""What a log says about the parameters of the model of Rumyantsev (2014)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onega.core.errors import QueueingError
from onega.core.schedule.window import log_window
from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload
from onega.queueing.checks import Check, Jobs, checks
from onega.queueing.constant import check_servers, constant_at, sensitivity
from onega.queueing.harmonic import harmonic_renewal
from onega.queueing.intervals import check_confidence, factor_interval
from onega.queueing.phases import finite
from onega.queueing.widths import Widths

Interval = tuple[float, float]


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

    def summary(self) -> dict[str, Any]:
        """Return the jobs and the intervals as a flat dictionary."""
        result: dict[str, Any] = {
            "jobs": self.jobs,
            "jobs_left_out": self.report.dropped,
            "confidence": self.confidence,
        }
        for name in ("arrival_rate", "mean_runtime", "constant", "rho"):
            low, high = getattr(self, f"{name}_ci")
            key = "C" if name == "constant" else name
            result |= {f"{key}_ci_low": low, f"{key}_ci_high": high}
        return result


@dataclass(frozen=True)
class LogFacts:
    """λ, E[S] and E[N·S] of a log, as given where they were given; and how it fits the formula.

    ``window_load`` is the offered load over the window in which the log shows its machine filled
    (`onega.core.schedule.window`), at these rates; None if there is no such window.
    """

    arrival_rate: float | None
    mean_runtime: float | None
    mean_work: float | None = None
    window_load: float | None = None
    estimates: LogEstimates | None = None
    checks: tuple[Check, ...] | None = None


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
            "the log's usable jobs were all submitted at one instant; give arrival_rate="
        )
    law = Widths.from_workload(workload)
    procs = check_servers(law, procs)  # before anything as long as the widest job is made
    gap, runtime = float(jobs.gaps.mean()), float(jobs.runtimes.mean())
    constant = constant_at(law, procs, harmonic_renewal(law.values, law.probs, procs))
    weight = sensitivity(law, procs)[np.searchsorted(law.values, jobs.procs)]
    by_gap = 1.0 - jobs.gaps / gap
    by_runtime = jobs.runtimes / runtime - 1.0
    by_width = (weight - weight.mean()) / constant
    together = by_runtime[1:] + by_width[1:] + by_gap
    rho = constant * runtime / gap
    offered = float(np.mean(jobs.procs * jobs.runtimes)) / gap / procs
    return LogEstimates(
        jobs=jobs.runtimes.size,
        confidence=confidence,
        arrival_rate=1.0 / gap,
        mean_runtime=runtime,
        arrival_rate_ci=factor_interval(1.0 / gap, by_gap, confidence),
        mean_runtime_ci=factor_interval(runtime, by_runtime, confidence),
        constant_ci=factor_interval(constant, by_width, confidence),
        rho_ci=factor_interval(rho, together, confidence),
        offered_load=offered,
        checks=checks(jobs, law),
        report=jobs.report,
    )


def _window_load(workload: Workload, procs: int) -> float | None:
    """Return the work submitted in the log's window over what the machine can do in it."""
    window = log_window(workload)
    if window.kind != "log":
        return None
    inside = window.holds(workload.column("submit"))
    work = workload.column("procs") * workload.column("runtime")
    return float(np.sum(work[inside & (work > 0)])) / (procs * window.length)


def log_facts(
    source: object,
    servers: int,
    arrival_rate: float | None,
    mean_runtime: float | None,
    confidence: float,
) -> LogFacts:
    """Estimate from the log what wasn't given.

    A given mean run time stretches the log's own ones, a given rate its gaps between submissions.
    """
    for name, value in (("arrival_rate", arrival_rate), ("mean_runtime", mean_runtime)):
        if value is not None:
            finite(name, value)
    if not isinstance(source, Workload):
        return LogFacts(arrival_rate, mean_runtime)
    jobs = usable_jobs(source)
    own = float(jobs.runtimes.mean())
    mean = own if mean_runtime is None else mean_runtime
    work = float(np.mean(jobs.procs * jobs.runtimes)) * mean / own
    inside, times = _window_load(source, servers), mean / own
    if arrival_rate is not None:
        span = float(jobs.gaps.sum())
        inside = inside and inside * times * arrival_rate * span / jobs.gaps.size
        return LogFacts(arrival_rate, mean, work, inside, None, checks(jobs, Widths.of(source)))
    found = _stretched(estimate(source, servers, confidence=confidence), times)
    inside = inside and inside * times
    return LogFacts(found.arrival_rate, mean, work, inside, found, found.checks)


def _stretched(found: LogEstimates, factor: float) -> LogEstimates:
    """Return what the log would say if all run times were ``factor`` times as long."""

    def times(interval: Interval) -> Interval:
        return factor * interval[0], factor * interval[1]

    return replace(
        found,
        mean_runtime=factor * found.mean_runtime,
        mean_runtime_ci=times(found.mean_runtime_ci),
        rho_ci=times(found.rho_ci),
        offered_load=factor * found.offered_load,
    )

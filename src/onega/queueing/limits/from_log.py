"""λ, μ and ν of `limits` from a log: run times, limits and final states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.queueing.checks import Check, exponential_check
from onega.queueing.estimates import usable_jobs
from onega.queueing.intervals import factor_interval
from onega.queueing.limits.laws import Empirical

CUT_STATES = ("timeout", "cancelled")
"""Final states that mean: removed before its end. All others mean that the job ended itself."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class LimitEstimates:
    """λ, μ and ν with confidence intervals, and how far the log is from the model.

    Attributes
    ----------
    jobs, cut_off
        Jobs used, and how many of them were cut off.
    arrival_rate, service_rate, limit_rate
        λ, μ and ν, per second.
    arrival_rate_ci, service_rate_ci, limit_rate_ci
        95 % intervals, batch means over consecutive jobs.
    rule
        How a cut-off was recognised.
    checks
        The assumptions and how far the log is from them.
    """

    jobs: int
    cut_off: int
    arrival_rate: float
    service_rate: float
    limit_rate: float
    arrival_rate_ci: Interval
    service_rate_ci: Interval
    limit_rate_ci: Interval
    rule: str
    checks: tuple[Check, ...]
    report: Report = field(default_factory=Report)

    def summary(self) -> dict[str, Any]:
        """Return the estimates as a flat dictionary."""
        result: dict[str, Any] = {
            "jobs": self.jobs,
            "jobs_cut_off": self.cut_off,
            "share_cut_off": self.cut_off / self.jobs,
            "jobs_left_out": self.report.dropped,
            "cut_off_rule": self.rule,
            "limit_rate": self.limit_rate,
        }
        for name in ("arrival_rate", "service_rate", "limit_rate"):
            low, high = getattr(self, f"{name}_ci")
            result |= {f"{name}_ci_low": low, f"{name}_ci_high": high}
        for check in self.checks:
            result[f"{check.assumption}_holds"] = check.holds
        return result


def limit_parameters(workload: Workload) -> LimitEstimates:
    """Estimate λ, μ and ν from a log.

    A running job ends itself at rate μ and is cut off at rate ν, whichever comes first; the
    likelihood is largest at μ = (jobs that ended themselves)/(all run time) and
    ν = (jobs cut off)/(all run time). A job was cut off if its final state says so (time-out or
    cancelled), or if it ran for its whole estimate.
    """
    jobs = usable_jobs(workload)
    ordered = workload.sorted()
    keep = (ordered.column("procs") > 0) & (ordered.column("runtime") > 0)
    cut, rule = _cut_off(ordered, keep)
    rate = observed_rate(workload)
    if not cut.any() or cut.all():
        which = "no job was" if not cut.any() else "every job was"
        raise QueueingError(
            f"by {rule}, {which} cut off, so μ and ν can't both be estimated; "
            "give service_rate and limit_rate"
        )
    total = float(jobs.runtimes.mean())
    mu, nu = float(np.mean(~cut)) / total, float(np.mean(cut)) / total
    relative = jobs.runtimes / total
    return LimitEstimates(
        jobs=cut.size,
        cut_off=int(cut.sum()),
        arrival_rate=rate,
        service_rate=mu,
        limit_rate=nu,
        arrival_rate_ci=factor_interval(rate, 1 - jobs.gaps * rate, 0.95),
        service_rate_ci=factor_interval(mu, ~cut / np.mean(~cut) - relative, 0.95),
        limit_rate_ci=factor_interval(nu, cut / np.mean(cut) - relative, 0.95),
        rule=rule,
        checks=(
            exponential_check("poisson_arrivals", "gaps between submissions", jobs.gaps),
            exponential_check("exponential_runtimes", "times in service", jobs.runtimes),
            _whole_jobs(jobs.procs, cut, mu / (mu + nu)),
        ),
        report=jobs.report,
    )


def observed_rate(workload: Workload) -> float:
    """λ: usable jobs per second."""
    gaps = usable_jobs(workload).gaps
    if gaps.size < 1 or gaps.sum() <= 0:
        raise QueueingError(
            "the log's usable jobs were all submitted at one instant; give arrival_rate"
        )
    return 1 / float(gaps.mean())


def observed_limits(workload: Workload) -> Empirical:
    """Take the users' estimates, which the dispatcher enforces, as the law of limits."""
    if not workload.has("estimate"):
        raise QueueingError("the log has no estimates, so its own limits aren't known")
    estimates = workload.column("estimate")
    return Empirical(estimates[estimates > 0])


def _cut_off(workload: Workload, keep: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], str]:
    cut = np.zeros(int(keep.sum()), np.bool_)
    rules = []
    if workload.has("status"):
        status = workload.table["status"].cast(str).fill_null("").to_numpy()[keep]
        cut |= np.isin(status, CUT_STATES)
        rules.append("final state")
    if workload.has("estimate"):
        cut |= workload.column("runtime")[keep] >= workload.column("estimate")[keep]
        rules.append("run time reaching the estimate")
    if not rules:
        raise QueueingError(
            "the log has neither final states nor estimates, so it doesn't say which jobs were "
            "cut off; give service_rate and limit_rate"
        )
    return cut, " or ".join(rules)


def _whole_jobs(procs: npt.NDArray[np.int64], cut: npt.NDArray[np.bool_], p_task: float) -> Check:
    """Compare the share of jobs that weren't cut off with Q(p), which takes tasks one by one."""
    seen = float(np.mean(~cut))
    per_task = float(np.mean(np.power(p_task, procs.astype(np.float64))))
    holds = abs(seen - per_task) < 0.05
    words = (
        f"{seen:.0%} of the jobs weren't cut off; if every processor of a job had an exponential "
        f"limit of its own, as short as the log's cut-offs say, it would be {per_task:.0%}"
    )
    if not holds:
        words += "; a job's processors end together: think of one task per job (widths fixed:1)"
    return Check("tasks_apart", holds, {"served": seen, "served_if_apart": per_task}, words)

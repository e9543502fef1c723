"""Answers in words, for a reader who runs a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.queueing.limits import Limits
    from onega.queueing.stability import Stability


def percent(share: float) -> str:
    """Write a share as per cent with two digits: ``12 %``, ``0.34 %``."""
    value = 100 * share
    if abs(value) < 5e-13:
        return "0 %"
    return f"{value:.0f} %" if abs(value) >= 9.95 else f"{value:.2g} %"


def stability_sentences(result: Stability) -> list[str]:
    """Say what `onega.stability` found."""
    said = [_unused(result)]
    rho = result.rho
    if rho is not None and result.arrival_rate is not None:
        every = humanise_seconds(1 / result.arrival_rate)
        most = result.max_arrival_rate
        assert most is not None
        assumed = result.estimates is not None and result.constant.method != "saturation"
        holds = "Stable, as far as the formula goes (see below)" if assumed else "Stable"
        if rho < 1:
            said.append(
                f"{holds}: a job arrives every {every} on average; the machine keeps up with one "
                f"every {humanise_seconds(1 / most)} (ρ = {rho:.4g})."
            )
        else:
            said.append(
                f"Not stable: a job arrives every {every} on average, but the machine keeps up "
                f"only with one every {humanise_seconds(1 / most)} (ρ = {rho:.4g}): the queue "
                "grows without end."
            )
    elif result.max_arrival_rate is not None:
        every = humanise_seconds(1 / result.max_arrival_rate)
        said.append(f"The machine keeps up with at most one job every {every}.")
    if result.min_procs is not None:
        why = " (so many the widest job needs)" if result.min_procs == result.widths.widest else ""
        said.append(f"The fewest servers that keep this queue stable: {result.min_procs:,}{why}.")
    said.extend(_log_sentences(result))
    return said


def _unused(result: Stability) -> str:
    share = result.unused_share
    order = {"fcfs": "FCFS", "easy": "EASY"}.get(result.policy, result.policy)
    reason = "its first job doesn't fit" if result.policy == "fcfs" else "what waits doesn't fit"
    if share < 1e-9:
        return f"{order} can use the whole machine: these widths always fill it."
    servers = share * result.procs
    return (
        f"{order} can never use {percent(share)} of this machine: on average {servers:.3g} of "
        f"{result.procs:,} servers stand idle, however long the queue, because {reason}."
    )


def _log_sentences(result: Stability) -> list[str]:
    estimates = result.estimates
    if estimates is None:
        return []
    said = []
    low, high = estimates.rho_ci
    if result.constant.method != "saturation" and low == low:
        said.append(
            f"From {estimates.jobs:,} jobs, with {estimates.confidence:.0%} confidence ρ lies "
            f"between {low:.3g} and {high:.3g}."
        )
        if low < 1 < high:
            said.append("The log is too short, or too bursty, to tell on which side of 1.")
    if result.constant.method == "saturation":
        said.append(
            "Measured with the log's own jobs, each with its width, run time and estimate, drawn "
            "independently of each other."
        )
        return said
    off = [check for check in estimates.checks if not check.holds]
    if off:
        said.append(
            "The formula assumes Poisson arrivals and one exponential law of run times for all "
            "widths. This log differs:"
        )
        said.extend(f"  • {check.words};" for check in off[:-1])
        said.append(f"  • {off[-1].words}.")
        said.append(
            f"In processor seconds the offered load is {estimates.offered_load:.3g} of the "
            "machine, whatever the laws; method 'saturation' measures the boundary with the log's "
            "own jobs."
        )
    if estimates.offered_load > result.utilisation_at_limit and result.stable:
        said.append(
            f"Careful: that load is more than the {percent(result.utilisation_at_limit)} that the "
            "formula says can be used, so the queue may well be unstable."
        )
    return said


def limits_sentences(result: Limits) -> list[str]:
    """Say what `onega.limits` found."""
    said = [
        f"On average {result.mean_busy:.4g} servers are busy (standard deviation "
        f"{result.var_busy**0.5:.3g}); {result.quantile(0.95):,} suffice 95 % of the time, "
        f"{result.quantile(0.99):,} suffice 99 %.",
        f"{percent(result.p_serv)} of the requests are served whole; {percent(result.p_loss)} "
        "lose a task to the dispatcher's limit.",
        f"For {percent(result.target)} to be served, tasks must be given "
        f"{humanise_seconds(result.critical_limit)} on average (they are given "
        f"{humanise_seconds(result.limit.mean)}, and would run "
        f"{humanise_seconds(1 / result.service_rate)}).",
    ]
    if result.estimates is not None:
        off = [check.words for check in result.estimates.checks if not check.holds]
        said.append(
            f"From {result.estimates.jobs:,} jobs, of which {result.estimates.cut_off:,} were cut "
            f"off (by {result.estimates.rule})."
        )
        if off:
            said.append(
                "The model assumes Poisson arrivals, exponential times and a limit for each task. "
                "This log differs:"
            )
            said.extend(f"  • {words};" for words in off[:-1])
            said.append(f"  • {off[-1]}.")
    return said

"""Answers in words, for a reader who runs a machine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onega.core.units import humanise_seconds, quantity
from onega.core.units import percent as percent
from onega.queueing.checks import NEEDED
from onega.queueing.limits.laws import name_of

if TYPE_CHECKING:
    from onega.queueing.limits.from_log import LimitEstimates
    from onega.queueing.limits.limits import Limits
    from onega.queueing.stability import Stability


def distinct_percents(first: float, *others: float) -> tuple[str, ...]:
    """Write shares as per cent with as many digits as it takes to tell the first from the rest."""
    for digits in range(5):
        texts = tuple(f"{100 * one:.{digits}f} %" for one in (first, *others))
        if texts[0] not in texts[1:]:
            return texts
    return texts


def stability_sentences(result: Stability) -> list[str]:
    """Say what `onega.stability` found, the answer first."""
    said = [] if result.offered_load is None else [verdict_sentence(result)]
    said.append(_unused(result))
    most = result.max_arrival_rate
    if most is not None:
        limit = f"the machine keeps up with one every {humanise_seconds(1 / most)} at most"
        if result.arrival_rate is None:
            said.append(f"Jobs may come often: {limit}.")
        else:
            every = humanise_seconds(1 / result.arrival_rate)
            said.append(f"A job arrives every {every} on average; {limit}.")
    if result.min_procs is not None:
        why = " (so many the widest job needs)" if result.min_procs == result.widths.widest else ""
        said.append(f"The fewest servers for which the answer is yes: {result.min_procs:,}{why}.")
    said.extend(_sampling(result))
    said.extend(_assumptions(result))
    return said


def policy_name(policy: str) -> str:
    """Write a policy as people say it."""
    return {"fcfs": "first come, first served", "easy": "EASY backfilling"}.get(policy, policy)


def verdict_sentence(result: Stability, *, brief: bool = False) -> str:
    """Say in one sentence whether the machine keeps up, and why; ``brief``: not how it is known."""
    verdict, load = result.verdict, result.offered_load
    assert load is not None
    if verdict.basis == "offered load":
        # Never as 100 %, unless it is.
        asked = distinct_percents(load, 1.0)[0] if load > 1 else "100 %"
        return (
            f"No: {asked} of the machine is asked for; no scheduler keeps up with that, and "
            "the queue grows without end."
        )
    name, usable = policy_name(result.policy), result.usable
    if verdict.basis == "window":
        return (
            f"Can't tell: {percent(load)} of the machine is asked for over the whole log, but "
            f"{percent(result.window_load or 0.0)} over the time in which the log shows "
            f"it filled. What would tell: {verdict.would_tell}."
        )
    if usable is None and result.formula_holds is False:
        return (
            f"Can't tell: {percent(load)} of the machine is asked for, and this log isn't what the "
            f"formula for {name} assumes. What would tell: {verdict.would_tell}."
        )
    share = result.utilisation_at_limit
    if verdict.stable is None:
        limits = (usable.low, usable.high) if usable is not None else _formula_limits(result)
        asked, low, high = distinct_percents(load, *limits)
        return (
            f"Can't tell: {asked} of the machine is asked for, and {name} can use between {low} "
            f"and {high} of it. What would tell: {verdict.would_tell}."
        )
    asked, limit = distinct_percents(load, share)
    how = "" if brief else f" ({_how(result)})"
    if verdict.stable:
        return f"Yes: {asked} of the machine is asked for, and {name} can use {limit} of it{how}."
    return (
        f"No: {asked} of the machine is asked for, and {name} can use only {limit} of it{how}: "
        "the queue grows without end."
    )


def _formula_limits(result: Stability) -> tuple[float, float]:
    constant, share = result.constant, result.widths.mean / result.procs
    return share / constant.high, min(1.0, share / constant.low)


def _how(result: Stability) -> str:
    """Say where the usable share comes from, and how exact it is."""
    usable = result.usable
    if usable is not None:
        exact = usable.sure
        if usable.low < usable.high:
            ends = distinct_percents(usable.low, usable.high)
            exact = f"{usable.sure} between {' and '.join(ends)}"
            if usable.high == 1:
                exact += ", for nothing can use more than the whole"
        return f"measured with {usable.how}; {exact}"
    if result.formula_holds:
        return "by the formula of Rumyantsev (2014), whose assumptions this log passes"
    if result.constant.method in ("chain", "batches"):
        return f"exactly, for the law of run times {result.law}"
    return (
        "by the formula of Rumyantsev (2014), for exponential run times that don't depend on widths"
    )


def _unused(result: Stability) -> str:
    share = result.unused_share
    order = {"fcfs": "FCFS", "easy": "EASY"}.get(result.policy, result.policy)
    reason = "its first job doesn't fit" if result.policy == "fcfs" else "what waits doesn't fit"
    if share < 1e-9:
        if result.usable is not None:
            return f"{order} can use the whole machine."
        return f"{order} can use the whole machine: these widths always fill it."
    servers = share * result.procs
    return (
        f"{order} can never use {percent(share)} of this machine: on average {quantity(servers)} "
        f"of {result.procs:,} servers stand idle, however long the queue, because {reason}."
    )


def _sampling(result: Stability) -> list[str]:
    """Say how far another log of the same site may differ."""
    estimates = result.estimates
    if estimates is None:
        return []
    level = percent(estimates.confidence)
    if result.load_ratio_ci is not None and result.usable is not None:
        low, high = result.load_ratio_ci
        what = "asked for / usable"
    elif result.usable is None and result.formula_holds:
        low, high = estimates.rho_ci
        what = "the formula's ρ"
    else:
        return []
    if not low <= high:
        return []
    said = (
        f"That is about the {estimates.jobs:,} jobs of this log; over other logs like it {what} "
        f"lies between {low:.3g} and {_apart_from_one(high)} with {level} confidence"
    )
    if low < 1 < high:
        return [f"{said}: it is too short, or too bursty, to promise the answer for other weeks."]
    return [f"{said}."]


def _apart_from_one(value: float) -> str:
    """Write a ratio with three digits, more if it would look like 1 and isn't."""
    digits = next((one for one in range(3, 8) if f"{value:.{one}g}" != "1"), 3)
    return f"{value:.{digits}g}"


def _assumptions(result: Stability) -> list[str]:
    """Say what the formula gives by itself, and what it assumes."""
    if result.constant.method == "saturation":
        return []
    if result.checks is None:
        if result.law != "exponential":
            return []
        return [
            "C is for exponential run times. Another law has another C, though Rumyantsev (2014) "
            "conjectures one for all: give it with law= (--law)."
        ]
    rho = "" if result.rho is None else f" gives ρ = {result.rho:.3g}; it"
    off = [one for one in result.checks if not one.holds and one.assumption in NEEDED]
    if not off:
        tests = "; ".join(one.words for one in result.checks if one.assumption in NEEDED)
        return [f"The formula{rho} holds for these jobs: {tests}."]
    said = [
        f"The formula of Rumyantsev (2014){rho} isn't the answer here: it takes run times as "
        "exponential and jobs as independent, and C depends on that. This log differs:"
    ]
    said.extend(f"  • {check.words};" for check in off[:-1])
    said.append(f"  • {off[-1].words}.")
    return said


def _limit_words(result: Limits) -> str:
    """Say which law of limits the model's figures are of."""
    if not math.isfinite(result.limit.mean):
        return "no limits"
    law = f"{name_of(result.limit)} of {humanise_seconds(result.limit.mean)} on average"
    return f"{law}, {'one for all tasks of a request' if result.shared else 'one for each task'}"


def _whole_in_the_log(estimates: LimitEstimates | None) -> str:
    if estimates is None:
        return ""
    whole = percent(1 - estimates.cut_off / estimates.jobs)
    return f" (of the log's own jobs {whole} were not cut off, however wide)"


def limits_sentences(result: Limits) -> list[str]:
    """Say what `onega.limits` found; of a log first what was really cut off."""
    said = []
    estimates = result.estimates
    if estimates is not None:
        said.append(
            f"{percent(estimates.cut_off / estimates.jobs)} of the jobs were really cut off: "
            f"{estimates.cut_off:,} of {estimates.jobs:,}, by {estimates.rule}. What follows is a "
            "model of it."
        )
    said += [
        f"On average {quantity(result.mean_busy, 4)} servers are busy (standard deviation "
        f"{quantity(result.var_busy**0.5)}); {result.quantile(0.95):,} suffice 95 % of the time, "
        f"{result.quantile(0.99):,} suffice 99 %.",
        f"With {_limit_words(result)}, {percent(result.p_serv)} of the requests are served whole; "
        f"{percent(result.p_loss)} lose a task to the dispatcher's limit"
        f"{_whole_in_the_log(estimates)}.",
        f"For {percent(result.target)} to be served, tasks must be given "
        f"{humanise_seconds(result.critical_limit)} on average (they are given "
        f"{humanise_seconds(result.limit.mean)}, and would run "
        f"{humanise_seconds(1 / result.service_rate)}).",
    ]
    off = [] if estimates is None else [one.words for one in estimates.checks if not one.holds]
    if off:
        said.append(
            "The model assumes Poisson arrivals, exponential times and a limit for each task. "
            "This log differs:"
        )
        said.extend(f"  • {words};" for words in off[:-1])
        said.append(f"  • {off[-1]}.")
    return said

"""A plan in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onega.core.units import count_of
from onega.experiment.planning.axes import UNITS, place_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onega.experiment.planning.answer_interval import AnswerInterval
    from onega.experiment.planning.axes import Axis
    from onega.experiment.planning.planning import Plan
    from onega.experiment.planning.search import Boundary
    from onega.experiment.planning.targets import Target
    from onega.experiment.planning.trials import Trial


def sentences(plan: Plan) -> tuple[str, ...]:
    """Say the answer, how sure it is and what it took."""
    if plan.met:
        between = () if plan.interval is None else (_between(plan, plan.interval),)
        return (_answer(plan), *between, _sure(plan), _effort(plan))
    chosen, place = plan.trial(), place_words(plan.vary, plan.nearest)
    if plan.reason.startswith("at "):
        why = f": {plan.reason}"
    else:
        why = f" ({plan.reason})" if plan.reason else ""
    return (
        f"{plan.target} can't be met by varying {VARIED[plan.vary]}{why}.",
        f"The nearest is {place}, with {_values(plan, chosen)}{_in_how_many(plan)}.",
        _effort(plan),
    )


VARIED = {
    "procs": "the number of processors",
    "nodes": "the number of nodes",
    "load": "the load",
    "policy": "the policy",
}


def why_there(
    axis: Axis,
    boundary: Boundary,
    found: Mapping[int, Trial],
    nearest: Trial,
    targets: tuple[Target, ...],
) -> str:
    """Say why a search ended elsewhere than at the boundary; nothing if it didn't."""
    if boundary.met is None:
        assert boundary.failed is not None
        last = axis.name(axis.value(boundary.failed))
        if found[boundary.failed].idle:
            return f"at {last} no job waits any more"
        if boundary.failed != axis.best:
            return f"at {last} more change nothing, jobs wait for something else"
        return f"the search ended at {last}"
    if not nearest.met:
        missed = [
            f"{target.measure} is {target.measure.show(mean)}"
            for target, mean in zip(targets, nearest.means, strict=True)
            if not target.holds(mean)
        ] or ["the targets hold together in too few replicates"]
        return f"at {axis.name(nearest.at)} {' and '.join(missed)}"
    return axis.at_worst if boundary.failed is None else ""


def _values(plan: Plan, trial: Trial) -> str:
    return ", ".join(
        f"{target.measure} = {target.measure.show(mean)}"
        for target, mean in zip(plan.targets, trial.means, strict=True)
    )


def _answer(plan: Plan) -> str:
    if plan.vary in ("procs", "nodes"):
        unit = UNITS[plan.vary]
        words = f"{plan.best} {unit} are the fewest that meet {plan.target} under {plan.policy}"
        if plan.load != 1:
            words += f" at {plan.load:g} times the load"
        if plan.resolution is not None and plan.resolution > 1:
            words += f" (to {plan.resolution:g} {unit})"
    elif plan.vary == "load":
        assert isinstance(plan.best, int | float)
        change = 100 * (plan.best - 1)
        more = f"{change:.0f} % more" if change >= 0 else f"{-change:.0f} % less"
        words = (
            f"{plan.cluster.procs} processors under {plan.policy} take {plan.best:g} times the "
            f"load, {more}, and still meet {plan.target}"
        )
    else:
        words = f"{plan.best} is the best of those that meet {plan.target}"
        if plan.load != 1:
            words += f" at {plan.load:g} times the load"
    words = f"{words}; {plan.reason}." if plan.reason else f"{words}."
    return f"{words} {_growing(plan)}" if plan.trial().growing else words


def _growing(plan: Plan) -> str:
    """Say that the target is met only because the load ends, and what a load below 1 takes."""
    words = (
        f"That is for as long as the {'runs last' if plan.rule == 'student' else 'log lasts'}: the "
        f"offered load is {plan.trial().offered_load:.3g}, and the queue would grow if it stayed."
    )
    if plan.vary == "policy":
        return words
    if plan.lasting is None:
        return f"{words} Nothing within the limits of the search has an offered load below 1."
    there, place = plan.trial(plan.lasting), place_words(plan.vary, plan.lasting)
    where = f"up to {place}" if plan.vary == "load" else f"from {place} on"
    met = "is met too" if there.met else f"isn't met: {_values(plan, there)}"
    return f"{words} It is below 1 {where}, where the target {met}."


def _between(plan: Plan, between: AnswerInterval) -> str:
    """Say between which values another seed's answer would be."""
    unit = UNITS[plan.vary]
    if between.low is None or between.high is None:
        end = f"at least {between.low}" if between.high is None else f"at most {between.high}"
        where = f"is {end} {unit}"
    elif between.low == between.high:
        return (
            f"Other draws of the same source would not move the answer, with "
            f"{100 * between.level:.0f} % confidence."
        )
    else:
        where = f"lies between {between.low} and {between.high} {unit}"
    return (
        f"Other draws of the same source would move the answer: it {where} "
        f"with {100 * between.level:.0f} % confidence; more replicates narrow that."
    )


def _sure(plan: Plan) -> str:
    trial = plan.trial()
    values = _values(plan, trial)
    if plan.rule == "value":
        return f"There: {values}. This is one run of the log as it is, without a confidence."
    if plan.rule == "percentile":
        return (
            f"There: {values} on average; it holds in {_percent(trial.joint)} of "
            f"{trial.replicates} resamples ({_percent(plan.confidence)} asked for)."
        )
    return (
        f"There: {values}; the expected values keep to it with {_percent(trial.joint)} confidence "
        f"({_percent(plan.confidence)} asked for), from {trial.replicates} replicates."
    )


def _in_how_many(plan: Plan) -> str:
    trial = plan.trial()
    if plan.rule == "percentile":
        return f" on average; it holds in {_percent(trial.joint)} of {trial.replicates} resamples"
    return "" if plan.rule == "value" else f" on average over {trial.replicates} replicates"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0):.4g} %"


def _effort(plan: Plan) -> str:
    words = f"{count_of(plan.runs, 'simulation')} at {count_of(len(plan.trials), 'place')}."
    if plan.warmup.rule == "mser5":
        words += f" The first {plan.warmup.jobs} jobs of each run were left out (MSER-5)."
    if not plan.warmup.settled:
        words += " The runs never settle: they are too short, or the machine can't keep up."
    return words

"""`plan`: the size, the policy or the load with which targets are met."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Unpack

import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.machine.cluster import Cluster
from onega.core.plotting import Plottable
from onega.core.renamed import renamed
from onega.core.rng import Rng
from onega.core.schedule.warmup import Warmup
from onega.experiment.planning.answer_interval import AnswerInterval, answer_interval
from onega.experiment.planning.axes import (
    Axis,
    Demand,
    demand,
    group_of,
    load_axis,
    node_axis,
    size_axis,
)
from onega.experiment.planning.search import Boundary, find_boundary, look_further
from onega.experiment.planning.sentences import sentences, why_there
from onega.experiment.planning.targets import Target, parse_targets
from onega.experiment.planning.trials import Rule, Trial, Trials
from onega.experiment.replicates.draws import Draws, Resample, Source, make_draws
from onega.experiment.replicates.replicates import PolicyLike, parse_policies
from onega.experiment.replicates.runs import Case, Experiment, SimulateOptions, machine_of
from onega.experiment.workers.workers import Workers

Vary = Literal["procs", "nodes", "policy", "load"]
VARIES: Final = ("procs", "nodes", "policy", "load")

POLICIES: Final = ("fcfs", "easy", "conservative", "spf+easy", "saf+easy", "wfp3+easy")
"""Policies that are tried if none are named."""

ALIKE: Final = 0.01
"""Part of a limit by which two places that don't meet it are as near to it."""

UNEVEN: Final = 0.05
"""Part of an answer's size within which one log alone may meet a target again beyond it."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Plottable):
    """The answer to a question of size, policy or load.

    Attributes
    ----------
    vary
        What was varied: ``"procs"``, ``"nodes"``, ``"policy"`` or ``"load"``.
    targets
        What has to hold.
    best
        The fewest processors or nodes, the largest factor of the load, or the policy with the
        least of the first target's measure, with which all targets are met; None if they can't be.
    nearest
        The place that comes nearest to meeting the targets, where none does; else ``best``.
    confidence
        The confidence with which targets are to be met; None if one log decides alone.
    rule
        ``"percentile"``, ``"student"`` or ``"value"``: see `onega.experiment.planning.trials`.
    trials
        Everything that was tried, in the order of ``at``.
    runs
        Simulations that it took.
    resolution
        How far apart places were told from each other; None for policies.
    cluster, policy
        The machine and the policy where they weren't varied.
    warmup
        What was left out at the beginning of runs.
    reason
        Why the search ended where it did, if that isn't the boundary between met and not met.
    interval
        How far the answer can be trusted, other seeds giving other answers (see
        `onega.experiment.planning.answer_interval`); None for policies, for one log as it is, and
        where nothing meets the targets.
    load
        The multiple of the source's load, where it wasn't varied.
    lasting
        Where the offered load of ``best`` is 1 or more: the place nearest to it where it is less;
        None if there is none, or if that of ``best`` is below 1 itself.
    """

    FIGURES: ClassVar[str] = "planning"

    vary: Vary
    targets: tuple[Target, ...]
    best: int | float | str | None
    nearest: int | float | str
    trials: tuple[Trial, ...]
    runs: int
    resolution: float | None
    confidence: float | None
    rule: Rule
    cluster: Cluster
    policy: str
    warmup: Warmup
    reason: str = ""
    interval: AnswerInterval | None = None
    load: float = 1.0
    lasting: int | float | None = None
    provenance: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the targets can be met."""
        return self.best is not None

    @property
    def best_below_load_1(self) -> int | float | str | None:
        """The same as ``best`` among places whose offered load is below 1; None if none meets."""
        if self.best is None or not self.trial().growing:
            return self.best
        return self.lasting if self.lasting is not None and self.trial(self.lasting).met else None

    def __repr__(self) -> str:
        return f"<Plan: {self.target}: {self.vary} {self.best if self.met else 'not found'}>"

    @property
    def target(self) -> str:
        """The targets in words."""
        return " and ".join(map(str, self.targets))

    def trial(self, at: float | str | None = None) -> Trial:
        """Return what was found at a place; at the best, or nearest, one by default."""
        wanted = self.nearest if at is None else at
        for trial in self.trials:
            if trial.at == wanted:
                return trial
        places = ", ".join(str(trial.at) for trial in self.trials)
        raise ExperimentError(f"{wanted} wasn't tried; accepted: {places}")

    def to_polars(self) -> pl.DataFrame:
        """One row per place that was tried: at, replicates, measures with intervals, met."""
        return pl.DataFrame([trial.row(self.targets) for trial in self.trials])

    def summary(self) -> dict[str, Any]:
        """Return the answer as ``--json`` prints it."""
        chosen = self.trial()
        between = self.interval
        return {
            "target": self.target,
            "vary": self.vary,
            "met": self.met,
            "best": self.best,
            "best_low": None if between is None else between.low,
            "best_high": None if between is None else between.high,
            "best_level": None if between is None else between.level,
            "nearest": self.nearest,
            "offered_load": chosen.offered_load,
            "best_below_load_1": self.best_below_load_1,
            "confidence": self.confidence,
            "support": None if self.rule == "value" else chosen.joint,
            "rule": self.rule,
            **{
                target.measure.key: mean
                for target, mean in zip(self.targets, chosen.means, strict=True)
            },
            "procs": None if self.vary == "procs" else self.cluster.procs,
            "load": None if self.vary == "load" else self.load,
            "policy": None if self.vary == "policy" else self.policy,
            "runs": self.runs,
            "warmup": str(self.warmup),
            "warmup_jobs": self.warmup.jobs if self.warmup.rule == "mser5" else None,
            "resolution": self.resolution,
            "reason": self.reason or None,
            "curve": [trial.row(self.targets) for trial in self.trials],
        }

    def sentences(self) -> tuple[str, ...]:
        """Say the answer in words."""
        return sentences(self)


@renamed(n="replicates", progress="on_run")
def plan(
    source: Source,
    target: str | Target | Iterable[str | Target],
    *,
    vary: str = "procs",
    load: float = 1.0,
    cluster: Cluster | int | None = None,
    policy: PolicyLike | Sequence[PolicyLike] | None = None,
    replicates: int = 40,
    confidence: float = 0.95,
    resample: Resample = "weeks",
    jobs: int | None = None,
    warmup: str | float | None = None,
    most: float | None = None,
    rng: Rng = None,
    workers: Workers | None = None,
    on_run: Callable[[int], None] | None = None,
    **options: Unpack[SimulateOptions],
) -> Plan:
    """Find the smallest machine, the largest load or the policy with which targets are met.

    Parameters
    ----------
    source
        A log (resampled by weeks or users; ``resample="none"``: as it is, without confidence), a
        model (with ``jobs``), or a function that draws a workload: as for `onega.replicate`.
    target
        ``"p95(wait)<1h"``, ``"share(wait>10m)<5%"``, ``"mean(bounded_slowdown)<10"``, or several.
        The search goes by what jobs suffer (wait, response, slowdown); other targets
        (``"utilisation>70%"``) are checked where it ends.
    vary
        ``"procs"``: the fewest processors. ``"nodes"``: the fewest nodes of a machine that has
        them; of its second group ``"nodes:2"``. ``"load"``: the largest multiple of the source's
        load. ``"policy"``: which of several.
    load
        The multiple of the source's load that has to be taken, where that isn't varied.
    cluster, policy
        The machine (the source's own by default) and the policy (EASY by default), or the policies
        to choose from.
    replicates, confidence
        How many at most for each place that is tried, and the confidence with which targets are
        to be met.
    most
        Where to stop looking: processors, or the factor of the load.
    warmup, jobs, rng, workers, options
        As for `onega.replicate`; MSER-5 is decided once, where the search begins.
    on_run
        Called with the number of simulations so far.

    Notes
    -----
    Sizes and loads are bracketed by steps of a quarter and then halved, on the same workloads
    throughout. That finds the boundary if more processors never hurt, which holds on average and,
    under backfilling, not for every single workload; for one log as it is, a twentieth fewer are
    looked at as well. The fewest processors are those that the widest job needs: a log that ends
    can meet a target with fewer than its work keeps busy. Where it does, `Plan.lasting` has an
    offered load below 1, and is tried too.
    """
    targets = parse_targets(target)
    what, _, number = str(vary).partition(":")
    if what not in VARIES or (number and what != "nodes"):
        raise ExperimentError(f"can't vary {vary!r}; {suggest(str(vary), VARIES)}")
    factor = _load(what, load)
    draws = make_draws(source, resample=resample, jobs=jobs, rng=rng)
    machine = _machine(draws, cluster, what, factor)
    default = POLICIES if what == "policy" else ("easy",)
    listed = parse_policies(default if policy is None else policy)
    if what != "policy" and len(listed) != 1:
        raise ExperimentError(f'one policy is needed to vary {what}; several need vary="policy"')
    searched = tuple(one.measure.suffered and one.upper for one in targets)
    if what != "policy" and not any(searched):
        raise ExperimentError(
            f"nothing to search by in {' and '.join(map(str, targets))}: give an upper limit on "
            "what jobs suffer, e.g. p95(wait)<1h"
        )
    first = Case(str(listed[0]), machine, listed[0], factor)
    experiment = Experiment(draws, (first,), (targets[0].measure,), Warmup.parse(warmup), options)
    experiment = experiment.deciding_warmup(replicates, workers)
    trials = Trials(experiment, targets, searched, replicates, confidence, workers, on_run)
    need = demand(draws, trials.n)
    if what == "policy":
        cases = tuple(Case(str(one), machine, one, factor) for one in listed)
        return _choose(trials, cases, need)
    if what == "nodes":
        axis = node_axis(first, draws, need.with_times(), most, group_of(machine, number))
    else:
        axis = (size_axis if what == "procs" else load_axis)(first, need.with_times(), most)
    return _search(trials, axis, first, need)


def _load(vary: str, load: float) -> float:
    """Check the factor of the load."""
    try:
        factor = float(load)
    except (TypeError, ValueError):
        factor = math.nan
    if not (math.isfinite(factor) and factor > 0):
        raise ExperimentError(f"load is a positive multiple of the source's own, got {load!r}")
    if vary == "load" and factor != 1:
        raise ExperimentError(f"the load is what is looked for; it can't be {factor:g} as well")
    return factor


def _machine(draws: Draws, cluster: Cluster | int | None, vary: str, load: float) -> Cluster:
    """Return the machine; if its size is sought and unknown, the smallest for the work."""
    if cluster is None and draws.procs is None and vary == "procs":
        need = demand(draws, 1).with_times()
        return Cluster(max(need.widest, math.ceil(load * need.busy)))
    return machine_of(draws, cluster)


def _choose(trials: Trials, cases: tuple[Case, ...], need: Demand) -> Plan:
    """Try every policy; the best is the one with the least of the first target's measure."""
    offered = need.offered_load(cases[0]) if math.isfinite(need.busy) else None
    judged = trials.judge_all(trials.run_cases(cases))
    found = tuple(replace(trial, offered_load=offered) for trial in judged)
    sign = 1 if trials.targets[0].upper else -1
    good = [trial for trial in found if trial.met]
    best = min(good, key=lambda trial: sign * trial.means[0]).at if good else None
    nearest = _nearest(found, trials.targets).at if best is None else best
    reason = "" if good else f"none of the {len(cases)} policies meets it"
    return Plan(
        "policy",
        trials.targets,
        best,
        nearest,
        found,
        trials.runs,
        None,
        reason=reason,
        **_common(trials, cases[0]),
    )


def _search(trials: Trials, axis: Axis, first: Case, need: Demand) -> Plan:
    """Find the boundary between places that meet the targets and places that don't."""
    found: dict[int, Trial] = {}

    def run(place: int, failures: float | None = None) -> Trial:
        case = axis.case(first, place)
        trial = trials.run(axis.value(place), case, failures=failures)
        found[place] = replace(trial, offered_load=need.offered_load(case))
        return found[place]

    def meets(place: int) -> bool:
        return (found.get(place) or run(place)).passed

    def hopeless(place: int) -> bool:
        """Whether no job waits, or twice the machine changes nothing.

        A job that waits for what is varied fits beside the others on twice the machine.
        """
        size = axis.case(first, place).cluster.procs
        smaller = [one for one in found if 2 * axis.case(first, one).cluster.procs <= size]
        return found[place].idle or any(found[place].waits_as(found[one]) for one in smaller)

    def seek(start: int, worst: int) -> Boundary:
        return find_boundary(
            meets, start, worst=worst, best=axis.best, finest=axis.finest, hopeless=hopeless
        )

    start = sorted((axis.worst, axis.start, axis.best))[1]
    lasting = axis.lasting(first, need)
    # Beyond the places with a load below 1, queues are long and runs slow: only if there is need.
    far = min(start, start if lasting is None else lasting, key=lambda one: abs(one - axis.worst))
    boundary = seek(start, far)
    if boundary.met == far:
        boundary = seek(far, axis.worst)
    if trials.rule == "value":
        boundary = look_further(meets, boundary, worst=axis.worst, part=UNEVEN, finest=axis.finest)
    best, between = None, None
    if boundary.met is None:
        nearest = _nearest([found[place] for place in sorted(found)], trials.targets)
    else:
        nearest = found[boundary.met]
        if nearest.met:
            best, between = nearest.at, answer_interval(trials, axis, boundary.met, run)
            if lasting is not None and nearest.growing:
                meets(lasting)
    listed = tuple(found[place] for place in sorted(found))
    gap = None
    if boundary.met is not None and boundary.failed is not None:
        gap = abs(axis.value(boundary.met) - axis.value(boundary.failed))
    return Plan(
        axis.vary,
        trials.targets,
        best,
        nearest.at,
        listed,
        trials.runs,
        gap,
        reason=why_there(axis, boundary, found, nearest, trials.targets),
        interval=between,
        lasting=axis.value(lasting) if lasting is not None and nearest.growing else None,
        **_common(trials, first),
    )


def _common(trials: Trials, first: Case) -> dict[str, Any]:
    return {
        "confidence": None if trials.rule == "value" else trials.confidence,
        "rule": trials.rule,
        "cluster": first.cluster,
        "policy": str(first.policy),
        "load": first.load,
        "warmup": trials.experiment.warmup,
        "provenance": (f"up to {trials.n} replicates of {trials.experiment.draws}",),
    }


def _nearest(trials: Sequence[Trial], targets: tuple[Target, ...]) -> Trial:
    """Return the trial whose worst target is least exceeded; the first of those within 1 %."""
    excess = [trial.excess(targets) for trial in trials]
    near = min(excess) + ALIKE
    return next(trial for trial, one in zip(trials, excess, strict=True) if one <= near)

"""All questions of a report, asked once: the answers that its sections tell of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar

from onega.comparison.adequacy.site import SiteAdequacy, site_adequacy
from onega.core.errors import ExperimentError, ModelError, OnegaError, SimulationError, suggest
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.rng import Rng, child, seed_sequence
from onega.core.schedule.common import comparable_jobs
from onega.core.schedule.schedule import Schedule
from onega.core.schedule.window import WHOLE, Window, window_keys
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.experiment.stability.measured import saturated_stability
from onega.experiment.stability.stability import stability
from onega.models import MODELS
from onega.models.base import WorkloadModel
from onega.models.users.clusters import UserGrouping, group_users
from onega.queueing.stability import Stability
from onega.report.machine import as_told, runnable
from onega.report.models import ModelAnswers, judge_models
from onega.report.present import Present, choose_present
from onega.report.settings import REPLICATES, Settings, compare_settings, default_policies
from onega.simulation.simulate import simulate
from onega.traces.cleaning import clean
from onega.traces.description import Description, describe
from onega.traces.description.cautions import size_warning

GROUPS: Final = 4
"""Groups of users: so many describe most logs (Song 2006, §5.4.1)."""

PRECISION: Final = 0.03
"""Relative half-width of the interval of a measured throughput."""

DEFAULT_MODEL: Final = "markov-pair"
"""What is fitted if no model is given: the family that is nearest on archive logs."""

_T = TypeVar("_T")

OnStep = Callable[[str, float], None]
"""Called with what is being done and the share of the whole that is done."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a report is made of; a part is None where the log lacks it, ``missing`` says why.

    Attributes
    ----------
    log, cleaning
        The log after cleaning, and what that changed.
    cluster, machine_from
        The machine as described, and where its size comes from.
    description
        What the log says.
    history, observed
        What happened on the machine, and whether that is the log's own waits or a simulation.
    grouping
        Users in groups alike.
    stability, saturation
        Whether first come, first served keeps up; and what it and EASY can use, measured.
    settings
        Policies and clocks.
    site
        Observed waits against simulated ones.
    present
        Which policy stands for the present rule, and why.
    models
        Workload models against the log.
    missing
        Part → why it isn't there.
    window
        Over what time the machine is measured.
    """

    log: Workload
    cleaning: Report
    cluster: Cluster
    machine_from: str
    description: Description
    history: Schedule
    observed: bool
    grouping: UserGrouping | None
    stability: Stability | None
    saturation: Mapping[str, Stability]
    settings: Settings | None
    site: SiteAdequacy | None
    present: Present
    models: ModelAnswers | None
    missing: Mapping[str, str]
    window: Window = WHOLE

    @cached_property
    def measured(self) -> dict[str, Any]:
        """What happened on the machine: of the whole time, and under ``window_…`` of the window."""
        return {**self.history.summary(), **window_keys(self.history, self.window)}

    @property
    def over(self) -> str:
        """Over what time the machine is measured, in words."""
        return f"{self.measured['window_words']} ({self.window.meaning})"


def ask(
    given: Workload,
    *,
    cluster: Cluster | int | None = None,
    power: Power | None = None,
    node_watts: tuple[float, float] | None = None,
    window: str = "log",
    models: Mapping[str, WorkloadModel] | None = None,
    policies: Sequence[str] | None = None,
    present: str | None = None,
    replicates: int = REPLICATES,
    seed: int = 1,
    on_step: OnStep | None = None,
) -> Answers:
    """Ask a log everything; see `onega.report.site.site_report`."""
    tell = on_step or (lambda _what, _share: None)
    machine, machine_from = _machine(given, cluster)
    names = tuple(policies or default_policies(machine))
    if present is not None and present not in names:
        raise ExperimentError(f"present rule {present}: {suggest(present, names)}")
    nodes = sum(group.count for group in machine.nodes) or given.meta.nodes
    # Jobs that are wider than the machine go last: they are what proves its size wrong.
    counted, cleaning = clean(given.with_machine(machine.procs, nodes), skip=("too_wide",))
    log, wide = clean(counted)
    described, machine = machine, as_told(machine, log)
    log, unfit = runnable(log, machine)
    cleaning += wide + unfit
    if len(log) < 2:
        why = "".join(f"; {one}" for one in cleaning)
        raise ExperimentError(
            f"a report needs at least two jobs that ran; cleaning left fewer{why}"
        )
    missing: dict[str, str] = {}
    seeds = seed_sequence(seed)
    tell("describing", 0.0)
    measured_over = Window.of(window, log)
    description = describe(log, window=measured_over)
    description = replace(description, size_warning=size_warning(counted, machine.procs))
    history, observed = _history(log, machine)
    grouping = _or_missing(missing, "grouping", lambda: _groups(log, description))
    tell("stability", 0.1)
    stable = _or_missing(missing, "stability", lambda: stability(log, procs=machine.procs))
    saturation = _or_missing(
        missing, "saturation", lambda: _saturation(log, machine, child(seeds, 0))
    )
    site = _or_missing(missing, "site", lambda: _site(log, machine, names, observed=observed))
    chosen = choose_present(site, names, present)
    tell("policies and clocks", 0.2)
    settings = _or_missing(
        missing,
        "settings",
        lambda: compare_settings(
            log,
            machine,
            names,
            present=chosen.policy,
            power=power,
            node_watts=node_watts,
            window=measured_over,
            n=replicates,
            rng=child(seeds, 1),
            progress=lambda share: tell("policies and clocks", 0.2 + 0.5 * share),
        ),
    )
    tell("models", 0.75)
    fitted = _or_missing(missing, "models", lambda: _models(log, machine, models, child(seeds, 2)))
    tell("drawing", 0.9)
    return Answers(
        log, cleaning, described, machine_from, description, history, observed, grouping, stable,
        saturation or {}, settings, site, chosen, fitted, missing,
        measured_over,
    )  # fmt: skip


def _or_missing(missing: dict[str, str], part: str, make: Callable[[], _T]) -> _T | None:
    """Make a part of the report; if the log can't give it, note why."""
    try:
        return make()
    except OnegaError as error:
        missing[part] = str(error)
        return None


def _machine(log: Workload, cluster: Cluster | int | None) -> tuple[Cluster, str]:
    """Return the machine and where its size comes from."""
    if cluster is not None:
        return Cluster(cluster) if isinstance(cluster, int) else cluster, "as given"
    if log.meta.procs is not None:
        return Cluster(log.meta.procs), "as the log says"
    try:
        machine = Schedule.observed(log).cluster
    except SimulationError:
        raise SimulationError(
            "the log says neither how large the machine is nor how long jobs waited; give --procs N"
        ) from None
    return machine, "the most that were ever busy at once, as the log doesn't say"


def _history(log: Workload, machine: Cluster) -> tuple[Schedule, bool]:
    try:
        jobs, _ = comparable_jobs(log, machine.procs)
        return Schedule.observed(jobs, Cluster(machine.procs)), True
    except SimulationError:
        return simulate(log, _at_rate_one(machine), "easy", rng=0), False


def _groups(log: Workload, description: Description) -> UserGrouping:
    if description.users is None:
        raise ModelError(description.missing["users"])
    return group_users(log, min(GROUPS, description.users.users))


def _saturation(log: Workload, machine: Cluster, seed: Rng) -> dict[str, Stability]:
    return {
        policy: saturated_stability(
            log, procs=machine.procs, policy=policy, precision=PRECISION, rng=child(seed, place)
        )
        for place, policy in enumerate(("fcfs", "easy"))
    }  # fmt: skip


def _site(
    log: Workload, machine: Cluster, policies: Sequence[str], *, observed: bool
) -> SiteAdequacy:
    if not observed:
        raise SimulationError("the log doesn't say how long jobs waited")
    return site_adequacy(log, policies, cluster=_at_rate_one(machine), rng=0)


def _at_rate_one(machine: Cluster) -> Cluster:
    """Return the machine as the log's own run times are of it: at rate 1 throughout."""
    power = machine.power
    full = None if power is None else Power(power.busy[-1], power.idle[-1])
    return replace(machine, rates=RateControl(), power=full)


def _models(
    log: Workload,
    machine: Cluster,
    models: Mapping[str, WorkloadModel] | None,
    seed: Rng,
) -> ModelAnswers:
    if models:
        return judge_models(log, machine, models, rng=child(seed, 1))
    fitted = MODELS[DEFAULT_MODEL].fit(log, rng=child(seed, 0))
    name = f"{DEFAULT_MODEL}, fitted to this log"
    return replace(judge_models(log, machine, {name: fitted}, rng=child(seed, 1)), own=True)

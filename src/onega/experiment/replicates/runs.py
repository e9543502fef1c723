"""One replicate: a workload through every case, and the measures of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypedDict

import numpy as np

from onega.core.errors import ExperimentError
from onega.core.machine.cluster import Cluster
from onega.core.policy import Knowledge, Policy, Ties
from onega.core.schedule.schedule import Schedule
from onega.core.schedule.warmup import PILOT, Warmup, after_warmup, batches, waits_in_order
from onega.core.types import Floats
from onega.core.workload.workload import Workload
from onega.experiment.planning.targets import Measure
from onega.experiment.replicates.draws import Draws
from onega.experiment.workers.workers import Workers, heartbeat, run_all
from onega.simulation.simulate import simulate


class SimulateOptions(TypedDict, total=False):
    """Arguments of `onega.simulate` that hold for every run."""

    knowledge: Knowledge | None
    ties: Ties
    enforce_limits: bool


@dataclass(frozen=True, slots=True)
class Case:
    """What is tried: a policy on a machine, at a multiple of the source's load."""

    name: str
    cluster: Cluster
    policy: Policy
    load: float = 1.0


class Replicate(NamedTuple):
    """What one replicate gave: values[case, measure], and how many jobs its warm-up has."""

    values: Floats
    removed: int


@dataclass(frozen=True, eq=False)
class Experiment:
    """Everything that replicate k is a function of, beside k."""

    draws: Draws
    cases: tuple[Case, ...]
    measures: tuple[Measure, ...]
    warmup: Warmup = field(default_factory=Warmup)
    options: SimulateOptions = field(default_factory=lambda: SimulateOptions())

    def __post_init__(self) -> None:
        if not self.cases:
            raise ExperimentError("nothing to run: give at least one policy")
        if not self.measures:
            raise ExperimentError("nothing to measure: give at least one measure")
        names = [case.name for case in self.cases]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ExperimentError(f"given twice: {', '.join(sorted(twice))}; name each one once")

    def deciding_warmup(self, n: int, workers: Workers | None = None) -> Experiment:
        """Return the experiment with its warm-up decided, by runs of the first of n replicates."""
        if self.warmup.rule != "mser5":
            return self
        pilot = run_all(run_pilot, range(min(n, PILOT)), shared=self, workers=workers)
        return replace(self, warmup=self.warmup.decided(pilot))

    def run(
        self,
        numbers: Iterable[int],
        *,
        workers: Workers | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Replicate]:
        """Run the replicates of these numbers; ``progress`` gets how many are done."""
        return run_all(run_replicate, numbers, shared=self, workers=workers, progress=progress)


def run_replicate(k: int, experiment: Experiment) -> Replicate:
    """Draw workload k, run every case on it and measure it."""
    values, removed = [], 0
    for schedule in _schedules(k, experiment):
        removed = experiment.warmup.removed(schedule).removed
        values.append(measured(schedule, experiment.measures, removed))
    return Replicate(np.array(values), removed)


def run_pilot(k: int, experiment: Experiment) -> list[Floats]:
    """Run every case on workload k; return their waits in the order of submission, in fives."""
    return [batches(waits_in_order(schedule)) for schedule in _schedules(k, experiment)]


def _schedules(k: int, experiment: Experiment) -> Iterator[Schedule]:
    drawn: dict[float, Workload] = {}
    for case in experiment.cases:
        if case.load not in drawn:
            drawn[case.load] = experiment.draws.workload(k, case.load)
        yield simulate(
            drawn[case.load],
            case.cluster,
            case.policy,
            rng=experiment.draws.run_seed(k),
            progress=heartbeat,
            **experiment.options,
        )


def measured(schedule: Schedule, measures: Iterable[Measure], removed: int = 0) -> list[float]:
    """Return the measures of a run without its first ``removed`` jobs."""
    keep = after_warmup(schedule, removed)
    return [measure.evaluate(schedule, keep) for measure in measures]


def machine_of(draws: Draws, cluster: Cluster | int | None) -> Cluster:
    """Return the machine: the given one, or of the size that the source knows."""
    if isinstance(cluster, Cluster):
        return cluster
    size = cluster or draws.procs
    if size is None:
        raise ExperimentError("the source doesn't say how many processors the machine has; give it")
    return Cluster(size)

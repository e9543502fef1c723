"""One run of a sweep, on whatever worker: a pure function of its parameters and the sources."""

from __future__ import annotations

import io
import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import polars as pl

from onega.core.errors import ExperimentError, OnegaError
from onega.core.machine.cluster import Cluster
from onega.core.machine.settings.making import make_cluster, with_size
from onega.core.machine.speedup import parse_speedup
from onega.core.policy import Policy
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.experiment.planning.targets import Measure
from onega.experiment.replicates.draws import busy_processors
from onega.experiment.replicates.resampling import resample
from onega.experiment.sweep.design import Run
from onega.experiment.sweep.keys import OF_SIMULATE, TABLES, machine_settings
from onega.experiment.workers.workers import heartbeat
from onega.models.base import WorkloadModel

GIVEN: Final = ""
"""The name of a workload that was given as an object, not as a file."""

KEPT: Final = 4
"""Workloads made for runs (sampled, scaled) that a worker keeps for the runs after them."""

Source = Workload | WorkloadModel


class Outcome(NamedTuple):
    """What came of a run: measures, or the reason why it can't be made; and what it took."""

    key: str
    measures: dict[str, Any]
    error: str | None
    seconds: float
    worker: str


@dataclass(frozen=True, eq=False)
class Sources:
    """What all runs of a sweep read: sent once to every worker.

    Attributes
    ----------
    jobs
        Path (or `GIVEN`) → log or model.
    machines
        Path of a cluster file → its settings.
    tables
        Path of a table of events or demands → what it holds; text of overheads → their laws.
    measures
        What is measured beside `Schedule.summary`.
    policies
        Name → policy; a name that isn't here stands for itself.
    """

    jobs: Mapping[str, Source]
    machines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    policies: Mapping[str, Policy] = field(default_factory=dict)
    made: _Made = field(default_factory=lambda: _Made(), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Pack logs tightly for the way: compressed, and only what they say."""
        state = dict(vars(self))
        del state["made"]
        state["jobs"] = {
            name: (_packed(one), one.meta) if isinstance(one, Workload) else one
            for name, one in self.jobs.items()
        }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        jobs = {
            name: _unpacked(*one) if isinstance(one, tuple) else one
            for name, one in state["jobs"].items()
        }
        vars(self).update({**state, "jobs": jobs, "made": _Made()})

    def source(self, parameters: Mapping[str, Any]) -> Source:
        """Return the log or model of a run."""
        if "trace" in parameters and "model" in parameters:
            raise ExperimentError("a run has a trace or a model, not both")
        name = parameters.get("trace") or parameters.get("model") or GIVEN
        if name not in self.jobs:
            raise ExperimentError("a run has no jobs; set trace or model")
        return self.jobs[name]

    def cluster(self, parameters: Mapping[str, Any]) -> Cluster:
        """Make the machine of a run; its size is the log's own if nothing else is said."""
        base = self.machines[parameters["cluster"]] if "cluster" in parameters else {}
        settings = machine_settings(base, parameters)
        source = self.source(parameters)
        procs = source.meta.procs if isinstance(source, Workload) else source.machine
        cluster = make_cluster(with_size(settings, procs, "set procs"))
        if "overheads" in parameters:
            cluster = replace(cluster, overheads=self.tables[parameters["overheads"]])
        return cluster

    def workload(self, run: Run, procs: int) -> Workload:
        """Make the jobs of a run, or take them from a run that had the same."""
        parameters = run.parameters
        source = self.source(parameters)
        if isinstance(source, WorkloadModel):
            return self.made.get(run.workload_key(), lambda: _sampled(source, parameters, procs))
        if not {"jobs", "load", "load_factor", "resample"} & set(parameters):
            return source
        return self.made.get(run.workload_key(), lambda: _changed(source, parameters, procs))


def _packed(workload: Workload) -> bytes:
    columns = [name for name in workload.table.columns if workload.has(name)]
    buffer = io.BytesIO()
    workload.table.select(columns).write_ipc(buffer, compression="zstd")
    return buffer.getvalue()


def _unpacked(table: bytes, meta: Meta) -> Workload:
    return Workload(pl.read_ipc(io.BytesIO(table)), meta)


class _Made:
    """The last few workloads that were made; each once, however many runs ask for it at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Future[Workload]] = OrderedDict()

    def get(self, key: str, make: Callable[[], Workload]) -> Workload:
        with self._lock:
            mine = key not in self._kept
            future = self._kept.setdefault(key, Future())
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._kept.pop(key, None)
                future.set_exception(error)
        return future.result()


def _sampled(model: WorkloadModel, parameters: Mapping[str, Any], procs: int) -> Workload:
    if "jobs" not in parameters:
        raise ExperimentError("a model needs the number of jobs to sample; set jobs")
    if parameters.get("resample", "none") != "none":
        raise ExperimentError("resample is for logs; a model's samples differ by their seeds")
    jobs, seed = parameters["jobs"], parameters.get("seed", 0)
    if "load" in parameters:
        _refuse_two_loads(parameters)
        return model.sample(jobs, rng=seed, load=parameters["load"], cluster=procs)
    drawn = model.sample(jobs, rng=seed)
    factor = parameters.get("load_factor", 1)
    if factor == 1:
        return drawn
    # The same jobs at another rate: a model changes its load without touching the daily cycle.
    load = offered_load(drawn, model.machine)
    return model.sample(jobs, rng=seed, load=load * factor)


def _changed(log: Workload, parameters: Mapping[str, Any], procs: int) -> Workload:
    if "jobs" in parameters:
        log = log.head(parameters["jobs"])
    factor = parameters.get("load_factor", 1)
    by = parameters.get("resample", "none")
    if by != "none":
        # More load by more users, where users are drawn: the days stay 24 hours long.
        log = resample(log, by, rng=parameters.get("seed", 0), load=factor)
    elif factor != 1:
        log = log.scale_load(factor)
    if "load" in parameters:
        _refuse_two_loads(parameters)
        log = log.scale_load(parameters["load"] / offered_load(log, procs))
    return log


def _refuse_two_loads(parameters: Mapping[str, Any]) -> None:
    if "load_factor" in parameters:
        raise ExperimentError("a run has a load or a load_factor, not both")


def offered_load(workload: Workload, procs: int) -> float:
    """Return Σ procs·runtime / (machine · span), the load that `WorkloadModel.sample` speaks of."""
    if not workload.span > 0:
        raise ExperimentError("all jobs come at one instant: they have no load that could change")
    return busy_processors(workload) / procs


def perform(run: Run, sources: Sources) -> Outcome:
    """Make one run.

    A run that can't be made by its own fault (jobs wider than the machine, thresholds in the wrong
    order) has an outcome too, the reason; anything else that goes wrong is raised.
    """
    began = time.perf_counter()
    try:
        measures, error = measure(run, sources), None
    except (OnegaError, ValueError) as reason:
        measures, error = {}, str(reason)
    took = time.perf_counter() - began
    worker = f"{socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"
    return Outcome(run.key, measures, error, took, worker)


def measure(run: Run, sources: Sources) -> dict[str, Any]:
    """Simulate a run and measure it."""
    from onega.simulation.simulate import simulate

    parameters = run.parameters
    cluster = sources.cluster(parameters)
    options = {name: parameters[name] for name in OF_SIMULATE if name in parameters}
    if "policy" in options:
        options["policy"] = sources.policies.get(options["policy"], options["policy"])
    options |= {name: sources.tables[parameters[name]] for name in TABLES if name in parameters}
    if "moldable" in parameters:
        options["moldable"] = parse_speedup(parameters["moldable"])
    schedule = simulate(
        sources.workload(run, cluster.procs),
        cluster,
        rng=parameters.get("seed", 0),
        progress=heartbeat,
        **options,
    )
    asked = {one.key: one.evaluate(schedule) for one in sources.measures}
    return {**schedule.summary(), **asked}

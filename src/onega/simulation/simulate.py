"""`simulate`: one workload, one machine, one policy → one schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onega.core.errors import SimulationError, suggest
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.machine.events import Events
from onega.core.machine.laws import Draws, Law
from onega.core.machine.speedup import Speedup
from onega.core.machine.state import MachineState
from onega.core.policy import (
    AS_PRINTED,
    MULTIFACTOR,
    SLURM,
    TIES,
    KeyFunction,
    Knowledge,
    Policy,
    Priority,
    Ties,
)
from onega.core.rng import Rng, describe_seed, seed_sequence
from onega.core.schedule.history import Pieces, RateHistory
from onega.core.schedule.schedule import Schedule
from onega.core.types import Ints, Progress, Records
from onega.core.workload.tables import TableLike
from onega.core.workload.workload import Workload
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.pool import setup
from onega.simulation.pool.run import Outcome, Task


def simulate(
    workload: Workload,
    cluster: Cluster | int | None = None,
    policy: str | Policy | Priority | KeyFunction = "fcfs",
    *,
    knowledge: Knowledge | None = None,
    ties: Ties = "instant",
    enforce_limits: bool = False,
    rates: RateControl | None = None,
    power: Power | None = None,
    events: Events | TableLike | None = None,
    dependencies: bool = False,
    initial: MachineState | None = None,
    moldable: Speedup | TableLike | None = None,
    demands: TableLike | None = None,
    patience: str | float | Draws | None = None,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Schedule:
    """Run a workload through a scheduler on a machine.

    A pure function of its arguments; ``rng`` matters only where something is random. As soon as
    anything from ``events`` to ``patience`` is given, or the cluster is more than a pool of
    processors, the run is one on a detailed machine (docs/machine.md): it has an event log and a
    final state for every job.

    Parameters
    ----------
    workload
        Jobs with positive run times and widths; see `onega.clean`.
    cluster
        The machine, or just its number of processors; the log's own size by default.
    policy
        ``"fcfs"``, ``"easy"``, ``"spf+easy"``, ``"fcfs+conservative"``, … (`onega.Policy`), a
        function of (now, submit, estimate, procs), or ``"slurm"``, a model of Slurm's scheduler.
    knowledge
        What the scheduler, and a rate control that goes by the workload, know of run times:
        ``"estimate"`` or ``"runtime"``; by default the estimates if the log has any. A job without
        one counts with its run time.
    ties
        ``"instant"``: completions, then submissions, then one scheduling pass. ``"event"``:
        submissions, then completions, and a pass after each, at which jobs that end now just as
        estimated hold no processors any more (the simulator pyss).
    enforce_limits
        End a job when its work reaches its estimate.
    rates, power
        Instead of the cluster's.
    events
        What happens to nodes and jobs, as a table (`onega.Events`, `onega.read_events`).
    dependencies
        Submit a job ``think`` seconds after the job that it comes ``after`` has ended.
    initial
        A state to start from (`Schedule.state_at`); its jobs come before the workload's.
    moldable
        Shapes that jobs may take: a table of ``job, procs, runtime[, estimate]``, or a law
        (`onega.AmdahlSpeedup`, `onega.DowneySpeedup`).
    demands
        A table of what jobs need beside processors: ``job`` and a column for each resource;
        ``memory`` per processor, everything else for the whole job. It goes before what the log
        says itself (`Workload.demands`).
    patience
        Law of how long users wait before they cancel a job (`onega.Law` or its text).
    rng
        Seed of everything random: rate control, failures, overheads, patience.
    progress
        Called now and then with the share of jobs that have ended.

    Raises
    ------
    TypeError
        The workload isn't one: a file is read first, by `onega.read`.
    SimulationError
        A job can't be run (wider than the machine, no run time), or an argument is wrong.
    """
    if not isinstance(workload, Workload):
        raise TypeError(
            f"simulate takes a Workload, got {workload!r:.60}; read a file first: "
            'onega.simulate(onega.read("log.swf"), policy="easy")'
        )
    machine = _machine(workload, cluster, rates, power)
    if ties not in TIES:
        raise SimulationError(f"unknown ties {ties!r}; {suggest(str(ties), TIES)}")
    rule = Policy.parse(policy).knowing(knowledge)
    if rule.knowledge is None:
        rule = rule.knowing("estimate" if workload.has("estimate") else "runtime")
    if machine.rates.kind == "workload" and rule.knowledge == "estimate":
        setup.check_estimates(workload)
    given = RunInputs(
        None if events is None else Events.of(events),
        dependencies,
        initial,
        moldable,
        demands,
        None if patience is None else Law.of(patience),
    )
    if rule.order == SLURM and replace(machine, overheads=None).is_plain and given.are_plain:
        if ties != "instant":
            raise SimulationError(f"the model of Slurm has an order of its own, got ties={ties!r}")
        setup.check_jobs(workload, machine.procs)
        from onega.simulation.slurm.run import simulate_slurm

        return simulate_slurm(
            workload, machine, rule, enforce_limits=enforce_limits, rng=rng, progress=progress
        )
    if not (machine.is_plain and given.are_plain and rule.order != MULTIFACTOR):
        if ties != "instant":
            raise SimulationError(f"a detailed machine knows ties='instant' only, got {ties!r}")
        if rule.backfill == AS_PRINTED:
            raise SimulationError(f"a detailed machine doesn't know {AS_PRINTED!r}; use 'easy'")
        from onega.simulation.machine.machine import simulate_detailed

        return simulate_detailed(
            workload,
            machine,
            rule,
            given,
            enforce_limits=enforce_limits,
            rng=rng,
            progress=progress,
        )
    setup.check_jobs(workload, machine.procs)
    columns, by_arrival, work, limited = setup.make_jobs(
        workload, rule, enforce_limits=enforce_limits
    )
    seed = seed_sequence(rng)
    outcome = Task(columns, machine, rule, ties, seed, progress).run()
    how = f"ties={ties}, rate control={machine.rates.kind}, enforce_limits={enforce_limits}"
    return Schedule(
        workload,
        machine,
        rule,
        setup.in_rows(outcome.start, by_arrival),
        setup.in_rows(outcome.end, by_arrival),
        work,
        limited,
        _history(machine.rates, float(columns.submit[0]), outcome.switches),
        _pieces(outcome, by_arrival) if rule.preemptive else None,
        (f"simulated: {rule}, knowledge={rule.knowledge}, {how}", f"rng={describe_seed(seed)}"),
    )


def _machine(
    workload: Workload,
    cluster: Cluster | int | None,
    rates: RateControl | None,
    power: Power | None,
) -> Cluster:
    size = workload.meta.procs if cluster is None else cluster
    if size is None:
        raise SimulationError(
            "the log doesn't say how many processors the machine has; give their number: "
            "simulate(log, 100, …)"
        )
    machine = size if isinstance(size, Cluster) else Cluster(size)
    if rates is None and power is None:
        return machine
    return replace(machine, rates=rates or machine.rates, power=power or machine.power)


def _history(control: RateControl, first: float, switches: list[Records]) -> RateHistory:
    times = [np.empty(0), *(some["time"] for some in switches)]
    levels = [np.empty(0, np.int64), *(some["level"] for some in switches)]
    return RateHistory.joined(first, np.concatenate(times), np.concatenate(levels), control.rates)


def _pieces(outcome: Outcome, by_arrival: Ints | None) -> Pieces:
    """Join interrupted pieces with the last one of each job, by row and time."""
    pieces = outcome.pieces
    row = np.concatenate([np.arange(outcome.end.size), *(some["job"] for some in pieces)])
    start = np.concatenate([outcome.last_start, *(some["start"] for some in pieces)])
    end = np.concatenate([outcome.end, *(some["end"] for some in pieces)])
    if by_arrival is not None:
        row = by_arrival[row]
    order = np.lexsort((start, row))
    return Pieces(row[order], start[order], end[order])

"""From workload, machine, policy and circumstances to the detailed machine's problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SeedSequence

from onega.core.cluster import MOST_PROCS, Cluster
from onega.core.errors import SimulationError
from onega.core.events import Events
from onega.core.faults import Interruption
from onega.core.laws import Draws
from onega.core.machine_state import MachineState
from onega.core.policy import MULTIFACTOR, Policy
from onega.core.report import Finding
from onega.core.speedup import Speedup
from onega.core.tables import TableLike
from onega.core.workload import Workload
from onega.kernels import detailed_codes as codes
from onega.kernels.easy import Columns
from onega.simulation import detailed_draws as draws
from onega.simulation import detailed_groups as groups
from onega.simulation import setup
from onega.simulation.detailed_caps import Capacity, capacity
from onega.simulation.detailed_events import Resolved, needs_nodes, resolve
from onega.simulation.detailed_fit import Misfit, fitting
from onega.simulation.detailed_layout import POWER, Layout, make_layout
from onega.simulation.detailed_order import dependencies, own_order, ranks
from onega.simulation.detailed_problem import (
    Calendar,
    Floats,
    Ints,
    JobRows,
    Problem,
    Sleep,
    TableEvents,
)
from onega.simulation.detailed_shapes import Shapes, make_shapes

RULES = {"lost": codes.LOSE, "requeue": codes.REQUEUE, "checkpoint": codes.CHECKPOINT}
DAY = 86400.0


@dataclass(frozen=True, slots=True, eq=False)
class Circumstances:
    """What a run is given beside workload, machine and policy (see `onega.simulate`)."""

    events: Events | None = None
    dependencies: bool = False
    initial: MachineState | None = None
    moldable: Speedup | TableLike | None = None
    demands: TableLike | None = None
    patience: Draws | None = None

    @property
    def are_plain(self) -> bool:
        """Whether there are none."""
        given = (self.events, self.initial, self.moldable, self.demands, self.patience)
        return not self.dependencies and all(one is None for one in given)


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Jobs in the order of arrival.

    Attributes
    ----------
    workload
        All jobs as given, those of the initial state first.
    row
        The workload's row of each job by arrival.
    jobs
        The workload by arrival.
    start, done
        By arrival: since when a job runs already (NaN: it doesn't), and work done.
    later
        By arrival: which jobs aren't of the initial state.
    """

    workload: Workload
    row: Ints
    jobs: Workload
    start: Floats
    done: Floats
    later: Ints

    @classmethod
    def of(cls, workload: Workload, initial: MachineState | None) -> Arrivals:
        """Put the initial state's jobs before the others, and all into the order of arrival."""
        everything = workload
        start, done, before = np.full(len(workload), np.nan), np.zeros(len(workload)), 0
        if initial is not None:
            before = len(initial.workload)
            _check_initial(workload, initial)
            table = initial.workload.table.vstack(workload.table)
            note = f"{before} jobs of a state at {initial.time:g} s before the others"
            everything = Workload(table, workload.meta.noting(note))
            start = np.concatenate([initial.start, start])
            done = np.concatenate([initial.done, done])
        setup.check_jobs(everything, MOST_PROCS)
        submit = everything.table["submit"]
        row = np.arange(len(everything))
        if not submit.is_sorted():
            row = np.lexsort((everything.table["job"].to_numpy(), submit.to_numpy()))
        jobs = Workload(everything.table[row], everything.meta)
        return cls(everything, row, jobs, start[row], done[row], np.flatnonzero(row >= before))


def _check_initial(workload: Workload, initial: MachineState) -> None:
    submit = workload.column("submit")
    early = np.flatnonzero(submit < initial.time)
    if early.size:
        raise SimulationError(
            f"jobs that come after a state at {initial.time:g} s can't be submitted before it; "
            "keep those with workload.select(pl.col('submit') >= time)",
            jobs=workload.table["job"].gather(early).to_list(),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A run but for what depends on how long it lasts."""

    arrivals: Arrivals
    machine: Cluster
    layout: Layout
    shapes: Shapes
    rows: JobRows
    accounts: groups.Accounts
    resolved: Resolved
    patience: Draws | None
    t0: float
    seed: SeedSequence
    misfits: tuple[Misfit, ...]
    findings: tuple[Finding, ...]

    @property
    def longest(self) -> float:
        """The longest time that any job is expected to take."""
        return float(self.shapes.options.expect.max()) / min(self.machine.rates.rates)

    @property
    def is_open_ended(self) -> bool:
        """Whether something would have to be drawn or written out for ever."""
        return self.machine.failures is not None or getattr(self.machine.power_cap, "daily", False)

    def first_horizon(self) -> float:
        """Return until when failures and daily caps are written out at first."""
        return _horizon(self.rows.submit, self.t0, self.longest)

    def problem(self, horizon: float) -> Problem:
        """Return the whole problem, with what happens up to ``horizon``."""
        machine, layout = self.machine, self.layout
        nodes, steps = layout.nodes, None
        if POWER in layout.shared:
            meta = self.arrivals.workload.meta
            steps = capacity(layout, self.resolved.caps, meta, (self.t0, horizon))
            nodes = replace(nodes, shared=np.append(nodes.shared[:-1], steps.first))
        multifactor = None
        if any(policy.order == MULTIFACTOR for policy in layout.policies):
            multifactor = groups.make_multifactor(self.arrivals.jobs, machine.multifactor)
        own, by_function = own_order(layout, dependent=bool((self.rows.after >= 0).any()))
        rule = machine.interruption or Interruption()
        return Problem(
            self.t0,
            self.rows,
            self.shapes.options,
            nodes,
            layout.rules(by_function),
            self.accounts.jobs,
            self.accounts.procs,
            self._table(horizon),
            self._calendar(steps),
            multifactor,
            _sleep(machine),
            RULES[rule.rule],
            rule.interval or 0.0,
            machine.rates,
            setup.make_draws(machine.rates, self.rows.submit.size, self.seed),
            own,
        )

    def impatient(self) -> tuple[Ints, Floats]:
        """Return who is cancelled when, if he still waits then: rows and times."""
        if self.patience is None:
            return np.empty(0, np.int64), np.empty(0)
        jobs = self.rows.submit.size
        drawn = draws.draw(self.patience, jobs, self.seed, draws.PATIENCE)
        people = self.arrivals.later[self.rows.after[self.arrivals.later] < 0]
        return people, self.rows.submit[people] + drawn[people]

    def _table(self, horizon: float) -> TableEvents:
        """Return events of the table, failures up to the horizon, and losses of patience."""
        entries = self.resolved.entries
        if self.machine.failures is not None:
            span = (self.t0, horizon)
            nodes = len(self.layout.nodes.capacity)
            drawn = draws.draw_failures(self.machine.failures, nodes, span, self.seed)
            entries = draws.merge(entries, drawn)
        return draws.table_events(entries, draws.cancellations(*self.impatient()))

    def _calendar(self, steps: Capacity | None) -> Calendar:
        kept = [one for one in self.resolved.reservations if one[1] > self.t0]
        width = len(self.layout.resources)
        amounts = np.array([one[3] for one in kept], dtype=np.float64).reshape(-1, width)
        times = np.empty(0) if steps is None else steps.time
        return Calendar(
            np.array([one[0] for one in kept], dtype=np.float64),
            np.array([one[1] for one in kept], dtype=np.float64),
            np.array([one[2] for one in kept], dtype=np.int64),
            amounts,
            times,
            np.full(times.size, len(self.layout.shared) - 1, np.int64),
            np.empty(0) if steps is None else steps.watts,
        )


def prepare(
    workload: Workload,
    machine: Cluster,
    policy: Policy,
    given: Circumstances,
    *,
    enforce_limits: bool,
    seed: SeedSequence,
) -> Prepared:
    """Prepare a run; what doesn't fit is in ``misfits``, everything else that is wrong raises."""
    arrivals = Arrivals.of(workload, given.initial)
    jobs, findings = arrivals.jobs, []
    layout = _layout(machine, policy, given.events)
    shapes, found = make_shapes(
        jobs,
        layout,
        policy,
        enforce_limits=enforce_limits,
        moldable=given.moldable,
        demands=given.demands,
        fixed=np.isfinite(arrivals.start),
    )
    findings += found
    shapes = _without_done(shapes, arrivals)
    after, think = np.full(len(jobs), -1, np.int64), np.zeros(len(jobs))
    if given.dependencies:
        after, think, missing = dependencies(jobs)
        findings.append(missing)
    resolved = Resolved() if given.events is None else resolve(given.events, jobs, layout)
    submit = np.array(jobs.column("submit"), dtype=np.float64)
    t0 = float(submit[after < 0].min()) if given.initial is None else given.initial.time
    partition, queue, misfits = _places(jobs, layout)
    accounts = groups.make_accounts(jobs, machine, queue)
    power = None
    if POWER in layout.shared:
        longest = float(shapes.options.expect.max()) / min(machine.rates.rates)
        span = (t0, _horizon(submit, t0, longest))
        power = capacity(layout, resolved.caps, jobs.meta, span), span
    shapes, more = fitting(
        jobs, layout, shapes, (partition, accounts.of_job, accounts.procs), power
    )
    least = np.full(len(jobs), MOST_PROCS)
    np.minimum.at(least, shapes.job, shapes.options.procs)
    misfits += [*more, *groups.limit_misfits(jobs, machine, queue, least)]
    draft = _Draft(arrivals, layout, shapes, partition, queue, accounts)
    rows = _job_rows(draft, (submit, after, think), seed)
    return Prepared(
        *(arrivals, machine, layout, shapes, rows, accounts, resolved, given.patience),
        *(t0, seed, tuple(misfits), tuple(findings)),
    )


def _layout(machine: Cluster, policy: Policy, events: Events | None) -> Layout:
    real, capped = machine.failures is not None, machine.power_cap is not None
    if events is not None:
        real |= needs_nodes(events)
        capped |= "cap" in events.table["event"]
    return make_layout(machine, policy, real=real, capped=capped)


def _places(jobs: Workload, layout: Layout) -> tuple[Ints, Ints, list[Misfit]]:
    """Return each job's partition and queue, and who has none of those there are."""
    partition, misfits = groups.assign(jobs, "partition", layout.partitions)
    if not layout.cluster.queues:
        return partition, np.full(len(jobs), -1, np.int64), misfits
    queue, lost = groups.assign(jobs, "queue", tuple(layout.cluster.queues))
    return partition, queue, misfits + lost


def _without_done(shapes: Shapes, arrivals: Arrivals) -> Shapes:
    """Take away what waiting jobs of the initial state have saved in checkpoints."""
    saved = np.where(np.isnan(arrivals.start), arrivals.done, 0.0)
    if not saved.any():
        return shapes
    old, less = shapes.options, saved[shapes.job]
    options = replace(
        old, work=np.maximum(old.work - less, 0.0), expect=np.maximum(old.expect - less, 0.0)
    )
    return replace(shapes, options=options)


def _horizon(submit: Floats, t0: float, longest: float) -> float:
    last = max(float(submit.max()), t0)
    return last + max(4 * longest, 0.25 * (last - t0), 2 * DAY)


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """What the rows of jobs are made of."""

    arrivals: Arrivals
    layout: Layout
    shapes: Shapes
    partition: Ints
    queue: Ints
    accounts: groups.Accounts


def _job_rows(draft: _Draft, times: tuple[Floats, Ints, Floats], seed: SeedSequence) -> JobRows:
    submit, after, think = times
    arrivals, layout = draft.arrivals, draft.layout
    count = submit.size
    first, options = draft.shapes.first_and_count(count)
    lead = np.minimum(first, max(draft.shapes.job.size - 1, 0))
    shape = draft.shapes.options
    columns = Columns(submit, shape.work[lead], shape.expect[lead], shape.procs[lead])
    queue_rank, factor = groups.queue_ranks(tuple(layout.cluster.queues), draft.queue)
    launch = completion = np.zeros(count)
    overheads = layout.cluster.overheads
    if overheads is not None:
        launch = draws.draw(overheads.launch, count, seed, draws.LAUNCH)
        completion = draws.draw(overheads.completion, count, seed, draws.COMPLETION)
    running = np.isfinite(arrivals.start)
    return JobRows(
        submit=submit,
        partition=draft.partition,
        user=groups.users(arrivals.jobs)[0],
        rank=ranks(layout, draft.partition, queue_rank, columns),
        queue_rank=queue_rank,
        queue_factor=factor,
        accounts=draft.accounts.of_job,
        first_option=first,
        options=options,
        limited=draft.shapes.limited[lead],
        launch=launch,
        completion=completion,
        after=after,
        think=think,
        initial_start=arrivals.start,
        initial_done=np.where(running, arrivals.done, 0.0),
    )


def _sleep(machine: Cluster) -> Sleep | None:
    if machine.sleep is None:
        return None
    states = machine.sleep.states
    return Sleep(
        np.array([state.timeout for state in states]),
        np.array([state.delay for state in states]),
        machine.sleep.wake_ahead,
    )

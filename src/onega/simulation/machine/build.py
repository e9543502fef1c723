"""From workload, machine, policy and circumstances to the detailed machine's problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SeedSequence

from onega.core.machine.cluster import Cluster
from onega.core.machine.events import Events
from onega.core.machine.faults import Interruption
from onega.core.machine.laws import Draws, draw_durations
from onega.core.machine.overheads import Overheads
from onega.core.policy import MULTIFACTOR, Policy
from onega.core.types import Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.kernels.machine import codes
from onega.kernels.pool.records import Columns
from onega.simulation.machine import draws, groups
from onega.simulation.machine.arrivals import Arrivals, RunInputs
from onega.simulation.machine.caps import Capacity, capacity
from onega.simulation.machine.events import Resolved, needs_nodes, resolve
from onega.simulation.machine.fit import Misfit, fitting
from onega.simulation.machine.layout import POWER, Layout, make_layout
from onega.simulation.machine.order import dependencies, own_order, ranks
from onega.simulation.machine.problem import Calendar, JobRows, Problem, Sleep, TableEvents
from onega.simulation.machine.shapes import Shapes, make_shapes
from onega.simulation.pool import setup

RULES = {"lost": codes.LOSE, "requeue": codes.REQUEUE, "checkpoint": codes.CHECKPOINT}
DAY = 86400.0

NO_TIMES: Floats = np.empty(0)

Links = tuple[Ints, Floats]
"""The row that each job waits for (−1: none), and for how long after it."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A run but for what depends on how long it lasts.

    ``patience`` has when each job is cancelled if it still waits then (NaN: never), if users are
    impatient.
    """

    arrivals: Arrivals
    machine: Cluster
    layout: Layout
    shapes: Shapes
    rows: JobRows
    users: groups.Users
    accounts: groups.Accounts
    resolved: Resolved
    cap: Capacity | None
    patience: Floats | None
    t0: float
    seed: SeedSequence
    misfits: tuple[Misfit, ...]
    findings: tuple[Finding, ...]

    @property
    def longest(self) -> float:
        """The longest time that any job is expected to take."""
        return self.shapes.options.longest / min(self.machine.rates.rates)

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
            steps = self.cap
            if steps is None or steps.span != (self.t0, horizon):
                meta = self.arrivals.workload.meta
                steps = capacity(layout, self.resolved.caps, meta, (self.t0, horizon))
            nodes = replace(nodes, shared=np.append(nodes.shared[:-1], steps.first))
        multifactor = None
        if any(policy.order == MULTIFACTOR for policy in layout.policies):
            jobs = self.arrivals.jobs
            multifactor = groups.make_multifactor(jobs, self.users, machine.multifactor)
        own, by_function = own_order(layout, dependent=self.rows.followers.size > 0)
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
            _draws(machine, self.rows.submit.size, self.seed),
            own,
        )

    def _table(self, horizon: float) -> TableEvents:
        """Return events of the table, failures up to the horizon, and losses of patience."""
        table = draws.listed(self.resolved.entries)
        if self.machine.failures is not None:
            span = (self.t0, horizon)
            nodes = len(self.layout.nodes.capacity)
            drawn = draws.draw_failures(self.machine.failures, nodes, span, self.seed)
            table = draws.merge(table, drawn)
        return table if self.patience is None else draws.with_patience(table, self.patience)

    def _calendar(self, steps: Capacity | None) -> Calendar:
        width = len(self.layout.resources)
        kept = [one for one in self.resolved.reservations if one[1] > self.t0]
        amounts = np.array([one[3] for one in kept], dtype=np.float64).reshape(-1, width)
        times, watts = (NO_TIMES, NO_TIMES) if steps is None else (steps.time, steps.watts)
        return Calendar(
            np.array([one[0] for one in kept], dtype=np.float64),
            np.array([one[1] for one in kept], dtype=np.float64),
            np.array([one[2] for one in kept], dtype=np.int64),
            amounts,
            times,
            np.full(times.size, len(self.layout.shared) - 1, np.int64),
            watts,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where jobs belong: partition, queue (−1: there are none), user and accounts."""

    partition: Ints
    queue: Ints
    users: groups.Users
    accounts: groups.Accounts


def prepare(
    workload: Workload,
    machine: Cluster,
    policy: Policy,
    given: RunInputs,
    *,
    enforce_limits: bool,
    seed: SeedSequence,
) -> Prepared:
    """Prepare a run; what doesn't fit is in ``misfits``, everything else that is wrong raises."""
    arrivals = Arrivals.of(workload, given.initial)
    jobs = arrivals.jobs
    layout = _layout(machine, policy, given.events)
    shapes, findings = make_shapes(
        jobs,
        layout,
        policy,
        enforce_limits=enforce_limits,
        moldable=given.moldable,
        demands=given.demands,
        begun=arrivals.start,
    )
    shapes = _without_done(shapes, arrivals)
    links: Links = (setup.constant(jobs, -1, np.int64), setup.constant(jobs, 0.0))
    if given.dependencies:
        after, think, missing = dependencies(jobs)
        links = after, think
        findings.append(missing)
    resolved = Resolved() if given.events is None else resolve(given.events, jobs, layout)
    submit = jobs.submissions
    t0 = float(submit[links[0] < 0][0] if given.dependencies else submit[0])
    if given.initial is not None:
        t0 = given.initial.time
    places, strays = _places(jobs, layout)
    cap = None
    if POWER in layout.shared:
        longest = shapes.options.longest / min(machine.rates.rates)
        cap = capacity(layout, resolved.caps, jobs.meta, (t0, _horizon(submit, t0, longest)))
    shapes, misfits = _fit(jobs, layout, shapes, places, cap)
    return Prepared(
        arrivals,
        machine,
        layout,
        shapes,
        _job_rows(arrivals, layout, shapes, places, links, seed),
        places.users,
        places.accounts,
        resolved,
        cap,
        _patience(given.patience, arrivals, links if given.dependencies else None, seed),
        t0,
        seed,
        (*strays, *misfits),
        tuple(findings),
    )


def _layout(machine: Cluster, policy: Policy, events: Events | None) -> Layout:
    real, capped = machine.failures is not None, machine.power_cap is not None
    if events is not None:
        real |= needs_nodes(events)
        capped |= "cap" in events.kinds
    return make_layout(machine, policy, real=real, capped=capped)


def _places(jobs: Workload, layout: Layout) -> tuple[_Places, list[Misfit]]:
    """Return where each job belongs, and the jobs that belong nowhere."""
    cluster = layout.cluster
    partition, misfits = groups.assign(jobs, "partition", layout.partitions)
    queue: Ints = setup.constant(jobs, -1, np.int64)
    if cluster.queues:
        queue, lost = groups.assign(jobs, "queue", tuple(cluster.queues))
        misfits = misfits + lost
    shared = any(policy.order == MULTIFACTOR for policy in layout.policies)
    users = groups.Users.of(jobs, wanted=groups.limits_users(jobs, cluster) or shared)
    accounts = groups.make_accounts(jobs, cluster, queue, users)
    return _Places(partition, queue, users, accounts), misfits


def _fit(
    jobs: Workload, layout: Layout, shapes: Shapes, places: _Places, cap: Capacity | None
) -> tuple[Shapes, list[Misfit]]:
    """Keep the options that could ever run; say which jobs have none."""
    cluster, accounts = layout.cluster, places.accounts
    limits = (places.partition, accounts.of_job, accounts.procs)
    shapes, misfits = fitting(jobs, layout, shapes, limits, cap)
    if cluster.queues or cluster.user_limits is not None:
        least = shapes.options.procs
        if shapes.count is not None:
            least = np.minimum.reduceat(least, shapes.first)
        misfits += groups.limit_misfits(jobs, cluster, places.queue, least)
    return shapes, misfits


def _without_done(shapes: Shapes, arrivals: Arrivals) -> Shapes:
    """Take away what waiting jobs of the initial state have saved in checkpoints."""
    if arrivals.before == 0 or not arrivals.done.any():
        return shapes
    saved = np.where(np.isnan(arrivals.start), arrivals.done, 0.0)
    old, less = shapes.options, saved[shapes.job]
    options = replace(
        old, work=np.maximum(old.work - less, 0.0), expect=np.maximum(old.expect - less, 0.0)
    )
    return replace(shapes, options=options)


def _horizon(submit: Floats, t0: float, longest: float) -> float:
    last = max(float(submit[-1]), t0)
    return last + max(4 * longest, 0.25 * (last - t0), 2 * DAY)


def _job_rows(
    arrivals: Arrivals,
    layout: Layout,
    shapes: Shapes,
    places: _Places,
    links: Links,
    seed: SeedSequence,
) -> JobRows:
    submit = arrivals.jobs.submissions
    count = submit.size
    first, options = setup.rows(arrivals.jobs), setup.constant(arrivals.jobs, 1, np.int64)
    of_first: slice | Ints = slice(None)
    if shapes.count is not None:
        of_first = first = shapes.first
        options = shapes.count

    def columns() -> Columns:
        shape = shapes.options
        return Columns(submit, shape.work[of_first], shape.expect[of_first], shape.procs[of_first])

    queue_rank, factor = groups.queue_ranks(
        arrivals.jobs, tuple(layout.cluster.queues), places.queue
    )
    launch = completion = setup.constant(arrivals.jobs, 0.0)
    overheads = layout.cluster.overheads
    if overheads is not None:
        overheads = Overheads.of(overheads)
        launch = draw_durations(overheads.launch, count, seed, draws.LAUNCH)
        completion = draw_durations(overheads.completion, count, seed, draws.COMPLETION)
    return JobRows(
        submit=submit,
        partition=places.partition,
        user=places.users.of_job,
        rank=ranks(arrivals.jobs, layout, places.partition, queue_rank, columns),
        queue_rank=queue_rank,
        queue_factor=factor,
        accounts=places.accounts.of_job,
        first_option=first,
        options=options,
        limited=shapes.limited[of_first],
        launch=launch,
        completion=completion,
        after=links[0],
        think=links[1],
        initial_start=arrivals.start,
        initial_done=np.where(np.isnan(arrivals.start), 0.0, arrivals.done)
        if arrivals.before
        else arrivals.done,
    )


def _patience(
    law: Draws | None, arrivals: Arrivals, links: Links | None, seed: SeedSequence
) -> Floats | None:
    """Draw when each job is cancelled if it still waits then: those submitted by the clock."""
    if law is None:
        return None
    submit = arrivals.jobs.submissions
    due = submit + draw_durations(law, submit.size, seed, draws.PATIENCE)
    if arrivals.before:
        due[arrivals.row_of(np.arange(submit.size)) < arrivals.before] = np.nan
    if links is not None:
        due[links[0] >= 0] = np.nan
    return due


def _draws(machine: Cluster, jobs: int, seed: SeedSequence) -> Floats:
    """Return the plain machine's draws of random rate control: of arrivals, then of departures."""
    if machine.rates.kind != "random":
        return NO_TIMES
    drawn = setup.make_draws(machine.rates, jobs, seed)
    return np.concatenate([drawn[::2], drawn[1::2]])


def _sleep(machine: Cluster) -> Sleep | None:
    if machine.sleep is None:
        return None
    states = machine.sleep.states
    return Sleep(
        np.array([state.timeout for state in states]),
        np.array([state.delay for state in states]),
        machine.sleep.wake_ahead,
    )

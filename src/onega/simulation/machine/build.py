"""From workload, machine, policy and circumstances to the detailed machine's problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SeedSequence

from onega.core.machine.cluster import Cluster
from onega.core.machine.events import Events
from onega.core.machine.faults import Interruption
from onega.core.machine.laws import Draws, draw_durations
from onega.core.machine.overheads import Overheads
from onega.core.machine.queues import Multifactor
from onega.core.policy import Policy
from onega.core.types import Array, Flags, Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.kernels.machine import codes
from onega.kernels.machine.state import EVENT, STATE_OF_SLEEP
from onega.kernels.pool.records import Columns
from onega.simulation.machine import draws, groups
from onega.simulation.machine.arrivals import Arrivals, RunInputs
from onega.simulation.machine.caps import Capacity, capacity
from onega.simulation.machine.events import Resolved, needs_nodes, resolve
from onega.simulation.machine.fit import Misfit, fitting
from onega.simulation.machine.layout import POWER, Layout, make_layout
from onega.simulation.machine.order import Order, dependencies, order_of, own_function, ranks
from onega.simulation.machine.problem import Calendar, Problem, make_jobs
from onega.simulation.machine.shapes import Shapes, make_shapes
from onega.simulation.pool import setup

RULES = {"lost": codes.LOSE, "requeue": codes.REQUEUE, "checkpoint": codes.CHECKPOINT}
DAY = 86400.0

NO_TIMES: Floats = np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where jobs belong: partition, queue (−1: there are none), user and accounts."""

    partition: Ints
    queue: Ints
    users: groups.Users
    accounts: groups.Accounts


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
    jobs: Array
    orders: tuple[Order, ...]
    places: _Places
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
        return _horizon(self.arrivals.jobs.submissions, self.t0, self.longest)

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
        multifactor, shares = None, NO_TIMES
        if layout.has_multifactor:
            multifactor = machine.multifactor or Multifactor()
            shares = groups.make_shares(self.arrivals.jobs, self.places.users, multifactor)
        own = own_function(self.orders)
        rule = machine.interruption or Interruption()
        states = () if machine.sleep is None else machine.sleep.states
        return Problem(
            self.t0,
            self.jobs,
            self.shapes.options,
            nodes,
            layout.rules([code for code, _ in self.orders]),
            self.places.accounts.limits,
            self._table(horizon),
            self._calendar(steps),
            multifactor,
            shares,
            np.array([(one.timeout, one.delay) for one in states], STATE_OF_SLEEP),
            machine.sleep is not None and machine.sleep.wake_ahead,
            RULES[rule.rule],
            rule.interval or 0.0,
            machine.rates,
            setup.make_draws(machine.rates, self.jobs.size, self.seed),
            own,
        )

    def _table(self, horizon: float) -> Array:
        """Return events of the table, failures up to the horizon, and losses of patience."""
        table = np.array(self.resolved.entries, EVENT)
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
    links: dict[str, Ints | Floats] = {}
    if given.dependencies:
        links["after"], links["think"], missing = dependencies(jobs)
        findings.append(missing)
    by_clock = links["after"] < 0 if links else np.ones(len(jobs), bool)
    resolved = Resolved() if given.events is None else resolve(given.events, jobs, layout)
    submit = jobs.submissions
    t0 = float(submit[by_clock][0])
    if given.initial is not None:
        t0 = given.initial.time
    places, strays = _places(jobs, layout)
    cap = None
    if POWER in layout.shared:
        longest = shapes.options.longest / min(machine.rates.rates)
        cap = capacity(layout, resolved.caps, jobs.meta, (t0, _horizon(submit, t0, longest)))
    shapes, misfits = _fit(jobs, layout, shapes, places, cap)
    dependent = not by_clock.all()
    orders = tuple(order_of(policy, dependent=dependent) for policy in layout.policies)
    return Prepared(
        arrivals,
        machine,
        layout,
        shapes,
        _jobs(arrivals, layout, shapes, places, orders, seed, **links),
        orders,
        places,
        resolved,
        cap,
        _patience(given.patience, arrivals, by_clock, seed),
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
    queue: Ints = np.full(len(jobs), -1)
    if cluster.queues:
        queue, lost = groups.assign(jobs, "queue", tuple(cluster.queues))
        misfits = misfits + lost
    wanted = groups.limits_users(jobs, cluster) or layout.has_multifactor
    users = groups.Users.of(jobs, wanted=wanted)
    accounts = groups.make_accounts(len(jobs), cluster, queue, users)
    return _Places(partition, queue, users, accounts), misfits


def _fit(
    jobs: Workload, layout: Layout, shapes: Shapes, places: _Places, cap: Capacity | None
) -> tuple[Shapes, list[Misfit]]:
    """Keep the options that could ever run; say which jobs have none."""
    cluster, accounts = layout.cluster, places.accounts
    limits = (places.partition, accounts.of_job, accounts.limits)
    shapes, misfits = fitting(jobs, layout, shapes, limits, cap)
    if cluster.queues or cluster.user_limits is not None:
        least = np.minimum.reduceat(shapes.options.procs, shapes.first)
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


def _jobs(
    arrivals: Arrivals,
    layout: Layout,
    shapes: Shapes,
    places: _Places,
    orders: Sequence[Order],
    seed: SeedSequence,
    **links: Ints | Floats,
) -> Array:
    submit = arrivals.jobs.submissions
    first = shapes.first

    def columns() -> Columns:
        shape = shapes.options
        return Columns(submit, shape.work[first], shape.expect[first], shape.procs[first])

    queue_rank, factor = groups.queue_ranks(layout.cluster.queues, places.queue)
    jobs = make_jobs(
        submit.size,
        submit=submit,
        partition=places.partition,
        rank=ranks(layout.policies, orders, places.partition, queue_rank, columns),
        first_option=first,
        options=shapes.count,
        **links,
    )
    if arrivals.before:
        jobs["start"] = arrivals.start
        jobs["saved"] = np.where(np.isnan(arrivals.start), 0.0, arrivals.done)
    if layout.has_multifactor:
        jobs["user"], jobs["queue_factor"] = places.users.of_job, factor
    if places.accounts.limits.size > 1:
        for number, of_job in enumerate(places.accounts.of_job.T, start=1):
            jobs[f"limit_{number}"] = of_job
    if layout.cluster.overheads is not None:
        laws = Overheads.of(layout.cluster.overheads)
        jobs["launch"] = draw_durations(laws.launch, jobs.size, seed, draws.LAUNCH)
        jobs["completion"] = draw_durations(laws.completion, jobs.size, seed, draws.COMPLETION)
    return jobs


def _patience(
    law: Draws | None, arrivals: Arrivals, by_clock: Flags, seed: SeedSequence
) -> Floats | None:
    """Draw when each job is cancelled if it still waits then: those submitted by the clock."""
    if law is None:
        return None
    submit = arrivals.jobs.submissions
    due = submit + draw_durations(law, submit.size, seed, draws.PATIENCE)
    if arrivals.before:
        due[arrivals.row_of(np.arange(submit.size)) < arrivals.before] = np.nan
    due[~by_clock] = np.nan
    return due

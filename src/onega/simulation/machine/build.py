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
from onega.core.machine.queues import Multifactor
from onega.core.policy import Policy
from onega.core.types import Array, Flags, Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.kernels.machine import codes
from onega.kernels.machine.state import EVENT, STATE_OF_SLEEP
from onega.simulation.machine import draws, groups
from onega.simulation.machine.arrivals import Arrivals, RunInputs
from onega.simulation.machine.caps import capacity
from onega.simulation.machine.events import Resolved, needs_nodes, resolve
from onega.simulation.machine.fit import Misfit, fitting
from onega.simulation.machine.layout import POWER, Layout, make_layout
from onega.simulation.machine.order import Order, dependencies, order_of, own_function, ranks
from onega.simulation.machine.problem import Jobs, Problem, Step
from onega.simulation.machine.shapes import Shapes, make_shapes
from onega.simulation.pool import setup

RULES = {"lost": codes.LOSE, "requeue": codes.REQUEUE, "checkpoint": codes.CHECKPOINT}
DAY = 86400.0


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A run but for what depends on how long it lasts.

    ``users``: as the log has them (null: −1), by their number in ``jobs``. ``patience`` has when
    each job is cancelled if it still waits then (NaN: never), if users are impatient.
    """

    arrivals: Arrivals
    machine: Cluster
    layout: Layout
    shapes: Shapes
    jobs: Jobs
    limits: Array
    users: Ints
    orders: tuple[Order, ...]
    resolved: Resolved
    patience: Floats | None
    t0: float
    seed: SeedSequence
    misfits: tuple[Misfit, ...]
    findings: tuple[Finding, ...]

    @property
    def longest(self) -> float:
        """The longest time that any job is expected to take."""
        return self.shapes.longest / min(self.machine.rates.rates)

    @property
    def is_open_ended(self) -> bool:
        """Whether something would have to be drawn or written out for ever."""
        return self.machine.failures is not None or getattr(self.machine.power_cap, "daily", False)

    def first_horizon(self) -> float:
        """Return until when failures and daily caps are written out at first."""
        return _horizon(self.arrivals.jobs.submissions, self.t0, self.longest)

    def problem(self, horizon: float) -> Problem:
        """Return the whole problem, with what happens up to ``horizon``."""
        machine, layout, shapes = self.machine, self.layout, self.shapes
        nodes = layout.nodes
        steps: list[Step] = []
        if POWER in layout.shared:
            meta, number = self.arrivals.workload.meta, len(layout.shared) - 1
            cap = capacity(layout, self.resolved.caps, meta, (self.t0, horizon))
            nodes = replace(nodes, shared=np.append(nodes.shared[:-1], cap.first))
            steps = [(time, number, watts) for time, watts in zip(cap.time, cap.watts, strict=True)]
        multifactor, shares = None, np.empty(0)
        if layout.has_multifactor:
            multifactor = machine.multifactor or Multifactor()
            shares = groups.make_shares(self.arrivals.jobs, self.users, multifactor)
        own = own_function(self.orders)
        rule = machine.interruption or Interruption()
        states = () if machine.sleep is None else machine.sleep.states
        return Problem(
            self.t0,
            self.jobs,
            shapes.options,
            shapes.needs,
            shapes.demand,
            nodes,
            layout.rules([code for code, _ in self.orders]),
            self.limits,
            self._table(horizon),
            self.resolved.reservations,
            steps,
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
    log, submit = arrivals.jobs, arrivals.jobs.submissions
    jobs = Jobs(len(log), submit=submit)
    layout = _layout(machine, policy, given.events)
    shapes, findings = make_shapes(
        log,
        layout,
        policy,
        enforce_limits=enforce_limits,
        moldable=given.moldable,
        demands=given.demands,
        begun=arrivals.start,
    )
    if arrivals.before:  # what waiting jobs of the initial state have saved in checkpoints is done
        runs = np.isfinite(arrivals.start)
        jobs["start"], jobs["saved"] = arrivals.start, np.where(runs, arrivals.done, 0.0)
        less = np.where(runs, 0.0, arrivals.done)[shapes.job]
        for name in ("work", "expect"):
            shapes.options[name] = np.maximum(shapes.options[name] - less, 0.0)
    if given.dependencies:
        jobs["after"], jobs["think"], missing = dependencies(log)
        findings.append(missing)
    by_clock = jobs["after"] < 0
    resolved = Resolved() if given.events is None else resolve(given.events, log, layout)
    t0 = float(submit[by_clock][0])
    if given.initial is not None:
        t0 = given.initial.time
    users, queue, misfits = _assign(jobs, log, layout)
    findings += groups.unmatched(log, machine)
    limits = groups.open_accounts(jobs, layout.cluster, queue, users.size)
    cap = None
    if POWER in layout.shared:
        longest = shapes.longest / min(machine.rates.rates)
        cap = capacity(layout, resolved.caps, log.meta, (t0, _horizon(submit, t0, longest)))
    shapes, unfit = fitting(log, layout, shapes, (jobs, limits), cap)
    misfits += unfit
    jobs["first_option"], jobs["options"] = shapes.first, shapes.count
    if machine.queues or machine.user_limits is not None:
        least = np.minimum.reduceat(shapes.options["procs"], shapes.first)
        misfits += groups.limit_misfits(log, machine, queue, least)
    dependent = not by_clock.all()
    orders = tuple(order_of(policy, dependent=dependent) for policy in layout.policies)
    queue_rank, factor = groups.queue_ranks(machine.queues, queue)
    jobs["rank"] = ranks(jobs, shapes, layout.policies, orders, queue_rank)
    if layout.has_multifactor:
        jobs["queue_factor"] = factor
    if machine.overheads is not None:
        laws = Overheads.of(machine.overheads)
        jobs["launch"] = draw_durations(laws.launch, jobs.size, seed, draws.LAUNCH)
        jobs["completion"] = draw_durations(laws.completion, jobs.size, seed, draws.COMPLETION)
    return Prepared(
        arrivals,
        machine,
        layout,
        shapes,
        jobs,
        limits,
        users,
        orders,
        resolved,
        _patience(given.patience, arrivals, by_clock, seed),
        t0,
        seed,
        tuple(misfits),
        tuple(findings),
    )


def _layout(machine: Cluster, policy: Policy, events: Events | None) -> Layout:
    real, capped = machine.failures is not None, machine.power_cap is not None
    if events is not None:
        real |= needs_nodes(events)
        capped |= "cap" in events.kinds
    return make_layout(machine, policy, real=real, capped=capped)


def _assign(jobs: Jobs, log: Workload, layout: Layout) -> tuple[Ints, Ints, list[Misfit]]:
    """Give jobs partition and user; return users, queues (−1: none), and jobs that are nowhere."""
    cluster = layout.cluster
    jobs["partition"], misfits = groups.assign(log, "partition", layout.partitions)
    queue, users = np.full(len(log), -1), np.array([-1])
    if cluster.queues:
        queue, lost = groups.assign(log, "queue", tuple(cluster.queues))
        misfits = misfits + lost
    if groups.limits_users(log, cluster) or layout.has_multifactor:
        jobs["user"], users = groups.numbered(log.table["user"])
    return users, queue, misfits


def _horizon(submit: Floats, t0: float, longest: float) -> float:
    last = max(float(submit[-1]), t0)
    return last + max(4 * longest, 0.25 * (last - t0), 2 * DAY)


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

"""From workload, machine, policy and circumstances to the detailed machine's problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SeedSequence

from onega.core.cluster import MOST_PROCS, Cluster
from onega.core.events import Events
from onega.core.faults import Interruption
from onega.core.laws import Draws
from onega.core.policy import MULTIFACTOR, Policy
from onega.core.report import Finding
from onega.core.workload import Workload
from onega.kernels import detailed_codes as codes
from onega.kernels.easy import Columns
from onega.simulation import detailed_draws as draws
from onega.simulation import detailed_groups as groups
from onega.simulation import setup
from onega.simulation.detailed_arrivals import Arrivals, Circumstances
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

Links = tuple[Ints, Floats]
"""The row that each job waits for (−1: none), and for how long after it."""


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
            _draws(machine, self.rows.submit.size, self.seed),
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
        return draws.table_events(entries, *self.impatient())

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


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where jobs belong: partition, queue (−1: there are none) and accounts."""

    partition: Ints
    queue: Ints
    accounts: groups.Accounts


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
    jobs = arrivals.jobs
    layout = _layout(machine, policy, given.events)
    shapes, findings = make_shapes(
        jobs,
        layout,
        policy,
        enforce_limits=enforce_limits,
        moldable=given.moldable,
        demands=given.demands,
        fixed=np.isfinite(arrivals.start),
    )
    shapes = _without_done(shapes, arrivals)
    links: Links = (np.full(len(jobs), -1, np.int64), np.zeros(len(jobs)))
    if given.dependencies:
        after, think, missing = dependencies(jobs)
        links = after, think
        findings.append(missing)
    resolved = Resolved() if given.events is None else resolve(given.events, jobs, layout)
    t0 = float(jobs.column("submit")[links[0] < 0].min())
    if given.initial is not None:
        t0 = given.initial.time
    places, strays = _places(jobs, layout)
    shapes, misfits = _fit(arrivals, layout, shapes, places, (t0, resolved.caps))
    return Prepared(
        arrivals,
        machine,
        layout,
        shapes,
        _job_rows(arrivals, layout, shapes, places, links, seed),
        places.accounts,
        resolved,
        given.patience,
        t0,
        seed,
        (*strays, *misfits),
        tuple(findings),
    )


def _layout(machine: Cluster, policy: Policy, events: Events | None) -> Layout:
    real, capped = machine.failures is not None, machine.power_cap is not None
    if events is not None:
        real |= needs_nodes(events)
        capped |= "cap" in events.table["event"]
    return make_layout(machine, policy, real=real, capped=capped)


def _places(jobs: Workload, layout: Layout) -> tuple[_Places, list[Misfit]]:
    """Return where each job belongs, and who has no place among those there are."""
    cluster = layout.cluster
    partition, misfits = groups.assign(jobs, "partition", layout.partitions)
    queue = np.full(len(jobs), -1, np.int64)
    if cluster.queues:
        queue, lost = groups.assign(jobs, "queue", tuple(cluster.queues))
        misfits = misfits + lost
    return _Places(partition, queue, groups.make_accounts(jobs, cluster, queue)), misfits


def _fit(
    arrivals: Arrivals,
    layout: Layout,
    shapes: Shapes,
    places: _Places,
    power: tuple[float, list[tuple[float, float]]],
) -> tuple[Shapes, list[Misfit]]:
    """Keep the options that could ever run; say who has none."""
    jobs, cluster, accounts = arrivals.jobs, layout.cluster, places.accounts
    (t0, steps), cap = power, None
    if POWER in layout.shared:
        longest = float(shapes.options.expect.max()) / min(cluster.rates.rates)
        span = (t0, _horizon(jobs.column("submit"), t0, longest))
        cap = capacity(layout, steps, jobs.meta, span), span
    limits = (places.partition, accounts.of_job, accounts.procs)
    shapes, misfits = fitting(jobs, layout, shapes, limits, cap)
    least = np.full(len(jobs), MOST_PROCS)
    np.minimum.at(least, shapes.job, shapes.options.procs)
    return shapes, [*misfits, *groups.limit_misfits(jobs, cluster, places.queue, least)]


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


def _job_rows(
    arrivals: Arrivals,
    layout: Layout,
    shapes: Shapes,
    places: _Places,
    links: Links,
    seed: SeedSequence,
) -> JobRows:
    submit = np.array(arrivals.jobs.column("submit"), dtype=np.float64)
    count = submit.size
    first, options = shapes.first_and_count(count)
    shape = shapes.options
    columns = Columns(submit, shape.work[first], shape.expect[first], shape.procs[first])
    queue_rank, factor = groups.queue_ranks(tuple(layout.cluster.queues), places.queue)
    launch = completion = np.zeros(count)
    overheads = layout.cluster.overheads
    if overheads is not None:
        launch = draws.draw(overheads.launch, count, seed, draws.LAUNCH)
        completion = draws.draw(overheads.completion, count, seed, draws.COMPLETION)
    running = np.isfinite(arrivals.start)
    return JobRows(
        submit=submit,
        partition=places.partition,
        user=_users(arrivals.jobs, layout),
        rank=ranks(layout, places.partition, queue_rank, columns),
        queue_rank=queue_rank,
        queue_factor=factor,
        accounts=places.accounts.of_job,
        first_option=first,
        options=options,
        limited=shapes.limited[first],
        launch=launch,
        completion=completion,
        after=links[0],
        think=links[1],
        initial_start=arrivals.start,
        initial_done=np.where(running, arrivals.done, 0.0),
    )


def _users(jobs: Workload, layout: Layout) -> Ints:
    """Return a number for each job's user where fair-share asks for it."""
    if any(policy.order == MULTIFACTOR for policy in layout.policies):
        return groups.users(jobs)[0]
    return np.zeros(len(jobs), np.int64)


def _draws(machine: Cluster, jobs: int, seed: SeedSequence) -> Floats:
    """Return the plain machine's draws of random rate control: of arrivals, then of departures."""
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

"""Slurm's scheduler: main passes at events and intervals, backfill cycles over a plan of nodes.

A model of slurmctld with sched/backfill, select/linear, one partition and whole nodes, as of
Slurm 22.05. Its clock has whole seconds; so have starts, limits and plans. What happens:

- A submission asks for a main pass, which comes with the next beat of the background loop (once a
  second) that is at least ``batch_sched_delay`` after the last such pass. Every
  ``sched_interval`` a beat makes a pass over the whole queue, else over the first
  ``default_queue_depth`` jobs.
- The end of a job leaves its nodes "completing" until the last of them has answered; then they are
  idle, all at once. The thread that asked them looks after 5, 10, 20, … ms (1 s at most) whether it
  is over; when it sees that, a main pass follows. Jobs that end together don't wait for each other.
- A main pass starts jobs in the order of priority until one doesn't fit.
- The backfill cycle sleeps ``bf_interval`` after its last end, and then in steps of a second until
  something has changed. It goes through the queue with a plan (table of times and nodes): each
  job gets the earliest start that the plan and the expected ends of running jobs allow; it
  starts, or its nodes are taken out of the plan, rounded down to ``bf_resolution``. Every job that
  a cycle reaches gets such a reservation, so that Slurm's backfilling is conservative.

What changes nothing isn't done: beats and wakings that find it isn't time yet are skipped
(`onega.kernels.slurm.clock`), a cycle whose plan would be the last one makes none, and while
nobody can start the loops' pattern repeats itself and is jumped over. Starts are those of a
controller that does it all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import kernel, part, shift
from onega.kernels.slurm.clock import changes, repeats, skip_dull
from onega.kernels.slurm.nodes import Words, best_fit, count_nodes
from onega.kernels.slurm.plan import Plan, clear_plan, move_plan, plan_ends_with, plan_job
from onega.kernels.types import Floats, Ints, Records

DONE, MORE, STUCK = 0, 1, 2
PENDING, RUNNING, COMPLETING, RELEASED, OVER = 1, 2, 3, 4, 5
FIRST_LOOK, LONGEST_LOOK = 0.005, 1.0
BY_MAIN, BY_BACKFILL = 1, 2


JOB = np.dtype(
    [
        ("submit", "f8"),
        ("runtime", "f8"),
        ("limit", "f8"),
        ("procs", "i8"),
        ("release", "f8"),
        ("reports", "f8"),
        ("overrun", "f8"),
        ("state", "i8"),
        ("start", "f8"),
        ("end", "f8"),
        ("freed", "f8"),
        ("noticed", "f8"),
        ("by", "i8"),
    ],
    align=True,
)
"""A job, in the order of submission: when slurmctld hears of it, how long it runs from the noted
start, its limit in seconds, its nodes, how long after its end they begin to report and how long
their reports take, what its end is late by; its state, start, end, when its nodes were free again
and when that was noticed, and who started it."""

RULES = np.dtype(
    [
        ("procs", "i8"),
        ("nodes", "i8"),
        ("bf_interval", "f8"),
        ("bf_resolution", "f8"),
        ("bf_window", "f8"),
        ("bf_max_job_test", "i8"),
        ("sched_interval", "f8"),
        ("batch_sched_delay", "f8"),
        ("queue_depth", "i8"),
        ("defer", "i8"),
        ("weight_age", "f8"),
        ("weight_size", "f8"),
        ("max_age", "f8"),
        ("favour_small", "i8"),
    ],
    align=True,
)
"""The parameters, in seconds; ``nodes`` of the ``procs`` are looked at, as jobs never need more."""

CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("beat", "f8"),
        ("wake", "f8"),
        ("last_full", "f8"),
        ("last_pass", "f8"),
        ("last_cycle", "f8"),
        ("asked", "i8"),
        ("changed", "f8"),
        ("arrived", "i8"),
        ("pending", "i8"),
        ("running", "i8"),
        ("over", "i8"),
        ("planned", "i8"),
        ("quiet", "f8"),
        ("seen", "i8"),
        ("remember", "i8"),
        ("beat_then", "f8"),
        ("wake_then", "f8"),
        ("lag_then", "f8"),
        ("stale_then", "i8"),
    ],
    align=True,
)
"""The time; the next beat of the background loop and the next waking of the backfill cycle; when
passes and cycles last were; whether a pass was asked for; when anything last changed;
numbers of jobs. Then what saves work: how many jobs of the queue the plan has (−1: it
is void), until when cycles start nobody, and how the loops stood at an earlier full pass."""


class State(NamedTuple):
    """Everything, so that a run can stop and go on.

    ``queue``: pending jobs in the order of submission; ``active``: running and completing ones;
    ``idle``, ``completing``, ``every``: sets of nodes; ``nodes[j]``: job j's; ``plan``: the last
    backfill cycle's.
    """

    rules: Records
    clock: Records
    jobs: Records
    queue: Ints
    active: Ints
    idle: Words
    completing: Words
    nodes: npt.NDArray[np.uint64]
    every: Words
    plan: Plan


@part
def _start(state: State, number: int, chosen: Words, by: int) -> None:
    c, job = state.clock[0], state.jobs[number]
    job.state = RUNNING
    job.by = by
    job.start = c.now
    # A virtual node is busy from the start that Slurm notes, in whole seconds.
    job.end = max(c.now, np.floor(c.now) + job.runtime) + job.overrun
    for place in range(chosen.size):
        state.nodes[number, place] = chosen[place]
        state.idle[place] &= ~chosen[place]
    state.active[c.running] = number
    c.running += 1
    c.changed = np.floor(c.now)
    c.planned = -1
    changes(c)


@part
def _forget_started(state: State) -> None:
    """Take jobs that are no longer pending out of the queue."""
    c = state.clock[0]
    kept = 0
    for place in range(c.pending):
        number = state.queue[place]
        if state.jobs[number].state == PENDING:
            state.queue[kept] = number
            kept += 1
    c.pending = kept


@part
def _priority(state: State, number: int) -> float:
    """Return age and size factors times their weights (priority/multifactor)."""
    rules, job = state.rules[0], state.jobs[number]
    age = min(1.0, (state.clock[0].now - job.submit) / rules.max_age)
    size = job.procs / rules.procs
    if rules.favour_small:
        size = 1.0 - size
    return np.floor(rules.weight_age * age + rules.weight_size * size)


@part
def _sort_queue(state: State) -> Ints:
    """Return the pending jobs by priority; equal ones, and without weights all, as submitted."""
    order = state.queue[: state.clock[0].pending].copy()
    if not _weighted(state):
        return order
    keys = np.empty(order.size)
    for place in range(order.size):
        keys[place] = -_priority(state, order[place])
    return order[np.argsort(keys, kind="mergesort")]


@part
def _weighted(state: State) -> bool:
    """Tell whether priorities are more than the order of submission."""
    return state.rules[0].weight_age != 0.0 or state.rules[0].weight_size != 0.0


@part
def _narrowest(state: State, order: Ints) -> int:
    """Return the fewest nodes that any of some jobs wants."""
    least = state.rules[0].procs + 1
    for number in order:
        least = min(least, state.jobs[number].procs)
    return least


@part
def _passes_in_vain(state: State) -> bool:
    """Tell whether main passes start nobody until something changes."""
    pending = state.queue[: state.clock[0].pending]
    if pending.size == 0:
        return True
    # Whoever is first by weight may be another one later.
    first = pending if _weighted(state) else pending[:1]
    return count_nodes(state.idle) < _narrowest(state, first)


@part
def _main_pass(state: State, depth: int) -> None:
    """Start jobs in the order of priority until one doesn't fit."""
    if _passes_in_vain(state):
        return
    order = _sort_queue(state)
    chosen = np.empty(state.idle.size, np.uint64)
    started = False
    for place in range(min(order.size, depth)):
        number = order[place]
        wanted = state.jobs[number].procs
        if count_nodes(state.idle) < wanted:
            break
        best_fit(state.idle, wanted, state.rules[0].nodes, chosen)
        _start(state, number, chosen, BY_MAIN)
        started = True
    if started:
        _forget_started(state)


@part
def _expected_ends(state: State, now: float, room: int) -> Any:  # noqa: ANN401
    """Return running jobs by their expected ends, those ends, and how many there are.

    Completing jobs no longer count. There is ``room`` for jobs that the cycle starts.
    """
    c = state.clock[0]
    ends, who = np.empty(c.running + room), np.empty(c.running + room, np.int64)
    count = 0
    for place in range(c.running):
        number = state.active[place]
        if state.jobs[number].state == RUNNING:
            ends[count] = np.floor(state.jobs[number].start) + state.jobs[number].limit
            who[count] = number
            count += 1
    by_end = np.argsort(ends[:count], kind="mergesort")
    who[:count], ends[:count] = who[:count][by_end], ends[:count][by_end]
    return who, ends, count


@part
def _put_in(who: Ints, ends: Floats, count: int, number: int, end: float) -> None:
    """Put a job that was started among the running ones, after those that end with it."""
    place = count
    while place > 0 and ends[place - 1] > end:
        who[place], ends[place] = who[place - 1], ends[place - 1]
        place -= 1
    who[place], ends[place] = number, end


@part
def _cycle(state: State) -> None:
    """Go through the queue once with a plan: start or reserve."""
    c, rules, plan = state.clock[0], state.rules[0], state.plan
    order = _sort_queue(state)
    now = np.floor(c.now)
    room = min(order.size, rules.bf_max_job_test)
    # What the node table says is free: idle nodes and those that are completing.
    free = state.idle | state.completing
    if count_nodes(free) < _narrowest(state, order[:room]):
        c.quiet = np.inf  # nobody can start now, whatever the plan
        return
    first = 0
    if c.planned >= 0 and now < plan.until[0]:
        first = c.planned
        move_plan(plan, now, rules.bf_window)
    else:
        clear_plan(plan, now, rules.bf_window, state.every)
    chosen, allowed = np.empty(free.size, np.uint64), np.empty(free.size, np.uint64)
    who, ends, count = _expected_ends(state, now, room - first)
    started = False
    for place in range(first, room):
        job = state.jobs[order[place]]
        start = plan_job(
            plan, (now, job.limit, job.procs, rules.bf_resolution, rules.nodes),
            (free, state.completing, allowed, chosen),
            (state.nodes, who[:count], ends[:count]),
        )  # fmt: skip
        if start <= now:
            usable = allowed & state.idle
            best_fit(usable, job.procs, rules.nodes, chosen)
            _start(state, order[place], chosen, BY_BACKFILL)
            started = True
            free = state.idle | state.completing
            _put_in(who, ends, count, order[place], now + job.limit)
            count += 1
    if started:
        _forget_started(state)
    elif not _weighted(state):
        plan_ends_with(plan, ends[:count])
        c.planned, c.quiet = room, plan.until[0]


@part
def _next_end(state: State) -> tuple[float, int]:
    """Return when the next running job ends or completing nodes are released, and whose."""
    best, which = np.inf, -1
    for place in range(state.clock[0].running):
        job = state.jobs[state.active[place]]
        when = job.end if job.state == RUNNING else job.freed
        if job.state == RELEASED:
            when = job.noticed
        if when < best:
            best, which = when, place
    return best, which


@part
def _looks(takes: float) -> float:
    """Return after how long it is seen that something which takes so long is over."""
    step, seen = FIRST_LOOK, 0.0
    while seen < takes and step < LONGEST_LOOK:
        seen += step
        step *= 2.0
    return seen + max(0.0, np.ceil((takes - seen) / LONGEST_LOOK)) * LONGEST_LOOK


@part
def _end_or_release(state: State, place: int) -> None:
    c = state.clock[0]
    number = state.active[place]
    job = state.jobs[number]
    if job.state == RELEASED:
        _notice(state, place)
        return
    c.changed = np.floor(c.now)
    c.planned = -1
    changes(c)
    if job.state == RUNNING:
        job.state = COMPLETING
        takes = job.release + job.reports
        job.freed = c.now + takes
        job.noticed = max(job.freed, c.now + _looks(takes))
        for word in range(state.idle.size):
            state.completing[word] |= state.nodes[number, word]
        return
    job.state = RELEASED
    for word in range(state.idle.size):
        state.completing[word] &= ~state.nodes[number, word]
        state.idle[word] |= state.nodes[number, word]
    if job.noticed == job.freed:
        _notice(state, place)


@part
def _notice(state: State, place: int) -> None:
    """See that a job's nodes are free again: a main pass."""
    c = state.clock[0]
    state.jobs[state.active[place]].state = OVER
    c.running -= 1
    # In the order of the starts: of jobs that end at one instant the first that started is first.
    shift(state.active, place, place + 1, c.running - place)
    c.over += 1
    if state.rules[0].defer:
        c.asked = 1
    elif c.pending:
        _main_pass(state, state.rules[0].queue_depth)


@part
def _beat(state: State) -> bool:
    """Make the background loop's beat; tell whether it was one with a full pass."""
    c, rules = state.clock[0], state.rules[0]
    now = np.floor(c.now)
    c.beat += 1.0
    if now - c.last_full >= rules.sched_interval:
        c.last_full = c.last_pass = now
        c.asked = 0
        if c.pending:
            c.changed = now
            _main_pass(state, c.pending)
        return True
    if c.asked and now - c.last_pass >= rules.batch_sched_delay:
        c.last_pass = now
        c.asked = 0
        _main_pass(state, rules.queue_depth)
    return False


@part
def _wake(state: State) -> None:
    """Wake the backfill cycle: go through the queue if it is time and anything has changed."""
    c, rules = state.clock[0], state.rules[0]
    now = np.floor(c.now)
    if now - c.last_cycle < rules.bf_interval or c.changed < c.last_cycle:
        c.wake = c.now + 1.0
        return
    if c.pending and now >= c.quiet:
        _cycle(state)
    c.last_cycle = now
    c.wake = c.now + rules.bf_interval


@part
def _arrive(state: State) -> None:
    """Take the next job into the queue; a plan of those before it stays as it is."""
    c = state.clock[0]
    state.jobs[c.arrived].state = PENDING
    state.queue[c.pending] = c.arrived
    c.pending += 1
    c.arrived += 1
    c.asked = 1
    c.changed = np.floor(c.now)
    changes(c)


@part
def _jump(state: State, something: float) -> None:
    """Jump over what repeats itself, if nobody can start before something happens."""
    c = state.clock[0]
    until = something
    if c.pending:
        if c.wake < np.inf:
            until = min(until, c.quiet)
        if not _passes_in_vain(state):
            return
    if until < np.inf:
        repeats(c, state.rules[0].bf_interval, until)


@kernel
def run_slurm(state: State, rounds: int) -> int:
    """Go through at most ``rounds`` events; return why it stopped (DONE, MORE, STUCK)."""
    c, jobs = state.clock[0], state.jobs
    idle_beats = 0
    for _ in range(rounds):
        if c.over == jobs.size:
            return DONE
        ending, which = _next_end(state)
        arriving = jobs[c.arrived].submit if c.arrived < jobs.size else np.inf
        something = min(ending, arriving)
        if something == np.inf and c.pending:
            # Nothing runs and nothing comes: the queue has to move within a few cycles.
            idle_beats += 1
            if idle_beats > 4 * (state.rules[0].sched_interval + state.rules[0].bf_interval + 9):
                return STUCK
        else:
            idle_beats = 0
        skip_dull(c, state.rules[0], something)
        c.now = min(min(something, c.beat), c.wake)
        if c.now == ending:
            _end_or_release(state, which)
        elif c.now == arriving:
            _arrive(state)
        elif c.now == c.beat:
            if _beat(state):
                _jump(state, something)
        else:
            _wake(state)
    return MORE

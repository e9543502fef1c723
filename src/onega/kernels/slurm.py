"""Slurm's scheduler: main passes at events and intervals, backfill cycles over a plan of nodes.

A model of slurmctld with sched/backfill, select/linear, one partition and whole nodes, as of
Slurm 22.05. Its clock has whole seconds; so have starts, limits and plans. What happens:

- A submission asks for a main pass, which comes with the next beat of the background loop (once a
  second) that is at least ``batch_sched_delay`` after the last such pass. Every
  ``sched_interval`` a beat makes a pass over the whole queue, else over the first
  ``default_queue_depth`` jobs.
- The end of a job leaves its nodes "completing" until the last of them reports; then they are
  idle, and a main pass follows at once. Reports come one by one: those of a job that ended before
  come first.
- A main pass starts jobs in the order of priority until one doesn't fit.
- The backfill cycle sleeps ``bf_interval`` after its last end, and then in steps of a second until
  something has changed. It goes through the queue with a plan (table of times and nodes): each
  job gets the earliest start that the plan and the expected ends of running jobs allow; it
  starts, or its nodes are taken out of the plan, rounded down to ``bf_resolution``. Every job that
  a cycle reaches gets such a reservation, so that Slurm's backfilling is conservative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import kernel, part, shift
from onega.kernels.slurm_nodes import Words, best_fit, count_nodes
from onega.kernels.slurm_plan import new_plan, plan_job

DONE, MORE, STUCK = 0, 1, 2
PENDING, RUNNING, COMPLETING, OVER = 1, 2, 3, 4
BY_MAIN, BY_BACKFILL = 1, 2

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

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
        ("by", "i8"),
    ],
    align=True,
)
"""A job, in the order of submission: when slurmctld hears of it, how long it runs from the noted
start, its limit in seconds, its nodes, how long after its end they begin to report and how long
their reports take, what its end is late by; its state, start, end, when its nodes were free again,
and who started it."""

RULES = np.dtype(
    [
        ("procs", "i8"),
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
"""The parameters, in seconds."""

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
        ("reported", "f8"),
        ("arrived", "i8"),
        ("pending", "i8"),
        ("running", "i8"),
        ("over", "i8"),
    ],
    align=True,
)
"""The time; the next beat of the background loop and the next waking of the backfill cycle; when
passes and cycles last were; whether a pass was asked for; when anything last changed; until when
nodes report; numbers of jobs."""


class State(NamedTuple):
    """Everything, so that a run can stop and go on.

    ``queue``: pending jobs in the order of submission; ``active``: running and completing ones;
    ``order``: scratch; ``idle``, ``completing``: sets of nodes; ``nodes[j]``: job j's.
    """

    rules: Records
    clock: Records
    jobs: Records
    queue: Ints
    active: Ints
    idle: Words
    completing: Words
    nodes: npt.NDArray[np.uint64]


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
    c, rules = state.clock[0], state.rules[0]
    order = state.queue[: c.pending].copy()
    if rules.weight_age == 0.0 and rules.weight_size == 0.0:
        return order
    keys = np.empty(order.size)
    for place in range(order.size):
        keys[place] = -_priority(state, order[place])
    return order[np.argsort(keys, kind="mergesort")]


@part
def _main_pass(state: State, depth: int) -> None:
    """Start jobs in the order of priority until one doesn't fit."""
    order = _sort_queue(state)
    chosen = np.empty(state.idle.size, np.uint64)
    started = False
    for place in range(min(order.size, depth)):
        number = order[place]
        wanted = state.jobs[number].procs
        if count_nodes(state.idle) < wanted:
            break
        best_fit(state.idle, wanted, state.rules[0].procs, chosen)
        _start(state, number, chosen, BY_MAIN)
        started = True
    if started:
        _forget_started(state)


@part
def _cycle(state: State) -> None:
    """Go through the queue once with a plan: start or reserve."""
    c, rules = state.clock[0], state.rules[0]
    order = _sort_queue(state)
    now = np.floor(c.now)
    room = min(order.size, rules.bf_max_job_test)
    plan = new_plan(now, rules.bf_window, rules.procs, 2 * room + 2)
    words = state.idle.size
    chosen, allowed = np.empty(words, np.uint64), np.empty(words, np.uint64)
    # Running jobs by their expected ends; completing ones no longer count.
    ends, who = np.empty(c.running), np.empty(c.running, np.int64)
    count = 0
    for place in range(c.running):
        number = state.active[place]
        if state.jobs[number].state == RUNNING:
            ends[count] = np.floor(state.jobs[number].start) + state.jobs[number].limit
            who[count] = number
            count += 1
    started = False
    for place in range(room):
        job = state.jobs[order[place]]
        by_end = who[:count][np.argsort(ends[:count], kind="mergesort")]
        # What the node table says is free: idle nodes and those that are completing.
        free = state.idle | state.completing
        start = plan_job(
            plan, (now, job.limit, job.procs, rules.bf_resolution, rules.procs),
            (free, state.completing, allowed, chosen),
            (state.nodes, by_end, np.sort(ends[:count])),
        )  # fmt: skip
        if start <= now:
            usable = allowed & state.idle
            best_fit(usable, job.procs, rules.procs, chosen)
            _start(state, order[place], chosen, BY_BACKFILL)
            started = True
            if count == ends.size:
                ends, who = np.append(ends, 0.0), np.append(who, 0)
            ends[count], who[count] = now + job.limit, order[place]
            count += 1
    if started:
        _forget_started(state)


@part
def _next_end(state: State) -> tuple[float, int]:
    """Return when the next running job ends or completing nodes are released, and whose."""
    best, which = np.inf, -1
    for place in range(state.clock[0].running):
        job = state.jobs[state.active[place]]
        when = job.end if job.state == RUNNING else job.freed
        if when < best:
            best, which = when, place
    return best, which


@part
def _end_or_release(state: State, place: int) -> None:
    c = state.clock[0]
    number = state.active[place]
    job = state.jobs[number]
    c.changed = np.floor(c.now)
    if job.state == RUNNING:
        job.state = COMPLETING
        c.reported = max(c.now + job.release, c.reported) + job.reports
        job.freed = c.reported
        for word in range(state.idle.size):
            state.completing[word] |= state.nodes[number, word]
        return
    job.state = OVER
    for word in range(state.idle.size):
        state.completing[word] &= ~state.nodes[number, word]
        state.idle[word] |= state.nodes[number, word]
    c.running -= 1
    # In the order of the starts: of jobs that end at one instant the first that started is first.
    shift(state.active, place, place + 1, c.running - place)
    c.over += 1
    if state.rules[0].defer:
        c.asked = 1
    elif c.pending:
        _main_pass(state, state.rules[0].queue_depth)


@part
def _beat(state: State) -> None:
    """Make the background loop's beat: a full pass, a pass that was asked for, or nothing."""
    c, rules = state.clock[0], state.rules[0]
    now = np.floor(c.now)
    c.beat += 1.0
    if now - c.last_full >= rules.sched_interval:
        c.last_full = c.last_pass = now
        c.asked = 0
        if c.pending:
            c.changed = now
            _main_pass(state, c.pending)
    elif c.asked and now - c.last_pass >= rules.batch_sched_delay:
        c.last_pass = now
        c.asked = 0
        _main_pass(state, rules.queue_depth)


@part
def _wake(state: State) -> None:
    """Wake the backfill cycle: go through the queue if it is time and anything has changed."""
    c, rules = state.clock[0], state.rules[0]
    now = np.floor(c.now)
    if now - c.last_cycle < rules.bf_interval or c.changed < c.last_cycle:
        c.wake = c.now + 1.0
        return
    if c.pending:
        _cycle(state)
    c.last_cycle = now
    c.wake = c.now + rules.bf_interval


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
        c.now = min(min(something, c.beat), c.wake)
        if c.now == ending:
            _end_or_release(state, which)
        elif c.now == arriving:
            jobs[c.arrived].state = PENDING
            state.queue[c.pending] = c.arrived
            c.pending += 1
            c.arrived += 1
            c.asked = 1
            c.changed = np.floor(c.now)
        elif c.now == c.beat:
            _beat(state)
        else:
            _wake(state)
    return MORE

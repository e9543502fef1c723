"""The machine of the non-preemptive orders: running and waiting jobs, how they start and end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.pool.engine import (
    BLOCKING,
    FIXED,
    INSTANT,
    WORKLOAD,
    Record,
    clock,
    end_time,
)
from onega.kernels.pool.rates import control_departure, count_running, uncount_running
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.ends import ends_pop, ends_push
from onega.kernels.structures.heap import Heap
from onega.kernels.structures.profile import Profile
from onega.kernels.structures.sorted_runs import Runs, runs_add, runs_take
from onega.kernels.structures.waiting_line import Waiting
from onega.kernels.types import Floats, Records

RUNNING = record(
    end=REAL,
    expected=REAL,
    seq=WHOLE,
    job=WHOLE,
    procs=WHOLE,
)
"""A running job: the work clock at its end and at its expected end, the number of its start. All
that is needed when it ends, so that nothing has to be looked up at random."""

KEYED_JOB = record(
    job=WHOLE,
    key=REAL,
)
"""A waiting job of an order by key, and its key at this pass."""


class State(NamedTuple):
    """Everything a loop needs; arrays only, so that it can stop and go on.

    ``machine``: one record of rules and counters; ``jobs`` with their starts and ends; ``levels``
    of the rate and uniform ``draws`` (2j at job j's arrival, 2j+1 at its departure); ``running``: a
    heap by ``end``; ``ends``: running jobs that still count in W, by their known ends
    (`onega.kernels.pool.rates`); ``runs``: processors by expected end; ``waiting``: the queue of
    ranked orders, ``queue`` that of keyed ones; ``profile``: what conservative backfilling has
    planned; ``due``: running jobs that end now; ``log`` of changes of rate.
    """

    machine: Records
    jobs: Records
    levels: Records
    draws: Floats
    running: Records
    ends: Heap
    runs: Runs
    waiting: Waiting
    profile: Profile
    queue: Records
    due: Records
    log: Records


@compiled
def start_job(state: State, number: int) -> None:
    """Give a job its processors now."""
    m = state.machine[0]
    job = state.jobs[number]
    v = clock(m)
    expected = v + job.expect
    at = state.running[ends_push(state.running, m.running, v + job.work)]
    at.expected = expected
    at.seq = m.sequence
    at.job = number
    at.procs = job.procs
    m.running += 1
    m.sequence += 1
    m.free -= job.procs
    job.start = m.now
    if m.backfill != BLOCKING:
        runs_add(state.runs, expected, job.procs)
    if m.control == WORKLOAD:
        m.known_waiting -= job.expect
        count_running(m, state.ends, number, expected)


@part
def first_end(state: State) -> float:
    """Return where the work clock stands at the next completion; ∞ if no job runs."""
    return state.running[0].end if state.machine[0].running > 0 else np.inf


@part
def collect_due(state: State) -> int:
    """Take the jobs that end now out of the heap, in the order in which they started."""
    m, running, due = state.machine[0], state.running, state.due
    count = 0
    while m.running > 0 and end_time(m, running[0].end) <= m.now:
        place = count
        while place > 0 and due[place - 1].seq > running[0].seq:
            due[place] = due[place - 1]
            place -= 1
        due[place] = running[0]
        m.running -= 1
        ends_pop(running, m.running)
        count += 1
    return count


@part
def ends_as_expected(job: Record) -> bool:
    """Whether a job ends at the very instant that the scheduler has expected all along."""
    return job.expect == job.work


@part
def release_expected(state: State, ending: int) -> int:
    """Ties by event: the processors of jobs that end now, as expected, are free from now on.

    Their own events, which follow, end them (`end_job`). Returns the number of such jobs.
    """
    released = 0
    for index in range(ending):
        if ends_as_expected(state.jobs[state.due[index].job]):
            free_processors(state, index)
            released += 1
    return released


@part
def free_processors(state: State, index: int) -> None:
    """Take the processors of a job that ends now back."""
    m, ending = state.machine[0], state.due[index]
    m.free += ending.procs
    m.shadow = -np.inf
    if m.backfill != BLOCKING:
        runs_take(state.runs, ending.expected, ending.procs)


@compiled
def end_job(state: State, index: int) -> None:
    """Let a job that has done its work leave, and decide on the rate."""
    m, number = state.machine[0], state.due[index].job
    job = state.jobs[number]
    job.end = m.now
    m.departed += 1
    if m.ties == INSTANT or not ends_as_expected(job):
        free_processors(state, index)
    if m.control != FIXED:
        if m.control == WORKLOAD:
            uncount_running(m, state.ends, number)
        control_departure(m, state.levels, state.draws, state.log, number)

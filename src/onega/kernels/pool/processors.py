"""The machine of the non-preemptive orders: running and waiting jobs, how they start and end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import by_reference, kernel, part
from onega.kernels.pool.engine import (
    BLOCKING,
    FIXED,
    INSTANT,
    WORKLOAD,
    Record,
    clock,
)
from onega.kernels.pool.rates import control_departure, count_running, uncount_running
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.heap import Heap, heap_push
from onega.kernels.structures.profile import Profile, profile_room
from onega.kernels.structures.sorted_runs import Runs, runs_add, runs_take
from onega.kernels.structures.waiting_line import Waiting, waiting_add
from onega.kernels.types import Floats, Ints, Records

SLOT = record(
    job=WHOLE,
    expected=REAL,
    spare=WHOLE,
)
"""A running job sits in a slot: which one, when it is expected to end; a stack of spare slots."""

KEYED_JOB = record(
    job=WHOLE,
    key=REAL,
)
"""A waiting job of an order by key, and its key at this pass."""


class State(NamedTuple):
    """Everything a loop needs; arrays only, so that it can stop and go on.

    ``machine``: one record of rules and counters; ``jobs`` with their starts and ends; ``levels``
    of the rate and uniform ``draws`` (2j at job j's arrival, 2j+1 at its departure); ``heap``:
    running slots by the work clock at their end; ``ends``: those that still count in W by their
    known end (`onega.kernels.pool.workload`); ``runs``: processors by expected end;
    ``waiting``: the queue of ranked orders, ``queue`` that of keyed ones; ``profile``: what
    conservative backfilling has planned; ``due``: those that end now; ``log`` of changes of rate.
    """

    machine: Records
    jobs: Records
    levels: Records
    draws: Floats
    heap: Heap
    ends: Heap
    runs: Runs
    waiting: Waiting
    profile: Profile
    slots: Records
    queue: Records
    due: Records
    log: Records


@part
def has_plan_room(state: State, adding: int) -> bool:
    """Tell whether the plan has room for all jobs in the system and so many newcomers."""
    changes = state.machine[0].arrived - state.machine[0].departed + adding
    return changes <= profile_room(state.profile)


@part
def start_job(state: State, number: int) -> None:
    """Give a job its processors now."""
    m = state.machine[0]
    job = state.jobs[number]
    v = clock(m)
    m.spare -= 1
    slot = state.slots[m.spare].spare
    state.slots[slot].job = number
    heap_push(state.heap, slot, v + job.work, m.sequence)
    m.sequence += 1
    m.free -= job.procs
    m.running += 1
    job.start = m.now
    if m.backfill != BLOCKING:
        expected = v + job.expect
        state.slots[slot].expected = expected
        runs_add(state.runs, expected, job.procs)
    if m.control == WORKLOAD:
        m.known_waiting -= job.expect
        count_running(m, state.ends, slot, v + job.expect)


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
        slot = state.due[index].slot
        if ends_as_expected(state.jobs[state.slots[slot].job]):
            free_processors(state, slot)
            released += 1
    return released


@part
def free_processors(state: State, slot: int) -> None:
    """Take the processors of the job in a slot back."""
    m = state.machine[0]
    procs = state.jobs[state.slots[slot].job].procs
    m.free += procs
    m.shadow = -np.inf
    if m.backfill != BLOCKING:
        runs_take(state.runs, state.slots[slot].expected, procs)


@part
def end_job(state: State, index: int) -> None:
    """Let a job that has done its work leave, and decide on the rate."""
    m = state.machine[0]
    slot = state.due[index].slot
    number = state.slots[slot].job
    job = state.jobs[number]
    job.end = m.now
    m.running -= 1
    m.departed += 1
    state.slots[m.spare].spare = slot
    m.spare += 1
    if m.ties == INSTANT or not ends_as_expected(job):
        free_processors(state, slot)
    if m.control != FIXED:
        if m.control == WORKLOAD:
            uncount_running(m, state.ends, slot)
        control_departure(m, state.levels, state.draws, state.log, number)


@kernel
def load(state: State, running: Ints, waiting: Ints) -> None:
    """Fill an empty machine: jobs that run, in the order of their starts, and jobs that wait."""
    state = by_reference(state)
    m = state.machine[0]
    now = m.now
    for number in running:
        m.now = state.jobs[number].start
        start_job(state, number)
    m.now = now
    for number in waiting:
        job = state.jobs[number]
        waiting_add(state.waiting, job.rank, job.procs, job.expect)

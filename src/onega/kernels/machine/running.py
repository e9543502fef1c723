"""Jobs on processors: starts, launches, work, and what happens when they come off."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, shift
from onega.kernels.machine.changes import first_after
from onega.kernels.machine.codes import STARTED
from onega.kernels.machine.dips import lower_dips
from onega.kernels.machine.log import note
from onega.kernels.machine.nodes import drop_links, held_by, hold, keep_found
from onega.kernels.machine.plan import void
from onega.kernels.machine.sleep import pop_idle, push_idle, rest_nodes, take_node
from onega.kernels.machine.state import LAUNCHES, WORKS, Machine, Record
from onega.kernels.machine.usage import count_in, hold_usage
from onega.kernels.pool.engine import WORKLOAD
from onega.kernels.pool.engine import clock as work_clock
from onega.kernels.pool.rates import count_running, uncount_running
from onega.kernels.structures.heap import heap_push


@compiled
def work_left(m: Machine, job: Record, option: int) -> float:
    """Return what is left of a job's work in some shape."""
    return m.options[option].work - job.saved


@compiled
def expect_left(m: Machine, job: Record, option: int) -> float:
    """Return what the scheduler expects to be left of it."""
    return max(m.options[option].expect - job.saved, 0.0)


@compiled
def _add_end(m: Machine, number: int, time: float) -> None:
    """Enter a job's expected end; equal ones in the order of starts."""
    clock, ends = m.clock[0], m.ends
    place = first_after(ends, clock.ends, time)
    shift(ends, place + 1, place, clock.ends - place)
    ends[place].time = time
    ends[place].job = number
    m.jobs[number].expected = time
    clock.ends += 1


@compiled
def _remove_end(m: Machine, number: int) -> None:
    clock, ends = m.clock[0], m.ends
    place = first_after(ends, clock.ends, m.jobs[number].expected) - 1
    while ends[place].job != number:
        place -= 1
    clock.ends -= 1
    shift(ends, place, place + 1, clock.ends - place)


@compiled
def occupy(m: Machine, number: int, option: int, expected: float) -> None:
    """Give a job the nodes found last."""
    clock, job = m.clock[0], m.jobs[number]
    part = m.partitions[job.partition]
    job.option, job.seq, job.link = option, clock.sequence, keep_found(m)
    job.held = held_by(m, part, job.link, m.options[option].chunk)
    lower_dips(m, part, job.link, option, work_clock(clock), expected)
    hold(m, job, -1)
    procs = m.options[option].procs
    count_in(m, job, 1, procs)
    if m.rules[0].factors > 0:
        hold_usage(m, job.user, procs)
    _add_end(m, number, expected)
    attempt = m.logs.attempts[clock.sequence]
    attempt.job = number
    attempt.start = clock.now
    attempt.wake = 0.0
    attempt.begin = np.nan
    attempt.end = np.nan
    clock.sequence += 1


@compiled
def _wake(m: Machine, part: Record, procs: int) -> float:
    """Wake the processors found last; return how long that takes."""
    if m.rules[0].pooled:
        return pop_idle(m, part, procs)
    wake = 0.0
    for k in range(m.placed[0].nodes):
        wake = max(wake, take_node(m, m.found[k].node))
    return wake


@compiled
def start(m: Machine, number: int, option: int) -> None:
    """Start a waiting job on the nodes found last."""
    clock, job = m.clock[0], m.jobs[number]
    wake = 0.0
    if m.rules[0].sleeps > 0:
        wake = _wake(m, m.partitions[job.partition], m.options[option].procs)
    occupy(m, number, option, work_clock(clock) + expect_left(m, job, option))
    if np.isnan(job.start):
        job.start = clock.now
        if clock.control == WORKLOAD and option != job.first_option:
            clock.known_waiting -= expect_left(m, job, job.first_option)
            clock.known_waiting += expect_left(m, job, option)
    clock.waiting -= 1
    clock.launching += 1
    note(m, STARTED, number, -1)
    m.logs.attempts[job.seq].wake = wake
    if wake + job.launch > 0.0:
        job.phase = LAUNCHES
        heap_push(m.time, number, clock.now + wake + job.launch, job.seq)
    else:
        begin_work(m, number)


@compiled
def begin_work(m: Machine, number: int) -> None:
    """Begin a job's work now: its launch is over."""
    clock, job = m.clock[0], m.jobs[number]
    job.phase = WORKS
    m.logs.attempts[job.seq].begin = clock.now
    job.begun = work_clock(clock)
    heap_push(m.work, number, job.begun + work_left(m, job, job.option), job.seq)
    clock.launching -= 1
    if clock.control == WORKLOAD:
        known = expect_left(m, job, job.option)
        clock.known_waiting -= known
        count_running(clock, m.known, number, job.begun + known)


@compiled
def stop_work(m: Machine, number: int) -> None:
    """Count a job no longer as working: done, or interrupted."""
    if m.clock[0].control == WORKLOAD:
        uncount_running(m.clock[0], m.known, number)


@compiled
def release(m: Machine, number: int) -> None:
    """Take a job off its processors; it is in no heap any more."""
    clock, job = m.clock[0], m.jobs[number]
    procs = m.options[job.option].procs
    _remove_end(m, number)
    hold(m, job, 1)
    if m.rules[0].sleeps > 0:
        if m.rules[0].pooled:
            push_idle(m, m.partitions[job.partition], clock.now, procs)
        else:
            rest_nodes(m, job.link)
    drop_links(m, job.link)
    count_in(m, job, -1, -procs)
    if m.rules[0].factors > 0:
        hold_usage(m, job.user, -procs)
    m.logs.attempts[job.seq].end = clock.now
    clock.pass_due = 1
    void(m)

"""How jobs leave: done, interrupted, killed, cancelled, dropped."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled
from onega.kernels.machine import codes
from onega.kernels.machine.log import note
from onega.kernels.machine.queue import dequeue, enqueue
from onega.kernels.machine.running import expect_left, release, stop_work
from onega.kernels.machine.state import AHEAD, COMPLETES, GONE, WAITS, WORKS, Machine
from onega.kernels.pool.engine import FIXED, WORKLOAD
from onega.kernels.pool.engine import clock as work_clock
from onega.kernels.pool.rates import control_departure
from onega.kernels.structures.heap import heap_push, heap_remove


@compiled
def _close(m: Machine, number: int, state: int) -> None:
    """Let a job be gone."""
    job = m.jobs[number]
    job.phase = GONE
    job.state = state
    job.end = m.clock[0].now
    m.clock[0].gone += 1
    note(m, codes.END_EVENTS[state], number, -1)


@compiled
def _next_dropped(m: Machine, number: int) -> int:
    """Return the next job that waits for this one's end and isn't gone; −1: none."""
    child = m.jobs[number].child
    while child >= 0 and m.jobs[child].phase != AHEAD:
        child = m.jobs[child].sibling
    return child


@compiled
def _drop_children(m: Machine, number: int) -> None:
    """Drop the jobs that depend on one that didn't end well, and those that depend on them."""
    top = number
    # Depth first without a stack: a job that never runs has no link, so that one has the way back.
    while True:
        child = _next_dropped(m, number)
        if child >= 0:
            _close(m, child, codes.DROPPED)
            m.jobs[child].link = number
            number = child
        elif number == top:
            return
        else:
            number = m.jobs[number].link


@compiled
def depart(m: Machine, number: int, state: int) -> None:
    """Let a job leave for good, with what that means for its dependents and for the rate."""
    clock = m.clock[0]
    was_in = m.jobs[number].phase != AHEAD
    _close(m, number, state)
    if state <= codes.TIMEOUT:
        child = m.jobs[number].child
        while child >= 0:
            if m.jobs[child].phase == AHEAD:
                heap_push(m.dependents, child, clock.now + m.jobs[child].think, child)
            child = m.jobs[child].sibling
    else:
        _drop_children(m, number)
    if was_in:
        clock.departed += 1
        if clock.control != FIXED:
            control_departure(clock, m.levels, m.draws, m.logs.switches, number)


@compiled
def finish(m: Machine, number: int) -> None:
    """Let a job leave that has done its work; it is in no heap any more."""
    limited = m.options[m.jobs[number].option].limited > 0
    release(m, number)
    depart(m, number, codes.TIMEOUT if limited else codes.COMPLETED)


@compiled
def _take_off(m: Machine, number: int) -> float:
    """Take a job off its processors; return the work it has done (−1: all, and it has left)."""
    clock, job = m.clock[0], m.jobs[number]
    if job.phase == COMPLETES:
        heap_remove(m.time, number)
        finish(m, number)
        return -1.0
    done = 0.0
    if job.phase == WORKS:
        heap_remove(m.work, number)
        stop_work(m, number)
        done = work_clock(clock) - job.begun
    else:
        heap_remove(m.time, number)
        clock.launching -= 1
        if clock.control == WORKLOAD:
            clock.known_waiting -= expect_left(m, job, job.option)
    release(m, number)
    return done


@compiled
def interrupt(m: Machine, number: int, node: int) -> None:
    """Interrupt a running job: what becomes of it is a rule of the machine."""
    clock, rules, job = m.clock[0], m.rules[0], m.jobs[number]
    done = _take_off(m, number)
    if done < 0.0:
        return
    kept = 0.0
    if rules.on_interrupt == codes.CHECKPOINT:
        kept = np.floor(done / rules.checkpoint) * rules.checkpoint
    job.saved += kept
    job.lost += done - kept
    note(m, codes.INTERRUPTED, number, node)
    if rules.on_interrupt == codes.LOSE:
        depart(m, number, codes.LOST)
        return
    job.phase = WAITS
    note(m, codes.REQUEUED, number, -1)
    enqueue(m, number)
    if clock.control == WORKLOAD:
        clock.known_waiting += expect_left(m, job, job.option)


@compiled
def kill(m: Machine, number: int) -> None:
    """Let a running job leave for good."""
    done = _take_off(m, number)
    if done >= 0.0:
        m.jobs[number].lost += done
        depart(m, number, codes.KILLED)


@compiled
def cancel(m: Machine, number: int) -> None:
    """Let a job leave that waits, or hasn't been submitted yet."""
    clock, job = m.clock[0], m.jobs[number]
    if job.phase == AHEAD:
        depart(m, number, codes.CANCELLED)
        return
    dequeue(m, number)
    if clock.control == WORKLOAD:
        clock.known_waiting -= expect_left(m, job, max(job.option, job.first_option))
    depart(m, number, codes.CANCELLED if np.isnan(job.start) else codes.KILLED)

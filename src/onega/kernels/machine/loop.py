"""One portion of a run of the machine in detail: what happens at each instant, in its order.

1. Launches that are over: work begins. 2. Completions, in the order of their starts. 3. The table's
events, the calendar, wake-ahead timers. 4. Submissions by row. 5. A scheduling pass, if a job left,
something happened to the machine, or a job came. Each arrival and departure is followed by the
decision of the rate control.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import by_reference, compiled, kernel
from onega.kernels.machine.codes import DOWN, IDLE, SUBMITTED
from onega.kernels.machine.events import next_event, take_calendar, take_events
from onega.kernels.machine.leave import finish
from onega.kernels.machine.log import has_room, note, note_stretch
from onega.kernels.machine.placement import place
from onega.kernels.machine.plan import forget, void
from onega.kernels.machine.queue import enqueue
from onega.kernels.machine.running import begin_work, expect_left, occupy, stop_work, work_left
from onega.kernels.machine.schedule import schedule
from onega.kernels.machine.sleep import fire_timers, next_timer, pop_idle
from onega.kernels.machine.state import (
    AHEAD,
    COMPLETES,
    LAUNCHES,
    NONE,
    WAITS,
    WORKS,
    KeyFunction,
    Machine,
)
from onega.kernels.machine.usage import priority_key, unit
from onega.kernels.pool.engine import (
    DONE,
    FIXED,
    LOG_FULL,
    MORE,
    WORKLOAD,
    add_due,
    end_time,
)
from onega.kernels.pool.engine import clock as work_clock
from onega.kernels.pool.rates import advance, control_arrival, count_running
from onega.kernels.structures.heap import heap_pop, heap_push
from onega.kernels.types import Ints


@compiled
def _next_submission(m: Machine) -> float:
    """Return when the next job is submitted by the clock; ∞: none."""
    clock, jobs = m.clock[0], m.jobs
    while clock.next_job < jobs.size and (
        jobs[clock.next_job].after >= 0 or jobs[clock.next_job].phase != AHEAD
    ):
        clock.next_job += 1
    return jobs[clock.next_job].submit if clock.next_job < jobs.size else np.inf


@compiled
def _next_dependent(m: Machine) -> float:
    """Return when the first job is submitted that waited for another's end; ∞: none.

    One that was cancelled meanwhile isn't: nothing happens then.
    """
    while m.dependents.size[0] > 0 and m.jobs[m.dependents.entry[0].slot].phase != AHEAD:
        heap_pop(m.dependents)
    return m.dependents.entry[0].key if m.dependents.size[0] > 0 else np.inf


@compiled
def _next_time(m: Machine) -> float:
    """Return when something happens next; ∞ if nothing does."""
    clock = m.clock[0]
    following = np.inf
    if m.work.size[0] > 0:
        following = end_time(clock, m.work.entry[0].key)
    if m.time.size[0] > 0:
        following = min(following, m.time.entry[0].key)
    following = min(following, _next_dependent(m))
    following = min(following, _next_submission(m))
    following = min(following, next_event(m))
    return max(min(following, next_timer(m)), clock.now)


@compiled
def _completions(m: Machine) -> None:
    """Begin the work of launched jobs, begin completions, end jobs in the order of their starts."""
    clock, count = m.clock[0], 0
    while m.time.size[0] > 0 and m.time.entry[0].key <= clock.now:
        number = heap_pop(m.time)
        if m.jobs[number].phase == LAUNCHES:
            begin_work(m, number)
        else:
            add_due(m.due, count, m.jobs[number].seq, number)
            count += 1
    while m.work.size[0] > 0 and end_time(clock, m.work.entry[0].key) <= clock.now:
        number = heap_pop(m.work)
        job = m.jobs[number]
        stop_work(m, number)
        job.phase = COMPLETES
        if job.completion > 0.0:
            heap_push(m.time, number, clock.now + job.completion, job.seq)
        else:
            add_due(m.due, count, m.jobs[number].seq, number)
            count += 1
    for k in range(count):
        finish(m, m.due[k].slot)


@compiled
def _submit(m: Machine, number: int, time: float) -> None:
    """Let a job come, and wait for the next pass."""
    clock, job = m.clock[0], m.jobs[number]
    job.submitted = time
    job.phase = WAITS
    clock.arrived += 1
    clock.pass_due = 1
    note(m, SUBMITTED, number, NONE)
    if m.rules[0].factors > 0:
        job.key = priority_key(m, number, unit(m))
    if clock.control != FIXED:
        if clock.control == WORKLOAD:
            clock.known_waiting += expect_left(m, job, job.first_option)
        control_arrival(clock, m.levels, m.draws, m.logs.switches, number)
    enqueue(m, number)


@compiled
def _submissions(m: Machine) -> None:
    """Let all jobs come whose time it is, by row."""
    clock, jobs = m.clock[0], m.jobs
    while True:
        dependent = m.dependents.entry[0].slot if _next_dependent(m) <= clock.now else jobs.size
        by_clock = clock.next_job if _next_submission(m) <= clock.now else jobs.size
        if dependent < by_clock:
            _submit(m, dependent, clock.now)
        elif by_clock < jobs.size:
            clock.next_job += 1
            _submit(m, by_clock, jobs[by_clock].submit)
        else:
            return


@compiled
def _instant(m: Machine, own: KeyFunction) -> int:
    """Everything that happens now; MORE, BAD_KEY, or QUEUE_FULL (then call `schedule` again)."""
    clock = m.clock[0]
    _completions(m)
    take_events(m)
    take_calendar(m)
    if m.rules[0].wake_ahead > 0:
        fire_timers(m)
    _submissions(m)
    result = MORE
    if clock.pass_due > 0:
        result = schedule(m, own)
    if clock.control == WORKLOAD and clock.waiting + clock.launching == 0:
        clock.known_waiting = 0.0
    return result


@compiled
def _close(m: Machine) -> None:
    """Write down the stretches that last to the end of the run."""
    clock, rules = m.clock[0], m.rules[0]
    for n in range(m.nodes.size):
        node = m.nodes[n]
        if node.up == 0:
            note_stretch(m, DOWN, node.down_since, clock.now, node.cores, NONE, n)
        elif rules.sleeps > 0 and rules.pooled == 0 and node.jobs == 0:
            note_stretch(m, IDLE, node.since, clock.now, node.cores, NONE, n)
    if rules.sleeps > 0 and rules.pooled > 0:
        for k in range(m.partitions.size):
            part = m.partitions[k]
            for at in range(part.stack, part.stack + part.entries):
                idle = m.idle[at]
                note_stretch(m, IDLE, idle.since, clock.now, idle.procs, NONE, part.first)


@kernel
def run(m: Machine, own: KeyFunction, rounds: int) -> int:
    """Go through at most ``rounds`` instants; return why it stopped.

    DONE: all jobs have left, or nothing can happen any more; MORE: call again; LOG_FULL,
    QUEUE_FULL: make the logs, or the plan, larger, then call again; BAD_KEY: the priority function
    gave NaN for job ``culprit``.
    """
    m = by_reference(m)
    clock = m.clock[0]
    for _ in range(rounds):
        if clock.serving >= 0:  # a pass that needed more space goes on
            result = schedule(m, own)
            if result != MORE:
                return result
            clock.pass_due = 0
        following = _next_time(m)
        if not has_room(m):
            return LOG_FULL
        if clock.gone == m.jobs.size or (following == np.inf and clock.control != WORKLOAD):
            _close(m)
            return DONE
        level = clock.level
        if not advance(clock, m.levels, m.logs.switches, m.known, following):
            _close(m)
            return DONE
        if clock.level != level:
            clock.pass_due = 1
        result = _instant(m, own)
        if result != MORE:
            return result
        clock.pass_due = 0
    return MORE


@kernel
def load(m: Machine, initial: Ints) -> int:
    """Put jobs onto an empty machine that run at the beginning; return one that doesn't fit, or −1."""  # noqa: E501
    m = by_reference(m)
    clock = m.clock[0]
    forget(m)
    v = work_clock(clock)
    for number in initial:
        job = m.jobs[number]
        part, option = m.partitions[job.partition], job.first_option
        for g in range(m.resources.size):
            if m.demand[option, g] > m.resources[g].free:
                return number
        if not place(m, part, m.free, option, -np.inf, np.inf):
            return number
        if m.rules[0].sleeps > 0 and m.rules[0].pooled > 0:
            pop_idle(m, part, m.options[option].procs)
        done = job.saved
        job.saved = 0.0
        job.begun = v - done
        occupy(m, number, option, job.begun + expect_left(m, job, option))
        attempt = m.logs.attempts[job.seq]
        attempt.start = attempt.begin = job.start
        job.submitted = job.submit
        job.phase = WORKS
        heap_push(m.work, number, job.begun + work_left(m, job, option), job.seq)
        clock.arrived += 1
        if clock.control == WORKLOAD:
            known_end = max(v, job.begun + expect_left(m, job, option))
            count_running(clock, m.known, number, known_end)
    void(m)
    return -1

"""How jobs leave: ends, interruptions, cancellations, and what becomes of those that depend on them."""  # noqa: E501

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, small
from onega.kernels.detailed_codes import (
    CANCELLED,
    CHECKPOINT,
    COMPLETED,
    DROPPED,
    ENDED_CANCELLED,
    ENDED_COMPLETED,
    ENDED_DROPPED,
    ENDED_KILLED,
    ENDED_LOST,
    ENDED_TIMEOUT,
    INTERRUPTED,
    KILLED,
    LOSE,
    LOST,
    REQUEUED,
    TIMEOUT,
)
from onega.kernels.detailed_hold import release, stop_work
from onega.kernels.detailed_next import remove
from onega.kernels.detailed_queue import queue_add, queue_remove, work_left
from onega.kernels.detailed_sleep import note
from onega.kernels.detailed_state import (
    AHEAD,
    COMPLETING,
    GONE,
    LATER,
    LAUNCHING,
    TIME,
    WAITING,
    WORK,
    Record,
    attempts,
    heap_entries,
    heap_size,
    rate_levels,
    rate_switches,
    slots,
)
from onega.kernels.engine import FIXED, WORKLOAD, clock, control_departure, end_time
from onega.kernels.heap import Heap, heap_push


@small
def depart(s: Record, job: int) -> None:
    """Decide on the rate after a submitted job has left for good."""
    s.departed += 1
    if s.control != FIXED:
        levels = rate_levels(s.rates_at, s.levels)
        draws = floats(s.draws_at)
        control_departure(s, levels, draws, rate_switches(s.switches_at), job)


@small
def _close(s: Record, job: int, state: int, event: int) -> None:
    """Note a job's final state."""
    flags(s.phase_at)[job] = GONE
    ints(s.state_at)[job] = state
    floats(s.ended_at)[job] = s.now
    s.gone += 1
    note(s, event, job, -1)


@callee
def _drop_dependents(s: Record, job: int) -> None:
    """Drop all who wait for a job that failed them, depth first, by row."""
    first, following = ints(s.first_dependent_at), ints(s.next_dependent_at)
    after = ints(s.after_at)
    one = first[job]
    while one >= 0:
        fresh = flags(s.phase_at)[one] == AHEAD
        if fresh:
            _close(s, one, DROPPED, ENDED_DROPPED)
            s.pending -= 1
        if fresh and first[one] >= 0:
            one = first[one]
            continue
        while following[one] < 0 and after[one] != job:
            one = after[one]
        one = following[one]


@callee
def _free_dependents(s: Record, job: int) -> None:
    """Let those who wait for a job's end be submitted, each after its think time."""
    one = ints(s.first_dependent_at)[job]
    while one >= 0:
        if flags(s.phase_at)[one] == AHEAD:
            heap = Heap(heap_entries(s.later_heap_at), heap_size(s.sizes_at, LATER))
            heap_push(heap, ints(s.dependent_at)[one], s.now + floats(s.think_at)[one], one)
        one = ints(s.next_dependent_at)[one]


@callee
def _end_job(s: Record, place: int) -> None:
    """Let a job leave that has done its work."""
    end_job_here(s, place)


@small
def end_job_here(s: Record, place: int) -> None:
    """Let a job leave that has done its work, without a call; it is in no heap any more."""
    job = slots(s.slots_at)[place].job
    release(s, place)
    if flags(s.limited_at)[job]:
        _close(s, job, TIMEOUT, ENDED_TIMEOUT)
    else:
        _close(s, job, COMPLETED, ENDED_COMPLETED)
    depart(s, job)
    if s.dependents:
        _free_dependents(s, job)


@callee
def _leave_for_good(s: Record, job: int, state: int, event: int) -> None:
    """Let a submitted job leave without success."""
    _close(s, job, state, event)
    depart(s, job)
    if s.dependents:
        _drop_dependents(s, job)


@small
def _is_completing(s: Record, job: int) -> bool:
    """Tell whether a job's work is done: at a fixed rate its phase was foreseen at the start."""
    if flags(s.phase_at)[job] != COMPLETING:
        return False
    slot = slots(s.slots_at)[ints(s.slot_of_at)[job]]
    begin = attempts(s.attempts_at)[slot.seq].begin
    return s.control != FIXED or (begin <= s.now and end_time(s, slot.key) <= s.now)


@callee
def _take_off_foreseen(s: Record, job: int) -> float:
    """Do the same as `_take_off` where the job's end was foreseen at its start."""
    place = ints(s.slot_of_at)[job]
    slot = slots(s.slots_at)[place]
    if flags(s.phase_at)[job] == COMPLETING:
        remove(s, TIME, place)
    else:
        remove(s, WORK, place)
        stop_work(s, place)
    attempt = attempts(s.attempts_at)[slot.seq]
    done = 0.0
    if attempt.begin > s.now:
        attempt.begin = np.nan
    else:
        done = clock(s) - slot.begun
    release(s, place)
    return done


@callee
def _take_off(s: Record, job: int) -> float:
    """Take a job off its processors before its work is done; return the work done."""
    if s.control == FIXED:
        return _take_off_foreseen(s, job)
    place = ints(s.slot_of_at)[job]
    done = 0.0
    left = work_left(s, job, slots(s.slots_at)[place].option)
    if flags(s.phase_at)[job] == LAUNCHING:
        remove(s, TIME, place)
        s.launching -= 1
        if s.control == WORKLOAD:
            s.work_waiting -= left
    else:
        remove(s, WORK, place)
        done = clock(s) - slots(s.slots_at)[place].begun
        stop_work(s, place)
    release(s, place)
    return done


@callee
def interrupt(s: Record, job: int, node: int) -> None:
    """Interrupt a job on processors: lost, requeued, or back to its last checkpoint."""
    if _is_completing(s, job):
        place = ints(s.slot_of_at)[job]
        remove(s, TIME, place)
        _end_job(s, place)
        return
    done = _take_off(s, job)
    note(s, INTERRUPTED, job, node)
    if s.on_interrupt == LOSE:
        floats(s.lost_at)[job] += done
        _leave_for_good(s, job, LOST, ENDED_LOST)
        return
    saving = 0.0
    if s.on_interrupt == CHECKPOINT:
        saving = np.floor(done / s.checkpoint) * s.checkpoint
    floats(s.saved_at)[job] += saving
    floats(s.lost_at)[job] += done - saving
    flags(s.phase_at)[job] = WAITING
    if s.control == WORKLOAD:
        s.work_waiting += work_left(s, job, ints(s.option_at)[job])
    queue_add(s, job)
    note(s, REQUEUED, job, -1)


@callee
def kill(s: Record, job: int) -> None:
    """Kill a job on processors; if its work is done it ends as usual."""
    if _is_completing(s, job):
        place = ints(s.slot_of_at)[job]
        remove(s, TIME, place)
        _end_job(s, place)
        return
    floats(s.lost_at)[job] += _take_off(s, job)
    _leave_for_good(s, job, KILLED, ENDED_KILLED)


@callee
def cancel(s: Record, job: int) -> None:
    """Let a job leave that waits, or hasn't been submitted yet."""
    if flags(s.phase_at)[job] == AHEAD:
        if ints(s.after_at)[job] >= 0:
            s.pending -= 1
        _close(s, job, CANCELLED, ENDED_CANCELLED)
        if s.dependents:
            _drop_dependents(s, job)
        return
    queue_remove(s, job)
    if s.control == WORKLOAD:
        option = ints(s.option_at)[job]
        s.work_waiting -= work_left(s, job, max(option, ints(s.first_option_at)[job]))
    if np.isnan(floats(s.start_at)[job]):
        _leave_for_good(s, job, CANCELLED, ENDED_CANCELLED)
    else:
        _leave_for_good(s, job, KILLED, ENDED_KILLED)

"""Jobs on processors: starts, phases, expected ends.

A job on processors sits in a slot with its allocation (a chain of links) and its expected end on
the work clock. It waits for one thing at a time: by time while it is launched or completed, by the
clock while it works. At a fixed rate all that is known at the start, and only the end makes an
instant (`_foresee`): the job stands at once where its end will be told.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, move, small
from onega.kernels.detailed_allocate import allocate, give_back
from onega.kernels.detailed_codes import STARTED
from onega.kernels.detailed_deepen import raise_dips
from onega.kernels.detailed_next import push
from onega.kernels.detailed_queue import known_left, work_left
from onega.kernels.detailed_sleep import note, pop_idle, push_idle, take_node
from onega.kernels.detailed_state import (
    COMPLETING,
    ENDS,
    LAUNCHING,
    TIME,
    WORK,
    WORKING,
    Record,
    attempts,
    ends,
    gots,
    slots,
)
from onega.kernels.detailed_usage import count_in, hold_usage
from onega.kernels.engine import FIXED, WORKLOAD, clock, end_time

FEW = 16
"""Entries of a sorted table that are looked through one by one: that takes one loop whose end can't
be foreseen, where halving takes several."""


@small
def _expect_end(s: Record, slot: int, expected: float, amount: float) -> None:
    """Enter an expected end, behind equal ones."""
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    low, near = size, max(0, size - FEW)
    while low > near and table[low - 1].expected > expected:
        table[low] = table[low - 1]
        low -= 1
    if low == near and near > 0:
        low, high = 0, near
        while low < high:
            middle = (low + high) >> 1
            if table[middle].expected <= expected:
                low = middle + 1
            else:
                high = middle
        move(table, low + 1, low, near - low)
    table[low].expected = expected
    table[low].amount = amount
    if s.shared == 1:
        table[low].demand = floats(s.demand_at)[slots(s.slots_at)[slot].option]
    table[low].slot = slot
    ints(s.sizes_at)[ENDS] = size + 1


@small
def _forget_end(s: Record, slot: int) -> None:
    """Take a slot's expected end out; who ends was mostly expected to do so soon."""
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    low, near = 0, min(size, FEW)
    while low < near and table[low].slot != slot:
        low += 1
    if low == near:
        expected = slots(s.slots_at)[slot].expected
        high = size
        while low < high:
            middle = (low + high) >> 1
            if table[middle].expected < expected:
                low = middle + 1
            else:
                high = middle
    while table[low].slot != slot:
        low += 1
    move(table, low, low + 1, size - 1 - low)
    ints(s.sizes_at)[ENDS] = size - 1


@small
def take(s: Record, number: int, job: int, option: int) -> int:
    """Give a job a slot and the nodes found last; its accounts and user hold them from now on."""
    s.spare_slot -= 1
    place = slots(s.slots_at)[s.spare_slot].spare
    slot = slots(s.slots_at)[place]
    slot.job = job
    slot.option = option
    slot.partition = number
    slot.seq = s.sequence
    ints(s.slot_of_at)[job] = place
    ints(s.option_at)[job] = option
    allocate(s, number, place, option)
    procs = ints(s.procs_at)[option]
    if s.accounts > 0:
        count_in(s, job, 1, procs)
    if s.factors:
        hold_usage(s, job, float(procs))
    attempt = attempts(s.attempts_at)[s.sequence]
    attempt.job = job
    attempt.start = s.now
    attempt.wake = 0.0
    attempt.begin = np.nan
    attempt.end = np.nan
    s.sequence += 1
    s.holding += 1
    return place


@small
def expect_end(s: Record, place: int, expected: float) -> None:
    """Note when a job is expected to end."""
    slot = slots(s.slots_at)[place]
    slot.expected = expected
    amount = ints(s.chunks_at)[slot.option] * floats(s.chunk_at)[slot.option * s.pitch]
    _expect_end(s, place, expected, amount)


@small
def _wake(s: Record, number: int, procs: int) -> float:
    """Wake the processors found last; return how long that takes."""
    if s.pooled:
        return pop_idle(s, number, procs)
    delay = 0.0
    for place in range(s.got):
        delay = max(delay, take_node(s, gots(s.got_at)[place].node))
    return delay


@callee
def start(s: Record, number: int, job: int, option: int) -> None:
    """Start a waiting job on the nodes found last."""
    start_here(s, number, job, option)


@small
def start_here(s: Record, number: int, job: int, option: int) -> None:
    """Do that without a call."""
    wake = _wake(s, number, ints(s.procs_at)[option]) if s.sleeps > 0 else 0.0
    place = take(s, number, job, option)
    slot = slots(s.slots_at)[place]
    expect_end(s, place, clock(s) + known_left(s, job, option))
    if np.isnan(floats(s.start_at)[job]):
        floats(s.start_at)[job] = s.now
        if s.control == WORKLOAD and option != ints(s.first_option_at)[job]:
            s.work_waiting -= work_left(s, job, ints(s.first_option_at)[job])
            s.work_waiting += work_left(s, job, option)
    s.waiting -= 1
    s.launching += 1
    note(s, STARTED, job, -1)
    attempts(s.attempts_at)[slot.seq].wake = wake
    launch = floats(s.launch_at)[job]
    if s.control == FIXED:
        _foresee(s, place, s.now + wake + launch)
    elif wake + launch > 0.0:
        flags(s.phase_at)[job] = LAUNCHING
        push(s, TIME, place, s.now + wake + launch, slot.seq)
    else:
        begin_work(s, place)


@small
def _foresee(s: Record, place: int, begin: float) -> None:
    """Let a job's work begin at a time, at a fixed rate: nobody notices that, nor its completion.

    So it counts as working, or as completing, from now on; who takes it off its processors before
    its end looks at the time (`onega.kernels.detailed_leave`).
    """
    slot = slots(s.slots_at)[place]
    v = s.v0 + (begin - s.t0) * s.rate
    attempts(s.attempts_at)[slot.seq].begin = begin
    slot.begun = v
    slot.key = v + work_left(s, slot.job, slot.option)
    s.launching -= 1
    completion = floats(s.completion_at)[slot.job]
    if completion > 0.0:
        flags(s.phase_at)[slot.job] = COMPLETING
        push(s, TIME, place, max(begin, end_time(s, slot.key)) + completion, slot.seq)
    else:
        flags(s.phase_at)[slot.job] = WORKING
        push(s, WORK, place, slot.key, slot.seq)
        s.running += 1


@small
def begin_work(s: Record, place: int) -> None:
    """Begin the work now: the launch is over."""
    slot = slots(s.slots_at)[place]
    v = clock(s)
    left = work_left(s, slot.job, slot.option)
    flags(s.phase_at)[slot.job] = WORKING
    attempts(s.attempts_at)[slot.seq].begin = s.now
    slot.begun = v
    slot.key = v + left
    push(s, WORK, place, slot.key, slot.seq)
    s.launching -= 1
    s.running += 1
    if s.control == WORKLOAD:
        s.work_waiting -= left
        s.ends_running += slot.key


@small
def stop_work(s: Record, place: int) -> None:
    """Count a job no longer as working: done, or interrupted."""
    s.running -= 1
    if s.control == WORKLOAD:
        s.ends_running -= slots(s.slots_at)[place].key
        if s.running == 0:
            s.ends_running = 0.0


@small
def release(s: Record, place: int) -> None:
    """Take a job off its processors; it is in no heap any more."""
    slot = slots(s.slots_at)[place]
    procs = ints(s.procs_at)[slot.option]
    _forget_end(s, place)
    if s.dips > 0:
        raise_dips(s, place)
    give_back(s, place)
    if s.sleeps > 0 and s.pooled:
        push_idle(s, slot.partition, procs)
    if s.accounts > 0:
        count_in(s, slot.job, -1, -procs)
    if s.factors:
        hold_usage(s, slot.job, -float(procs))
    attempts(s.attempts_at)[slot.seq].end = s.now
    slots(s.slots_at)[s.spare_slot].spare = place
    s.spare_slot += 1
    s.holding -= 1
    s.pass_due = 1
    s.changed = 1

"""The one scheduling pass: FCFS, EASY, EASY with k reservations, conservative.

Jobs are gone through in the order of the queue. Those that can start beside all reservations do;
while reservations are left, those that can't get one. The number of reservations is the policy: 0
is FCFS (the first that can't start blocks), 1 EASY, no bound conservative.

A plan outlives its pass while nothing ends and none of its reservations is due: availability only
shrinks meanwhile. Places [0, decided) of a queue have been gone through while there were
reservations left, [decided, seen) can't start.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part, shift
from onega.kernels.machine.codes import MULTIFACTOR, STATIC
from onega.kernels.machine.plan import (
    earliest,
    fits_now,
    forget,
    has_space,
    may_fit,
    reserve,
    window_end,
)
from onega.kernels.machine.queue import renew_priorities, sort_by_time
from onega.kernels.machine.running import expect_left, start
from onega.kernels.machine.sleep import fire_timers, set_timers
from onega.kernels.machine.state import NONE, ONE_PASS, UNTIL_A_START, KeyFunction, Machine, Record
from onega.kernels.machine.usage import within_limits
from onega.kernels.pool.engine import BAD_KEY, MORE, QUEUE_FULL
from onega.kernels.pool.engine import clock as work_clock

STARTED, WAITS, BLOCKED, NO_SPACE = 0, 1, 2, 3
"""What becomes of a job in a pass."""


@compiled
def _is_allowed(m: Machine, job: Record, option: int) -> bool:
    return m.rules[0].limits == 0 or within_limits(m, job, m.options[option].procs)


@compiled
def _quickest(m: Machine, number: int, job: Record, first: int, count: int) -> int:
    """Return the option that can start now and is expected to be quickest.

    −1: there is none; −2: limits allow none.
    """
    best, shortest, allowed = NONE, np.inf, False
    for option in range(first, first + count):
        if not _is_allowed(m, job, option):
            continue
        allowed = True
        left = expect_left(m, job, option)
        better = left < shortest or (
            left == shortest and m.options[option].procs < m.options[best].procs
        )
        if better and fits_now(m, number, option, left):
            best, shortest = option, left
    return best if allowed else -2


@compiled
def _soonest(m: Machine, number: int, job: Record, first: int, count: int) -> tuple[int, float]:
    """Return the option that is expected to end first, now or later, and its begin; −1: none."""
    part, v = m.partitions[number], work_clock(m.clock[0])
    best, begin, end = NONE, np.inf, np.inf
    for option in range(first, first + count):
        if not _is_allowed(m, job, option):
            continue
        left = expect_left(m, job, option)
        if v + left > end:
            continue
        time = earliest(m, part, option, left, end)
        better = time + left < end or (
            time + left == end and best >= 0 and m.options[option].procs < m.options[best].procs
        )
        if time < np.inf and better:
            best, begin, end = option, time, time + left
    return best, begin


@compiled
def _reserve_for(m: Machine, number: int, job: Record, option: int, begin: float) -> None:
    """Reserve what `earliest` found last."""
    part = m.partitions[number]
    link = reserve(m, number, option, begin, begin + expect_left(m, job, option))
    if part.reserved == 0:
        part.begin, part.option, part.link = begin, option, link
    part.reserved += 1


@compiled
def _decide(m: Machine, number: int, who: int) -> int:
    """Start a job, reserve for it, or let it wait; whether it blocks those behind it."""
    part, job = m.partitions[number], m.jobs[who]
    first, count = job.first_option, job.options
    if job.option >= 0:
        first, count = job.option, 1
    if part.reserved >= part.reservations:
        option = _quickest(m, number, job, first, count)
        if option >= 0:
            if count > 1:
                fits_now(m, number, option, expect_left(m, job, option))
            start(m, who, option)
            return STARTED
        return BLOCKED if option == NONE and part.reservations == 0 else WAITS
    if not has_space(m, part):
        return NO_SPACE
    if count == 1:
        if not _is_allowed(m, job, first):
            return WAITS
        left = expect_left(m, job, first)
        if fits_now(m, number, first, left):
            start(m, who, first)
            return STARTED
        begin = earliest(m, part, first, left, np.inf)
        if begin < np.inf:
            _reserve_for(m, number, job, first, begin)
        return WAITS
    option, begin = _soonest(m, number, job, first, count)
    if option < 0:
        return WAITS
    left = expect_left(m, job, option)
    if fits_now(m, number, option, left):
        start(m, who, option)
        return STARTED
    begin = earliest(m, part, option, left, np.inf)
    _reserve_for(m, number, job, option, begin)
    return WAITS


@part
def _is_hopeful(m: Machine, number: int, entry: Record) -> bool:
    """Return whether a waiting job might start now."""
    if entry.option < 0:
        return entry.cores <= m.partitions[number].spare
    return may_fit(m, number, entry.option, window_end(m, entry.expect))


@compiled
def _last_hopeful(m: Machine, number: int, first: int, last: int) -> int:
    """Return the last place in [first, last] whose job might start now; before ``first`` if none.

    A plan only fills up: what doesn't fit now won't start in this pass, and nothing has to be
    planned for those behind the last that does.
    """
    queue = m.partitions[number].queue
    while last >= first and not _is_hopeful(m, number, m.queue[queue + last]):
        last -= 1
    return last


@compiled
def _serve(m: Machine, number: int) -> int:
    """One partition's part of the pass; MORE, or QUEUE_FULL: the plan needs more space."""
    part, result = m.partitions[number], MORE
    if part.blocked > 0:
        part.seen = part.waiting
        return MORE
    place = part.decided
    if part.reserved >= part.reservations and part.reservations > 0:
        place = max(place, part.seen)
    last = part.waiting - 1
    lazily = part.reservations > 0 and m.rules[0].wake_ahead == 0
    lazily = lazily and (m.rules[0].parts == 1 or m.rules[0].shared == 0)
    if lazily:
        last = _last_hopeful(m, number, max(place, part.seen), last)
        if last < max(place, part.seen):
            part.seen = part.waiting
            return MORE
    kept, decided = place, part.decided
    while place <= last:
        entry = m.queue[part.queue + place]
        became = WAITS
        open_still = part.reserved < part.reservations or part.reservations == 0
        # Who can't start now can only wait for a reservation, or block.
        if open_still or _is_hopeful(m, number, entry):
            became = _decide(m, number, entry.job)
            if became == NO_SPACE:
                result = QUEUE_FULL
                break
            if open_still:
                decided = kept + (1 if became != STARTED else 0)
        if became != STARTED:
            if kept < place:
                m.queue[part.queue + kept] = m.queue[part.queue + place]
            kept += 1
        else:
            m.planned.plan[0].started = 1
        place += 1
        if became == BLOCKED:
            part.blocked = 1
            break
        if became == WAITS and lazily and part.reserved < part.reservations:
            last = _last_hopeful(m, number, place, last)
    if kept < place:
        shift(m.queue, part.queue + kept, part.queue + place, part.waiting - place)
        part.waiting -= place - kept
    part.decided = decided
    part.seen = part.waiting if result == MORE else decided
    return result


@compiled
def schedule(m: Machine, own: KeyFunction) -> int:
    """One pass over all partitions; MORE, BAD_KEY, or QUEUE_FULL: the plan needs more space."""
    clock, plan, rules = m.clock[0], m.planned.plan[0], m.rules[0]
    if clock.serving < 0:
        renew_priorities(m)
        overdue = work_clock(clock) > plan.first
        outlived = rules.keeps == ONE_PASS or (rules.keeps == UNTIL_A_START and plan.started > 0)
        if plan.stale > 0 or outlived or overdue or clock.rate != plan.rate:
            forget(m)
        clock.serving = 0
    while clock.serving < rules.parts:
        part = m.partitions[clock.serving]
        if part.order != STATIC and part.order != MULTIFACTOR and not sort_by_time(m, part, own):
            return BAD_KEY
        result = _serve(m, clock.serving)
        if result != MORE:
            return result
        clock.serving += 1
    clock.serving = NONE
    if (rules.limits > 0 and plan.started > 0) or plan.empty > 0:
        plan.stale = 1  # a limit may have been reached, or a reservation without length taken
    if rules.wake_ahead > 0:
        set_timers(m)
        fire_timers(m)
    return MORE

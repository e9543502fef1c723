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
from onega.kernels.machine.plan import (
    earliest,
    fits_now,
    forget,
    has_space,
    may_fit,
    reserve,
    void,
    window_end,
)
from onega.kernels.machine.queue import renew_keys
from onega.kernels.machine.running import expect_left, start
from onega.kernels.machine.sleep import fire_timers, set_timers
from onega.kernels.machine.state import NONE, KeyFunction, Machine, Record
from onega.kernels.machine.usage import within_limits
from onega.kernels.pool.engine import BAD_KEY, MORE, QUEUE_FULL
from onega.kernels.pool.engine import clock as work_clock

STARTED, WAITS, BLOCKED, NO_SPACE = 0, 1, 2, 3
"""What becomes of a job in a pass."""


@compiled
def _start_quickest(m: Machine, partition: int, number: int, first: int, count: int) -> int:
    """Start a job now, in the shape that is expected to be quickest; no reservation is left."""
    part, job = m.partitions[partition], m.jobs[number]
    best, shortest, allowed = NONE, np.inf, False
    for option in range(first, first + count):
        if not within_limits(m, job, option):
            continue
        allowed = True
        left = expect_left(m, job, option)
        better = best < 0 or (
            left < shortest
            or (left == shortest and m.options[option].procs < m.options[best].procs)
        )
        if better and fits_now(m, partition, option, left):
            best, shortest = option, left
    if best < 0:
        return BLOCKED if allowed and part.reservations == 0 else WAITS
    if count > 1:
        fits_now(m, partition, best, shortest)
    start(m, number, best)
    return STARTED


@compiled
def _soonest(m: Machine, part: Record, job: Record, first: int, count: int) -> int:
    """Return the option that is expected to end first, whenever it can begin; −1: none."""
    v = work_clock(m.clock[0])
    best, end = NONE, np.inf
    for option in range(first, first + count):
        if not within_limits(m, job, option):
            continue
        left = expect_left(m, job, option)
        if v + left > end:
            continue
        time = earliest(m, part, option, left, end)
        better = best < 0 or (
            time + left < end
            or (time + left == end and m.options[option].procs < m.options[best].procs)
        )
        if time < np.inf and better:
            best, end = option, time + left
    return best


@compiled
def _decide(m: Machine, partition: int, number: int) -> int:
    """Start a job, reserve for it, or let it wait; tell whether it blocks the jobs behind it."""
    part, job = m.partitions[partition], m.jobs[number]
    if not has_space(m, part):
        return NO_SPACE
    option, count = job.first_option, job.options
    if job.option >= 0:
        option, count = job.option, 1
    if part.reserved >= part.reservations:
        return _start_quickest(m, partition, number, option, count)
    if count > 1:
        option = _soonest(m, part, job, option, count)
    if option < 0 or not within_limits(m, job, option):
        return WAITS
    left = expect_left(m, job, option)
    if fits_now(m, partition, option, left):
        start(m, number, option)
        return STARTED
    begin = earliest(m, part, option, left, np.inf)
    if begin < np.inf:
        link = reserve(m, partition, option, begin, begin + left)
        if part.reserved == 0:
            part.begin, part.option, part.link = begin, option, link
        part.reserved += 1
    return WAITS


@part
def _is_hopeful(m: Machine, partition: int, entry: Record) -> bool:
    """Return whether a waiting job might start now."""
    if entry.cores > m.partitions[partition].spare:
        return False
    return entry.option < 0 or may_fit(m, partition, entry.option, window_end(m, entry.expect))


@compiled
def _hopeful(m: Machine, partition: int, place: int, beyond: int, step: int) -> int:
    """Return the first place from ``place`` on whose job might start now, or ``beyond``.

    A plan only fills up: what doesn't fit now won't start in this pass.
    """
    queue = m.partitions[partition].queue
    while place != beyond and not _is_hopeful(m, partition, m.queue[queue + place]):
        place += step
    return place


@compiled
def _serve(m: Machine, partition: int) -> int:
    """One partition's part of the pass; MORE, or QUEUE_FULL: the plan needs more space."""
    part, result = m.partitions[partition], MORE
    if part.blocked > 0:
        part.seen = part.waiting
        return MORE
    place = part.decided
    if part.reserved >= part.reservations and part.reservations > 0:
        place = max(place, part.seen)
    last = part.waiting - 1
    # Nothing has to be planned for jobs behind the last that might start.
    lazily = part.reservations > 0 and m.rules[0].wake_ahead == 0
    lazily = lazily and (m.partitions.size == 1 or m.resources.size == 0)
    if lazily:
        before = max(place, part.seen) - 1
        last = _hopeful(m, partition, last, before, -1)
        if last == before:
            part.seen = part.waiting
            return MORE
    started, moved, decided = 0, place, part.decided
    while place <= last:
        open_still = part.reserved < part.reservations or part.reservations == 0
        if not open_still:  # a job that can't start now can only wait
            place = _hopeful(m, partition, place, last + 1, 1)
            if place > last:
                break
        became = _decide(m, partition, m.queue[part.queue + place].job)
        if became == NO_SPACE:
            result = QUEUE_FULL
            break
        if became == STARTED:
            m.plan[0].started = 1
            _close_up(m, part.queue + moved, started, place - moved)
            started += 1
            moved = place + 1
        place += 1
        if open_still:
            decided = place - started
        if became == BLOCKED:
            part.blocked = 1
            break
        if became == WAITS and lazily and part.reserved < part.reservations:
            last = _hopeful(m, partition, last, place - 1, -1)
    _close_up(m, part.queue + moved, started, part.waiting - moved)
    part.waiting -= started
    part.decided = decided
    part.seen = part.waiting if result == MORE else decided
    return result


@part
def _close_up(m: Machine, first: int, gap: int, count: int) -> None:
    """Move so many places of a queue up by a gap."""
    if gap > 0:
        shift(m.queue, first - gap, first, count)


@compiled
def schedule(m: Machine, own: KeyFunction) -> int:
    """One pass over all partitions; MORE, BAD_KEY, or QUEUE_FULL: the plan needs more space."""
    clock, plan, rules = m.clock[0], m.plan[0], m.rules[0]
    if clock.serving < 0:
        if not renew_keys(m, own):
            return BAD_KEY
        overdue = work_clock(clock) > plan.first
        if plan.stale > 0 or rules.keeps == 0 or overdue or clock.rate != plan.rate:
            forget(m)
        clock.serving = 0
    while clock.serving < m.partitions.size:
        result = _serve(m, clock.serving)
        if result != MORE:
            return result
        clock.serving += 1
    clock.serving = NONE
    if (rules.limits > 0 and plan.started > 0) or plan.empty > 0:
        void(m)  # a limit may have been reached, or a reservation without length taken
    if rules.wake_ahead > 0:
        set_timers(m)
        fire_timers(m)
    return MORE

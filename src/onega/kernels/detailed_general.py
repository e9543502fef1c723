"""Passes with any number of reservations, with a calendar or shared resources: by a full profile.

Slower than `onega.kernels.detailed_easy` and right in all cases; both give the same schedules
where both apply.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, move, small
from onega.kernels.detailed_choose import allowed, fits_total, none_allowed, plan_first, shorter
from onega.kernels.detailed_codes import NO_BACKFILL
from onega.kernels.detailed_hold import start
from onega.kernels.detailed_place import enough, place, shared_fit
from onega.kernels.detailed_plan import (
    NODES,
    STEPS,
    Plan,
    hold,
    hold_shared,
    look,
    make_plan,
    short_of,
)
from onega.kernels.detailed_queue import choices, known_left
from onega.kernels.detailed_state import Record, claims, partitions, queued
from onega.kernels.engine import Floats, clock


@small
def _window(plan: Plan) -> Floats:
    """View the window of a plan as a row."""
    return floats(plan.window.ctypes.data)


@callee
def _base(s: Record, number: int) -> int:
    """Return where a row of node 0 would begin in a row of a partition."""
    return -partitions(s.partitions_at)[number].first * s.kinds


@callee
def _find_now(s: Record, plan: Plan, number: int, option: int, lasting: float) -> bool:
    """Find nodes for an option from now on that are free, and stay free in the plan."""
    avail = floats(s.avail_at)
    if not fits_total(s, floats(s.total_avail_at), number, option):
        return False
    if not shared_fit(s, avail, s.nodes * s.kinds, option):
        return False
    look(plan, 0, plan.since[0] + lasting)
    first = partitions(s.partitions_at)[number].first * s.kinds
    for column in range(plan.number[NODES]):
        plan.window[column] = min(plan.window[column], avail[first + column])
    if not shared_fit(s, _window(plan), plan.number[NODES], option):
        return False
    return place(s, _window(plan), _base(s, number), number, option)


@callee
def _earliest(s: Record, plan: Plan, number: int, option: int, lasting: float) -> float:
    """Return the first step from which on an option fits for ``lasting``; ∞ if none."""
    size = plan.number[STEPS]
    step = 0
    while step < size:
        until = plan.since[step] + lasting
        other = step
        blocked = -1
        while other < size and (other == step or plan.since[other] < until):
            if short_of(s, plan, other, number, option):
                blocked = other
            other += 1
        if blocked >= 0:
            step = blocked + 1
            continue
        look(plan, step, until)
        if shared_fit(s, _window(plan), plan.number[NODES], option) and enough(
            s, _window(plan), _base(s, number), number, option
        ):
            return plan.since[step]
        step += 1
    return np.inf


@callee
def _startable(s: Record, plan: Plan, number: int, job: int) -> int:
    """Return the option that starts now, the shortest, its nodes found; −1 if none can."""
    first, count = choices(s, job)
    best = -1
    for option in range(first, first + count):
        if not allowed(s, job, option):
            continue
        if best >= 0 and not shorter(s, job, option, best):
            continue
        if _find_now(s, plan, number, option, known_left(s, job, option)):
            best = option
    if best >= 0 and count > 1:
        _find_now(s, plan, number, best, known_left(s, job, best))
    return best


@callee
def _soonest(s: Record, plan: Plan, number: int, job: int) -> tuple[int, float, bool]:
    """Return the option that is over first, when it begins, and whether it starts now."""
    first, count = choices(s, job)
    best, begin, over, starts = -1, np.inf, np.inf, False
    for option in range(first, first + count):
        if not allowed(s, job, option):
            continue
        lasting = known_left(s, job, option)
        now = _find_now(s, plan, number, option, lasting)
        w = plan.since[0] if now else _earliest(s, plan, number, option, lasting)
        if w == np.inf:
            continue
        until = w + lasting
        if until < over or (until == over and ints(s.procs_at)[option] < ints(s.procs_at)[best]):
            best, begin, over, starts = option, w, until, now
    return best, begin, starts


@callee
def _reserve(s: Record, plan: Plan, number: int, job: int, choice: tuple[int, float]) -> None:
    """Take a reservation's nodes out of the plan; the first one is remembered."""
    p = partitions(s.partitions_at)[number]
    option, begin = choice
    lasting = known_left(s, job, option)
    step = 0
    while plan.since[step] < begin:
        step += 1
    look(plan, step, begin + lasting)
    place(s, _window(plan), _base(s, number), number, option)
    if not p.reserved:
        p.reserved = 1
        p.shadow = begin
        plan_first(s, number, option)
    hold(s, plan, number, option, (begin, lasting))
    if s.shared > 0 and s.parts > 1 and lasting > 0.0:
        claim = claims(s.claims_at)[s.claimed]
        claim.begin = begin
        claim.until = begin + lasting
        claim.option = option
        s.claimed += 1


@callee
def _last_hope(s: Record, number: int, read: int, size: int) -> int:
    """Return the place behind the last job from ``read`` on for which enough is free now."""
    queue = queued(s.queue_at)
    free = floats(s.total_avail_at)[number * s.kinds]
    while size > read and queue[size - 1].procs > free:
        size -= 1
    return size


@callee
def pass_general(s: Record, number: int) -> None:
    """One pass over a partition's queue with a profile.

    Reservations behind the last job that could start now are of no consequence before the next
    pass makes them again; unless others look at them, the pass ends there.
    """
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    p.reserved = 0
    p.kept = 0
    p.shadow = np.inf
    size = p.queue + p.waiting
    last = _last_hope(s, number, p.queue, size)
    everybody = s.shared > 0 and s.parts > 1
    if everybody:
        last = size
    elif last == p.queue and not s.wake_ahead:
        return
    plan = make_plan(s, number, s.claimed + 1 + last - p.queue, clock(s))
    for index in range(s.claimed):
        claim = claims(s.claims_at)[index]
        hold_shared(s, plan, claim.option, claim.begin, claim.until)
    read, kept, made = p.queue, p.queue, 0
    while read < last or (read < size and s.wake_ahead and made == 0):
        job = queue[read].job
        option = -1
        if not none_allowed(s, job):
            starts = False
            if made < p.reservations:
                option, begin, starts = _soonest(s, plan, number, job)
                if starts and choices(s, job)[1] > 1:
                    _find_now(s, plan, number, option, known_left(s, job, option))
                if option >= 0 and not starts:
                    _reserve(s, plan, number, job, (option, begin))
                    made += 1
                    option = -1
            else:
                option = _startable(s, plan, number, job)
            if option < 0 and p.reservations == NO_BACKFILL:
                break
        read += 1
        if option >= 0:
            hold(s, plan, number, option, (plan.since[0], known_left(s, job, option)))
            start(s, number, job, option)
            if not everybody:
                last = _last_hope(s, number, read, last)
            continue
        if kept < read - 1:
            queue[kept] = queue[read - 1]
        kept += 1
    move(queue, kept, read, size - read)
    p.waiting = kept + size - read - p.queue

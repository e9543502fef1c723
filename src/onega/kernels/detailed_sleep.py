"""Idle processors: how long, how deep they sleep, what waking them costs; the event log.

In a pool idle processors are a stack of (since, count), the most recently freed on top, so that
the others get the chance to sleep deeper. On real nodes each node without jobs is idle since some
time. A ``since`` ahead of the time means: still waking until then.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, move, small
from onega.kernels.detailed_codes import IDLE, WAKING, WOKEN
from onega.kernels.detailed_depth import (
    delay_of_planned,
    depth_of,
    is_awake,
    is_planned,
    may_wake,
    sleep_state,
)
from onega.kernels.detailed_state import Record, logged, partitions, stacked, stretches
from onega.kernels.engine import clock


@small
def note(s: Record, event: int, job: int, node: int) -> None:
    """Write a line of the event log; the node goes by its own number."""
    line = logged(s.log_at)[s.logged]
    line.time = s.now
    line.event = event
    line.job = job
    line.node = ints(s.number_at)[node] if node >= 0 else -1
    s.logged += 1


@small
def emit(s: Record, kind: int, since: float, count: int, node: int) -> None:
    """Write down a stretch of processors without a job that ends now, unless it is empty."""
    if s.now > since:
        one = stretches(s.stretch_at)[s.stretches]
        one.kind = kind
        one.since = since
        one.until = s.now
        one.count = count
        one.depth = -1
        one.node = ints(s.number_at)[node]
        s.stretches += 1


@small
def end_idle(s: Record, since: float, count: int, node: int) -> float:
    """End an idle stretch now; return how long these processors take to be awake."""
    if since > s.now:
        return since - s.now
    emit(s, IDLE, since, count, node)
    state = sleep_state(s, since)
    if state < 0:
        return 0.0
    delay = floats(s.delay_at)[state]
    if delay > 0.0:
        one = stretches(s.stretch_at)[s.stretches]
        one.kind = WAKING
        one.since = s.now
        one.until = s.now + delay
        one.count = count
        one.depth = state
        one.node = ints(s.number_at)[node]
        s.stretches += 1
    return delay


@small
def push_idle(s: Record, number: int, count: int) -> None:
    """Processors of a pool come free now."""
    p = partitions(s.partitions_at)[number]
    stack = stacked(s.stack_at)
    top = p.stack + p.entries - 1
    if p.entries > 0 and stack[top].since == s.now:
        stack[top].count += count
    else:
        stack[top + 1].since = s.now
        stack[top + 1].count = count
        p.entries += 1


@small
def pop_idle(s: Record, number: int, count: int) -> float:
    """Take the most recently freed processors of a pool; return how long they take to wake up."""
    p = partitions(s.partitions_at)[number]
    stack = stacked(s.stack_at)
    delay = 0.0
    while count > 0:
        top = stack[p.stack + p.entries - 1]
        some = min(count, top.count)
        delay = max(delay, end_idle(s, top.since, some, p.first))
        top.count -= some
        count -= some
        if top.count == 0:
            p.entries -= 1
    return delay


@callee
def drop_idle(s: Record, number: int, count: int) -> None:
    """Take processors of a pool that were never idle: the run begins with them busy."""
    p = partitions(s.partitions_at)[number]
    stacked(s.stack_at)[p.stack + p.entries - 1].count -= count
    if stacked(s.stack_at)[p.stack + p.entries - 1].count == 0:
        p.entries -= 1


@callee
def take_node(s: Record, node: int) -> float:
    """Put a job on a node: if it was idle that ends; return how long it takes to wake up."""
    since = floats(s.since_at)
    if ints(s.jobs_on_at)[node] > 0:
        return max(0.0, since[node] - s.now)
    count = ints(s.cores_at)[node]
    delay = end_idle(s, since[node], count, node)
    since[node] = s.now + delay
    is_awake(s, node)
    return delay


@callee
def _wake_pool(s: Record, number: int) -> int:
    """Wake those on top of a pool's stack that the reservation would take; return how many."""
    p = partitions(s.partitions_at)[number]
    stack = stacked(s.stack_at)
    place = p.stack + p.entries
    count = p.width
    while count > 0 and place > p.stack:
        place -= 1
        count -= stack[place].count
    if count < 0:  # the lowest entry is only partly meant: split it
        move(stack, place + 1, place, p.stack + p.entries - place)
        stack[place].count = -count
        stack[place + 1].count += count
        p.entries += 1
        place += 1
    woken = 0
    for other in range(place, p.stack + p.entries):
        if sleep_state(s, stack[other].since) >= 0:
            delay = end_idle(s, stack[other].since, stack[other].count, p.first)
            stack[other].since = s.now + delay
            woken += stack[other].count
    return woken


@callee
def _fire(s: Record, number: int) -> None:
    """Wake what the first reservation of a partition will take."""
    p = partitions(s.partitions_at)[number]
    p.timer = np.inf
    if s.pooled:
        woken = _wake_pool(s, number)
        if woken > 0:
            note(s, WOKEN, woken, p.first)
        return
    since = floats(s.since_at)
    p.depths_due = -np.inf
    for node in range(p.first, p.last):
        if is_planned(s, number, node) and flags(s.up_at)[node] and depth_of(s, node) > 0:
            count = ints(s.cores_at)[node]
            delay = end_idle(s, since[node], count, node)
            since[node] = s.now + delay
            p.waking = max(p.waking, since[node])
            note(s, WOKEN, count, node)


@callee
def fire_timers(s: Record) -> None:
    """Wake ahead where it is time to."""
    s.timer = np.inf
    for number in range(s.parts):
        if partitions(s.partitions_at)[number].timer <= s.now:
            _fire(s, number)
        s.timer = min(s.timer, partitions(s.partitions_at)[number].timer)


@small
def _delay_in_pool(s: Record, number: int) -> float:
    """Return how long those take to be awake that a pool's first reservation would take."""
    p = partitions(s.partitions_at)[number]
    delays = floats(s.delay_at)
    stack = stacked(s.stack_at)
    longest = 0.0
    place = p.stack + p.entries
    count = p.width
    while count > 0 and place > p.stack:
        place -= 1
        count -= stack[place].count
        state = sleep_state(s, stack[place].since)
        delay = delays[state] if state >= 0 else stack[place].since - s.now
        longest = max(longest, delay)
    return longest


@callee
def set_timers(s: Record) -> None:
    """After a pass: when to wake what the first reservations will take."""
    v = clock(s)
    s.timer = np.inf
    for number in range(s.parts):
        p = partitions(s.partitions_at)[number]
        p.timer = np.inf
        if p.reserved and p.shadow > v and may_wake(s, number):
            delay = p.delay
            if s.pooled:
                delay = _delay_in_pool(s, number)
            elif p.built:
                delay = delay_of_planned(s, number)
            if delay > 0.0:
                p.timer = max(s.now, s.now + (p.shadow - v) / s.rate - delay)
                s.timer = min(s.timer, p.timer)

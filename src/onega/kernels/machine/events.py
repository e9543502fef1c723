"""What happens to the machine: the table's events, reservations, capacities that change."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled
from onega.kernels.machine import codes
from onega.kernels.machine.leave import cancel, interrupt, kill
from onega.kernels.machine.log import note, note_capacity, note_stretch
from onega.kernels.machine.nodes import change_free, refresh
from onega.kernels.machine.plan import void
from onega.kernels.machine.sleep import end_idle
from onega.kernels.machine.state import AHEAD, COMPLETES, LAUNCHES, NONE, WAITS, Machine


@compiled
def _is_on(m: Machine, number: int, n: int) -> bool:
    """Tell whether a running job has chunks on a node."""
    k = m.jobs[number].link
    while k >= 0:
        if m.links[k].node == n:
            return True
        k = m.links[k].following
    return False


@compiled
def _first_on(m: Machine, n: int, by_end: bool) -> int:  # noqa: FBT001
    """Return the job on a node that started first, or is expected to end first; −1: none."""
    best = NONE
    for k in range(m.clock[0].ends):
        number = m.ends[k].job
        if _is_on(m, number, n) and (best < 0 or m.jobs[number].seq < m.jobs[best].seq):
            best = number
            if by_end:
                break
    return best


@compiled
def _fail(m: Machine, n: int) -> None:
    """Let a node go down, and interrupt all jobs on it in the order of their starts."""
    node = m.nodes[n]
    note(m, codes.FAILED, NONE, n)
    node.up = 0
    node.down_since = m.clock[0].now
    refresh(m, n)
    if node.jobs == 0:
        end_idle(m, n, node.since, node.cores)
    while node.jobs > 0:
        interrupt(m, _first_on(m, n, False), n)  # noqa: FBT003


@compiled
def _return(m: Machine, n: int) -> None:
    """Let a node be up, and take jobs again."""
    node, now = m.nodes[n], m.clock[0].now
    note(m, codes.RETURNED, NONE, n)
    node.draining = 0
    if node.up == 0:
        note_stretch(m, codes.DOWN, node.down_since, now, node.cores, NONE, n)
        node.up = 1
        node.since = now
    refresh(m, n)


@compiled
def _node_event(m: Machine, code: int, n: int) -> bool:
    """Handle FAIL, RETURN or DRAIN; False if there is nothing to do."""
    node = m.nodes[n]
    if code == codes.FAIL and node.up > 0:
        _fail(m, n)
    elif code == codes.RETURN and node.usable == 0:
        _return(m, n)
    elif code == codes.DRAIN and node.usable > 0:
        note(m, codes.DRAINED, NONE, n)
        node.draining = 1
        refresh(m, n)
    else:
        return False
    return True


@compiled
def _job_event(m: Machine, code: int, number: int) -> bool:
    """Handle CANCEL, INTERRUPT, KILL or LEAVE; False if there is nothing to do."""
    phase = m.jobs[number].phase
    runs, leaves = LAUNCHES <= phase <= COMPLETES, code in (codes.CANCEL, codes.LEAVE)
    if (phase == WAITS and code != codes.INTERRUPT) or (phase == AHEAD and leaves):
        cancel(m, number)
    elif runs and code == codes.INTERRUPT:
        interrupt(m, number, -1)
    elif runs and code == codes.KILL:
        kill(m, number)
    else:
        return False
    return True


@compiled
def _change(m: Machine) -> None:
    """Note that the machine has changed: a pass is due, and the plan is made anew."""
    m.clock[0].pass_due = 1
    void(m)


@compiled
def take_events(m: Machine) -> None:
    """Handle the table's events that are due."""
    clock, events = m.clock[0], m.events
    while clock.next_row < events.size and events[clock.next_row].time <= clock.now:
        row = events[clock.next_row]
        clock.next_row += 1
        if row.code in (codes.FAIL, codes.RETURN, codes.DRAIN):
            handled = _node_event(m, row.code, row.node)
        else:
            handled = _job_event(m, row.code, row.job)
        if handled:
            _change(m)
        elif row.code != codes.LEAVE:
            note(m, codes.IGNORED, row.job, row.node)


@compiled
def _is_overbooked(m: Machine, n: int) -> bool:
    least = 0.0
    for k in range(m.needs.shape[1]):
        least = min(least, m.free[n, k])
    return least < 0.0


@compiled
def _book(m: Machine, row: int, n: int) -> None:
    """Let a booking of a node begin or end; jobs on it that are in its way are interrupted."""
    sign = m.calendar[row].sign
    for k in range(m.needs.shape[1]):
        change_free(m, n, k, sign * m.booked[row, k])
    note(m, codes.RESERVED if sign < 0.0 else codes.RELEASED, NONE, n)
    while sign < 0.0 and _is_overbooked(m, n) and m.nodes[n].jobs > 0:
        interrupt(m, _first_on(m, n, True), n)  # noqa: FBT003


@compiled
def take_calendar(m: Machine) -> None:
    """Let bookings end and begin, and capacities change."""
    clock, calendar = m.clock[0], m.calendar
    while clock.next_dated < calendar.size and calendar[clock.next_dated].time <= clock.now:
        row = clock.next_dated
        dated = calendar[row]
        clock.next_dated += 1
        _change(m)
        if dated.node >= 0:
            _book(m, row, dated.node)
        else:
            resource = m.resources[dated.resource]
            resource.free += dated.capacity - resource.capacity
            resource.capacity = dated.capacity
            note_capacity(m, dated.resource)


@compiled
def next_event(m: Machine) -> float:
    """Return when the next of these events is; ∞ if there is none."""
    clock, following = m.clock[0], np.inf
    if clock.next_row < m.events.size:
        following = m.events[clock.next_row].time
    if clock.next_dated < m.calendar.size:
        following = min(following, m.calendar[clock.next_dated].time)
    return following

"""What happens to the machine: the table's events, reservations, capacities that change."""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints
from onega.kernels.detailed_allocate import change_free, refresh_node
from onega.kernels.detailed_codes import (
    CANCEL,
    CAPACITY,
    DOWN,
    DRAIN,
    DRAINED,
    FAIL,
    FAILED,
    IDLE,
    IGNORED,
    INTERRUPT,
    KILL,
    LEAVE,
    RELEASED,
    RESERVED,
    RETURN,
    RETURNED,
)
from onega.kernels.detailed_deepen import forget_dips
from onega.kernels.detailed_held_bits import bit_of, word_of
from onega.kernels.detailed_leave import cancel, interrupt, kill
from onega.kernels.detailed_sleep import emit, note
from onega.kernels.detailed_state import (
    AHEAD,
    COMPLETING,
    ENDS,
    GONE,
    LAUNCHING,
    WAITING,
    Record,
    ends,
    links,
    logged,
    slots,
)


@callee
def _is_on(s: Record, slot: int, node: int) -> bool:
    """Tell whether a running job has chunks on a node."""
    link = slots(s.slots_at)[slot].link
    while link >= 0:
        one = links(s.links_at)[link]
        if s.planes > 0:
            if one.node == word_of(s, node) and one.mask & bit_of(s, node) != 0:
                return True
        elif one.node == node:
            return True
        link = one.next
    return False


@callee
def _fail(s: Record, node: int) -> None:
    """Let a node go down, and interrupt everybody on it in the order of their starts."""
    if s.sleeps > 0 and ints(s.jobs_on_at)[node] == 0:
        count = ints(s.cores_at)[node]
        emit(s, IDLE, floats(s.since_at)[node], count, node)
    flags(s.up_at)[node] = 0
    floats(s.down_since_at)[node] = s.now
    refresh_node(s, node)
    note(s, FAILED, -1, node)
    victims = ints(s.victims_at)
    table = ends(s.ends_at)
    count = 0
    for index in range(ints(s.sizes_at)[ENDS]):
        slot = table[index].slot
        if _is_on(s, slot, node):
            place = count
            seq = slots(s.slots_at)[slot].seq
            while place > 0 and slots(s.slots_at)[victims[place - 1]].seq > seq:
                victims[place] = victims[place - 1]
                place -= 1
            victims[place] = slot
            count += 1
    for index in range(count):
        interrupt(s, slots(s.slots_at)[victims[index]].job, node)


@callee
def _return(s: Record, node: int) -> None:
    """Let a node be up, and take jobs again."""
    if not flags(s.up_at)[node]:
        count = ints(s.cores_at)[node]
        emit(s, DOWN, floats(s.down_since_at)[node], count, node)
        floats(s.since_at)[node] = s.now
    flags(s.up_at)[node] = 1
    s.drains -= flags(s.draining_at)[node]
    flags(s.draining_at)[node] = 0
    refresh_node(s, node)
    note(s, RETURNED, -1, node)


@callee
def _node_event(s: Record, code: int, node: int) -> bool:
    """Handle FAIL, RETURN or DRAIN; False if there is nothing to do."""
    up, draining = flags(s.up_at)[node] > 0, flags(s.draining_at)[node] > 0
    if code == FAIL and up:
        _fail(s, node)
        return True
    if code == RETURN and (draining or not up):
        _return(s, node)
        return True
    if code == DRAIN and up and not draining:
        flags(s.draining_at)[node] = 1
        s.drains += 1
        refresh_node(s, node)
        note(s, DRAINED, -1, node)
        return True
    return False


@callee
def _job_event(s: Record, code: int, job: int) -> bool:
    """Handle CANCEL, INTERRUPT, KILL or LEAVE; False if there is nothing to do."""
    phase = flags(s.phase_at)[job]
    running = LAUNCHING <= phase <= COMPLETING
    if phase == WAITING and code != INTERRUPT:
        cancel(s, job)
        return True
    if phase == AHEAD and code in (CANCEL, LEAVE):
        cancel(s, job)
        return True
    if running and code == INTERRUPT:
        interrupt(s, job, -1)
        return True
    if running and code == KILL:
        kill(s, job)
        return True
    return False


@callee
def _table(s: Record) -> None:
    """Handle the table's events that are due."""
    while s.next_row < s.rows and floats(s.row_time_at)[s.next_row] <= s.now:
        row = s.next_row
        s.next_row = row + 1
        code = ints(s.row_code_at)[row]
        job, node = -1, -1
        if code in (FAIL, RETURN, DRAIN):
            node = ints(s.row_node_at)[row]
            handled = _node_event(s, code, node)
        else:
            job = ints(s.row_job_at)[row]
            handled = _job_event(s, code, job)
        if handled:
            s.pass_due = 1
            s.changed = 1
        elif code != LEAVE:
            note(s, IGNORED, job, node)


@callee
def _withhold(s: Record, at: int, sign: float) -> None:
    """Withhold a reservation's amounts on its node, or give them back."""
    node = ints(s.reserved_node_at)[at]
    for k in range(s.kinds):
        change_free(s, node, k, -sign * floats(s.reserved_amount_at)[at * s.kinds + k])


@callee
def _make_room(s: Record, node: int) -> None:
    """Interrupt jobs on a node, those expected to end first, until it isn't overbooked."""
    free = floats(s.free_at)
    table = ends(s.ends_at)
    while True:
        short = False
        for k in range(s.kinds):
            short = short or free[node * s.kinds + k] < 0.0
        if not short:
            return
        index = 0
        size = ints(s.sizes_at)[ENDS]
        while index < size and not _is_on(s, table[index].slot, node):
            index += 1
        if index == size:
            return
        interrupt(s, slots(s.slots_at)[table[index].slot].job, node)


@callee
def _calendar(s: Record) -> None:
    """Let reservations end and begin, and capacities change."""
    by_end = ints(s.by_end_at)
    done = s.next_return + s.next_withdrawal + s.next_step
    while s.next_return < s.withdrawals:
        at = by_end[s.next_return]
        if floats(s.end_of_at)[at] > s.now:
            break
        _withhold(s, at, -1.0)
        note(s, RELEASED, -1, ints(s.reserved_node_at)[at])
        s.next_return += 1
        s.active -= 1
        s.pass_due = 1
        s.changed = 1
    while s.next_withdrawal < s.withdrawals:
        at = s.next_withdrawal
        if floats(s.begin_at)[at] > s.now:
            break
        node = ints(s.reserved_node_at)[at]
        s.next_withdrawal = at + 1
        s.active += 1
        s.pass_due = 1
        s.changed = 1
        _withhold(s, at, 1.0)
        note(s, RESERVED, -1, node)
        _make_room(s, node)
    while s.next_step < s.steps and floats(s.step_time_at)[s.next_step] <= s.now:
        g = ints(s.step_resource_at)[s.next_step]
        fresh = floats(s.step_capacity_at)[s.next_step]
        now = floats(s.capacity_now_at)
        floats(s.avail_at)[s.nodes * s.kinds + g] += fresh - now[g]
        now[g] = fresh
        s.next_step += 1
        s.pass_due = 1
        s.changed = 1
        note(s, CAPACITY, -1, -1)
        logged(s.log_at)[s.logged - 1].node = ints(s.step_number_at)[s.next_step - 1]
    if done < s.next_return + s.next_withdrawal + s.next_step:
        forget_dips(s)


@callee
def events(s: Record) -> None:
    """Handle everything that happens to the machine now, in its order."""
    if s.next_row < s.rows:
        _table(s)
    if s.next_return < s.withdrawals or s.next_step < s.steps:
        _calendar(s)
    look_at_tables(s)


@callee
def look_at_tables(s: Record) -> None:
    """Note when the next of these events is, and what the passes up to then have to look at.

    Totals are not enough where nodes drain: what is free there isn't for new starts.
    """
    s.event_time = _next_event_time(s)
    s.planned = s.active > 0 or s.next_withdrawal < s.withdrawals or s.next_step < s.steps
    s.lean = s.unit > 0 and s.drains == 0


@callee
def _next_event_time(s: Record) -> float:
    """Return when the next of these events is; ∞ if there is none."""
    following = np.inf
    # Who will never wait again has no patience to lose: nothing happens then. (The table's last
    # row is when a run ends in which somebody never starts.)
    while s.next_row < s.rows - 1 and ints(s.row_code_at)[s.next_row] == LEAVE:
        phase = flags(s.phase_at)[ints(s.row_job_at)[s.next_row]]
        if phase <= WAITING or (phase < GONE and s.restarts):
            break
        s.next_row += 1
    if s.next_row < s.rows:
        following = floats(s.row_time_at)[s.next_row]
    if s.next_return < s.withdrawals:
        if s.active > 0:
            following = min(following, floats(s.end_of_at)[ints(s.by_end_at)[s.next_return]])
        if s.next_withdrawal < s.withdrawals:
            following = min(following, floats(s.begin_at)[s.next_withdrawal])
    if s.next_step < s.steps:
        following = min(following, floats(s.step_time_at)[s.next_step])
    return following

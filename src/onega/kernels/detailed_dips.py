"""Passes with at most one reservation and a calendar: where availability dips.

What running jobs hold comes free and stays free; only the calendar takes something away again:
reservations that begin, capacities that shrink. Such a *dip* is the only place, beside now and the
begin of the reservation, where a stretch can have its smallest availability. So the rows of
`onega.kernels.detailed_easy` are looked at together with the dips inside the stretch, each with
what its node (or its machine-wide resource) has left then.

When the calendar changes something is known long before, and what is left then moves only with a
start or an end. So the list stays from pass to pass, with two columns of what is left: by what
runs (``dip_base``: starts and ends keep it up to date), and with the pass's reservation taken off
(``dip_values``). It is made anew when the calendar, the rate or a node has changed, or when
somebody looks beyond its end.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, small
from onega.kernels.detailed_deepen import amount_of
from onega.kernels.detailed_state import (
    ENDS,
    Record,
    changes,
    dips,
    ends,
    links,
    partitions,
    slots,
)
from onega.kernels.engine import Floats


@callee
def _note_change(s: Record, time: float, node: int, which: int, amount: float) -> None:
    one = changes(s.changes_at)[s.changes]
    one.time = time
    one.node = node
    one.which = which
    one.amount = amount
    s.changes += 1


@callee
def list_changes(s: Record, limit: float) -> None:
    """List what the calendar does later, up to a time on the work clock, in the order of time.

    ``amount`` is ±1 for a reservation's amounts on a node, or a change of capacity (node −1).
    ``listed`` is when the first change is that isn't in the list.
    """
    s.changes = 0
    s.dips = 0
    begins, returns, step = s.next_withdrawal, s.next_return, s.next_step
    capacity = floats(s.scratch_capacity_at)
    for g in range(s.shared):
        capacity[g] = floats(s.capacity_now_at)[g]
    while True:
        back, off, other = np.inf, np.inf, np.inf
        if returns < s.withdrawals:
            back = floats(s.end_of_at)[ints(s.by_end_at)[returns]]
        if begins < s.withdrawals:
            off = floats(s.begin_at)[begins]
        if step < s.steps:
            other = floats(s.step_time_at)[step]
        first = min(back, off, other)
        time = s.v0 + (first - s.t0) * s.rate
        s.listed = time
        if first == np.inf or time > limit:
            return
        if back == first:
            row = ints(s.by_end_at)[returns]
            _note_change(s, time, ints(s.reserved_node_at)[row], row, 1.0)
            returns += 1
        elif off == first:
            _note_change(s, time, ints(s.reserved_node_at)[begins], begins, -1.0)
            begins += 1
        else:
            g = ints(s.step_resource_at)[step]
            fresh = floats(s.step_capacity_at)[step]
            _note_change(s, time, -1, g, fresh - capacity[g])
            capacity[g] = fresh
            step += 1


@callee
def matters(s: Record, index: int, number: int) -> bool:
    """Tell whether a change of the calendar is one for a partition's starts; −1: for anybody's."""
    node = changes(s.changes_at)[index].node
    if node < 0:
        return True
    if number >= 0:
        p = partitions(s.partitions_at)[number]
        if not p.first <= node < p.last:
            return False
    return flags(s.usable_at)[node] > 0


@callee
def _change(s: Record, index: int, row: Floats, totals: Floats) -> None:
    """Let a row change as the calendar says."""
    one = changes(s.changes_at)[index]
    if one.node < 0:
        row[s.nodes * s.kinds + one.which] += one.amount
        return
    for k in range(s.kinds):
        at = one.node * s.kinds + k
        before = max(row[at], 0.0)
        row[at] += one.amount * floats(s.reserved_amount_at)[one.which * s.kinds + k]
        totals[k] += max(row[at], 0.0) - before


@callee
def copy_row(s: Record, number: int, source: Floats, target: Floats) -> None:
    """Copy a partition's part of a row, and the machine-wide part."""
    p = partitions(s.partitions_at)[number]
    for at in range(p.first * s.kinds, p.last * s.kinds):
        target[at] = source[at]
    for at in range(s.nodes * s.kinds, s.nodes * s.kinds + s.shared):
        target[at] = source[at]


@callee
def _come_free(s: Record, slot: int, number: int, later: Floats, totals: Floats) -> None:
    """Add what a job holds to a row, where a partition's starts (−1: anybody's) can use it."""
    option = slots(s.slots_at)[slot].option
    for g in range(s.shared):
        later[s.nodes * s.kinds + g] += floats(s.demand_at)[option * s.shared + g]
    if s.planes > 0 or 0 <= number != slots(s.slots_at)[slot].partition:
        return
    link = slots(s.slots_at)[slot].link
    while link >= 0:
        one = links(s.links_at)[link]
        if s.unit and flags(s.usable_at)[one.node]:
            have = later[one.node]
            later[one.node] = have + one.chunks
            totals[0] += max(have + one.chunks, 0.0) - max(have, 0.0)
        elif flags(s.usable_at)[one.node]:
            for k in range(s.kinds):
                amount = amount_of(s, option, one.node, one.chunks, k)
                at = one.node * s.kinds + k
                totals[k] += max(later[at] + amount, 0.0) - max(later[at], 0.0)
                later[at] += amount
        link = one.next


@callee
def go_on(s: Record, number: int, w: float, row: Floats, totals: Floats) -> float:
    """Let a row be that of time ``w``, from where it is; return the next step's time, or ∞.

    ``row_end`` and ``row_change`` say where it is.
    """
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    while s.row_end < size and table[s.row_end].expected <= w:
        _come_free(s, table[s.row_end].slot, number, row, totals)
        s.row_end += 1
    while s.row_change < s.changes and changes(s.changes_at)[s.row_change].time <= w:
        if matters(s, s.row_change, number):
            _change(s, s.row_change, row, totals)
        s.row_change += 1
    following = np.inf
    if s.row_end < size:
        following = table[s.row_end].expected
    if s.row_change < s.changes:
        following = min(following, changes(s.changes_at)[s.row_change].time)
    return following


@small
def _note_dips(s: Record, index: int) -> int:
    """List the dips among the changes of one instant, from ``index`` on; return the next one's."""
    time = changes(s.changes_at)[index].time
    while index < s.changes and changes(s.changes_at)[index].time <= time:
        one = changes(s.changes_at)[index]
        if one.node >= 0 and not s.pooled and matters(s, index, -1):
            s.node_change = min(s.node_change, time)
        if one.amount < 0.0 and matters(s, index, -1):
            dip = dips(s.dips_at)[s.dips]
            dip.time = time
            dip.node = one.node
            dip.which = one.which
            s.dips += 1
            if one.node >= 0 and not s.pooled:
                s.node_dip = min(s.node_dip, time)
        index += 1
    return index


@callee
def _find_dips(s: Record, limit: float) -> None:
    """List the dips of all partitions up to a time, each with what is left then."""
    list_changes(s, limit)
    s.listed_t0, s.listed_v0, s.listed_rate = s.t0, s.v0, s.rate
    s.node_change = np.inf
    s.node_dip = np.inf
    row, totals = floats(s.window_at), floats(s.total_later_at)
    base = floats(s.dip_base_at)
    kinds, shared = s.kinds, s.nodes * s.kinds
    for at in range(shared + s.shared):
        row[at] = floats(s.avail_at)[at]
    s.row_end = 0
    s.row_change = 0
    index = 0
    while index < s.changes:
        time = changes(s.changes_at)[index].time
        first = s.dips
        index = _note_dips(s, index)
        go_on(s, -1, time, row, totals)
        for place in range(first, s.dips):
            dip = dips(s.dips_at)[place]
            if dip.node < 0:
                base[place * kinds] = row[shared + dip.which]
            else:
                for k in range(kinds):
                    base[place * kinds + k] = row[dip.node * kinds + k]


@small
def known_until(s: Record) -> float:
    """Return up to when the list of dips holds; −∞ if not at all."""
    if s.listed_rate != s.rate or s.listed_t0 != s.t0 or s.listed_v0 != s.v0:
        return -np.inf
    return float(s.listed)


@callee
def look_ahead(s: Record, limit: float) -> None:
    """Know the dips up to a time, and what is left then by what runs now."""
    if known_until(s) <= limit:
        _find_dips(s, limit)
    s.seen = 0
    values, base = floats(s.dip_values_at), floats(s.dip_base_at)
    for at in range(s.dips * s.kinds):
        values[at] = base[at]


@callee
def look_further(s: Record, until: float, v: float) -> None:
    """Know more of the calendar, if need be up to a time; that may be never."""
    look_ahead(s, min(until, 2.0 * s.listed - v + s.longest))


@callee
def dip_between(s: Record, since: float, until: float) -> bool:
    """Tell whether there is a dip after one time and before another."""
    for index in range(s.dips):
        time = dips(s.dips_at)[index].time
        if time >= until:
            return False
        if time > since:
            return True
    return False


@callee
def look_through(s: Record, number: int, row: Floats, since: float, until: float) -> None:
    """Leave the smaller of a row and the dips after one time and before another in ``window``."""
    window = floats(s.window_at)
    values = floats(s.dip_values_at)
    copy_row(s, number, row, window)
    for index in range(s.dips):
        dip = dips(s.dips_at)[index]
        if dip.time >= until:
            return
        if dip.time <= since:
            continue
        if dip.node < 0:
            at = s.nodes * s.kinds + dip.which
            window[at] = min(window[at], values[index * s.kinds])
        else:
            for k in range(s.kinds):
                at = dip.node * s.kinds + k
                window[at] = min(window[at], values[index * s.kinds + k])

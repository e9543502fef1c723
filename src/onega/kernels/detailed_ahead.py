"""When a job fits by the expected ends and the calendar, where every chunk is one processor.

Totals are enough unless the calendar changes single nodes before the job is over (*nodal*): then
rows of nodes are looked at, as in `onega.kernels.detailed_easy`.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_dips import look_further, matters
from onega.kernels.detailed_place import shared_fit
from onega.kernels.detailed_state import (
    ENDS,
    Record,
    changes,
    dips,
    ends,
    partitions,
    slots,
)
from onega.kernels.engine import Floats


@callee
def _lost_in_dips(s: Record, number: int, row: Floats, count: int) -> float:
    """Return how many processors fewer a row has through the first dips, as to nodes."""
    p = partitions(s.partitions_at)[number]
    window, values = floats(s.window_at), floats(s.dip_values_at)
    for index in range(count):
        node = dips(s.dips_at)[index].node
        if node >= 0:
            window[node] = row[node]
    lost = 0.0
    for index in range(count):
        node = dips(s.dips_at)[index].node
        if p.first <= node < p.last:
            left = min(window[node], values[index])
            lost += max(window[node], 0.0) - max(left, 0.0)
            window[node] = left
    return lost


@small
def fits_dips(s: Record, number: int, option: int, since: float, until: float) -> bool:
    """Tell whether an option fits into the dips after one time and before another.

    Dips of machine-wide resources and of a pool; for those of single nodes see `fits_on`.
    """
    values = floats(s.dip_values_at)
    for index in range(s.dips):
        dip = dips(s.dips_at)[index]
        if dip.time >= until:
            return True
        if dip.time <= since:
            continue
        if dip.node < 0:
            if floats(s.demand_at)[option * s.shared + dip.which] > values[index]:
                return False
        elif (
            s.pooled
            and dip.node == partitions(s.partitions_at)[number].first
            and ints(s.chunks_at)[option] > values[index]
        ):
            return False
    return True


@small
def fits_on(s: Record, number: int, option: int, row: Floats, have: float, until: float) -> bool:
    """Tell whether an option fits on the nodes of a row that stay free through all dips.

    ``have``: how many processors the row has, at least as many as the option needs.
    """
    if until <= s.node_dip:
        return True
    count = 0
    while count < s.dips and dips(s.dips_at)[count].time < until:
        count += 1
    return ints(s.chunks_at)[option] <= have - _lost_in_dips(s, number, row, count)


@callee
def _see_dips(s: Record, number: int) -> None:
    """Note the first dips of processors and of the last machine-wide resource."""
    first = partitions(s.partitions_at)[number].first
    values = floats(s.dip_values_at)
    s.seen = 1
    s.first_dip, s.through = np.inf, np.inf
    s.shared_dip, s.shared_through = np.inf, np.inf
    for index in range(s.dips - 1, -1, -1):
        dip = dips(s.dips_at)[index]
        if s.pooled and dip.node == first:
            s.first_dip, s.through = dip.time, values[index]
        elif dip.node < 0 and dip.which == s.shared - 1:
            s.shared_dip, s.shared_through = dip.time, values[index]
    if s.dips > 0 and s.node_dip < np.inf:
        count = 0
        while count < s.dips and dips(s.dips_at)[count].time <= s.node_dip:
            count += 1
        s.first_dip = s.node_dip
        have = floats(s.total_avail_at)[number]
        s.through = have - _lost_in_dips(s, number, floats(s.avail_at), count)


@small
def outlasts_dips(s: Record, number: int, one: Record, v: float) -> bool:
    """Tell at a glance whether a waiting job may run from now on through the first dips.

    Long queues stand before what the calendar takes away: most are told so here.
    """
    if not s.seen:
        _see_dips(s, number)
    until = v + one.expect
    return (one.procs <= s.through or until <= s.first_dip) and (
        one.demand <= s.shared_through or until <= s.shared_dip
    )


@small
def _add_end(s: Record, index: int, number: int) -> float:
    """Let what a running job holds be free in ``later``; return its processors."""
    end = ends(s.ends_at)[index]
    later = floats(s.later_at)
    if s.shared == 1:
        later[s.nodes] += end.demand
    elif s.shared > 1:
        option = slots(s.slots_at)[end.slot].option
        for g in range(s.shared):
            later[s.nodes + g] += floats(s.demand_at)[option * s.shared + g]
    if s.parts == 1 or slots(s.slots_at)[end.slot].partition == number:
        return end.amount
    return 0.0


@small
def _add_change(s: Record, index: int, number: int) -> float:
    """Let the calendar change what is in ``later``; return the processors that a pool gains.

    What single nodes gain isn't counted here: from the first such change on it is *nodal*.
    """
    one = changes(s.changes_at)[index]
    if one.node < 0:
        floats(s.later_at)[s.nodes + one.which] += one.amount
        return 0.0
    if not s.pooled or not matters(s, index, number):
        return 0.0
    return one.amount * floats(s.reserved_amount_at)[one.which]


@small
def time_by_ends(s: Record, number: int, option: int, v: float) -> float:
    """Do the same as `_first_time` without a calendar, for one partition and one shared resource.

    Leaves the processors free then in ``beside``, the machine-wide resource in ``later``.
    """
    p = partitions(s.partitions_at)[number]
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    need, have = float(ints(s.chunks_at)[option]), floats(s.total_avail_at)[number]
    if s.pooled:
        have = floats(s.avail_at)[p.first]
    want, room = 0.0, 0.0
    if s.shared > 0:
        want, room = floats(s.demand_at)[option], floats(s.avail_at)[s.nodes]
    w = v
    end = 0
    while True:
        while end < size and table[end].expected <= w:
            have += table[end].amount
            room += table[end].demand
            end += 1
        if have >= need and room >= want:
            break
        if end == size:
            return np.inf
        w = table[end].expected
    p.beside = have
    if s.shared > 0:
        floats(s.later_at)[s.nodes] = room
    return w


@small
def _first_time(s: Record, number: int, option: int, lasting: float, v: float) -> float:
    """Return when an option fits by the expected ends; ∞ if never.

    Leaves the processors free then in ``beside``, machine-wide resources in ``later``.
    """
    p = partitions(s.partitions_at)[number]
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    later = floats(s.later_at)
    need = float(ints(s.chunks_at)[option])
    have = floats(s.total_avail_at)[number]
    if s.pooled:
        have = floats(s.avail_at)[p.first]
    for g in range(s.shared):
        later[s.nodes + g] = floats(s.avail_at)[s.nodes + g]
    w = v
    end, change = 0, 0
    while True:
        while end < size and table[end].expected <= w:
            have += _add_end(s, end, number)
            end += 1
        following = np.inf
        while change < s.changes:
            following = changes(s.changes_at)[change].time
            if following > w:
                break
            have += _add_change(s, change, number)
            change += 1
            following = np.inf
        if have >= need and shared_fit(s, later, s.nodes, option):
            if s.dips == 0 or fits_dips(s, number, option, w, w + lasting):
                p.beside = have
                return w
            if end < size:
                following = min(following, table[end].expected)
        elif s.shared <= 1 and s.parts == 1:
            # Until the calendar changes something, what is missing comes with the ends alone.
            want = floats(s.demand_at)[option] if s.shared > 0 else 0.0
            room = later[s.nodes] if s.shared > 0 else 0.0
            while end < size and table[end].expected < following:
                w = table[end].expected
                have += table[end].amount
                room += table[end].demand
                end += 1
                if have >= need and room >= want:
                    following = w
            if s.shared > 0:
                later[s.nodes] = room
        else:
            while end < size and table[end].expected < following:
                w = table[end].expected
                have += _add_end(s, end, number)
                end += 1
                if have >= need and shared_fit(s, later, s.nodes, option):
                    following = w
        if following == np.inf:
            return np.inf
        w = following


@small
def time_of(s: Record, number: int, option: int, lasting: float, v: float) -> float:
    """Return when an option fits, the calendar looked at as far as need be.

    If that turns out to be a matter of single nodes, ``nodal`` says so, and the time isn't known.
    """
    w = -np.inf
    while True:
        w = _first_time(s, number, option, lasting, v)
        if not s.planned:
            return w
        if w + lasting <= s.listed or s.node_change < np.inf:
            break
        look_further(s, w + lasting, v)
    change = s.node_change
    s.nodal = change < np.inf and (w >= change or w + lasting > change)
    return w

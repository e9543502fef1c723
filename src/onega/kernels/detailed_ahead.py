"""When a job fits by the expected ends and the calendar, where every chunk is one processor.

Totals are enough unless the calendar changes single nodes up to the time that matters (*nodal*):
then rows of nodes are looked at, as in `onega.kernels.detailed_easy`.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_dips import (
    deepen,
    dip_between,
    find_dips,
    list_changes,
    look_through,
    matters,
    note_dips,
)
from onega.kernels.detailed_place import shared_fit
from onega.kernels.detailed_state import (
    ENDS,
    Record,
    changes,
    dips,
    ends,
    gots,
    partitions,
    slots,
)
from onega.kernels.engine import Floats


@callee
def window_total(s: Record, number: int, row: Floats, until: float) -> float:
    """Return the processors that a row has through all dips before a time; left in ``window``."""
    look_through(s, number, row, -np.inf, until)
    window = floats(s.window_at)
    total = 0.0
    for node in range(
        partitions(s.partitions_at)[number].first, partitions(s.partitions_at)[number].last
    ):
        total += max(window[node], 0.0)
    return total


@small
def fits_dips(s: Record, option: int, since: float, until: float) -> bool:
    """Tell whether an option fits into the dips after one time and before another.

    Dips of machine-wide resources and of a pool; those of single nodes see `window_total`.
    """
    values = floats(s.dip_values_at)
    for index in range(s.dips):
        dip = dips(s.dips_at)[index]
        if dip.time >= until:
            return True
        if dip.time > since and (dip.node < 0 or s.pooled):
            need = float(ints(s.chunks_at)[option])
            if dip.node < 0:
                need = floats(s.demand_at)[option * s.shared + dip.which]
            if need > values[index]:
                return False
    return True


@small
def fits_on(s: Record, number: int, option: int, row: Floats, until: float) -> bool:
    """Tell whether an option fits on the nodes of a row that stay free through all dips."""
    if not s.nodal or not dip_between(s, -np.inf, until):
        return True
    return ints(s.chunks_at)[option] <= window_total(s, number, row, until)


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
    """Let the calendar change what is in ``later``; return the processors that a pool gains."""
    one = changes(s.changes_at)[index]
    if one.node < 0:
        floats(s.later_at)[s.nodes + one.which] += one.amount
        return 0.0
    if one.node != partitions(s.partitions_at)[number].first:
        return 0.0
    return one.amount * floats(s.reserved_amount_at)[one.which]


@callee
def look_ahead(s: Record, number: int, v: float, limit: float) -> None:
    """List the dips up to a time, each with what is left then, as `find_dips`."""
    list_changes(s, v, limit)
    s.dips = 0
    s.dips_limit = limit
    s.nodal = 0
    if s.changes == 0:
        return
    if not s.pooled:
        for index in range(s.changes):
            if changes(s.changes_at)[index].node >= 0 and matters(s, index, number):
                s.nodal = 1
        if s.nodal:
            find_dips(s, number, v, limit)
            return
    later, values = floats(s.later_at), floats(s.dip_values_at)
    size = ints(s.sizes_at)[ENDS]
    have = floats(s.avail_at)[partitions(s.partitions_at)[number].first]
    for g in range(s.shared):
        later[s.nodes + g] = floats(s.avail_at)[s.nodes + g]
    end, change, index = 0, 0, 0
    while index < s.changes:
        time = changes(s.changes_at)[index].time
        first = s.dips
        index = note_dips(s, number, index, v)
        while end < size and ends(s.ends_at)[end].expected <= time:
            have += _add_end(s, end, number)
            end += 1
        while change < index:
            have += _add_change(s, change, number)
            change += 1
        for at in range(first, s.dips):
            dip = dips(s.dips_at)[at]
            values[at] = have if dip.node >= 0 else later[s.nodes + dip.which]


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


@callee
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
        while change < s.changes and changes(s.changes_at)[change].time <= w:
            have += _add_change(s, change, number)
            change += 1
        if (
            have >= need
            and shared_fit(s, later, s.nodes, option)
            and (not s.planned or fits_dips(s, option, w, w + lasting))
        ):
            p.beside = have
            return w
        following = np.inf
        if end < size:
            following = table[end].expected
        if change < s.changes:
            following = min(following, changes(s.changes_at)[change].time)
        if following == np.inf:
            return np.inf
        w = following


@callee
def lower_dips(s: Record, number: int, option: int, since: float, until: float) -> None:
    """Let the dips have less: a job holds its processors there, on the nodes found last."""
    if s.pooled:
        got = gots(s.got_at)[0]
        got.node = partitions(s.partitions_at)[number].first
        got.chunks = ints(s.chunks_at)[option]
        s.got = 1
    deepen(s, option, since, until)


@callee
def time_of(s: Record, number: int, option: int, lasting: float, v: float) -> float:
    """Return when an option fits, the calendar looked at as far as need be.

    If that turns out to be a matter of single nodes, ``nodal`` says so, and the time isn't known.
    """
    w = v
    while not s.nodal:
        w = _first_time(s, number, option, lasting, v)
        # If it lasts beyond what is known of the calendar, look further.
        if not s.planned or w + lasting <= s.dips_limit or s.dips_limit == np.inf:
            break
        look_ahead(s, number, v, w + lasting)
    return w

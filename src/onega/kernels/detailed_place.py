"""Placing the chunks of a job on nodes: first fit, best fit, spread, whole nodes.

A placement looks at a row of free amounts (`onega.kernels.detailed_state`) and leaves its answer
in ``got``. Node n takes h = min ⌊free / need⌋ chunks over the resources that a chunk needs; all
rules succeed exactly if Σh reaches the number of chunks. Nodes that are asleep come after others:
by (depth of sleep, number), or (h, depth, number).
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small, trailing_zeros
from onega.kernels.detailed_bits import place_bits
from onega.kernels.detailed_codes import BEST_FIT, FIRST_FIT
from onega.kernels.detailed_depth import depth_of, first_fit_asleep, take_units
from onega.kernels.detailed_state import Record, gots, partitions
from onega.kernels.engine import Floats

PLENTY = 1 << 60
"""Chunks that need nothing of a node fit in any number."""


@small
def chunks_on(s: Record, row: Floats, base: int, node: int, option: int) -> int:
    """Return how many chunks fit on a node by a row of free amounts, which begins at ``base``."""
    kinds = s.kinds
    chunk = floats(s.chunk_at)
    if kinds == 1:
        have, need = row[base + node], chunk[option * s.pitch]
        if have <= 0.0:
            return 0 if need > 0.0 else PLENTY
        if need == 1.0:
            return int(have)
    fit = PLENTY
    for k in range(kinds):
        need = chunk[option * s.pitch + k]
        if need > 0.0:
            have = row[base + node * kinds + k]
            if have < need:
                return 0
            fit = min(fit, int(np.floor(have / need)))
    return fit


@small
def is_whole(s: Record, row: Floats, base: int, node: int) -> bool:
    """Tell whether nothing of a node is taken."""
    capacity = floats(s.capacity_at)
    for at in range(node * s.kinds, node * s.kinds + s.kinds):
        if row[base + at] != capacity[at]:
            return False
    return True


@small
def room_on(s: Record, row: Floats, base: int, node: int, option: int) -> int:
    """Return how many chunks a node takes, whole or not."""
    if s.wholes and partitions(s.partitions_at)[ints(s.hosts_at)[node]].whole:
        if not is_whole(s, row, base, node):
            return 0
        return chunks_on(s, floats(s.capacity_at), 0, node, option)
    return chunks_on(s, row, base, node, option)


@small
def shared_fit(s: Record, row: Floats, base: int, option: int) -> bool:
    """Tell whether a job's machine-wide demand fits; the machine-wide amounts are at ``base``."""
    demand = floats(s.demand_at)
    g = 0
    while g < s.shared and demand[option * s.shared + g] <= row[base + g]:
        g += 1
    return g == s.shared


@callee
def enough(s: Record, row: Floats, base: int, number: int, option: int) -> bool:
    """Tell whether the chunks of a job fit on a partition's nodes."""
    p = partitions(s.partitions_at)[number]
    left = ints(s.chunks_at)[option]
    for node in range(p.first, p.last):
        left -= room_on(s, row, base, node, option)
        if left <= 0:
            return True
    return left <= 0


@small
def _take(s: Record, node: int, chunks: int) -> None:
    got = gots(s.got_at)[s.got]
    got.node = node
    got.chunks = chunks
    s.got += 1


@small
def _next_free(s: Record, node: int) -> int:
    """Return the first node from one on that has a processor for new starts; behind all: N."""
    bits = ints(s.bits_at)
    at = node >> 6
    word = bits[at] & (-1 << (node & 63))
    while word == 0:
        at += 1
        word = bits[at]
    return (at << 6) + trailing_zeros(word)


@small
def _following(s: Record, node: int, now: bool) -> int:  # noqa: FBT001
    """Return the next node to look at, from one on; of what is free now only the free ones."""
    return _next_free(s, node) if now else node


@small
def _count_rooms(s: Record, row: Floats, number: int, now: bool) -> int:  # noqa: FBT001
    """Count nodes by how many processors they have in a row, in ``rooms``; return the most."""
    last = partitions(s.partitions_at)[number].last
    rooms = ints(s.rooms_at)
    most = 0
    node = _following(s, partitions(s.partitions_at)[number].first, now)
    while node < last:
        have = int(row[node])
        if have > 0:
            rooms[have] += 1
            most = max(most, have)
        node = _following(s, node + 1, now)
    return most


@callee
def _first_fit_now(s: Record, number: int, option: int) -> bool:
    """Take processors that are free now by number of their node, as `_first_fit_units`."""
    last = partitions(s.partitions_at)[number].last
    avail = floats(s.avail_at)
    left = ints(s.chunks_at)[option]
    count = 0
    node = _next_free(s, partitions(s.partitions_at)[number].first)
    while node < last and left > 0:
        left -= take_units(s, count, node, avail[node], left)
        count += 1
        node = _next_free(s, node + 1)
    s.got = count
    return left == 0


@callee
def _first_fit_units(s: Record, row: Floats, base: int, number: int, option: int) -> bool:
    """Take processors by number of their node: nothing else is asked for, nobody sleeps."""
    p = partitions(s.partitions_at)[number]
    left = ints(s.chunks_at)[option]
    count = 0
    for node in range(p.first, p.last):
        have = row[base + node]
        if have >= 1.0:
            left -= take_units(s, count, node, have, left)
            count += 1
            if left == 0:
                break
    s.got = count
    return left == 0


@callee
def _first_fit(s: Record, row: Floats, base: int, number: int, option: int) -> bool:
    """Take nodes by number, the awake first."""
    p = partitions(s.partitions_at)[number]
    left = ints(s.chunks_at)[option]
    scratch = ints(s.scratch_at)
    asleep = 0
    for node in range(p.first, p.last):
        room = room_on(s, row, base, node, option)
        if room == 0:
            continue
        if s.sleeps > 0 and depth_of(s, node) > 0:
            scratch[asleep] = node
            asleep += 1
            continue
        _take(s, node, min(room, left))
        left -= room
        if left <= 0:
            return True
    for depth in range(1, s.sleeps + 1):
        for place in range(asleep):
            node = scratch[place]
            if depth_of(s, node) == depth:
                room = room_on(s, row, base, node, option)
                _take(s, node, min(room, left))
                left -= room
                if left <= 0:
                    return True
    return left <= 0


@callee
def _best_fit_units(s: Record, row: Floats, number: int, option: int, now: bool) -> bool:  # noqa: FBT001
    """Take processors of the nodes with the fewest free: nothing else is asked for, nobody sleeps.

    Counting nodes by what they have tells the level up to which nodes are taken whole.
    """
    p = partitions(s.partitions_at)[number]
    left = ints(s.chunks_at)[option]
    rooms = ints(s.rooms_at)
    most = _count_rooms(s, row, number, now)
    level = 0
    while level < most and left > level * rooms[level]:
        left -= level * rooms[level]
        rooms[level] = 0
        level += 1
    enough = left <= level * rooms[level]
    for rest in range(level, most + 1):
        rooms[rest] = 0
    if not enough:
        return False
    node = _following(s, p.first, now)
    while node < p.last:
        have = int(row[node])
        if 0 < have < level:
            _take(s, node, have)
        elif have == level and left > 0:
            _take(s, node, min(level, left))
            left -= level
        node = _following(s, node + 1, now)
    return True


@callee
def _best_fit(s: Record, row: Floats, base: int, number: int, option: int) -> bool:
    """Take nodes by what fits on them, the least first."""
    p = partitions(s.partitions_at)[number]
    left = ints(s.chunks_at)[option]
    depths = s.sleeps + 1
    done = depths - 1
    while True:
        # The smallest (h, depth) that hasn't been taken yet; h ≥ 1.
        level = PLENTY
        for node in range(p.first, p.last):
            room = min(room_on(s, row, base, node, option), PLENTY // depths - 1)
            if room > 0:
                rank = room * depths + depth_of(s, node)
                if done < rank < level:
                    level = rank
        if level == PLENTY:
            return left <= 0
        for node in range(p.first, p.last):
            room = min(room_on(s, row, base, node, option), PLENTY // depths - 1)
            if room > 0 and room * depths + depth_of(s, node) == level:
                _take(s, node, min(room, left))
                left -= room
                if left <= 0:
                    return True
        done = level


@callee
def _spread(s: Record, row: Floats, base: int, number: int, option: int) -> bool:
    """Put chunk by chunk onto the node with the most room left.

    In the end all nodes with more room than some level have been filled to it, and each of the
    chunks that are left takes one of them, the awake first, then by number, one below.
    """
    p = partitions(s.partitions_at)[number]
    count = ints(s.chunks_at)[option]
    scratch = ints(s.scratch_at)
    total, most = 0, 0
    for node in range(p.first, p.last):
        scratch[node] = room_on(s, row, base, node, option)
        total += min(scratch[node], count)
        most = max(most, scratch[node])
    if total < count:
        return False
    low, high = 0, most
    while high - low > 1:  # the lowest level to which nodes are filled with fewer than ``count``
        middle = (low + high) >> 1
        given = 0
        for node in range(p.first, p.last):
            given += min(max(0, scratch[node] - middle), count)
        if given < count:
            high = middle
        else:
            low = middle
    left = count
    for node in range(p.first, p.last):
        left -= max(0, scratch[node] - high)
    for depth in range(s.sleeps + 1):
        for node in range(p.first, p.last):
            if scratch[node] < high or depth_of(s, node) != depth:
                continue
            more = min(left, 1)
            left -= more
            if scratch[node] - high + more > 0:
                _take(s, node, scratch[node] - high + more)
    return True


@callee
def _spread_units(s: Record, row: Floats, number: int, option: int, now: bool) -> bool:  # noqa: FBT001
    """Do the same where nothing but processors is asked for and nobody sleeps: by counting."""
    p = partitions(s.partitions_at)[number]
    count = ints(s.chunks_at)[option]
    rooms = ints(s.rooms_at)
    most = _count_rooms(s, row, number, now)
    # The lowest level to which nodes are filled with fewer than ``count``: see `_spread`.
    high, given, above = most, 0, 0
    while high > 0:
        above += rooms[high]
        if given + above >= count:
            break
        given += above
        high -= 1
    for level in range(most + 1):
        rooms[level] = 0
    if high == 0:
        return count == 0
    left = count - given
    node = _following(s, p.first, now)
    while node < p.last:
        some = int(row[node]) - high
        if some >= 0:
            if left > 0:
                some += 1
                left -= 1
            if some > 0:
                _take(s, node, some)
        node = _following(s, node + 1, now)
    return True


@callee
def place(s: Record, row: Floats, base: int, number: int, option: int) -> bool:
    """Find nodes for a job of a partition by a row; the machine-wide part is looked at before."""
    s.got = 0
    rule = partitions(s.partitions_at)[number].placement
    if s.unit and (s.pooled or (rule == FIRST_FIT and s.sleeps == 0)):
        return _first_fit_units(s, row, base, number, option)
    if s.unit and rule == FIRST_FIT:
        return first_fit_asleep(s, row, base, number, option, False)  # noqa: FBT003
    if rule == FIRST_FIT or s.pooled or partitions(s.partitions_at)[number].whole:
        return _first_fit(s, row, base, number, option)
    if rule == BEST_FIT and s.unit and s.sleeps == 0 and base == 0:
        return _best_fit_units(s, row, number, option, False)  # noqa: FBT003
    if rule == BEST_FIT:
        return _best_fit(s, row, base, number, option)
    if s.unit and s.sleeps == 0 and base == 0:
        return _spread_units(s, row, number, option, False)  # noqa: FBT003
    return _spread(s, row, base, number, option)


@callee
def place_now(s: Record, number: int, option: int) -> bool:
    """Find nodes for a job of a partition by what is free now."""
    if s.planes > 0:
        return place_bits(s, ints(s.avail_bits_at), number, option)
    avail = floats(s.avail_at)
    rule = partitions(s.partitions_at)[number].placement
    if s.unit and s.sleeps > 0 and rule == FIRST_FIT and not s.pooled:
        return first_fit_asleep(s, avail, 0, number, option, True)  # noqa: FBT003
    if not s.unit or s.sleeps > 0 or s.pooled:
        return place(s, avail, 0, number, option)
    s.got = 0
    if rule == FIRST_FIT:
        return _first_fit_now(s, number, option)
    if rule == BEST_FIT:
        return _best_fit_units(s, avail, number, option, True)  # noqa: FBT003
    return _spread_units(s, avail, number, option, True)  # noqa: FBT003

"""Placing the chunks of a job on nodes: first fit, best fit, spread, whole nodes.

Node n takes h = min ⌊free / need⌋ chunks over the resources that a chunk needs; all rules succeed
exactly if Σh reaches the number of chunks. Nodes that are asleep come after others: by (depth of
sleep, number), or (h, depth, number). What is free of a node is the least of a row of amounts and
of the plan's dips (`plan`) after ``begin`` and before ``until``. The answer is in ``found``.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled
from onega.kernels.machine.codes import BEST_FIT, FIRST_FIT, SPREAD
from onega.kernels.machine.sleep import depth_of
from onega.kernels.machine.state import Machine, Record
from onega.kernels.types import Floats

PLENTY = 1 << 40
"""Chunks that need nothing of a node fit in any number."""


@compiled
def chunks_in(m: Machine, row: Floats, at: int, chunk: int) -> int:
    """Return how many chunks of a kind fit into row ``at`` of amounts."""
    need, have = m.needs[chunk, 0], row[at, 0]
    if m.rules[0].plain_rows > 0 and need > 0.0:
        if have < need:
            return 0
        return int(have) if need == 1.0 else int(np.floor(have / need))
    fit = PLENTY
    for k in range(m.needs.shape[1]):
        need = m.needs[chunk, k]
        if need > 0.0:
            if row[at, k] < need:
                return 0
            fit = min(fit, int(np.floor(row[at, k] / need)))
    return fit


@compiled
def room_in(m: Machine, row: Floats, at: int, n: int, whole: int, chunk: int) -> int:
    """Return how many chunks node n takes by row ``at`` of amounts, whole nodes or not."""
    if whole > 0:
        for k in range(m.needs.shape[1]):
            if row[at, k] != m.capacity[n, k]:
                return 0
        return chunks_in(m, m.capacity, n, chunk)
    return chunks_in(m, row, at, chunk)


@compiled
def room_on(
    m: Machine, row: Floats, n: int, whole: int, chunk: int, begin: float, until: float
) -> int:
    """Return how many chunks node n takes by a row and by the dips in (begin, until)."""
    room = room_in(m, row, n, n, whole, chunk)
    k = m.nodes[n].dips
    while k >= 0 and room > 0 and (m.planned.dips[k].time < until):
        if m.planned.dips[k].time > begin:
            room = min(room, room_in(m, m.planned.amounts, k, n, whole, chunk))
        k = m.planned.dips[k].following
    return room


@compiled
def count_room(
    m: Machine, part: Record, row: Floats, chunk: int, begin: float, until: float
) -> int:
    """Note how many chunks each usable node of a partition takes; return how many all do."""
    total, need = 0, m.needs[chunk, 0]
    for n in range(part.first, part.last):
        node = m.nodes[n]
        node.room = 0
        if (need == 0.0 or row[n, 0] >= need) and node.usable > 0:
            node.room = room_on(m, row, n, part.whole, chunk, begin, until)
            total += node.room
    return total


@compiled
def _take(m: Machine, n: int, chunks: int) -> None:
    found = m.planned.found[m.clock[0].found]
    found.node = n
    found.chunks = chunks
    m.clock[0].found += 1


@compiled
def _first_fit(m: Machine, part: Record, left: int) -> None:
    """Take nodes by depth of sleep, then by number."""
    for depth in range(m.rules[0].sleeps + 1):
        for n in range(part.first, part.last):
            room = m.nodes[n].room
            if room > 0 and (m.rules[0].sleeps == 0 or depth_of(m, n) == depth):
                _take(m, n, min(room, left))
                left -= room
                if left <= 0:
                    return


@compiled
def _best_fit(m: Machine, part: Record, left: int) -> None:
    """Take nodes by what fits on them, the least first, then as first fit does."""
    depths = m.rules[0].sleeps + 1
    done = depths - 1
    while left > 0:
        level = PLENTY * depths + depths
        for n in range(part.first, part.last):
            room = m.nodes[n].room
            if room > 0:
                rank = min(room, PLENTY) * depths
                if m.rules[0].sleeps > 0:
                    rank += depth_of(m, n)
                m.planned.rank[n] = rank
                if done < rank < level:
                    level = rank
        for n in range(part.first, part.last):
            if m.nodes[n].room > 0 and m.planned.rank[n] == level and left > 0:
                _take(m, n, min(m.nodes[n].room, left))
                left -= m.nodes[n].room
        done = level


@compiled
def _given_down_to(m: Machine, part: Record, level: int, most: int) -> int:
    """Count the chunks, at most about ``most``, if all nodes are filled down to a level of room."""
    given = 0
    for n in range(part.first, part.last):
        given += min(max(0, m.nodes[n].room - level), most)
    return given


@compiled
def _spread(m: Machine, part: Record, count: int) -> None:
    """Put chunk by chunk onto the node with the most room left.

    In the end all nodes with more room than some level have been filled to it, and each of the
    chunks that are left takes one of them, the awake first, then by number, one below.
    """
    low, high = 0, 0
    for n in range(part.first, part.last):
        high = max(high, m.nodes[n].room)
    while high - low > 1:  # the lowest level to which nodes are filled with fewer than ``count``
        middle = (low + high) >> 1
        if _given_down_to(m, part, middle, count) < count:
            high = middle
        else:
            low = middle
    left = count - _given_down_to(m, part, high, count)
    for depth in range(m.rules[0].sleeps + 1):
        for n in range(part.first, part.last):
            some = m.nodes[n].room - high
            if some >= 0 and (m.rules[0].sleeps == 0 or depth_of(m, n) == depth):
                if left > 0:
                    some += 1
                    left -= 1
                if some > 0:
                    _take(m, n, some)


@compiled
def place(m: Machine, part: Record, row: Floats, option: int, begin: float, until: float) -> bool:
    """Find nodes for an option; False (then ``room`` of the plan is known) if there isn't room."""
    chunk, left = m.options[option].chunk, m.options[option].chunks
    m.clock[0].found = 0
    rule = FIRST_FIT if part.whole > 0 else part.placement
    if rule == FIRST_FIT and m.rules[0].sleeps == 0:  # the usual case: stop where it is enough
        need = m.needs[chunk, 0]
        for n in range(part.first, part.last):
            if (need == 0.0 or row[n, 0] >= need) and m.nodes[n].usable > 0:
                room = room_on(m, row, n, part.whole, chunk, begin, until)
                if room > 0:
                    _take(m, n, min(room, left))
                    left -= room
                    if left <= 0:
                        return True
        m.planned.plan[0].room = m.options[option].chunks - left
        return left <= 0
    m.planned.plan[0].room = count_room(m, part, row, chunk, begin, until)
    if m.planned.plan[0].room < left:
        return False
    if rule == BEST_FIT:
        _best_fit(m, part, left)
    elif rule == SPREAD:
        _spread(m, part, left)
    else:
        _first_fit(m, part, left)
    return True

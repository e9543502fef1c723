"""Placing the chunks of a job on nodes: first fit, best fit, spread, whole nodes.

Node n takes h = min ⌊free / need⌋ chunks over the resources that a chunk needs; all rules succeed
exactly if Σh reaches the number of chunks. Nodes that are asleep come after others: by (depth of
sleep, number), or (h, depth, number). What is free of a node is the least of a row of amounts and
of the plan's dips (`dips`) after ``begin`` and before ``until``. The answer is in ``found``, by
number.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.machine.codes import BEST_FIT, FIRST_FIT, SPREAD
from onega.kernels.machine.sleep import depth_of
from onega.kernels.machine.state import PLENTY, Machine, Record
from onega.kernels.types import Floats


@part
def chunks_in(m: Machine, row: Floats, at: int, chunk: int) -> int:
    """Return how many chunks of a kind fit into row ``at`` of amounts."""
    fit = PLENTY
    for k in range(m.needs.shape[1]):
        need, have = m.needs[chunk, k], row[at, k]
        if need > 0.0:
            if have < need:
                return 0
            fit = min(fit, int(have) if need == 1.0 else int(np.floor(have / need)))
    return fit


@part
def room_in(m: Machine, row: Floats, at: int, n: int, whole: int, chunk: int) -> int:
    """Return how many chunks node n takes by row ``at`` of amounts, whole nodes or not."""
    if whole > 0:
        for k in range(m.needs.shape[1]):
            if row[at, k] != m.capacity[n, k]:
                return 0
        return chunks_in(m, m.capacity, n, chunk)
    return chunks_in(m, row, at, chunk)


@part
def room_on(
    m: Machine, row: Floats, n: int, whole: int, chunk: int, begin: float, until: float
) -> int:
    """Return how many chunks node n takes by a row and by the dips in (begin, until)."""
    room = room_in(m, row, n, n, whole, chunk)
    k = m.nodes[n].dips
    while k >= 0 and room > 0 and m.dips[k].time < until:
        if m.dips[k].time > begin:
            room = min(room, room_in(m, m.dip_free, k, n, whole, chunk))
        k = m.dips[k].following
    return room


@part
def _find_room(
    m: Machine, part: Record, row: Floats, option: int, begin: float, until: float, enough: int
) -> int:
    """List the nodes that take chunks of an option, until there is room enough; return for how many."""  # noqa: E501
    chunk, total, count = m.options[option].chunk, 0, 0
    need, found = m.needs[chunk, 0], m.found
    for n in range(part.first, part.last):
        if (need == 0.0 or row[n, 0] >= need) and m.nodes[n].usable > 0:
            room = room_on(m, row, n, part.whole, chunk, begin, until)
            if room > 0:
                piece = found[count]
                piece.node = n
                piece.room = piece.chunks = room
                count += 1
                total += room
                if total >= enough:
                    piece.chunks -= total - enough
                    break
    m.placed[0].nodes = count
    return total


@compiled
def _take_in_order(m: Machine, left: int, by_room: bool) -> None:  # noqa: FBT001
    """Take nodes by what fits on them, the least first (best fit), awake ones, then by number."""
    found, count, depths = m.found, m.placed[0].nodes, m.rules[0].sleeps + 1
    following = beyond = PLENTY * (depths + 1)
    for k in range(count):
        found[k].chunks = 0
        found[k].rank = depth_of(m, found[k].node) + (found[k].room * depths if by_room else 0)
        following = min(following, found[k].rank)
    while left > 0:
        level, following = following, beyond
        for k in range(count):
            if found[k].rank == level:
                found[k].chunks = min(found[k].room, left)
                left -= found[k].chunks
            elif level < found[k].rank < following:
                following = found[k].rank


@compiled
def _given_down_to(m: Machine, level: int, most: int) -> int:
    """Count the chunks, at most about ``most``, if all nodes are filled down to a level of room."""
    given = 0
    for k in range(m.placed[0].nodes):
        given += min(max(0, m.found[k].room - level), most)
    return given


@compiled
def _spread(m: Machine, chunks: int) -> None:
    """Put chunk by chunk onto the node with the most room left.

    In the end all nodes with more room than some level have been filled to it, and each of the
    chunks that are left takes one of them, the awake first, then by number, one below.
    """
    found, count = m.found, m.placed[0].nodes
    low, high = 0, 0
    for k in range(count):
        high = max(high, found[k].room)
    while high - low > 1:  # the lowest level to which nodes are filled with fewer than ``chunks``
        middle = (low + high) >> 1
        if _given_down_to(m, middle, chunks) < chunks:
            high = middle
        else:
            low = middle
    left = chunks - _given_down_to(m, high, chunks)
    for depth in range(m.rules[0].sleeps + 1):
        for k in range(count):
            if depth_of(m, found[k].node) == depth:
                found[k].chunks = max(0, found[k].room - high)
                if left > 0 and found[k].room >= high:
                    found[k].chunks += 1
                    left -= 1


@compiled
def _keep_taken(m: Machine) -> None:
    """Leave out the nodes that none of the chunks go to."""
    found, kept = m.found, 0
    for k in range(m.placed[0].nodes):
        if found[k].chunks > 0:
            found[kept].node = found[k].node
            found[kept].chunks = found[k].chunks
            kept += 1
    m.placed[0].nodes = kept


@compiled
def place(m: Machine, part: Record, row: Floats, option: int, begin: float, until: float) -> bool:
    """Find nodes for an option; False (then it is known how many find room) if there isn't room."""
    chunks = m.options[option].chunks
    rule = FIRST_FIT if part.whole > 0 else part.placement
    by_number = rule == FIRST_FIT and m.rules[0].sleeps == 0
    enough = chunks if by_number else PLENTY
    m.placed[0].chunks = _find_room(m, part, row, option, begin, until, enough)
    if m.placed[0].chunks < chunks:
        return False
    if not by_number:
        if rule == SPREAD:
            _spread(m, chunks)
        else:
            _take_in_order(m, chunks, rule == BEST_FIT)
        _keep_taken(m)
    return True

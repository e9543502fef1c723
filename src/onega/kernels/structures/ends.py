"""A binary heap of records by their field ``end``: the earliest on top, equal ones in no order.

Records carry all that is needed when they leave, and nothing is looked up elsewhere. `heap` has an
order among equals and takes records out of the middle; this is the quicker one where neither
matters. Every operation is O(log n).
"""

from __future__ import annotations

from onega.kernels.jit import part
from onega.kernels.types import Records


@part
def ends_push(heap: Records, size: int, end: float) -> int:
    """Make room in a heap of ``size`` records for one with this end; return its place."""
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent].end <= end:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place].end = end
    return place


@part
def ends_pop(heap: Records, size: int) -> None:
    """Take the earliest record out of a heap that has ``size`` left without it."""
    end = heap[size].end
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size:
            # Which child is earlier is a toss-up: computed, not branched on.
            child += heap[child + 1].end < heap[child].end
        if end <= heap[child].end:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = heap[size]

"""Who is next to do his work, or to be launched or completed: the nearest few, and a heap.

A heap of a dozen takes several branches to enter and to leave that can't be foreseen. So the
nearest stand in an array, the very next at its end: who enters takes one such branch, who leaves
none. As long as there are more than fit there, the others are in a heap behind them.
"""

from __future__ import annotations

from typing import Any

from onega.kernels.addressed import callee, ints, move, small
from onega.kernels.detailed_state import FAR, WORK, Record, heap_entries, heap_size
from onega.kernels.heap import Heap, heap_pop, heap_push, heap_remove

NEAR = 64
"""Entries of the array."""


@small
def _near(s: Record, which: int) -> Any:  # noqa: ANN401
    return heap_entries(s.work_near_at if which == WORK else s.time_near_at)


@small
def _far(s: Record, which: int) -> Heap:
    at = s.work_heap_at if which == WORK else s.time_heap_at
    return Heap(heap_entries(at), heap_size(s.sizes_at, FAR + which))


@small
def is_any(s: Record, which: int) -> bool:
    """Tell whether anybody is in there."""
    return ints(s.sizes_at)[which] > 0


@small
def next_key(s: Record, which: int) -> float:
    """Return the key of the next one; there must be one."""
    return float(_near(s, which)[ints(s.sizes_at)[which] - 1].key)


@callee
def _fetch(s: Record, which: int) -> None:
    """Let the first of the heap be near, where nobody is."""
    near, far = _near(s, which), _far(s, which)
    count = min(NEAR // 2, far.size[0])
    for place in range(count - 1, -1, -1):
        near[place].key = far.entry[0].key
        near[place].seq = far.entry[0].seq
        near[place].slot = heap_pop(far)
    ints(s.sizes_at)[which] = count


@callee
def _send_away(s: Record, which: int) -> None:
    """Let the later half of the array go to the heap."""
    near, far = _near(s, which), _far(s, which)
    half = NEAR // 2
    for place in range(half):
        heap_push(far, near[place].slot, near[place].key, near[place].seq)
    move(near, 0, half, NEAR - half)
    ints(s.sizes_at)[which] = NEAR - half


@small
def _precedes(one: Record, key: float, seq: int) -> bool:
    return one.key < key or (one.key == key and one.seq < seq)


@small
def push(s: Record, which: int, slot: int, key: float, seq: int) -> None:
    """Let a slot enter, behind smaller keys and those of earlier starts."""
    near, far = _near(s, which), _far(s, which)
    if far.size[0] > 0 and _precedes(far.entry[0], key, seq):
        heap_push(far, slot, key, seq)
        return
    size = ints(s.sizes_at)[which]
    if size == NEAR:
        _send_away(s, which)
        size = ints(s.sizes_at)[which]
        if _precedes(far.entry[0], key, seq):
            heap_push(far, slot, key, seq)
            return
    ints(s.sizes_at)[which] = size + 1
    while size > 0 and _precedes(near[size - 1], key, seq):
        near[size] = near[size - 1]
        size -= 1
    near[size].key = key
    near[size].seq = seq
    near[size].slot = slot


@small
def pop(s: Record, which: int) -> int:
    """Take the next one out and return its slot; there must be one."""
    size = ints(s.sizes_at)[which] - 1
    slot = _near(s, which)[size].slot
    ints(s.sizes_at)[which] = size
    if size == 0 and _far(s, which).size[0] > 0:
        _fetch(s, which)
    return int(slot)


@callee
def remove(s: Record, which: int, slot: int) -> None:
    """Take a slot out, wherever it is."""
    near, far = _near(s, which), _far(s, which)
    size = ints(s.sizes_at)[which]
    place = 0
    while place < size and near[place].slot != slot:
        place += 1
    if place == size:
        heap_remove(far, slot)
        return
    move(near, place, place + 1, size - 1 - place)
    ints(s.sizes_at)[which] = size - 1
    if size == 1 and far.size[0] > 0:
        _fetch(s, which)

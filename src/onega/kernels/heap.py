"""A binary heap of (key, sequence) pairs in arrays, with removal from the middle.

Entries are small integers ("slots") whose keys stand in arrays of their own; the smallest key is
on top, equal keys come in the order of their sequence numbers. Every operation is O(log n).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import part

Records = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


ENTRY = np.dtype([("key", "f8"), ("seq", "i8"), ("place", "i8"), ("slot", "i8")], align=True)


class Heap(NamedTuple):
    """Records with ``key``, ``seq`` and ``place`` of a slot, and the ``slot`` at a place."""

    entry: Records
    size: Ints


def make_heap(capacity: int) -> Heap:
    """Make an empty heap for slots 0 … capacity−1."""
    return Heap(np.zeros(capacity, ENTRY), np.zeros(1, np.int64))


@part
def heap_before(heap: Heap, a: int, b: int) -> bool:
    """Tell whether slot a comes before slot b."""
    return heap.entry[a].key < heap.entry[b].key or (
        heap.entry[a].key == heap.entry[b].key and heap.entry[a].seq < heap.entry[b].seq
    )


@part
def _rise(heap: Heap, place: int, slot: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        other = heap.entry[parent].slot
        if not heap_before(heap, slot, other):
            break
        heap.entry[place].slot = other
        heap.entry[other].place = place
        place = parent
    heap.entry[place].slot = slot
    heap.entry[slot].place = place


@part
def _sink(heap: Heap, place: int, slot: int) -> None:
    size = heap.size[0]
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        right = below + 1
        if right < size and heap_before(heap, heap.entry[right].slot, heap.entry[below].slot):
            below = right
        other = heap.entry[below].slot
        if not heap_before(heap, other, slot):
            break
        heap.entry[place].slot = other
        heap.entry[other].place = place
        place = below
    heap.entry[place].slot = slot
    heap.entry[slot].place = place


@part
def heap_push(heap: Heap, slot: int, key: float, seq: int) -> None:
    """Put a slot in."""
    heap.entry[slot].key = key
    heap.entry[slot].seq = seq
    place = heap.size[0]
    heap.size[0] = place + 1
    _rise(heap, place, slot)


@part
def heap_remove(heap: Heap, slot: int) -> None:
    """Take a slot out, wherever it is."""
    place = heap.entry[slot].place
    heap.entry[slot].place = -1
    size = heap.size[0] - 1
    heap.size[0] = size
    if place == size:
        return
    last = heap.entry[size].slot
    if place > 0 and heap_before(heap, last, heap.entry[(place - 1) >> 1].slot):
        _rise(heap, place, last)
    else:
        _sink(heap, place, last)


@part
def heap_pop(heap: Heap) -> int:
    """Take the first slot out and return it; the heap must not be empty."""
    slot = heap.entry[0].slot
    heap_remove(heap, slot)
    return slot

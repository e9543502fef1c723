"""A binary heap of (key, sequence, slot) records, with removal from the middle.

The smallest key is on top, equal keys come in the order of their sequence numbers. Slots are small
integers; each knows its place, so that it can be taken out. Every operation is O(log n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import part
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.types import Ints, Records

ENTRY = record(key=REAL, seq=WHOLE, slot=WHOLE, place=WHOLE)


class Heap(NamedTuple):
    """Records with ``key``, ``seq`` and ``slot`` at a place, and the ``place`` of a slot."""

    entry: Records
    size: Ints


def make_heap(capacity: int) -> Heap:
    """Make an empty heap for slots 0 … capacity−1."""
    return Heap(np.zeros(capacity, ENTRY), np.zeros(1, np.int64))


@part
def _put(entry: Records, place: int, key: float, seq: int, slot: int) -> None:
    at = entry[place]
    at.key = key
    at.seq = seq
    at.slot = slot
    entry[slot].place = place


@part
def _rise(entry: Records, place: int, key: float, seq: int, slot: int) -> None:
    while place > 0:
        above = (place - 1) >> 1
        parent = entry[above]
        if parent.key < key or (parent.key == key and parent.seq < seq):
            break
        _put(entry, place, parent.key, parent.seq, parent.slot)
        place = above
    _put(entry, place, key, seq, slot)


@part
def _sink(entry: Records, size: int, place: int, last: int) -> None:
    """Let the record at place ``last`` sink from ``place``."""
    key, seq, slot = entry[last].key, entry[last].seq, entry[last].slot
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        child = entry[below]
        if below + 1 < size:
            # Which child is smaller is a toss-up: computed, not branched on.
            right = entry[below + 1]
            below += (right.key < child.key) | ((right.key == child.key) & (right.seq < child.seq))
            child = entry[below]
        if key < child.key or (key == child.key and seq < child.seq):
            break
        _put(entry, place, child.key, child.seq, child.slot)
        place = below
    _put(entry, place, key, seq, slot)


@part
def heap_push(heap: Heap, slot: int, key: float, seq: int) -> None:
    """Put a slot in."""
    place = heap.size[0]
    heap.size[0] = place + 1
    _rise(heap.entry, place, key, seq, slot)


@part
def heap_pop(heap: Heap) -> int:
    """Take the first slot out and return it; the heap must not be empty."""
    slot = heap.entry[0].slot
    size = heap.size[0] - 1
    heap.size[0] = size
    if size > 0:
        _sink(heap.entry, size, 0, size)
    return slot


@part
def heap_remove(heap: Heap, slot: int) -> None:
    """Take a slot out, wherever it is."""
    entry = heap.entry
    place = entry[slot].place
    size = heap.size[0] - 1
    heap.size[0] = size
    if place == size:
        return
    last = entry[size]
    parent = entry[(place - 1) >> 1] if place > 0 else last
    if last.key < parent.key or (last.key == parent.key and last.seq < parent.seq):
        _rise(entry, place, last.key, last.seq, last.slot)
    else:
        _sink(entry, size, place, size)


@part
def heap_has(heap: Heap, slot: int) -> bool:
    """Tell whether a slot is in the heap."""
    place = heap.entry[slot].place
    return place < heap.size[0] and heap.entry[place].slot == slot


@part
def heap_key(heap: Heap, slot: int) -> float:
    """Return the key of a slot that is in the heap."""
    return heap.entry[heap.entry[slot].place].key

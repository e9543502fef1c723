"""The heap of (key, sequence) against a sorted list."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from onega.kernels.structures.heap import heap_pop, heap_push, heap_remove, make_heap

PUSH, POP, REMOVE = range(3)


@njit
def drive(heap, kinds, slots, keys, out):
    """Run operations one after another; `out` gets the slot that each one took out."""
    for i in range(kinds.size):
        if kinds[i] == PUSH:
            heap_push(heap, slots[i], keys[i], i)
        elif kinds[i] == POP:
            out[i] = heap_pop(heap)
        else:
            heap_remove(heap, slots[i])
            out[i] = slots[i]


def play(capacity: int, steps: list[tuple[float, float, float]]) -> None:
    """Turn three numbers in [0, 1] a step into a valid operation; compare with a sorted list."""
    inside: list[tuple[float, int, int]] = []
    spare = list(range(capacity))
    operations, expected = [], []
    for number, (what, which, key) in enumerate(steps):
        if inside and (what < 0.45 or not spare):
            # Popping takes the first; removing takes any.
            place = 0 if what < 0.3 else int(which * (len(inside) - 1))
            _, _, slot = inside.pop(place)
            spare.append(slot)
            operations.append((POP if place == 0 and what < 0.3 else REMOVE, slot, 0.0))
            expected.append(slot)
        else:
            slot = spare.pop(int(which * (len(spare) - 1)))
            key = float(int(8 * key))  # few different keys: ties are the rule
            inside.append((key, number, slot))
            inside.sort()
            operations.append((PUSH, slot, key))
            expected.append(-1)
    heap = make_heap(capacity)
    kinds, slots, keys = (np.array(column) for column in zip(*operations))
    out = np.full(kinds.size, -1)
    drive(heap, kinds, slots, keys.astype(float), out)
    assert out.tolist() == expected
    assert heap.size[0] == len(inside)
    for place in range(len(inside)):
        assert heap.entry["place"][heap.entry["slot"][place]] == place


share = st.floats(0, 1)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 40), st.lists(st.tuples(share, share, share), min_size=1, max_size=120))
def test_operations(capacity, steps):
    play(capacity, steps)


def test_thousands():
    rng = np.random.default_rng(0)
    play(3000, [tuple(row) for row in rng.random((20_000, 3)) * [1.1, 1, 1000]])


def test_equal_keys_leave_in_the_order_of_their_numbers():
    heap = make_heap(50)
    slots = np.random.default_rng(1).permutation(50)
    drive(heap, np.zeros(50, int), slots, np.ones(50), np.empty(50, int))
    out = np.empty(50, int)
    drive(heap, np.full(50, POP), slots, np.ones(50), out)
    assert out.tolist() == slots.tolist()

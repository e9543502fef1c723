"""Who is next: an array and a heap behind it, against a sorted list."""

from __future__ import annotations

from bisect import insort

import numpy as np
import pytest
from numba import njit

from kernels.test_detailed_parts import blank
from onega.kernels.detailed_next import NEAR, is_any, next_key, pop, push, remove
from onega.kernels.detailed_state import TIME, WORK, state_at
from onega.kernels.heap import ENTRY

MOST = 5 * NEAR
ENTER, LEAVE, REMOVE = 0, 1, 2


@njit
def drive(address, which, orders, keys, slots):
    """Do as ordered; return the slots that left as the next ones, and the keys they left with."""
    s = state_at(address)
    left, known = np.full(orders.size, -1), np.zeros(orders.size)
    for number in range(orders.size):
        if orders[number] == ENTER:
            push(s, which, slots[number], keys[number], number)
        elif orders[number] == REMOVE:
            remove(s, which, slots[number])
        else:
            known[number] = next_key(s, which)
            left[number] = pop(s, which)
    return left, known, is_any(s, which)


def random_orders(rng):
    """Fill up, swing, empty: orders that can be followed, and what a sorted list says."""
    orders, keys, slots, expected = [], [], [], []
    inside, free = [], list(range(MOST))
    for goal in (MOST, 3, NEAR + 5, NEAR // 2, 3 * NEAR, 0):
        while len(inside) != goal:
            filling = len(inside) < goal
            if not inside or (free and rng.random() < (0.8 if filling else 0.3)):
                key, slot = float(rng.integers(40)), free.pop(rng.integers(len(free)))
                insort(inside, (key, len(orders), slot))
                one = (ENTER, key, slot, (-1, 0.0))
            else:
                at = 0 if rng.random() < 0.7 else rng.integers(len(inside))
                key, _, slot = inside.pop(at)
                free.append(slot)
                one = (REMOVE, 0.0, slot, (-1, 0.0))
                if at == 0 and rng.random() < 0.9:
                    one = (LEAVE, 0.0, -1, (slot, key))
            for column, value in zip((orders, keys, slots, expected), one, strict=True):
                column.append(value)
    return np.array(orders), np.array(keys), np.array(slots), expected


@pytest.mark.parametrize("which", [WORK, TIME])
@pytest.mark.parametrize("seed", range(20))
def test_next(which, seed):
    memory = blank([[4.0]], pooled=True)
    for name in ("work_heap", "time_heap"):
        memory.room(name, MOST, ENTRY)
    orders, keys, slots, expected = random_orders(np.random.default_rng(seed))
    left, known, any_left = drive(memory.address, which, orders, keys, slots)
    assert list(zip(left.tolist(), known.tolist(), strict=True)) == expected
    assert not any_left

"""The detailed machine before anything happens: all nodes up, idle and free."""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import flags, floats, ints, small
from onega.kernels.detailed_depth import is_idle
from onega.kernels.detailed_state import Record, links, slots, state_at
from onega.kernels.jit import kernel


@small
def _free(s: Record, at: int, amount: float) -> None:
    """Set one amount in all rows."""
    floats(s.avail_at)[at] = amount
    floats(s.later_at)[at] = amount
    floats(s.both_at)[at] = amount
    floats(s.window_at)[at] = amount


@kernel
def begin(state: int) -> None:
    """Fill what depends on the nodes' capacities alone, from a state's address.

    That is rows and totals of free amounts, the bits of nodes that have a processor for new starts
    (and one behind the last) and of those that are awake and idle, states of nodes, spare slots and
    links. What it adds to is 0 before.
    """
    s = state_at(state)
    for number in range(s.shared):
        amount = floats(s.capacity_now_at)[number]
        floats(s.scratch_capacity_at)[number] = amount
        _free(s, s.nodes * s.kinds + number, amount)
    for node in range(s.nodes):
        for k in range(s.kinds):
            at = node * s.kinds + k
            amount = floats(s.capacity_at)[at]
            floats(s.free_at)[at] = amount
            _free(s, at, amount)
            total = ints(s.hosts_at)[node] * s.kinds + k
            floats(s.total_avail_at)[total] += max(amount, 0.0)
            floats(s.total_both_at)[total] += max(amount, 0.0)
        ints(s.depth_bits_at)[node >> 6] |= np.int64(1) << (node & 63)
        if s.sleeps > 0:
            is_idle(s, node)
        flags(s.up_at)[node] = 1
        flags(s.usable_at)[node] = 1
        floats(s.since_at)[node] = s.now
        if floats(s.capacity_at)[node * s.kinds] >= 1:
            ints(s.bits_at)[node >> 6] |= np.int64(1) << (node & 63)
    ints(s.bits_at)[s.nodes >> 6] |= np.int64(1) << (s.nodes & 63)
    for place in range(s.spare_slot):
        slots(s.slots_at)[place].spare = s.spare_slot - 1 - place
    for place in range(s.spare_link):
        links(s.links_at)[place].spare = s.spare_link - 1 - place

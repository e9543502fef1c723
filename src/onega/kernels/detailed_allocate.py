"""What jobs hold of pools and nodes, taken and given back.

``free`` is what a node has, whoever may use it; ``avail`` and its totals are for new starts, where
a node takes any.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, small
from onega.kernels.detailed_deepen import amount_of, forget_dips
from onega.kernels.detailed_depth import idle_from_now
from onega.kernels.detailed_held_bits import give_bits_back, refresh_bits, take_bits
from onega.kernels.detailed_state import Record, gots, links, partitions, slots


@small
def _mark(s: Record, node: int, free: float) -> None:
    """Note whether a node has a processor for new starts."""
    bit = 1 << (node & 63)
    if free >= 1.0:
        ints(s.bits_at)[node >> 6] |= bit
    else:
        ints(s.bits_at)[node >> 6] &= ~bit


@small
def change_free(s: Record, node: int, k: int, amount: float) -> None:
    """Let more of a node's resource be free, on usable nodes for new starts too."""
    at = node * s.kinds + k
    floats(s.free_at)[at] += amount
    if flags(s.usable_at)[node]:
        avail = floats(s.avail_at)
        total = k
        if s.parts > 1:
            total += ints(s.hosts_at)[node] * s.kinds
        before = max(avail[at], 0.0)
        avail[at] += amount
        floats(s.total_avail_at)[total] += max(avail[at], 0.0) - before
        if k == 0:
            _mark(s, node, avail[at])


@callee
def refresh_node(s: Record, node: int) -> None:
    """Show new starts all that is free of a node if it is usable, else nothing."""
    forget_dips(s)  # they are those of usable nodes
    if s.sleeps > 0:
        partitions(s.partitions_at)[ints(s.hosts_at)[node]].depths_due = -np.inf
    flags(s.usable_at)[node] = flags(s.up_at)[node] and not flags(s.draining_at)[node]
    if s.planes > 0:
        refresh_bits(s, node)
        return
    avail = floats(s.avail_at)
    for k in range(s.kinds):
        at = node * s.kinds + k
        total = ints(s.hosts_at)[node] * s.kinds + k
        floats(s.total_avail_at)[total] -= max(avail[at], 0.0)
        avail[at] = floats(s.free_at)[at] if flags(s.usable_at)[node] else 0.0
        floats(s.total_avail_at)[total] += max(avail[at], 0.0)
    _mark(s, node, avail[node * s.kinds])


@small
def _change_pool(s: Record, number: int, option: int, sign: int) -> None:
    """Let an option's processors of a pool be free, or (sign −1) no longer."""
    node = partitions(s.partitions_at)[number].first
    chunks = sign * ints(s.chunks_at)[option]
    if s.unit and s.withdrawals == 0:
        floats(s.free_at)[node] += chunks
        if flags(s.usable_at)[node]:
            floats(s.avail_at)[node] += chunks
            floats(s.total_avail_at)[number] += chunks
        return
    for k in range(s.kinds):
        change_free(s, node, k, chunks * floats(s.chunk_at)[option * s.pitch + k])


@small
def _take_pooled(s: Record, number: int, slot: int, option: int) -> None:
    """Take an option's processors out of a pool, and note it in the slot."""
    _change_pool(s, number, option, -1)
    # Every slot has a link of its own here: all lies on the pool's one node.
    one = links(s.links_at)[slot]
    one.node = partitions(s.partitions_at)[number].first
    one.chunks = ints(s.chunks_at)[option]
    one.next = -1
    slots(s.slots_at)[slot].link = slot


@small
def _change_unit(s: Record, node: int, chunks: int) -> None:
    """Let more processors of a node be free where nothing else counts and nobody reserves."""
    floats(s.free_at)[node] += chunks
    if flags(s.usable_at)[node]:
        free = floats(s.avail_at)[node] + chunks
        floats(s.avail_at)[node] = free
        floats(s.total_avail_at)[0 if s.parts == 1 else ints(s.hosts_at)[node]] += chunks
        _mark(s, node, free)


@small
def _take_nodes(s: Record, slot: int, option: int) -> None:
    """Take what the placement found last says, and note it in the slot."""
    simple = s.unit and s.withdrawals == 0
    link = -1
    for place in range(s.got - 1, -1, -1):
        got = gots(s.got_at)[place]
        s.spare_link -= 1
        fresh = links(s.links_at)[s.spare_link].spare
        one = links(s.links_at)[fresh]
        one.node = got.node
        one.chunks = got.chunks
        one.next = link
        link = fresh
        if simple:
            _change_unit(s, got.node, -got.chunks)
        else:
            for k in range(s.kinds):
                change_free(s, got.node, k, -amount_of(s, option, got.node, got.chunks, k))
        if s.sleeps > 0:
            ints(s.jobs_on_at)[got.node] += 1
    slots(s.slots_at)[slot].link = link


@small
def _give_nodes_back(s: Record, slot: int, option: int) -> None:
    """Free an allocation; nodes without jobs are idle from now on."""
    simple = s.unit and s.withdrawals == 0
    link = slots(s.slots_at)[slot].link
    while link >= 0:
        one = links(s.links_at)[link]
        if simple:
            _change_unit(s, one.node, one.chunks)
        else:
            for k in range(s.kinds):
                change_free(s, one.node, k, amount_of(s, option, one.node, one.chunks, k))
        if s.sleeps > 0:
            ints(s.jobs_on_at)[one.node] -= 1
            if ints(s.jobs_on_at)[one.node] == 0:
                idle_from_now(s, one.node)
        links(s.links_at)[s.spare_link].spare = link
        s.spare_link += 1
        link = one.next


@small
def allocate(s: Record, number: int, slot: int, option: int) -> None:
    """Take a job's processors and resources, on the nodes found last."""
    if s.pooled:
        _take_pooled(s, number, slot, option)
    elif s.planes > 0:
        take_bits(s, slot, option)
    else:
        _take_nodes(s, slot, option)
    for g in range(s.shared):
        floats(s.avail_at)[s.nodes * s.kinds + g] -= floats(s.demand_at)[option * s.shared + g]


@small
def give_back(s: Record, slot: int) -> None:
    """Free an allocation."""
    option = slots(s.slots_at)[slot].option
    if s.pooled:
        _change_pool(s, slots(s.slots_at)[slot].partition, option, 1)
    elif s.planes > 0:
        give_bits_back(s, slot)
    else:
        _give_nodes_back(s, slot, option)
    for g in range(s.shared):
        floats(s.avail_at)[s.nodes * s.kinds + g] += floats(s.demand_at)[option * s.shared + g]

"""Processors and resources taken and given back: starts, phases of a job, ends.

A job on processors sits in a slot with its allocation (a chain of links) and its expected end on
the work clock. It is in one heap at a time: by time while it is launched or completed, by the
clock while it works.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, move, small
from onega.kernels.detailed_codes import STARTED
from onega.kernels.detailed_deepen import amount_of, forget_dips, raise_dips
from onega.kernels.detailed_depth import idle_from_now
from onega.kernels.detailed_held_bits import give_bits_back, refresh_bits, take_bits
from onega.kernels.detailed_queue import known_left, work_left
from onega.kernels.detailed_sleep import note, pop_idle, push_idle, take_node
from onega.kernels.detailed_state import (
    ENDS,
    LAUNCHING,
    TIME,
    WORK,
    WORKING,
    Record,
    attempts,
    ends,
    gots,
    heap_entries,
    heap_size,
    links,
    partitions,
    slots,
)
from onega.kernels.detailed_usage import count_in, hold_usage
from onega.kernels.engine import WORKLOAD, clock
from onega.kernels.heap import Heap, heap_pop, heap_push, heap_remove


@small
def push_work(s: Record, slot: int, key: float, seq: int) -> None:
    """Let a slot work until the clock reaches ``key``."""
    heap_push(Heap(heap_entries(s.work_heap_at), heap_size(s.sizes_at, WORK)), slot, key, seq)


@small
def push_time(s: Record, slot: int, time: float, seq: int) -> None:
    """Let a slot launch or complete until a time."""
    heap_push(Heap(heap_entries(s.time_heap_at), heap_size(s.sizes_at, TIME)), slot, time, seq)


@small
def pop_work(s: Record) -> int:
    """Take the slot out whose work is done first."""
    return heap_pop(Heap(heap_entries(s.work_heap_at), heap_size(s.sizes_at, WORK)))


@small
def pop_time(s: Record) -> int:
    """Take the slot out whose launch or completion is over first."""
    return heap_pop(Heap(heap_entries(s.time_heap_at), heap_size(s.sizes_at, TIME)))


@callee
def remove_work(s: Record, slot: int) -> None:
    """Take a slot out that works."""
    heap_remove(Heap(heap_entries(s.work_heap_at), heap_size(s.sizes_at, WORK)), slot)


@callee
def remove_time(s: Record, slot: int) -> None:
    """Take a slot out that launches or completes."""
    heap_remove(Heap(heap_entries(s.time_heap_at), heap_size(s.sizes_at, TIME)), slot)


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
        change_free(s, node, k, chunks * floats(s.chunk_at)[option * s.kinds + k])


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
def _allocate(s: Record, number: int, slot: int, option: int) -> None:
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
def _give_back(s: Record, slot: int) -> None:
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


@small
def _expect_end(s: Record, slot: int, expected: float, amount: float) -> None:
    """Enter an expected end, behind equal ones."""
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if table[middle].expected <= expected:
            low = middle + 1
        else:
            high = middle
    move(table, low + 1, low, size - low)
    table[low].expected = expected
    table[low].amount = amount
    if s.shared == 1:
        table[low].demand = floats(s.demand_at)[slots(s.slots_at)[slot].option]
    table[low].slot = slot
    ints(s.sizes_at)[ENDS] = size + 1


@small
def _forget_end(s: Record, slot: int) -> None:
    table = ends(s.ends_at)
    size = ints(s.sizes_at)[ENDS]
    expected = slots(s.slots_at)[slot].expected
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if table[middle].expected < expected:
            low = middle + 1
        else:
            high = middle
    while table[low].slot != slot:
        low += 1
    move(table, low, low + 1, size - 1 - low)
    ints(s.sizes_at)[ENDS] = size - 1


@small
def take(s: Record, number: int, job: int, option: int) -> int:
    """Give a job a slot and the nodes found last; its accounts and user hold them from now on."""
    s.spare_slot -= 1
    place = slots(s.slots_at)[s.spare_slot].spare
    slot = slots(s.slots_at)[place]
    slot.job = job
    slot.option = option
    slot.partition = number
    slot.seq = s.sequence
    ints(s.slot_of_at)[job] = place
    ints(s.option_at)[job] = option
    _allocate(s, number, place, option)
    procs = ints(s.procs_at)[option]
    if s.accounts > 0:
        count_in(s, job, 1, procs)
    if s.factors:
        hold_usage(s, job, float(procs))
    attempt = attempts(s.attempts_at)[s.sequence]
    attempt.job = job
    attempt.start = s.now
    attempt.wake = 0.0
    attempt.begin = np.nan
    attempt.end = np.nan
    s.sequence += 1
    s.holding += 1
    return place


@small
def expect_end(s: Record, place: int, expected: float) -> None:
    """Note when a job is expected to end."""
    slot = slots(s.slots_at)[place]
    slot.expected = expected
    amount = ints(s.chunks_at)[slot.option] * floats(s.chunk_at)[slot.option * s.kinds]
    _expect_end(s, place, expected, amount)


@small
def _wake(s: Record, number: int, procs: int) -> float:
    """Wake the processors found last; return how long that takes."""
    if s.pooled:
        return pop_idle(s, number, procs)
    delay = 0.0
    for place in range(s.got):
        delay = max(delay, take_node(s, gots(s.got_at)[place].node))
    return delay


@callee
def start(s: Record, number: int, job: int, option: int) -> None:
    """Start a waiting job on the nodes found last."""
    start_here(s, number, job, option)


@small
def start_here(s: Record, number: int, job: int, option: int) -> None:
    """Do that without a call."""
    wake = _wake(s, number, ints(s.procs_at)[option]) if s.sleeps > 0 else 0.0
    place = take(s, number, job, option)
    slot = slots(s.slots_at)[place]
    expect_end(s, place, clock(s) + known_left(s, job, option))
    if np.isnan(floats(s.start_at)[job]):
        floats(s.start_at)[job] = s.now
        if s.control == WORKLOAD and option != ints(s.first_option_at)[job]:
            s.work_waiting -= work_left(s, job, ints(s.first_option_at)[job])
            s.work_waiting += work_left(s, job, option)
    s.waiting -= 1
    s.launching += 1
    note(s, STARTED, job, -1)
    attempts(s.attempts_at)[slot.seq].wake = wake
    launch = floats(s.launch_at)[job]
    if wake + launch > 0.0:
        flags(s.phase_at)[job] = LAUNCHING
        push_time(s, place, s.now + wake + launch, slot.seq)
    else:
        begin_work(s, place)


@small
def begin_work(s: Record, place: int) -> None:
    """Begin the work now: the launch is over."""
    slot = slots(s.slots_at)[place]
    v = clock(s)
    left = work_left(s, slot.job, slot.option)
    flags(s.phase_at)[slot.job] = WORKING
    attempts(s.attempts_at)[slot.seq].begin = s.now
    slot.begun = v
    slot.key = v + left
    push_work(s, place, slot.key, slot.seq)
    s.launching -= 1
    s.running += 1
    if s.control == WORKLOAD:
        s.work_waiting -= left
        s.ends_running += slot.key


@small
def stop_work(s: Record, place: int) -> None:
    """Count a job no longer as working: done, or interrupted."""
    s.running -= 1
    if s.control == WORKLOAD:
        s.ends_running -= slots(s.slots_at)[place].key
        if s.running == 0:
            s.ends_running = 0.0


@small
def release(s: Record, place: int) -> None:
    """Take a job off its processors; it is in no heap any more."""
    slot = slots(s.slots_at)[place]
    procs = ints(s.procs_at)[slot.option]
    _forget_end(s, place)
    if s.dips > 0:
        raise_dips(s, place)
    _give_back(s, place)
    if s.sleeps > 0 and s.pooled:
        push_idle(s, slot.partition, procs)
    if s.accounts > 0:
        count_in(s, slot.job, -1, -procs)
    if s.factors:
        hold_usage(s, slot.job, -float(procs))
    attempts(s.attempts_at)[slot.seq].end = s.now
    slots(s.slots_at)[s.spare_slot].spare = place
    s.spare_slot += 1
    s.holding -= 1
    s.pass_due = 1
    s.changed = 1

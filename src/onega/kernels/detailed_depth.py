"""How deep idle nodes sleep: a bit for each node in the words of its depth.

A node without jobs sinks into the next state when it has been idle for that state's timeout. The
words of depth d (0: awake, waking, busy or down) hold at every pass; until ``depths_due`` they only
change where a job starts on a sleeping node. So a placement goes through the words instead of
asking every node since when it is idle. Behind the deepest stand the words of *idle* nodes: all
without jobs, and maybe some that had jobs when the run began.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, small, trailing_zeros
from onega.kernels.detailed_codes import FIRST_FIT
from onega.kernels.detailed_state import Record, gots, partitions
from onega.kernels.engine import Floats


@small
def sleep_state(s: Record, since: float) -> int:
    """Return the sleep state of processors that are idle since then; −1 awake or waking.

    What came free or finished waking at this very instant is awake, even if the timeout is 0.
    """
    timeout = floats(s.timeout_at)
    state = -1
    if s.now > since:
        while state + 1 < s.sleeps and s.now - since >= timeout[state + 1]:
            state += 1
    return state


@callee
def depth_of(s: Record, node: int) -> int:
    """Return how deep a node sleeps: 0 awake, waking or busy, s + 1 in state s."""
    if s.sleeps == 0 or s.pooled or ints(s.jobs_on_at)[node] > 0:
        return 0
    return sleep_state(s, floats(s.since_at)[node]) + 1


@small
def _words(s: Record) -> int:
    """Return how many words have a bit for every node."""
    return int((s.nodes >> 6) + 1)


@callee
def _set_depth(s: Record, node: int, depth: int) -> bool:
    """Note how deep a node sleeps; False if it did so before."""
    words = _words(s)
    bits = ints(s.depth_bits_at)
    at, bit = node >> 6, 1 << (node & 63)
    if bits[depth * words + at] & bit:
        return False
    p = partitions(s.partitions_at)[ints(s.hosts_at)[node]]
    if bits[at] & bit:
        p.asleep += 1
    for other in range(s.sleeps + 1):
        bits[other * words + at] &= ~bit
    bits[depth * words + at] |= bit
    if depth == 0:
        p.asleep -= 1
    return True


@small
def is_awake(s: Record, node: int) -> None:
    """Note that a node doesn't sleep any more: a job starts there, the only one."""
    ints(s.depth_bits_at)[(s.sleeps + 1) * _words(s) + (node >> 6)] &= ~(1 << (node & 63))
    if ints(s.depth_bits_at)[node >> 6] & (1 << (node & 63)) == 0:
        _set_depth(s, node, 0)


@small
def is_idle(s: Record, node: int) -> None:
    """Note that a node has no jobs."""
    ints(s.depth_bits_at)[(s.sleeps + 1) * _words(s) + (node >> 6)] |= 1 << (node & 63)


@small
def idle_from_now(s: Record, node: int) -> None:
    """Note that a node has no jobs any more, and when it goes to sleep, or shortly before."""
    floats(s.since_at)[node] = s.now
    is_idle(s, node)
    p = partitions(s.partitions_at)[ints(s.hosts_at)[node]]
    p.depths_due = min(p.depths_due, _shortly_before(s.now + floats(s.timeout_at)[0]))


@small
def _shortly_before(time: float) -> float:
    """Return a time at which rounding can't have let it be that late yet."""
    return time - 1e-9 * (1.0 + abs(time))


@small
def _first_word(s: Record, number: int) -> int:
    """Return the word with a partition's first node."""
    return partitions(s.partitions_at)[number].first >> 6


@small
def _last_word(s: Record, number: int) -> int:
    """Return the word with a partition's last node."""
    return (partitions(s.partitions_at)[number].last - 1) >> 6


@small
def _own(s: Record, number: int, at: int) -> int:
    """Return the bits of a partition's nodes in one of its words."""
    p = partitions(s.partitions_at)[number]
    mask = -1
    if at == p.first >> 6:
        mask <<= p.first & 63
    if at == (p.last - 1) >> 6:
        mask &= ~(-2 << ((p.last - 1) & 63))
    return mask


@callee
def _sink(s: Record, number: int) -> bool:
    p = partitions(s.partitions_at)[number]
    soonest = np.inf
    moved = False
    idle = (s.sleeps + 1) * _words(s)
    for at in range(_first_word(s, number), _last_word(s, number) + 1):
        word = ints(s.depth_bits_at)[idle + at] & _own(s, number, at)
        while word != 0:
            node = (at << 6) + trailing_zeros(word)
            word &= word - 1
            depth = 0
            if ints(s.jobs_on_at)[node] == 0 and flags(s.up_at)[node]:
                since = floats(s.since_at)[node]
                depth = sleep_state(s, since) + 1
                if depth < s.sleeps:
                    soonest = min(soonest, since + floats(s.timeout_at)[depth])
            if _set_depth(s, node, depth):
                moved = True
    p.depths_due = _shortly_before(soonest) if soonest < np.inf else np.inf
    return moved


@small
def sink_deeper(s: Record, number: int) -> bool:
    """Let a partition's nodes sleep deeper whose time has come; tell whether there were any."""
    if s.now < partitions(s.partitions_at)[number].depths_due:
        return False
    return _sink(s, number)


@small
def may_wake(s: Record, number: int) -> bool:
    """Tell whether a partition has processors that aren't wide awake: else nobody need look."""
    p = partitions(s.partitions_at)[number]
    if s.pooled:
        return p.entries > 0
    return p.asleep > 0 or s.now < p.waking


@small
def looked_at(s: Record, number: int) -> bool:
    """Tell whether a reservation matters even if nothing can start beside it.

    To other partitions that share resources, or to who wakes its nodes ahead.
    """
    return (s.shared > 0 and s.parts > 1) or (s.wake_ahead > 0 and may_wake(s, number))


@small
def take_units(s: Record, count: int, node: int, have: float, left: int) -> int:
    """Add up to ``left`` processors of a node to a placement of ``count`` parts; return some."""
    some = min(int(have), left)
    got = gots(s.got_at)[count]
    got.node = node
    got.chunks = some
    return some


@callee
def first_fit_asleep(
    s: Record,
    row: Floats,
    base: int,
    number: int,
    option: int,
    now: bool,  # noqa: FBT001
) -> bool:
    """Take processors by depth and number of their node, where nothing else is asked for.

    ``now``: by what is free now, which bits tell.
    """
    left = ints(s.chunks_at)[option]
    words, bits = _words(s), ints(s.depth_bits_at)
    count = 0
    for depth in range(s.sleeps + 1):
        for at in range(_first_word(s, number), _last_word(s, number) + 1):
            word = bits[depth * words + at] & _own(s, number, at)
            if now:
                word &= ints(s.bits_at)[at]
            while word != 0 and left > 0:
                node = (at << 6) + trailing_zeros(word)
                word &= word - 1
                have = row[base + node]
                if have >= 1.0:
                    left -= take_units(s, count, node, have, left)
                    count += 1
        if left == 0:
            break
    s.got = count
    return left == 0


@callee
def plan_nodes(s: Record, number: int) -> None:
    """Note the nodes found last as those that a partition's first reservation will take."""
    words = _words(s)
    bits = ints(s.planned_at)
    for at in range(number * words, number * words + words):
        bits[at] = 0
    for place in range(s.got):
        node = gots(s.got_at)[place].node
        bits[number * words + (node >> 6)] |= 1 << (node & 63)


@small
def is_planned(s: Record, number: int, node: int) -> bool:
    """Tell whether a partition's first reservation will take a node."""
    word = ints(s.planned_at)[number * _words(s) + (node >> 6)]
    return (word >> (node & 63)) & 1 > 0


@small
def can_wait(s: Record, number: int) -> bool:
    """Tell whether a reservation's nodes can be found later, as long as nobody is woken.

    A first fit asks for the depths of sleep alone, which stay until the next pass.
    """
    p = partitions(s.partitions_at)[number]
    return p.placement == FIRST_FIT and s.now >= p.waking


@callee
def delay_of_depths(s: Record, number: int) -> float:
    """Return how long the nodes take to wake up of a reservation that was just made.

    Of all that is free at the shadow, ``beside``, those that sleep deepest are taken last.
    """
    p = partitions(s.partitions_at)[number]
    if p.asleep == 0 or not can_wait(s, number):
        return 0.0
    need, have = ints(s.chunks_at)[p.option], p.beside
    words = _words(s)
    longest = 0.0
    for depth in range(s.sleeps, 0, -1):
        delay = floats(s.delay_at)[depth - 1]
        if 0.0 < longest >= delay:
            continue  # some that sleep deeper will be needed, and take as long
        before = have
        for at in range(_first_word(s, number), _last_word(s, number) + 1):
            word = ints(s.depth_bits_at)[depth * words + at] & _own(s, number, at)
            while word != 0:
                have -= floats(s.avail_at)[(at << 6) + trailing_zeros(word)]
                word &= word - 1
        if have < before and need > have:
            longest = max(longest, delay)
    return longest


@callee
def delay_of_planned(s: Record, number: int) -> float:
    """Return how long the nodes take to be awake that the first reservation will take."""
    p = partitions(s.partitions_at)[number]
    words = _words(s)
    longest = 0.0
    for at in range(words):
        word = ints(s.planned_at)[number * words + at]
        for depth in range(1, s.sleeps + 1):
            if word & ints(s.depth_bits_at)[depth * words + at]:
                longest = max(longest, floats(s.delay_at)[depth - 1])
    if s.now < p.waking:
        for node in range(p.first, p.last):
            if is_planned(s, number, node) and ints(s.jobs_on_at)[node] == 0:
                longest = max(longest, floats(s.since_at)[node] - s.now)
    return longest

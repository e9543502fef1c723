"""The waiting jobs of each partition: sorted by (queue rank, key, row).

Orders by a fixed rank or by the multifactor priority keep the queue sorted; orders by a key of the
time take newcomers at the end and sort at every pass. Keys change slowly, so that the queue is
nearly sorted and insertion is quick; where it isn't, a heap sort takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.kernels.addressed import callee, floats, ints, move, small
from onega.kernels.detailed_codes import MULTIFACTOR, OWN, STATIC
from onega.kernels.detailed_state import Record, partitions, queued, worths
from onega.kernels.detailed_usage import FRESH, UNKNOWN, know_keys
from onega.kernels.keyed import builtin_key

MOST_MOVES = 16
"""Places moved an entry, on average, at which insertion gives way to the heap sort."""


@small
def choices(s: Record, job: int) -> tuple[int, int]:
    """Return a job's first option and their number; once started, it keeps the one it took."""
    if not s.molded:
        return ints(s.first_option_at)[job], 1
    taken = ints(s.option_at)[job]
    if taken >= 0:
        return taken, 1
    return ints(s.first_option_at)[job], ints(s.options_at)[job]


@small
def known_left(s: Record, job: int, option: int) -> float:
    """Return what the scheduler knows of the work left."""
    expect = floats(s.expect_at)[option]
    saved = floats(s.saved_at)[job]
    return expect if saved == 0.0 else max(expect - saved, 0.0)


@small
def work_left(s: Record, job: int, option: int) -> float:
    """Return the work left, beyond what checkpoints have saved."""
    work = floats(s.work_at)[option]
    saved = floats(s.saved_at)[job]
    return work if saved == 0.0 else work - saved


@small
def _precedes(one: Record, other: Record) -> bool:
    if one.rank != other.rank:
        return one.rank < other.rank
    if one.key != other.key:
        return one.key < other.key
    return one.job < other.job


@small
def _fill(s: Record, entry: Record, job: int) -> None:
    """Describe a waiting job in its queue."""
    option, count = choices(s, job)
    last = s.shared - 1
    procs = ints(s.chunks_at)[option] * floats(s.chunk_at)[option * s.pitch]
    expect = known_left(s, job, option)
    demand = floats(s.demand_at)[option * s.shared + last] if last >= 0 else 0.0
    licence = floats(s.demand_at)[option * s.shared] if last > 0 else 0.0
    for other in range(option + 1, option + count):
        need = ints(s.chunks_at)[other] * floats(s.chunk_at)[other * s.pitch]
        procs = min(procs, need)
        expect = min(expect, known_left(s, job, other))
        if last >= 0:
            demand = min(demand, floats(s.demand_at)[other * s.shared + last])
        if last > 0:
            licence = min(licence, floats(s.demand_at)[other * s.shared])
    entry.job = job
    entry.procs = procs
    entry.expect = expect
    entry.demand = demand
    entry.other = licence


@small
def _unsorted(s: Record, p: Record, job: int) -> bool:
    """Tell whether a multifactor queue will be sorted before somebody asks for its order."""
    if s.now >= s.keys_due:
        return True
    if p.stale == UNKNOWN and ints(s.option_at)[job] >= 0:
        know_keys(s, ints(s.partition_at)[job])  # who waits again has an older key than others
    return p.stale != FRESH


@callee
def queue_add(s: Record, job: int) -> None:
    """Let a job wait; its key has been computed where the order is sorted between passes."""
    p = partitions(s.partitions_at)[ints(s.partition_at)[job]]
    queue = queued(s.queue_at)
    size = p.queue + p.waiting
    # The place behind the last is scratch: the entry is made there, then moved.
    fresh = queue[size]
    _fill(s, fresh, job)
    place = size
    if p.order == STATIC:
        fresh.rank = 0
        fresh.key = float(ints(s.rank_at)[job])
    else:
        fresh.rank = ints(s.queue_rank_at)[job]
        fresh.key = worths(s.worths_at)[job].key if p.order == MULTIFACTOR else 0.0
    if p.order == STATIC or (p.order == MULTIFACTOR and not _unsorted(s, p, job)):
        low, high = p.queue, size
        if low < high and _precedes(queue[high - 1], fresh):
            low = high
        while low < high:
            middle = (low + high) >> 1
            if _precedes(queue[middle], fresh):
                low = middle + 1
            else:
                high = middle
        place = low
    if place < size:
        move(queue, size + 1, size, 1)
        move(queue, place + 1, place, size - place)
        move(queue, place, size + 1, 1)
    if p.waiting == 0:
        p.longest, p.least = queue[place].expect, queue[place].procs
    else:
        p.longest = max(p.longest, queue[place].expect)
        p.least = min(p.least, queue[place].procs)
    p.waiting += 1
    p.newcomers += 1
    p.newcomer = place
    s.waiting += 1


@callee
def queue_remove(s: Record, job: int) -> None:
    """Take a job out of its queue."""
    p = partitions(s.partitions_at)[ints(s.partition_at)[job]]
    queue = queued(s.queue_at)
    place = p.queue
    while queue[place].job != job:
        place += 1
    move(queue, place, place + 1, p.queue + p.waiting - 1 - place)
    p.waiting -= 1
    s.waiting -= 1


@callee
def _sink(queue: Any, first: int, place: int, size: int, scratch: int) -> None:  # noqa: ANN401
    """Let an entry sink in a heap that has the last of the order on top."""
    while True:
        below = 2 * place + 1
        if below >= size:
            return
        if below + 1 < size and _precedes(queue[first + below], queue[first + below + 1]):
            below += 1
        if _precedes(queue[first + below], queue[first + place]):
            return
        move(queue, scratch, first + place, 1)
        move(queue, first + place, first + below, 1)
        move(queue, first + below, scratch, 1)
        place = below


@callee
def _heap_sort(queue: Any, first: int, size: int) -> None:  # noqa: ANN401
    """Sort entries from ``first`` on, however they stand."""
    for place in range(size // 2 - 1, -1, -1):
        _sink(queue, first, place, size, first + size)
    for last in range(size - 1, 0, -1):
        move(queue, first + size, first + last, 1)
        move(queue, first + last, first, 1)
        move(queue, first, first + size, 1)
        _sink(queue, first, 0, last, first + size)


@callee
def _sort(s: Record, number: int) -> None:
    """Sort a queue that is nearly sorted."""
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    first, size = p.queue, p.waiting
    moves = 0
    scratch = first + size
    for place in range(first + 1, first + size):
        if _precedes(queue[place - 1], queue[place]):
            continue
        queue[scratch] = queue[place]
        queue[place] = queue[place - 1]
        target = place - 1
        while target > first and not _precedes(queue[target - 1], queue[scratch]):
            queue[target] = queue[target - 1]
            target -= 1
        queue[target] = queue[scratch]
        moves += place - target
        if moves > MOST_MOVES * size + 64:
            _heap_sort(queue, first, size)
            return


@callee
def settle_keys(s: Record, number: int) -> None:
    """Know the multifactor keys of all who wait in a partition, and sort them.

    The reservation stands if it is still the first one's: whoever couldn't start beside it can't
    now, in whatever order they come.
    """
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    if p.stale == UNKNOWN:
        know_keys(s, number)
        if s.parts == 1:
            s.stale_since = np.inf
    first = p.queue
    head, newcomer = queue[first].job, queue[p.newcomer].job
    _sort(s, number)
    p.stale = FRESH
    p.kept = p.kept > 0 and p.head == first and queue[first].job == head
    if p.kept and p.newcomers == 1:
        p.newcomer = first
        while queue[p.newcomer].job != newcomer:
            p.newcomer += 1


@callee
def nobody_fits(s: Record, number: int) -> bool:
    """Tell whether nobody who waits in a partition finds enough free, whatever the order."""
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    have = floats(s.total_avail_at)[number * s.kinds]
    power = floats(s.avail_at)[s.nodes * s.kinds + s.shared - 1] if s.shared > 0 else 0.0
    least = np.inf
    for place in range(p.queue, p.queue + p.waiting):
        if queue[place].procs <= have and queue[place].demand <= power:
            return False
        least = min(least, queue[place].procs)
    p.least = least
    return True


@callee
def recompute_keys(s: Record, number: int, own: Any) -> bool:  # noqa: ANN401
    """Compute the keys of all who wait in a partition and sort them; False: one is no number."""
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    for place in range(p.queue, p.queue + p.waiting):
        entry = queue[place]
        job = entry.job
        option = ints(s.first_option_at)[job]
        submit = floats(s.submitted_at)[job]
        expect = floats(s.expect_at)[option]
        procs = float(ints(s.procs_at)[option])
        if p.order == OWN:
            entry.key = own(s.now, submit, expect, procs)
            if np.isnan(entry.key):
                s.culprit = job
                return False
        else:
            entry.key = builtin_key(p.order, s.now, submit, expect, procs)
    _sort(s, number)
    return True

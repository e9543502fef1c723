"""Jobs packed onto processors: a schedule says how many a job had, not which.

Each job gets the lowest stretch of free processors that is long enough, or, if none is, the lowest
free processors. It never needs more of them than the schedule had busy.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Iterator

from onega.core.types import Floats, Ints

Stretch = tuple[int, int]
"""The first processor, and how many."""


def pack(start: Floats, end: Floats, procs: Ints, size: int) -> Iterator[tuple[int, int, int]]:
    """Give jobs processors: yields (job, first processor, how many), one or more for each job.

    Jobs come by start. Above ``size`` it goes on only if more were busy than there are, which an
    observed schedule may say.
    """
    free: list[Stretch] = [(0, size)]
    beyond = size
    ends: list[tuple[float, int]] = []
    held: dict[int, list[Stretch]] = {}
    for job in range(start.size):
        while ends and ends[0][0] <= start[job]:
            for stretch in held.pop(heapq.heappop(ends)[1]):
                _give_back(free, stretch)
        taken, missing = _take(free, int(procs[job]))
        if missing:
            taken.append((beyond, missing))
            beyond += missing
        held[job] = taken
        heapq.heappush(ends, (float(end[job]), job))
        for first, count in taken:
            yield job, first, count


def _take(free: list[Stretch], wanted: int) -> tuple[list[Stretch], int]:
    """Take the lowest stretch that is long enough, or the lowest processors; return the rest."""
    for place, (first, count) in enumerate(free):
        if count >= wanted:
            free[place : place + 1] = [(first + wanted, count - wanted)] if count > wanted else []
            return [(first, wanted)], 0
    taken = []
    while wanted and free:
        first, count = free.pop(0)
        used = min(count, wanted)
        taken.append((first, used))
        wanted -= used
        if count > used:
            free.insert(0, (first + used, count - used))
    return taken, wanted


def _give_back(free: list[Stretch], stretch: Stretch) -> None:
    """Put a stretch among the free ones, joined with its neighbours."""
    insort(free, stretch)
    place = free.index(stretch)
    if place + 1 < len(free) and sum(free[place]) == free[place + 1][0]:
        free[place : place + 2] = [(free[place][0], free[place][1] + free[place + 1][1])]
    if place > 0 and sum(free[place - 1]) == free[place][0]:
        free[place - 1 : place + 1] = [(free[place - 1][0], free[place - 1][1] + free[place][1])]

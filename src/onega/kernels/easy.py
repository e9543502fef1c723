"""First come, first served with EASY at rate 1: the same schedule as `onega.kernels.loop`, faster.

The case that everybody runs, written out: times instead of a work clock, counters in registers,
the queue and the expected ends in plain sorted arrays. It is meant for machines and queues of
ordinary size; where the queue grows long it stops, and the general loop takes the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.engine import DONE, MORE, QUEUE_FULL
from onega.kernels.jit import kernel, part, shift, unowned

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LONGEST_QUEUE = 2048
"""Beyond this many waiting jobs the general loop is faster: it passes over blocks of the queue."""


class Columns(NamedTuple):
    """Jobs by arrival: submission, work, what the scheduler knows of it, processors."""

    submit: Floats
    work: Floats
    expect: Floats
    procs: Ints


class Running(NamedTuple):
    """A heap of (``end``, ``job``), the sorted expected ends with their processors, and when each
    job of the log started."""  # noqa: D205, D209

    end: Floats
    job: Ints
    expected: Floats
    procs: Ints
    start: Floats


class Line(NamedTuple):
    """The waiting jobs, [head, tail) of these arrays, in the order of arrival."""

    job: Ints
    procs: Ints
    expect: Floats


# Places in ``count``: next job to arrive, jobs running, head and tail of the line, free processors.
NEXT, RUNNING, HEAD, TAIL, FREE = range(5)


def make_running(jobs: int, procs: int) -> Running:
    """Make room for as many running jobs as there are processors."""
    slots = min(jobs, procs) + 1
    return Running(
        np.empty(slots),
        np.empty(slots, np.int64),
        np.empty(slots),
        np.empty(slots, np.int64),
        np.full(jobs, np.nan),
    )


def make_line() -> Line:
    """Make room for the longest queue, several times over: the line moves along its arrays."""
    room = 8 * LONGEST_QUEUE
    return Line(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room))


@part
def _push_end(running: Running, size: int, end: float, job: int) -> None:
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if running.end[parent] <= end:
            break
        running.end[place] = running.end[parent]
        running.job[place] = running.job[parent]
        place = parent
    running.end[place] = end
    running.job[place] = job


@part
def _pop_end(running: Running, size: int) -> int:
    """Take the earliest end out of a heap that has ``size`` left without it; return its job."""
    first = running.job[0]
    end, job = running.end[size], running.job[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and running.end[child + 1] < running.end[child]:
            child += 1
        if end <= running.end[child]:
            break
        running.end[place] = running.end[child]
        running.job[place] = running.job[child]
        place = child
    running.end[place] = end
    running.job[place] = job
    return first


@part
def _lower_bound(values: Floats, size: int, value: float) -> int:
    """Return the first place whose value isn't below ``value``."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _expect_end(running: Running, size: int, end: float, procs: int) -> None:
    place = _lower_bound(running.expected, size, end)
    shift(running.expected, place + 1, place, size - place)
    shift(running.procs, place + 1, place, size - place)
    running.expected[place] = end
    running.procs[place] = procs


@part
def _forget_end(running: Running, size: int, end: float, procs: int) -> None:
    """Take an expected end out; of equal ones any with the same width will do."""
    place = _lower_bound(running.expected, size, end)
    while running.procs[place] != procs:
        place += 1
    shift(running.expected, place, place + 1, size - 1 - place)
    shift(running.procs, place, place + 1, size - 1 - place)


@part
def _reserve(running: Running, size: int, missing: int, now: float) -> tuple[float, int]:
    """Return when ``missing`` more processors are expected, and how many beyond them then.

    Jobs past their estimates are expected to end now.
    """
    place = 0
    while missing > 0:
        missing -= running.procs[place]
        place += 1
    shadow = max(now, running.expected[place - 1])
    while place < size and running.expected[place] <= shadow:
        missing -= running.procs[place]
        place += 1
    return shadow, -missing


@part
def _begin(jobs: Columns, running: Running, size: int, now: float, job: int) -> None:
    running.start[job] = now
    _push_end(running, size, now + jobs.work[job], job)
    _expect_end(running, size, now + jobs.expect[job], jobs.procs[job])


@part
def _leave(line: Line, place: int, tail: int) -> None:
    """Take a job out of the line."""
    shift(line.job, place, place + 1, tail - place - 1)
    shift(line.procs, place, place + 1, tail - place - 1)
    shift(line.expect, place, place + 1, tail - place - 1)


@kernel
def run_easy(jobs: Columns, running: Running, line: Line, count: Ints, rounds: int) -> int:
    """Go through at most ``rounds`` instants; DONE, MORE, or QUEUE_FULL: the line is too long.

    It stops only between instants, with the whole state in its arguments.
    """
    jobs = Columns(
        unowned(jobs.submit), unowned(jobs.work), unowned(jobs.expect), unowned(jobs.procs)
    )
    running = Running(
        unowned(running.end),
        unowned(running.job),
        unowned(running.expected),
        unowned(running.procs),
        unowned(running.start),
    )
    line = Line(unowned(line.job), unowned(line.procs), unowned(line.expect))
    arrived, size, head, tail, free = count[0], count[1], count[2], count[3], count[4]
    shadow, extra = -np.inf, 0
    reason = MORE
    for _ in range(rounds):
        now = running.end[0] if size > 0 else np.inf
        if arrived < jobs.submit.size:
            now = min(now, jobs.submit[arrived])
        if now == np.inf:
            reason = DONE
            break
        first = arrived
        while arrived < jobs.submit.size and jobs.submit[arrived] <= now:
            arrived += 1
        if tail - head + arrived - first > LONGEST_QUEUE:
            arrived = first
            reason = QUEUE_FULL
            break
        if tail + arrived - first > line.job.size:
            shift(line.job, 0, head, tail - head)
            shift(line.procs, 0, head, tail - head)
            shift(line.expect, 0, head, tail - head)
            tail -= head
            head = 0
        full = head == tail
        while size > 0 and running.end[0] <= now:
            size -= 1
            job = _pop_end(running, size)
            free += jobs.procs[job]
            _forget_end(running, size + 1, running.start[job] + jobs.expect[job], jobs.procs[job])
            full = True
        newcomers = tail
        for job in range(first, arrived):
            line.job[tail] = job
            line.procs[tail] = jobs.procs[job]
            line.expect[tail] = jobs.expect[job]
            tail += 1
        if full:
            shadow = -np.inf
            while head < tail and line.procs[head] <= free:
                _begin(jobs, running, size, now, line.job[head])
                free -= line.procs[head]
                size += 1
                head += 1
        # Without a completion, and before the shadow time, only newcomers can have a chance.
        place = newcomers
        if now > shadow:
            place = head + 1
            if place < tail and free > 0:
                shadow, extra = _reserve(running, size, line.procs[head] - free, now)
        while place < tail and free > 0:
            procs = line.procs[place]
            in_time = procs <= free and now + line.expect[place] <= shadow
            if not in_time and (procs > free or procs > extra):
                place += 1
                continue
            if not in_time:
                extra -= procs
            _begin(jobs, running, size, now, line.job[place])
            free -= procs
            size += 1
            _leave(line, place, tail)
            tail -= 1
    count[:] = arrived, size, head, tail, free
    return reason

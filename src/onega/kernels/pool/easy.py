"""First come, first served with EASY at rate 1: the same schedule as `loop`, faster.

The most frequent case, written out: times instead of a work clock, counters in registers, the queue
and the expected ends in plain sorted arrays. It is meant for machines and queues of ordinary size;
where the queue grows long it stops, and the general loop takes the rest. The general loop needs 1.3
to 1.6 times as long: more than the budget against C++ allows (`bench/simulator.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onega.kernels.jit import by_reference, kernel, part, shift
from onega.kernels.pool.engine import DONE, MORE, QUEUE_FULL
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.ends import ends_pop, ends_push
from onega.kernels.types import Floats, Ints, Records

Record = Any

LONGEST_QUEUE = 4096
"""Beyond this many waiting jobs the general loop is faster: it passes over blocks of the queue."""


class Columns(NamedTuple):
    """Jobs by arrival: submission, work, what the scheduler knows of it, processors."""

    submit: Floats
    work: Floats
    expect: Floats
    procs: Ints


RUNNING_JOB = record(
    end=REAL,
    expected=REAL,
    procs=WHOLE,
    job=WHOLE,
)
EXPECTED_END = record(
    end=REAL,
    procs=WHOLE,
)
WAITING_JOB = record(
    work=REAL,
    expect=REAL,
    procs=WHOLE,
    job=WHOLE,
)


class Running(NamedTuple):
    """Running jobs: a heap by ``end``; the expected ends, sorted. When each job of the log started.

    Records carry all that is needed when a job starts or ends, so that the log's columns are only
    read in order: looking jobs up at random costs more than the rest.
    """

    heap: Records
    expected: Records
    start: Floats


# Places in ``count``: next job to arrive, jobs running, head and tail of the line, free processors.
NEXT, RUNNING, HEAD, TAIL, FREE = range(5)


def make_running(jobs: int, procs: int) -> Running:
    """Make room for as many running jobs as there are processors."""
    slots = min(jobs, procs) + 1
    heap, expected = np.zeros(slots, RUNNING_JOB), np.zeros(slots, EXPECTED_END)
    return Running(heap, expected, np.full(jobs, np.nan))


def make_line() -> Records:
    """Make room for the longest queue, several times over: the line moves along its array."""
    return np.zeros(8 * LONGEST_QUEUE, WAITING_JOB)


@part
def _lower_bound(expected: Records, size: int, end: float) -> int:
    """Return the first place whose end isn't before ``end``."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if expected[middle].end < end:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _begin(running: Running, size: int, now: float, job: Record) -> None:
    """Start a job of the line; ``size`` others run."""
    running.start[job.job] = now
    until = now + job.expect
    place = ends_push(running.heap, size, now + job.work)
    running.heap[place].expected = until
    running.heap[place].procs = job.procs
    running.heap[place].job = job.job
    expected = running.expected
    place = _lower_bound(expected, size, until)
    shift(expected, place + 1, place, size - place)
    expected[place].end = until
    expected[place].procs = job.procs


@part
def _finish(running: Running, size: int) -> int:
    """End the earliest of the running jobs, ``size`` others run; return its processors."""
    procs, end = running.heap[0].procs, running.heap[0].expected
    ends_pop(running.heap, size)
    expected = running.expected
    # Of equal expected ends any with the same width will do.
    place = _lower_bound(expected, size + 1, end)
    while expected[place].procs != procs:
        place += 1
    shift(expected, place, place + 1, size - place)
    return procs


@part
def _reserve(expected: Records, size: int, missing: int, now: float) -> tuple[float, int]:
    """Return when ``missing`` more processors are expected, and how many beyond them then.

    Jobs past their estimates are expected to end now.
    """
    place = 0
    while missing > 0:
        missing -= expected[place].procs
        place += 1
    shadow = max(now, expected[place - 1].end)
    while place < size and expected[place].end <= shadow:
        missing -= expected[place].procs
        place += 1
    return shadow, -missing


@kernel
def run_easy(jobs: Columns, running: Running, line: Records, count: Ints, rounds: int) -> int:
    """Go through at most ``rounds`` instants; DONE, MORE, or QUEUE_FULL: the line is too long.

    The line of waiting jobs is [head, tail) of its array. It stops only between instants, with the
    whole state in its arguments.
    """
    jobs, running = by_reference(jobs), by_reference(running)
    arrived, size, head, tail, free = count[0], count[1], count[2], count[3], count[4]
    shadow, extra = -np.inf, 0
    reason = MORE
    for _ in range(rounds):
        now = running.heap[0].end if size > 0 else np.inf
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
        if tail + arrived - first > line.size:
            shift(line, 0, head, tail - head)
            tail -= head
            head = 0
        full = head == tail
        while size > 0 and running.heap[0].end <= now:
            size -= 1
            free += _finish(running, size)
            full = True
        newcomers = tail
        for job in range(first, arrived):
            line[tail].work = jobs.work[job]
            line[tail].expect = jobs.expect[job]
            line[tail].procs = jobs.procs[job]
            line[tail].job = job
            tail += 1
        if full:
            shadow = -np.inf
            while head < tail and line[head].procs <= free:
                _begin(running, size, now, line[head])
                free -= line[head].procs
                size += 1
                head += 1
        # Without a completion, and before the shadow time, only new jobs can have a chance.
        place = newcomers
        if now > shadow:
            place = head + 1
            if place < tail and free > 0:
                missing = line[head].procs - free
                shadow, extra = _reserve(running.expected, size, missing, now)
        while place < tail and free > 0:
            procs = line[place].procs
            if procs > free:
                place += 1
                continue
            if now + line[place].expect > shadow:
                if procs > extra:
                    place += 1
                    continue
                extra -= procs
            _begin(running, size, now, line[place])
            free -= procs
            size += 1
            tail -= 1
            shift(line, place, place + 1, tail - place)
    count[:] = arrived, size, head, tail, free
    return reason

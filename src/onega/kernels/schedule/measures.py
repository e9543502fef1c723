"""Measures of a schedule, each in one pass over its columns.

As array expressions they are dozens of small steps, each with an array of its own, and each gives
Python's lock away and takes it back; this way they take half the time. Sums are left to NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import by_reference, kernel, part
from onega.kernels.types import Floats, Ints

# Rows of the table that `measure_jobs` fills.
WAIT, RESPONSE, SERVICE, SLOWDOWN, BOUNDED_SLOWDOWN = range(5)


class Times(NamedTuple):
    """Jobs: when they were submitted, started and ended, and how long they were in service."""

    submit: Floats
    start: Floats
    end: Floats
    service: Floats


class Stretches(NamedTuple):
    """``procs`` processors over [since, until)."""

    since: Floats
    until: Floats
    procs: Ints


class Presence(NamedTuple):
    """When jobs ``came`` into the system, and when they ``left`` it; infinity: they didn't."""

    came: Floats
    left: Floats


class Window(NamedTuple):
    """From when until when measures are taken: a whole run, or a part of it."""

    first: float
    last: float


class Waits(NamedTuple):
    """When waits begin and when they end, each sorted."""

    begins: Floats
    ends: Floats


class Rate(NamedTuple):
    """R(t): ``rate`` from ``since`` on, when the work clock V stands at ``clock``."""

    since: Floats
    rate: Floats
    clock: Floats


class QueuedClock(NamedTuple):
    """U = ∫ R·1{a job waits}, piecewise linear in V: breakpoints ``clock`` and values there."""

    clock: Floats
    queued: Floats


@kernel
def measure_jobs(times: Times, bound: float, table: Floats) -> None:
    """Fill in wait, response, service, slowdown and bounded slowdown, a row of ``table`` each."""
    for i in range(times.submit.size):
        response = times.end[i] - times.submit[i]
        service = times.service[i]
        table[WAIT, i] = times.start[i] - times.submit[i]
        table[RESPONSE, i] = response
        table[SERVICE, i] = service
        table[SLOWDOWN, i] = response / service if service > 0 else np.nan
        # As written: NaN, of a job that didn't start, stays NaN.
        bounded = response / (bound if service < bound else service)
        table[BOUNDED_SLOWDOWN, i] = 1.0 if bounded < 1.0 else bounded


@kernel
def times_within(some: Stretches, here: Presence, run: Window) -> tuple[Floats, Floats, Floats]:
    """Return procs·τ and τ of stretches, and τ of jobs present; τ: time in the window."""
    area, length = np.empty(some.since.size), np.empty(some.since.size)
    for i in range(area.size):
        length[i] = max(0.0, min(some.until[i], run.last) - max(some.since[i], run.first))
        area[i] = some.procs[i] * length[i]
    present = np.empty(here.came.size)
    for i in range(present.size):
        stay = min(here.left[i], run.last) - max(here.came[i], run.first)
        present[i] = max(0.0, stay)
    return area, length, present


@part
def _work_clock(rate: Rate, time: float, near: int) -> tuple[float, int]:
    """Return V(time), and which entry of the rate holds then; ``near`` is looked at first."""
    size = rate.since.size
    place = near
    if time < rate.since[place] or (place + 1 < size and rate.since[place + 1] <= time):
        place = max(int(np.searchsorted(rate.since, time, side="right")) - 1, 0)
    return rate.clock[place] + (time - rate.since[place]) * rate.rate[place], place


@part
def _queued_clock(waits: Waits, rate: Rate) -> QueuedClock:
    """Join waits that overlap, and add up the work clock in them.

    The k-th wait is over when the k-th end comes: where all earlier beginnings are matched, the
    queue is empty until the next one. Waits of no time leave no breakpoint, nor do waits that end
    before they begin: V rises strictly from breakpoint to breakpoint, which all that follows needs.
    """
    begins, ends = waits.begins, waits.ends
    size = min(begins.size, ends.size)
    clock, queued = np.empty(2 * size), np.empty(2 * size)
    count, total, near, first = 0, 0.0, 0, 0
    for i in range(size):
        if i + 1 < size and ends[i] > begins[i + 1]:
            continue
        since, near = _work_clock(rate, begins[first], near)
        until, near = _work_clock(rate, ends[i], near)
        first = i + 1
        if not until > since:  # as written: NaN leaves none either
            continue
        clock[count], queued[count] = since, total
        total += until - since
        clock[count + 1], queued[count + 1] = until, total
        count += 2
    return QueuedClock(clock[:count], queued[:count])


@part
def _piece(distance: float, scale: float, pieces: int) -> int:
    """Return which of equal pieces a distance ends in: ``pieces`` beyond the last, 0 for NaN.

    Never another number, whatever rounding or overflow makes of the product.
    """
    place = distance * scale
    if not place > 0.0:
        return 0
    return int(place) if place < pieces else pieces


@part
def _queued_at(line: QueuedClock, before: Ints, clock: float, scale: float) -> float:
    """Interpolate U linearly, as `numpy.interp` does."""
    size = line.clock.size
    if clock <= line.clock[0]:
        return line.queued[0]
    if clock != clock:
        return clock
    if clock >= line.clock[size - 1]:
        return line.queued[size - 1]
    place = _piece(clock - line.clock[0], scale, size)
    low, high = before[place], before[place + 1]
    while low < high:
        middle = (low + high) >> 1
        if line.clock[middle] <= clock:
            low = middle + 1
        else:
            high = middle
    place = low - 1
    rise = line.queued[place + 1] - line.queued[place]
    slope = rise / (line.clock[place + 1] - line.clock[place])
    return slope * (clock - line.clock[place]) + line.queued[place]


@kernel
def queued_areas(some: Stretches, waits: Waits, rate: Rate) -> tuple[float, Floats]:
    """Return U = ∫ R·1{a job waits} over all waits, and procs·(U(until) − U(since)) of stretches.

    The second is what their processors did, or could do, while a job waited.
    """
    some, rate = by_reference(some), by_reference(rate)
    made = _queued_clock(by_reference(waits), rate)
    line = by_reference(made)
    size = line.clock.size
    if size == 0:
        return 0.0, np.zeros(0)
    # Breakpoints before each of as many equal parts of the axis: nearly where a search ends.
    first = line.clock[0]
    scale = (size - 1) / (line.clock[size - 1] - first)
    before = np.zeros(size + 2, np.int64)
    for i in range(size):
        before[_piece(line.clock[i] - first, scale, size) + 1] += 1
    for i in range(1, before.size):
        before[i] += before[i - 1]
    product = np.empty(some.since.size)
    near = 0
    for i in range(product.size):
        since, near = _work_clock(rate, some.since[i], near)
        until, near = _work_clock(rate, some.until[i], near)
        here = _queued_at(line, before, until, scale) - _queued_at(line, before, since, scale)
        product[i] = some.procs[i] * here
    # From what was made, not from the view: it has to live until here.
    return made.queued[size - 1], product

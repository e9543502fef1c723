"""Measures of a schedule, each in one pass over its columns.

As array expressions they are dozens of small steps, each with an array of its own, and each gives
Python's lock away and takes it back; this way they take half the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import by_reference, kernel, part
from onega.kernels.types import Floats, Ints

# Rows of the table that `measure_jobs` fills.
WAIT, RESPONSE, SERVICE, SLOWDOWN, BOUNDED_SLOWDOWN = range(5)
MEASURES = 5

BLOCK = 128
"""Up to so many values are added without being halved."""

DEEPEST = 64
"""Halvings that there can be."""


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


@part
def _block_sum(values: Floats, first: int, count: int) -> float:
    """Add at most `BLOCK` values, in eight sums."""
    if count < 8:
        total = -0.0
        for i in range(first, first + count):
            total += values[i]
        return total
    a, b, c, d = values[first], values[first + 1], values[first + 2], values[first + 3]
    e, f, g, h = values[first + 4], values[first + 5], values[first + 6], values[first + 7]
    last = first + count
    i = first + 8
    while i + 8 <= last:
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
        i += 8
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while i < last:
        total += values[i]
        i += 1
    return total


@kernel
def pairwise_sum(values: Floats, count: int) -> float:
    """Add the first ``count`` values in the order of `numpy.sum`: the same bits.

    Halves are added by themselves, so that the error grows as the logarithm of the number of values
    (Higham 1993). Not by recursion: numba can't keep recursive functions in its cache.
    """
    if count == 0:
        return 0.0
    first, size = np.zeros(DEEPEST, np.int64), np.zeros(DEEPEST, np.int64)
    halves, left = np.zeros(DEEPEST, np.int64), np.zeros(DEEPEST)
    size[0] = count
    depth, total = 0, 0.0
    while depth >= 0:
        if size[depth] > BLOCK:
            half = size[depth] // 2
            half -= half % 8
            halves[depth] = 1
            first[depth + 1], size[depth + 1] = first[depth], half
            depth += 1
            continue
        total = _block_sum(values, first[depth], size[depth])
        depth -= 1
        while depth >= 0 and halves[depth] == 2:
            total = left[depth] + total
            depth -= 1
        if depth >= 0:
            done = size[depth + 1]
            left[depth], halves[depth] = total, 2
            first[depth + 1], size[depth + 1] = first[depth] + done, size[depth] - done
            depth += 1
    return total


@kernel
def mean_measures(table: Floats, means: Floats) -> None:
    """Take the mean of every row; of slowdowns, of those that are known. NaN if there are none."""
    size = table.shape[1]
    for row in range(MEASURES):
        values, count = table[row], size
        if row == SLOWDOWN:
            known = np.empty(size)
            count = 0
            for i in range(size):
                known[count] = values[i]
                count += values[i] == values[i]
            values = known
        means[row] = pairwise_sum(values, count) / count if count else np.nan


@kernel
def measure_jobs(times: Times, bound: float, table: Floats, means: Floats) -> None:
    """Fill in wait, response, service, slowdown and bounded slowdown, a row of ``table`` each.

    And their means: see `mean_measures`.
    """
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
    mean_measures(table, means)


@kernel
def total_times(some: Stretches, here: Presence, run: Window) -> tuple[float, float, float]:
    """Return Σ procs·τ and Σ τ over stretches, and Σ τ over jobs present; τ: time in the window."""
    area, length = np.empty(some.since.size), np.empty(some.since.size)
    for i in range(area.size):
        length[i] = max(0.0, min(some.until[i], run.last) - max(some.since[i], run.first))
        area[i] = some.procs[i] * length[i]
    present = np.empty(here.came.size)
    for i in range(present.size):
        stay = min(here.left[i], run.last) - max(here.came[i], run.first)
        present[i] = max(0.0, stay)
    return (
        pairwise_sum(area, area.size),
        pairwise_sum(length, length.size),
        pairwise_sum(present, present.size),
    )


@kernel
def weighted_sum(weights: Ints, values: Floats) -> float:
    """Return Σ weight·value."""
    product = np.empty(values.size)
    for i in range(values.size):
        product[i] = weights[i] * values[i]
    return pairwise_sum(product, product.size)


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
def queued_areas(some: Stretches, waits: Waits, rate: Rate) -> tuple[float, float]:
    """Return U = ∫ R·1{a job waits} over all waits, and Σ procs·(U(until) − U(since)).

    The second is what the processors of the stretches did, or could do, while a job waited.
    """
    some, rate = by_reference(some), by_reference(rate)
    made = _queued_clock(by_reference(waits), rate)
    line = by_reference(made)
    size = line.clock.size
    if size == 0:
        return 0.0, 0.0
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
    return made.queued[size - 1], pairwise_sum(product, product.size)

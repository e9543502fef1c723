"""The machine over time: running, waiting, remaining, wasted (Rumyantsev et al. 2018, II-B).

Everything is made from starts, ends and the history of the rate, so that the simulator's loop
pays for none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.schedule.energy import count_over, nonworking, power_series
from onega.core.schedule.history import RateHistory
from onega.core.types import Floats, Ints

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

Counter = Callable[..., Floats]


class Stretches(NamedTuple):
    """``procs`` processors over [since, until)."""

    since: Floats
    until: Floats
    procs: Ints


def peak(start: Floats, end: Floats, procs: npt.NDArray[np.int64]) -> int:
    """Return the most processors that were ever busy at once."""
    times = np.concatenate([end, start])
    change = np.concatenate([-procs, procs])
    # Ends before starts at the same instant.
    order = np.lexsort((change > 0, times))
    return max(1, int(np.cumsum(change[order]).max(initial=1)))


def system_table(schedule: Schedule) -> pl.DataFrame:
    """One row per instant: the state right after it."""
    submit, leave = presence(schedule)
    row, start, end = schedule.service_pieces()
    width = schedule.workload.column("procs")[row]
    time = np.unique(np.concatenate([submit, leave, start, end, _other_instants(schedule)]))
    time = time[(time >= schedule.begin) & (time <= schedule.last)]

    def count(places: Floats, weights: npt.ArrayLike | None = None) -> Floats:
        at = np.searchsorted(time, np.clip(places, schedule.begin, None))
        return np.asarray(np.bincount(at, weights, time.size + 1)[:-1], np.float64)

    busy = np.cumsum(count(start, width) - count(end, width))
    running = np.cumsum(count(start) - count(end))
    present = np.cumsum(count(submit) - count(leave))
    rate = np.array(schedule.rates.rates)[schedule.rates.at(time)]
    waiting = present - running
    capacity = float(schedule.cluster.procs)
    return pl.DataFrame(
        {
            "time": time,
            "rate": rate,
            "busy": busy.round().astype(np.int64),
            "running": running.round().astype(np.int64),
            "waiting": waiting.round().astype(np.int64),
            "workload": _work_left(schedule, time, count, present),
            "power": power_series(schedule, time),
            "potential_load": rate * np.where(waiting > 0, capacity, busy),
            "effective_load": rate * busy,
            **_nonworking_counts(schedule, time),
        }
    )


def presence(schedule: Schedule) -> tuple[Floats, Floats]:
    """Return when jobs came and when they left, of all jobs that were submitted."""
    submit, leave = schedule.workload.column("submit"), schedule.end
    if schedule.chronicle is None:
        return submit, leave
    came = schedule.chronicle.submitted
    # A job that never starts stays in the system to the end, and beyond.
    return submit[came], np.where(np.isnan(leave[came]), np.inf, leave[came])


def _other_instants(schedule: Schedule) -> Floats:
    """Return when the rate, the processors that are up, or their power change."""
    times = [schedule.rates.since]
    for one in nonworking(schedule):
        times += [one.since, one.until]
    if schedule.chronicle is not None:
        attempts = schedule.chronicle.attempts
        times += [attempts.start + attempts.wake, attempts.begin, attempts.stop]
        times.append(schedule.chronicle.events["time"].to_numpy())
    return np.concatenate(times)


def _nonworking_counts(schedule: Schedule, time: Floats) -> dict[str, Ints]:
    """Return how many processors are down, asleep and waking, for a detailed run."""
    named = {"down": "down", "sleep": "asleep", "wake": "waking"}
    counts = {}
    for one in nonworking(schedule):
        over = count_over(time, one.since, one.until, one.count)
        counts[named[one.name]] = over.round().astype(np.int64)
    return counts


def _work_left(schedule: Schedule, time: Floats, count: Counter, present: Floats) -> Floats:
    """Return the remaining work of all jobs in the system; it falls at R for each that runs."""
    chronicle, rates = schedule.chronicle, schedule.rates
    if chronicle is None:
        submit = schedule.workload.column("submit")
        _, begin, stop = schedule.service_pieces()
        change = count(submit, schedule.work)
    else:
        submit, leave = presence(schedule)
        came = chronicle.submitted
        tries = chronicle.attempts
        begin, stop = tries.begin, tries.stop
        done = rates.work(begin, stop)
        # What an attempt did and didn't save has to be done again.
        to_do = schedule.work - chronicle.head_start
        change = count(submit, to_do[came])
        change += count(tries.end, np.maximum(done - tries.saved, 0.0))
        saved = np.bincount(tries.row, tries.saved, len(schedule))
        # A job that leaves takes its unfinished work with it.
        change -= count(leave, np.maximum(to_do - saved, 0.0)[came])
    working = np.cumsum(count(begin) - count(stop))
    rate = np.array(rates.rates)[rates.at(time)]
    done_since = np.concatenate([[0.0], np.cumsum((rate * working)[:-1] * np.diff(time))])
    left = np.cumsum(change) - done_since
    return np.where(present > 0, np.maximum(left, 0.0), 0.0)


def _waits(schedule: Schedule) -> tuple[Floats, Floats]:
    """Return when waits begin and when they end, each sorted.

    A job waits from its submission or displacement until it starts, resumes or is cancelled.
    """
    row, start, end = schedule.service_pieces()
    if schedule.pieces is None and schedule.chronicle is None:
        return schedule.workload.submissions, np.sort(start)
    leave = np.where(np.isnan(schedule.end), np.inf, schedule.end)
    up, down = [presence(schedule)[0]], [start]
    if schedule.pieces is not None:
        up.append(end[end < leave[row]])
    if schedule.chronicle is not None:
        down.append(np.minimum(leave[_left_the_queue(schedule, leave)], schedule.last))
    return np.sort(np.concatenate(up)), np.sort(np.concatenate(down))


def _left_the_queue(schedule: Schedule, leave: Floats) -> npt.NDArray[np.bool_]:
    """Mark jobs that left while they waited: before a first start, or after an interruption."""
    assert schedule.chronicle is not None
    attempts = schedule.chronicle.attempts
    last = np.full(len(schedule), -np.inf)
    np.maximum.at(last, attempts.row, attempts.end)
    return np.asarray((leave > last) & schedule.chronicle.submitted)


def on_processors(schedule: Schedule) -> Stretches:
    """Return all intervals on processors."""
    row, start, end = schedule.service_pieces()
    procs = schedule.workload.column("procs")
    one_each = schedule.pieces is None and schedule.chronicle is None
    return Stretches(start, end, procs if one_each else procs[row])


def time_within(since: Floats, until: Floats, first: float, last: float) -> Floats:
    """Return how much of each interval lies between two times."""
    return np.asarray(np.maximum(np.minimum(until, last) - np.maximum(since, first), 0.0))


def wasted_capacity(schedule: Schedule, first: float, last: float) -> float:
    """Σ (c − busy)·τ·R over the time from ``first`` to ``last`` in which a job waits.

    Rumyantsev 2018, (10). In processor-seconds at rate 1: what idle processors could
    have done while jobs waited.
    """
    taken = on_processors(schedule)
    for one in nonworking(schedule):
        if one.name == "down":
            taken = Stretches(
                np.append(taken.since, one.since),
                np.append(taken.until, one.until),
                np.append(taken.procs, one.count),
            )
    # A wait that is cut at an end of the window keeps its place among the sorted ones.
    begins, ends = (np.clip(times, first, last) for times in _waits(schedule))
    queued, used = queued_areas(taken, begins, ends, schedule.rates)
    return max(0.0, schedule.cluster.procs * queued - float(used.sum()))


def queued_areas(
    some: Stretches, begins: Floats, ends: Floats, rates: RateHistory
) -> tuple[float, Floats]:
    """Return U = ∫ R·1{a job waits} over all waits, and procs·(U(until) − U(since)) of stretches.

    The second is what their processors did, or could do, while a job waited. ``begins`` and
    ``ends`` of waits are sorted.
    """
    clock, queued = _queued_clock(begins, ends, rates)
    if clock.size == 0:
        return 0.0, np.zeros(0)
    since, until = (
        np.interp(rates.integral(rates.rates, times), clock, queued)
        for times in (some.since, some.until)
    )
    return float(queued[-1]), some.procs * (until - since)


def _queued_clock(begins: Floats, ends: Floats, rates: RateHistory) -> tuple[Floats, Floats]:
    """Return breakpoints of U as a function, piecewise linear, of V = ∫ R; and U there.

    The k-th wait is over when the k-th end comes: where all earlier beginnings are matched, the
    queue is empty until the next one. Waits of no time leave no breakpoint, nor do waits that end
    before they begin: V rises strictly from breakpoint to breakpoint.
    """
    size = min(begins.size, ends.size)
    begins, ends = begins[:size], ends[:size]
    emptied = ~(ends[:-1] > begins[1:])
    since = rates.integral(rates.rates, begins[np.append(True, emptied)[:size]])
    until = rates.integral(rates.rates, ends[np.append(emptied, True)[:size]])
    some = until > since
    since, until = since[some], until[some]
    queued = np.append(0.0, np.cumsum(until - since))
    return np.stack((since, until), axis=1).ravel(), np.repeat(queued, 2)[1:-1]

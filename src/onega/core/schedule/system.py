"""The machine over time: running, waiting, remaining, wasted (Rumyantsev et al. 2018, II-B).

Everything is made from starts, ends and the history of the rate, so that the simulator's loop
pays for none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.schedule.energy import count_over, nonworking, power_series
from onega.core.types import Floats, Ints
from onega.core.workload.columns import fixed

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule
    from onega.kernels.schedule.measures import Stretches, Waits

Counter = Callable[..., Floats]


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


def _waits(schedule: Schedule) -> Waits:
    """Return when waits begin and when they end, each sorted.

    A job waits from its submission or displacement until it starts, resumes or is cancelled.
    """
    from onega.kernels.schedule.measures import Waits

    row, start, end = schedule.service_pieces()
    if schedule.pieces is None and schedule.chronicle is None:
        return Waits(fixed(schedule.workload.submissions), fixed(np.sort(start)))
    leave = np.where(np.isnan(schedule.end), np.inf, schedule.end)
    up, down = [presence(schedule)[0]], [start]
    if schedule.pieces is not None:
        up.append(end[end < leave[row]])
    if schedule.chronicle is not None:
        down.append(np.minimum(leave[_left_the_queue(schedule, leave)], schedule.last))
    return Waits(fixed(np.sort(np.concatenate(up))), fixed(np.sort(np.concatenate(down))))


def _left_the_queue(schedule: Schedule, leave: Floats) -> npt.NDArray[np.bool_]:
    """Mark jobs that left while they waited: before a first start, or after an interruption."""
    assert schedule.chronicle is not None
    attempts = schedule.chronicle.attempts
    last = np.full(len(schedule), -np.inf)
    np.maximum.at(last, attempts.row, attempts.end)
    return np.asarray((leave > last) & schedule.chronicle.submitted)


def on_processors(schedule: Schedule) -> Stretches:
    """Return all intervals on processors, for kernels."""
    from onega.kernels.schedule.measures import Stretches

    row, start, end = schedule.service_pieces()
    procs = schedule.workload.column("procs")
    one_each = schedule.pieces is None and schedule.chronicle is None
    return Stretches(fixed(start), fixed(end), fixed(procs if one_each else procs[row]))


def wasted_capacity(schedule: Schedule, first: float, last: float) -> float:
    """Σ (c − busy)·τ·R over the time from ``first`` to ``last`` in which a job waits.

    Rumyantsev 2018, (10). In processor-seconds at rate 1: what idle processors could
    have done while jobs waited.
    """
    from onega.kernels.schedule.measures import Rate, Stretches, Waits, queued_areas

    rates = schedule.rates
    rate = Rate(fixed(rates.since), *map(fixed, rates.steps(rates.rates)))
    taken = on_processors(schedule)
    for one in nonworking(schedule):
        if one.name == "down":
            both = map(np.concatenate, zip(taken, (one.since, one.until, one.count), strict=True))
            taken = Stretches(*map(fixed, both))
    # A wait that is cut at an end of the window keeps its place among the sorted ones.
    waits = Waits(*(fixed(np.clip(ends, first, last)) for ends in _waits(schedule)))
    queued, used = queued_areas(taken, waits, rate)
    return max(0.0, schedule.cluster.procs * queued - float(used.sum()))

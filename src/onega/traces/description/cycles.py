"""Hours and weekdays, in the machine's own time (Song 2006, §7.1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onega.core.types import Floats, Ints
from onega.core.workload.clock import local_zone, utc_offsets
from onega.traces.description.sections import Jobs, Lacking, Summary

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

LAST_MOMENT = 6e10
"""Seconds from 1970 that dates can hold on either side, safely within the years 69 to 3871."""


class Slot(NamedTuple):
    """The jobs submitted in one hour of the day, or on one day of the week."""

    label: str
    jobs: int
    mean_runtime: float | None
    mean_width: float | None


@dataclass(frozen=True, slots=True)
class Cycles:
    """The daily and the weekly cycle (Figs 7.1 and 7.2), by time of submission.

    Attributes
    ----------
    hours
        24 slots: jobs, mean run time (s) and mean width (processors) of those whose run time and
        width are known.
    weekdays
        7 slots from Monday.
    timezone
        The zone in which hours are counted.
    timezone_from
        Where it is known from.
    """

    hours: tuple[Slot, ...]
    weekdays: tuple[Slot, ...]
    timezone: str
    timezone_from: str

    def summary(self) -> Summary:
        """Keys ``jobs_by_hour``, ``runtime_by_hour``, ``procs_by_weekday`` and more."""
        flat: Summary = {}
        for name, slots in (("hour", self.hours), ("weekday", self.weekdays)):
            flat[f"jobs_by_{name}"] = [slot.jobs for slot in slots]
            flat[f"runtime_by_{name}"] = [slot.mean_runtime for slot in slots]
            flat[f"procs_by_{name}"] = [slot.mean_width for slot in slots]
        return flat


def cycles(jobs: Jobs) -> Cycles:
    """Measure the daily and weekly cycle in the log's own time zone."""
    meta = jobs.workload.meta
    if meta.epoch is None:
        raise Lacking("the log doesn't say at what date it begins, so hours can't be told")
    zone, name, source = local_zone(meta)
    hour, weekday = local_hours(jobs.submit + meta.epoch, zone)
    return Cycles(
        hours=_slots(hour, [f"{h:02d}:00" for h in range(24)], jobs),
        weekdays=_slots(weekday, list(WEEKDAYS), jobs),
        timezone=name,
        timezone_from=source,
    )


def local_hours(moments: Floats, zone: tzinfo) -> tuple[Ints, Ints]:
    """Hour (0–23) and weekday (0 = Monday) of Unix times, in the machine's own time."""
    local = _local_seconds(moments, zone)
    # 1 January 1970 was a Thursday.
    return local // 3600 % 24, (local // 86400 + 3) % 7


def local_months(moments: Floats, zone: tzinfo) -> list[str]:
    """Write the month (``2024-03``) of Unix times, in the machine's own time."""
    local = _local_seconds(moments, zone)
    months, place = np.unique(
        local.astype("datetime64[s]").astype("datetime64[M]"), return_inverse=True
    )
    called = [str(month) for month in months]
    return [called[number] for number in place.tolist()]


def _local_seconds(moments: Floats, zone: tzinfo) -> Ints:
    """Return whole seconds on the machine's own clock."""
    if not np.abs(moments).max() < LAST_MOMENT:
        raise Lacking("the log's dates are outside the calendar")
    seconds = np.floor(moments).astype(np.int64)
    return seconds + utc_offsets(seconds, zone)


def _slots(place: Ints, labels: list[str], jobs: Jobs) -> tuple[Slot, ...]:
    runtimes = _means(place, jobs.runtime, jobs.runtime >= 0, len(labels))
    widths = _means(place, jobs.width, jobs.width > 0, len(labels))
    counts = np.bincount(place, minlength=len(labels)).tolist()
    return tuple(map(Slot, labels, counts, runtimes, widths))


def _means(
    place: Ints, values: Floats, known: npt.NDArray[np.bool_], slots: int
) -> list[float | None]:
    counts = np.bincount(place[known], minlength=slots)
    sums = np.bincount(place[known], weights=values[known], minlength=slots)
    return [float(total / n) if n else None for total, n in zip(sums, counts)]

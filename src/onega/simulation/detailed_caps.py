"""The power cap as a capacity that changes at known times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from onega.core.clock import local_zone
from onega.core.errors import SimulationError
from onega.core.meta import Meta
from onega.core.sleep import PowerCap
from onega.simulation.detailed_layout import Layout
from onega.simulation.detailed_problem import Floats

Steps = list[tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """Watts above idle that busy processors may draw: at the beginning, and from each step on."""

    first: float
    time: Floats
    watts: Floats

    @property
    def most(self) -> float:
        """The most that there ever is."""
        return max(self.first, float(self.watts.max(initial=-np.inf)))

    def longest(self, level: float, begin: float, end: float) -> float:
        """Return the longest time without a break in which there is at least ``level``."""
        since = np.concatenate([[begin], self.time])
        until = np.concatenate([self.time, [end]])
        enough = np.concatenate([[self.first], self.watts]) >= level
        best = held = 0.0
        for length, ok in zip(until - since, enough, strict=True):
            held = held + float(length) if ok else 0.0
            best = max(best, held)
        return best


def capacity(layout: Layout, steps_given: Steps, meta: Meta, span: tuple[float, float]) -> Capacity:
    """Return what the cluster's cap and the events' together leave for busy processors.

    Where both say something, the lower one counts. Without a cap it is what all processors draw.
    """
    begin = span[0]
    none = layout.cluster.procs * layout.watts
    functions = [_sorted(steps_given)] if steps_given else []
    cap = layout.cluster.power_cap
    if isinstance(cap, PowerCap):
        functions.append(_daily(cap, meta, span) if cap.daily else list(cap.steps))
    times = np.unique([time for one in functions for time, _ in one if begin < time])
    lowest = np.full(times.size + 1, np.inf)
    for one in functions:
        since = np.array([time for time, _ in one])
        watts = np.array([np.inf, *(watts for _, watts in one)])
        place = np.searchsorted(since, np.concatenate([[begin], times]), side="right")
        lowest = np.minimum(lowest, watts[place])
    left = np.minimum(lowest - layout.idle_watts, none)
    if left.min() < 0:
        raise SimulationError(
            f"the power cap of {lowest.min():,.0f} W is below what the idle machine draws "
            f"({layout.idle_watts:,.0f} W)"
        )
    changes = np.flatnonzero(np.diff(left) != 0)
    return Capacity(float(left[0]), times[changes], left[1:][changes])


def _sorted(steps: Steps) -> Steps:
    """Order steps by time; of several at one instant the last counts."""
    return sorted(dict(steps).items())


def _daily(cap: PowerCap, meta: Meta, span: tuple[float, float]) -> Steps:
    """Write out the steps of every day, on the machine's own clock, with its summer time."""
    if meta.epoch is None:
        raise SimulationError(
            "a power cap by the time of day needs to know when the log begins, and it doesn't say; "
            "give a list of (seconds, watts) instead"
        )
    zone = local_zone(meta)[0]
    day = datetime.fromtimestamp(meta.epoch + span[0], tz=zone).date() - timedelta(days=1)
    last = datetime.fromtimestamp(meta.epoch + span[1], tz=zone).date()
    steps: Steps = []
    while day <= last:
        for seconds, watts in cap.steps:
            hour, minute = divmod(int(seconds) // 60, 60)
            moment = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
            steps.append((moment.timestamp() - meta.epoch, watts))
        day += timedelta(days=1)
    return _sorted(steps)

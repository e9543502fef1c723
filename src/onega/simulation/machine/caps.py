"""The power cap as a capacity that changes at known times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache

import numpy as np

from onega.core.errors import SimulationError
from onega.core.machine.sleep import PowerCap
from onega.core.types import Floats
from onega.core.units import humanise_seconds
from onega.core.workload.clock import local_zone
from onega.core.workload.meta import Meta
from onega.simulation.machine.layout import Layout

Steps = tuple[Floats, Floats]
"""From when on, in the order of time, and how many watts."""

EPOCH_DAY = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """Watts above idle that busy processors may draw: at the beginning, and from each step on.

    ``span`` is when the run begins, and until when daily steps are written out.
    """

    first: float
    time: Floats
    watts: Floats
    span: tuple[float, float]

    @property
    def most(self) -> float:
        """The most that there ever is."""
        return max(self.first, float(self.watts.max(initial=-np.inf)))

    def longest(self, level: float, end: float) -> float:
        """Return the longest time without a break in which there is at least ``level``."""
        since = np.concatenate([[self.span[0]], self.time])
        until = np.concatenate([self.time, [end]])
        enough = np.concatenate([[False], [self.first >= level], self.watts >= level, [False]])
        changes = np.flatnonzero(np.diff(enough))
        lasted = until[changes[1::2] - 1] - since[changes[::2]]
        return float(lasted.max(initial=0.0))


def capacity(
    layout: Layout, given: list[tuple[float, float]], meta: Meta, span: tuple[float, float]
) -> Capacity:
    """Return what the cluster's cap and the events' together leave for busy processors.

    Where both say something, the lower one counts. Without a cap it is what all processors draw.

    Parameters
    ----------
    layout
        The machine.
    given
        The events' caps: from when on, watts.
    meta
        When the log begins, by its own clock.
    span
        When the run begins, and until when daily steps are written out.
    """
    begin = span[0]
    none = layout.cluster.procs * layout.watts
    functions = [_in_order(*np.array(given).T)] if given else []
    cap = layout.cluster.power_cap
    if isinstance(cap, PowerCap):
        since, watts = np.array(cap.steps, dtype=np.float64).reshape(-1, 2).T
        functions.append(_daily(since, watts, meta, span) if cap.daily else (since, watts))
    times = np.unique(np.concatenate([[], *(since[since > begin] for since, _ in functions)]))
    asked = np.concatenate([[begin], times])
    lowest = np.full(asked.size, np.inf)
    for since, watts in functions:
        place = np.searchsorted(since, asked, side="right")
        lowest = np.minimum(lowest, np.concatenate([[np.inf], watts])[place])
    left = np.minimum(lowest - layout.idle_watts, none)
    if left.min() < 0:
        raise SimulationError(
            f"the power cap of {lowest.min():,.0f} W is below what the idle machine draws "
            f"({layout.idle_watts:,.0f} W)"
        )
    changes = np.flatnonzero(np.diff(left) != 0)
    return Capacity(float(left[0]), times[changes], left[1:][changes], span)


def _in_order(since: Floats, watts: Floats) -> Steps:
    """Order steps by time; of several at one instant the last counts."""
    order = np.argsort(since, kind="stable")
    since, watts = since[order], watts[order]
    last = np.append(since[1:] > since[:-1], True)
    return since[last], watts[last]


def _daily(moment: Floats, watts: Floats, meta: Meta, span: tuple[float, float]) -> Steps:
    """Write out the steps of every day, on the machine's own clock, with its summer time."""
    if meta.epoch is None:
        raise SimulationError(
            "a power cap by the time of day needs to know when the log begins, and it doesn't say; "
            "give a list of (seconds, watts) instead"
        )
    zone = local_zone(meta)[0]
    try:
        first, last = (datetime.fromtimestamp(meta.epoch + at, tz=zone).toordinal() for at in span)
    except (ValueError, OverflowError, OSError):
        raise SimulationError(
            "a power cap by the time of day needs a calendar, and the run may last "
            f"{humanise_seconds(span[1] - span[0])}; give a list of (seconds, watts) instead"
        ) from None
    days = range(first - 1, last + 1)
    midnight = (np.array(days) - EPOCH_DAY) * 86400.0 - meta.epoch
    minutes = (moment // 60 * 60).tolist()
    since = np.concatenate([midnight + at - _offsets(zone, days, at) for at in minutes])
    return _in_order(since, np.repeat(watts, len(days)))


@lru_cache(maxsize=64)
def _offsets(zone: tzinfo, days: range, moment: float) -> Floats:
    """Return how far the clocks are ahead of Greenwich at one moment of each day, seconds."""
    at = timedelta(seconds=moment)
    local = (datetime.fromordinal(day).replace(tzinfo=zone) + at for day in days)
    offsets = ((time.utcoffset() or timedelta()).total_seconds() for time in local)
    return np.fromiter(offsets, float, len(days))

"""Long series in a picture: extremes per pixel kept, means per hour or day, clocks and dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from onega.core.types import Floats, Ints
from onega.core.units import humanise_seconds
from onega.core.workload.clock import local_moment, local_zone, utc_offsets
from onega.core.workload.meta import Meta

DAY: Final = 86400.0

WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

POINTS: Final = 4000
"""Most points of one line: four to each of a thousand columns of pixels."""

CDF_POINTS: Final = 2000
"""Most points of a distribution function."""

BINS: Final = 240
"""About as many bars or steps as one can tell apart."""

NICE_SPANS: Final = (
    1.0, 10.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0,
    2 * 86400.0, 7 * 86400.0, 14 * 86400.0, 30 * 86400.0, 91 * 86400.0,
)  # fmt: skip
"""Lengths of time over which people take means, in seconds."""


def extremes(time: Floats, values: Floats, points: int = POINTS) -> Ints:
    """Return the rows to draw: in each of ``points``/4 equal stretches of time first, lowest,
    highest and last, so that no peak is lost and every level after a gap is right.
    """  # noqa: D205
    if time.size <= points:
        return np.arange(time.size)
    columns = max(1, points // 4)
    span = time[-1] - time[0]
    column = np.minimum(((time - time[0]) / span * columns).astype(np.int64), columns - 1)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    last = np.append(first[1:], time.size) - 1
    # Sorted by value within each column, the ends of a column are its extremes.
    order = np.lexsort((values, column))
    return np.unique(np.concatenate([first, order[first], order[last], last]))


def nice_span(length: float) -> float:
    """Return the shortest usual length of time that cuts ``length`` into at most `BINS`."""
    return next((span for span in NICE_SPANS if length / span <= BINS), length / BINS)


def means(time: Floats, values: Floats, edges: Floats) -> Floats:
    """Mean over each [edge, next edge) of a quantity that holds from its time to the next."""
    until = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(time))])
    at = np.interp(edges, time, until)
    inside = np.diff(np.clip(edges, time[0], time[-1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(inside > 0, np.diff(at) / inside, np.nan)


def bins(time: Floats) -> tuple[Floats, float]:
    """Return edges that cover the times, at multiples of a usual length, and that length."""
    span = nice_span(max(float(time[-1] - time[0]), 1.0))
    first, last = np.floor(time[0] / span), np.ceil(time[-1] / span)
    return np.arange(first, max(last, first + 1) + 1) * span, span


def distribution(values: Floats, least: float) -> tuple[Floats, Floats]:
    """Return the distribution function at distinct values, no more of them than are seen.

    Values below ``least`` count as that: axes of distributions are logarithmic.
    """
    distinct, counts = np.unique(np.maximum(values, least), return_counts=True)
    share = np.cumsum(counts) / values.size
    if distinct.size <= CDF_POINTS:
        return distinct, share
    at = np.searchsorted(share, np.linspace(0, 1, CDF_POINTS)).clip(0, share.size - 1)
    kept = np.unique(np.append(at, share.size - 1))
    return distinct[kept], share[kept]


@dataclass(frozen=True, slots=True)
class Clock:
    """How times stand on the axis: dates if the log has an epoch, else time passed.

    Attributes
    ----------
    origin
        The first submission, in seconds after the workload's epoch: time passed counts from it.
    epoch
        Unix time of second 0, if known.
    unit, seconds
        Unit of time passed.
    zone, zone_name
        The machine's own time zone, in which dates are written.
    """

    origin: float
    epoch: float | None
    unit: str
    seconds: float
    zone: tzinfo = UTC
    zone_name: str = "UTC"

    @classmethod
    def of(cls, first: float, length: float, meta: Meta) -> Clock:
        """Count from the first submission; choose the unit for a stretch of some length."""
        zone, name, _ = local_zone(meta)
        if any(local_moment(meta, first + one) is None for one in (-2 * DAY, length + 2 * DAY)):
            zone, name = UTC, "UTC"  # no calendar has these times
        for limit, unit, seconds in (
            (300, "seconds", 1.0),
            (3 * 3600, "minutes", 60.0),
            (4 * 86400, "hours", 3600.0),
        ):
            if length < limit:
                return cls(first, meta.epoch, unit, seconds, zone, name)
        return cls(first, meta.epoch, "days", 86400.0, zone, name)

    def place(self, times: npt.ArrayLike) -> Any:  # noqa: ANN401
        """Turn seconds into places on the axis."""
        at = np.asarray(times, dtype=np.float64)
        if self.epoch is None:
            return (at - self.origin) / self.seconds
        moments = at + self.epoch
        if self.zone is not UTC:
            moments = moments + utc_offsets(np.floor(moments).astype(np.int64), self.zone)
        return (moments * 1000).round().astype("datetime64[ms]")

    def length(self, seconds: npt.ArrayLike) -> Floats:
        """Turn lengths of time into lengths on the axis (milliseconds among dates)."""
        unit = self.seconds if self.epoch is None else 0.001
        return np.asarray(seconds, dtype=np.float64) / unit

    def axis(self) -> dict[str, Any]:
        """Return the axis's title and kind."""
        if self.epoch is None:
            return {"title": {"text": f"time since the first submission ({self.unit})"}}
        return {"title": {"text": f"time ({self.zone_name})"}, "type": "date"}


def span_name(span: float) -> str:
    """Name a usual length of time: ``hour``, ``day``, ``6 h``."""
    names = {60.0: "minute", 3600.0: "hour", 86400.0: "day", 7 * 86400.0: "week"}
    return names.get(span, humanise_seconds(span))

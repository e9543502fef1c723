"""The machine's own clock: its time zone, as far as the log tells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np

from onega.core.types import Floats, Ints
from onega.core.units import SECONDS
from onega.core.workload.meta import Meta

MONDAY = 978307200.0
"""Unix time of Monday, 1 January 2001, 00:00 UTC: submit = 0 of sampled workloads."""


CALENDAR = (-62_135_000_000, 253_402_000_000)
"""Unix times, in seconds, within the years that Python's calendar has."""


@cache
def time_zones() -> frozenset[str]:
    """Return the names in the time zone database; cached, as it reads hundreds of files."""
    return frozenset(available_timezones())


def local_zone(meta: Meta) -> tuple[tzinfo, str, str]:
    """Return the machine's own time zone, its name, and where it is known from.

    The zone's name if the log has one, else its offset from Greenwich, else UTC.
    """
    if meta.timezone is not None:
        try:
            return ZoneInfo(meta.timezone), meta.timezone, "the log's time zone"
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    unknown = "" if meta.timezone is None else f" (its zone {meta.timezone!r} is unknown)"
    if meta.utc_offset is not None and abs(meta.utc_offset) < 86400:
        zone = timezone(timedelta(seconds=meta.utc_offset))
        return zone, str(zone), f"the log's offset from UTC{unknown}, without summer time"
    return UTC, "UTC", f"nothing: the log has no time zone{unknown}"


def local_moment(meta: Meta, seconds: float) -> datetime | None:
    """Return the moment ``seconds`` after the epoch, in the machine's own time.

    None for a log without an epoch, and for times that no calendar has.
    """
    if meta.epoch is None:
        return None
    try:
        return datetime.fromtimestamp(meta.epoch + seconds, tz=local_zone(meta)[0])
    except (OverflowError, ValueError, OSError):
        return None


def utc_offsets(seconds: Ints, zone: tzinfo) -> Ints:
    """Seconds east of Greenwich at each moment.

    Most days have one offset, looked up once. On the few days on which it changes, it is looked up
    for every quarter of an hour: zones change at whole quarters only. Beyond the calendar (years 1
    to 9999) the offset of its ends holds.
    """
    if isinstance(zone, timezone):
        return np.full(seconds.size, int(zone.utcoffset(None).total_seconds()))
    seconds = np.clip(seconds, *CALENDAR)
    days, place = np.unique(seconds // 86400, return_inverse=True)
    begin = _looked_up(days * 86400, zone)
    changing = (begin != _looked_up((days + 1) * 86400, zone))[place]
    offsets = begin[place]
    if changing.any():
        quarters, place = np.unique(seconds[changing] // 900, return_inverse=True)
        offsets[changing] = _looked_up(quarters * 900, zone)[place]
    return offsets


def _looked_up(seconds: Ints, zone: tzinfo) -> Ints:
    found = (datetime.fromtimestamp(one, tz=zone).utcoffset() for one in seconds.tolist())
    return np.array([0 if one is None else int(one.total_seconds()) for one in found])


def week_clock(submit: Floats, meta: Meta) -> Floats:
    """Submissions on the machine's own clock: seconds after the Monday before submit = 0.

    Summer time is followed where the zone is known; in the hour that autumn repeats, the clock
    stands still instead of going back. A log that doesn't say when it begins is taken to begin on
    a Monday at midnight.
    """
    times = np.asarray(submit, dtype=np.float64)
    if meta.epoch is None or times.size == 0:
        return times
    moments = times + meta.epoch
    offset = utc_offsets(np.floor(moments).astype(np.int64), local_zone(meta)[0])
    origin = np.floor((meta.epoch + offset[0] - MONDAY) / SECONDS["w"]) * SECONDS["w"] + MONDAY
    local = moments + offset - origin
    ordered: Floats = np.maximum.accumulate(local) if np.all(np.diff(times) >= 0) else local
    return ordered


def week_origin(meta: Meta) -> float:
    """Where submit = 0 lies in the week: seconds after a Monday's midnight, local time."""
    return float(week_clock(np.zeros(1), meta)[0])

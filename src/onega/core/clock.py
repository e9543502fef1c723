"""The machine's own clock: its time zone, as far as the log tells."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from onega.core.meta import Meta


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

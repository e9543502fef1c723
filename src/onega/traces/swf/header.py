"""SWF's header comments: what they say of the machine and the clock."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from onega.core.workload.clock import time_zones
from onega.traces.notes import Notes

_ENTRY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*)\s*:\s*(.*?)\s*$")
_NAMED: Final = re.compile(r"([0-9]{1,9})\s+(.*\S)")
_ID: Final = re.compile(r"-?[0-9]{1,19}")

LABELLED: Final = {
    "user": "User",
    "group": "Group",
    "app": "Application",
    "queue": "Queue",
    "partition": "Partition",
}
"""Columns whose numbers have names, and the header's key. Queue and Partition are the format's
own; the others are ours, in the same form."""

FINER_STATUS: Final = {"OnegaTimeout": "timeout", "OnegaNodeFail": "node_fail"}
"""Our keys that list the jobs whose status SWF can't tell from "cancelled" and "failed"."""

_COLUMN_OF: Final = {key.lower(): column for column, key in LABELLED.items()}


@dataclass(slots=True)
class SwfHeader:
    """What was found in the header; ``facts`` are fields of `Meta`."""

    lines: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, dict[int, str]] = field(default_factory=dict)
    finer_status: dict[str, set[int]] = field(default_factory=dict)


def split_entry(line: str) -> tuple[str, str] | None:
    """Split ``Key: value``; None for a line that isn't of that form."""
    match = _ENTRY.match(line)
    return (match[1], match[2]) if match else None


def parse_header(comments: Iterable[bytes], notes: Notes) -> SwfHeader:
    """Read the comment lines (without their ``;``) of a log.

    ``UnixStartTime`` is the epoch, ``TimeZoneString`` the zone, ``TimeZone`` the offset in
    seconds, ``MaxProcs`` and ``MaxNodes`` the machine, ``Queue: 1 name`` a name. Values that are
    absent or negative mean unknown.
    """
    header = SwfHeader()
    for comment in comments:
        line = notes.text(comment).rstrip()
        entry = split_entry(line)
        if entry and entry[0] in FINER_STATUS:
            ids = header.finer_status.setdefault(FINER_STATUS[entry[0]], set())
            ids.update(int(word) for word in entry[1].split() if _ID.fullmatch(word))
            continue
        header.lines.append(line)
        if entry:
            _take(header, entry[0].lower(), entry[1], notes)
    if "procs" not in header.facts and "nodes" in header.facts:
        nodes = header.facts["procs"] = header.facts["nodes"]
        why = f"the header gives no MaxProcs; MaxNodes ({nodes}) is taken for it"
        notes.add("machine_from_nodes", "noted", why, count=1)
    return header


def _take(header: SwfHeader, key: str, value: str, notes: Notes) -> None:
    if key in _COLUMN_OF:
        named = _NAMED.match(value)
        if named:
            header.labels.setdefault(_COLUMN_OF[key], {})[int(named[1])] = named[2]
    elif key == "unixstarttime":
        number = _number(value)
        if number is not None and 0 <= number < 1e12:
            header.facts["epoch"] = number
    elif key == "timezone":
        number = _number(value)
        known = number is not None and abs(number) <= 86400
        header.facts["utc_offset"] = number if known else None
    elif key == "timezonestring":
        if value in time_zones():
            header.facts["timezone"] = value
        elif value:
            why = f"the header's time zone {value[:60]!r} is not in the time zone database"
            notes.add("unknown_timezone", "noted", why, count=1)
    elif key in ("maxprocs", "maxnodes"):
        number = _number(value)
        if number is not None and 1 <= number < 2**31:
            header.facts[key.removeprefix("max")] = int(number)
        elif value and (number is None or number >= 1):
            what = {"maxprocs": "MaxProcs", "maxnodes": "MaxNodes"}[key]
            why = f"the header's {what}, {value[:40]!r}, is no number from 1 to {2**31 - 1}"
            notes.add(f"unknown_{key}", "noted", why, count=1)


def _number(text: str) -> float | None:
    """Read a header's number, with whatever is said behind it left aside (``128 (batch)``)."""
    words = text.split()
    try:
        value = float(words[0]) if words else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None

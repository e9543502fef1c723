"""Seconds, processors, bytes, watts, joules inside; words for people at the edge."""

from __future__ import annotations

import math
import re
from typing import Final

SECONDS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

KIB: Final = 1024.0

BYTES: Final = {
    "b": 1.0,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "kib": KIB,
    "mib": KIB**2,
    "gib": KIB**3,
    "tib": KIB**4,
}


def duration(text: str | float) -> float:
    """Read a duration: ``90``, ``"90s"``, ``"15m"``, ``"1h"``, ``"1h30m"``, ``"2d"`` → seconds."""
    if isinstance(text, int | float):
        return float(text)
    compact = text.replace(" ", "").lower()
    try:
        return float(compact)
    except ValueError:
        pass
    parts = re.findall(r"(\d+(?:\.\d+)?)(min|[smhdw])", compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"not a duration: {text!r}; accepted: 90, 90s, 15m, 1h, 1h30m, 2d, 1w")
    return sum(float(number) * SECONDS[unit] for number, unit in parts)


def size(text: str | float) -> float:
    """Read an amount of memory: ``4096``, ``"64GiB"``, ``"512 MB"`` → bytes."""
    if isinstance(text, int | float):
        return float(text)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or (found[2] or "b") not in BYTES:
        raise ValueError(f"not an amount of memory: {text!r}; accepted: 4096, 512MB, 64GiB, 1TiB")
    return float(found[1]) * BYTES[found[2] or "b"]


def humanise_seconds(seconds: float | None) -> str:
    """Write seconds for a person: ``42 s``, ``12.5 min``, ``3.2 h``, ``14 d``, ``2.9 years``."""
    if seconds is None or not math.isfinite(seconds):
        return "–" if seconds is None or math.isnan(seconds) else f"{seconds:g} s"
    size = abs(seconds)
    for limit, unit, name in (
        (120, 1.0, "s"),
        (7200, 60.0, "min"),
        (172800, 3600.0, "h"),
        (2 * 365.25 * 86400, 86400.0, "d"),
    ):
        if size < limit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / (365.25 * 86400):.3g} years"


def clock_words(seconds: float) -> str:
    """Write a length of time to the second, as people give it: ``5 min``, ``3 h 20 min``."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "min"), (left, "s"))
    return " ".join(f"{value:,} {unit}" for value, unit in parts if value) or "0 s"

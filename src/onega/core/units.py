"""Seconds, processors, bytes, watts, joules inside; words for people at the edge."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable
from typing import Final

SECONDS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

JOULES_PER_KWH: Final = 3.6e6

LONGEST: Final = 1e12
"""Seconds (31 700 years) beyond which a time is a mistake; Unix times in milliseconds are."""

LARGEST: Final = 2.0**60
"""Amounts (an exbibyte of memory, 10¹⁸ W) beyond which a number is a mistake; whole ones below are
exact in 64 bits, and what is computed from them stays finite."""

SMALLEST: Final = 1e-9
"""Amounts that aren't 0 are at least that."""

KIB: Final = 1024.0

BYTES: Final = {
    "b": 1.0,
    "kb": KIB,
    "mb": KIB**2,
    "gb": KIB**3,
    "tb": KIB**4,
    "pb": KIB**5,
}
"""Units of memory: powers of 1024 everywhere, as job managers mean them."""


def duration(text: str | float) -> float:
    """Read a duration: ``90``, ``"90s"``, ``"15m"``, ``"1h"``, ``"1h30m"``, ``"2d"`` → seconds."""
    if isinstance(text, int | float):
        return float(text)
    compact = text.replace(" ", "").lower()
    if compact.isascii():  # float() would take digits of any script
        with contextlib.suppress(ValueError):
            return float(compact)
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(min|[smhdw])", compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"not a duration: {text!r}; accepted: 90, 90s, 15m, 1h, 1h30m, 2d, 1w")
    return sum(float(number) * SECONDS[unit] for number, unit in parts)


def size(text: str | float) -> float:
    """Read an amount of memory → bytes: ``4096``; ``"512M"``, ``"512 MB"`` or ``"512MiB"``."""
    if isinstance(text, int | float):
        return float(text)
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgtp]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise ValueError(
            f"not an amount of memory: {text!r}; accepted: bytes, or a number with K, M, G, T or P "
            "(powers of 1024), e.g. 48000M or 64GiB"
        )
    return float(found[1]) * BYTES[f"{found[2]}b"]


def quantity(value: float | None, digits: int = 3) -> str:
    """Write a number for a person: ``42,080``, ``3.14``, ``0.0012``; never a power of ten.

    ``digits`` significant ones after rounding; whole numbers keep all of theirs.
    """
    if value is None or math.isnan(value):
        return "–"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals <= 0:
        return f"{value:,.0f}"
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def percent(share: float | None) -> str:
    """Write a share as per cent with two digits: ``12 %``, ``0.34 %``."""
    if share is None or math.isnan(share):
        return "–"
    value = 100 * share
    if abs(value) < 5e-13:
        return "0 %"
    return f"{value:,.0f} %" if abs(value) >= 9.95 else f"{quantity(value, 2)} %"


def overfull(share: float | None) -> str:
    """Return a remark for a busy share above 100 %, nothing for a possible one."""
    return " (more than there is)" if share is not None and round(share, 3) > 1 else ""


def _in_steps(value: float, steps: Iterable[tuple[float, float, str]], digits: int = 3) -> str:
    """Write a value in the unit of the first step (limit, unit, its name) that it is below."""
    for limit, unit, name in steps:
        if abs(value) < limit:
            return f"{quantity(value / unit, digits)} {name}"
    return "–"


def humanise_energy(joules: float | None) -> str:
    """Write an energy for a person: ``0.5 kWh``, ``42,080 kWh``, ``787.5 MWh``."""
    if joules is None:
        return "–"
    steps = ((1e5, 1.0, "kWh"), (1e8, 1e3, "MWh"), (math.inf, 1e6, "GWh"))
    return _in_steps(joules / JOULES_PER_KWH, steps, digits=4)


def humanise_power(watts: float | None) -> str:
    """Write a power for a person: ``850 W``, ``95.2 kW``, ``17.7 MW``."""
    if watts is None:
        return "–"
    steps = ((2e3, 1.0, "W"), (1e7, 1e3, "kW"), (math.inf, 1e6, "MW"))
    return _in_steps(watts, steps, digits=4)


def count_of(number: float, noun: str) -> str:
    """Write how many there are of something: ``1 job``, ``16,400 servers``."""
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def humanise_bytes(amount: float) -> str:
    """Write an amount of memory for a person: ``512 B``, ``200 GiB``, ``1.5 TiB``."""
    for limit, unit, name in (
        (KIB, 1.0, "B"),
        (KIB**2, KIB, "KiB"),
        (KIB**3, KIB**2, "MiB"),
        (KIB**4, KIB**3, "GiB"),
    ):
        if amount < limit:
            return f"{amount / unit:.4g} {name}"
    return f"{amount / KIB**4:,.4g} TiB"


_YEAR: Final = 365.25 * 86400

_TIMES: Final = (
    (120, 1.0, "s"),
    (7200, 60.0, "min"),
    (172800, 3600.0, "h"),
    (2 * _YEAR, 86400.0, "d"),
    (math.inf, _YEAR, "years"),
)


def humanise_seconds(seconds: float | None) -> str:
    """Write seconds for a person: ``42 s``, ``12.5 min``, ``3.2 h``, ``14 d``, ``2.9 years``."""
    if seconds is None or not math.isfinite(seconds):
        return "–" if seconds is None or math.isnan(seconds) else f"{seconds:g} s"
    return _in_steps(seconds, _TIMES)


def humanise_together(*seconds: float) -> tuple[str, ...]:
    """Write times that stand side by side in one unit, that of the longest.

    Examples
    --------
    >>> humanise_together(7190, 7290)
    ('2 h', '2.03 h')
    """
    finite = [abs(one) for one in seconds if math.isfinite(one)]
    steps = [step for step in _TIMES if max(finite, default=0.0) < step[0]]
    alone = [(math.inf, *steps[0][1:])]
    return tuple(
        _in_steps(one, alone) if math.isfinite(one) else humanise_seconds(one) for one in seconds
    )


def clock_words(seconds: float) -> str:
    """Write a length of time to the second, as people give it: ``5 min``, ``3 h 20 min``."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "min"), (left, "s"))
    return " ".join(f"{value:,} {unit}" for value, unit in parts if value) or "0 s"

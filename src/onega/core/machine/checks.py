"""Checks that the parts of a machine share: one value in, the same value in its unit out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from onega.core.errors import SimulationError, suggest
from onega.core.units import duration


def seconds(name: str, value: Any, *, above_zero: bool = False) -> float:  # noqa: ANN401
    """Return a duration, given in seconds or as ``"15m"``."""
    try:
        given = duration(value)
    except (ValueError, AttributeError):
        raise SimulationError(
            f"{name} is a duration such as 90, '15m' or '2d'; got {value!r}"
        ) from None
    return number(name, given, above_zero=above_zero)


def number(name: str, value: Any, *, above_zero: bool = False) -> float:  # noqa: ANN401
    """Return a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SimulationError(f"{name} is a number, got {value!r}")
    if not math.isfinite(value) or value < 0 or (above_zero and value == 0):
        raise SimulationError(f"{name} is {'above' if above_zero else 'at least'} 0, got {value:g}")
    return float(value)


def whole(name: str, value: Any, *, least: int = 1) -> int:  # noqa: ANN401
    """Return a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or int(value) != value:
        raise SimulationError(f"{name} is a whole number, got {value!r}")
    if value < least:
        raise SimulationError(f"{name} is at least {least}, got {value}")
    return int(value)


def word(name: str, value: Any, accepted: Iterable[str]) -> str:  # noqa: ANN401
    """Return one of the accepted words."""
    words = tuple(accepted)
    if value not in words:
        raise SimulationError(f"unknown {name} {value!r}; {suggest(str(value), words)}")
    return str(value)


def distinct(what: str, names: Iterable[Any]) -> None:
    """Refuse two of one name."""
    seen: set[str] = set()
    for name in names:
        if str(name) in seen:
            raise SimulationError(f"two {what} are called {name!r}")
        seen.add(str(name))

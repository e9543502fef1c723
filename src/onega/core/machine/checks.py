"""Checks that the parts of a machine share: one value in, the same value in its unit out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from numbers import Real
from typing import Any, Final

from onega.core.errors import MachineError, suggest
from onega.core.units import LARGEST, LONGEST, duration


def seconds(name: str, value: Any, *, above_zero: bool = False) -> float:  # noqa: ANN401
    """Return a duration, given in seconds or as ``"15m"``."""
    try:
        given = duration(value)
    except (ValueError, AttributeError):
        raise MachineError(
            f"{name} is a duration such as 90, '15m' or '2d'; got {value!r}"
        ) from None
    return number(name, given, above_zero=above_zero, most=LONGEST)


long_seconds: Final = partial(seconds, above_zero=True)
"""A duration that isn't nil."""


def number(
    name: str,
    value: Any,  # noqa: ANN401
    *,
    above_zero: bool = False,
    most: float = LARGEST,
) -> float:
    """Return a number that is neither negative nor beyond anything that there is."""
    given = as_float(name, value)
    if not given >= 0 or (above_zero and given == 0):
        raise MachineError(f"{name} is {'above' if above_zero else 'at least'} 0, got {given:g}")
    if given > most:
        raise MachineError(f"{name} is at most {most:g}, got {given:g}")
    return given


def as_float(name: str, value: Any) -> float:  # noqa: ANN401
    """Return a number as a float: an integer that is too large for one is infinite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise MachineError(f"{name} is a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def whole(name: str, value: Any) -> int:  # noqa: ANN401
    """Return a whole number from 1."""
    given = as_float(name, value)
    if given < 1:
        raise MachineError(f"{name} is at least 1, got {given:g}")
    if given > LARGEST:
        raise MachineError(f"{name} is at most {LARGEST:g}, got {given:g}")
    if not given.is_integer():
        raise MachineError(f"{name} is a whole number, got {value!r}")
    return int(value)


def convert(
    thing: object, called: str, *, optional: bool = False, **checks: Callable[[str, Any], Any]
) -> None:
    """Put fields of a frozen part into their units; an ``optional`` one that is None stays so."""
    for name, check in checks.items():
        given = getattr(thing, name)
        if given is not None or not optional:
            object.__setattr__(thing, name, check(f"{called}: {name}", given))


def word(name: str, value: Any, accepted: Iterable[str]) -> str:  # noqa: ANN401
    """Return one of the accepted words."""
    words = tuple(accepted)
    if value not in words:
        raise MachineError(f"unknown {name} {value!r}; {suggest(str(value), words)}")
    return str(value)


def distinct(what: str, names: Iterable[Any]) -> None:
    """Refuse two of one name."""
    seen: set[str] = set()
    for name in names:
        if str(name) in seen:
            raise MachineError(f"two {what} are called {name!r}")
        seen.add(str(name))

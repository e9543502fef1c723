"""TOML and JSON as people and programs write them: whatever is wrong becomes one error of ours.

Parsers of the standard library answer with half a dozen kinds of exceptions (a syntax error, bytes
that aren't text, an integer of thousands of digits, recursion without end); all are one here, in a
line. What parses can still be absurd: it isn't nested deeper, and has no larger integers, than
anything that Onega writes or reads.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from onega.core.errors import OnegaError, printable
from onega.core.files import StrPath

if TYPE_CHECKING:
    from pydantic import ValidationError

MOST_PARTS = 32
"""Names in a dotted key at most; the time to read one grows with the square of their number."""

_LONG_KEY = re.compile(r"""(?<![\w."'-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){32}""")

DEEPEST = 60
"""Tables and lists within each other."""

LARGEST = 2**128
"""Integers are below: a seed may be that large."""

ErrorOf = Callable[[str], OnegaError]


def read_toml(path: StrPath, error: ErrorOf) -> dict[str, Any]:
    """Read a TOML file; ``error`` makes the exception from a message that names the file."""
    return parse_toml(_text(path, "TOML", error), lambda message: error(f"{path}: {message}"))


def read_json(path: StrPath, error: ErrorOf) -> Any:  # noqa: ANN401
    """Read a JSON file; ``error`` makes the exception from a message that names the file."""
    return parse_json(_text(path, "JSON", error), lambda message: error(f"{path}: {message}"))


def parse_toml(text: str, error: ErrorOf) -> dict[str, Any]:
    """Parse TOML; ``error`` makes the exception from a message."""
    long_key = _LONG_KEY.search(text)
    if long_key:
        raise error(
            f"a key of more than {MOST_PARTS} parts, {long_key[0][:40]!r}…; a key has a few at most"
        )
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        raise error(f"not a TOML file: {_told(problem)}") from None
    _check_extent(found, error)
    return found


def parse_json(text: str | bytes, error: ErrorOf) -> Any:  # noqa: ANN401
    """Parse JSON, without the ``NaN`` and ``Infinity`` that Python alone knows.

    A name that stands in an object twice is refused: parsers differ in which one they take.
    """
    try:
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as problem:
        raise error(f"not a JSON file: {_told(problem)}") from None
    _check_extent(found, error)
    return found


def first_problem(error: ValidationError) -> str:
    """Say in a line what pydantic found first, and where."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(one) for one in first["loc"]) or "the whole"
    return printable(f"{place}: {first['msg']}")


def _text(path: StrPath, kind: str, error: ErrorOf) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not a {kind} file: {problem}") from None


def _told(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    return printable(str(problem).splitlines()[0] if str(problem) else "it can't be parsed")[:300]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"{again[:60]!r} stands there twice")
    return found


def _check_extent(found: object, error: ErrorOf) -> None:
    """Refuse what is nested too deeply or has integers beyond `LARGEST`."""
    level = [found]
    for _ in range(DEEPEST):
        below: list[object] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
            elif isinstance(one, list):
                below += one
            elif isinstance(one, int) and abs(one) >= LARGEST:
                raise error(f"an integer of about {one.bit_length() * 3 // 10} digits is too large")
        level = below
        if not level:
            return
    raise error(f"nested too deeply: at most {DEEPEST} tables and lists within each other")

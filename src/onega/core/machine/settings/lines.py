"""Where a key of a machine file stands: its line, for errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

Place = tuple[str | int, ...]
"""Where something stands: ``("nodes", 0, "memory")``, the key of the first table ``[[nodes]]``."""

_TABLE: Final = re.compile(r"\s*(\[\[?)\s*([^\[\]]{1,200}?)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(r"""\s*([\w.\-"']{1,200}(?:\s*\.\s*[\w\-"']{1,200})*)\s*=""")


def line_of(text: str, place: Sequence[str | int], message: str = "") -> int | None:
    """Return the line (from 1) of a key, or of the innermost table around it that has one.

    If ``place`` is that of a table, and a key in it is named in the ``message``, the key's.
    """
    known = dict(_places(text))
    for length in range(len(place), 0, -1):
        outer = tuple(place[:length])
        if outer not in known:
            continue
        inside = (key for key in known if len(key) == length + 1 and key[:length] == outer)
        named = (key for key in inside if re.search(rf"\b{re.escape(str(key[-1]))}\b", message))
        return known[next(named, outer)]
    return None


def _places(text: str) -> Iterator[tuple[Place, int]]:
    """Yield every table and key with its line."""
    table: Place = ()
    counts: dict[Place, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        head = _TABLE.fullmatch(line)
        if head:
            table = _inside(_parts(head[2]), counts)
            if head[1] == "[[":
                place = counts[table] = counts.get(table, -1) + 1
                yield table, number
                table = (*table, place)
            yield table, number
        elif key := _KEY.match(line):
            yield (*table, *_parts(key[1])), number


def _parts(key: str) -> Place:
    return tuple(part.strip().strip("\"'") for part in key.split("."))


def _inside(parts: Place, counts: dict[Place, int]) -> Place:
    """Return where a table stands: ``[[sleep.states]]`` inside the last ``[[sleep]]``, if many."""
    found: Place = ()
    for position, part in enumerate(parts):
        found = (*found, part)
        if position < len(parts) - 1 and found in counts:
            found = (*found, counts[found])
    return found

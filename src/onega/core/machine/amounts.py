"""Named amounts that can't change: licences by name, memory of a node, shares of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onega.core.machine.checks import number


class Amounts(Mapping[str, float]):
    """An immutable, hashable mapping of names to amounts of at least 0.

    Parameters
    ----------
    given
        Names and amounts; keys are turned into text.
    what
        How the whole is called in an error.
    """

    __slots__ = ("_pairs",)

    def __init__(self, given: Mapping[Any, float] | None = None, *, what: str = "amounts") -> None:
        pairs = {}
        for name, value in (given or {}).items():
            pairs[str(name)] = number(f"{what}: {name}", value)
        self._pairs = pairs

    def __getitem__(self, name: str) -> float:
        return self._pairs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(frozenset(self._pairs.items()))

    def __repr__(self) -> str:
        return f"Amounts({self._pairs!r})"

"""SWF's 18 fields: what each is called here, its unit, its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onega.core.units import LONGEST

_WHOLE_32: Final = 2**31 - 1
_WHOLE_64: Final = 2.0**63


@dataclass(frozen=True, slots=True)
class SwfField:
    """One field: the job table's column, whether it is a whole number, factor and range.

    ``value in the table = factor × value in the file``; ``most`` bounds the value in the file.
    """

    column: str
    whole: bool
    most: float
    factor: float = 1.0
    what: str = ""


def _time(column: str) -> SwfField:
    return SwfField(column, whole=False, most=LONGEST, what="seconds")


def _memory(column: str) -> SwfField:
    return SwfField(column, whole=False, most=1e15, factor=1024.0, what="KB")


def _index(column: str) -> SwfField:
    return SwfField(column, whole=True, most=_WHOLE_32)


SWF_FIELDS: Final = (
    SwfField("job", whole=True, most=_WHOLE_64),
    _time("submit"),
    _time("wait"),
    _time("runtime"),
    SwfField("procs", whole=True, most=10**12, what="processors"),
    _time("cpu_time"),
    _memory("memory"),
    SwfField("requested_procs", whole=True, most=10**12, what="processors"),
    _time("estimate"),
    _memory("requested_memory"),
    SwfField("status", whole=True, most=_WHOLE_32),
    _index("user"),
    _index("group"),
    _index("app"),
    _index("queue"),
    _index("partition"),
    SwfField("after", whole=True, most=_WHOLE_64),
    _time("think"),
)
"""In the file's order. Memory is per processor."""

FEWEST: Final = 5
"""Fields that a row must have: up to the number of processors."""

NUMBER_OF: Final = {field.column: number for number, field in enumerate(SWF_FIELDS, start=1)}


def label(number: int) -> str:
    """Name a field for a message: ``runtime (4)``."""
    return f"{SWF_FIELDS[number - 1].column} ({number})"

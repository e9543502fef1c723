"""Events that happen to a machine and its jobs, as a table that was checked.

``time, event, job, node, procs, until, watts``: seconds after the log's epoch, what happens, and to
which job or node. What an event doesn't take is empty. docs/machine.md has each event's rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from onega.core.errors import TableError, suggest
from onega.core.machine.nodes import numbers
from onega.core.units import LARGEST, LONGEST
from onega.core.workload.tables import TableLike, cast_column, frame_of

COLUMNS: Final[dict[str, type[pl.DataType]]] = {
    "time": pl.Float64,
    "event": pl.String,
    "job": pl.Int64,
    "node": pl.String,
    "procs": pl.Int64,
    "until": pl.Float64,
    "watts": pl.Float64,
}

TAKES: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    "cancel": (frozenset({"job"}),),
    "interrupt": (frozenset({"job"}),),
    "kill": (frozenset({"job"}),),
    "fail": (frozenset({"node"}),),
    "return": (frozenset({"node"}),),
    "drain": (frozenset({"node"}),),
    "down": (frozenset({"procs"}),),
    "up": (frozenset({"procs"}),),
    "reserve": (frozenset({"procs", "until"}), frozenset({"node", "until"})),
    "cap": (frozenset({"watts"}),),
}
"""Each event with the columns that it takes beside its time."""

OF_JOBS: Final = ("cancel", "interrupt", "kill")
OF_NODES: Final = ("fail", "return", "drain")


@dataclass(frozen=True, eq=False, slots=True)
class Events:
    """A table of events, checked row by row.

    Parameters
    ----------
    table
        A Polars frame, or a mapping of columns: ``time``, ``event`` and those that the events
        take. Rows may come in any order; at one instant they happen in the order of the table.
    name
        Where it comes from, for errors.
    """

    table: pl.DataFrame
    name: str = "events"

    def __init__(self, table: TableLike, *, name: str = "events") -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "table", self._conform(table))
        self._check_words()
        self._check_fields()
        self._check_numbers()

    @classmethod
    def of(cls, given: Events | TableLike) -> Events:
        """Take a table that was checked, or check one."""
        return given if isinstance(given, cls) else cls(given)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.table.height

    def __repr__(self) -> str:
        return f"<Events: {len(self)} of {self.name}>"

    @property
    def kinds(self) -> set[str]:
        """Which kinds of events there are."""
        return set(self.table["event"].to_list())

    def in_order(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows by time, then by place in the table: (number of the row from 1, row)."""
        rows = self.table.rows(named=True)
        for row in np.argsort(self.table["time"].to_numpy(), kind="stable").tolist():
            yield row + 1, rows[row]

    def refuse(self, row: int, why: str) -> TableError:
        """Make the error of one row."""
        return TableError(f"{self.name}, row {row}: {why}")

    def _conform(self, table: TableLike) -> pl.DataFrame:
        """Bring a table to the schema: all columns, in order, of the right type."""
        frame = frame_of(table, ("time", "event"), self.name)
        for name in frame.columns:
            if name not in COLUMNS:
                raise TableError(f"{self.name}: unknown column {name!r}; {suggest(name, COLUMNS)}")
        return pl.DataFrame(
            [
                cast_column(frame[name], kind, self.name)
                if name in frame.columns
                else pl.Series(name, [None] * frame.height, dtype=kind)
                for name, kind in COLUMNS.items()
            ]
        )

    def _check_words(self) -> None:
        for row, given in enumerate(self.table["event"].to_list(), start=1):
            if given not in TAKES:
                raise self.refuse(row, f"unknown event {given!r}; {suggest(str(given), TAKES)}")

    def _check_fields(self) -> None:
        """Refuse an event without what it takes, or with what it doesn't."""
        fields = list(COLUMNS)[2:]
        for row, values in enumerate(self.table.iter_rows(named=True), start=1):
            given = frozenset(name for name in fields if values[name] is not None)
            ways = TAKES[values["event"]]
            if given not in ways:
                need = " or ".join(" and ".join(sorted(way)) for way in ways)
                got = " and ".join(sorted(given)) or "nothing"
                raise self.refuse(row, f"{values['event']} takes {need}; given: {got}")
            if values["node"] is not None:
                numbers(values["node"], f"{self.name}, row {row}")

    def _check_numbers(self) -> None:
        time, until, procs, watts = (
            self.table[name].to_numpy() for name in ("time", "until", "procs", "watts")
        )
        for name, right, why in (
            ("time", time >= 0, "time is at least 0"),
            ("time", time <= LONGEST, f"time is at most {LONGEST:g} seconds"),
            ("until", until <= LONGEST, f"until is at most {LONGEST:g} seconds"),
            ("until", until > time, "until is after the time"),
            ("procs", procs >= 1, "procs is at least 1"),
            ("watts", watts > 0, "watts are above 0"),
            ("watts", watts <= LARGEST, f"watts are at most {LARGEST:g}"),
        ):
            rows = np.flatnonzero(~right)
            if name != "time" and len(rows) <= self.table[name].null_count():
                continue  # only of those that have none
            if name != "time" and self.table[name].null_count():
                rows = rows[self.table[name].is_not_null().to_numpy()[rows]]
            if len(rows):
                row = int(rows[0])
                others = f"; so have {len(rows) - 1} more rows" if len(rows) > 1 else ""
                raise self.refuse(row + 1, f"{why}, got {self.table[name][row]}{others}")

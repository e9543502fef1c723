"""The job table while it grows: one array per column, written once, never copied again.

A column that has had no value so far takes no memory. At the end the arrays become Polars
columns as they are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from onega.core.types import Array, Flags
from onega.core.workload.schema import JOB_TABLE, STATUS, STATUSES

_TYPES: Final[dict[Any, Any]] = {pl.Int64: np.int64, pl.Float64: np.float64, pl.Int32: np.int32}
_STATES: Final = pl.Series(STATUSES, dtype=STATUS)


class GrowingTable:
    """Columns of equal length with room to spare; ``room`` rows are expected."""

    def __init__(self, room: int) -> None:
        self.rows = 0
        self._room = max(room, 1)
        self._values: dict[str, Array] = {}
        self._missing: dict[str, Flags] = {}

    def extend(self, rows: int) -> None:
        """Begin a block of rows, whose columns must then be `put`, those known so far and more."""
        self._start, self.rows = self.rows, self.rows + rows
        if self.rows > self._room:
            self._room = max(self.rows, self._room + self._room // 2)
            for arrays in (self._values, self._missing):
                for array in arrays.values():
                    array.resize(self._room, refcheck=False)

    def put(self, name: str, values: Array, missing: Flags | None, *, factor: float = 1.0) -> None:
        """Fill the block's part of one column with ``factor × values``."""
        if name not in self._values:
            if missing is not None and missing.all():
                return  # no value yet
            self._values[name] = np.empty(self._room, dtype=_dtype(name))
            if self._start:
                self._mask(name)[: self._start] = True
        part = self._values[name][self._start : self.rows]
        if factor == 1.0:
            part[:] = values
        else:
            np.multiply(values, factor, out=part)
        if missing is not None:
            self._mask(name)[self._start : self.rows] = missing
        elif name in self._missing:
            self._missing[name][self._start : self.rows] = False

    def replace(self, name: str, row: int, value: int) -> None:
        """Write one exact value into the block, row counted from its start."""
        self._values[name][self._start + row] = value

    def finish(self) -> pl.DataFrame:
        """Return the table; the columns that were never put are null throughout."""
        return pl.DataFrame([self._column(name) for name in JOB_TABLE])

    def _mask(self, name: str) -> Flags:
        if name not in self._missing:
            self._missing[name] = np.zeros(self._room, dtype=np.bool_)
        return self._missing[name]

    def _column(self, name: str) -> pl.Series:
        if name not in self._values:
            return pl.Series(name, [None], dtype=JOB_TABLE[name]).new_from_index(0, self.rows)
        column = pl.Series(name, self._values.pop(name)[: self.rows])
        mask = self._missing.pop(name, None)
        if mask is not None and mask[: self.rows].any():
            column = column.set(pl.Series(mask[: self.rows]), None)
        if name == "status":
            return _STATES.gather(column).alias(name)
        return column


def _dtype(name: str) -> Any:  # noqa: ANN401
    return np.uint32 if name == "status" else _TYPES[JOB_TABLE[name]]

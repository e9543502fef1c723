"""Tables beside a log (events, demands, options of jobs): columns brought to their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import TableError
from onega.core.units import LARGEST, SMALLEST

TableLike = pl.DataFrame | Mapping[str, Any]


def frame_of(table: TableLike, needed: Iterable[str], name: str) -> pl.DataFrame:
    """Make a frame of what was given; refuse one without a column that has to be there."""
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(dict(table), strict=False)
    for column in needed:
        if column not in frame.columns:
            there = ", ".join(frame.columns) or "none"
            raise TableError(f"{name}: there is no column {column!r}; there are: {there}")
    return frame


def not_amounts(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Mark values that are no amounts: negative, or neither 0 nor in `SMALLEST` … `LARGEST`."""
    return (values < 0) | (values > LARGEST) | ((values > 0) & (values < SMALLEST))


AMOUNT: Final = f"0 or from {SMALLEST:g} to {LARGEST:g}"
"""What `not_amounts` lets through, in words."""


def cast_column(values: pl.Series, kind: type[pl.DataType], name: str) -> pl.Series:
    """Bring a column to its type; empty text is null, anything else that doesn't fit is refused."""
    given = values
    if given.dtype == pl.String:  # as a list: a query would wake all threads for some rows
        texts = [None if text is None else text.strip() or None for text in values.to_list()]
        given = pl.Series(values.name, texts, dtype=pl.String)
    if given.dtype == kind:
        return given
    cast = given.cast(kind, strict=False)
    if kind == pl.Int64 and given.dtype.is_float():
        cast = cast.set((cast.cast(pl.Float64) != given).fill_null(value=False), None)
    wrong = (cast.is_null() & given.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        needs: dict[type[pl.DataType], str] = {pl.Int64: "a whole number", pl.Float64: "a number"}
        need, got = needs.get(kind, "text"), repr(values[row])
        raise TableError(f"{name}, row {row + 1}: {values.name} must be {need}, got {got}")
    return cast

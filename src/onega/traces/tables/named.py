"""Tables beside a log, from files: events, demands of jobs, options of moldable jobs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from onega.core.files import StrPath
from onega.core.machine.events import Events
from onega.traces.files import DEFAULT_LIMITS, sample
from onega.traces.notes import LINE
from onega.traces.tables.delimited import header_of, read_delimited
from onega.traces.tables.parquet_size import PARQUET_MAGIC
from onega.traces.tables.reader import parquet_content


def read_table(path: StrPath) -> pl.DataFrame:
    """Read a table with named columns from CSV (all as text) or Parquet, compressed or not."""
    start = sample(path, DEFAULT_LIMITS)
    if start.startswith(PARQUET_MAGIC):
        return parquet_content(path, DEFAULT_LIMITS)[0]
    separator = header_of(start)[1]
    return read_delimited(path, separator, limits=DEFAULT_LIMITS).frame.drop(LINE)


def read_events(path: StrPath) -> Events:
    """Read a table of events (`onega.Events`) from CSV or Parquet, and check every row.

    Raises
    ------
    TableError
        A row is wrong: an unknown word, a time below 0, a node that can't be; the row is named.
    """
    return Events(read_table(path), name=Path(path).name)

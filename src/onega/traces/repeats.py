"""Rows that say a second time what an earlier row said, as in extracts of a log that overlap.

An id alone doesn't tell. Some logs give all tasks of an array one id, and tasks that start and end
in the same second leave equal rows: those are as many jobs. So a row repeats an earlier one if

1. the two are equal in every column, as are all rows of its id: an id of several different rows
   stands for several jobs, and all its rows are kept; and
2. in a log that has such an id, no two rows of its id stand next to each other: tasks of an array
   do, overlapping extracts don't bring the same row twice in a row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload

REPEATED: Final = (
    "rows that repeat an earlier row of the same job in every column, as extracts that overlap have"
)


def repeated_rows(table: pl.DataFrame) -> pl.Series:
    """Mark the rows of a job table that repeat an earlier one (see the module's text)."""
    first = table["job"].is_first_distinct()
    if first.all():
        return ~first
    new, beside = pl.struct(pl.all()).is_first_distinct(), pl.col("job") == pl.col("job").shift()
    rows = table.select("job", new=new, beside=beside.fill_null(value=False))
    found = rows.select(
        kinds=pl.col("new").sum().over("job"), row=pl.col("beside").any().over("job")
    )
    shared = bool((found["kinds"] > 1).any())
    return ~first & (found["kinds"] == 1) & ~(found["row"] & shared)


def without_repeats(log: Workload) -> Workload:
    """Leave out the rows that repeat an earlier one; the log's report says so first."""
    repeated = repeated_rows(log.table)
    if not repeated.any():
        return log
    finding = Finding.of("repeated_rows", "dropped", REPEATED, log.table.filter(repeated))
    meta = replace(log.meta, report=Report((finding,)) + log.meta.report)
    return Workload(log.table.filter(~repeated), meta)

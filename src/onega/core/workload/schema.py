"""The job table's columns, their units, and how they stand in SWF."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

STATUSES: Final = (
    "failed",
    "completed",
    "partial",
    "partial_completed",
    "partial_failed",
    "cancelled",
    "timeout",
    "node_fail",
)
"""Final states. The first six are SWF's 0 to 5; a time-out and a lost node are told apart here,
and are written to SWF as 5 and 0."""

STATUS: Final = pl.Enum(STATUSES)

SWF_STATUS_CODES: Final = {name: code for code, name in enumerate(STATUSES[:6])} | {
    "timeout": 5,
    "node_fail": 0,
}

JOB_TABLE: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "job": pl.Int64,
    "submit": pl.Float64,
    "runtime": pl.Float64,
    "procs": pl.Int64,
    "estimate": pl.Float64,
    "wait": pl.Float64,
    "user": pl.Int32,
    "group": pl.Int32,
    "app": pl.Int32,
    "queue": pl.Int32,
    "partition": pl.Int32,
    "status": STATUS,
    "memory": pl.Float64,
    "cpu_time": pl.Float64,
    "requested_procs": pl.Int64,
    "requested_memory": pl.Float64,
    "after": pl.Int64,
    "think": pl.Float64,
}
"""Column → type. Times in seconds (``submit`` after ``meta.epoch``), memory in bytes."""

REQUIRED: Final = ("submit", "runtime", "procs")
"""Columns that a table must have; ``job`` is numbered from 1 if absent, the rest is null."""

NAMED: Final = ("user", "group", "app", "queue", "partition")
"""Columns of numbers behind which there may be names, in ``meta.labels``."""

DEMAND: Final = "demand_"
"""How the names of further columns begin: what a job needs beside processors and memory, by the
name of the resource (``demand_gpus``), as float64, for the whole job. ``demand_nodes`` is the
number of nodes that a job had."""

USABLE: Final = (pl.col("runtime") > 0) & (pl.col("procs") > 0)
"""Jobs with a positive run time and width."""

NUMBERED: Final = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("job")
"""Ids from 1 in the order of the rows."""


def renumbered(table: pl.DataFrame, *emptied: str) -> pl.DataFrame:
    """Return the jobs numbered from 1, without ``after`` (old ids) and the ``emptied`` columns."""
    empty = [pl.lit(None, dtype=JOB_TABLE[name]).alias(name) for name in ("after", *emptied)]
    return table.with_columns(NUMBERED, *empty)


def demand_names(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the resources that a table has columns of demands for, in their order."""
    return tuple(name.removeprefix(DEMAND) for name in columns if is_demand(name))


def is_demand(column: str) -> bool:
    """Whether a column holds what jobs need of a resource."""
    return column.startswith(DEMAND) and len(column) > len(DEMAND)

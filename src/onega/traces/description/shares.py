"""What dominates a log: jobs and processor hours by user, account, queue, state, month."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import polars as pl

from onega.core.errors import TraceError, suggest
from onega.core.workload.clock import local_zone
from onega.core.workload.meta import UNKNOWN
from onega.core.workload.schema import NAMED, USABLE
from onega.core.workload.workload import Workload
from onega.traces.description.cycles import local_months
from onega.traces.description.sections import Jobs, Lacking, Summary

HOUR: Final = 3600.0
SHOWN: Final = 10
"""Rows of each table that a summary shows; the rest is in `Description.table`."""

Order = Literal["hours", "jobs"]

COLUMNS: Final = {
    "user": "user",
    "account": "group",
    "queue": "queue",
    "partition": "partition",
    "state": "status",
    "month": "month",
}
"""What a log can be broken down by, and the column that tells."""

WORDS: Final = {
    "user": "users",
    "account": "accounts or groups",
    "queue": "queues or qualities of service",
    "partition": "partitions",
    "state": "final states",
    "month": "months",
}
"""What the rows of a table are."""

_ALSO: Final = {"group": "account", "qos": "queue", "status": "state"}


class Share(NamedTuple):
    """Jobs and processor hours of one user, account, queue, ….

    ``hours`` are processor hours: Σ run time × width / 3600 over jobs with both. ``cumulative`` is
    the share of the rows so far in what the table is ordered by (months: in the hours).
    """

    name: str
    jobs: int
    job_share: float
    hours: float
    hour_share: float | None
    cumulative: float | None


Rows = tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """Jobs and processor hours by user, account, …, the largest first; months in order.

    Attributes
    ----------
    by_user, by_account, by_queue, by_partition, by_state, by_month
        One row for each user, account (or group), queue (or quality of service), partition, final
        state and month of submission, under the log's own names; empty if the log doesn't tell.
    """

    by_user: Rows = ()
    by_account: Rows = ()
    by_queue: Rows = ()
    by_partition: Rows = ()
    by_state: Rows = ()
    by_month: Rows = ()

    def tables(self) -> dict[str, Rows]:
        """Return the tables that the log gives, by what they break it down by."""
        found = {by: getattr(self, f"by_{by}") for by in COLUMNS}
        return {by: rows for by, rows in found.items() if rows}

    def summary(self) -> Summary:
        """Keys ``by_user``, ``by_account`` and so on: the first rows of each table."""
        return {
            f"by_{by}": [row._asdict() for row in (rows if by == "month" else rows[:SHOWN])]
            for by, rows in self.tables().items()
        }


def shares(jobs: Jobs) -> Shares:
    """Break a log down by everything that it tells of its jobs."""
    found: dict[str, Rows] = {}
    for by in COLUMNS:
        with suppress(Lacking):
            found[f"by_{by}"] = _rows(jobs.workload, by, "hours")
    if not found:
        raise Lacking("the log tells nothing of its jobs that they could be counted by")
    return Shares(**found)


def breakdown(workload: Workload, by: str, *, order: Order = "hours") -> pl.DataFrame:
    """Count jobs and processor hours by user, account, queue, partition, state or month.

    Parameters
    ----------
    workload
        The log.
    by
        One of `COLUMNS`; ``group``, ``qos`` and ``status`` are understood too.
    order
        What comes first: the most processor ``"hours"`` or the most ``"jobs"``. Months stand in
        order.

    Returns
    -------
    polars.DataFrame
        The columns of `Share`.
    """
    known = _ALSO.get(by, by)
    if known not in COLUMNS:
        raise TraceError(f"can't count by {by!r}; {suggest(by, COLUMNS)}")
    if order not in ("hours", "jobs"):
        raise TraceError(f"can't order by {order!r}; accepted: hours, jobs")
    try:
        rows = _rows(workload, known, order)
    except Lacking as reason:
        raise TraceError(f"can't count by {by}: {reason}", path=workload.meta.source) from None
    return pl.DataFrame(rows, schema=list(Share._fields), orient="row", infer_schema_length=None)


def _rows(workload: Workload, by: str, order: Order) -> Rows:
    key = _key(workload, by)
    area = pl.when(USABLE).then(pl.col("procs") * pl.col("runtime")).sum()
    table = (
        workload.table.select("procs", "runtime")
        .with_columns(key.alias("key"))
        .group_by("key")
        .agg(pl.len().alias("jobs"), (area / HOUR).alias("hours"))
    )
    if by == "month":
        table = table.sort("key", nulls_last=True)
    else:
        table = table.sort(order, "jobs", "key", descending=[True, True, False], nulls_last=True)
    jobs, hours = int(table["jobs"].sum()), float(table["hours"].sum())
    so_far = table["jobs" if order == "jobs" and by != "month" else "hours"].cum_sum()
    whole = float(so_far[-1])
    name = _naming(workload, by)
    return tuple(
        Share(
            name=UNKNOWN if row["key"] is None else name(row["key"]),
            jobs=row["jobs"],
            job_share=row["jobs"] / jobs,
            hours=row["hours"],
            hour_share=row["hours"] / hours if hours > 0 else None,
            cumulative=min(done / whole, 1.0) if whole > 0 else None,
        )
        for row, done in zip(table.iter_rows(named=True), so_far.to_list(), strict=True)
    )


def _key(workload: Workload, by: str) -> pl.Series:
    """Return, for each job, the value it is counted under."""
    if by == "month":
        meta = workload.meta
        if meta.epoch is None:
            raise Lacking("the log doesn't say at what date it begins")
        moments = np.asarray(workload.column("submit"), np.float64) + meta.epoch
        return pl.Series(local_months(moments, local_zone(meta)[0]))
    column = COLUMNS[by]
    if not workload.has(column):
        raise Lacking(f"the log doesn't tell {WORDS[by]}")
    return workload.table[column]


def _naming(workload: Workload, by: str) -> Callable[[Any], str]:
    """Return the function that turns such a value into its name."""
    column = COLUMNS[by]
    if column in NAMED:
        return lambda number: workload.meta.name_of(column, number)
    return str

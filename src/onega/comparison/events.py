"""Event streams as seed 004 (II, VI) defines them: external events in, internal events out.

External events reach the job manager from outside: submissions, deletions from the queue,
interruptions of running jobs, jobs that end before their limit, changes in the number of
processors. Internal events are its own decisions: starts, and ends at the limit. A model gets the
external stream and answers with the internal one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from onega.core.errors import TraceError
from onega.core.meta import Meta
from onega.core.report import Report
from onega.core.schedule import Schedule
from onega.core.workload import Workload

Columns = dict[str, pl.DataType | type[pl.DataType]]

EXTERNAL: Final[Columns] = {
    "time": pl.Float64,
    "event": pl.Enum(("submit", "end", "interrupt", "cancel", "nodes")),
    "job": pl.Int64,
    "procs": pl.Int64,
    "estimate": pl.Float64,
    "runtime": pl.Float64,
}
"""Columns of the external log. ``submit``: a job with its width, requested time and (unknown to
the job manager) run time; ``end``: it ended by itself; ``interrupt``: a user or administrator
ended it; ``cancel``: deleted from the queue; ``nodes``: from now on ``procs`` processors are up."""

INTERNAL: Final[Columns] = {
    "time": pl.Float64,
    "event": pl.Enum(("start", "limit")),
    "job": pl.Int64,
}
"""Columns of the internal log. ``start``: a job was launched; ``limit``: ended at its limit."""

FILES: Final = ("external.csv", "internal.csv")


@dataclass(frozen=True, slots=True, eq=False)
class EventLog:
    """The two streams of one run, each in the order of time.

    Attributes
    ----------
    external, internal
        Tables with the columns `EXTERNAL` and `INTERNAL`.
    meta
        Of the workload they come from.
    report
        Jobs of the log that took no part in the schedule.
    """

    external: pl.DataFrame
    internal: pl.DataFrame
    meta: Meta = field(default_factory=Meta)
    report: Report = field(default_factory=Report)

    @classmethod
    def of(cls, run: Schedule | Workload, nodes: pl.DataFrame | None = None) -> EventLog:
        """Take a schedule, or a log with waits, apart into its events.

        Parameters
        ----------
        run
            Jobs of a log that were deleted from the queue give a ``submit`` and a ``cancel``.
        nodes
            Changes of the machine: columns ``time`` and ``procs``.
        """
        whole = run.workload if isinstance(run, Schedule) else run
        schedule = run if isinstance(run, Schedule) else Schedule.observed(run)
        external = [_submissions(schedule.workload), _departures(schedule, internal=False)]
        if isinstance(run, Workload):
            external += _deleted(run, schedule)
        if nodes is not None:
            external.append(_conform(nodes.with_columns(pl.lit("nodes").alias("event")), EXTERNAL))
        starts = pl.DataFrame(
            {
                "time": schedule.start,
                "event": ["start"] * len(schedule),
                "job": schedule.workload.column("job"),
            }
        )
        inside = [_conform(starts, INTERNAL), _departures(schedule, internal=True)]
        return cls(_join(external), _join(inside), whole.meta, schedule.report)

    def workload(self) -> Workload:
        """Return the input stream alone: what a model is given."""
        rows = self.external.filter(pl.col("event") == "submit")
        names = ("job", "procs", "estimate", "runtime")
        columns = [pl.col("time").alias("submit"), *names]
        return Workload(rows.select(columns), self.meta)

    def schedule(self) -> Schedule:
        """Put the two streams together again: what started and ended when.

        The end is the event that says so; a job without one runs for its run time.
        """
        starts = self.internal.filter(pl.col("event") == "start").select("job", start="time")
        outside = self.external.filter(pl.col("event").is_in(["end", "interrupt"]))
        inside = self.internal.filter(pl.col("event") == "limit")
        over = pl.concat([part.select("job", over="time") for part in (outside, inside)])
        jobs = (
            self.workload()
            .table.join(starts, on="job", how="left")
            .join(over, on="job", how="left")
        )
        ended = pl.coalesce(pl.col("over") - pl.col("start"), pl.col("runtime"))
        table = jobs.with_columns(wait=pl.col("start") - pl.col("submit"), runtime=ended).drop(
            "start", "over"
        )
        return Schedule.observed(Workload(table, self.meta))

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write both logs as CSV files into a folder."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        paths = place / FILES[0], place / FILES[1]
        for path, table in zip(paths, (self.external, self.internal), strict=True):
            table.write_csv(path)
        return paths

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> EventLog:
        """Read what `write` wrote."""
        tables = []
        for name, schema in zip(FILES, (EXTERNAL, INTERNAL), strict=True):
            path = Path(folder) / name
            if not path.is_file():
                raise TraceError(f"an event log is a folder with {' and '.join(FILES)}", path=path)
            try:
                tables.append(pl.read_csv(path, schema=schema))
            except pl.exceptions.PolarsError as error:
                raise TraceError(
                    f"is not an event log with the columns {', '.join(schema)}: "
                    f"{str(error).splitlines()[0]}",
                    path=path,
                ) from None
        return cls(tables[0], tables[1], Meta(source=str(folder), format="events"))


def is_event_log(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a folder with both logs."""
    return all((Path(path) / name).is_file() for name in FILES)


def _submissions(workload: Workload) -> pl.DataFrame:
    rows = workload.table.select(
        pl.col("submit").alias("time"),
        pl.lit("submit").alias("event"),
        *("job", "procs", "estimate", "runtime"),
    )
    return _conform(rows, EXTERNAL)


def _departures(schedule: Schedule, *, internal: bool) -> pl.DataFrame:
    """Return ends that came from inside (the limit) or from outside (all others)."""
    status = schedule.workload.table["status"].cast(pl.String).fill_null("")
    limited = schedule.limited | (status == "timeout").to_numpy()
    kind = np.where((status == "cancelled").to_numpy(), "interrupt", "end")
    chosen = limited if internal else ~limited
    rows = pl.DataFrame(
        {
            "time": schedule.end[chosen],
            "event": np.full(int(chosen.sum()), "limit") if internal else kind[chosen],
            "job": schedule.workload.column("job")[chosen],
        }
    )
    return _conform(rows, INTERNAL if internal else EXTERNAL)


def _deleted(log: Workload, schedule: Schedule) -> list[pl.DataFrame]:
    """Return submissions and deletions of the jobs that the log says were cancelled unstarted."""
    ran = schedule.workload.table["job"].implode()
    gone = log.table.filter((pl.col("status") == "cancelled") & ~pl.col("job").is_in(ran))
    if gone.height == 0:
        return []
    left = gone.filter(pl.col("wait").is_not_null()).select(
        (pl.col("submit") + pl.col("wait")).alias("time"),
        pl.lit("cancel").alias("event"),
        "job",
    )
    return [_submissions(Workload(gone, log.meta)), _conform(left, EXTERNAL)]


def _conform(rows: pl.DataFrame, schema: Columns) -> pl.DataFrame:
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
    )


def _join(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).sort("time", "job", "event", nulls_last=True, maintain_order=True)

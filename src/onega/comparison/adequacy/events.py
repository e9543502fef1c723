"""Event streams (Baranov et al. 2019, II, VI): external events in, internal events out.

External events reach the job manager from outside: its own start and stop, submissions, deletions
from the queue, interruptions of running jobs, jobs that end before their limit, changes of the
machine. Internal events are its own decisions: starts, and ends at the limit. A model gets the
external stream and answers with the internal one.

What happens to jobs and nodes has the names and columns of the table of events that `simulate` and
`virtual` take (`onega.Events`); an external log has ``submit`` and ``end`` beside them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from onega.core.errors import TraceError
from onega.core.files import atomic_writers
from onega.core.machine.events import COLUMNS, TAKES, Events
from onega.core.schedule.schedule import Schedule
from onega.core.workload.meta import Meta
from onega.core.workload.report import Report
from onega.core.workload.tables import TableLike
from onega.core.workload.workload import Workload

Columns = dict[str, pl.DataType | type[pl.DataType]]

EXTERNAL: Final[Columns] = {
    "time": pl.Float64,
    "event": pl.Enum(("begin", "submit", "end", *TAKES, "stop")),
    **{name: kind for name, kind in COLUMNS.items() if name not in ("time", "event")},
    "estimate": pl.Float64,
    "runtime": pl.Float64,
}
"""Columns of the external log: those of a table of events, and the requested time and (unknown to
the job manager) run time of a submission. ``begin`` and ``stop``: the job manager itself was
started and stopped; ``submit``: a job with its width; ``end``: it ended by
itself; ``cancel``: deleted from the queue; ``kill``: a user or administrator ended it;
``interrupt``, ``fail``, ``return``, ``drain``, ``down``, ``up``, ``reserve``, ``cap``: see
`onega.Events`."""

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
    def of(
        cls,
        run: Schedule | Workload,
        events: Events | TableLike | None = None,
        *,
        manager: tuple[float, float] | None = None,
    ) -> EventLog:
        """Take a schedule, or a log with waits, apart into its events.

        Parameters
        ----------
        run
            Jobs of a log that were deleted from the queue give a ``submit`` and a ``cancel``, those
            that were ended while they ran a ``kill`` instead of an ``end``.
        events
            What else happened to jobs and nodes, if it is known: the table that a simulation or a
            run on virtual nodes was given. Of what the run tells itself, its own instant stands.
        manager
            When the job manager itself was started and stopped, if that is known.
        """
        whole = run.workload if isinstance(run, Schedule) else run
        schedule = run if isinstance(run, Schedule) else Schedule.observed(run)
        external = [_submissions(schedule.workload), _departures(schedule, internal=False)]
        if isinstance(run, Workload):
            external += _deleted(run, schedule)
        if events is not None:
            external.append(_not_told(Events.of(events), external))
        if manager is not None:
            begin, stop = manager
            if not -np.inf < begin <= stop < np.inf:
                raise TraceError(f"manager is when it was started and when stopped, got {manager}")
            rows = pl.DataFrame({"time": manager, "event": ["begin", "stop"]})
            external.append(_conform(rows, EXTERNAL))
        began = np.isfinite(schedule.start)
        starts = pl.DataFrame(
            {
                "time": schedule.start[began],
                "event": ["start"] * int(began.sum()),
                "job": schedule.workload.column("job")[began],
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

    def events(self) -> Events:
        """Return what happened to jobs and nodes, as `simulate` and `virtual` take it."""
        chosen = self.external.filter(pl.col("event").is_in(list(TAKES)))
        return Events(
            chosen.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()),
            name=self.meta.source or "events",
        )

    def schedule(self) -> Schedule:
        """Put the two streams together again: what started and ended when.

        The end is the event that says so; a job without one runs for its run time.
        """
        starts = self.internal.filter(pl.col("event") == "start").select("job", start="time")
        jobs = (
            self.workload()
            .table.join(starts, on="job", how="left")
            .join(self._departed(), on="job", how="left")
        )
        ended = pl.coalesce(pl.col("over") - pl.col("start"), pl.col("runtime"))
        table = jobs.with_columns(wait=pl.col("start") - pl.col("submit"), runtime=ended).drop(
            "start", "over"
        )
        return Schedule.observed(Workload(table, self.meta))

    def _departed(self) -> pl.DataFrame:
        """Return when each job ended: by itself or at its limit, else killed, else interrupted."""
        parts = [self.internal.filter(pl.col("event") == "limit")]
        for word in ("end", "kill", "interrupt"):
            rows = self.external.filter(pl.col("event") == word)
            parts.append(rows.sort("time", descending=True))
        ends = pl.concat([part.select("job", over="time") for part in parts])
        return ends.unique("job", keep="first", maintain_order=True)

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write both logs as CSV files into a folder."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        paths = place / FILES[0], place / FILES[1]
        with atomic_writers(*paths) as (external, internal):
            self.external.write_csv(external)
            self.internal.write_csv(internal)
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


def _submissions(workload: Workload) -> pl.DataFrame:
    rows = workload.table.select(
        pl.col("submit").alias("time"),
        pl.lit("submit").alias("event"),
        *("job", "procs", "estimate", "runtime"),
    )
    return _conform(rows, EXTERNAL)


WORDS: Final = {"cancelled": "cancel", "killed": "kill", "lost": "interrupt"}
"""How a job left that didn't end by itself, by the final state of a detailed run."""

NEVER: Final = ("dropped", "unstarted")


def _final_states(schedule: Schedule) -> pl.Series:
    """Return each job's final state in the words of detailed runs."""
    if schedule.chronicle is not None:
        return schedule.chronicle.state.cast(pl.String)
    # A log says "cancelled" of jobs that ran, too.
    status = schedule.workload.table["status"].cast(pl.String).fill_null("completed")
    return status.replace({"cancelled": "killed"})


def _departures(schedule: Schedule, *, internal: bool) -> pl.DataFrame:
    """Return ends that came from inside (the limit) or from outside (all others)."""
    state = _final_states(schedule)
    limited = schedule.limited | (state == "timeout").to_numpy()
    chosen = (limited if internal else ~limited) & ~state.is_in(NEVER).to_numpy()
    words = state.replace_strict(WORDS, default="end").filter(pl.Series(chosen))
    rows = pl.DataFrame(
        {
            "time": schedule.end[chosen],
            "event": ["limit"] * len(words) if internal else words,
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


def _not_told(events: Events, told: list[pl.DataFrame]) -> pl.DataFrame:
    """Return a table's events without those of jobs that the run itself tells of.

    The run says when they took effect.
    """
    known = pl.concat(told).select(pl.col("event").cast(pl.String), "job")
    rows = events.table.sort("time", maintain_order=True)
    return _conform(
        rows.join(known, on=["event", "job"], how="anti", maintain_order="left"), EXTERNAL
    )


def _conform(rows: pl.DataFrame, schema: Columns) -> pl.DataFrame:
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
    )


def _join(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).sort("time", "job", "event", nulls_last=True, maintain_order=True)

"""Batsim's table of jobs (``…_jobs.csv``) of a schedule, as evalys reads it too."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl

from onega.core.schedule.packing import pack
from onega.core.schedule.schedule import Schedule

FINAL_STATES = {
    "completed_successfully": "completed",
    "completed_failed": "failed",
    "completed_walltime_reached": "timeout",
    "completed_killed": "cancelled",
    "rejected": "cancelled",
}
"""Batsim's words for how a job ended, in small letters, and ours."""

NONE = -1.0
"""What Batsim writes for a limit that isn't there, and for energy that isn't asked for."""


def batsim_jobs(schedule: Schedule) -> pl.DataFrame:
    """Return the table: a row for each job, with the columns of Batsim 4.

    ``allocated_resources`` are processors from 0 as they may have been (see
    `onega.core.schedule.packing`); they are empty where jobs were displaced or nodes are described.
    A job that never started is REJECTED, one that never ended COMPLETED_KILLED; their times are
    empty.
    """
    table, jobs = schedule.workload.table, schedule.jobs
    start, end = (pl.Series(values).fill_nan(None) for values in (schedule.start, schedule.end))
    submit, runs = table["submit"], end - start
    started, limited = start.is_not_null(), pl.Series(schedule.limited)
    state = (
        pl.when(~started)
        .then(pl.lit("REJECTED"))
        .when(end.is_null())
        .then(pl.lit("COMPLETED_KILLED"))
        .when(limited)
        .then(pl.lit("COMPLETED_WALLTIME_REACHED"))
        .otherwise(pl.lit("COMPLETED_SUCCESSFULLY"))
    )
    return pl.DataFrame(
        {
            "job_id": table["job"],
            "workload_name": pl.repeat("w0", len(schedule), eager=True),
            "profile": pl.repeat("delay", len(schedule), eager=True),
            "submission_time": submit,
            "requested_number_of_resources": table["procs"],
            "requested_time": table["estimate"].fill_null(NONE),
            "success": (started & end.is_not_null() & ~limited).cast(pl.Int8),
            "final_state": pl.select(state).to_series(),
            "starting_time": start,
            "execution_time": runs,
            "finish_time": end,
            "waiting_time": start - submit,
            "turnaround_time": end - submit,
            "stretch": ((end - submit) / runs).replace([np.inf, np.nan], None),
            "allocated_resources": _allocated(schedule),
            "consumed_energy": jobs["energy"].fill_nan(None).fill_null(NONE),
            "metadata": pl.repeat("", len(schedule), eager=True),
        }
    )


def _allocated(schedule: Schedule) -> list[str]:
    """Return the processors of each job as Batsim writes them: ``0-3 8``."""
    if schedule.pieces is not None or schedule.chronicle is not None:
        return [""] * len(schedule)
    order = np.argsort(schedule.start, kind="stable")
    procs = schedule.workload.column("procs")[order]
    found: dict[int, list[str]] = defaultdict(list)
    packed = pack(schedule.start[order], schedule.end[order], procs, schedule.cluster.procs)
    for job, first, count in packed:
        last = first + count - 1
        found[int(order[job])].append(str(first) if count == 1 else f"{first}-{last}")
    return [" ".join(found[row]) for row in range(len(schedule))]

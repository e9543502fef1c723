"""The same jobs on both sides of a comparison: what was observed beside what was simulated.

A log tells of jobs that no simulator can run (cancelled before they ran), and lacks the waits of
others; a machine may be too small for some. A mean over one set of jobs beside a mean over another
says nothing about schedulers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from onega.core.errors import ScheduleError
from onega.core.schedule.measures import JOB_MEASURES, job_means, mean_measures
from onega.core.workload.report import Finding, Report
from onega.core.workload.schema import NUMBERED, USABLE
from onega.core.workload.workload import Workload


def comparable_jobs(log: Workload, procs: int | None = None) -> tuple[Workload, Report]:
    """Keep the jobs that can be observed and simulated, and report the others.

    Those with a wait, a positive run time and a width that fits into ``procs`` (any, if None).
    Job numbers that aren't unique are given anew, so that both sides can be matched by them.
    """
    most = np.inf if procs is None else procs
    fits = (pl.col("procs") <= most).fill_null(value=False)
    ran = (pl.col("wait").is_not_null() & USABLE).fill_null(value=False)
    unrun, wide = log.table.filter(~ran), log.table.filter(ran & ~fits)
    findings = [
        Finding.of("never_ran", "dropped", "no wait, run time or width", unrun),
        Finding.of("too_wide", "dropped", f"wider than the machine of {procs} processors", wide),
    ]
    kept = log if unrun.height + wide.height == 0 else log.select(ran & fits)
    if len(kept) == 0:
        raise ScheduleError(
            "the log has no job with a wait, a run time and a width that fits; "
            "observed waits are what a simulation is compared with"
        )
    if kept.table["job"].is_duplicated().any():
        kept = kept.with_columns(NUMBERED, note="jobs numbered anew: ids were not unique")
    return kept, Report.of(findings)


def common_jobs(tables: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Keep, of tables of jobs of one log, the jobs that started in all of them.

    ``tables`` have the columns of `Schedule.jobs`. Where job numbers aren't unique, jobs can't be
    matched, and the tables come back as they are.
    """
    started = [table.filter(pl.col("wait").is_not_null()) for table in tables]
    if any(table["job"].is_duplicated().any() for table in started):
        return list(tables)
    first = started[0]["job"]
    if all(table["job"].equals(first) for table in started[1:]):
        return started
    for table in started[1:]:
        first = first.filter(first.is_in(table["job"].implode()))
    return [table.filter(pl.col("job").is_in(first.implode())) for table in started]


def means_of(jobs: pl.DataFrame) -> dict[str, Any]:
    """Means and quantiles over the jobs of a table that started: ``mean_wait``, ``p95_wait``, …."""
    started = jobs.filter(pl.col("wait").is_not_null()).select(JOB_MEASURES)
    table = np.array(started.to_numpy().T, order="C")
    return job_means(table, mean_measures(table))

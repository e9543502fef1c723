"""Measures over a window of time, or of what comes after the warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from onega.core.errors import SimulationError
from onega.core.measures import JOB_MEASURES, job_means
from onega.core.warmup import Warmup

if TYPE_CHECKING:
    from onega.core.schedule import Schedule


def window_summary(schedule: Schedule, since: float, until: float) -> dict[str, Any]:
    """Measures of [since, until): of jobs submitted in it, and of the machine during it.

    Job measures (waits, slowdowns, …) are over the jobs submitted in the window, whenever they
    ended. Measures of the machine (utilisation, energy, jobs in the system, …) are integrals over
    the window of what `Schedule.system` tells.
    """
    jobs = schedule.window(since, until)
    first, last = max(since, schedule.begin), min(until, schedule.last)
    if jobs.is_empty() or not first < last:
        raise SimulationError(
            f"no job was submitted in the window from {since:g} to {until:g} s; "
            f"the schedule goes from {schedule.begin:g} to {schedule.last:g} s"
        )
    table = schedule.system
    time = table["time"].to_numpy()
    length = np.diff(np.clip(np.append(time, schedule.last), first, last))
    span = last - first
    capacity = schedule.cluster.procs

    def mean(values: pl.Series) -> float:
        return float(values.to_numpy() @ length) / span

    wasted = (capacity - table["busy"]) * table["rate"] * (table["waiting"] > 0)
    power = None if schedule.cluster.power is None else mean(table["power"])
    policy = schedule.policy
    return {
        "since": first,
        "until": last,
        "jobs": jobs.height,
        "procs": capacity,
        "policy": str(policy) if policy else "observed",
        "knowledge": policy.knowledge if policy else None,
        **_job_means(jobs),
        "utilisation": mean(table["busy"]) / capacity,
        "energy": None if power is None else power * span,
        "mean_power": power,
        "wasted_capacity": mean(wasted) * span,
        "mean_jobs_in_system": mean(table["running"] + table["waiting"]),
        "mean_jobs_running": mean(table["running"]),
        "mean_jobs_waiting": mean(table["waiting"]),
        "mean_rate": mean(table["rate"]),
    }


def _job_means(jobs: pl.DataFrame) -> dict[str, float]:
    """Means and quantiles over the jobs that started."""
    from onega.kernels.measures import mean_measures

    started = jobs.filter(pl.col("wait").is_not_null()).select(JOB_MEASURES)
    table, means = np.array(started.to_numpy().T, order="C"), np.empty(len(JOB_MEASURES))
    mean_measures(table, means)
    return job_means(table, means)


def settled_summary(schedule: Schedule, warm_up: str | float) -> dict[str, Any]:
    """Measures from the end of the warm-up on, and how long that was by which rule."""
    rule = Warmup.parse(warm_up)
    cut = rule.removed(schedule)
    submit = np.sort(schedule.workload.column("submit"))
    since = float(submit[cut.removed])
    return {
        **window_summary(schedule, since, np.nextafter(schedule.last, np.inf)),
        "warm_up": str(rule),
        "warm_up_jobs": cut.removed,
        "settled": cut.settled,
    }

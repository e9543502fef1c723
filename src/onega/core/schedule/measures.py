"""Measures of a schedule: per job, per system, over time (Rumyantsev et al. 2018, II-B).

Everything is made from starts, ends and the history of the rate, so that the simulator's loop
pays for none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from onega.core.schedule.chronicle import STATES
from onega.core.schedule.energy import energy_totals, job_energies, nonworking
from onega.core.schedule.system import on_processors, presence, time_within, wasted_capacity
from onega.core.types import Floats

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

NEEDS_A_START = (
    "start", "wait", "response", "service", "slowdown", "bounded_slowdown", "displaced"
)  # fmt: skip
"""Measures that jobs without a start don't have."""

JOB_MEASURES = ("wait", "response", "service", "slowdown", "bounded_slowdown")
"""Rows of what `job_measures` returns."""

BOUND = 10.0
"""τ of the bounded slowdown, in seconds."""


def service_times(schedule: Schedule) -> Floats:
    """Seconds in service: end − start, or the sum over pieces for jobs that were displaced."""
    if schedule.pieces is None:
        return schedule.end - schedule.start
    row, start, end = schedule.service_pieces()
    return np.asarray(np.bincount(row, weights=end - start, minlength=len(schedule)), np.float64)


def job_measures(schedule: Schedule, *, started: bool = False) -> tuple[Floats, Floats]:
    """Return `JOB_MEASURES` of all jobs, or of those that started, a row each (NaN: none).

    And their means. The bounded slowdown is max(1, response / max(service, τ)) with τ = 10 s
    (Feitelson and Rudolph 1998).
    """
    submit = schedule.workload.column("submit")
    columns = [submit, schedule.start, schedule.end, service_times(schedule)]
    if started and schedule.chronicle is not None:
        columns = [column[np.isfinite(schedule.start)] for column in columns]
    table = measure_jobs(*columns)
    return table, mean_measures(table)


def measure_jobs(submit: Floats, start: Floats, end: Floats, service: Floats) -> Floats:
    """Return `JOB_MEASURES`, a row each; the slowdown of a job without service is NaN."""
    table = np.full((len(JOB_MEASURES), submit.size), np.nan)
    wait, response, served, slowdown, bounded = table
    np.subtract(start, submit, out=wait)
    np.subtract(end, submit, out=response)
    served[:] = service
    np.divide(response, service, out=slowdown, where=service > 0)
    np.maximum(response / np.maximum(service, BOUND), 1.0, out=bounded)
    return table


def mean_measures(table: Floats) -> Floats:
    """Return the mean of every row; of slowdowns, of those that are known. NaN: there are none."""
    rows, slowdown = list(table), JOB_MEASURES.index("slowdown")
    rows[slowdown] = rows[slowdown][~np.isnan(rows[slowdown])]
    return np.array([row.sum() / row.size if row.size else np.nan for row in rows])


def job_table(schedule: Schedule) -> pl.DataFrame:
    """One row per job."""
    found = dict(zip(JOB_MEASURES, job_measures(schedule)[0], strict=True))
    energy = job_energies(schedule)
    columns: dict[str, Any] = {
        "job": schedule.workload.table["job"],
        "submit": schedule.workload.column("submit"),
        "start": schedule.start,
        "end": schedule.end,
        **found,
        "energy": pl.Series("energy", energy, dtype=pl.Float64)
        if energy is not None
        else pl.Series([None], dtype=pl.Float64).new_from_index(0, len(schedule)),
        "procs": schedule.workload.table["procs"],
        "work": schedule.work,
        "displaced": found["response"] - found["wait"] - found["service"]
        if schedule.pieces
        else np.zeros(len(schedule)),
        "state": _states(schedule),
    }
    table = pl.DataFrame(columns)
    if schedule.chronicle is None:
        return table
    lost = pl.Series("lost_work", schedule.chronicle.lost_work)
    started = pl.lit(pl.Series(np.isfinite(schedule.start)))
    table = table.with_columns(
        pl.when(started).then(pl.col(*NEEDS_A_START)), lost, pl.col("end").fill_nan(None)
    )
    return table.with_columns(pl.col("start", "slowdown").fill_nan(None))


def _states(schedule: Schedule) -> pl.Series:
    if schedule.chronicle is not None:
        return schedule.chronicle.state.cast(pl.String).alias("state")
    if schedule.policy is None:
        return schedule.workload.table["status"].cast(pl.String).alias("state")
    # By Polars: a column of texts made from Python costs more than the simulation.
    if not schedule.limited.any():
        return pl.Series("state", ["completed"]).new_from_index(0, len(schedule))
    limited = pl.Series("state", schedule.limited)
    states = pl.when(limited).then(pl.lit("timeout")).otherwise(pl.lit("completed"))
    return pl.select(states.alias("state")).to_series()


def summary(schedule: Schedule) -> dict[str, Any]:
    """Means, quantiles and totals of the whole run, as ``--json`` prints them."""
    makespan = schedule.last - schedule.begin
    policy = schedule.policy
    return {
        "jobs": len(schedule),
        "procs": schedule.cluster.procs,
        "policy": str(policy) if policy else "observed",
        "knowledge": policy.knowledge if policy else None,
        **job_means(*job_measures(schedule, started=True)),
        "makespan": makespan,
        **machine_measures(schedule, schedule.begin, schedule.last),
        "rate_changes": int(schedule.rates.since.size - 1),
        "limited_jobs": int(np.count_nonzero(schedule.limited)),
        **_detailed_measures(schedule, makespan),
    }


def machine_measures(schedule: Schedule, first: float, last: float) -> dict[str, Any]:
    """Measures of the machine from ``first`` to ``last``: time averages and integrals."""
    taken = on_processors(schedule)
    lasted = time_within(taken.since, taken.until, first, last)
    busy, running = float((taken.procs * lasted).sum()), float(lasted.sum())
    present = float(time_within(*presence(schedule), first, last).sum())
    capacity = schedule.cluster.procs
    clock = float(schedule.rates.work(first, last))
    wasted = wasted_capacity(schedule, first, last)
    per_second = 1.0 / (last - first) if last > first else np.nan
    effective = _work_done(schedule, first, last) * per_second
    return {
        "utilisation": busy * per_second / capacity,
        **energy_totals(schedule, first, last),
        "wasted_capacity": wasted,
        "wasted_share": wasted / (capacity * clock) if clock > 0 else np.nan,
        "effective_load": effective,
        "potential_load": effective + wasted * per_second,
        "mean_jobs_in_system": present * per_second,
        "mean_jobs_running": running * per_second,
        "mean_jobs_waiting": (present - running) * per_second,
        "mean_rate": clock * per_second,
    }


def job_means(table: Floats, means: Floats) -> dict[str, float]:
    """Return means and quantiles of job measures, given as rows."""
    named = {f"mean_{name}": float(mean) for name, mean in zip(JOB_MEASURES, means, strict=True)}
    waits = table[JOB_MEASURES.index("wait")]
    levels = (0.5, 0.95, 1.0)
    median, p95, longest = np.quantile(waits, levels).tolist() if waits.size else (np.nan,) * 3
    return {
        "mean_wait": named.pop("mean_wait"),
        "median_wait": median,
        "p95_wait": p95,
        "max_wait": longest,
        **named,
    }


def _work_done(schedule: Schedule, first: float, last: float) -> float:
    """Σ processors × work done from ``first`` to ``last``, in processor-seconds at rate 1."""
    procs = schedule.workload.column("procs")
    if schedule.chronicle is None and first <= schedule.begin and last >= schedule.last:
        return float((procs * schedule.work).sum())
    if schedule.chronicle is None:
        row, begin, stop = schedule.service_pieces()
    else:
        attempts = schedule.chronicle.attempts
        row, begin, stop = attempts.row, attempts.begin, attempts.stop
    done = schedule.rates.work(np.clip(begin, first, last), np.clip(stop, first, last))
    return float((procs[row] * done).sum())


def _detailed_measures(schedule: Schedule, makespan: float) -> dict[str, Any]:
    """Return what only a detailed run knows: final states, lost work, time down or asleep."""
    chronicle = schedule.chronicle
    if chronicle is None:
        return {}
    counts = dict(chronicle.state.value_counts().iter_rows())
    procs = schedule.workload.column("procs")
    events = chronicle.events["event"]
    whole = schedule.cluster.procs * makespan
    shares = {
        f"{one.name}_share": float(np.sum(one.count * (one.until - one.since)) / whole)
        if whole > 0
        else np.nan
        for one in nonworking(schedule)
    }
    return {
        "started_jobs": int(np.isfinite(schedule.start).sum()),
        **{f"{name}_jobs": int(counts.get(name, 0)) for name in STATES.categories},
        "interruptions": int((events == "interrupted").sum()),
        "node_failures": int((events == "failed").sum()),
        "lost_work": float(np.sum(procs * chronicle.lost_work)),
        **shares,
    }


def breakdown(schedule: Schedule, key: str | pl.Expr) -> pl.DataFrame:
    """Jobs, area and mean measures by user, queue, width class, …."""
    extra = schedule.workload.table.drop("job", "submit", "wait", "procs")
    table = pl.concat([schedule.jobs, extra], how="horizontal")
    classes = {"width": "procs", "runtime": "work"}
    if isinstance(key, str) and key in classes:
        power = pl.col(classes[key]).cast(pl.Float64).log(2).floor().clip(lower_bound=0)
        group = pl.lit(2).pow(power.cast(pl.Int64)).alias(f"{key}_from")
    elif isinstance(key, str):
        if key not in table.columns:
            raise ValueError(f"can't group by {key!r}; accepted: {', '.join(table.columns)}")
        group = pl.col(key)
    else:
        group = key
    area = pl.col("procs") * pl.col("service")
    found = (
        table.group_by(group)
        .agg(
            pl.len().alias("jobs"),
            (area.sum() / float((table["procs"] * table["service"]).sum())).alias("share_of_area"),
            *(
                pl.col(name).mean().alias(f"mean_{name}")
                for name in ("wait", "response", "slowdown", "bounded_slowdown")
            ),
            pl.col("wait").median().alias("median_wait"),
            pl.col("wait").quantile(0.95, "linear").alias("p95_wait"),
            pl.col("energy").sum().alias("energy"),
        )
        .sort(pl.nth(0))
    )
    meta = schedule.workload.meta
    if isinstance(key, str) and meta.labels.get(key):
        names = [meta.name_of(key, number) for number in found[key]]
        found = found.insert_column(1, pl.Series("name", names, dtype=pl.String))
    return found

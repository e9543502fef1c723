"""Measures of a schedule: per job, per system, over time (DESIGN §4; seed 001, II-B).

Everything is made from starts, ends and the history of the rate, so that the simulator's loop
pays for none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from onega.core.schedule import Schedule

BOUND = 10.0
"""τ of the bounded slowdown, in seconds."""

Floats = npt.NDArray[np.float64]


def _service_pieces(schedule: Schedule) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Return (row, start, end) of every interval of service."""
    if schedule.pieces is not None:
        return schedule.pieces.row, schedule.pieces.start, schedule.pieces.end
    rows = np.arange(len(schedule), dtype=np.int64)
    return rows, schedule.start, schedule.end


def service_times(schedule: Schedule) -> Floats:
    """Seconds in service: end − start, or the sum over pieces for jobs that were displaced."""
    if schedule.pieces is None:
        return schedule.end - schedule.start
    row, start, end = _service_pieces(schedule)
    return np.asarray(np.bincount(row, weights=end - start, minlength=len(schedule)), np.float64)


def energies(schedule: Schedule) -> Floats | None:
    """Energy of each job: procs × (Ê(end) − Ê(start)), Ê(t) = ∫ e_busy(R) (seed 001, (9))."""
    if schedule.cluster.power is None:
        return None
    busy, _ = schedule.cluster.power.at(len(schedule.rates.rates))
    row, start, end = _service_pieces(schedule)
    rates = schedule.rates
    procs = schedule.workload.column("procs")[row]
    used = procs * (rates.integral(busy, end) - rates.integral(busy, start))
    if schedule.pieces is None:
        return np.asarray(used)
    return np.asarray(np.bincount(row, weights=used, minlength=len(schedule)), np.float64)


def bounded_slowdown(response: Floats, service: Floats, bound: float = BOUND) -> Floats:
    """max(1, response / max(service, τ)) with τ = 10 s (Feitelson and Rudolph 1998)."""
    return np.maximum(1.0, response / np.maximum(service, bound))


def job_table(schedule: Schedule) -> pl.DataFrame:
    """One row per job."""
    submit = schedule.workload.column("submit")
    wait = schedule.start - submit
    response = schedule.end - submit
    service = service_times(schedule)
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = np.where(service > 0, response / service, np.nan)
    energy = energies(schedule)
    columns: dict[str, Any] = {
        "job": schedule.workload.table["job"],
        "submit": submit,
        "start": schedule.start,
        "end": schedule.end,
        "wait": wait,
        "response": response,
        "service": service,
        "slowdown": slowdown,
        "bounded_slowdown": bounded_slowdown(response, service),
        "energy": pl.Series("energy", energy, dtype=pl.Float64)
        if energy is not None
        else pl.Series("energy", [None] * len(schedule), dtype=pl.Float64),
        "procs": schedule.workload.table["procs"],
        "work": schedule.work,
        "displaced": response - wait - service if schedule.pieces else np.zeros(len(schedule)),
        "state": _states(schedule),
    }
    return pl.DataFrame(columns)


def _states(schedule: Schedule) -> pl.Series:
    if schedule.policy is None:
        return schedule.workload.table["status"].cast(pl.String).alias("state")
    state = np.where(schedule.limited, "timeout", "completed")
    return pl.Series("state", state, dtype=pl.String)


def peak(start: Floats, end: Floats, procs: npt.NDArray[np.int64]) -> int:
    """Return the most processors that were ever busy at once."""
    times = np.concatenate([end, start])
    change = np.concatenate([-procs, procs])
    # Ends before starts at the same instant.
    order = np.lexsort((change > 0, times))
    return max(1, int(np.cumsum(change[order]).max(initial=1)))


def system_table(schedule: Schedule) -> pl.DataFrame:
    """One row per instant: the state right after it."""
    submit = schedule.workload.column("submit")
    row, start, end = _service_pieces(schedule)
    width = schedule.workload.column("procs")[row]
    first, last = float(submit.min()), float(schedule.end.max())
    switches = schedule.rates.since[(schedule.rates.since > first) & (schedule.rates.since < last)]
    time, at = np.unique(np.concatenate([submit, start, end, switches]), return_inverse=True)
    n, m, size = submit.size, row.size, time.size
    at_submit, at_start, at_end = at[:n], at[n : n + m], at[n + m : n + 2 * m]

    def count(places: npt.NDArray[np.int64], weights: Floats | None = None) -> Floats:
        return np.asarray(np.bincount(places, weights=weights, minlength=size), np.float64)

    busy = np.cumsum(count(at_start, width) - count(at_end, width))
    running = np.cumsum(count(at_start) - count(at_end))
    leaving = np.searchsorted(time, schedule.end)
    present = np.cumsum(count(at_submit) - count(leaving))
    level = schedule.rates.at(time)
    rate = np.array(schedule.rates.rates)[level]
    done = np.concatenate([[0.0], np.cumsum((rate * running)[:-1] * np.diff(time))])
    left = np.cumsum(count(at_submit, schedule.work)) - done
    workload = np.where(present > 0, np.maximum(left, 0.0), 0.0)
    waiting = present - running
    capacity = float(schedule.cluster.procs)
    return pl.DataFrame(
        {
            "time": time,
            "rate": rate,
            "busy": busy.round().astype(np.int64),
            "running": running.round().astype(np.int64),
            "waiting": waiting.round().astype(np.int64),
            "workload": workload,
            "power": _power(schedule, busy, level),
            "potential_load": rate * np.where(waiting > 0, capacity, busy),
            "effective_load": rate * busy,
        }
    )


def _power(schedule: Schedule, busy: Floats, level: npt.NDArray[np.int64]) -> pl.Series:
    """E = busy·e(R) + idle·e₀(R) (seed 001, (11))."""
    if schedule.cluster.power is None:
        return pl.Series("power", [None] * busy.size, dtype=pl.Float64)
    on, idle = schedule.cluster.power.at(len(schedule.rates.rates))
    drawn = busy * np.array(on)[level] + (schedule.cluster.procs - busy) * np.array(idle)[level]
    return pl.Series("power", drawn, dtype=pl.Float64)


def _queued_clock(schedule: Schedule) -> tuple[Floats, Floats]:
    """Return breakpoints of U(t) = ∫ R·1{somebody waits}: times and values.

    Somebody waits from a submission or a displacement until a start or a resumption.
    """
    submit = schedule.workload.column("submit")
    row, start, end = _service_pieces(schedule)
    up, down = np.sort(submit), np.sort(start)
    if schedule.pieces is not None:
        up = np.sort(np.concatenate([submit, end[end < schedule.end[row]]]))
    # The k-th wait is over when the k-th start comes: where all earlier ups are matched, the
    # queue is empty until the next up.
    if up.size < 2:
        begins, ends = up[:1], down[-1:]
    else:
        new = np.concatenate([[True], down[:-1] <= up[1:]])
        begins = up[new]
        ends = down[np.concatenate([new[1:], [True]])]
    times = np.column_stack([begins, ends]).ravel()
    clock = schedule.rates.integral(schedule.rates.rates, times)
    inside = np.zeros(times.size)
    inside[1::2] = clock[1::2] - clock[::2]
    return times, np.cumsum(inside)


def wasted_capacity(schedule: Schedule) -> float:
    """Σ (c − busy)·τ·R over the time in which somebody waits (seed 001, (10)).

    In processor-seconds at rate 1: what idle processors could have done while jobs waited.
    """
    times, values = _queued_clock(schedule)
    row, start, end = _service_pieces(schedule)
    procs = schedule.workload.column("procs")[row]
    # U is linear in V, not in t, where the rate changes while somebody waits: use both clocks.
    rates = schedule.rates
    clock = rates.integral(rates.rates, times)

    def queued(at: Floats) -> Floats:
        return np.interp(rates.integral(rates.rates, at), clock, values)

    busy = float(np.sum(procs * (queued(end) - queued(start))))
    return max(0.0, schedule.cluster.procs * float(values[-1]) - busy)


def summary(schedule: Schedule) -> dict[str, Any]:
    """Means, quantiles and totals, with the keys of DESIGN §6."""
    jobs = schedule.jobs
    submit = schedule.workload.column("submit")
    first, last = float(submit.min()), float(schedule.end.max())
    makespan = last - first
    wait, service = jobs["wait"].to_numpy(), jobs["service"].to_numpy()
    procs = schedule.workload.column("procs")
    capacity = schedule.cluster.procs
    rates = schedule.rates
    clock = float(rates.integral(rates.rates, last))
    wasted = wasted_capacity(schedule)
    median, p95 = np.quantile(wait, [0.5, 0.95])
    busy_time = float(np.sum(procs * service))
    per_second = 1.0 / makespan if makespan > 0 else np.nan
    effective = float(np.sum(procs * schedule.work)) * per_second
    policy = schedule.policy
    return {
        "jobs": len(schedule),
        "procs": capacity,
        "policy": str(policy) if policy else "observed",
        "knowledge": policy.knowledge if policy else None,
        "mean_wait": float(wait.mean()),
        "median_wait": float(median),
        "p95_wait": float(p95),
        "max_wait": float(wait.max()),
        "mean_response": float(jobs["response"].mean()),  # type: ignore[arg-type]
        "mean_service": float(service.mean()),
        "mean_slowdown": float(np.nanmean(jobs["slowdown"].to_numpy())),
        "mean_bounded_slowdown": float(jobs["bounded_slowdown"].mean()),  # type: ignore[arg-type]
        "utilisation": busy_time * per_second / capacity,
        "makespan": makespan,
        **_energy(schedule, jobs, last, per_second),
        "wasted_capacity": wasted,
        "wasted_share": wasted / (capacity * clock) if clock > 0 else np.nan,
        "effective_load": effective,
        "potential_load": effective + wasted * per_second,
        "mean_jobs_in_system": float(jobs["response"].sum()) * per_second,
        "mean_jobs_running": float(service.sum()) * per_second,
        "mean_jobs_waiting": float((jobs["response"].to_numpy() - service).sum()) * per_second,
        "mean_rate": clock * per_second,
        "rate_changes": int(rates.since.size - 1),
        "limited_jobs": int(schedule.limited.sum()),
    }


def _energy(
    schedule: Schedule, jobs: pl.DataFrame, last: float, per_second: float
) -> dict[str, float | None]:
    """Energy from the first submission to the last completion: of jobs, of idle processors."""
    names = ("energy", "job_energy", "idle_energy", "mean_power")
    power = schedule.cluster.power
    if power is None:
        return dict.fromkeys(names)
    rates = schedule.rates
    _, idle = power.at(len(rates.rates))
    row, start, end = _service_pieces(schedule)
    procs = schedule.workload.column("procs")[row]
    not_idle = float(np.sum(procs * (rates.integral(idle, end) - rates.integral(idle, start))))
    idle_energy = schedule.cluster.procs * float(rates.integral(idle, last)) - not_idle
    job_energy = float(jobs["energy"].sum())
    total = job_energy + idle_energy
    return dict(zip(names, (total, job_energy, idle_energy, total * per_second), strict=True))


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
    return (
        table.group_by(group)
        .agg(
            pl.len().alias("jobs"),
            (area.sum() / float((table["procs"] * table["service"]).sum())).alias("share_of_area"),
            *(
                pl.col(name).mean().alias(f"mean_{name}")
                for name in ("wait", "response", "slowdown", "bounded_slowdown")
            ),
            pl.col("wait").median().alias("median_wait"),
            pl.col("wait").quantile(0.95).alias("p95_wait"),
            pl.col("energy").sum().alias("energy"),
        )
        .sort(pl.nth(0))
    )

"""Power and energy of a schedule (Rumyantsev et al. 2018, (9), (11)): busy, idle, asleep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.types import Floats, Ints
from onega.kernels.machine.codes import DOWN, WAKING

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class NonworkingPower:
    """Stretches of processors that draw neither busy nor idle power, with the watts of each."""

    name: str
    since: Floats
    until: Floats
    count: Ints
    watts: Floats

    def within(self, first: float, last: float) -> NonworkingPower:
        """Clip them to a window."""
        since, until = np.clip(self.since, first, last), np.clip(self.until, first, last)
        return replace(self, since=since, until=until)


def working_pieces(schedule: Schedule) -> tuple[Ints, Floats, Floats]:
    """Return (row, start, end) of the stretches in which processors draw busy power.

    All of a job's time on processors but for the seconds in which some of them woke up.
    """
    if schedule.chronicle is not None:
        attempts = schedule.chronicle.attempts
        woken = np.minimum(attempts.start + attempts.wake, attempts.end)
        return attempts.row, np.maximum(woken, schedule.begin), attempts.end
    return schedule.service_pieces()


def nonworking(schedule: Schedule) -> list[NonworkingPower]:
    """Return the stretches in which processors sleep, wake up or are down, clipped to the run."""
    if schedule.chronicle is None:
        return []
    parts, sleep = schedule.chronicle.parts, schedule.cluster.sleep
    down = parts.of(DOWN)
    found = [("down", down, np.zeros(down.count.size))]
    if sleep is not None:
        timeout, power, wake = np.array(
            [(s.timeout, s.power, s.wake_power) for s in sleep.states]
        ).T
        asleep, waking = parts.asleep(timeout), parts.of(WAKING)
        found += [("sleep", asleep, power[asleep.depth]), ("wake", waking, wake[waking.depth])]
    return [
        NonworkingPower(name, some.since, some.until, some.count, watts).within(
            schedule.begin, schedule.last
        )
        for name, some, watts in found
    ]


def job_energies(schedule: Schedule) -> Floats | None:
    """Energy of each job: procs × (Ê(end) − Ê(start)), Ê(t) = ∫ e_busy(R).

    Rumyantsev et al. (2018), (9).
    """
    if schedule.cluster.power is None:
        return None
    busy, _ = schedule.cluster.power.at(len(schedule.rates.rates))
    row, start, end = working_pieces(schedule)
    rates = schedule.rates
    procs = schedule.workload.column("procs")[row]
    used = procs * (rates.integral(busy, end) - rates.integral(busy, start))
    return np.asarray(np.bincount(row, weights=used, minlength=len(schedule)), np.float64)


def busy_power(schedule: Schedule, time: Floats) -> Floats:
    """Watts of processors that work, right after each of ``time``."""
    assert schedule.cluster.power is not None
    on = np.array(schedule.cluster.power.at(_levels(schedule))[0])[schedule.rates.at(time)]
    return np.asarray(_working(schedule, time) * on)


def _working(schedule: Schedule, time: Floats) -> Floats:
    row, start, end = working_pieces(schedule)
    return count_over(time, start, end, schedule.workload.column("procs")[row])


def power_series(schedule: Schedule, time: Floats) -> pl.Series:
    """E = busy·e(R) + idle·e₀(R), and what sleeping and waking processors draw.

    Rumyantsev et al. (2018), (11).

    The power right after each of ``time``, which holds all instants at which it changes.
    """
    if schedule.cluster.power is None:
        return pl.Series("power", [None] * time.size, dtype=pl.Float64)
    idle = np.array(schedule.cluster.power.at(_levels(schedule))[1])[schedule.rates.at(time)]
    drawn = busy_power(schedule, time)
    drawn += (schedule.cluster.procs - _working(schedule, time)) * idle
    for one in nonworking(schedule):
        counts = count_over(time, one.since, one.until, one.count)
        watts = count_over(time, one.since, one.until, one.count * one.watts)
        drawn += watts - counts * idle
    return pl.Series("power", drawn, dtype=pl.Float64)


def energy_totals(schedule: Schedule, first: float, last: float) -> dict[str, float | None]:
    """Energy from ``first`` to ``last``: of jobs, of idle processors, ….

    ``energy`` = ``job_energy`` + ``idle_energy`` + ``sleep_energy`` + ``wake_energy``; the last
    two only where processors may sleep. Of a job that runs across an end of the window, the part
    inside counts.
    """
    names = ("energy", "job_energy", "idle_energy", "mean_power")
    if schedule.cluster.power is None:
        return dict.fromkeys(names)
    rates = schedule.rates
    busy, idle = schedule.cluster.power.at(_levels(schedule))
    row, start, end = working_pieces(schedule)
    start, end = np.clip(start, first, last), np.clip(end, first, last)
    procs = schedule.workload.column("procs")[row]
    from_first = rates.integral(idle, last) - rates.integral(idle, first)
    idle_energy = schedule.cluster.procs * float(from_first)
    idle_energy -= _idle_of(schedule, start, end, procs)
    extra = {}
    for one in (one.within(first, last) for one in nonworking(schedule)):
        idle_energy -= _idle_of(schedule, one.since, one.until, one.count)
        if one.name != "down":
            drawn = float(np.sum(one.count * one.watts * (one.until - one.since)))
            extra[f"{one.name}_energy"] = drawn
    used = procs * (rates.integral(busy, end) - rates.integral(busy, start))
    job_energy = float(np.bincount(row, used, len(schedule)).sum())
    total = job_energy + idle_energy + sum(extra.values())
    mean = total / (last - first) if last > first else np.nan
    return {**dict(zip(names, (total, job_energy, idle_energy, mean), strict=True)), **extra}


def _idle_of(schedule: Schedule, since: Floats, until: Floats, count: npt.ArrayLike) -> float:
    """Energy that processors would have drawn, had they been idle."""
    rates = schedule.rates
    assert schedule.cluster.power is not None
    _, idle = schedule.cluster.power.at(_levels(schedule))
    saved = rates.integral(idle, until) - rates.integral(idle, since)
    return float(np.sum(np.asarray(count) * saved))


def _levels(schedule: Schedule) -> int:
    return len(schedule.rates.rates)


def count_over(time: Floats, since: Floats, until: Floats, weight: npt.ArrayLike) -> Floats:
    """Σ weight over the stretches [since, until) that hold each of ``time``."""
    size = time.size + 1
    up = np.bincount(np.searchsorted(time, since), weight, size)
    down = np.bincount(np.searchsorted(time, until), weight, size)
    return np.asarray(np.cumsum(up - down)[:-1])

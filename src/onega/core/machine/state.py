"""A machine in the middle of a run: which jobs run since when, which wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from onega.core.types import Floats
from onega.core.workload.workload import Workload

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True, eq=False)
class MachineState:
    """Jobs in the system right before an instant, as `onega.simulate` takes them to start with.

    Attributes
    ----------
    time
        The instant: seconds after the workload's epoch.
    workload
        The jobs in the system.
    start
        When each of them started; NaN: it waits.
    done
        Work done for each so far, seconds at rate 1; 0 if it waits.
    """

    time: float
    workload: Workload
    start: Floats
    done: Floats

    def summary(self) -> dict[str, Any]:
        """Return how many run and wait."""
        running = ~np.isnan(self.start)
        procs = self.workload.column("procs")
        return {
            "time": self.time,
            "running": int(running.sum()),
            "waiting": int((~running).sum()),
            "busy": int(procs[running].sum()),
            "waiting_procs": int(procs[~running].sum()),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per job: its columns, ``start`` (null: it waits) and ``done``."""
        return self.workload.table.with_columns(
            pl.Series("start", self.start).fill_nan(None), pl.Series("done", self.done)
        )


def state_at(schedule: Schedule, time: float) -> MachineState:
    """Return the jobs in the system right before ``time``: submitted, but not ended, earlier.

    A job that ends at ``time`` is still there, with no work left; one that is submitted at
    ``time`` isn't there yet. The rest of a run then is
    ``simulate(log.select(pl.col("submit") >= time), …, initial=state)``.
    """
    submit = schedule.workload.column("submit")
    leave = np.where(np.isnan(schedule.end), np.inf, schedule.end)
    there = (submit < time) & (leave >= time)
    if schedule.chronicle is not None:
        there &= schedule.chronicle.submitted
    start, done = _progress(schedule, time)
    return MachineState(time, schedule.workload.select(there), start[there], done[there])


def _progress(schedule: Schedule, time: float) -> tuple[Floats, Floats]:
    """Return when each job's stretch at ``time`` began (NaN: none), and the work done by then."""
    rates = schedule.rates
    row, start, end = schedule.service_pieces()
    begin, stop, saved = start, end, rates.work(start, end)
    if schedule.chronicle is not None:
        tries = schedule.chronicle.attempts
        row, start, end, begin, stop = tries.row, tries.start, tries.end, tries.begin, tries.stop
        saved = tries.saved
    now = (start < time) & (end >= time)
    since = np.full(len(schedule), np.nan)
    since[row[now]] = start[now]
    doing = np.maximum(rates.work(begin, np.minimum(stop, time)), 0.0)
    earlier = end < time
    progress = np.where(now, doing, np.where(earlier, saved, 0.0))
    done = np.asarray(np.bincount(row, progress, len(schedule)), np.float64)
    if schedule.chronicle is not None:
        done += schedule.chronicle.head_start
    return since, np.minimum(done, schedule.work)

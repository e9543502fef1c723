"""What a detailed run tells, made from what its kernel wrote down when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from onega.core.schedule.chronicle import EVENTS, STATES, Attempts, Parts
from onega.core.schedule.history import RateHistory
from onega.core.types import Flags, Floats, Ints
from onega.kernels.machine.codes import CAPACITY, REQUEUED, TIMEOUT, WOKEN
from onega.simulation.machine.problem import Outcome
from onega.simulation.pool.setup import in_rows


@dataclass(frozen=True, eq=False)
class RunChronicle:
    """The `onega.core.schedule.chronicle.Chronicle` of a run.

    Attributes
    ----------
    ids
        Ids of the workload's rows.
    by_arrival
        The workload's row of each job by arrival; None: they are the same.
    outcome
        What happened, by arrival.
    work, done_before
        By arrival: the whole work of the option that was taken, and what of it was done before
        the run began.
    rates
        How the rate went.
    checkpoint
        Seconds of work between checkpoints; None: interrupted jobs save nothing.
    """

    ids: pl.Series
    by_arrival: Ints | None
    outcome: Outcome
    work: Floats
    done_before: Floats
    rates: RateHistory
    checkpoint: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was made already: it is made again where it is asked for."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def state(self) -> pl.Series:
        """Final state of each row."""
        return _named("state", in_rows(self.outcome.state, self.by_arrival), STATES)

    @property
    def submitted(self) -> Flags:
        """Which rows came into the system at all."""
        return np.asarray(np.isfinite(in_rows(self.outcome.submit, self.by_arrival)))

    @property
    def lost_work(self) -> Floats:
        """Work that each job did in vain."""
        return in_rows(self.outcome.lost_work, self.by_arrival)

    @property
    def head_start(self) -> Floats:
        """Work that was done for each job before the run began."""
        return in_rows(self.done_before, self.by_arrival)

    @property
    def parts(self) -> Parts:
        """Stretches of processors without a job."""
        names = ("kind", "since", "until", "procs", "depth")
        return Parts(*(self.outcome.parts[name] for name in names))

    @cached_property
    def attempts(self) -> Attempts:
        """Every stretch of a job on processors, with when its work stopped and what was saved."""
        told, rates = self.outcome, self.rates
        job, end = told.attempts["job"], told.attempts["end"]
        # Work that never began, began and stopped at the end of the attempt: none was done.
        begin = np.where(np.isnan(told.attempts["begin"]), end, told.attempts["begin"])
        begin = np.maximum(begin, rates.since[0])
        finished = (end == told.end[job]) & (told.state[job] <= TIMEOUT)
        clock = rates.integral(rates.rates, begin)
        saved = np.zeros(job.size)
        if self.checkpoint is not None:
            done = rates.integral(rates.rates, end) - clock
            whole = np.floor(done / self.checkpoint) * self.checkpoint
            saved = np.where(~finished & self._requeued(), whole, 0.0)
        before = np.bincount(job, saved, told.end.size) + self.done_before
        left = self.work[job] - before[job]
        stop = np.where(finished, np.minimum(rates.reaching(clock + left), end), end)
        saved = np.where(finished, left, saved)
        row = job if self.by_arrival is None else self.by_arrival[job]
        return Attempts(row, told.attempts["start"], told.attempts["wake"], begin, stop, end, saved)

    def _requeued(self) -> Flags:
        """Tell which attempts ended in the queue again."""
        told = self.outcome
        again = told.log["event"] == REQUEUED
        pairs = set(zip(told.log["job"][again], told.log["time"][again], strict=True))
        ends = zip(told.attempts["job"], told.attempts["end"], strict=True)
        return np.fromiter((one in pairs for one in ends), bool, told.attempts.size)

    @cached_property
    def events(self) -> pl.DataFrame:
        """The event log, with names of events, ids of jobs and numbers of nodes."""
        log = self.outcome.log
        code, job, node = log["event"], log["job"], log["node"]
        has_job = (job >= 0) & (code != WOKEN)
        has_node = (node >= 0) & (code != CAPACITY)
        ids = self.ids.to_numpy()
        ids = ids if self.by_arrival is None else ids[self.by_arrival]
        return pl.DataFrame(
            {
                "time": np.ascontiguousarray(log["time"]),
                "event": _named("event", code, EVENTS),
                "job": ids[np.where(has_job, job, 0)],
                "node": node + 1,
            }
        ).with_columns(
            pl.when(pl.Series(has_job)).then("job"), pl.when(pl.Series(has_node)).then("node")
        )


def _named(name: str, codes: Ints, names: pl.Enum) -> pl.Series:
    """Make a column of names from their numbers, without a text for every row."""
    return pl.Series(name, names.categories, dtype=names).gather(codes)

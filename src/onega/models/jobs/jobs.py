"""The part of a log that models learn from: plain arrays, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from onega.core.errors import ModelError
from onega.core.workload.chains import Floats, Ints
from onega.models.arrivals.cycles import WEEK

if TYPE_CHECKING:
    from onega.core.workload.meta import Meta
    from onega.core.workload.workload import Workload

LEAST = 50
"""Fewer jobs than this say nothing of a chain, a cycle or a tail."""

MONDAY = 978307200.0
"""Unix time of Monday, 1 January 2001, 00:00 UTC: submit = 0 of sampled workloads."""


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Arrays in the order of submission.

    Attributes
    ----------
    clock
        Submissions in seconds after a Monday's midnight, local time.
    procs, runtime
        Positive.
    estimate
        Seconds, NaN where missing.
    user
        −1 where missing.
    machine
        The machine's processors: the log's, or the widest job's.
    gaps
        Seconds before each job, without the daily cycle, once arrivals are known.
    """

    clock: Floats
    procs: Floats
    runtime: Floats
    estimate: Floats
    user: Ints
    machine: int
    gaps: Floats = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return int(self.clock.size)

    @property
    def has_users(self) -> bool:
        """Whether any job says who submitted it."""
        return bool(np.any(self.user >= 0))

    @property
    def has_estimates(self) -> bool:
        """Whether enough jobs say how long they were thought to run."""
        return int(np.sum(self.estimate > 0)) >= LEAST


def jobs_of(workload: Workload, *, least: int = LEAST) -> Jobs:
    """Take what models learn from; jobs without width or run time are left out.

    Refuses, with a reason, fewer than ``least`` usable jobs.
    """
    usable = workload.table.filter(
        (pl.col("runtime") > 0) & (pl.col("procs") > 0) & pl.col("submit").is_not_null()
    ).sort("submit", maintain_order=True)
    if usable.height < least:
        raise ModelError(
            f"at least {least} jobs with a positive run time and width are needed to fit a model, "
            f"got {usable.height} of {len(workload)}"
        )
    procs = usable["procs"].to_numpy().astype(np.float64)
    return Jobs(
        clock=week_clock(usable["submit"].to_numpy(), workload.meta),
        procs=procs,
        runtime=usable["runtime"].to_numpy().astype(np.float64),
        estimate=usable["estimate"].fill_null(float("nan")).to_numpy(),
        user=usable["user"].fill_null(-1).to_numpy().astype(np.int64),
        machine=int(max(workload.meta.procs or 0, procs.max())),
    )


def week_clock(submit: Floats, meta: Meta) -> Floats:
    """Submissions on the machine's own clock: seconds after the Monday before submit = 0.

    Summer time is followed where the zone is known; in the hour that autumn repeats, the clock
    stands still instead of going back. A log that doesn't say when it begins is taken to begin on
    a Monday at midnight.
    """
    times = np.asarray(submit, dtype=np.float64)
    if meta.epoch is None or times.size == 0:
        return times
    moments = times + meta.epoch
    offset = np.full(times.size, meta.utc_offset or 0.0)
    if meta.timezone is not None:
        offset = _zone_offsets(moments, meta.timezone, offset)
    origin = np.floor((meta.epoch + offset[0] - MONDAY) / WEEK) * WEEK + MONDAY
    local = moments + offset - origin
    ordered: Floats = np.maximum.accumulate(local) if np.all(np.diff(times) >= 0) else local
    return ordered


def week_origin(meta: Meta) -> float:
    """Where submit = 0 lies in the week: seconds after a Monday's midnight, local time."""
    return float(week_clock(np.zeros(1), meta)[0])


def _zone_offsets(moments: Floats, zone: str, default: Floats) -> Floats:
    """Seconds east of Greenwich at each moment; the default where the zone isn't known."""
    seconds = pl.Series(np.floor(moments).astype(np.int64))
    try:
        utc = pl.from_epoch(seconds, time_unit="s").dt.replace_time_zone("UTC")
        local = utc.dt.convert_time_zone(zone).dt.replace_time_zone(None)
    except pl.exceptions.PolarsError:
        return default
    shift = local.dt.epoch("s").to_numpy() - seconds.to_numpy()
    return np.asarray(shift, dtype=np.float64)

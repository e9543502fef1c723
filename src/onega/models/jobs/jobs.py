"""The part of a log that models learn from: plain arrays, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.core.workload.clock import week_clock
from onega.core.workload.schema import USABLE

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload

LEAST = 50
"""Fewer jobs than this say nothing of a chain, a cycle or a tail."""


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
    wait
        Seconds, NaN where missing.
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
    wait: Floats
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
    usable = workload.table.filter(USABLE & pl.col("submit").is_not_null())
    usable = usable.sort("submit", maintain_order=True)
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
        wait=usable["wait"].fill_null(float("nan")).to_numpy(),
        machine=int(max(workload.meta.procs or 0, procs.max())),
    )

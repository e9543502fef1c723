"""Where a run has settled: warm-up removal by MSER-5.

A simulated machine starts empty, so its first jobs wait less than jobs of a machine in its usual
state. MSER (White 1997; MSER-5: White, Cobb and Spratt 2000) cuts the series where the standard
error of the mean of what is left is smallest:

    Z_j = mean of values 5j … 5j+4,   d* = argmin_{d ≤ k/2} Σ_{j ≥ d} (Z_j − Z̄_d)² / (k − d)²

with k the number of batches and Z̄_d the mean of those from d on. A minimum at the end of the range,
half of the series, says that the run is too short to tell; it is reported as not settled, and
nothing is to be concluded from what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from onega.core.errors import ExperimentError
from onega.core.units import duration, humanise_seconds

if TYPE_CHECKING:
    from onega.core.schedule import Schedule

BATCH: Final = 5
"""Values to a batch of MSER-5."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """How many values at the beginning are left out, and whether the rest has settled."""

    removed: int
    settled: bool


def mser5(values: npt.ArrayLike) -> Truncation:
    """Find the warm-up of a series by MSER-5.

    Parameters
    ----------
    values
        The series in the order of time, e.g. waits in the order of submission; at least 20.
    """
    series = np.asarray(values, dtype=np.float64)
    count = series.size // BATCH
    if count < 4:
        raise ExperimentError(f"MSER-5 needs at least {4 * BATCH} values, got {series.size}")
    batches = series[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    # Sums over what is left, from each place to the end; centred first, to lose no digits.
    centred = batches - batches.mean()
    left = np.arange(count, 0, -1)
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    statistic = np.maximum(squares - total**2 / left, 0.0) / left.astype(np.float64) ** 2
    last = count // 2
    best = int(np.argmin(statistic[: last + 1]))
    return Truncation(BATCH * best, best < last)


@dataclass(frozen=True, slots=True)
class Warmup:
    """A rule for what to leave out at the beginning of a run.

    ``rule`` is ``"none"``, ``"mser5"`` (on the waits in the order of submission) or ``"time"``
    (jobs submitted in the first ``seconds``).
    """

    rule: str = "none"
    seconds: float = 0.0

    @classmethod
    def parse(cls, given: str | float | Warmup | None) -> Warmup:
        """Read None or ``"none"``, ``"mser5"``, or a time such as ``"2d"``."""
        if isinstance(given, Warmup):
            return given
        if given is None or given in ("none", "mser5"):
            return cls(str(given or "none"))
        try:
            seconds = duration(given)
        except ValueError:
            seconds = -1.0
        if not (np.isfinite(seconds) and seconds >= 0):
            raise ExperimentError(
                f"unknown warm-up {given!r}; accepted: none, mser5, or a time such as 2d"
            )
        return cls("time", seconds)

    def __str__(self) -> str:
        return f"first {humanise_seconds(self.seconds)}" if self.rule == "time" else self.rule

    def removed(self, schedule: Schedule) -> Truncation:
        """Say how many jobs, in the order of submission, are the run's warm-up."""
        if self.rule == "none":
            return Truncation(0, settled=True)
        submit = schedule.workload.column("submit")
        if self.rule == "mser5":
            order = np.argsort(submit, kind="stable")
            waits = schedule.jobs["wait"].to_numpy()[order]
            started = np.flatnonzero(~np.isnan(waits))
            cut = mser5(waits[started])
            # Who never started has no wait, but is part of the warm-up all the same.
            return Truncation(int(started[cut.removed]), cut.settled)
        early = int(np.count_nonzero(submit < submit.min() + self.seconds))
        if early == submit.size:
            raise ExperimentError(
                f"the warm-up of {humanise_seconds(self.seconds)} leaves no job of the run of "
                f"{humanise_seconds(float(np.ptp(submit)))}; give a shorter one"
            )
        return Truncation(early, settled=True)


def after_warmup(schedule: Schedule, removed: int) -> npt.NDArray[np.bool_] | None:
    """Mark the jobs that count; None if all do."""
    if removed == 0:
        return None
    order = np.argsort(schedule.workload.column("submit"), kind="stable")
    keep = np.ones(len(schedule), dtype=bool)
    keep[order[:removed]] = False
    return keep

"""How waits and the machine are shared: measures by user or group, and Jain's index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

_MEASURES = ("share_of_area", "mean_wait", "mean_bounded_slowdown")


def jain(values: npt.ArrayLike) -> float:
    """(Σx)² / (n Σx²): 1 if all are equal, 1/n if one has everything (Jain, Chiu, Hawe 1984).

    1 if all values are 0 (no job waits, so no user is treated worse); NaN for no values.
    """
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    if x.size == 0:
        return float("nan")
    if np.any(x < 0):
        raise ValueError("Jain's index is defined for values that aren't negative")
    largest = float(x.max())
    if largest == 0:
        return 1.0
    x = x / largest  # squares of 10²⁰⁰ don't fit
    return float(x.sum() ** 2 / (x.size * (x @ x)))


@dataclass(frozen=True, eq=False)
class Fairness:
    """Measures of each user or group, and Jain's index of each measure.

    Attributes
    ----------
    by
        The column: ``"user"``, ``"group"``, …
    table
        As `Schedule.by`: jobs, share of area, mean wait, slowdown and more, a row each.
    """

    by: str
    table: pl.DataFrame

    def to_polars(self) -> pl.DataFrame:
        """One row per user or group."""
        return self.table

    def summary(self) -> dict[str, Any]:
        """Return Jain's index of the share of area, the mean wait and the mean slowdown."""
        wait = self.table["mean_wait"]
        return {
            "by": self.by,
            "count": self.table.height,
            **{f"jain_{name}": jain(self.table[name].to_numpy()) for name in _MEASURES},
            "median_of_mean_waits": wait.median(),
            "largest_mean_wait": wait.max(),
        }


def fairness(schedule: Schedule, by: str = "user") -> Fairness:
    """Compare users (or groups) of a schedule; jobs without one are left out."""
    if by not in schedule.workload.table.columns:
        raise ValueError(f"can't compare by {by!r}; accepted: user, group, queue, …")
    if not schedule.workload.has(by):
        raise ValueError(f"no job of this schedule has a {by}")
    return Fairness(by, schedule.by(by).filter(pl.col(by).is_not_null()))

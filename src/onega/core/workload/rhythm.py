"""What a scheduler feels of a workload beyond its marginals: bursts, weeks, tails, cycles of sizes.

Two workloads with the same laws of widths, run times and gaps can load a machine very differently:
by how jobs gather in hours, days and weeks, by how evenly the weeks' work comes, by the heaviest
jobs, and by what is submitted at night. `rhythm` measures these of a log and of a model's jobs
alike. Everything is a pure function of the jobs, without a simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from onega.core.types import Floats
from onega.core.units import SECONDS
from onega.core.workload.clock import week_clock
from onega.core.workload.schema import USABLE
from onega.core.workload.workload import Workload

DAY_BEGINS: Final = 8
DAY_ENDS: Final = 18
"""Hours of local time between which it is day; the rest is night."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Figures of one workload. NaN: the workload is too short, or one side of a ratio is empty.

    Attributes
    ----------
    dispersion_hour, dispersion_day, dispersion_week
        Index of dispersion of the submissions, Var N / E N with N the number in whole hours, days
        and weeks from the first submission on (`dispersion_index`); 1 for a Poisson process.
    weekly_work_cv
        Coefficient of variation of the work Σ procs·runtime submitted in whole weeks.
    night_runtime, night_procs
        Mean run time (width) of jobs submitted outside 8–18 h local time, over that of the others.
    weekend_runtime, weekend_procs
        The same of Saturdays and Sundays over the other days.
    p99_runtime, p999_runtime
        Quantiles of the run times, s.
    p99_work
        99 % quantile of the jobs' work procs·runtime, processor-seconds.
    heavy_work
        Share of all work that the heaviest 1 % of the jobs have.
    """

    dispersion_hour: float
    dispersion_day: float
    dispersion_week: float
    weekly_work_cv: float
    night_runtime: float
    night_procs: float
    weekend_runtime: float
    weekend_procs: float
    p99_runtime: float
    p999_runtime: float
    p99_work: float
    heavy_work: float

    def summary(self) -> dict[str, float]:
        """Return the figures by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def rhythm(workload: Workload) -> Rhythm:
    """Measure a workload; jobs without width or run time are left out."""
    usable = workload.table.filter(USABLE)
    usable = usable.sort("submit", maintain_order=True)
    submit = usable["submit"].to_numpy()
    runtime = usable["runtime"].to_numpy()
    procs = usable["procs"].to_numpy().astype(np.float64)
    work = procs * runtime
    clock = week_clock(submit, workload.meta)
    hour = clock % SECONDS["d"] / SECONDS["h"]
    night = (hour < DAY_BEGINS) | (hour >= DAY_ENDS)
    weekend = clock % SECONDS["w"] >= 5 * SECONDS["d"]
    return Rhythm(
        dispersion_hour=dispersion_index(submit, SECONDS["h"]),
        dispersion_day=dispersion_index(submit, SECONDS["d"]),
        dispersion_week=dispersion_index(submit, SECONDS["w"]),
        weekly_work_cv=variation(window_sums(submit, SECONDS["w"], work)),
        night_runtime=ratio_of_means(runtime, night),
        night_procs=ratio_of_means(procs, night),
        weekend_runtime=ratio_of_means(runtime, weekend),
        weekend_procs=ratio_of_means(procs, weekend),
        p99_runtime=_quantile(runtime, 0.99),
        p999_runtime=_quantile(runtime, 0.999),
        p99_work=_quantile(work, 0.99),
        heavy_work=heaviest_share(work, 0.01),
    )


def window_sums(
    times: npt.ArrayLike, length: float, weights: npt.ArrayLike | None = None
) -> Floats:
    """Σ of the weights (1 by default) in consecutive windows from the first time on, whole ones.

    A window is whole if it ends no later than the last time. Times need not be sorted.
    """
    moments = np.asarray(times, dtype=np.float64)
    if moments.size == 0:
        return np.empty(0)
    first = moments.min()
    whole = int((moments.max() - first) // length)
    place = ((moments - first) // length).astype(np.int64)
    held = None if weights is None else np.asarray(weights, dtype=np.float64)
    sums: Floats = np.bincount(place, weights=held, minlength=whole)[:whole].astype(np.float64)
    return sums


def dispersion_index(times: npt.ArrayLike, length: float) -> float:
    """Var N / E N of the number N of times in whole windows of ``length`` seconds (Cox and Lewis).

    The variance is that of the windows themselves (divisor n). NaN for fewer than two windows.
    """
    counts = window_sums(times, length)
    return float(counts.var() / counts.mean()) if counts.size > 1 and counts.any() else math.nan


def variation(values: Floats) -> float:
    """Coefficient of variation (divisor n); NaN for fewer than two values or a mean of zero."""
    if values.size < 2 or values.mean() == 0:
        return math.nan
    return float(values.std() / values.mean())


def ratio_of_means(values: Floats, chosen: npt.NDArray[np.bool_]) -> float:
    """Mean of the chosen values over the mean of the others; NaN where either is empty."""
    if chosen.all() or not chosen.any():
        return math.nan
    return float(values[chosen].mean() / values[~chosen].mean())


def heaviest_share(values: Floats, share: float) -> float:
    """Share of the sum that the largest ``share`` of the values (at least one) has."""
    if values.size == 0:
        return math.nan
    count = max(1, round(share * values.size))
    return float(np.sort(values)[-count:].sum() / values.sum())


def _quantile(values: Floats, probability: float) -> float:
    return float(np.quantile(values, probability)) if values.size else math.nan

"""The shape of the jobs: serial and power-of-two widths, width against run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onega.core.types import Floats
from onega.core.workload.chains import correlation, floor_power
from onega.traces.description.sections import Jobs, Lacking, Summary, defined

BINS_PER_DECADE = 8


class WidthShare(NamedTuple):
    """One bar of the histogram of widths."""

    width: int
    jobs: int
    share: float


class Bin(NamedTuple):
    """Jobs that ran [low, high) seconds."""

    low: float
    high: float
    jobs: int
    share: float


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths, and how they go with run times (Song 2006, §2.3, Tables 3.6 and 5.4).

    Attributes
    ----------
    serial
        Share of jobs that use one processor, of the jobs with a known width.
    power_of_two
        Share of jobs whose width is a power of two, 1 included.
    widths
        (width, share of jobs), by width: the histogram of Fig. 2.6.
    runtimes
        Run times of at least a second in eight bins per decade: the histogram of Fig. 2.5.
    corr
        Pearson's correlation of width and run time over jobs with both positive; None if either
        never changes.
    distributional_corr
        Do wide jobs run longer *as a distribution*? The jobs are cut in two at the width that
        makes the halves most nearly equal; F_narrow and F_wide are their run times' distribution
        functions. The measure is Σ(F_narrow − F_wide) / Σ|F_narrow − F_wide|, both sums over the
        run times of all jobs: +1 if wide jobs are longer at every percentile, −1 if shorter at
        every one, 0 if the curves cross evenly. It tells the direction, not the strength.
        Unlike ``corr`` it doesn't change under any monotone rescaling, and a few huge jobs don't
        decide it (after Feitelson, *Workload Modeling*, ch. 6). None if all widths are equal or
        the halves run alike.
    distributional_gap
        The strength: the mean of F_narrow − F_wide over the run times of all jobs, in [−1, 1].
    split_width
        Jobs up to this width are the narrow half.
    """

    serial: float
    power_of_two: float
    widths: tuple[WidthShare, ...]
    runtimes: tuple[Bin, ...]
    corr: float | None
    distributional_corr: float | None
    distributional_gap: float | None
    split_width: int | None
    missing: dict[str, str]

    def summary(self) -> Summary:
        """Keys ``serial_share``, ``power_of_two_share``, ``corr``, ``distributional_corr``."""
        return {
            "serial_share": self.serial,
            "power_of_two_share": self.power_of_two,
            "distinct_widths": len(self.widths),
            "corr": self.corr,
            "distributional_corr": self.distributional_corr,
            "distributional_gap": self.distributional_gap,
            "distributional_split_width": self.split_width,
        }


def shape(jobs: Jobs) -> Shape:
    """Measure the widths and their relation to the run times."""
    known = jobs.width[jobs.width > 0]
    if not known.size:
        raise Lacking("the log doesn't say: no width is known")
    widths, counts = np.unique(known, return_counts=True)
    width, runtime = jobs.width[jobs.usable], jobs.runtime[jobs.usable]
    corr = defined(correlation(width, runtime))
    split, distributional, gap = distributional_correlation(width, runtime)
    missing = {}
    if corr is None:
        missing["corr"] = _why_no_correlation(width, runtime)
    if distributional is None:
        missing["distributional_corr"] = _why_no_correlation(width, runtime)
    return Shape(
        serial=float(np.mean(known == 1)),
        power_of_two=float(np.mean(floor_power(known) == known)),
        widths=tuple(
            WidthShare(int(w), int(c), float(c / known.size)) for w, c in zip(widths, counts)
        ),
        runtimes=_runtime_bins(jobs.runtime[jobs.runtime >= 1]),
        corr=corr,
        distributional_corr=distributional,
        distributional_gap=gap,
        split_width=split,
        missing=missing,
    )


def _runtime_bins(runtime: Floats) -> tuple[Bin, ...]:
    if not runtime.size:
        return ()
    place = np.floor(np.log10(runtime) * BINS_PER_DECADE).astype(np.int64)
    counts = np.bincount(place)
    edges = 10.0 ** (np.arange(counts.size + 1) / BINS_PER_DECADE)
    return tuple(
        Bin(float(low), float(high), int(count), float(count / runtime.size))
        for low, high, count in zip(edges[:-1], edges[1:], counts)
    )


def distributional_correlation(
    width: Floats, runtime: Floats
) -> tuple[int | None, float | None, float | None]:
    """Return the cut, ``distributional_corr`` and ``distributional_gap``, as `Shape` defines."""
    values, counts = np.unique(width, return_counts=True)
    if values.size < 2:
        return None, None, None
    below = np.cumsum(counts)[:-1]
    split = values[int(np.argmin(np.abs(2 * below - width.size)))]
    narrow = np.sort(runtime[width <= split])
    wide = np.sort(runtime[width > split])
    gap = (
        np.searchsorted(narrow, runtime, side="right") / narrow.size
        - np.searchsorted(wide, runtime, side="right") / wide.size
    )
    total = float(np.abs(gap).sum())
    return int(split), float(gap.sum() / total) if total > 0 else None, float(gap.mean())


def _why_no_correlation(width: Floats, runtime: Floats) -> str:
    if width.size < 2:
        return "needs at least 2 jobs with a positive width and run time"
    if np.ptp(width) == 0:
        return f"all jobs are {width[0]:g} processors wide"
    if np.ptp(runtime) == 0:
        return f"all jobs run {runtime[0]:g} s"
    return "narrow and wide jobs have the same run times"

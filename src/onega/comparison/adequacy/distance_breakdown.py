"""Where the distance comes from: shares of ΣΔ² by job, width, wait and time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from onega.comparison.adequacy.matching import Pairing
from onega.core.types import Ints
from onega.core.workload.clock import week_origin

WORST = 10
DECILES = 10


@dataclass(frozen=True, slots=True, eq=False)
class DistanceBreakdown:
    """Tables with the share of ΣΔ² (= n·P²), the number of jobs and their own P in each class.

    Attributes
    ----------
    worst
        The ten jobs that differ most, as `Adequacy.to_polars` has them.
    width
        By width class (from the power of two on).
    wait
        By decile of the real wait.
    hour
        By hour of the day of the submission, local time where the log tells it.
    """

    worst: pl.DataFrame
    width: pl.DataFrame
    wait: pl.DataFrame
    hour: pl.DataFrame

    @classmethod
    def of(cls, pairs: Pairing) -> DistanceBreakdown:
        """Break a distance down."""
        clock = pairs.submit + week_origin(pairs.meta)
        hours = (clock % 86400 // 3600).astype(np.int64)
        deciles = _deciles(pairs)
        return cls(
            pairs.to_polars()[worst_jobs(pairs)],
            _shares(pairs, pairs.width_class, "width_from").with_columns(
                (2 ** pl.col("width_from")).alias("width_from")
            ),
            _shares(pairs, deciles, "decile").with_columns(pl.col("decile") + 1),
            _shares(pairs, hours, "hour"),
        )


def worst_jobs(pairs: Pairing, most: int = WORST) -> Ints:
    """Return the places of the jobs that differ most, the worst first; ties by submission."""
    size = np.abs(pairs.differences)
    return np.argsort(-size, kind="stable")[: min(most, size.size)]


def _deciles(pairs: Pairing) -> Ints:
    """Cut the jobs into ten equal parts by their real waits; equal waits stay together."""
    edges = np.quantile(pairs.real.wait, np.arange(1, DECILES) / DECILES)
    return np.searchsorted(edges, pairs.real.wait, side="left")


def _shares(pairs: Pairing, group: Ints, name: str) -> pl.DataFrame:
    """Aggregate the squares by an integer class."""
    squares = pairs.differences**2
    total = float(squares.sum())
    keys = np.unique(group)
    jobs = np.bincount(group)[keys]
    summed = np.bincount(group, squares)[keys]
    shifted = np.bincount(group, pairs.differences)[keys]
    return pl.DataFrame(
        {
            name: keys,
            "jobs": jobs,
            "share": summed / total if total > 0 else np.zeros(keys.size),
            "P": np.sqrt(summed / jobs),
            "mean_difference": shifted / jobs,
        }
    )

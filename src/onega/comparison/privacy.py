"""How much of a log its synthetic jobs give away: records that come back.

A record is a job's (width, run time). One that a single job of the log has is *unique*: a reader
who knows of it recognises the job. Some come back by chance, so what counts is the excess. A model
fitted to one half of a log repeats unique records of that half, and of the other half, which it has
never seen; the difference of the two shares is what it copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import ModelError
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.workload.workload import Workload

_RECORD = ("procs", "runtime")


@dataclass(frozen=True, slots=True)
class Privacy:
    """What of a log is found in synthetic jobs.

    Attributes
    ----------
    unique_records
        Records that one job of the log has alone.
    repeated
        Share of these that the synthetic jobs have, too.
    copies
        Share of the synthetic jobs whose record is one of these.
    nearest
        Share of the synthetic jobs whose nearest record of the log (same width, run time within
        1 %) is one of these.
    """

    unique_records: int
    repeated: float
    copies: float
    nearest: float

    def summary(self) -> dict[str, Any]:
        """Return the figures, each after ``privacy_``."""
        return {f"privacy_{name}": getattr(self, name) for name in self.__slots__}


def privacy(real: Workload, synthetic: Workload) -> Privacy:
    """Measure what of a log's unique records a synthetic log has."""
    log, made = _records(real), _records(synthetic)
    unique = _unique(log)
    if unique.height == 0 or made.height == 0:
        raise ModelError("privacy needs jobs with a width and a run time on both sides")
    found = unique.join(made.unique(), on=list(_RECORD), how="semi").height
    copies = made.join(unique, on=list(_RECORD), how="semi").height
    return Privacy(
        unique.height, found / unique.height, copies / made.height, _near(log, unique, made)
    )


def excess_copying(
    log: Workload, fit: Callable[[Workload], Any], *, rng: Rng = None
) -> dict[str, float]:
    """Fit a model to a random half of a log's jobs and count the unique records that it repeats.

    Parameters
    ----------
    fit
        Makes a model (anything with ``sample(n, rng=…)``) of a log.

    Returns
    -------
    dict
        ``copied_seen`` and ``copied_unseen``: shares of the two halves' unique records in a sample
        as long as the half; ``copied_excess``: their difference.
    """
    seed = seed_sequence(rng)
    half: npt.NDArray[np.bool_] = generator(child(seed, 0)).random(len(log)) < 0.5
    seen, unseen = log.select(half), log.select(~half)
    made = fit(seen).sample(max(len(seen), 1), rng=child(seed, 1))
    shares = [privacy(side, made).repeated for side in (seen, unseen)]
    return {
        "copied_seen": shares[0],
        "copied_unseen": shares[1],
        "copied_excess": shares[0] - shares[1],
    }


def _records(workload: Workload) -> pl.DataFrame:
    usable = workload.table.filter((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    return usable.select(pl.col("procs"), pl.col("runtime").round(0))


def _unique(records: pl.DataFrame) -> pl.DataFrame:
    return records.group_by(_RECORD).len().filter(pl.col("len") == 1).select(_RECORD)


def _near(log: pl.DataFrame, unique: pl.DataFrame, made: pl.DataFrame) -> float:
    """Share of made jobs nearest to a unique record."""
    marked = log.unique().join(
        unique.with_columns(alone=pl.lit(value=True)), on=list(_RECORD), how="left"
    )
    marked = marked.with_columns(at=pl.col("runtime")).sort("runtime")
    joined = made.sort("runtime").join_asof(
        marked, on="runtime", by="procs", strategy="nearest", check_sortedness=False
    )
    close = (pl.col("at") - pl.col("runtime")).abs() <= 0.01 * pl.col("runtime")
    return float(joined.select((pl.col("alone").fill_null(value=False) & close).mean()).item())

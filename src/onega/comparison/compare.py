"""How like a log its model's jobs are: the static and temporal figures of Song (2006), §3.3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onega.core.errors import ModelError
from onega.core.plotting import Plottable
from onega.core.types import Floats
from onega.core.workload import chains
from onega.core.workload.clock import week_clock
from onega.core.workload.distances import ks_distance, total_variation
from onega.core.workload.workload import Workload

LAGS = tuple(range(1, 51))
"""Lags of the autocorrelation figure."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The figures of one of the two workloads.

    Attributes
    ----------
    name
        The log's file or the model's name.
    procs, runtime, gap, estimate
        Values in the order of submission (gaps in seconds; estimates where given).
    hourly
        Share of submissions in each hour of the day.
    load
        Σ procs·runtime / (machine · span); NaN if the machine isn't known.
    temporal
        `onega.core.workload.chains.temporal_summary`.
    """

    name: str
    procs: Floats
    runtime: Floats
    gap: Floats
    estimate: Floats
    hourly: Floats
    load: float
    temporal: dict[str, Any]

    @classmethod
    def of(cls, workload: Workload) -> Side:
        """Measure a workload; jobs without width or run time are left out."""
        usable = workload.table.filter((pl.col("runtime") > 0) & (pl.col("procs") > 0))
        usable = usable.sort("submit", maintain_order=True)
        if usable.height < 3:
            raise ModelError(
                f"compare needs at least 3 jobs with a run time and a width on each side; "
                f"{workload.meta.source or 'one'} has {usable.height}"
            )
        submit = usable["submit"].to_numpy()
        procs = usable["procs"].to_numpy().astype(np.float64)
        runtime = usable["runtime"].to_numpy()
        clock = week_clock(submit, workload.meta)
        hours = np.bincount((clock % 86400 // 3600).astype(np.int64), minlength=24)
        span = float(submit[-1] - submit[0])
        known = workload.meta.procs is not None and span > 0
        return cls(
            name=workload.meta.source or "workload",
            procs=procs,
            runtime=runtime,
            gap=np.diff(submit),
            estimate=usable["estimate"].drop_nulls().to_numpy(),
            hourly=hours / hours.sum(),
            load=float(procs @ runtime) / (workload.meta.procs * span) if known else math.nan,  # type: ignore[operator]
            temporal=chains.temporal_summary(procs, runtime),
        )

    @property
    def area(self) -> float:
        """Mean squashed area of a job, processor-seconds."""
        return float(self.procs @ self.runtime) / self.procs.size


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Plottable):
    """A log beside a synthetic workload. See `compare`."""

    FIGURES: ClassVar[str] = "compare"
    real: Side
    synthetic: Side

    @property
    def d_sa(self) -> float:
        """(synthetic SA − original SA) / original SA (3.11), per job.

        Per job, so that workloads of different lengths can be compared; with as many jobs as the
        log it is the thesis's figure.
        """
        return self.synthetic.area / self.real.area - 1

    def summary(self) -> dict[str, Any]:
        """Return all figures; ``_real`` and ``_synthetic`` mark whose."""
        real, synthetic = self.real, self.synthetic
        result: dict[str, Any] = {
            "jobs_real": real.procs.size,
            "jobs_synthetic": synthetic.procs.size,
            "ks_procs": ks_distance(real.procs, synthetic.procs),
            "ks_runtime": ks_distance(real.runtime, synthetic.runtime),
            "ks_gap": ks_distance(real.gap, synthetic.gap),
            "ks_estimate": ks_distance(real.estimate, synthetic.estimate),
            "d_sa": self.d_sa,
        }
        for key in ("corr", "rho1_procs", "rho1_runtime", "same_procs", "cor0", "cor1"):
            result[f"{key}_real"] = real.temporal[key]
            result[f"{key}_synthetic"] = synthetic.temporal[key]
        for side, values in (("real", real), ("synthetic", synthetic)):
            result[f"rho1_gap_{side}"] = chains.autocorrelation(values.gap)
            result[f"mean_gap_{side}"] = float(values.gap.mean())
            result[f"load_{side}"] = values.load
        result["hourly_distance"] = total_variation(real.hourly, synthetic.hourly)
        return result

    def to_polars(self) -> pl.DataFrame:
        """Return one row per figure: real beside synthetic, and the distance where there is one."""
        flat = self.summary()
        names = [key[: -len("_real")] for key in flat if key.endswith("_real")]
        distances = {"procs": "ks_procs", "runtime": "ks_runtime", "gap": "ks_gap"}
        rows = [(name, flat[f"{name}_real"], flat[f"{name}_synthetic"]) for name in names]
        rows += [(key, None, flat[key]) for key in distances.values()]
        rows += [(key, None, flat[key]) for key in ("ks_estimate", "d_sa", "hourly_distance")]
        schema = {"measure": pl.String, "real": pl.Float64, "synthetic": pl.Float64}
        return pl.DataFrame(
            [(a, None if b is None else float(b), float(c)) for a, b, c in rows],
            schema=schema,
            orient="row",
        )


def compare(real: Workload, synthetic: Workload) -> Comparison:
    """Compare a log with synthetic jobs.

    Distances (Kolmogorov–Smirnov) of widths, run times, gaps and estimates; the difference of
    squashed areas d_SA (3.11); correlation of width and run time; ρ₁ of both; cor₀ and cor₁; the
    share of equal neighbours; the hourly profile; the offered load.

    Parameters
    ----------
    real, synthetic
        Jobs without width or run time are left out.
    """
    return Comparison(Side.of(real), Side.of(synthetic))

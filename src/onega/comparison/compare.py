"""How like a log its model's jobs are: the static and temporal figures of Song (2006), §3.3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onega.comparison.compare_words import compare_sentences
from onega.comparison.privacy import Privacy
from onega.comparison.scheduled import scheduled
from onega.core.errors import ModelError
from onega.core.plotting import Plottable
from onega.core.types import Floats
from onega.core.workload import chains
from onega.core.workload.clock import week_clock
from onega.core.workload.distances import ks_distance, total_variation
from onega.core.workload.rhythm import rhythm
from onega.core.workload.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The figures of one of the two workloads.

    Attributes
    ----------
    name
        The log's file or the model's name.
    clock
        Submissions in local time, in seconds after a Monday's midnight, ascending.
    procs, runtime, gap, estimate
        Values in the order of submission (gaps in seconds; estimates where given).
    hourly
        Share of submissions in each hour of the day.
    load
        Σ procs·runtime / (machine · span); NaN if the machine isn't known.
    temporal
        `onega.core.workload.chains.temporal_summary`.
    rhythm
        `onega.core.workload.rhythm`: bursts, weeks, cycles of sizes, tails.
    scheduled
        `onega.comparison.scheduled`, if waits were asked for.
    """

    name: str
    clock: Floats
    procs: Floats
    runtime: Floats
    gap: Floats
    estimate: Floats
    hourly: Floats
    load: float
    temporal: dict[str, Any]
    rhythm: dict[str, float]
    scheduled: dict[str, float]

    @classmethod
    def of(cls, workload: Workload, *, waits: bool = False) -> Side:
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
            clock=clock,
            procs=procs,
            runtime=runtime,
            gap=np.diff(submit),
            estimate=usable["estimate"].drop_nulls().to_numpy(),
            hourly=hours / hours.sum(),
            load=float(procs @ runtime) / (workload.meta.procs * span) if known else math.nan,  # type: ignore[operator]
            temporal=chains.temporal_summary(procs, runtime),
            rhythm=rhythm(workload).summary(),
            scheduled=scheduled(workload) if waits else {},
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
    privacy: Privacy | None = None

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
            for key, value in {**values.rhythm, **values.scheduled}.items():
                result[f"{key}_{side}"] = value
        result["hourly_distance"] = total_variation(real.hourly, synthetic.hourly)
        for key in real.scheduled:
            if key.startswith("wait_"):
                ratio = _ratio(synthetic.scheduled[key], real.scheduled[key])
                result[f"{key}_ratio"] = ratio
        return {**result, **(self.privacy.summary() if self.privacy else {})}

    def to_polars(self) -> pl.DataFrame:
        """Return one row per figure: real beside synthetic, and the distance where there is one."""
        flat = self.summary()
        names = [key[: -len("_real")] for key in flat if key.endswith("_real")]
        rows = [(name, flat[f"{name}_real"], flat[f"{name}_synthetic"]) for name in names]
        own = ["ks_procs", "ks_runtime", "ks_gap", "ks_estimate", "d_sa", "hourly_distance"]
        own += [key for key in flat if key.endswith("_ratio") or key.startswith("privacy_")]
        rows += [(key, None, flat[key]) for key in own]
        schema = {"measure": pl.String, "real": pl.Float64, "synthetic": pl.Float64}
        return pl.DataFrame(
            [(a, None if b is None else float(b), float(c)) for a, b, c in rows],
            schema=schema,
            orient="row",
        )

    def sentences(self) -> list[str]:
        """Say how alike the two are, and what differs most."""
        rows = self.to_polars().rows()
        return compare_sentences({key: (real, synthetic) for key, real, synthetic in rows})


def compare(
    real: Workload, synthetic: Workload, *, waits: bool = False, privacy: bool = False
) -> Comparison:
    """Compare a log with synthetic jobs.

    Distances (Kolmogorov–Smirnov) of widths, run times, gaps and estimates; the difference of
    squashed areas d_SA (3.11); correlation of width and run time; ρ₁ of both; cor₀ and cor₁; the
    share of equal neighbours; the hourly profile; the offered load; indices of dispersion, the
    variation of weekly work, night and weekend ratios of sizes, tails (`core.workload.rhythm`).

    Parameters
    ----------
    real, synthetic
        Jobs without width or run time are left out.
    waits
        Also simulate both under FCFS and EASY on their machines: mean waits, their ratio, and
        utilisation.
    privacy
        Also measure what of the log's unique records comes back.
    """
    from onega.comparison.privacy import privacy as measure

    found = measure(real, synthetic) if privacy else None
    return Comparison(Side.of(real, waits=waits), Side.of(synthetic, waits=waits), found)


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else math.nan

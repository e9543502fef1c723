"""What a real Slurm did with a stream: runs, their repeatability, overheads."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from onega.comparison.adequacy.adequacy import Adequacy, prefix_rows
from onega.comparison.adequacy.events import EventLog
from onega.core.machine.events import Events
from onega.core.machine.overheads import OVERHEADS, Overheads
from onega.core.plotting import Plottable
from onega.core.workload.workload import Workload

STATUS: Final = {"COMPLETED": "completed", "TIMEOUT": "timeout", "CANCELLED": "cancelled"}
"""Slurm's final states in a log's words; anything else has failed."""


@dataclass(frozen=True, slots=True, eq=False)
class VirtualRun:
    """One run: its log, a row per job, how clean it was, when slurmctld was started and stopped.

    Times are seconds of the stream, so that the start is before 0. What a beat of slurmctld's loop
    took beyond its second, and how long a backfill cycle took, on average.
    """

    log: Workload
    jobs: pl.DataFrame
    seconds: float
    stolen: float
    attempts: int = 1
    manager: tuple[float, float] | None = None
    beat: float = 0.0
    cycle: float = 0.0

    def events(self, events: Events | None = None) -> EventLog:
        """Return what happened as event streams, with the manager's own start and stop."""
        return EventLog.of(self.log, events, manager=self.manager)

    def quality(self) -> dict[str, float]:
        """Return figures that tell a disturbed run: lateness, overruns, stolen processor time."""
        late = self.jobs["submitted"] - self.jobs["due"]
        over = self.jobs.filter(pl.col("state") == "COMPLETED")["overrun"]
        return {
            "wall_seconds": self.seconds,
            "attempts": self.attempts,
            "stolen_seconds": self.stolen,
            "submission_late_mean": float(late.mean()),  # type: ignore[arg-type]
            "submission_late_max": float(late.max()),  # type: ignore[arg-type]
            "overrun_median": float(over.median()) if len(over) else math.nan,  # type: ignore[arg-type]
            "overrun_max": float(over.max()) if len(over) else math.nan,  # type: ignore[arg-type]
            "launch_mean": float(self.jobs["launch"].mean() or math.nan),  # type: ignore[arg-type]
            "cut_off": int((self.jobs["state"] == "TIMEOUT").sum()),
            "by_backfill": int((self.jobs["by"] == "backfill").sum()),
        }


@dataclass(frozen=True, slots=True, eq=False)
class VirtualResult(Plottable):
    """What a real Slurm did with a stream, once or several times. See `virtual`."""

    FIGURES: ClassVar[str] = "adequacy"

    stream: Workload
    procs: int
    speed: float
    parameters: str
    version: str
    runs: tuple[VirtualRun, ...]
    pairs: tuple[Adequacy, ...]
    overheads: Overheads

    @property
    def ideal(self) -> float:
        """P_ideal: the mean of P over all pairs of runs; NaN if there was one run only."""
        return float(np.mean([pair.P for pair in self.pairs])) if self.pairs else math.nan

    def prefixes(self) -> list[dict[str, float]]:
        """Return `prefix_rows` of all pairs of runs; empty if a pair can't be compared."""
        if not self.pairs or not all(pair.defined for pair in self.pairs):
            return []
        return prefix_rows(self.pairs)

    @property
    def results(self) -> dict[str, Adequacy]:
        """Return the pairs by name, for figures."""
        names = itertools.combinations(range(1, len(self.runs) + 1), 2)
        return {f"runs {a} and {b}": p for (a, b), p in zip(names, self.pairs, strict=True)}

    @property
    def best(self) -> str:
        """Return the first pair's name, for figures."""
        return next(iter(self.results))

    def summary(self) -> dict[str, Any]:
        """Everything in one flat dictionary."""
        values = [pair.P for pair in self.pairs]
        flat: dict[str, Any] = {
            "jobs": len(self.stream),
            "procs": self.procs,
            "speed": self.speed,
            "scheduler_parameters": self.parameters,
            "slurm": self.version,
            "runs": len(self.runs),
            "P_ideal": self.ideal if values else None,
            "P_ideal_min": min(values, default=None),
            "P_ideal_max": max(values, default=None),
            "P_pairs": values,
            "P_undefined": next((p.reason for p in self.pairs if not p.defined), None),
            "prefixes": self.prefixes(),
        }
        for number, run in enumerate(self.runs, start=1):
            wait = float(np.mean(run.log.column("wait")))
            flat[f"run{number}_mean_wait"] = wait
            flat |= {f"run{number}_{key}": value for key, value in run.quality().items()}
        for name in OVERHEADS:
            law = getattr(self.overheads, name)
            flat |= {f"overhead_{name}": str(law), f"overhead_{name}_mean": law.mean}
        return flat

    def to_polars(self) -> pl.DataFrame:
        """Return one row per run and job."""
        parts = [
            run.jobs.with_columns(pl.lit(number).alias("run"))
            for number, run in enumerate(self.runs, start=1)
        ]
        return pl.concat(parts)

"""Relations between neighbours in the order of submission (Song 2006, chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onega.core.types import Floats
from onega.core.workload.chains import (
    floor_power,
    mean_run_lengths,
    successor_means,
    temporal_summary,
    without_repeats,
)
from onega.traces.description.sections import Jobs, Summary, defined


class Run(NamedTuple):
    """How often one width is submitted in a row."""

    width: int
    jobs: int
    observed: float
    independent: float


class Successor(NamedTuple):
    """What follows the jobs of one class, [power, 2·power)."""

    power: float
    jobs: int
    mean: float


@dataclass(frozen=True, slots=True)
class Temporal:
    """Temporal relations, over jobs with a positive width and run time.

    Attributes
    ----------
    same_width
        Share of neighbouring jobs with the same width (Table 3.1).
    runs
        For each power of two: the mean length of uninterrupted runs of that width, and what it
        would be if widths were drawn independently, 1/(1 − p) with p the width's share (Fig. 3.1).
    width_successors
        For each class of widths [2^k, 2^(k+1)): the mean width of the next job, after repetitions
        have been reduced to one (U′ and U″ of §3.1; Fig. 3.2).
    runtime_successors
        For each class of run times [2^k, 2^(k+1)) s: the mean run time of the next job (Fig. 3.3).
    mean_width, mean_runtime
        The reference lines of these figures, over all jobs.
    rho1_width, rho1_runtime
        Lag-1 autocorrelation ρ₁ = Σ(x_i − x̄)(x_{i+1} − x̄) / Σ(x_i − x̄)² (Table 3.7).
    width_states, runtime_states
        Dimensions of the Markov chains over powers of two (Table 3.3).
    cor0, cor1
        Correlation of the two chains' paths (3.6), and of their changes where both change
        (3.7–3.10; Table 3.4). None if a path never changes.
    """

    same_width: float
    runs: tuple[Run, ...]
    width_successors: tuple[Successor, ...]
    runtime_successors: tuple[Successor, ...]
    mean_width: float
    mean_runtime: float
    rho1_width: float | None
    rho1_runtime: float | None
    width_states: int
    runtime_states: int
    cor0: float | None
    cor1: float | None
    missing: dict[str, str]

    def summary(self) -> Summary:
        """Keys ``same_procs``, ``rho1_procs``, ``rho1_runtime``, ``cor0``, ``cor1`` and more."""
        return {
            "same_procs": self.same_width,
            "rho1_procs": self.rho1_width,
            "rho1_runtime": self.rho1_runtime,
            "states_procs": self.width_states,
            "states_runtime": self.runtime_states,
            "cor0": self.cor0,
            "cor1": self.cor1,
            "runs": [run._asdict() for run in self.runs],
            "procs_successors": [one._asdict() for one in self.width_successors],
            "runtime_successors": [one._asdict() for one in self.runtime_successors],
        }


def temporal(jobs: Jobs) -> Temporal:
    """Measure how a job depends on the one submitted before it."""
    width, runtime = jobs.pairs(needed=2)
    found = temporal_summary(width, runtime)
    cor0, cor1 = defined(found["cor0"]), defined(found["cor1"])
    rho_width, rho_runtime = defined(found["rho1_procs"]), defined(found["rho1_runtime"])
    missing = {}
    if rho_width is None:
        missing["rho1_procs"] = f"all jobs are {width[0]:g} processors wide"
    if rho_runtime is None:
        missing["rho1_runtime"] = f"all jobs run {runtime[0]:g} s"
    for name, value in (("cor0", cor0), ("cor1", cor1)):
        if value is None:
            missing[name] = "the width's or the run time's power of two never changes"
    return Temporal(
        same_width=found["same_procs"],
        runs=_runs(width),
        width_successors=_successors(without_repeats(width)),
        runtime_successors=_successors(runtime),
        mean_width=float(width.mean()),
        mean_runtime=float(runtime.mean()),
        rho1_width=rho_width,
        rho1_runtime=rho_runtime,
        width_states=found["states_procs"],
        runtime_states=found["states_runtime"],
        cor0=cor0,
        cor1=cor1,
        missing=missing,
    )


def _runs(width: Floats) -> tuple[Run, ...]:
    values, counts = np.unique(width, return_counts=True)
    jobs = dict(zip(values.tolist(), counts.tolist()))
    return tuple(
        Run(power, jobs[power], observed, independent)
        for power, (observed, independent) in mean_run_lengths(width).items()
    )


def _successors(values: Floats) -> tuple[Successor, ...]:
    if values.size < 2:
        return ()
    powers, counts = np.unique(floor_power(values[:-1]), return_counts=True)
    means = successor_means(values)
    return tuple(
        Successor(power, count, means[power])
        for power, count in zip(powers.tolist(), counts.tolist())
    )

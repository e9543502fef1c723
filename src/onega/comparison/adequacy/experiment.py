"""A log's statistics, run for real and simulated (Baranov et al. 2019, VIII)."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from onega.comparison.adequacy.adequacy import Adequacy, adequacy, table_sizes
from onega.comparison.virtual_slurm.result import VirtualResult
from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.machine.overheads import Overheads
from onega.core.policy import SLURM, Policy
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.schedule.schedule import Schedule
from onega.core.slurm.parameters import SlurmParameters
from onega.core.workload.workload import Workload
from onega.models import MODELS
from onega.simulation.simulate import simulate
from onega.traces.reading import read

SHORTEST = 10.0
"""Seconds that a job of a shrunk stream runs at least: shorter ones are all launch."""


def make_stream(
    log: Workload,
    jobs: int = 1000,
    *,
    procs: int,
    shrink: float = 1.0,
    load: float | None = None,
    rng: Rng = None,
) -> Workload:
    """Draw a stream with a log's statistics, for runs on virtual nodes.

    Parameters
    ----------
    log
        What the stream is to be like.
    jobs
        How many.
    procs
        Machine it is for.
    shrink
        All times are divided by it, so that days of a log fit into minutes; run times are at least
        `SHORTEST`, whole seconds. A stream of its own right, not a miniature: limits stay whole
        minutes, Slurm's intervals stay what they are.
    load
        Offered load; as learnt if None.
    """
    if not (math.isfinite(shrink) and shrink > 0):
        raise SimulationError(f"shrink is a positive number, got {shrink}")
    seed = seed_sequence(rng)
    fitted = MODELS["markov"].fit(log, rng=child(seed, 0))
    drawn = fitted.sample(jobs, rng=child(seed, 1), load=load, cluster=procs)
    first = float(drawn.column("submit").min())
    runtime = (pl.col("runtime") / shrink).round().clip(lower_bound=SHORTEST)
    return drawn.with_columns(
        ((pl.col("submit") - first) / shrink).round().alias("submit"),
        runtime.alias("runtime"),
        # A job that is cut off at its limit tells of the limit, not of the scheduler.
        pl.max_horizontal(pl.col("estimate") / shrink, runtime).ceil().alias("estimate"),
        pl.lit(None, dtype=pl.Float64).alias("wait"),
        note=f"times divided by {shrink:g}, run times at least {SHORTEST:g} s",
    )


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable:
    """Models beside the real system's own repeatability: the paper's Table I, a row per model.

    Attributes
    ----------
    ideal
        P of every pair of real runs.
    rows
        Columns ``model``, ``overheads``, ``P`` (mean over real runs and draws),
        ``P_median``, ``P_min``, ``P_max``, ``P_own`` (mean over pairs of the model's own draws),
        ``mean_wait``, ``P_50``, ``P_100``, … for prefixes, and ``ratio_low`` …
        ``wait_error_high``: what chance makes of an exact model, 5 and 95 %.
    """

    ideal: tuple[float, ...]
    rows: pl.DataFrame

    @property
    def best(self) -> dict[str, Any]:
        """The model that is nearest on average."""
        models = self.rows.filter(pl.col("model") != REAL)
        return models.sort("P").row(0, named=True)

    def summary(self) -> dict[str, Any]:
        """Return ``MODEL[+overheads].P``, its median, and the best of them."""
        flat: dict[str, Any] = {"best": None, "best_P": None}
        for row in self.rows.iter_rows(named=True):
            name = f"{row['model']}{'+overheads' if row['overheads'] else ''}"
            flat[f"{name}.P"] = row["P"]
            flat[f"{name}.P_median"] = row["P_median"]
            if row["P_own"] is not None:
                flat[f"{name}.P_own"] = row["P_own"]
        best = self.best
        flat["best"] = f"{best['model']}{'+overheads' if best['overheads'] else ''}"
        flat["best_P"] = best["P"]
        return flat

    def to_polars(self) -> pl.DataFrame:
        """Return the rows."""
        return self.rows


REAL = "the real Slurm"
DRAWS = 5
SUBSETS = 1000
STREAM, RUNS, REPORT, LAWS = "stream.swf", "run-*.swf", "report.json", "overheads.json"


@dataclass(frozen=True, slots=True, eq=False)
class RealRuns:
    """Real runs of one stream, and what a model needs to repeat them.

    Attributes
    ----------
    stream
        The jobs as they were submitted, with the run times that they asked for.
    logs
        What became of them, a log for each run.
    procs, parameters
        The machine, and its SchedulerParameters.
    overheads
        Laws for the models.
    """

    stream: Workload
    logs: tuple[Workload, ...]
    procs: int
    parameters: str
    overheads: Overheads

    @classmethod
    def of(cls, result: VirtualResult) -> RealRuns:
        """Take the runs that `virtual` made."""
        logs = tuple(run.log for run in result.runs)
        return cls(result.stream, logs, result.procs, result.parameters, result.overheads)

    @classmethod
    def read(cls, folder: str | os.PathLike[str], overheads: Overheads | None = None) -> RealRuns:
        """Read the folder that `virtual` wrote; its own overheads if no others are given.

        Raises
        ------
        SimulationError
            A file is missing, or isn't what `virtual` writes.
        """
        place = Path(folder)
        try:
            told = json.loads((place / REPORT).read_text(encoding="utf-8"))
            procs, parameters = int(told["procs"]), str(told["scheduler_parameters"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SimulationError(
                f"{place} isn't a folder of `onega virtual`: {REPORT}: {error!r:.80}"
            ) from None
        return cls(
            read(place / STREAM),
            tuple(read(path) for path in run_files(place)),
            procs,
            parameters,
            overheads or Overheads.load(place / LAWS),
        )

    def pairs(self) -> tuple[Adequacy, ...]:
        """Compare every two runs."""
        return tuple(adequacy(a, b) for a, b in itertools.combinations(self.logs, 2))


def run_files(folder: Path) -> list[Path]:
    """Return the runs in a folder of `virtual`, in their order."""
    return sorted(folder.glob(RUNS), key=lambda path: (len(path.name), path.name))


def compare_with_models(
    runs: RealRuns,
    policies: Sequence[str] = ("fcfs", "easy", "conservative", SLURM),
    *,
    draws: int = DRAWS,
    rng: Rng = None,
) -> ModelTable:
    """Simulate the stream of real runs under policies, without and with measured overheads.

    Parameters
    ----------
    runs
        ``slurm`` among the policies takes the parameters that they ran with.
    draws
        Simulations of each policy in which anything is random: overheads, and where in the second
        Slurm's loops stand.
    rng
        Their seed.
    """
    seed, pairs = seed_sequence(rng), runs.pairs()
    rows = [_row(REAL, overheads=False, found=pairs)] if pairs else []
    for place, name in enumerate(policies):
        policy = _policy(runs, name)
        for laws in (None, runs.overheads):
            cluster = Cluster(runs.procs, overheads=laws)
            count = draws if laws or policy.order == SLURM else 1
            drawn = [
                simulate(runs.stream, cluster, policy, rng=child(seed, place, draw))
                for draw in range(count)
            ]
            found = [adequacy(log, model) for log in runs.logs for model in drawn]
            row = _row(name, overheads=laws is not None, found=found)
            rows.append(row | _among(drawn, len(runs.logs), seed))
    return ModelTable(tuple(pair.P for pair in pairs), pl.DataFrame(rows))


def _policy(runs: RealRuns, name: str) -> Policy:
    """Return a policy by its name; ``slurm`` has the parameters of the runs."""
    policy = Policy.parse(name).knowing("estimate")
    if name != SLURM:
        return policy
    parameters = SlurmParameters.of({"schedulerparameters": runs.parameters}, "real")
    return replace(policy, slurm=parameters)


def _among(drawn: Sequence[Schedule], runs: int, rng: Rng) -> dict[str, float | None]:
    """Compare a model's draws with each other.

    If the model were exact, real runs would be draws too. So as many draws as there are real runs
    are taken for those again and again: between which bounds are the ratio of P to their own, and
    the error of the mean wait, in nine cases of ten?
    """
    pairs = {
        (a, b): adequacy(drawn[a], drawn[b]).P
        for a, b in itertools.combinations(range(len(drawn)), 2)
    }
    found: dict[str, float | None] = {"P_own": float(np.mean([*pairs.values()])) if pairs else None}
    if not 2 <= runs < len(drawn) or not all(pairs.values()):
        return found  # draws that are equal: nothing is random
    waits = np.array([one.summary()["mean_wait"] for one in drawn])
    chance, ratios, errors = generator(child(rng, runs)), [], []
    for _ in range(SUBSETS):
        taken = np.isin(np.arange(len(drawn)), chance.choice(len(drawn), runs, replace=False))
        within = [P for (a, b), P in pairs.items() if taken[a] and taken[b]]
        across = [P for (a, b), P in pairs.items() if taken[a] != taken[b]]
        ratios.append(np.mean(across) / np.mean(within))
        errors.append(waits[~taken].mean() / waits[taken].mean() - 1)
    for name, values in (("ratio", ratios), ("wait_error", errors)):
        low, high = np.quantile(values, (0.05, 0.95))
        found |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return found


def _row(name: str, *, overheads: bool, found: Sequence[Adequacy]) -> dict[str, Any]:
    values = [one.P for one in found]
    row: dict[str, Any] = {
        "model": name,
        "overheads": overheads,
        "P": float(np.mean(values)),
        "P_median": float(np.median(values)),
        "P_min": min(values),
        "P_max": max(values),
        "P_own": None,
        "mean_wait": float(np.mean([one.summary()["mean_wait_model"] for one in found])),
    }
    sizes = table_sizes(found[0].jobs)
    prefixes = [one.prefixes(sizes) for one in found]
    for place, size in enumerate(sizes):
        row[f"P_{size}"] = float(np.mean([rows[place].P for rows in prefixes]))
    return row

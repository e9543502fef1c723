"""The adequacy experiment of seed 004, VIII: a log's statistics, run for real and simulated."""

from __future__ import annotations

import math

import polars as pl

from onega.core.errors import SimulationError
from onega.core.rng import Rng, child, seed_sequence
from onega.core.workload import Workload
from onega.models import MODELS

SHORTEST = 10.0
"""Seconds that a job of a shrunk stream runs at least: shorter ones are all launch."""


def make_stream(
    log: Workload,
    jobs: int = 1000,
    *,
    procs: int,
    shrink: float = 1.0,
    load: float | None = None,
    model: str = "markov",
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
    model
        Name of a workload model.
    """
    if not (math.isfinite(shrink) and shrink > 0):
        raise SimulationError(f"shrink is a positive number, got {shrink}")
    seed = seed_sequence(rng)
    fitted = MODELS[model].fit(log, rng=child(seed, 0))
    drawn = fitted.sample(jobs, rng=child(seed, 1), load=load, machine=procs)
    first = float(drawn.column("submit").min())
    runtime = (pl.col("runtime") / shrink).round().clip(lower_bound=SHORTEST)
    return drawn.with_columns(
        ((pl.col("submit") - first) / shrink).round().alias("submit"),
        runtime.alias("runtime"),
        # Whoever is cut off at the limit tells of the limit, not of the scheduler.
        pl.max_horizontal(pl.col("estimate") / shrink, runtime).ceil().alias("estimate"),
        pl.lit(None, dtype=pl.Float64).alias("wait"),
        note=f"times divided by {shrink:g}, run times at least {SHORTEST:g} s",
    )

"""Logs made for the tests of descriptions."""

from __future__ import annotations

import numpy as np

from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload

EPOCH = 843480031.0


def full_log(jobs: int = 400, seed: int = 7) -> Workload:
    """A log that has everything."""
    rng = np.random.default_rng(seed)
    runtime = rng.lognormal(6, 2, jobs).round() + 1
    return Workload(
        {
            "submit": np.cumsum(rng.exponential(1800, jobs)).round(),
            "runtime": runtime,
            "procs": rng.choice([1, 1, 1, 2, 3, 4, 8, 12, 16], jobs),
            "estimate": rng.choice([300.0, 3600.0, 14400.0], jobs) + (runtime > 3600) * 86400,
            "wait": rng.exponential(600, jobs).round(),
            "user": rng.integers(1, 15, jobs),
            "requested_memory": np.full(jobs, 2.0**30),
        },
        Meta(source="made.swf", epoch=EPOCH, timezone="Europe/Stockholm", procs=16),
    )


def small_log(**columns) -> Workload:
    """A log of three jobs; columns and meta (by name) replace or add."""
    meta = columns.pop("meta", Meta())
    table = {"submit": [0.0, 10.0, 30.0], "runtime": [60.0, 60.0, 5.0], "procs": [1, 1, 4]}
    return Workload({**table, **columns}, meta)

"""Describing a log of 200 000 jobs, as a multiple of sorting one of its columns in NumPy.

A description takes about a dozen sorts' worth of percentiles, modes, chains and cycles; the ratio
tells a slow machine from a slow program.
"""

from __future__ import annotations

import time

import numpy as np

import onega

JOBS = 200_000


def log() -> onega.Workload:
    """A log that has everything."""
    rng = np.random.default_rng(1)
    runtime = rng.lognormal(7, 2, JOBS).round() + 1
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(500, JOBS)).round(),
            "runtime": runtime,
            "procs": rng.integers(1, 128, JOBS),
            "estimate": np.ceil(runtime / 900) * 900,
            "wait": rng.exponential(3000, JOBS).round(),
            "user": rng.integers(1, 300, JOBS),
        },
        onega.Meta(epoch=1e9, timezone="Europe/Stockholm", procs=128),
    )


def best(function, repeats: int = 5) -> float:
    """Seconds of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the ratio."""
    workload = log()
    runtime = np.array(workload.column("runtime"))
    describing = best(lambda: onega.describe(workload))
    sorting = best(lambda: np.sort(runtime, kind="stable"))
    ratio = describing / sorting
    print(f"describe {JOBS:,} jobs: {describing:.2f} s = {ratio:.0f} × sorting a column")


if __name__ == "__main__":
    main()

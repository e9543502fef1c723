"""The measure on a million jobs, as a multiple of sorting one column; the model of Slurm per job.

P with everything beside it takes a few sorts (pairing by id and by submission, deciles,
distributions); the ratio tells a slow machine from a slow program. Budget: a million jobs in 2 s.
"""

from __future__ import annotations

import time

import numpy as np

import onega

JOBS = 1_000_000
STREAM = 5_000


def log(wait: np.ndarray) -> onega.Workload:
    rng = np.random.default_rng(1)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(50, JOBS)).round(),
            "runtime": rng.lognormal(6, 2, JOBS).round() + 1,
            "procs": rng.integers(1, 128, JOBS),
            "estimate": np.full(JOBS, 86400.0),
            "wait": wait,
        }
    )


def best(function, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(2)
    wait = rng.exponential(3000, JOBS)
    real, model = log(wait), log(wait + rng.normal(0, 100, JOBS).clip(0))
    values = real.column("runtime")
    sort = best(lambda: np.sort(values))
    measure = best(lambda: onega.adequacy(real, model).summary())
    print(f"adequacy of {JOBS:,} jobs: {measure:.2f} s, {measure / sort:.0f} sorts of a column")

    runtime = rng.integers(10, 3600, STREAM).astype(float)
    width = 2 ** rng.integers(0, 6, STREAM)
    gap = float((runtime * width).mean()) / 128 / 0.85
    stream = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(gap, STREAM)),
            "runtime": runtime,
            "procs": width,
            "estimate": 2 * runtime,
        }
    )
    times = {}
    for policy in ("slurm", "slurm:fine", "conservative"):
        onega.simulate(stream.head(100), 128, policy)
        times[policy] = best(lambda policy=policy: onega.simulate(stream, 128, policy))
    for policy in ("slurm", "slurm:fine"):
        print(
            f"{policy} on {STREAM:,} jobs: {STREAM / times[policy]:,.0f} jobs/s, "
            f"{times[policy] / times['conservative']:.0f} times conservative backfilling"
        )
    thousand = stream.head(1000)
    fine = best(lambda: onega.simulate(thousand, 128, "slurm:fine"))
    print(f"slurm:fine on a stream of 1000 jobs: {1000 / fine:,.0f} jobs/s (at least 5 000)")
    years = onega.Workload({"submit": [0.0, 1.7e9], "runtime": [60.0, 60.0], "procs": [1, 1]})
    idle = best(lambda: onega.simulate(years, 4, "slurm"))
    print(f"slurm over 1.7e9 idle seconds: {1000 * idle:.1f} ms")


if __name__ == "__main__":
    main()

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


def make_stream(count: int, load: float) -> onega.Workload:
    rng = np.random.default_rng(2)
    runtime = rng.integers(10, 3600, count).astype(float)
    width = 2 ** rng.integers(0, 6, count)
    gap = float((runtime * width).mean()) / 128 / load
    submit = np.cumsum(rng.exponential(gap, count))
    return onega.Workload(
        {"submit": submit, "runtime": runtime, "procs": width, "estimate": 2 * runtime}
    )


def best(function, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(2)
    wait = rng.exponential(3000, JOBS)
    real, model = log(wait), log(wait + rng.normal(0, 100, JOBS).clip(0))
    values = real.column("runtime")
    sort = best(lambda: np.sort(values))
    measure = best(lambda: onega.adequacy(real, model).summary())
    print(f"adequacy of {JOBS:,} jobs: {measure:.2f} s, {measure / sort:.0f} sorts of a column")

    stream = make_stream(STREAM, 0.85)
    times = {}
    for policy in ("slurm", "slurm:fine", "conservative"):
        onega.simulate(stream.head(100), 128, policy)
        times[policy] = best(lambda policy=policy: onega.simulate(stream, 128, policy))
    for policy in ("slurm", "slurm:fine"):
        print(
            f"{policy} on {STREAM:,} jobs: {STREAM / times[policy]:,.0f} jobs/s, "
            f"{times[policy] / times['conservative']:.0f} times conservative backfilling"
        )
    for load in (0.85, 1.0, 1.1):
        thousand = make_stream(1000, load)
        for laws in (None, "measured"):
            cluster = onega.Cluster(128, overheads=laws)
            fine = best(lambda s=thousand, c=cluster: onega.simulate(s, c, "slurm:fine", rng=1))
            more = " with overheads" if laws else ""
            print(f"slurm:fine{more}, 1000 jobs at a load of {load}: {1000 / fine:,.0f} jobs/s "
                  "(at least 5 000)")  # fmt: skip
    years = onega.Workload({"submit": [0.0, 1.7e9], "runtime": [60.0, 60.0], "procs": [1, 1]})
    idle = best(lambda: onega.simulate(years, 4, "slurm"))
    print(f"slurm over 1.7e9 idle seconds: {1000 * idle:.1f} ms")


if __name__ == "__main__":
    main()

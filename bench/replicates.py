"""Replicates and plans: what they add to the simulations, and what common workloads save.

The jobs are made up: two months of a machine of 128 processors. Ratios within one run.
"""

from __future__ import annotations

import time

import numpy as np

import onega
from onega.experiment.replicates.draws import make_draws
from onega.experiment.workers.workers import Threads

N = 30


def log(jobs: int = 20_000) -> onega.Workload:
    rng = np.random.default_rng(1)
    return onega.Workload(
        {
            "submit": np.sort(rng.uniform(0, 60 * 86400, jobs)).round(),
            "runtime": rng.lognormal(7.0, 1.6, jobs).round() + 1,
            "procs": 2 ** rng.integers(0, 6, jobs),
            "user": rng.integers(1, 60, jobs),
        },
        onega.Meta(procs=128),
    )


def clock(function, *arguments, **options) -> float:
    begin = time.perf_counter()
    function(*arguments, **options)
    return time.perf_counter() - begin


def simulate_all(workloads: list[onega.Workload]) -> None:
    for one in workloads:
        onega.simulate(one, 128, "easy").summary()


def replicate(workload: onega.Workload, by: str = "weeks", threads: int = 1) -> None:
    onega.replicate(
        workload, 128, "easy", replicates=N, resample=by, rng=1, workers=Threads(threads)
    )


def main() -> None:
    workload = log()
    onega.simulate(workload, 128, "easy").summary()  # compile
    for by in ("weeks", "users"):
        draws = make_draws(workload, resample=by, rng=1)
        drawn = [draws.workload(k) for k in range(N)]
        bare, whole = clock(simulate_all, drawn), clock(replicate, workload, by)
        print(f"{N} replicates by {by} / the simulations alone: {whole / bare:.2f}")
    one, two = (clock(replicate, workload, threads=count) for count in (1, 2))
    print(f"one thread / two threads: {one / two:.2f}")
    both = onega.replicate(workload, 128, ["easy", "spf+easy"], replicates=N, rng=1)
    a, b = (both.of("mean(wait)", policy) for policy in ("easy", "spf+easy"))
    apart = np.var(a) + np.var(b)
    print(f"variance of a difference, separate / common workloads: {apart / np.var(a - b):.1f}")
    plan = onega.plan(workload, "p95(wait)<1h", replicates=40, rng=1)
    most = 40 * len(plan.trials)
    print(f"runs of a plan / runs without stopping early: {plan.runs / most:.2f} ({plan.runs})")


if __name__ == "__main__":
    main()

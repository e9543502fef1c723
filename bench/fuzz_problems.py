"""Fuzz the engines with bounds of all arrays checked: random problems, and their measures.

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=FOLDER python bench/fuzz_problems.py [--problems 5000]

`make bounds` does so with a cache of its own: compiled kernels that check are other kernels, and
numba's cache doesn't tell them apart. Every tenth problem is a log under a policy of a pool or the
model of Slurm; the others are the twins' random problems of the machine in detail, of any mixture
of mechanisms. Of all of them everything that is measured is asked for. An index out of bounds
ends the run with the seed that shows it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numba
import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import onega
from onega.simulation.machine.result import make_schedule
from onega.simulation.machine.run import run
from reference.machine.problems import random_mixture
from simulation.cases import CONTROLS, POLICIES, random_case

POWER = onega.Power(busy=10, idle=5)
EVERY = 10
"""One problem of so many is of a pool."""


def measured(schedule: onega.Schedule) -> None:
    """Ask for all that is computed from a schedule."""
    summary = schedule.summary()
    assert summary["makespan"] >= 0
    assert schedule.system.height >= 1
    assert schedule.jobs.height == len(schedule)


def on_a_machine(seed: int) -> None:
    problem = random_mixture(seed)
    outcome = run(problem)
    first = problem.jobs["first_option"]
    jobs = {
        "submit": problem.jobs["submit"],
        "runtime": problem.options["work"][first],
        "procs": problem.options["procs"][first],
        "estimate": problem.options["expect"][first],
    }
    cluster = onega.Cluster(int(problem.nodes.capacity[:, 0].sum()), power=POWER)
    if len(problem.rates.rates) > 1:
        cluster = onega.Cluster(cluster.procs)
    rows = np.arange(problem.jobs.size)
    run_of = (problem, outcome, rows)
    measured(make_schedule(onega.Workload(jobs), cluster, onega.Policy.parse("easy"), run_of))


def in_a_pool(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, backfill = POLICIES[int(rng.integers(len(POLICIES)))]
    ties = ["instant", "event"][int(rng.integers(2))]
    case = random_case(seed, order, backfill, ties, CONTROLS[int(rng.integers(len(CONTROLS)))])
    jobs = {
        name: np.array([float(value or 1) for value in getattr(case, name)])
        for name in ("submit", "runtime", "estimate")
    }
    log = onega.Workload({**jobs, "procs": np.array(case.procs)})
    if rng.random() < 0.3:
        cluster = onega.Cluster(case.machine, overheads="measured" if seed % 3 else None)
        measured(onega.simulate(log, cluster, ["slurm", "slurm:fine"][seed % 2], rng=seed))
    down = {"time": [float(rng.integers(0, 9))], "event": ["down"], "procs": [case.machine]}
    events = pl.DataFrame(down) if rng.random() < 0.2 else None
    name = order if backfill is None else f"{order}+{backfill}"
    only_of_pools = order.endswith("-pr") or backfill == "easy-2018"
    if order in ("static", "dynamic") or (events is not None and only_of_pools):
        name = "spf+easy"
    rates = onega.RateControl("queue", rates=(0.5, 1.0), k_low=1, k_high=3)
    options = {"ties": ties, "rates": rates if rng.random() < 0.3 else None}
    if events is not None:
        options = {"events": events}
    measured(onega.simulate(log, case.machine, name, rng=seed, **options))


def fuzz() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if not numba.config.BOUNDSCHECK:
        print("bounds are not checked: set NUMBA_BOUNDSCHECK=1 (and a NUMBA_CACHE_DIR)")
    began = time.monotonic()
    for seed in range(given.seed, given.seed + given.problems):
        try:
            in_a_pool(seed) if seed % EVERY == 0 else on_a_machine(seed)
        except BaseException:
            print(f"seed {seed}:")
            raise
    print(f"{given.problems} problems in {time.monotonic() - began:.0f} s, no index out of bounds")


if __name__ == "__main__":
    fuzz()

"""First come, first served at rate 1 is a recursion, which gives what the general loop gives.

An order whose key is the same for all jobs is first come, first served too, and takes the
general loop.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import onega
from onega.core.policy import Policy, Priority
from onega.core.workload.workload import Workload
from reference.schedulers import Control
from simulation.cases import compare, random_case


def same_for_all(now, submit, estimate, procs):
    return 0.0


GENERAL = Priority(same_for_all, static=True)


@pytest.mark.parametrize("backfill", [None, "easy"])
def test_small_cases_against_the_twin(backfill):
    for seed in range(50_000, 50_400):
        case = random_case(seed, "fcfs", backfill, "instant", "none")
        case = dataclasses.replace(case, control=Control("none", (1,)))
        try:
            compare(case, case.run(), case.twin())
        except AssertionError:
            print(case)
            raise


def log(seed: int, jobs: int, machine: int, load: float, whole: bool) -> Workload:
    """Bursts of jobs of any width, with estimates too long, too short and missing."""
    rng = np.random.default_rng(seed)
    runtime = rng.lognormal(4, 1.5, jobs) + 1
    procs = np.minimum(machine, (machine ** rng.random(jobs) ** 1.5).astype(int) + 1)
    gap = (runtime * procs).mean() / machine / load
    submit = np.cumsum(rng.exponential(5 * gap, jobs) * (rng.random(jobs) < 0.2))
    if whole:
        submit, runtime = np.floor(submit), np.ceil(runtime)
    estimate = [
        None if choice == 3 else float(np.ceil(r * (0.5, 1.0, 4.0)[choice]))
        for r, choice in zip(runtime, rng.choice(4, jobs, p=[0.1, 0.2, 0.6, 0.1]))
    ]
    return Workload({"submit": submit, "runtime": runtime, "procs": procs, "estimate": estimate})


@pytest.mark.parametrize(
    ("jobs", "machine", "load", "whole", "longest"),
    [
        (30_000, 64, 0.8, True, 50),
        (30_000, 64, 0.8, False, 50),
        (20_000, 1, 0.9, True, 20),
        (20_000, 2000, 1.0, True, 300),
        (12_000, 100, 2.5, True, 2500),
        (12_000, 100, 3.0, False, 3500),
    ],
)
def test_thousands_of_jobs_against_the_general_loop(jobs, machine, load, whole, longest):
    workload = log(jobs, jobs, machine, load, whole)
    quick = onega.simulate(workload, machine, "fcfs")
    general = onega.simulate(workload, machine, Policy(GENERAL))
    assert general.system["waiting"].max() > longest
    assert quick.start.tolist() == general.start.tolist()
    assert quick.end.tolist() == general.end.tolist()


def test_a_burst_of_thousands_at_once():
    jobs = 5000
    workload = Workload(
        {
            "submit": np.zeros(jobs),
            "runtime": np.arange(1.0, jobs + 1),
            "procs": np.ones(jobs, dtype=int),
        }
    )
    schedule = onega.simulate(workload, 1, "easy")
    assert (np.sort(schedule.start) == np.concatenate([[0], np.cumsum(np.arange(1.0, jobs))])).all()


def test_progress_tells_the_share_of_the_log_and_ends_at_one():
    told = []
    workload = log(1, 2000, 16, 0.8, True)
    for policy in ("fcfs", "easy", "spf+easy", "lcfs-pr"):
        told.clear()
        onega.simulate(workload, 16, policy, progress=told.append)
        assert told[-1] == 1.0
        assert told == sorted(told)

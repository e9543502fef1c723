"""Queues of hundreds of jobs, so that the blocks of the kernels' queue fill, split and empty."""

from __future__ import annotations

import numpy as np
import pytest

from reference import slots
from reference.schedulers import Control, Job
from simulation.cases import Case, compare, exact

KEYS = {
    "fcfs": lambda j, job: j,
    "lcfs": lambda j, job: -j,
    "spf": lambda j, job: job.estimate,
    "lpf": lambda j, job: -job.estimate,
    "saf": lambda j, job: job.estimate * job.procs,
}


def crowd(seed: int, jobs: int, machine: int, *, order="fcfs", backfill=None, ties="instant"):
    """A burst of jobs that nearly all wait, estimates mostly too long, some too short."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 30, jobs)
    estimate = np.maximum(1, (runtime * rng.choice([0.5, 1, 1, 2, 5], jobs)).astype(int))
    gaps = rng.choice([0, 0, 0, 1], jobs)
    return Case(
        np.cumsum(gaps).tolist(),
        runtime.tolist(),
        rng.integers(1, machine + 1, jobs).tolist(),
        estimate.tolist(),
        machine,
        order,
        backfill,
        ties,
    )


def campaigns(seed: int, jobs: int, machine: int, *, order="fcfs", ties="instant"):
    """The same, in trains of up to 40 jobs that ask for the same and end at different times."""
    rng = np.random.default_rng(seed)
    train = np.repeat(np.arange(jobs), rng.integers(1, 41, jobs))[:jobs]
    estimate = rng.choice([5, 10, 20, 40], jobs)[train]
    return Case(
        np.cumsum(rng.choice([0, 0, 0, 3], jobs))[train].tolist(),
        np.maximum(1, (estimate * rng.choice([0.1, 0.4, 0.8, 1, 1.2], jobs)).astype(int)).tolist(),
        rng.choice([1, 1, 2, 3, 8, machine // 2], jobs)[train].tolist(),
        estimate.tolist(),
        machine,
        order,
        "conservative",
        ties,
    )


def longest_queue(case: Case) -> int:
    return case.run().system["waiting"].max()


LONG = [
    ("fcfs", None, "event"),
    ("fcfs", "easy", "instant"),
    ("lcfs", "easy", "event"),
    ("spf", "easy", "instant"),
    ("dynamic", "easy", "instant"),
    ("dynamic", None, "event"),
    ("lcfs-pr", None, "event"),
    ("spf-pr", None, "instant"),
    ("lpf-pr", None, "event"),
]


@pytest.mark.parametrize(("order", "backfill", "ties"), LONG)
def test_more_than_two_blocks_wait(order, backfill, ties):
    case = crowd(1, 380, 16, order=order, backfill=backfill, ties=ties)
    assert longest_queue(case) > 2 * 128
    compare(case, case.run(), case.twin())


def test_rates_change_while_hundreds_wait():
    control = Control("queue", (1, 2), k_low=(100,), k_high=(200,))
    case = crowd(2, 300, 16, order="spf", backfill="easy")
    case = Case(**{**vars(case), "control": control})
    schedule, out = case.run(), case.twin()
    assert exact(out, 300)
    assert schedule.rates.since.size > 2
    compare(case, schedule, out)


def slot_starts(case: Case) -> list[int]:
    jobs = case.jobs()
    keys = [KEYS[case.order](j, job) for j, job in enumerate(jobs)]
    return slots.starts(jobs, case.machine, keys, case.backfill)


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
@pytest.mark.parametrize("order", sorted(KEYS))
def test_slots_agree_with_the_twin(order, backfill):
    for seed in range(20):
        case = crowd(seed, 12, 5, order=order, backfill=backfill)
        assert slot_starts(case) == case.twin().start


def compare_with_slots(seed, jobs, order, backfill):
    case = crowd(seed, jobs, 24, order=order, backfill=backfill)
    assert longest_queue(case) > jobs // 2
    assert case.run().start.tolist() == slot_starts(case)


@pytest.mark.parametrize(
    ("order", "backfill", "jobs"),
    [
        ("fcfs", "conservative", 300),
        ("spf", "conservative", 250),
        ("lcfs", "conservative", 250),
        ("saf", "easy", 500),
        ("lpf", "easy", 500),
    ],
)
def test_long_queues_by_slots(order, backfill, jobs):
    compare_with_slots(3, jobs, order, backfill)


@pytest.mark.parametrize("order", ["fcfs", "spf"])
def test_trains_of_equal_jobs_by_slots(order):
    case = campaigns(5, 400, 24, order=order)
    assert longest_queue(case) > 128
    assert case.run().start.tolist() == slot_starts(case)


def test_trains_of_equal_jobs_by_event():
    case = campaigns(6, 250, 16, ties="event")
    assert longest_queue(case) > 64
    compare(case, case.run(), case.twin())


@pytest.mark.verification
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("order", sorted(KEYS))
def test_many_trains_by_slots(order, seed):
    case = campaigns(100 + seed, 600, 24 + seed, order=order)
    assert case.run().start.tolist() == slot_starts(case)


@pytest.mark.verification
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("backfill", ["easy", "conservative"])
@pytest.mark.parametrize("order", sorted(KEYS))
def test_very_long_queues_by_slots(order, backfill, seed):
    compare_with_slots(100 + seed, 1500 if backfill == "easy" else 600, order, backfill)


@pytest.mark.parametrize("first", [0, 300])
@pytest.mark.parametrize("backfill", ["easy", "conservative"])
@pytest.mark.parametrize("order", ["fcfs", "lcfs", "spf"])
def test_thousands_come_at_once(order, backfill, first):
    # to an empty queue, or to one that `first` jobs already wait in; one processor serves them all
    n = 9000
    runtime = np.random.default_rng(4).permutation(n) + 1
    submit = np.concatenate([[0], np.repeat([1, 2], [first, n - 1 - first])])
    case = Case(submit.tolist(), (runtime + 1).tolist(), [1] * n, [None] * n, 1, order, backfill)
    if first == 0:
        case = Case(**{**vars(case), "submit": [0] * n})
    keys = {"fcfs": np.arange(n), "lcfs": -np.arange(n), "spf": runtime}[order]
    served = np.argsort(keys, kind="stable")
    if first:  # the first one starts alone
        served = np.concatenate([[0], served[served != 0]])
    expected = np.empty(n)
    expected[served] = np.concatenate([[0], np.cumsum(runtime[served] + 1)[:-1]])
    assert case.run().start.tolist() == expected.tolist()


def test_jobs_that_wait_for_ever_are_not_lost():
    # a full-width job under spf is passed by until no other job is there
    jobs = 500
    case = Case(
        [0, 1, *range(1, jobs + 1)],
        [3, 500, *[2] * jobs],
        [2, 2, *[1] * jobs],
        [None] * (jobs + 2),
        2,
        "spf",
    )
    out = case.run()
    assert out.start[1] == out.end[2:].max()
    assert (
        out.start[1]
        == slots.starts(
            [Job(s, r, r, p) for s, r, p in zip(case.submit, case.runtime, case.procs)],
            2,
            [500 if p == 2 else 2 for p in case.procs],
            "easy",
        )[1]
    )

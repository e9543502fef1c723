"""The detailed machine's kernel against its naive twin: equal numbers, not nearly equal ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import onega
from onega.core.cluster import RateControl
from onega.simulation import detailed_run
from onega.simulation.detailed_problem import Outcome, Problem
from reference.detailed import run_exactly
from reference.detailed_build import Draft, build
from reference.detailed_problems import MECHANISMS, mixtures, random_mixture, random_problem

FEW, MANY = 40, 2000
BY_JOB = ("submit", "start", "end", "state", "option", "lost_work")
BY_ATTEMPT = tuple(f"attempt_{what}" for what in ("job", "start", "wake", "begin", "end"))
LOG = tuple(f"log_{what}" for what in ("time", "event", "job", "node"))


def parts(out: Outcome) -> Counter:
    """Processors by kind, stretch, depth and node: equal stretches may come in pieces."""
    total: Counter = Counter()
    columns = (out.part_kind, out.part_since, out.part_until, out.part_depth, out.part_node)
    for *what, count in zip(*(column.tolist() for column in (*columns, out.part_count))):
        total[tuple(what)] += count
    return total


def switches(out: Outcome) -> list[tuple[float, int]]:
    """Changes of the rate, one an instant, only real ones."""
    level, changes = 0, []
    for time, new in dict(zip(out.switch_time.tolist(), out.switch_level.tolist())).items():
        if new != level:
            changes.append((time, new))
        level = new
    return changes


def compare(got: Outcome, expected: Outcome) -> None:
    for name in (*LOG, *BY_JOB, *BY_ATTEMPT):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), err_msg=name)
    assert parts(got) == parts(expected)
    assert switches(got) == switches(expected)


def check(problem: Problem) -> bool:
    """Compare; False if floats can't hold the numbers (then nothing is compared)."""
    expected, exact = run_exactly(problem)
    if exact:
        compare(detailed_run.run(problem), expected)
    return exact


def check_seeds(make, first: int, count: int) -> None:
    compared = 0
    for seed in range(first, first + count):
        problem = make(seed)
        try:
            compared += check(problem)
        except AssertionError:
            print(f"seed {seed}: {problem}")
            raise
    # few may drop out for want of digits, or nothing would be shown
    assert compared >= 0.9 * count


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_equal(mechanism):
    check_seeds(lambda seed: random_problem(seed, MECHANISMS[mechanism]), 0, FEW)


def test_equal_mixtures():
    check_seeds(random_mixture, 0, 10 * FEW)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(mixtures())
def test_equal_shrinking(problem):
    check(problem)


def test_a_cancelled_dependent_does_not_prolong_the_run():
    assert check(random_mixture(696))


def test_equal_longer():
    check_seeds(lambda seed: random_mixture(seed, 60), 0, 15)


PLAIN = [
    (order, backfill)
    for order in ("fcfs", "lcfs", "spf", "saf", "xf", "wfp3", "unicef")
    for backfill in (None, "easy", "conservative")
]
CONTROLS = {
    "none": RateControl(),
    "queue": RateControl("queue", rates=(0.5, 1.0, 2.0), k_low=(2, 9), k_high=(6, 20)),
}


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("policy", PLAIN, ids=lambda policy: f"{policy[0]}+{policy[1]}")
def test_without_features_it_is_the_plain_engine(policy, control):
    """Queues of hundreds of jobs, whole seconds."""
    rng = np.random.default_rng(7)
    count, machine = 600, 16
    runtime = rng.integers(1, 60, count)
    log = {
        "submit": np.cumsum(rng.integers(0, 16, count)).astype(float),
        "runtime": runtime.astype(float),
        "procs": rng.choice([1, 1, 2, 3, 8, 16], count),
        "estimate": (runtime + rng.choice([-5, 0, 0, 20, 60], count)).clip(1).astype(float),
    }
    plain = onega.simulate(
        onega.Workload(log),
        onega.Cluster(machine, CONTROLS[control]),
        "+".join(filter(None, policy)),
    )
    jobs = [
        {"submit": submit, "procs": procs, "work": work, "expect": expect}
        for submit, work, procs, expect in zip(*(column.tolist() for column in log.values()))
    ]
    draft = Draft(jobs, capacity=[[machine]], policies=[policy], rates=CONTROLS[control])
    got = detailed_run.run(build(draft))
    np.testing.assert_array_equal(got.start, plain.start)
    np.testing.assert_array_equal(got.end, plain.end)


@pytest.mark.verification
def test_equal_longer_many():
    check_seeds(lambda seed: random_mixture(seed, 120), 1000, 300)


@pytest.mark.verification
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_equal_many(mechanism):
    check_seeds(lambda seed: random_problem(seed, MECHANISMS[mechanism]), 10_000, MANY)


@pytest.mark.verification
def test_equal_mixtures_many():
    check_seeds(random_mixture, 10_000, 10 * MANY)


@pytest.mark.verification
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(mixtures())
def test_equal_shrinking_many(problem):
    check(problem)

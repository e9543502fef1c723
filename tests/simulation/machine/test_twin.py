"""The detailed machine's kernel against its naive twin: equal numbers, not nearly equal ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import onega
from onega.core.machine.cluster import RateControl
from onega.core.machine.events import Events
from onega.core.policy import Policy
from onega.core.rng import seed_sequence
from onega.simulation.machine import run as detailed_run
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.problem import Outcome, Problem
from reference.machine.build import Draft, Sleep, build
from reference.machine.machine import run_exactly
from reference.machine.problems import MECHANISMS, mixtures, random_mixture, random_problem

FEW, MANY = 40, 2000
BY_JOB = ("submit", "start", "end", "state", "option", "lost_work")
TABLES = ("log", "attempts")


def parts(out: Outcome) -> Counter:
    """Processors by kind, stretch, depth and node: equal stretches may come in pieces."""
    total: Counter = Counter()
    for kind, since, until, count, depth, node in out.parts.tolist():
        total[kind, since, until, depth, node] += count
    return total


def switches(out: Outcome) -> list[tuple[float, int]]:
    """Changes of the rate, one an instant, only real ones."""
    level, changes = 0, []
    for time, new in dict(out.switches.tolist()).items():
        if new != level:
            changes.append((time, new))
        level = new
    return changes


def compare(got: Outcome, expected: Outcome) -> None:
    for name in (*TABLES, *BY_JOB):
        one, other = getattr(got, name), getattr(expected, name)
        for column in one.dtype.names or (...,):
            np.testing.assert_array_equal(one[column], other[column], err_msg=f"{name} {column}")
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
    check_seeds(random_mixture, 0, 50 * FEW)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(mixtures())
def test_equal_shrinking(problem):
    check(problem)


def test_a_cancelled_dependent_does_not_prolong_the_run():
    assert check(random_mixture(696))


def test_a_reservation_of_no_length_moves_when_somebody_starts_in_its_way():
    assert check(random_problem(11_031, MECHANISMS["wake ahead in a pool"]))


def test_a_rate_that_an_arrival_changes_moves_the_calendar_of_the_plan():
    """Reservations are told by the work clock: at another rate the plan is another."""
    jobs = [{"submit": 0, "procs": 1, "work": 64}]
    jobs += [{"submit": 0, "procs": 1, "work": 0} for _ in range(5)]
    jobs += [{"submit": 64, "procs": 1, "work": 64}]
    draft = Draft(
        jobs,
        capacity=[[1]],
        policies=[("fcfs", "easy")],
        reservations=[(0, 192, 0, [1]), (128, 192, 0, [1])],
        sleep=Sleep([0.0], [64.0], wake_ahead=True),
        rates=RateControl("workload", rates=(0.5, 1.0), k_low=(0.0,), k_high=(64.0,)),
    )
    assert check(build(draft))


def test_a_failed_node_whose_reservation_ends_gives_nothing():
    assert check(random_mixture(12_801))


def test_who_runs_at_the_beginning_and_waits_again_has_his_age():
    assert check(random_mixture(41_492))


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


SLEEP = (
    onega.SleepState(timeout=60, power=5, delay=8, wake_power=80),
    onega.SleepState(timeout=600, power=1, delay=32, wake_power=80),
)
POWER = onega.Power(busy=100, idle=40)
NODES = {"nodes": [onega.NodeGroup(8, 4)]}
SCARCE = {"nodes": [onega.NodeGroup(8, 4, memory="4GB")]}
ASLEEP = {"sleep": onega.Sleep(SLEEP, wake_ahead=True), "power": POWER}
CAP = {"power": POWER, "power_cap": [(2000.0 * n, (2900.0, 3200.0)[n % 2]) for n in range(40)]}
QUEUES = {
    "queues": [
        onega.Queue(1, priority=2, max_procs_per_user=24),
        onega.Queue(2, priority=1, max_jobs=6, default=True),
    ]
}
# Keys are renewed at some instants and not at others; the epoch of usage moves on once.
FAIR = {"multifactor": onega.Multifactor(half_life=200, period=300, max_age=5000)}
MACHINES = {
    "pool asleep": ASLEEP,
    "power cap in steps": CAP,
    "licences": {"resources": {"licence": 20}},
    "nodes of one": {"nodes": [onega.NodeGroup(32)]},
    "first fit": NODES,
    "best fit": NODES | {"placement": "best-fit"},
    "spread": NODES | {"placement": "spread"},
    "whole nodes": NODES | {"whole_nodes": True},
    "little memory": SCARCE,
    "little memory, best fit": SCARCE | {"placement": "best-fit"},
    "nodes asleep": NODES | ASLEEP,
    "best fit asleep": NODES | ASLEEP | {"placement": "best-fit"},
    "whole nodes asleep": NODES | ASLEEP | {"whole_nodes": True},
    "queues": QUEUES,
    "fair-share": FAIR,
    "fair-share and queues": FAIR | QUEUES,
    "all": NODES | ASLEEP | CAP | QUEUES | {"resources": {"licence": 20}},
    "all, fair-share": NODES | ASLEEP | CAP | QUEUES | FAIR | {"resources": {"licence": 20}},
}
RESERVED = {
    "time": [3000.0, 30_000.0, 60_000.0],
    "event": ["reserve"] * 3,
    "node": ["1-3", "2", "5-8"],
    "until": [9000.0, 40_000.0, 66_000.0],
}


def made_log(seed: int, count: int) -> onega.Workload:
    """Whole seconds, a queue that seldom empties: jobs wait, are overtaken, outlive estimates."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 1200, count)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.integers(0, 260, count)).astype(float),
            "runtime": runtime.astype(float),
            "procs": rng.choice([1, 1, 2, 3, 4, 8, 12, 24], count),
            "estimate": (runtime + rng.choice([-200, 0, 0, 300, 3000], count)).clip(1) * 1.0,
            "user": rng.integers(1, 5, count),
            "queue": rng.integers(1, 3, count),
            "memory": rng.choice([1e5, 1e6, 2e6], count),  # kB a processor
        }
    ).with_machine(32)


def as_problem(log: onega.Workload, machine: str) -> Problem:
    """Say what `simulate` would run, with three reservations where there are nodes."""
    given = MACHINES[machine]
    events = Events.of(RESERVED) if "nodes" in given else None
    demands = None
    if "resources" in given:
        demands = {"job": log.column("job"), "licence": log.column("procs") // 2}
    ready = prepare(
        log,
        onega.Cluster(32, **given),
        Policy.parse("multifactor+easy" if "multifactor" in given else "easy").knowing("estimate"),
        RunInputs(events=events, demands=demands),
        enforce_limits=False,
        seed=seed_sequence(1),
    )
    assert not ready.misfits
    return ready.problem(ready.first_horizon())


@pytest.mark.parametrize("machine", MACHINES)
def test_equal_on_a_log(machine):
    assert check(as_problem(made_log(1, 150), machine))


@pytest.mark.parametrize("overheads", [None, onega.Overheads("fixed(32)", "fixed(8)")])
def test_equal_where_more_run_than_stand_near(overheads):
    """Most of 140 wait for their ends in heaps, and some are taken out of there."""
    rng = np.random.default_rng(1)
    runtime = rng.integers(1, 600, 260)
    log = onega.Workload(
        {
            "submit": np.repeat(np.arange(26.0) * 20, 10),
            "runtime": runtime.astype(float),
            "procs": rng.integers(1, 3, 260),
            "estimate": runtime * 2.0,
        }
    ).with_machine(260)
    events = {
        "time": np.arange(15, 515, 10.0),
        "event": ["interrupt"] * 50,
        "job": rng.choice(260, 50, replace=False) + 1,
    }
    ready = prepare(
        log,
        onega.Cluster(260, overheads=overheads, interruption=onega.Interruption("requeue")),
        Policy.parse("easy").knowing("estimate"),
        RunInputs(events=Events.of(events)),
        enforce_limits=False,
        seed=seed_sequence(1),
    )
    problem = ready.problem(ready.first_horizon())
    out = detailed_run.run(problem)
    changes = np.concatenate([out.attempts["start"], out.attempts["end"]])
    signs = np.repeat([1, -1], out.attempts["start"].size)
    assert signs[np.argsort(changes, kind="stable")].cumsum().max() > 64
    assert check(problem)


@pytest.mark.verification
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("machine", MACHINES)
def test_equal_on_logs(machine):
    for seed in range(2, 10):
        assert check(as_problem(made_log(seed, 400), machine))


@pytest.mark.verification
@pytest.mark.timeout(3000)
def test_equal_longer_many():
    check_seeds(lambda seed: random_mixture(seed, 120), 1000, 300)


def test_a_reservation_that_ends_interrupts_no_job():
    """Reservations may overlap and want more than there is: one that ends leaves the rest to it."""
    assert check(random_mixture(20_041))


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

"""What runs of one log share: columns of one run must be no other run's."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.policy import Policy
from onega.core.rng import seed_sequence
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.memory import make_machine
from onega.simulation.machine.shapes import row_of_job

PROCS = 16


def made_log(jobs: int = 120, seed: int = 5) -> onega.Workload:
    rng = np.random.default_rng(seed)
    runtime = np.ceil(rng.exponential(300, jobs))
    return onega.Workload(
        {
            "submit": np.floor(np.cumsum(rng.exponential(90, jobs))),
            "runtime": runtime,
            "procs": rng.integers(1, 9, jobs),
            "estimate": np.where(rng.random(jobs) < 0.2, runtime / 2, runtime * 3),
            "user": rng.integers(1, 5, jobs),
            "queue": rng.integers(1, 4, jobs),
            "partition": rng.integers(1, 3, jobs),
            "requested_memory": rng.integers(1, 4, jobs) * 1e9,
        }
    )


def queues(*priorities: int, default: int = 2, **limits: int) -> list[onega.Queue]:
    return [
        onega.Queue(number, priority=priority, default=number == default, **limits)
        for number, priority in enumerate(priorities, start=1)
    ]


NODES = [onega.NodeGroup(4, 4, memory="8GB")]
POWER = onega.Power(busy=100, idle=40)
ONE, OTHER = onega.Partition(1, procs=8), onega.Partition(2, procs=8, default=True)
RUNS = {
    "plain queues": {"queues": queues(1, 2, 3)},
    "other priorities": {"queues": queues(3, 1, 2)},
    "equal priorities": {"queues": queues(1, 1, 1)},
    "fewer queues": {"queues": queues(3, 1)},
    "another default": {"queues": queues(3, 1, default=1)},
    "jobs of a queue": {"queues": queues(1, 2, 3, max_jobs=2)},
    "jobs of users": {"queues": queues(1, 2, 3, max_jobs_per_user=1)},
    "two of users": {"queues": queues(1, 2, 3, max_jobs_per_user=2)},
    "user limits": {"user_limits": onega.UserLimits(max_jobs=1)},
    "both limits": {"queues": queues(1, 2, 3), "user_limits": onega.UserLimits(max_procs=9)},
    "partitions": {"partitions": [ONE, OTHER]},
    "partitions and queues": {"partitions": [ONE, OTHER], "queues": queues(1, 3, 2)},
    "partitions the other way": {"partitions": [OTHER, ONE]},
    "memory": {"nodes": NODES},
    "cap": {"power_cap": 1400.0, "power": POWER},
    "lower cap": {"power_cap": 1200.0, "power": POWER},
    "fair-share": {"multifactor": onega.Multifactor(), "queues": queues(1, 2, 3)},
}
WAYS: list[dict[str, object]] = [
    {},
    {"policy": "spf+easy"},
    {"enforce_limits": True},
    {"knowledge": "runtime"},
    {"moldable": onega.AmdahlSpeedup(0.1, widths=(1, 2, 4))},
]


def told(workload: onega.Workload, label: str, way: dict[str, object]) -> list[object]:
    given = {"policy": "multifactor" if label == "fair-share" else "easy", **way}
    run = onega.simulate(workload, onega.Cluster(PROCS, **RUNS[label]), rng=1, **given)
    return [run.start.tolist(), run.end.tolist(), run.work.tolist(), run.chronicle.state.to_list()]


@pytest.mark.parametrize("way", WAYS, ids=["easy", "spf", "limits", "runtime", "moldable"])
def test_runs_of_one_log_are_runs_of_its_copies(way):
    shared = made_log()
    ours = {label: told(shared, label, way) for label in [*RUNS, *reversed(RUNS)]}
    assert len({str(one) for one in ours.values()}) > 8  # they do differ
    for label, one in ours.items():
        assert one == told(made_log(), label, way)


def test_demands_are_of_one_run_only():
    shared = made_log()
    cluster = onega.Cluster(PROCS, resources={"licence": 2})
    some = {"job": shared.table["job"], "licence": np.ones(len(shared))}
    free = onega.simulate(shared, cluster, "easy").start.tolist()
    bound = onega.simulate(shared, cluster, "easy", demands=some).start.tolist()
    assert bound != free
    assert onega.simulate(shared, cluster, "easy").start.tolist() == free


def test_shapes_are_those_of_the_law_that_is_given():
    shared = made_log()
    laws = [
        onega.AmdahlSpeedup(0.1),
        onega.AmdahlSpeedup(0.4),
        onega.AmdahlSpeedup(0.1, widths=(1, 2, 4)),
        onega.AmdahlSpeedup(0.1),
    ]
    ours = [onega.simulate(shared, PROCS, "easy", moldable=law) for law in laws for _ in range(2)]
    for number, run in enumerate(ours):
        fresh = onega.simulate(made_log(), PROCS, "easy", moldable=laws[number // 2])
        assert run.start.tolist() == fresh.start.tolist()
        assert run.end.tolist() == fresh.end.tolist()
    assert len({str(run.end) for run in ours}) == 3


def prepared(workload: onega.Workload, cluster: onega.Cluster, **given: object):
    policy = Policy.parse("easy").knowing("estimate")
    return prepare(
        workload,
        cluster,
        policy,
        RunInputs(**given),
        enforce_limits=False,
        seed=seed_sequence(1),
    )


def test_the_machine_at_the_beginning():
    parts = [onega.Partition(1, nodes="2-3,70"), onega.Partition(2, nodes="1,4-69", default=True)]
    groups = [onega.NodeGroup(2, 4, memory="8GB"), onega.NodeGroup(68, 2, memory="1GB")]
    cluster = onega.Cluster(144, nodes=groups, partitions=parts, resources={"licence": 2})
    log = made_log()
    demands = {"job": log.table["job"], "licence": np.ones(len(log))}
    ready = prepared(log, cluster, demands=demands)
    problem = ready.problem(ready.first_horizon())
    machine = make_machine(problem)
    hosts = machine.nodes["partition"]
    assert hosts.tolist() == sorted(hosts.tolist())  # a partition's nodes stand together
    capacity = problem.nodes.capacity[machine.nodes["number"]]
    assert (problem.nodes.partition[machine.nodes["number"]] == hosts).all()
    assert machine.free.tolist() == machine.capacity.tolist() == capacity.tolist()
    for part in (0, 1):
        one = machine.partitions[part]
        assert (hosts[one["first"] : one["last"]] == part).all()
        assert one["spare"] == capacity[hosts == part, 0].sum()
    assert machine.resources["free"].tolist() == [2.0]
    assert machine.nodes["up"].all()
    assert machine.nodes["usable"].all()
    assert not machine.nodes["draining"].any()
    assert (machine.nodes["since"] == problem.t0).all()
    assert machine.links["spare"].tolist() == list(range(machine.links.size))


@pytest.mark.parametrize(
    "ids",
    [[7, 5, 6], [3, -2, 0, 9], [4], [10**15, 1, -(10**15)], [2**63 - 1, -(2**63) + 1, 0]],
)
def test_rows_of_ids(ids):
    columns = {"submit": [0.0] * len(ids), "runtime": [1.0] * len(ids), "procs": [1] * len(ids)}
    log = onega.Workload({"job": ids, **columns})
    asked = [*ids, None, 5, 8, -3, 10**15 + 1, 2**63 - 1, -(2**63) + 1]
    expected = [ids.index(one) if one in ids else -1 for one in asked]
    for _ in range(2):
        assert row_of_job(log, pl.Series(asked, dtype=pl.Int64)).tolist() == expected

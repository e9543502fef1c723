"""From what a user says to the detailed machine's problem: arrays, and what is refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import gcd
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onega import (
    AmdahlSpeedup,
    Cluster,
    Events,
    Failures,
    Interruption,
    Law,
    Meta,
    Multifactor,
    NodeGroup,
    Overheads,
    Partition,
    Policy,
    Power,
    Priority,
    Queue,
    SimulationError,
    Sleep,
    SleepState,
    UserLimits,
    Workload,
    simulate,
)
from onega.core.machine.state import MachineState
from onega.core.rng import seed_sequence
from onega.kernels.machine import codes
from onega.kernels.machine.state import EVENT
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.caps import Capacity, _daily
from onega.simulation.machine.draws import draw_failures, merge
from onega.simulation.machine.groups import numbered
from onega.simulation.machine.machine import find_misfits
from onega.simulation.machine.memory import make_machine
from onega.simulation.machine.order import by_submission
from onega.simulation.pool.setup import stable_order

GIB = 2.0**30


def log(**columns):
    count = len(next(iter(columns.values())))
    given = {"submit": np.arange(count) * 10.0, "runtime": [100.0] * count, "procs": [1] * count}
    return Workload(given | columns, Meta(epoch=0.0))


def ready(workload, cluster, policy="fcfs", *, rng=1, enforce_limits=False, **circumstances):
    if "events" in circumstances:
        circumstances["events"] = Events(circumstances["events"])
    rule = Policy.parse(policy).knowing("estimate")
    return prepare(
        workload,
        cluster,
        rule,
        RunInputs(**circumstances),
        enforce_limits=enforce_limits,
        seed=seed_sequence(rng),
    )


def problem(*arguments, **more):
    prepared = ready(*arguments, **more)
    assert prepared.misfits == ()
    return prepared.problem(prepared.first_horizon())


def reasons(*arguments, **more):
    return [(one.rule, one.jobs) for one in ready(*arguments, **more).misfits]


# -- the machine


def test_a_plain_machine_is_one_pool():
    made = problem(log(procs=[3, 4]), Cluster(8), "easy")
    assert made.nodes.pooled
    assert made.nodes.capacity.tolist() == [[8.0]]
    assert made.partitions["reservations"].tolist() == [1]
    assert made.partitions["order"].tolist() == [codes.STATIC]
    assert made.options["chunks"].tolist() == [3, 4]
    assert made.needs[made.options["chunk"]].tolist() == [[1.0], [1.0]]
    assert made.demand.shape == (2, 0)
    assert made.jobs["rank"].tolist() == [0, 1]
    assert (made.multifactor, made.sleep.size, made.own) == (None, 0, None)
    assert made.t0 == 0
    assert made.events.size == len(made.reservations) == len(made.steps) == 0


def test_nodes_in_groups_and_partitions():
    cluster = Cluster(
        nodes=[NodeGroup(2, 4, "8GiB"), NodeGroup(1, 8, "32GiB", gpus=2)],
        placement="spread",
        partitions=[
            Partition("cpu", nodes="1,3", policy="spf+conservative", default=True),
            Partition("gpu", nodes="2", placement="best-fit", whole_nodes=True),
        ],
    )
    made = problem(log(procs=[4, 8]), cluster, "easy")
    assert not made.nodes.pooled
    assert made.nodes.partition.tolist() == [0, 1, 0]
    assert made.nodes.capacity.tolist() == [
        [4, 8 * GIB, 0],
        [4, 8 * GIB, 0],
        [8, 32 * GIB, 2],
    ]
    assert made.partitions["placement"].tolist() == [codes.SPREAD, codes.BEST_FIT]
    assert made.partitions["whole"].tolist() == [False, True]
    assert made.partitions["reservations"].tolist() == [codes.ALL_RESERVED, 1]


def test_failures_make_a_node_of_each_processor():
    cluster = Cluster(
        partitions=[Partition(1, procs=2, default=True), Partition(2, procs=3)],
        failures=Failures("exponential(1d)", "1h"),
    )
    made = problem(log(procs=[2]), cluster)
    assert made.nodes.partition.tolist() == [0, 0, 1, 1, 1]
    assert made.nodes.capacity.tolist() == [[1.0]] * 5


def test_orders_of_each_partition():
    cluster = Cluster(
        partitions=[
            Partition(number, procs=2, policy=text, default=number == 1)
            for number, text in enumerate(("xf", "wfp3+easy", "unicef", "multifactor", "saf"), 1)
        ],
    )
    made = problem(log(procs=[1], user=[4]), cluster)
    assert made.partitions["order"].tolist() == [
        codes.EXPANSION,
        codes.WFP3,
        codes.UNICEF,
        codes.MULTIFACTOR,
        codes.STATIC,
    ]
    assert made.multifactor.fair_share == 10_000


def test_policies_of_a_plain_pool_are_refused():
    for text in ("lcfs-pr", "slurm"):
        with pytest.raises(SimulationError, match="for a plain pool of processors"):
            ready(log(procs=[1]), Cluster(2, sleep=Sleep(SleepState(1, 0, 0, 0))), text)


def test_a_name_can_mean_one_thing_only():
    cluster = Cluster(nodes=[NodeGroup(2, gpus=1)], resources={"gpus": 3})
    with pytest.raises(SimulationError, match="'gpus' is the name of something else"):
        ready(log(procs=[1]), cluster)
    with pytest.raises(SimulationError, match="'power' is the name of something else"):
        ready(log(procs=[1]), Cluster(2, resources={"power": 3}))


# -- shapes of jobs


@settings(max_examples=60, deadline=None)
@given(
    procs=st.lists(st.integers(1, 16), min_size=1, max_size=6),
    gpus=st.lists(st.integers(0, 12), min_size=6, max_size=6),
    memory=st.lists(st.integers(0, 1000), min_size=6, max_size=6),
)
def test_chunks_are_equal_parts_of_a_job(procs, gpus, memory):
    """c = gcd(processors, GPUs); a chunk has 1/c of all, its memory rounded up to whole bytes."""
    count = len(procs)
    cluster = Cluster(nodes=[NodeGroup(16, 16, memory=1e6, gpus=16)])
    demands = pl.DataFrame({"job": range(1, count + 1), "gpus": gpus[:count]})
    workload = log(procs=procs, requested_memory=[m / 8 for m in memory[:count]])
    made = problem(workload, cluster, demands=demands)
    for row, (width, cards, each) in enumerate(zip(procs, gpus, memory, strict=False)):
        chunks = gcd(width, cards) if cards else width
        assert made.options["chunks"][row] == chunks
        assert made.needs[made.options["chunk"][row]].tolist() == [
            width / chunks,
            -(-each * width // (8 * chunks)),
            cards / chunks,
        ]


def test_memory_comes_from_the_log_or_the_demands():
    workload = log(
        procs=[2, 2, 2, 2], requested_memory=[5.0, None, None, 7.0], memory=[1.0, 2.0, None, 3.0]
    )
    with_memory = Cluster(nodes=[NodeGroup(4, 4, memory=100)])
    made = problem(workload, with_memory, demands={"job": [4], "memory": [9.0]})
    assert made.needs[made.options["chunk"], 1].tolist() == [5, 2, 0, 9]
    made = problem(workload, Cluster(nodes=[NodeGroup(4, 4)]))
    assert made.needs.shape == (1, 1)


def test_licences_and_power_are_demands_on_the_machine():
    cluster = Cluster(8, power=Power(100, 40), resources={"matlab": 3}, power_cap=700)
    demands = {"job": ["2", "9"], "matlab": ["2", ""]}
    prepared = ready(log(procs=[1, 4]), cluster, demands=demands)
    made = prepared.problem(1e6)
    assert made.nodes.shared.tolist() == [3, 700 - 8 * 40]
    assert made.demand.tolist() == [[0, 60], [2, 240]]
    assert [(one.rule, one.count) for one in prepared.findings if one.count] == [("unknown_job", 1)]


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ({"job": [1], "gpu": [1]}, "demands: the machine has no 'gpu'; did you mean 'gpus'"),
        ({"job": [1], "gpus": [-1]}, "demands, row 1: gpus is 0 or from 1e-09 to .*, got -1"),
        ({"job": [1], "gpus": [1e300]}, "demands, row 1: gpus is 0 or from .*, got 1e[+]300"),
        ({"job": [1], "gpus": [1e-320]}, "demands, row 1: gpus is 0 or from .*, got 9.99"),
        ({"job": [1, 1], "gpus": [1, 2]}, "demands: a job has two rows"),
        ({"gpus": [1]}, "demands: there is no column 'job'"),
        ({"job": [1], "gpus": ["many"]}, "demands, row 1: gpus must be a number, got 'many'"),
    ],
)
def test_wrong_demands_are_refused(demands, message):
    with pytest.raises(SimulationError, match=message):
        ready(log(procs=[1]), Cluster(nodes=[NodeGroup(2, gpus=2)]), demands=demands)


def test_moldable_by_a_table():
    options = {
        "job": [2, 2, 7, 2],
        "procs": [1, 4, 1, 2],
        "runtime": [40.0, 10.0, 1.0, 20.0],
        "estimate": [50.0, 8.0, 1.0, None],
    }
    prepared = ready(
        log(procs=[3, 3, 3], estimate=[90.0] * 3), Cluster(4), moldable=options, enforce_limits=True
    )
    made = prepared.problem(1e6)
    assert made.jobs["first_option"].tolist() == [0, 1, 4]
    assert made.jobs["options"].tolist() == [1, 3, 1]
    assert made.options["procs"].tolist() == [3, 1, 4, 2, 3]
    assert made.options["work"].tolist() == [90, 40, 8, 20, 90]
    assert made.options["expect"].tolist() == [90, 50, 8, 20, 90]
    assert made.options["limited"].tolist() == [True, False, True, False, True]
    with pytest.raises(SimulationError, match="options of moldable jobs, row 1: procs is above 0"):
        ready(log(procs=[1]), Cluster(4), moldable={"job": [1], "procs": [0], "runtime": [1.0]})


def test_moldable_by_a_law():
    law = AmdahlSpeedup(0.5)
    made = problem(log(procs=[3, 2], estimate=[200.0, None]), Cluster(5), moldable=law)
    assert made.jobs["options"].tolist() == [4, 3]
    assert made.options["procs"].tolist() == [3, 1, 2, 4, 2, 1, 4]
    own, other = law.speedup(3), law.speedup([1, 2, 4])
    np.testing.assert_array_equal(made.options["work"][:4], [100, *(100 * (own / other))])
    np.testing.assert_array_equal(made.options["expect"][:4], [200, *(200 * (own / other))])
    np.testing.assert_array_equal(made.options["expect"][4:], made.options["work"][4:])


def test_options_that_never_fit_are_left_out():
    cluster = Cluster(8, user_limits=UserLimits(max_procs=4))
    options = {"job": [1, 1, 1], "procs": [16, 8, 4], "runtime": [1.0, 2.0, 4.0]}
    made = problem(log(procs=[1], user=[1]), cluster, moldable=options)
    assert made.options["procs"].tolist() == [4]
    assert reasons(
        log(procs=[1], user=[1]),
        cluster,
        moldable={"job": [1], "procs": [16], "runtime": [1.0]},
    ) == [("width", (1,)), ("limit", (1,))]


# -- partitions, queues, accounts


def test_partitions_by_number_by_name_and_by_default():
    workload = Workload(
        log(procs=[1] * 5, partition=[1, 2, 3, None, 2]).table,
        Meta(labels={"partition": {1: "debug", 2: "Batch"}}),
    )
    cluster = Cluster(
        partitions=[Partition("batch", 4), Partition(1, 4), Partition("rest", 4, default=True)]
    )
    assert problem(workload, cluster).jobs["partition"].tolist() == [1, 0, 2, 2, 0]
    cluster = Cluster(partitions=[Partition("batch", 4), Partition(1, 4)])
    (one,) = ready(workload, cluster).misfits
    assert (one.rule, one.jobs) == ("partition", (3, 4))
    assert "describe their partition (none, 3); it has batch, 1" in one.why


def test_queues_rank_and_limit():
    cluster = Cluster(
        8,
        queues=[
            Queue(1, priority=1, max_jobs=2, factor=0.25),
            Queue(2, priority=9, max_procs_per_user=4),
            Queue(3, priority=1, default=True),
        ],
        user_limits=UserLimits(max_jobs=3),
    )
    workload = log(procs=[2] * 5, queue=[1, 2, 2, 5, 1], user=[7, 7, 8, 9, None])
    made = problem(workload, cluster)
    assert made.jobs["rank"].tolist() == [2, 0, 1, 3, 4]
    weighed = problem(workload, cluster, "multifactor").jobs
    assert weighed["rank"].tolist() == [1, 0, 0, 1, 1]
    assert weighed["queue_factor"].tolist() == [0.25, 0, 0, 0, 0.25]
    accounts = np.array([made.jobs[f"limit_{k}"] for k in (1, 2, 3)]).T
    assert (accounts[:, 0] > 0).tolist() == [True, False, False, False, True]
    assert (accounts[:, 2] > 0).tolist() == [False, True, True, False, False]
    assert accounts[0, 0] == accounts[4, 0]
    assert accounts[1, 2] != accounts[2, 2]
    assert accounts[0, 1] == accounts[1, 1]
    assert len({*accounts[:, 1]}) == 4  # users 7, 8, 9, and whoever has no name
    assert made.limits["jobs"][accounts[0]].tolist()[:2] == [2, 3]
    assert made.limits["procs"][accounts[1, 2]] == 4
    assert made.limits["jobs"][accounts[1, 2]] > 1e9


def test_limits_per_user_need_users():
    for limited in (
        {"user_limits": UserLimits(max_jobs=1)},
        {"queues": [Queue(1, max_jobs_per_user=1, default=True)]},
    ):
        with pytest.raises(SimulationError, match="the log doesn't say who they are"):
            ready(log(procs=[1]), Cluster(2, **limited))
    with pytest.raises(SimulationError, match="fair-share needs users"):
        ready(log(procs=[1]), Cluster(2), "multifactor").problem(1e6)
    no_share = Cluster(2, multifactor=Multifactor(fair_share=0))
    assert problem(log(procs=[1]), no_share, "multifactor").shares.tolist() == [1]


def test_shares_add_up_to_one():
    cluster = Cluster(2, multifactor=Multifactor(shares={7: 3, 99: 5}))
    made = problem(log(procs=[1] * 3, user=[8, 7, 7]), cluster, "multifactor+easy")
    assert made.jobs["user"].tolist() == [1, 0, 0]
    assert made.shares.tolist() == [0.75, 0.25]


def test_shares_go_by_the_names_of_the_log_too():
    jobs = log(procs=[1] * 3, user=[8, 7, 7])
    named = Workload(jobs.table, Meta(labels={"user": {7: "ada", 8: "max"}}))
    cluster = Cluster(2, multifactor=Multifactor(shares={"ada": 3}))
    assert problem(named, cluster, "multifactor+easy").shares.tolist() == [0.75, 0.25]


def test_users_are_numbered_whatever_they_are_called():
    for called in ([5, 3, None, 5], [2_000_000_000, 3, None, 2_000_000_000]):
        number, names = numbered(log(procs=[1] * 4, user=called).table["user"])
        assert number.tolist() == [2, 1, 0, 2]
        assert names.tolist() == [-1, 3, called[0]]


def test_ranks_put_queue_key_and_arrival_together():
    workload = log(procs=[1] * 4, runtime=[5.0, 3.0, 3.0, 1.0], queue=[1, 1, 1, 2])
    cluster = Cluster(4, queues=[Queue(1), Queue(2, priority=-1)])
    assert problem(workload, cluster, "spf").jobs["rank"].tolist() == [2, 0, 1, 3]
    static = Priority(lambda now, submit, estimate, procs: -submit, static=True)
    assert problem(workload, cluster, Policy(static)).jobs["rank"].tolist() == [2, 1, 0, 3]


def test_rows_that_are_not_sorted():
    workload = log(procs=[1, 2, 3], submit=[20.0, 5.0, 20.0])
    prepared = ready(workload, Cluster(4, sleep=Sleep(SleepState(1, 0, 0, 0))))
    assert prepared.arrivals.by_arrival.tolist() == [1, 0, 2]
    assert prepared.problem(1e6).options["procs"].tolist() == [2, 1, 3]


# -- dependencies and the state to start from


def test_dependencies_are_found_by_id():
    workload = log(
        job=[5, 6, 7, 8], procs=[1] * 4, after=[None, 5, 99, 6], think=[3.0, 10.0, 4.0, None]
    )
    prepared = ready(workload, Cluster(4), dependencies=True)
    made = prepared.problem(1e6)
    assert made.jobs["after"].tolist() == [-1, 0, -1, 1]
    assert made.jobs["think"].tolist() == [0, 10, 0, 0]
    assert [(one.rule, one.count) for one in prepared.findings] == [("unknown_after", 1)]
    assert made.own is by_submission
    assert made.partitions["order"].tolist() == [codes.OWN]
    without = problem(workload, Cluster(4))
    assert without.jobs["after"].tolist() == [-1] * 4
    assert without.partitions["order"].tolist() == [codes.STATIC]


@pytest.mark.parametrize(
    ("after", "jobs"),
    [
        ([1, None, None], (1,)),
        ([2, 1, None], (1, 2)),
        ([2, 3, 4, 5, 3, 1, None], (3, 4, 5)),
    ],
)
def test_circles_are_refused_by_name(after, jobs):
    with pytest.raises(SimulationError, match="go in a circle") as refused:
        ready(log(procs=[1] * len(after), after=after), Cluster(4), dependencies=True)
    assert set(refused.value.jobs) == set(jobs)
    assert len(refused.value.jobs) == len(jobs)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 11), min_size=12, max_size=12))
def test_circles_are_found_wherever_they_are(after):
    """A naive walk from every job: back to where it was means a circle."""
    waits = [None if target == row else target for row, target in enumerate(after)]

    def circles(row):
        seen = set()
        while row is not None and row not in seen:
            seen.add(row)
            row = waits[row]
        return row is not None

    workload = log(procs=[1] * 12, after=[None if one is None else one + 1 for one in waits])
    if any(circles(row) for row in range(12)):
        with pytest.raises(SimulationError, match="circle"):
            ready(workload, Cluster(4), dependencies=True)
    else:
        ready(workload, Cluster(4), dependencies=True)


def test_negative_think_times_and_double_ids():
    with pytest.raises(SimulationError, match=r"think times are at least 0.*job 2"):
        ready(log(procs=[1, 1], after=[None, 1], think=[0.0, -1.0]), Cluster(2), dependencies=True)
    with pytest.raises(SimulationError, match=r"two jobs have one id.*job 1"):
        ready(log(job=[1, 1], procs=[1, 1], after=[None, 1]), Cluster(2), dependencies=True)


def test_two_own_orders_cannot_be_in_one_run():
    def mine(now, submit, estimate, procs):
        return now

    cluster = Cluster(
        partitions=[Partition(1, 1, default=True), Partition(2, 1, policy=Policy(mine))]
    )
    workload = log(procs=[1, 1], after=[None, 1])
    assert problem(workload, cluster).own is mine
    with pytest.raises(SimulationError, match="different orders of one's own"):
        problem(workload, cluster, dependencies=True)


def test_a_state_to_start_from():
    before = log(job=[1, 2, 3], procs=[1, 2, 1], runtime=[500.0] * 3)
    state = MachineState(
        100.0, before, np.array([20.0, np.nan, np.nan]), np.array([80.0, 0.0, 60.0])
    )
    workload = log(job=[11, 12], submit=[100.0, 150.0], procs=[1, 1])
    prepared = ready(workload, Cluster(4), initial=state)
    made = prepared.problem(1e6)
    assert made.t0 == 100
    assert prepared.arrivals.workload.table["job"].to_list() == [1, 2, 3, 11, 12]
    np.testing.assert_array_equal(made.jobs["start"], [20, *[np.nan] * 4])
    assert made.jobs["saved"].tolist() == [80, 0, 0, 0, 0]
    assert made.options["work"].tolist() == [500, 500, 440, 100, 100]
    assert made.options["expect"].tolist() == [500, 500, 440, 100, 100]
    with pytest.raises(SimulationError, match=r"can't be submitted before it.*job 1"):
        ready(log(procs=[1]), Cluster(4), initial=state)


def test_a_running_job_keeps_its_shape():
    before = log(job=[1], procs=[2])
    state = MachineState(50.0, before, np.array([20.0]), np.array([30.0]))
    law = AmdahlSpeedup(0.0)
    made = problem(log(job=[2], submit=[60.0], procs=[1]), Cluster(4), initial=state, moldable=law)
    assert made.jobs["options"].tolist() == [1, 3]


# -- events


EVENTS = {
    "time": [300, 100, 200, 250, 400, 500],
    "event": ["return", "fail", "cancel", "drain", "down", "up"],
    "node": ["2", "2-3", None, "1", None, None],
    "job": [None, None, 2, None, None, None],
    "procs": [None, None, None, None, 2, 1],
}


def test_events_become_rows_and_nodes():
    made = problem(log(procs=[1, 1]), Cluster(5), events=EVENTS)
    assert not made.nodes.pooled
    table = made.events
    assert table["time"].tolist() == [100, 100, 200, 250, 300, 400, 400, 500]
    names = [codes.FAIL] * 2 + [codes.CANCEL, codes.DRAIN, codes.RETURN] + [codes.FAIL] * 2
    assert table["code"].tolist() == [*names, codes.RETURN]
    assert table["job"].tolist() == [-1, -1, 1, -1, -1, -1, -1, -1]
    # The highest-numbered that are up go down (5 and 4); the lowest that is down comes up (3).
    assert table["node"].tolist() == [1, 2, -1, 0, 1, 4, 3, 2]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (("return", {"node": ["2"]}), "row 1: node 2 is neither down.*frees more than there is"),
        (("up", {"procs": [1]}), "row 1: only 0 processors are down.*frees more than there is"),
        (("down", {"procs": [6]}), "row 1: only 5 processors are up, not 6"),
        (("fail", {"node": ["4-6"]}), "row 1: there is no node 6; the machine has 5"),
        (("cancel", {"job": [17]}), "row 1: there is no job 17 in the workload"),
        (("reserve", {"procs": [6], "until": [9]}), "only 5 processors are left to reserve, not 6"),
        (("cap", {"watts": [5.0]}), "a power cap needs to know what processors draw"),
    ],
)
def test_events_that_cannot_happen_are_refused_by_row(table, message):
    word, more = table
    with pytest.raises(
        SimulationError, match=f"events, {message}" if "row" in message else message
    ):
        ready(log(procs=[1]), Cluster(5), events={"time": [1], "event": [word]} | more)


def test_processors_come_in_whole_nodes():
    cluster = Cluster(nodes=[NodeGroup(2, 4)])
    table = {"time": [1], "event": ["down"], "procs": [6]}
    with pytest.raises(SimulationError, match="6 processors are no whole number of nodes"):
        ready(log(procs=[1]), cluster, events=table)
    made = problem(log(procs=[1]), cluster, events=table | {"procs": [8]})
    assert made.events["node"].tolist() == [1, 0]


def test_reservations_of_a_pool_and_of_nodes():
    table = {
        "time": [10, 30, 60],
        "event": ["reserve"] * 3,
        "procs": [3, 2, 4],
        "until": [50, 80, 90],
    }
    made = problem(log(procs=[1]), Cluster(6), events=table)
    assert made.nodes.pooled
    assert [one[0] for one in made.reservations] == [10, 30, 60]
    assert [one[3].tolist() for one in made.reservations] == [[3], [2], [4]]
    with pytest.raises(SimulationError, match="row 3: only 3 processors are left"):
        problem(log(procs=[1]), Cluster(5), events=table)
    nodes = Cluster(nodes=[NodeGroup(3, 2, memory=8.0)])
    made = problem(log(procs=[1]), nodes, events=table)
    assert [one[2] for one in made.reservations] == [2, 1, 0, 2, 1]
    assert [one[3].tolist() for one in made.reservations] == [[2, 8]] * 5
    twice = {"time": [1, 5], "event": ["reserve"] * 2, "node": ["1-2", "2"], "until": [10, 20]}
    with pytest.raises(SimulationError, match=r"row 2: node 2 is reserved already at that time"):
        problem(log(procs=[1]), nodes, events=twice)
    made = problem(log(procs=[1]), nodes, events=twice | {"time": [1, 10]})
    assert [one[2] for one in made.reservations] == [0, 1, 1]


def test_what_is_over_before_the_run_is_left_out():
    table = {"time": [1, 2], "event": ["reserve"] * 2, "procs": [1, 1], "until": [50, 51]}
    made = problem(log(procs=[1], submit=[50.0]), Cluster(2), events=table)
    machine = make_machine(made)
    assert machine.calendar["time"].tolist() == [50, 51]


# -- the power cap


def capped(cap, *, busy=10, idle=1, **more):
    return Cluster(10, power=Power(busy, idle), power_cap=cap, **more)


def test_caps_are_capacities_above_idle():
    made = problem(log(procs=[2]), capped([(20, 60), (40, 80)]))
    assert made.nodes.shared.tolist() == [90]  # before the first step: what all can draw
    assert made.steps == [(20, 0, 50), (40, 0, 70)]
    assert made.demand.tolist() == [[18]]


def test_the_lower_of_two_caps_counts():
    table = {"time": [30, 5, 60], "event": ["cap"] * 3, "watts": [50.0, 90.0, 1000.0]}
    made = problem(log(procs=[2]), capped([(20, 60), (40, 80)]), events=table)
    assert made.nodes.shared.tolist() == [90]
    assert made.steps == [(5, 0, 80), (20, 0, 50), (30, 0, 40), (60, 0, 70)]


def test_waking_up_is_part_of_the_power():
    sleep = Sleep(SleepState(10, 0, 5, 15))
    made = problem(log(procs=[2]), capped(140, sleep=sleep))
    assert made.demand.tolist() == [[28]]


def test_caps_by_the_time_of_day_follow_summer_time():
    """Stockholm put its clocks forward on 1996-03-31: 8 o'clock came an hour earlier by UTC."""
    epoch = 828057600.0  # 1996-03-29 00:00 UTC
    workload = Workload(
        log(procs=[1], submit=[3600.0]).table, Meta(epoch=epoch, timezone="Europe/Stockholm")
    )
    made = problem(workload, capped({"08:00": 50, "20:00": 90}))
    hours = [time / 3600 for time, *_ in made.steps]
    assert hours[:6] == [7, 19, 31, 43, 54, 66]
    assert made.nodes.shared.tolist() == [80]
    assert [watts for *_, watts in made.steps[:3]] == [40, 80, 40]
    nowhere = Workload(workload.table)
    with pytest.raises(SimulationError, match="needs to know when the log begins"):
        problem(nowhere, capped({"08:00": 50}))


def test_jobs_that_a_cap_never_lets_start():
    workload = log(procs=[2, 6, 4], estimate=[90000.0, 10.0, 100000.0])
    assert reasons(workload, capped(40)) == [("power", (2, 3))]
    assert reasons(workload, capped({"08:00": 40, "20:00": 70})) == [("power", (3,))]
    (one,) = ready(workload, capped({"08:00": 40, "20:00": 70})).misfits
    assert "never high enough for as long" in one.why
    assert reasons(workload, capped([(0, 40), (50, 64)])) == []
    with pytest.raises(SimulationError, match="cap of 9 W is below what the idle machine draws"):
        ready(workload, capped(9))


@pytest.mark.parametrize("zone", ["Europe/Stockholm", "Africa/Casablanca", "UTC"])
def test_caps_by_the_time_of_day_over_years_are_those_of_each_day(zone):
    """Casablanca put its clocks back for Ramadan, and forward again after it."""
    meta = Meta(epoch=1.33e9, timezone=zone)
    moments, watts = np.array([2.5 * 3600, 8 * 3600.0]), np.array([5.0, 7.0])
    since, found = _daily(moments, watts, meta, (0.0, 4 * 365 * 86400.0))
    local = ZoneInfo(zone)
    day = datetime.fromtimestamp(1.33e9, local).replace(hour=0, minute=0, second=0, microsecond=0)
    expected = {}
    for number in range(-1, 4 * 365 + 2):
        date = (day.replace(tzinfo=None) + timedelta(days=number)).replace(tzinfo=local)
        for hours, value in ((2.5, 5.0), (8, 7.0)):
            clock = date.replace(hour=int(hours), minute=int(hours % 1 * 60))
            expected[clock.timestamp() - 1.33e9] = value
    last = since[-1]
    assert dict(zip(since, found, strict=True)) == {
        time: value for time, value in expected.items() if time <= last
    }
    assert last > 4 * 365 * 86400.0 - 86400


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 3))
def test_the_longest_time_with_enough_power(watts, level):
    """One second each: the longest run of seconds with enough."""
    cap = Capacity(
        float(watts[0]), np.arange(1.0, len(watts)), np.array(watts[1:], float), (0.0, 99.0)
    )
    runs = "".join("x" if one >= level else " " for one in watts).split()
    assert cap.longest(level, float(len(watts))) == max(map(len, runs), default=0)


# -- what is drawn


def by_node(drawn: np.ndarray, nodes: int) -> list[list[tuple[float, float]]]:
    """(failure, return) of each node."""
    pairs = [[] for _ in range(nodes)]
    for (fail, *one), (back, *other) in zip(drawn[::2].tolist(), drawn[1::2].tolist(), strict=True):
        assert one == [codes.FAIL, -1, one[2]]
        assert other == [codes.RETURN, -1, one[2]]
        pairs[one[2]].append((fail, back))
    return pairs


def test_failures_do_not_depend_on_the_horizon():
    laws = Failures("weibull(shape=0.7, mean=100)", "lognormal(sigma=1, median=5)")
    short = by_node(draw_failures(laws, 70, (50.0, 2_000.0), seed_sequence(4)), 70)
    long = by_node(draw_failures(laws, 70, (50.0, 200_000.0), seed_sequence(4)), 70)
    for some, more in zip(short, long, strict=True):
        assert some == [pair for pair in more if pair[0] <= 2_000]
        flat = np.ravel(more)
        assert np.all(np.diff(flat) > 0)
        assert flat[0] > 50
    assert len({tuple(pairs) for pairs in short}) == 70
    for size in (71, 200):
        larger = draw_failures(laws, size, (50.0, 2_000.0), seed_sequence(4))
        assert by_node(larger, size)[:70] == short


def test_drawn_availability_is_that_of_the_laws():
    """E[up] / (E[up] + E[down]) = 10/11; 400 nodes, the standard error from their spread."""
    laws = Failures("weibull(shape=0.7, mean=1000)", "exponential(100)")
    end = 100_000.0
    drawn = by_node(draw_failures(laws, 400, (0.0, end), seed_sequence(8)), 400)
    down = np.array([sum(min(b, end) - a for a, b in node if a < end) for node in drawn]) / end
    error = down.std() / np.sqrt(down.size)
    # A node is new at 0, so that availability begins at 1: the bias is about E[up²]/(2E[up]·end).
    assert abs(down.mean() - 1 / 11) < 4 * error + 0.015 / 11


def test_a_table_and_drawn_failures_of_one_node():
    """Down while either says so; a drain outlives a repair."""
    table = [
        (10.0, codes.FAIL, -1, 0),
        (30.0, codes.RETURN, -1, 0),
        (45.0, codes.DRAIN, -1, 0),
        (70.0, codes.RETURN, -1, 0),
        (12.0, codes.CANCEL, 3, -1),
    ]
    pairs = [(20.0, 40.0, 0), (50.0, 60.0, 0), (80.0, 90.0, 0), (5.0, 6.0, 1)]
    drawn = [
        (time, code, -1, node)
        for *both, node in pairs
        for time, code in zip(both, (codes.FAIL, codes.RETURN), strict=True)
    ]
    found = merge(np.array(table, EVENT), np.array(drawn, EVENT))
    merged = found.tolist()
    assert [(time, code) for time, code, _, node in merged if node == 0] == [
        (10, codes.FAIL),
        (40, codes.RETURN),
        (45, codes.DRAIN),
        (50, codes.FAIL),
        (60, codes.RETURN),
        (60, codes.DRAIN),
        (70, codes.RETURN),
        (80, codes.FAIL),
        (90, codes.RETURN),
    ]
    assert [entry for entry in merged if entry[3] != 0] == [
        (5.0, codes.FAIL, -1, 1),
        (6.0, codes.RETURN, -1, 1),
        (12.0, codes.CANCEL, 3, -1),
    ]
    assert [entry[0] for entry in merged] == sorted(entry[0] for entry in merged)


def test_times_are_put_in_order_however_close_they_are():
    rng = np.random.default_rng(3)
    for time in (
        rng.uniform(0, 1e8, 5000),
        rng.integers(0, 40, 3000) * 1.0,
        1e8 + rng.integers(0, 50, 3000) * 1e-8 + rng.integers(0, 2, 3000) * 1e8,
        np.full(7, 3.0),
        np.array([3.0, np.inf, 1.0, -np.inf, 1.0, np.inf]),
        np.array([1e308, -1e308, 0.0]),
        rng.integers(0, 5, 300),
        np.array([]),
    ):
        assert stable_order(time).tolist() == np.argsort(time, kind="stable").tolist()


def test_patience_cancels_whoever_is_submitted_by_the_clock():
    workload = log(procs=[1] * 3, after=[None, 1, None])
    made = problem(workload, Cluster(2), patience=Law("fixed", 7.0), dependencies=True)
    assert made.events["time"].tolist() == [7, 27]
    assert made.events["job"].tolist() == [0, 2]
    assert made.events["code"].tolist() == [codes.LEAVE] * 2


def test_each_component_draws_from_its_own_stream():
    everything = {
        "overheads": Overheads("exponential(5)", "exponential(5)"),
        "failures": Failures("exponential(1000)", "exponential(5)"),
    }
    workload = log(procs=[1] * 5)
    both = problem(workload, Cluster(2, **everything))
    one = problem(workload, Cluster(2, overheads=everything["overheads"]))
    np.testing.assert_array_equal(both.jobs["launch"], one.jobs["launch"])
    np.testing.assert_array_equal(both.jobs["completion"], one.jobs["completion"])
    assert (both.jobs["launch"] != both.jobs["completion"]).all()
    other = problem(workload, Cluster(2, **everything), rng=2)
    assert (both.jobs["launch"] != other.jobs["launch"]).all()
    failures = problem(workload, Cluster(2, failures=everything["failures"])).events
    np.testing.assert_array_equal(both.events["time"], failures["time"])


def test_a_law_that_draws_nonsense_is_refused():
    class Backwards:
        def draw(self, count, rng):
            return np.full(count, -1.0)

    with pytest.raises(SimulationError, match="no duration"):
        ready(log(procs=[1]), Cluster(2, overheads=Overheads(Backwards())))
    with pytest.raises(SimulationError, match="no duration"):
        problem(log(procs=[1]), Cluster(2, failures=Failures(Backwards(), 1)))


def test_measured_overheads_can_be_used():
    from onega.comparison.adequacy.overheads import fit_law

    cluster = Cluster(2, overheads=Overheads(fit_law([1.0, 2.0, 4.0]), fit_law([0.5, 0.5])))
    made = problem(log(procs=[1] * 4), cluster)
    assert made.jobs["completion"].tolist() == [0.5] * 4
    assert made.jobs["launch"].min() > 0


def test_sleep_and_interruption():
    cluster = Cluster(
        2,
        sleep=Sleep([SleepState(5, 1, 2, 3), SleepState(50, 0, 20, 3)], wake_ahead=True),
        interruption=Interruption("checkpoint", interval=30),
    )
    made = problem(log(procs=[1]), cluster)
    assert made.sleep["timeout"].tolist() == [5, 50]
    assert made.sleep["delay"].tolist() == [2, 20]
    assert made.wake_ahead
    assert (made.on_interrupt, made.checkpoint) == (codes.CHECKPOINT, 30)
    assert problem(log(procs=[1]), Cluster(2)).on_interrupt == codes.REQUEUE


# -- what doesn't fit


def test_why_jobs_do_not_fit_nodes():
    cluster = Cluster(nodes=[NodeGroup(2, 8, memory=64), NodeGroup(1, 4, memory=256, gpus=4)])
    demands = {"job": [3, 4, 5], "gpus": [8, 1, 0]}
    workload = log(procs=[21, 4, 8, 1, 20], requested_memory=[None, 300.0, None, 60.0, 20.0])
    found = ready(workload, cluster, demands=demands).misfits
    assert [(one.rule, one.jobs) for one in found] == [
        ("width", (1,)),
        ("node", (2,)),
        ("node", (3, 5)),
    ]
    assert found[0].why == "wider than the machine of 20 processors, with 21"
    assert found[1].why == (
        "they need 300 B of memory on one node, and the largest node of the machine has 256 B"
    )
    assert found[2].why == (
        "the nodes of the machine don't have what they need, all together: the first needs 8 × "
        "(processors 1, memory 0 B, GPUs 1), a node has at most "
        "(processors 8, memory 256 B, GPUs 4), nodes: 3"
    )
    refused = found[0].error(5)
    assert str(refused) == (
        "1 of 5 jobs can't be simulated: wider than the machine of 20 processors, with 21 (job 1)"
    )
    assert find_misfits(workload, cluster, demands=demands) == found


@settings(max_examples=60, deadline=None)
@given(
    shapes=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=3
    ),
    jobs=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 4)), min_size=1, max_size=5),
)
def test_who_fits_is_who_can_be_placed_on_the_empty_machine(shapes, jobs):
    """The naive way: put one chunk after the other wherever there is room."""
    cluster = Cluster(nodes=[NodeGroup(c, procs=p, memory=m) for c, p, m in shapes])
    workload = log(procs=[p for p, _ in jobs], requested_memory=[float(m) for _, m in jobs])
    unfit = {job for one in ready(workload, cluster).misfits for job in one.jobs}
    for number, (procs, memory) in enumerate(jobs, 1):
        room = [[p, m] for c, p, m in shapes for _ in range(c)]
        left = procs
        for node in room:
            while left and node[0] >= 1 and node[1] >= memory:
                node[0] -= 1
                node[1] -= memory
                left -= 1
        assert (number in unfit) == (left > 0)


def test_limits_that_can_never_be_met():
    cluster = Cluster(
        8,
        queues=[Queue(1, max_procs=3, max_time=100), Queue(2, max_procs_per_user=2)],
        user_limits=UserLimits(max_procs=5),
    )
    workload = log(
        procs=[4, 2, 3, 6],
        queue=[1, 1, 2, 1],
        estimate=[50.0, 200.0, None, 60.0],
        user=[1, 1, 1, 1],
    )
    assert reasons(workload, cluster) == [
        ("limit", (1, 4)),
        ("time", (2,)),
        ("limit", (3,)),
        ("limit", (4,)),
    ]


def test_nodes_that_fail_all_the_time_are_refused():
    laws = Failures("exponential(mean=1e-9)", "exponential(mean=1e-9)")
    with pytest.raises(SimulationError, match="fail more than 5,000,000 times"):
        draw_failures(laws, 70, (0.0, 1e6), seed_sequence(1))


def test_a_cap_by_the_clock_ends_with_the_calendar():
    cluster = Cluster(8, power=Power(100, 40), power_cap={"08:00": 500})
    long = Workload({"submit": [0.0], "runtime": [9e11], "procs": [1]}, Meta(epoch=1e9))
    with pytest.raises(SimulationError, match="needs a calendar, and the run may last"):
        simulate(long, cluster, "easy")

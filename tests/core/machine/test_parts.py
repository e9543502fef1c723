"""The parts of a detailed machine: what they take, what they refuse, that they are values."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from onega import (
    Cluster,
    Failures,
    Interruption,
    Law,
    Multifactor,
    NodeGroup,
    Overheads,
    Partition,
    Policy,
    Power,
    PowerCap,
    Queue,
    RateControl,
    SimulationError,
    Sleep,
    SleepState,
    UserLimits,
)
from onega.core.machine.amounts import Amounts
from onega.core.machine.laws import SHAPES
from onega.core.machine.nodes import numbers
from onega.core.units import size

FULL = Cluster(
    power=Power(100, 50),
    nodes=[NodeGroup(4, 8, "64GiB", gpus=2), NodeGroup(2, 16, "1TiB", resources={"ssd": 2})],
    placement="best-fit",
    resources={"matlab": 5},
    partitions=[
        Partition("small", nodes="1-4", policy="easy", default=True),
        Partition("fat", nodes="5,6", policy="spf", whole_nodes=True),
    ],
    queues=[Queue(1, priority=2, max_time="12h", max_jobs_per_user=3), Queue(2, default=True)],
    user_limits=UserLimits(max_procs=32),
    multifactor=Multifactor(half_life="14d", shares={7: 2}),
    sleep=Sleep([SleepState("10m", 10, 30, 80), SleepState("1h", 1, "2m", 100)], wake_ahead=True),
    power_cap={"08:00": 5000, "20:00": 6000},
    failures=Failures("weibull(shape=0.7, mean=30d)", "lognormal(sigma=1, median=2h)"),
    overheads=Overheads("gamma(mean=2, sd=1)", 1.5),
    interruption=Interruption("checkpoint", interval="1h"),
)


def test_a_whole_machine_is_one_value():
    assert not FULL.is_plain
    assert FULL.procs == 64
    assert hash(FULL) == hash(pickle.loads(pickle.dumps(FULL)))
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    assert replace(FULL, whole_nodes=True) != FULL
    assert FULL.nodes[0].amounts == {"procs": 8, "memory": 64 * 2**30, "gpus": 2}
    assert FULL.nodes[1].amounts == {"procs": 16, "memory": 2**40, "ssd": 2}
    assert FULL.partitions[1].policy == Policy("spf")
    assert FULL.queues[0].max_time == 43200
    assert FULL.sleep.states[1].delay == 120
    assert FULL.power_cap == PowerCap(((28800, 5000), (72000, 6000)), daily=True)
    assert FULL.failures.time_to_failure == Law("weibull", 30 * 86400, 0.7)
    assert FULL.overheads.completion == Law("fixed", 1.5)
    assert FULL.interruption.interval == 3600
    assert FULL.multifactor.shares == {"7": 2}


def test_a_plain_machine_stays_plain():
    plain = Cluster(100, RateControl(), Power(1, 0))
    assert plain.is_plain
    plain.require_plain("this")
    assert Cluster(100, multifactor=Multifactor()).is_plain
    with pytest.raises(SimulationError, match="closed_loop knows a plain pool"):
        FULL.require_plain("closed_loop")
    with pytest.raises(SimulationError, match="at least 1; got 0"):
        Cluster()


def test_caps_come_in_three_forms():
    power = Power(1, 0)
    constant = Cluster(4, power=power, power_cap=3).power_cap
    assert constant.steps == ((float("-inf"), 3.0),)
    steps = Cluster(4, power=power, power_cap=[(0, 3), (10, 4)]).power_cap
    assert steps == PowerCap(((0.0, 3.0), (10.0, 4.0)))
    assert PowerCap.of(steps) is steps


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NodeGroup(0, 8), "count of nodes is at least 1, got 0"),
        (lambda: NodeGroup(2, 1.5), "procs of a node is a whole number"),
        (lambda: NodeGroup(2, 1, "much"), "not an amount of memory: 'much'"),
        (lambda: NodeGroup(2, 1, gpus=-1), "gpus is at least 0"),
        (lambda: NodeGroup(2, 1, resources={"gpus": 1}), "gpus has a field of its own"),
        (lambda: Partition("a"), "partition a: give its procs, or its nodes"),
        (lambda: Partition("a", procs=1, nodes="1"), "give its procs, or its nodes"),
        (lambda: Partition("a", nodes="4-2"), "partition a: '4-2' are no numbers"),
        (lambda: Partition("a", procs=1, policy="lcfs-pr"), "plain pool of processors"),
        (lambda: Partition("a", procs=1, policy="slurm"), "plain pool of processors"),
        (lambda: Partition("a", procs=1, policy="esay"), "did you mean 'easy'"),
        (lambda: Partition("a", procs=1, placement="best"), "did you mean 'best-fit'"),
        (lambda: Queue(1, max_jobs=0), "queue 1: max_jobs is at least 1"),
        (lambda: Queue(1, max_time="soon"), "queue 1: max_time is a duration"),
        (lambda: Queue(1, factor=2), "factor is from 0 to 1"),
        (lambda: Queue(1, priority="high"), "priority is a number"),
        (lambda: UserLimits(), "give max_jobs or max_procs"),
        (lambda: Multifactor(age=-1), "multifactor: age is at least 0"),
        (lambda: Multifactor(age=None), "multifactor: age is a number"),
        (lambda: Multifactor(half_life=0), "half_life is above 0"),
        (lambda: Multifactor(shares={"ada": 0}), "share of user ada is above 0"),
        (lambda: Multifactor(shares={1: 0}), "share of user 1 is above 0"),
        (lambda: SleepState(-1, 0, 0, 0), "sleep: timeout is at least 0"),
        (lambda: SleepState(1, 0, "long", 0), "sleep: delay is a duration"),
        (lambda: SleepState(None, 0, 0, 0), "sleep: timeout is a duration"),
        (lambda: Sleep([]), "at least one state"),
        (lambda: Sleep([SleepState(9, 0, 0, 0), SleepState(9, 0, 0, 0)]), "increasing timeouts"),
        (lambda: PowerCap.of({"8 pm": 3}), "'8 pm' is no time of day"),
        (lambda: PowerCap.of({"24:00": 3}), "no time of day"),
        (lambda: PowerCap.of([(10, 3), (5, 3)]), "increase in time"),
        (lambda: PowerCap.of([1, 2]), "a list of .seconds, watts."),
        (lambda: PowerCap.of(0), "power cap is above 0"),
        (lambda: Failures("exponential(1d)", 0), "time_to_repair is above 0"),
        (lambda: Interruption("requeued"), "did you mean 'requeue'"),
        (lambda: Interruption("checkpoint"), "an interval goes with the rule"),
        (lambda: Interruption("lost", interval=5), "an interval goes with the rule"),
        (lambda: Cluster(4, overheads=3), "overheads are onega.Overheads"),
        (lambda: Cluster(4, nodes=[NodeGroup(2, 8)]), "16 processors together, the machine 4"),
        (lambda: Cluster(4, partitions=[Partition(1, procs=8)]), "partitions have 8 processors"),
        (lambda: Cluster(partitions=[Partition(1, 1), Partition("1", 1)]), "two partitions"),
        (lambda: Cluster(4, queues=[Queue(1), Queue(1)]), "two queues are called 1"),
        (
            lambda: Cluster(4, queues=[Queue(1, default=True), Queue(2, default=True)]),
            "only one of the queues",
        ),
        (lambda: Cluster(4, partitions=[Partition(1, nodes="1-4")]), "give their procs"),
        (
            lambda: Cluster(nodes=[NodeGroup(4)], partitions=[Partition(1, procs=4)]),
            "so give its nodes",
        ),
        (
            lambda: Cluster(nodes=[NodeGroup(4)], partitions=[Partition(1, nodes="1-5")]),
            "there is no node 5; the machine has 4",
        ),
        (
            lambda: Cluster(nodes=[NodeGroup(4)], partitions=[Partition(1, nodes="1,3")]),
            "2 of 4 nodes are in no partition: 2, 4",
        ),
        (
            lambda: Cluster(
                nodes=[NodeGroup(2)],
                partitions=[Partition(1, nodes="1-2"), Partition(2, nodes="2")],
            ),
            "node 2 is in partition 1 and in partition 2",
        ),
        (
            lambda: Cluster(nodes=[NodeGroup(2, memory=5), NodeGroup(2)]),
            "memory is given for some groups",
        ),
        (lambda: Cluster(4, power_cap=3), "a power cap needs to know what processors draw"),
        (lambda: Cluster(4, nodes=[NodeGroup(4)], placement="first"), "unknown placement"),
        (lambda: Cluster(4, resources={"matlab": -1}), "resources: matlab is at least 0"),
        (lambda: Cluster(4, resources={"matlab": "2"}), "matlab is a number"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(SimulationError, match=message):
        make()


ENORMOUS = [
    (lambda: NodeGroup(2, float("inf")), "procs of a node is at most 1.15292e[+]18, got inf"),
    (lambda: NodeGroup(10**400), "count of nodes is at most"),
    (lambda: NodeGroup(2, memory="9" * 300 + "GB"), "memory is at most"),
    (lambda: NodeGroup(2, gpus=1e300), "gpus is at most"),
    (lambda: Cluster(4, resources={"matlab": 1e300}), "matlab is at most"),
    (lambda: Cluster(float("inf")), "whole number of processors"),
    (lambda: Cluster(float("nan")), "whole number of processors"),
    (lambda: Cluster(10**400), "whole number of processors"),
    (lambda: Queue(1, priority=1e300), "priority is from"),
    (lambda: Queue(1, priority=float("nan")), "priority is from"),
    (lambda: Queue(1, max_time=1e300), "max_time is at most 1e[+]12"),
    (lambda: Multifactor(age=1e300), "age is at most"),
    (lambda: Multifactor(max_age="9" * 300), "max_age is at most"),
    (lambda: SleepState(1e300, 0, 0, 0), "timeout is at most"),
    (lambda: PowerCap.of([(1e300, 3)]), "at most 1e[+]12 seconds away"),
    (lambda: PowerCap.of([(float("nan"), 3)]), "seconds away, got nan"),
    (lambda: PowerCap.of(10**400), "power cap is at most"),
    (lambda: PowerCap.of({"08:00": 10**400}), "power cap is at most"),
    (lambda: PowerCap.of([(0, 10**400)]), "a list of .seconds, watts."),
    (lambda: RateControl(rates=[1e-320, 1]), "rates must be from 1e-09 to 1e[+]09"),
    (lambda: RateControl(rates=10**400), "positive numbers"),
    (lambda: Power(1e300), "busy power is at most"),
    (lambda: Interruption("checkpoint", 1e300), "interval is at most"),
    (lambda: Law("fixed", 1e300), "mean is at most 1e[+]12 seconds"),
    (lambda: Law("fixed", 10**400), "above 0|at least 0"),
    (lambda: Law.parse("weibull(shape=2e6, mean=1)"), "weibull law is from 0.01"),
    (lambda: Law.parse("weibull(shape=0.001, scale=1)"), "moments of this law are no numbers"),
    (lambda: Law.parse("gamma(mean=1e100, sd=1e-100)"), "moments of this law are no numbers"),
    (lambda: Law.parse("lognormal(sigma=100, median=1)"), "moments of this law are no numbers"),
    (lambda: Law.parse("lognormal(mean=1, sd=1e200)"), "moments of this law are no numbers"),
    (lambda: Law.parse("lognormal(sigma=31, mean=1)"), "lognormal law is from 1e-09 to 30"),
]


@pytest.mark.parametrize(("make", "message"), ENORMOUS)
def test_what_no_machine_has_is_refused(make, message):
    with pytest.raises(SimulationError, match=message):
        make()


@pytest.mark.parametrize("kind", ["weibull", "gamma", "lognormal"])
def test_the_extreme_shapes_draw_durations(kind):
    for shape in SHAPES[kind]:
        drawn = Law(kind, 1e12, shape).draw(10_000, np.random.default_rng(1))
        assert np.isfinite(drawn).all()
        assert (drawn >= 0).all()


MILLION = "1-1000000"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Partition(1, nodes=",".join([MILLION] * 40)), "name 40,000,000 nodes; at most"),
        (lambda: numbers(",".join(["1-999999"] * 400)), "399,999,600 nodes"),
        (lambda: numbers("1-99999999"), "name 99,999,999 nodes"),
        (lambda: Partition(1, nodes="1-" + "9" * 5000), "are no numbers of nodes"),
        (
            lambda: Cluster(
                nodes=[NodeGroup(10)], partitions=[Partition(n, nodes=MILLION) for n in range(400)]
            ),
            "there is no node 1000000; the machine has 10",
        ),
        (lambda: Cluster(nodes=[NodeGroup(2_000_000)]), "at most 1,000,000 nodes"),
    ],
)
def test_a_short_text_can_not_name_more_nodes_than_fit(make, message):
    with pytest.raises(SimulationError, match=message) as refused:
        make()
    assert len(str(refused.value)) < 300


def test_numbers_of_nodes():
    assert numbers("3") == [3]
    assert numbers("1, 5-7") == [1, 5, 6, 7]
    for wrong in ("0", "", "a", "1-", "2-1", "١٢", "²"):
        with pytest.raises(SimulationError, match="no numbers of nodes"):
            numbers(wrong)


def test_sizes_of_memory():
    assert size(5) == 5
    assert size("5") == 5
    assert size("1.5 GiB") == 1.5 * 2**30
    assert size("2MB") == 2 * 2**20  # powers of 1024, as in logs
    with pytest.raises(ValueError, match="not an amount of memory"):
        size("2 bits")


def test_amounts_are_values():
    one, other = Amounts({"a": 1, 2: 3}), Amounts({"2": 3, "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert dict(one) == {"a": 1.0, "2": 3.0}
    assert repr(one) == "Amounts({'a': 1.0, '2': 3.0})"

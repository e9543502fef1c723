"""Whole detailed runs through `onega.simulate`: what inputs and engine make together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from onega import (
    AmdahlSpeedup,
    Cluster,
    Failures,
    Interruption,
    Multifactor,
    NodeGroup,
    Overheads,
    Partition,
    Power,
    Queue,
    RateControl,
    SimulationError,
    Sleep,
    SleepState,
    UserLimits,
    Workload,
    simulate,
)
from onega.simulation.machine import machine as detailed
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import Prepared
from onega.simulation.machine.machine import simulate_detailed

DAY = 86400.0


def made_up(count=300, seed=3, procs=9):
    rng = np.random.default_rng(seed)
    runtime = rng.lognormal(6, 1, count).round() + 1
    return Workload(
        {
            "submit": np.cumsum(rng.exponential(100, count)).round(),
            "runtime": runtime,
            "estimate": (runtime * rng.uniform(0.8, 3, count)).round() + 1,
            "procs": rng.integers(1, procs, count),
            "user": rng.integers(1, 6, count),
            "queue": rng.integers(1, 4, count),
            "partition": rng.integers(1, 3, count),
        },
        onega.Meta(epoch=0.0),
    )


LOG = made_up()

EVERYTHING = Cluster(
    power=Power(100, 50),
    nodes=[NodeGroup(4, 4, memory=64), NodeGroup(4, 4, memory=64, gpus=2)],
    resources={"matlab": 3},
    partitions=[
        Partition(1, nodes="1-4", policy="easy"),
        Partition(2, nodes="5-8", policy="multifactor+conservative", placement="best-fit"),
    ],
    queues=[Queue(1, priority=2, max_jobs=9), Queue(2, max_procs_per_user=10), Queue(3)],
    user_limits=UserLimits(max_jobs=6),
    multifactor=Multifactor(half_life="1h", shares={1: 2}),
    sleep=Sleep([SleepState(60, 10, 20, 80), SleepState(600, 1, 60, 90)], wake_ahead=True),
    power_cap={"06:00": 2900, "18:00": 3200},
    failures=Failures("weibull(shape=0.7, mean=3h)", "lognormal(sigma=0.5, median=10m)"),
    overheads=Overheads("gamma(mean=5, sd=2)", 2),
    interruption=Interruption("checkpoint", interval=300),
)
EVENTS = {
    "time": [2000, 5000, 3000, 9000, 15_000],
    "event": ["drain", "return", "cancel", "reserve", "cap"],
    "node": ["2", "2", None, None, None],
    "job": [None, None, 30, None, None],
    "procs": [None, None, None, 8, None],
    "until": [None, None, None, 12_000, None],
    "watts": [None, None, None, None, 3000.0],
}
DEMANDS = {"job": [3, 5, 8, 9], "matlab": [1, 2, 3, 1], "memory": [9.0, 0.0, 1.0, 16.0]}


@pytest.fixture(scope="module")
def full():
    return simulate(
        LOG,
        EVERYTHING,
        events=EVENTS,
        demands=DEMANDS,
        patience="exponential(3h)",
        enforce_limits=True,
        rng=1,
    )


def test_everything_together_is_repeatable_and_told(full):
    again = simulate(
        LOG,
        EVERYTHING,
        events=EVENTS,
        demands=DEMANDS,
        patience="exponential(3h)",
        enforce_limits=True,
        rng=1,
    )
    np.testing.assert_array_equal(full.start, again.start)
    assert full.events.equals(again.events)
    other = simulate(LOG, EVERYTHING, events=EVENTS, patience="exponential(3h)", rng=2)
    assert not np.array_equal(full.start, other.start)
    told = set(full.events["event"].unique().to_list())
    assert {
        "submitted",
        "started",
        "completed",
        "timeout",
        "cancelled",
        "failed",
        "drained",
    } <= told
    assert {"interrupted", "requeued", "returned", "reserved", "released", "capacity"} <= told


def test_states_add_up_and_the_cancelled_never_start(full):
    counts = full.jobs["state"].value_counts()
    assert counts["count"].sum() == len(LOG)
    left = full.jobs.filter(pl.col("state") == "cancelled")
    assert left.height > 0
    ids = left["job"].to_list()
    assert full.events.filter(pl.col("job").is_in(ids) & (pl.col("event") == "started")).is_empty()


def test_limits_hold_at_every_instant(full):
    """Jobs of queue 1, and each user's, between start and end of their attempts."""
    tries = full.chronicle.attempts
    queue, user = LOG.column("queue")[tries.row], LOG.column("user")[tries.row]

    def most(mask):
        time = np.concatenate([tries.start[mask], tries.end[mask]])
        step = np.concatenate([np.ones(mask.sum()), -np.ones(mask.sum())])
        order = np.lexsort((step, time))
        return np.cumsum(step[order]).max(initial=0)

    assert most(queue == 1) <= 9
    assert max(most(user == one) for one in range(1, 6)) <= 6


def test_results_do_not_depend_on_the_first_horizon(monkeypatch):
    cluster = Cluster(
        24, failures=Failures("exponential(5h)", "exponential(10m)"), power=Power(10, 1)
    )
    usual = simulate(LOG, cluster, "easy", rng=5)
    whole, asked = Prepared.first_horizon, []
    problem = Prepared.problem

    def watched(self, horizon):
        asked.append(horizon)
        return problem(self, horizon)

    monkeypatch.setattr(
        Prepared, "first_horizon", lambda self: self.t0 + (whole(self) - self.t0) / 16
    )
    monkeypatch.setattr(Prepared, "problem", watched)
    again = simulate(LOG, cluster, "easy", rng=5)
    assert len(asked) > 2
    np.testing.assert_array_equal(usual.start, again.start)
    np.testing.assert_array_equal(usual.end, again.end)


def test_jobs_that_never_finish_are_named(monkeypatch):
    monkeypatch.setattr(detailed, "LONGEST_HORIZON", 2)
    workload = Workload({"submit": [0.0, 5.0], "runtime": [50 * DAY, 60.0], "procs": [4, 1]})
    cluster = Cluster(4, failures=Failures("exponential(1h)", "1m"))
    with pytest.raises(SimulationError, match="nodes fail too often for them to finish") as refused:
        simulate(workload, cluster, rng=1)
    assert refused.value.jobs == (1, 2)  # the second waits behind the first
    saved = simulate(
        workload,
        Cluster(
            4,
            failures=Failures("exponential(1d)", "1m"),
            interruption=Interruption("checkpoint", interval="1h"),
        ),
        rng=1,
    )
    assert saved.jobs["state"].to_list() == ["completed", "completed"]


def test_failures_are_the_same_under_every_policy():
    cluster = Cluster(24, failures=Failures("exponential(5h)", "exponential(10m)"))
    told = [
        simulate(LOG, cluster, policy, rng=5).events.filter(pl.col("event") == "failed")
        for policy in ("fcfs", "easy")
    ]
    shorter = min(one.height for one in told)
    assert shorter > 10
    assert told[0].head(shorter).equals(told[1].head(shorter))


def test_patience_that_ended_after_the_start_is_not_told():
    schedule = simulate(LOG, 24, "easy", patience="exponential(1h)", rng=2)
    assert schedule.events.filter(pl.col("event") == "ignored").is_empty()
    waited = schedule.jobs.filter(pl.col("state") == "cancelled")
    assert 0 < waited.height < len(LOG)
    table = {"time": [1e6], "event": ["cancel"], "job": [1]}
    late = {"submit": [0.0, 2e6], "runtime": [9.0] * 2, "procs": [1] * 2}
    told = simulate(Workload(late), 2, events=table).events
    assert told.filter(pl.col("event") == "ignored")["job"].to_list() == [1]


def test_chains_of_dependent_jobs():
    rng = np.random.default_rng(0)
    after = [None if one % 3 == 0 else one for one in range(60)]
    workload = Workload(
        {
            "submit": np.arange(60) * 10.0,
            "runtime": rng.integers(1, 300, 60).astype(float),
            "procs": rng.integers(1, 5, 60),
            "after": after,
            "think": [float(one % 7) for one in range(60)],
        }
    )
    schedule = simulate(workload, 8, "fcfs", dependencies=True)
    submit = schedule.workload.column("submit")
    for row, before in enumerate(after):
        if before is not None:
            assert submit[row] == schedule.end[before - 1] + row % 7
    assert np.all(schedule.start >= submit)
    order = np.lexsort((np.arange(60), submit))
    assert np.all(np.diff(schedule.start[order]) >= 0)  # first come, first served, as submitted
    gone = {"time": [0.0], "event": ["cancel"], "job": [1]}
    dropped = simulate(workload, 8, "fcfs", dependencies=True, events=gone)
    assert dropped.jobs["state"].to_list()[:4] == ["cancelled", "dropped", "dropped", "completed"]


def test_a_moldable_job_is_ended_at_the_limit_of_the_shape_it_took():
    options = {
        "job": [1, 1],
        "procs": [4, 1],
        "runtime": [100.0, 50.0],
        "estimate": [200.0, 40.0],
    }
    workload = Workload({"submit": [0.0], "runtime": [9.0], "procs": [2], "estimate": [9.0]})
    schedule = simulate(workload, 4, "fcfs", moldable=options, enforce_limits=True)
    assert schedule.end.tolist() == [40.0]
    assert schedule.jobs["state"].to_list() == ["timeout"]
    assert "timeout" in schedule.events["event"].to_list()


def test_a_job_with_one_shape_left_has_that_shape():
    options = {"job": [1, 1], "procs": [16, 4], "runtime": [10.0, 40.0]}
    workload = Workload(
        {"submit": [0.0, 1.0], "runtime": [9.0, 8.0], "procs": [2, 3], "estimate": [None, 6.0]}
    )
    schedule = simulate(workload, 4, "fcfs", moldable=options, enforce_limits=True)
    assert schedule.workload.column("procs").tolist() == [4, 3]
    assert schedule.workload.column("runtime").tolist() == [40, 8]
    assert schedule.workload.table["estimate"].to_list() == [None, 6]
    assert schedule.start.tolist() == [0, 40]
    assert schedule.summary()["utilisation"] == pytest.approx((4 * 40 + 3 * 6) / (4 * 46))


def test_molding_helps_where_jobs_scale():
    rigid = simulate(LOG, 240, "easy").summary()["mean_response"]
    molded = simulate(LOG, 240, "easy", moldable=AmdahlSpeedup(0.0)).summary()["mean_response"]
    assert molded < rigid / 2


def test_a_run_continues_from_its_own_state():
    at = float(LOG.column("submit")[150])
    whole = simulate(LOG, 24, "spf+easy")
    rest = LOG.select(pl.col("submit") >= at)
    again = simulate(rest, 24, "spf+easy", initial=whole.state_at(at))
    np.testing.assert_allclose(again.end[-len(rest) :], whole.end[-len(rest) :], rtol=1e-12)


@pytest.mark.parametrize(
    "control",
    [
        RateControl("random", rates=(0.5, 1.0, 2.0), p_low=0.3, p_high=0.4),
        RateControl("queue", rates=(0.5, 1.0), k_low=3, k_high=9),
        RateControl("workload", rates=(0.5, 1.0), k_low=1e3, k_high=2e4),
    ],
    ids=lambda control: control.kind,
)
@pytest.mark.parametrize("policy", ["fcfs", "spf+easy", "fcfs+conservative"])
def test_without_anything_it_is_the_plain_machine(control, policy):
    plain = simulate(LOG, Cluster(24, control), policy, rng=7)
    rule = onega.Policy.parse(policy).knowing("estimate")
    same = simulate_detailed(LOG, Cluster(24, control), rule, RunInputs(), rng=7)
    np.testing.assert_allclose(same.start, plain.start, rtol=1e-12)
    np.testing.assert_allclose(same.end, plain.end, rtol=1e-12)


def test_ties_by_event_are_of_the_plain_pool():
    with pytest.raises(SimulationError, match="knows ties='instant' only, got 'event'"):
        simulate(LOG, Cluster(24, overheads=Overheads(1)), ties="event")


@pytest.mark.parametrize(
    ("cluster", "more", "message"),
    [
        (Cluster(partitions=[Partition(1, 4), Partition(2, 20)]), {}, "wider than partition 1"),
        (Cluster(24, power=Power(9, 1), power_cap=60), {}, "power cap of 60 W is below"),
        (24, {"events": {"time": [1], "event": ["up"], "procs": [1]}}, "frees more than there is"),
        (24, {"demands": {"job": [1], "gpus": [1]}}, "the machine has no 'gpus'"),
        (Cluster(24, queues=[Queue(1)]), {}, "doesn't describe their queue"),
    ],
)
def test_what_cannot_run_is_refused(cluster, more, message):
    with pytest.raises(SimulationError, match=message):
        simulate(LOG, cluster, **more)


@pytest.mark.parametrize("second", [2.0, 400.0])  # before and after keys are due again
def test_who_has_used_nothing_goes_before_who_waits_alone(second):
    # One of two processors is free. The first who waits needs both; the user of the other has used
    # nothing, stands before him, and so starts at once though he runs into the other's time.
    log = Workload(
        {
            "submit": [0.0, 1.0, second],
            "runtime": [1000.0, 100.0, 5000.0],
            "estimate": [1000.0, 100.0, 5000.0],
            "procs": [1, 2, 1],
            "user": [1, 1, 2],
        }
    )
    cluster = Cluster(2, multifactor=Multifactor(size=0, period=300))
    schedule = simulate(log, cluster, "multifactor+easy")
    assert schedule.start.tolist() == [0.0, second + 5000.0, second]

"""The schedule as an object: tables, breakdowns, intervals, reality beside simulation."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest

import onega
from onega import Cluster, Power, RateControl, Schedule, SimulationError, Workload
from onega.core.intervals import batch_means, mean_interval
from onega.core.workload.meta import Meta


def workload(n: int = 200, seed: int = 0, **columns) -> Workload:
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 60, n).astype(float)
    table = {
        "submit": np.cumsum(rng.integers(0, 12, n)).astype(float),
        "runtime": runtime,
        "procs": rng.integers(1, 9, n),
        "estimate": runtime * rng.choice([1, 2, 5], n),
        "user": rng.integers(1, 5, n),
        "queue": [None, *rng.integers(0, 2, n - 1).tolist()],
    }
    return Workload({**table, **columns})


@pytest.fixture
def schedule() -> Schedule:
    return onega.simulate(workload(), Cluster(8, power=Power(3.0, 1.0)), "easy")


# -- tables


def test_job_table_by_hand():
    log = Workload({"job": [7, 8], "submit": [0.0, 5.0], "runtime": [20.0, 4.0], "procs": [3, 4]})
    machine = Cluster(4, RateControl(rates=2.0), Power(10.0, 1.0))
    schedule = onega.simulate(log, machine, "fcfs")
    expected = {
        "job": [7, 8],
        "submit": [0.0, 5.0],
        "start": [0.0, 10.0],
        "end": [10.0, 12.0],
        "wait": [0.0, 5.0],
        "response": [10.0, 7.0],
        "service": [10.0, 2.0],
        "slowdown": [1.0, 3.5],
        "bounded_slowdown": [1.0, 1.0],
        "energy": [300.0, 80.0],
        "procs": [3, 4],
        "work": [20.0, 4.0],
        "displaced": [0.0, 0.0],
        "state": ["completed", "completed"],
    }
    assert schedule.jobs.to_dict(as_series=False) == expected
    assert schedule.to_polars().equals(schedule.jobs)
    system = schedule.system.to_dict(as_series=False)
    assert system == {
        "time": [0.0, 5.0, 10.0, 12.0],
        "rate": [2.0] * 4,
        "busy": [3, 3, 4, 0],
        "running": [1, 1, 1, 0],
        "waiting": [0, 1, 0, 0],
        "workload": [20.0, 14.0, 4.0, 0.0],
        "power": [31.0, 31.0, 40.0, 4.0],
        "potential_load": [6.0, 8.0, 8.0, 0.0],
        "effective_load": [6.0, 6.0, 8.0, 0.0],
    }
    summary = schedule.summary()
    # One idle processor while the second job waits for 5 s at rate 2.
    assert summary["wasted_capacity"] == 10.0
    assert summary["energy"] == 10 * 31.0 + 2 * 40.0
    assert (summary["job_energy"], summary["idle_energy"]) == (380.0, 10.0)
    assert summary["mean_power"] == 390.0 / 12
    assert summary["utilisation"] == pytest.approx((30 + 8) / 48)
    assert summary["mean_jobs_in_system"] == pytest.approx(17 / 12)
    assert summary["makespan"] == 12.0


def test_summary_has_the_promised_keys(schedule):
    promised = """
        jobs procs policy mean_wait median_wait p95_wait max_wait mean_response mean_slowdown
        mean_bounded_slowdown utilisation makespan energy mean_power wasted_capacity
        mean_jobs_in_system
    """
    summary = schedule.summary()
    assert set(promised.split()) <= set(summary)
    assert all(value is None or isinstance(value, int | float | str) for value in summary.values())
    assert (summary["jobs"], summary["procs"], summary["policy"]) == (200, 8, "fcfs+easy")
    wait = schedule.jobs["wait"].to_numpy()
    assert summary["mean_wait"] == wait.mean()
    assert summary["median_wait"] == np.median(wait)
    assert summary["p95_wait"] == np.quantile(wait, 0.95)
    assert summary["max_wait"] == wait.max()


def test_without_power_there_is_no_energy():
    schedule = onega.simulate(workload(20), 8)
    assert schedule.jobs["energy"].null_count() == 20
    assert schedule.system["power"].null_count() == schedule.system.height
    assert schedule.summary()["energy"] is None


def test_limits_end_jobs_and_say_so():
    log = Workload(
        {
            "submit": [0.0, 0.0, 0.0],
            "runtime": [9.0, 5.0, 5.0],
            "procs": [1, 1, 1],
            "estimate": [4.0, 8.0, None],
        }
    )
    free = onega.simulate(log, 1)
    assert free.end.tolist() == [9.0, 14.0, 19.0]
    assert free.summary()["limited_jobs"] == 0
    held = onega.simulate(log, 1, enforce_limits=True)
    assert held.end.tolist() == [4.0, 9.0, 14.0]
    assert held.limited.tolist() == [True, False, False]
    assert held.work.tolist() == [4.0, 5.0, 5.0]
    assert held.jobs["state"].to_list() == ["timeout", "completed", "completed"]
    assert held.summary()["limited_jobs"] == 1
    just = onega.simulate(
        Workload({"submit": [0.0], "runtime": [4.0], "procs": [1], "estimate": [4.0]}),
        1,
        enforce_limits=True,
    )
    assert just.limited.tolist() == [False]  # done in time


def test_knowledge():
    # the log's estimates would let the long job go first under spf; the run times know better
    log = Workload(
        {
            "submit": [0.0, 1.0, 1.0],
            "runtime": [3.0, 9.0, 2.0],
            "procs": [1, 1, 1],
            "estimate": [3.0, 1.0, 8.0],
        }
    )
    assert onega.simulate(log, 1, "spf").start.tolist() == [0.0, 3.0, 12.0]
    assert onega.simulate(log, 1, "spf", knowledge="runtime").start.tolist() == [0.0, 5.0, 3.0]
    assert onega.simulate(log, 1, "spf").summary()["knowledge"] == "estimate"
    bare = log.with_columns(pl.lit(None, dtype=pl.Float64).alias("estimate"), note="bare")
    assert onega.simulate(bare, 1, "spf").summary()["knowledge"] == "runtime"
    assert onega.simulate(bare, 1, "spf").start.tolist() == [0.0, 5.0, 3.0]
    # an estimate of nothing is none: the second job is known by its run time, 9 s against 8 s
    zero = log.with_columns(pl.Series("estimate", [3.0, 0.0, 8.0]), note="zero")
    assert onega.simulate(zero, 1, "spf").start.tolist() == [0.0, 5.0, 3.0]


# -- breakdowns, quantiles, intervals, windows


def test_by_user(schedule):
    table = schedule.by("user")
    users = schedule.workload.column("user")
    wait = schedule.jobs["wait"].to_numpy()
    assert table["user"].to_list() == sorted(set(users.tolist()))
    assert table["jobs"].sum() == 200
    assert table["share_of_area"].sum() == pytest.approx(1)
    assert table["energy"].sum() == pytest.approx(schedule.summary()["job_energy"])
    for row in table.iter_rows(named=True):
        theirs = wait[users == row["user"]]
        assert row["mean_wait"] == pytest.approx(theirs.mean())
        assert row["median_wait"] == pytest.approx(np.median(theirs))
        assert row["p95_wait"] == pytest.approx(np.quantile(theirs, 0.95))


def test_by_classes(schedule):
    widths = schedule.by("width")
    assert widths["width_from"].to_list() == [1, 2, 4, 8]
    procs = schedule.workload.column("procs")
    assert widths["jobs"].to_list() == [
        int(((procs >= low) & (procs < 2 * low)).sum()) for low in (1, 2, 4, 8)
    ]
    times = schedule.by("runtime")
    assert times["runtime_from"].to_list() == [1, 2, 4, 8, 16, 32]
    runtime = schedule.workload.column("runtime")
    assert times["jobs"][0] == int((runtime < 2).sum())


def test_by_column_with_nulls_and_by_expression(schedule):
    queues = schedule.by("queue")
    assert queues["jobs"].sum() == 200
    assert queues["queue"].null_count() == 1
    waited = schedule.by((pl.col("wait") > 0).alias("waited"))
    assert waited["jobs"].to_list() == [
        int((schedule.jobs["wait"] == 0).sum()),
        int((schedule.jobs["wait"] > 0).sum()),
    ]


def test_by_an_unknown_column(schedule):
    with pytest.raises(ValueError, match="can't group by 'usr'"):
        schedule.by("usr")


def test_quantiles(schedule):
    wait = schedule.jobs["wait"].to_numpy()
    assert schedule.quantiles() == {
        q: pytest.approx(np.quantile(wait, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    }
    assert schedule.quantiles("slowdown", at=(0.0,)) == {0.0: schedule.jobs["slowdown"].min()}
    with pytest.raises(ValueError, match="no job measure 'waits'"):
        schedule.quantiles("waits")


def test_interval_by_batch_means(schedule):
    wait = schedule.jobs["wait"].to_numpy()
    got = schedule.interval("wait", batches=10)
    means = wait.reshape(10, 20).mean(axis=1)
    assert got == mean_interval(means)
    assert got.mean == pytest.approx(wait.mean())
    assert got.mean in got
    narrower = schedule.interval("wait", batches=10, confidence=0.5)
    assert narrower.half_width < got.half_width
    with pytest.raises(ValueError, match="batches need at least"):
        schedule.interval(batches=150)


def test_what_batches_leave_over_is_taken_from_the_beginning():
    """The warm-up is there; the last jobs count."""
    series = [1e9, 1e9, *range(100)]
    found = batch_means(series, batches=10)
    assert found == mean_interval(np.arange(100.0).reshape(10, 10).mean(axis=1))
    assert found.mean == pytest.approx(49.5)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "lcfs-pr", "saf"])
def test_rows_out_of_order_go_by_submission_then_id(policy):
    """Several jobs come at one instant; ids say who came first, whatever the order of the rows."""
    log = workload(60)
    assert np.any(np.diff(log.column("submit")) == 0)
    reverse = Workload(log.table.reverse())
    one, other = (onega.simulate(some, 8, policy) for some in (log, reverse))
    assert other.start.tolist() == one.start[::-1].tolist()
    assert other.interval(batches=6) == one.interval(batches=6)


def test_window(schedule):
    part = schedule.window(100.0, 200.0)
    assert part["submit"].is_between(100.0, 200.0, closed="left").all()
    assert part.height == int(schedule.jobs["submit"].is_between(100, 200, closed="left").sum())


# -- values


def test_arrays_are_frozen(schedule):
    for name in ("start", "end", "work", "limited"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(schedule, name)[0] = 0
    with pytest.raises(AttributeError):
        schedule.start = None
    displacing = onega.simulate(workload(40), 8, "lcfs-pr")
    for owner, name in (("rates", "since"), ("rates", "level"), ("pieces", "start")):
        with pytest.raises(ValueError, match="read-only"):
            getattr(getattr(displacing, owner), name)[0] = 0


@pytest.mark.parametrize("policy", ["fcfs", "wfp3+easy", "lcfs-pr"])
def test_pickling(policy):
    control = RateControl("queue", rates=(1, 2), k_low=2, k_high=5)
    schedule = onega.simulate(workload(40), Cluster(8, control, Power((1, 2), 0.5)), policy)
    bare = pickle.dumps(schedule)
    assert len(schedule.system) > 0
    assert len(pickle.dumps(schedule)) == len(bare)  # tables aren't carried along
    again = pickle.loads(bare)
    assert again.summary() == schedule.summary()
    assert again.jobs.equals(schedule.jobs)
    assert again.system.equals(schedule.system)
    assert again.provenance == schedule.provenance
    assert not again.start.flags.writeable
    assert not again.rates.since.flags.writeable


def test_provenance_lets_one_run_it_again():
    control = RateControl("random", rates=(1, 2), p_low=0.5, p_high=0.5)
    one = onega.simulate(workload(40), Cluster(8, control), "easy", rng=5)
    assert onega.simulate(workload(40), Cluster(8, control), "easy", rng=5).end.tolist() == (
        one.end.tolist()
    )
    other = onega.simulate(workload(40), Cluster(8, control), "easy", rng=6)
    assert other.end.tolist() != one.end.tolist()
    assert "rng=SeedSequence(5)" in one.provenance
    assert any("fcfs+easy" in line and "ties=instant" in line for line in one.provenance)
    free = onega.simulate(workload(40), Cluster(8, control), "easy")
    entropy = int(free.provenance[-1].removeprefix("rng=SeedSequence(").removesuffix(")"))
    again = onega.simulate(
        workload(40), Cluster(8, control), "easy", rng=np.random.SeedSequence(entropy)
    )
    assert again.end.tolist() == free.end.tolist()


def test_progress_is_told_and_ends_at_one():
    seen = []
    onega.simulate(workload(200), 8, "fcfs", progress=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


def test_a_generator_gives_other_draws_each_time():
    control = RateControl("random", rates=(1, 2), p_low=0.5, p_high=0.5)
    rng = np.random.default_rng(0)
    one, two = (
        onega.simulate(workload(40), Cluster(8, control), rng=rng).end.tolist() for _ in range(2)
    )
    assert one != two


# -- observed


def test_observed_is_the_log():
    log = workload(30, wait=np.arange(30.0), status=["completed"] * 29 + ["failed"])
    schedule = Schedule.observed(log, 64)
    assert schedule.policy is None
    assert schedule.jobs["wait"].to_list() == list(range(30))
    assert (schedule.end - schedule.start).tolist() == log.column("runtime").tolist()
    assert schedule.jobs["state"].to_list() == ["completed"] * 29 + ["failed"]
    assert schedule.summary()["policy"] == "observed"
    assert not schedule.report
    assert "observed" in repr(schedule)


def test_observed_leaves_out_and_says_so():
    log = Workload(
        {
            "submit": [0.0, 1.0, 2.0, 3.0],
            "runtime": [5.0, None, 5.0, 5.0],
            "procs": [1, 1, None, 2],
            "wait": [0.0, 0.0, 0.0, None],
        }
    )
    schedule = Schedule.observed(log, 4)
    assert len(schedule) == 1
    (finding,) = list(schedule.report)
    assert finding.count == 3
    with pytest.raises(SimulationError, match="no job with a wait"):
        Schedule.observed(workload(5))


def test_observed_finds_the_machine():
    log = Workload(
        {
            "submit": [0.0, 0.0, 5.0],
            "runtime": [5.0, 9.0, 3.0],
            "procs": [4, 2, 3],
            "wait": [0.0, 0.0, 0.0],
        }
    )
    # 6 at first; at 5 one job leaves 4 and another takes 3
    assert Schedule.observed(log).cluster.procs == 6
    assert Schedule.observed(Workload(log.table, Meta(procs=10))).cluster.procs == 10
    assert Schedule.observed(log, Cluster(7)).cluster.procs == 7


@pytest.mark.parametrize("policy", ["fcfs", "easy", "spf+conservative"])
def test_a_simulation_observed_is_the_same_schedule(policy):
    log = workload(100)
    made = onega.simulate(log, 8, policy)
    waits = log.with_columns(pl.Series("wait", made.jobs["wait"]), note="with waits")
    seen = Schedule.observed(waits, 8)
    assert seen.start.tolist() == made.start.tolist()
    assert seen.end.tolist() == made.end.tolist()
    assert seen.system.equals(made.system)
    skip = {"policy", "knowledge"}
    assert {k: v for k, v in seen.summary().items() if k not in skip} == {
        k: v for k, v in made.summary().items() if k not in skip
    }


def test_breakdowns_have_the_names_of_the_log():
    jobs = {"submit": [0.0, 1.0], "runtime": [1.0, 1.0], "procs": [1, 1], "user": [1, 2]}
    log = onega.Workload(jobs, onega.Meta(labels={"user": {1: "ann"}}))
    table = onega.simulate(log, 2).by("user")
    assert table.select("user", "name").rows() == [(1, "ann"), (2, "2")]

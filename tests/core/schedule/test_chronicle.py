"""Measures of detailed runs, on stories whose figures can be worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.schedule.chronicle import EVENTS, STATES, Attempts, Parts
from onega.core.schedule.history import Pieces, RateHistory
from onega.core.schedule.schedule import Schedule
from onega.experiment.run_summary import wait_interval
from onega.kernels.machine.codes import DOWN, IDLE, WAKING


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def story(cluster, jobs, states, tries, parts=(), lost=None, last=None):
    """``tries``: (row, start, wake, begin, stop, end, saved); ``parts``: kind, since, …"""
    rows = list(zip(*tries, strict=True)) if tries else [()] * 7
    row = np.array(rows[0], dtype=np.int64)
    attempts = Attempts(row, *(floats(*column) for column in rows[1:]))
    kinds = list(zip(*parts, strict=True)) if parts else [()] * 5
    chronicle = SimpleNamespace(
        state=pl.Series("state", states, dtype=STATES),
        submitted=np.array([state != "dropped" for state in states]),
        lost_work=floats(*(lost or [0.0] * len(states))),
        head_start=np.zeros(len(states)),
        attempts=attempts,
        events=pl.DataFrame({"time": [], "event": [], "job": [], "node": []},
                            schema={"time": pl.Float64, "event": EVENTS, "job": pl.Int64,
                                    "node": pl.Int64}),
        parts=Parts(
            np.array(kinds[0], np.int64), floats(*kinds[1]), floats(*kinds[2]),
            np.array(kinds[3], np.int64), np.array(kinds[4], np.int64),
        ),
    )  # fmt: skip
    count = len(states)
    start, end = np.full(count, np.nan), np.full(count, np.nan)
    for job in range(count):
        mine = np.flatnonzero(row == job)
        if mine.size:
            start[job], end[job] = attempts.start[mine[0]], attempts.end[mine[-1]]
    for job, when in (last or {}).items():
        end[job] = when
    workload = onega.Workload(jobs)
    order = np.lexsort((attempts.start, row))
    several = row.size > np.isfinite(start).sum()
    return Schedule(
        workload,
        cluster,
        onega.Policy.parse("fcfs"),
        start,
        end,
        workload.column("runtime").astype(float),
        np.zeros(count, dtype=bool),
        RateHistory.constant(0.0),
        Pieces(row[order], attempts.start[order], attempts.end[order]) if several else None,
        chronicle=chronicle,
    )


@pytest.fixture
def sleepers():
    """Two processors that sleep after 5 s; the second job wakes both of them."""
    cluster = onega.Cluster(
        2,
        power=onega.Power(busy=10, idle=4),
        sleep=onega.Sleep((onega.SleepState(timeout=5, power=1, delay=2, wake_power=8),)),
    )
    jobs = {"submit": [0.0, 20.0], "runtime": [10.0, 10.0], "procs": [1, 2]}
    tries = [(0, 0, 0, 0, 10, 10, 10), (1, 20, 2, 22, 32, 32, 10)]
    parts = [
        (IDLE, 10, 20, 1, -1),
        (IDLE, 0, 20, 1, -1),
        (WAKING, 20, 22, 1, 0),
        (WAKING, 20, 22, 1, 0),
    ]
    return story(cluster, jobs, ["completed"] * 2, tries, parts)


def test_energy_adds_up_with_sleep(sleepers):
    found = sleepers.summary()
    assert sleepers.jobs["energy"].to_list() == [100, 200]
    assert found["sleep_energy"] == (20 - 15) * 1 + (20 - 5) * 1
    assert found["wake_energy"] == 2 * 2 * 8
    assert found["idle_energy"] == (15 - 10) * 4 + (5 - 0) * 4
    assert found["energy"] == 300 + 20 + 32 + 40
    assert found["sleep_share"] == 20 / (2 * 32)


def test_the_power_series_integrates_to_the_energy(sleepers):
    table = sleepers.system
    power, time = table["power"].to_numpy(), table["time"].to_numpy()
    assert power[:-1] @ np.diff(time) == sleepers.summary()["energy"]
    at = dict(zip(time, power, strict=True))
    assert (at[0.0], at[5.0], at[10.0], at[15.0], at[20.0], at[22.0]) == (14, 11, 5, 2, 16, 20)
    assert table.filter(pl.col("time") == 15)["asleep"].item() == 2
    assert table.filter(pl.col("time") == 20)["waking"].item() == 2


def test_a_wake_up_is_part_of_the_service(sleepers):
    assert sleepers.jobs["service"].to_list() == [10, 12]
    assert sleepers.jobs["wait"].to_list() == [0, 0]


@pytest.fixture
def requeued():
    """One processor: job 1 is interrupted at 6 and comes again at 8; job 2 is cancelled at 9."""
    jobs = {"submit": [0.0, 1.0, 2.0], "runtime": [10.0, 4.0, 5.0], "procs": [1, 1, 1]}
    tries = [(0, 0, 0, 0, 6, 6, 0), (0, 8, 0, 8, 18, 18, 10)]
    return story(
        onega.Cluster(1),
        jobs,
        ["completed", "cancelled", "unstarted"],
        tries,
        [(DOWN, 6, 8, 1, -1)],
        lost=[6.0, 0.0, 0.0],
        last={1: 9.0},
    )


def test_states_and_counts(requeued):
    found = requeued.summary()
    assert (found["completed_jobs"], found["cancelled_jobs"], found["unstarted_jobs"]) == (1, 1, 1)
    assert found["lost_work"] == 6
    assert found["mean_wait"] == 0
    assert found["makespan"] == 18
    assert found["utilisation"] == 16 / 18
    assert found["down_share"] == 2 / 18
    assert found["mean_jobs_in_system"] == pytest.approx((18 + 8 + 16) / 18)


def test_jobs_without_a_start_have_no_wait(requeued):
    table = requeued.jobs
    assert table["state"].to_list() == ["completed", "cancelled", "unstarted"]
    assert table["start"].to_list() == [0, None, None]
    assert table["wait"].to_list() == [0, None, None]
    assert table["end"].to_list() == [18, 9, None]
    assert table["displaced"].to_list() == [2, None, None]
    assert table["service"].to_list() == [16, None, None]


def test_an_interval_is_of_the_jobs_that_started():
    """Waits 0, 2, 4, … of every second job; the others never start."""
    count = 120
    jobs = {"submit": np.arange(count) * 1.0, "runtime": [1.0] * count, "procs": [1] * count}
    tries = [(k, 2.0 * k, 0, 2.0 * k, 2 * k + 1, 2 * k + 1, 1) for k in range(0, count, 2)]
    states = ["completed", "unstarted"] * (count // 2)
    schedule = story(onega.Cluster(1), jobs, states, tries, [])
    assert schedule.interval("wait").mean == schedule.summary()["mean_wait"] == 59.0
    assert wait_interval(schedule).low < 59.0 < wait_interval(schedule).high


def test_the_system_of_an_interrupted_run(requeued):
    table = requeued.system
    at = {row["time"]: row for row in table.iter_rows(named=True)}
    assert [at[t]["running"] for t in (0, 6, 8, 18)] == [1, 0, 1, 0]
    assert [at[t]["waiting"] for t in (0, 1, 2, 6, 8, 9, 18)] == [0, 1, 2, 3, 2, 1, 1]
    assert [at[t]["down"] for t in (0, 6, 8)] == [0, 1, 0]
    # 10, then 1 less and 4 more, then 5 more; at 6 all is to be done again.
    assert [at[t]["workload"] for t in (0, 1, 2, 6, 8)] == [10, 13, 17, 19, 19]
    assert at[9]["workload"] == 18 - 4
    assert at[18]["workload"] == 5


def test_nothing_is_wasted_while_the_processor_is_down(requeued):
    assert requeued.summary()["wasted_capacity"] == 0


def test_a_state_in_the_middle(requeued):
    state = requeued.state_at(5.0)
    assert state.workload.table["job"].to_list() == [1, 2, 3]
    np.testing.assert_array_equal(state.start, [0, np.nan, np.nan])
    np.testing.assert_array_equal(state.done, [5, 0, 0])
    # Between the attempts all jobs wait, and nothing is done.
    assert state.summary()["running"] == 1
    assert requeued.state_at(7.0).summary() == {
        "time": 7.0, "running": 0, "waiting": 3, "busy": 0, "waiting_procs": 3
    }  # fmt: skip
    assert requeued.state_at(12.0).done.tolist() == [4, 0]


def test_a_plain_run_has_no_event_log():
    log = onega.Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]})
    with pytest.raises(onega.SimulationError, match="no event log"):
        _ = onega.simulate(log, 1).events


def test_a_window_over_everything_is_the_summary():
    log = onega.Workload(
        {"submit": [0.0, 1.0, 2.0], "runtime": [5.0, 3.0, 4.0], "procs": [2, 1, 2]}
    )
    schedule = onega.simulate(log, 2, "easy", power=onega.Power(busy=2.0, idle=1.0))
    whole, window = schedule.summary(), schedule.summary(window=(0.0, 100.0))
    for name, value in window.items():
        if name not in ("since", "until", "window"):
            assert value == pytest.approx(whole[name]), name


def test_a_window_cuts_jobs_and_time():
    log = onega.Workload({"submit": [0.0, 4.0], "runtime": [10.0, 2.0], "procs": [1, 1]})
    schedule = onega.simulate(log, 2, "fcfs")
    found = schedule.summary(window=(4.0, 8.0))
    assert (found["jobs"], found["utilisation"]) == (1, (4 + 2) / 8)
    with pytest.raises(onega.SimulationError, match="no job was submitted in the window"):
        schedule.summary(window=(5.0, 8.0))


def test_the_warm_up_is_left_out_by_a_rule_that_is_told():
    rng = np.random.default_rng(1)
    count = 4000
    log = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(1.0, count)),
            "runtime": rng.exponential(3.6, count),
            "procs": np.ones(count, int),
        }
    )
    schedule = onega.simulate(log, 4)
    whole, found = schedule.summary(), schedule.summary(warmup="mser5")
    assert found["warm_up"] == "mser5"
    assert found["warm_up_jobs"] + found["jobs"] == whole["jobs"]
    timed = schedule.summary(warmup="100s")
    first = float(log.table["submit"].min())
    left_out = log.table.filter(pl.col("submit") < first + 100).height
    assert timed["warm_up_jobs"] == left_out
    waits = schedule.jobs["wait"].to_numpy()[left_out:]
    assert timed["mean_wait"] == pytest.approx(waits.mean())
    with pytest.raises(onega.SimulationError, match="one of the two"):
        schedule.summary((0.0, 1.0), warmup="mser5")

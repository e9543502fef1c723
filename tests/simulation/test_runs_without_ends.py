"""Runs in which jobs stay for ever: what their horizon is, and that measures hold on it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega

PROCS = 64
POWER = onega.Power(busy=10, idle=5)


def log(first: float = 10.0, count: int = 300) -> onega.Workload:
    submit = first + 3.0 * np.arange(count)
    return onega.Workload(
        {"submit": submit, "runtime": np.full(count, 100.0), "procs": 1 + np.arange(count) % PROCS}
    )


def run(rows: list[tuple], cluster: onega.Cluster | int = PROCS, **others) -> onega.Schedule:
    columns = ["time", "event", "procs" if cluster == PROCS else "node"]
    events = pl.DataFrame(rows, schema=columns, orient="row")
    return onega.simulate(log(), cluster, "easy", events=events, rng=1, **others)


NODES = onega.Cluster(nodes=(onega.NodeGroup(8, 8),), power=POWER)


@pytest.mark.parametrize("event", ["down", "fail", "drain"])
def test_a_run_in_which_nothing_ends_goes_to_the_last_submission(event):
    if event == "down":
        schedule = run([(5.0, event, PROCS)], power=POWER)
    else:
        schedule = run([(5.0, event, "1-8")], NODES)
    submit = schedule.workload.column("submit")
    assert np.isnan(schedule.end).all()
    assert schedule.last == submit.max()
    summary = schedule.summary()
    span = submit.max() - submit.min()
    assert summary["makespan"] == span
    assert summary["unstarted_jobs"] == len(schedule)
    assert summary["utilisation"] == 0.0
    assert not np.signbit(summary["utilisation"])
    assert summary["mean_jobs_in_system"] == pytest.approx((submit.max() - submit).sum() / span)
    # What is down isn't wasted, and draws nothing; what drains is up, and idle.
    up = float(event == "drain")
    assert summary["down_share"] == pytest.approx(1.0 - up)
    assert summary["wasted_capacity"] == pytest.approx(up * PROCS * span)
    assert summary["energy"] == pytest.approx(up * PROCS * span * POWER.idle[0])
    assert schedule.system["waiting"].to_list() == list(range(1, len(schedule) + 1))
    assert schedule.jobs["end"].null_count() == len(schedule)


def test_jobs_that_stay_wait_up_to_the_last_submission():
    """Job 1 runs and ends; then the machine goes away for good while jobs keep coming."""
    schedule = run([(11.0, "down", PROCS - 1)], power=POWER)
    submit, end = schedule.workload.column("submit"), schedule.end
    wide = schedule.workload.column("procs") > 1
    assert np.isnan(end[wide]).all()
    assert schedule.last == max(np.nanmax(end), submit.max())
    # One processor stays up, and a job waits from the second submission on.
    busy = np.nansum(end - np.maximum(schedule.start, submit[1]))
    wasted = (schedule.last - submit[1]) - busy
    assert schedule.summary()["wasted_capacity"] == pytest.approx(wasted)


def test_half_of_a_window_is_half_of_the_waiting():
    schedule = run([(5.0, "down", PROCS)])
    middle = (schedule.begin + schedule.last) / 2
    whole = schedule.summary()["mean_jobs_in_system"]
    halves = [
        schedule.summary(window)["mean_jobs_in_system"]
        for window in ((schedule.begin, middle), (middle, schedule.last + 1))
    ]
    assert np.mean(halves) == pytest.approx(whole)


def test_one_job_that_never_starts_has_no_span_to_average_over():
    job = onega.Workload({"submit": [10.0], "runtime": [5.0], "procs": [1]})
    events = pl.DataFrame({"time": [5.0], "event": ["down"], "procs": [1]})
    summary = onega.simulate(job, 1, "easy", events=events).summary()
    assert summary["makespan"] == 0.0
    assert np.isnan(summary["utilisation"])
    assert summary["wasted_capacity"] == 0.0

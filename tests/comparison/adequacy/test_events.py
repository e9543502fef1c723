"""Event streams: taken apart, written, read, put together again, compared."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import onega
from onega.comparison.adequacy.events import EventLog


def a_log():
    return onega.Workload(
        {
            "job": [1, 2, 3, 4],
            "submit": [0, 5, 6, 7],
            "runtime": [10, 20, None, 3],
            "procs": [2, 1, 4, 1],
            "estimate": [30, 20, 60, None],
            "wait": [0, 1, 50, 2],
            "status": ["completed", "timeout", "cancelled", "cancelled"],
        }
    )


def test_a_log_gives_every_kind_of_event():
    table = {
        "time": [50.0, 8.0, 9.0],
        "event": ["cancel", "down", "interrupt"],
        "job": [3, None, 2],
        "procs": [None, 3, None],
    }
    events = EventLog.of(a_log(), table)
    assert events.external.select("time", "event", "job").rows() == [
        (0.0, "submit", 1),
        (5.0, "submit", 2),
        (6.0, "submit", 3),
        (7.0, "submit", 4),
        (8.0, "down", None),
        (9.0, "interrupt", 2),
        (10.0, "end", 1),
        (12.0, "kill", 4),
        (56.0, "cancel", 3),
    ]
    assert events.internal.rows() == [
        (0.0, "start", 1),
        (6.0, "start", 2),
        (9.0, "start", 4),
        (26.0, "limit", 2),
    ]
    assert events.report.dropped == 1
    # The log says when job 3 left; the table's own instant gives way.
    assert [row["event"] for _, row in events.events().in_order()] == [
        *("down", "interrupt", "kill", "cancel"),
    ]
    back = events.schedule()
    assert back.workload.column("job").tolist() == [1, 2, 4]
    assert back.end.tolist() == [10.0, 26.0, 12.0]


def test_a_run_in_which_things_happen_survives_the_way_through_events(tmp_path):
    """As a detailed run tells it: cancelled, killed, lost, never started."""
    jobs = onega.Workload(
        {
            "job": [1, 2, 3, 4, 5],
            "submit": [0.0, 1.0, 2.0, 3.0, 4.0],
            "runtime": [50.0, 40.0, 30.0, 20.0, 10.0],
            "procs": [2, 2, 1, 1, 2],
            "wait": [0.0] * 5,
        }
    )
    schedule = replace(
        onega.Schedule.observed(jobs, 2),
        start=np.array([0.0, np.nan, 20.0, 20.0, np.nan]),
        end=np.array([20.0, 10.0, 25.0, 40.0, np.nan]),
        chronicle=SimpleNamespace(
            state=pl.Series(["killed", "cancelled", "lost", "completed", "unstarted"])
        ),
    )
    table = {
        "time": [9.0, 25.0],
        "event": ["cancel", "fail"],
        "job": [2, None],
        "node": [None, "1"],
    }
    log = EventLog.of(schedule, table)
    happened = log.external.filter(pl.col("event") != "submit")
    assert happened.select("time", "event", "job").rows() == [
        (10.0, "cancel", 2),
        (20.0, "kill", 1),
        (25.0, "interrupt", 3),
        (25.0, "fail", None),
        (40.0, "end", 4),
    ]  # fmt: skip
    log.write(tmp_path)
    again = EventLog.read(tmp_path)
    assert again.external.equals(log.external)
    assert again.events().table["event"].to_list() == ["cancel", "kill", "interrupt", "fail"]
    back = again.schedule()
    assert back.workload.column("job").tolist() == [1, 3, 4]
    assert back.start.tolist() == [0.0, 20.0, 20.0]
    assert back.end.tolist() == [20.0, 25.0, 40.0]


def test_the_input_stream_holds_no_starts():
    stream = EventLog.of(a_log()).workload()
    assert len(stream) == 4
    assert not stream.has("wait")


def test_written_and_read_events_are_the_same(tmp_path):
    events = EventLog.of(a_log())
    paths = events.write(tmp_path / "log")
    assert all(path.parent == tmp_path / "log" for path in paths)
    again = EventLog.read(tmp_path / "log")
    assert again.external.equals(events.external)
    assert again.internal.equals(events.internal)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize("limits", [False, True])
def test_a_simulated_schedule_survives_the_way_through_events(policy, limits, tmp_path):
    rng = np.random.default_rng(3)
    jobs = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(5, 60)),
            "runtime": rng.exponential(40, 60) + 1,
            "procs": rng.integers(1, 9, 60),
            "estimate": rng.exponential(60, 60) + 1,
        }
    )
    schedule = onega.simulate(jobs, 8, policy, enforce_limits=limits)
    EventLog.of(schedule).write(tmp_path)
    back = EventLog.read(tmp_path).schedule()
    np.testing.assert_allclose(back.start, schedule.start, rtol=1e-12)
    np.testing.assert_allclose(back.end, schedule.end, rtol=1e-12)
    assert onega.adequacy(schedule, back).P == pytest.approx(0, abs=1e-9)


def test_the_three_ways_to_an_input_stream(tmp_path):
    """A real log, SWF, a generated one: each goes through a model and comes back as events."""
    rng = np.random.default_rng(5)
    made = onega.Workload(
        {
            "submit": np.cumsum(rng.integers(1, 60, 80)).astype(float),
            "runtime": rng.integers(1, 300, 80).astype(float),
            "procs": rng.integers(1, 9, 80),
            "wait": rng.integers(0, 50, 80).astype(float),
        }
    )
    onega.write(made, tmp_path / "log.swf")
    lines = ["JobID|Submit|Start|End|NCPUS|State"]
    lines += [
        f"{i}|2024-01-01T00:00:{i:02d}|2024-01-01T00:01:00|2024-01-01T00:02:00|2|COMPLETED"
        for i in range(1, 50)
    ]
    (tmp_path / "site.sacct").write_text("\n".join(lines) + "\n")
    sampled = onega.models.Markov.fit(made, rng=1).sample(60, rng=2)
    for stream in (onega.read(tmp_path / "site.sacct"), onega.read(tmp_path / "log.swf"), sampled):
        schedule = onega.simulate(stream, 8, "easy")
        events = EventLog.of(schedule)
        assert events.external.filter(pl.col("event") == "submit").height == len(stream)
        assert events.internal.filter(pl.col("event") == "start").height == len(stream)
        assert onega.adequacy(schedule, events.schedule()).P == pytest.approx(0, abs=1e-6)


def test_what_is_no_event_log_is_refused(tmp_path):
    with pytest.raises(onega.TraceError, match=r"external\.csv and internal.csv"):
        EventLog.read(tmp_path)
    for name in ("external.csv", "internal.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(onega.TraceError, match="is not an event log"):
        EventLog.read(tmp_path)


def test_start_and_stop_of_the_job_manager_itself(tmp_path):
    jobs = onega.Workload({"submit": [0.0, 5.0], "runtime": [10.0, 10.0], "procs": [1, 1]})
    schedule = onega.simulate(jobs, 2, "easy")
    events = EventLog.of(schedule, manager=(-30.0, 90.0))
    assert events.external["event"].to_list() == ["begin", "submit", "submit", "end", "end", "stop"]
    assert events.external["time"].to_list()[::5] == [-30.0, 90.0]
    events.write(tmp_path)
    again = EventLog.read(tmp_path)
    assert again.external.equals(events.external)
    for wrong in ((5.0, 1.0), (float("nan"), 3.0)):
        with pytest.raises(onega.TraceError, match="when it was started and when stopped"):
            EventLog.of(schedule, manager=wrong)
    # A model is given jobs and what happens to them; a manager that isn't there starts nobody.
    assert len(again.events()) == 0
    assert len(again.workload()) == 2
    assert onega.adequacy(again.schedule(), schedule).P == 0

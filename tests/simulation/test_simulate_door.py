"""The door of `onega.simulate`: the log's own machine, what isn't a workload, a notebook."""

from __future__ import annotations

import pytest

import onega
from cut_logs import hourly


def test_the_machine_is_the_logs_own_unless_it_is_given():
    log = hourly(days=2)
    assert onega.simulate(log, policy="easy").cluster.procs == 10
    assert onega.simulate(log, 20, "easy").cluster.procs == 20


def test_a_log_without_a_size_asks_for_one():
    log = onega.Workload({"submit": [0.0], "runtime": [5.0], "procs": [1]})
    with pytest.raises(onega.SimulationError, match=r"give their number: simulate\(log, 100"):
        onega.simulate(log, policy="easy")


def test_a_path_is_not_a_workload():
    with pytest.raises(TypeError, match=r"takes a Workload, got 'x\.swf'; read a file first"):
        onega.simulate("x.swf", 10, "easy")


def test_a_notebook_shows_waits_and_how_busy_the_machine_was():
    shown = onega.simulate(hourly(), 10, "easy", power=onega.Power(200.0, 50.0))._repr_html_()
    assert "<b>Schedule: 505 jobs under fcfs+easy on 10 processors</b>" in shown
    assert "90 % (1 January 2024 08:00 to 22 January 2024 00:00" in shown
    assert "mean power" in shown
    assert "1,850 W" in shown
    assert "<script" not in shown


def test_an_interval_of_waits_is_not_negative():
    log = hourly(days=5, long_last_job=False)
    assert onega.simulate(log, 10, "easy").interval("wait").low >= 0

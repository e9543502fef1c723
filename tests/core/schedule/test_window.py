"""The window that a log supports, on made logs where it is known; measures in it by a twin."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from cut_logs import BUSY_OF_ALL, DAY, HOUR, hourly
from onega.core.schedule.window import WHOLE, Window, log_window, window_keys
from places import shared


def test_one_long_last_job_does_not_empty_a_full_machine():
    """Nine of ten processors are busy for three weeks; over the whole run, about a quarter."""
    log = hourly()
    schedule = onega.Schedule.observed(log)
    whole, found = schedule.summary(), schedule.summary("log")
    area = 21 * 24 * 9 * HOUR + 60 * DAY
    assert whole["utilisation"] == pytest.approx(area / (10 * 81 * DAY))
    assert found["utilisation"] == pytest.approx(0.9)
    assert (found["since"], found["until"]) == (8 * HOUR, 21 * DAY)
    assert found["jobs"] == len(log) - 8


def test_one_long_last_job_does_not_make_sleep_save_half_of_the_energy():
    """In the window one processor of ten is idle; over the whole run most are, for sixty days."""
    log = hourly()
    power = onega.Power(busy=100, idle=50)
    nap = onega.Sleep(onega.SleepState(0, 5, 0, 100))
    awake = onega.simulate(log, onega.Cluster(10, power=power), "easy")
    asleep = onega.simulate(log, onega.Cluster(10, power=power, sleep=nap), "easy")
    saved = {
        window: 1 - asleep.summary(window)["energy"] / awake.summary(window)["energy"]
        for window in ("log", "whole")
    }
    assert saved["log"] == pytest.approx(45 / 950)
    idle = 1 - BUSY_OF_ALL
    assert saved["whole"] == pytest.approx(45 * idle / (100 * BUSY_OF_ALL + 50 * idle))  # 48 %


def test_the_window_is_the_same_for_every_policy():
    log = hourly()
    found = {onega.simulate(log, 10, policy).summary("log")["since"] for policy in ("fcfs", "easy")}
    assert found == {8 * HOUR}


def test_a_log_without_waits_has_a_window_too():
    log = hourly()
    bare = log.with_columns(pl.lit(None, pl.Float64).alias("wait"), note="no waits")
    assert log_window(bare) == log_window(log)


def test_a_log_cut_by_completions_ends_where_the_machine_was_last_full():
    """Jobs that still ran at the end aren't there: the machine seems to empty before it."""
    log = hourly(long_last_job=False)
    kept = log.select(pl.col("submit") + pl.col("runtime") <= 20 * DAY)
    shorts = pl.DataFrame(
        {"submit": [20 * DAY - 60], "runtime": [1.0], "procs": [1], "wait": [0.0]}
    )
    cut = onega.Workload.concat([kept, onega.Workload(shorts)]).with_machine(10)
    window = log_window(cut)
    assert window.until == 20 * DAY - 9 * HOUR + HOUR
    assert onega.Schedule.observed(cut).summary("log")["utilisation"] == pytest.approx(0.9)


def test_a_few_jobs_that_run_longer_than_they_take_to_come_are_measured_whole():
    log = onega.Workload({"submit": [0.0, 10, 30], "runtime": [60.0, 60, 5], "procs": [1, 1, 4]})
    assert log_window(log) is WHOLE
    schedule = onega.simulate(log, 4)
    found = schedule.summary("log")
    assert found["window"] == "whole"
    assert found["utilisation"] == pytest.approx(schedule.summary()["utilisation"])


def test_a_machine_that_is_mostly_idle_is_measured_from_the_first_submission_to_the_last():
    log = onega.Workload(
        {"submit": np.arange(30) * DAY, "runtime": np.full(30, HOUR), "procs": np.ones(30, int)}
    )
    assert log_window(log) == Window(0.0, 29 * DAY, "log")


def test_jobs_without_a_width_or_run_time_are_left_alone():
    log = onega.Workload({"submit": [0.0, 5.0], "runtime": [None, None], "procs": [1, None]})
    assert log_window(log) is WHOLE


@pytest.mark.parametrize("policy", ["fcfs", "easy", "lcfs-pr"])
def test_measures_in_a_window_are_integrals_of_the_system_over_it(policy):
    """The kernels' sums against the table of states, for rates that change and power."""
    rng = np.random.default_rng(7)
    log = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(40, 400)).round(),
            "runtime": rng.exponential(200, 400).round() + 1,
            "procs": rng.integers(1, 9, 400),
        }
    )
    machine = onega.Cluster(
        24,
        onega.RateControl("queue", rates=(0.8, 1.0), k_low=3, k_high=6),
        onega.Power((3.0, 5.0), (1.0, 2.0)),
    )
    schedule = onega.simulate(log, machine, policy)
    first, last = 2000.5, 11_111.0
    found = schedule.summary((first, last))
    table = schedule.system
    ends = np.append(table["time"].to_numpy(), schedule.last)
    length = np.diff(np.clip(ends, first, last))
    span = last - first

    def mean(values):
        return float(values.to_numpy() @ length) / span

    wasted = (24 - table["busy"]) * table["rate"] * (table["waiting"] > 0)
    assert found["utilisation"] == pytest.approx(mean(table["busy"]) / 24)
    assert found["mean_power"] == pytest.approx(mean(table["power"]))
    assert found["energy"] == pytest.approx(found["job_energy"] + found["idle_energy"])
    assert found["wasted_capacity"] == pytest.approx(mean(wasted) * span)
    assert found["mean_jobs_waiting"] == pytest.approx(mean(table["waiting"]))
    assert found["mean_jobs_running"] == pytest.approx(mean(table["running"]))
    assert found["effective_load"] == pytest.approx(mean(table["effective_load"]))
    assert found["potential_load"] == pytest.approx(mean(table["potential_load"]))
    assert found["mean_rate"] == pytest.approx(mean(table["rate"]))


def test_windows_of_a_detailed_run_add_up_to_the_whole():
    log = hourly(days=3)
    machine = onega.Cluster(10, power=onega.Power(200.0, 50.0))
    schedule = onega.simulate(log, machine, "easy", dependencies=True)
    middle = 2 * DAY + 1234
    parts = [schedule.summary(ends) for ends in ((-1e9, middle), (middle, 1e12))]
    whole = schedule.summary()
    for key in ("energy", "job_energy", "idle_energy", "wasted_capacity"):
        assert sum(part[key] for part in parts) == pytest.approx(whole[key])


def test_windows_are_given_by_words_times_or_dates():
    log = hourly()
    assert Window.of("whole", log) is WHOLE
    assert Window.of("log", log).kind == "log"
    assert Window.of("2d..9d", log) == Window(2 * DAY, 9 * DAY)
    assert Window.of("2024-01-03..2024-01-10", log) == Window(2 * DAY, 9 * DAY)
    assert Window.of("2024-01-03T12:00..", log) == Window(2.5 * DAY, np.inf)
    assert Window.of((5, 7), log) == Window(5.0, 7.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("week", "unknown window 'week'; accepted: log"),
        ("2d..soon", "'soon' is neither a time nor a date"),
        ("9d..2d", "ends before it begins"),
    ],
)
def test_other_windows_are_refused(given, words):
    with pytest.raises(onega.SimulationError, match=words):
        Window.of(given, hourly())


def test_a_date_needs_a_log_with_dates():
    with pytest.raises(onega.SimulationError, match="the log has none"):
        Window.of("2024-01-03..", hourly(epoch=None))


def test_window_keys_stand_beside_those_of_the_whole_run():
    schedule = onega.Schedule.observed(hourly())
    whole, keys = schedule.summary(), window_keys(schedule)
    assert not set(keys) & set(whole)
    assert keys["window"] == "log"
    assert keys["window_utilisation"] == pytest.approx(0.9)
    assert keys["window_words"] == "1 January 2024 08:00 to 22 January 2024 00:00"


def test_words_without_dates_count_from_the_first_submission():
    schedule = onega.Schedule.observed(hourly(epoch=None))
    assert window_keys(schedule)["window_words"] == "8 h to 21 d after the first submission"


@pytest.mark.verification
def test_an_extract_of_a_full_machine_is_full():
    """Cirrus: 24 % over twenty days of which most are one job; about 90 % while jobs came."""
    log = onega.read(shared("traces", "epcc-cirrus-2024q1-sacct.csv"))
    schedule = onega.Schedule.observed(log)
    assert schedule.summary()["utilisation"] < 0.25
    assert 0.85 < schedule.summary("log")["utilisation"] < 0.95


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln.swf.gz"])
def test_a_long_log_loses_next_to_nothing(name):
    log, _ = onega.clean(onega.read(shared("traces", name)))
    window = log_window(log)
    assert window.length > 0.99 * log.span

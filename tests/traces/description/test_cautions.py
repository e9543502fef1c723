"""Warnings of logs whose first numbers mislead, each on a small log that shows why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import onega
from cut_logs import DAY, HOUR, hourly
from onega.traces.description.cautions import log_cautions, run_size_warning, size_warning
from onega.traces.description.sentences import sentences
from places import shared


def said(log, words):
    return [line for line in log_cautions(log) if words in line]


def test_a_long_calm_log_is_not_warned_of():
    assert log_cautions(hourly(days=60, long_last_job=False)) == ()


def test_jobs_that_run_on_after_the_last_submission_are_told():
    line = said(hourly(), "still ran at its last submission")
    assert line == [
        "9 jobs of the log still ran at its last submission; the last of them ended 60 d later, "
        "and no new work comes from there on."
    ]


@pytest.mark.parametrize(
    ("columns", "still"),
    [
        # On one processor, from 0: the first job runs to 100, the next ones to 200 and 300.
        ({"wait": [0.0, 90.0, 180.0]}, "1 job of the log still ran at its last submission and 2 "
         "waited; the last of them ended 4.67 min later,"),
        ({}, "3 jobs of the log still ran at its last submission (if none had waited); the last of "
         "them ended 100 s later,"),
    ],
)  # fmt: skip
def test_jobs_that_still_waited_at_the_last_submission_are_told(columns, still):
    jobs = {"submit": [0.0, 10.0, 20.0], "runtime": [100.0] * 3, "procs": [1] * 3}
    (line,) = said(onega.Workload(jobs | columns), "at its last submission")
    assert line == f"{still} and no new work comes from there on."


def test_a_machine_that_fills_late_is_told():
    """A list of jobs that ended after a date: a few that were submitted long before come first."""
    log = hourly(days=30, long_last_job=False)
    late = log.select((log.column("submit") > 10 * DAY) | (log.column("submit") < HOUR))
    (line,) = said(late, "cut at its start")
    assert "fill the machine only after 10.4 d (9 jobs submitted by then)" in line


def test_a_machine_that_empties_before_the_last_submission_is_told():
    log = hourly(days=20, long_last_job=False)
    ended = log.select(log.column("submit") + log.column("runtime") <= 17 * DAY)
    last = onega.Workload({"submit": [19 * DAY], "runtime": [1.0], "procs": [1], "wait": [0.0]})
    (line,) = said(onega.Workload.concat([ended, last]), "cut at its end")
    assert "empties 2.33 d before the last submission" in line


def test_a_burst_that_makes_the_log_is_told():
    calm = np.arange(20 * 24) * HOUR
    burst = 5 * DAY + 9 * HOUR + np.arange(2000)
    submit = np.sort(np.concatenate([calm, burst]))
    log = onega.Workload(
        {
            "submit": submit,
            "runtime": np.full(submit.size, 60.0),
            "procs": np.ones(submit.size, int),
        }
    )
    (line,) = said(log, "bursts")
    assert line.startswith("2,001 of the log's 2,480 jobs (81 %) came in bursts: on 1 day of 20")
    assert "2,001 of them on day 6" in line


@pytest.mark.parametrize(("days", "short"), [(13, True), (15, False)])
def test_less_than_two_weeks_are_short(days, short):
    assert bool(said(hourly(days, long_last_job=False), "The log is short")) == short


def test_the_extract_of_cirrus_gets_all_four():
    log = onega.read(shared("traces", "epcc-cirrus-2024q1-sacct.csv"))
    found = log_cautions(log)
    assert len(found) == 4
    assert "on 3 January 2024" in found[2]


def test_archive_logs_of_years_get_none():
    assert log_cautions(onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))) == ()


def test_a_size_that_the_log_s_own_jobs_prove_wrong_is_told_first():
    """Nine processors are held nearly always; a machine of four can't have been it."""
    log = hourly()
    assert size_warning(log) is None
    assert size_warning(log, 9) is None
    assert onega.describe(log).size_warning is None
    assert onega.describe(log).load.most_held == 9
    small = onega.describe(log.with_machine(4))
    assert small.size_warning.startswith(
        "4 processors can't be right, unless jobs shared processors: "
    )
    assert "held up to 9 at once, and more than 4 for 26 % of the time" in small.size_warning
    first, second, *_ = sentences(small)
    assert first == small.size_warning
    assert "busy (more than there is)" in second
    assert small.summary()["size_warning"] == small.size_warning


def test_a_few_wrong_rows_prove_nothing():
    """Four jobs of 505 overlap others for some minutes: whole seconds and typing errors do that."""
    log = hourly(long_last_job=False)
    wide = pl.when(pl.col("job") % 125 == 0).then(2).otherwise(pl.col("procs")).alias("procs")
    assert size_warning(log.with_columns(wide, note="some wide"), 9) is None


def test_without_waits_widths_are_the_proof():
    log = onega.Workload(
        {"submit": [0.0, 1.0, 2.0], "runtime": [10.0, 10.0, 10.0], "procs": [1, 1, 16]}
    )
    assert size_warning(log) is None
    assert "widest job has 16" in size_warning(log, 8)
    assert size_warning(log, 16) is None


def test_a_log_without_a_size_says_what_its_jobs_held():
    log = hourly()
    unsized = onega.Workload(log.table, replace(log.meta, procs=None))
    assert "its jobs held up to 9 processors at once" in next(sentences(onega.describe(unsized)))


def test_a_run_on_another_size_on_purpose_is_no_mistake():
    log = hourly()
    assert run_size_warning(log, 4) is None  # the log says ten
    unsized = onega.Workload(log.table, replace(log.meta, procs=None))
    assert run_size_warning(unsized, 4) == size_warning(log, 4)
    assert run_size_warning(log.with_machine(4), 4) == size_warning(log, 4)

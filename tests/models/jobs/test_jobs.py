"""What models take from a log: usable jobs, and the machine's own clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from onega.core.errors import ModelError
from onega.core.workload.clock import MONDAY, week_clock
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.models.jobs.jobs import jobs_of


def test_the_reference_monday_is_a_monday():
    day = datetime.fromtimestamp(MONDAY, ZoneInfo("UTC"))
    assert (day.weekday(), day.hour, day.minute) == (0, 0, 0)


@pytest.mark.parametrize("zone", ["Europe/Stockholm", "America/Los_Angeles", "Asia/Kolkata"])
def test_hours_and_weekdays_follow_the_zone_and_its_summer_time(zone):
    epoch = datetime(1996, 9, 23, 13, 53, 51, tzinfo=ZoneInfo("UTC")).timestamp()
    submit = np.arange(0, 365) * 86400.0 + 1234
    clock = week_clock(submit, Meta(epoch=epoch, timezone=zone))
    for seconds, at in zip(clock[::13], submit[::13]):
        local = datetime.fromtimestamp(epoch + at, ZoneInfo(zone))
        assert int(seconds % 86400 // 3600) == local.hour
        assert int(seconds // 86400) % 7 == local.weekday()
    assert 0 <= clock[0] < 8 * 86400


def test_the_hour_that_autumn_repeats_does_not_run_back():
    # Stockholm's clocks went back on 27 October 1996 at 01:00 UTC.
    epoch = datetime(1996, 10, 27, 0, 30, tzinfo=ZoneInfo("UTC")).timestamp()
    submit = np.arange(0, 7200, 300.0)
    clock = week_clock(submit, Meta(epoch=epoch, timezone="Europe/Stockholm"))
    assert np.all(np.diff(clock) >= 0)


def test_logs_that_say_less():
    submit = np.array([0.0, 10.0])
    assert week_clock(submit, Meta()).tolist() == [0, 10]
    west = week_clock(submit, Meta(epoch=MONDAY, utc_offset=-3600.0))
    assert west[0] % 86400 == 23 * 3600
    odd = week_clock(submit, Meta(epoch=MONDAY, timezone="Mars/Olympus"))
    assert odd.tolist() == [0, 10]
    assert week_clock(np.empty(0), Meta(epoch=1.0)).size == 0


def test_unusable_jobs_are_left_out():
    n = 100
    table = {
        "submit": np.arange(n)[::-1] * 1.0,
        "runtime": [None, 0.0, -5.0] + [7.0] * (n - 3),
        "procs": [1] * (n - 1) + [None],
    }
    jobs = jobs_of(Workload(table, Meta(procs=4)))
    assert len(jobs) == 96
    assert np.all(np.diff(jobs.clock) >= 0)
    assert jobs.machine == 4
    assert not jobs.has_users
    assert not jobs.has_estimates
    with pytest.raises(ModelError, match="at least 97 jobs"):
        jobs_of(Workload(table), least=97)

"""Estimates, users, cycles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onega.core.workload.clock import local_zone
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.traces.description import describe
from onega.traces.description.cycles import local_hours
from reference import description as twin
from traces.description.logs import EPOCH, small_log


def test_accuracy_and_jobs_over_their_estimate():
    # Accuracies 0.5, 1.05, 2; areas 30·2, 63·1, 20·4.
    log = small_log(runtime=[30.0, 63.0, 20.0], procs=[2, 1, 4], estimate=[60.0, 60.0, 10.0])
    estimates = describe(log).estimates
    area = 60 + 63 + 80
    assert estimates.mean_accuracy == pytest.approx((0.5 + 1.05 + 2) / 3)
    assert estimates.median_accuracy == pytest.approx(1.05)
    assert estimates.over_jobs == pytest.approx(2 / 3)
    assert estimates.over_area == pytest.approx((63 + 80) / area)
    assert estimates.far_over_jobs == pytest.approx(1 / 3)
    assert estimates.far_over_area == pytest.approx(80 / area)
    assert estimates.most_over == 20 - 10
    # Accuracy 2 is not below 1.1: left out of the classes. 30 s is in [16, 32), 63 s in [32, 64).
    assert estimates.classes == ((16.0, 1, 0.5), (32.0, 1, 1.05))


def test_frequent_estimates_are_counted_and_ordered():
    log = Workload(
        {
            "submit": range(60),
            "runtime": [1.0] * 60,
            "procs": [1] * 60,
            "estimate": [60.0] * 5 + [3600.0] * 5 + [float(100 + i) for i in range(49)] + [None],
        }
    )
    estimates = describe(log).estimates
    assert estimates.known == pytest.approx(59 / 60)
    assert estimates.distinct == 51
    assert len(estimates.frequent) == 20
    assert estimates.frequent[:2] == ((60.0, 5, 5 / 59), (3600.0, 5, 5 / 59))
    assert estimates.frequent_share == pytest.approx((10 + 18) / 59)


def test_an_estimate_of_zero_is_none():
    log = small_log(estimate=[0.0, 60.0, 60.0])
    assert describe(log).estimates.known == pytest.approx(2 / 3)
    assert describe(log).estimate.minimum == 60


def test_estimates_of_unusable_jobs_are_still_listed():
    description = describe(small_log(runtime=[0.0, None, 0.0], estimate=[60.0, 60.0, 9.0]))
    assert description.estimates.maximum == 60
    assert description.estimates.mean_accuracy is None
    assert description.estimates.over_jobs is None
    assert description.estimates.classes == ()
    assert "accuracy" in description.missing


def test_submissions_per_user():
    counts = {1: 99, 2: 100, 3: 499, 4: 500, 5: 1999, 6: 2000, 7: 1}
    user = [name for name, count in counts.items() for _ in range(count)]
    jobs = len(user)
    log = Workload({"submit": range(jobs), "runtime": [2.0] * jobs, "procs": user, "user": user})
    users = describe(log).users
    assert users.users == 7
    assert [one.users for one in users.submissions] == [2, 2, 1, 1, 1]
    assert [one.share for one in users.submissions] == pytest.approx([2 / 7, 2 / 7] + [1 / 7] * 3)
    assert [one.user for one in users.active] == [6, 5, 4, 3, 2, 1, 7]
    assert users.active[0].mean_width == 6
    area = sum(2 * name * count for name, count in counts.items())
    assert users.active[0].area_share == pytest.approx(2 * 6 * 2000 / area)
    assert users.active_job_share == pytest.approx(1)


def test_only_ten_users_are_named_and_ties_go_to_the_smaller_id():
    user = [*range(20, 0, -1)]
    log = Workload({"submit": range(20), "runtime": [1] * 20, "procs": [1] * 20, "user": user})
    users = describe(log).users
    assert [one.user for one in users.active] == list(range(1, 11))
    assert users.active_job_share == pytest.approx(0.5)


def test_users_without_work():
    users = describe(small_log(runtime=[0.0, 0.0, 0.0], user=[1, 1, 2])).users
    assert users.active_area_share is None
    assert users.active[0].area_share is None


@given(
    st.lists(st.floats(0, 4e7), min_size=1, max_size=30),
    st.sampled_from(["Europe/Stockholm", "US/Pacific", "Asia/Kolkata", "Australia/Lord_Howe"]),
)
def test_hours_are_the_calendars(offsets, name):
    moments = EPOCH + np.array(offsets)
    hours, weekdays = local_hours(moments, ZoneInfo(name))
    expected = [twin.local(moment, ZoneInfo(name)) for moment in moments]
    assert list(zip(hours.tolist(), weekdays.tolist())) == expected


@pytest.mark.parametrize("name", ["Europe/Stockholm", "US/Mountain", "Australia/Lord_Howe"])
def test_every_quarter_of_a_year_is_the_calendars(name):
    zone = ZoneInfo(name)
    moments = EPOCH + 900.0 * np.arange(366 * 96)
    hours, weekdays = local_hours(moments, zone)
    assert list(zip(hours.tolist(), weekdays.tolist())) == [twin.local(m, zone) for m in moments]


def test_summer_time_counts():
    # 27 October 1996, 03:00 summer time → 02:00: both hours before and after are hour 2.
    zone = ZoneInfo("Europe/Stockholm")
    turn = datetime(1996, 10, 27, 1, 0, tzinfo=UTC).timestamp()
    hours, weekdays = local_hours(np.array([turn - 1, turn, turn + 3600]), zone)
    assert hours.tolist() == [2, 2, 3]
    assert weekdays.tolist() == [6, 6, 6]


@pytest.mark.parametrize(
    ("meta", "zone", "said"),
    [
        (Meta(timezone="Europe/Paris"), ZoneInfo("Europe/Paris"), "the log's time zone"),
        (Meta(utc_offset=-28800), timezone(timedelta(hours=-8)), "offset from UTC"),
        (Meta(timezone="Mars/Olympus", utc_offset=3600), timezone(timedelta(hours=1)), "unknown"),
        (Meta(timezone="../../etc"), UTC, "unknown"),
        (Meta(utc_offset=1e9), UTC, "no time zone"),
        (Meta(), UTC, "no time zone"),
    ],
)
def test_the_zone_and_where_it_is_known_from(meta, zone, said):
    found, _, source = local_zone(meta)
    assert found == zone
    assert said in source


def test_slots_hold_means_of_what_is_known():
    meta = Meta(epoch=0.0)  # 1 January 1970, a Thursday
    log = small_log(
        submit=[3600.0, 3700.0, 90000.0], runtime=[10.0, None, 30.0], procs=[2, 6, None], meta=meta
    )
    cycles = describe(log).cycles
    assert cycles.hours[1] == ("01:00", 3, 20.0, 4.0)
    assert cycles.hours[0] == ("00:00", 0, None, None)
    assert [slot.jobs for slot in cycles.weekdays] == [0, 0, 0, 2, 1, 0, 0]
    assert cycles.weekdays[4] == ("Friday", 1, 30.0, None)
    assert cycles.timezone == "UTC"


def test_dates_outside_the_calendar_are_no_cycle():
    description = describe(small_log(meta=Meta(epoch=1e18)))
    assert description.cycles is None
    assert "calendar" in description.missing["cycles"]
    assert description.load.start is None

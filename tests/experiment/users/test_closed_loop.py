"""A machine whose users see the queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from experiment.users.logs import planted_log
from onega import Cluster, ExperimentError, RateControl, ReactiveUsers, Workload, closed_loop
from onega.core.workload.meta import Meta
from reference.closed_loop import naive_closed_loop

WEEK = 604_800.0
POLICIES = ("fcfs", "easy", "conservative", "spf+easy", "saf", "f2", "wfp3+easy", "xf")


def small_log(seed, n=60, users=4):
    random = np.random.default_rng(seed)
    return Workload(
        {
            "submit": np.sort(random.integers(0, 100_000, n)).astype(float),
            "wait": random.integers(0, 3000, n).astype(float),
            "runtime": random.integers(1, 6000, n).astype(float),
            "procs": random.integers(1, 5, n),
            "user": random.integers(1, users + 1, n),
        },
        Meta(epoch=978307200.0, procs=400),
    )


@pytest.fixture(scope="module")
def model():
    return ReactiveUsers.fit(planted_log(1, users=8, jobs=150, reaction=-0.6))


def test_sessions_by_hand():
    """An hour after a submission, or after an end, a session is over."""
    log = Workload(
        {
            "submit": [0.0, 700.0, 1000.0, 50_000.0, 54_600.0, 58_211.0, 60_000.0, 60_010.0],
            "wait": [0.0] * 6 + [30.0, 40.0],  # somebody has to see somebody wait
            "runtime": [600.0, 5000.0, 100_000.0, 1000.0, 10.0, 10.0, 5.0, 5.0],
            "procs": [1] * 8,
            "user": [7] * 6 + [8] * 2,
        },
        Meta(epoch=978307200.0, procs=8),
    )
    lines = ReactiveUsers.fit(log).jobs[:6]
    # The third still runs when the fourth comes, long after; the fifth comes just within the hour.
    assert lines["begins"].to_list() == [True, False, False, True, False, True]
    assert lines["waits"].to_list() == [True, False, False, True, True, True]
    assert lines["delay"].to_list() == [100.0, 300.0, 0.0, 3600.0, 0.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 9))
def test_waiting_users_are_those_of_the_naive_twin(seed, procs):
    """One week of log: nobody is turned, so everything is decided."""
    users = ReactiveUsers.fit(small_log(seed))
    lines = [
        [
            {**row, "submit": row["submit"] - users.first}
            for row in users.jobs.to_dicts()
            if row["user"] == one
        ]
        for one in range(users.users.size)
    ]
    span = 2.5 * WEEK
    expected = naive_closed_loop(lines, procs, users.span, span)
    found = closed_loop(users, procs, "fcfs", rng=0, span=span, reactions=("thinks",))
    assert len(found) == len(expected)
    np.testing.assert_array_equal(found.workload.column("submit"), [e["submit"] for e in expected])
    np.testing.assert_array_equal(found.start, [e["start"] for e in expected])
    who = users.users[[e["user"] for e in expected]]
    np.testing.assert_array_equal(found.workload.column("user"), who)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("reactions", [(), ("thinks",), ("sizes", "thinks")])
def test_the_machine_is_the_simulators(model, policy, reactions):
    """What came about, given to the simulator as a log, has the same schedule, job by job."""
    closed = closed_loop(model, 24, policy, rng=3, jobs=1500, reactions=reactions)
    again = onega.simulate(closed.workload, 24, policy)
    np.testing.assert_array_equal(closed.start, again.start)
    np.testing.assert_array_equal(closed.end, again.end)


def test_rate_control_too(model):
    cluster = Cluster(24, RateControl("queue", rates=(0.5, 1.0), k_low=2, k_high=6))
    closed = closed_loop(model, cluster, "easy", rng=3, jobs=1000)
    again = onega.simulate(closed.workload, cluster, "easy")
    np.testing.assert_allclose(closed.start, again.start)
    assert closed.summary()["rate_changes"] > 0


def test_users_think_after_the_end_of_what_they_waited_for(model):
    closed = closed_loop(model, 24, "easy", rng=1, jobs=2000)
    table = closed.workload.table
    followed = table["after"].is_not_null().to_numpy()
    assert followed.any()
    before = table["after"].drop_nulls().to_numpy() - 1
    end = closed.end[before]
    np.testing.assert_allclose(
        closed.workload.column("submit")[followed], end + table["think"].drop_nulls().to_numpy()
    )
    who = table["user"].to_numpy()
    np.testing.assert_array_equal(who[followed], who[before])


def test_an_open_loop_is_the_log_turned_by_weeks():
    log = planted_log(2, users=8, jobs=600)
    users = ReactiveUsers.fit(log)
    assert users.span >= 2 * WEEK
    opened = closed_loop(users, 4000, "easy", rng=5, reactions=())
    for one in users.users:
        mine = opened.workload.table.filter(onega_user(one))
        theirs = log.table.filter(onega_user(one))
        log_jobs = set(zip(theirs["submit"].to_numpy() % WEEK, theirs["runtime"], strict=True))
        week_time = (mine["submit"].to_numpy() + users.first) % WEEK
        assert set(zip(week_time, mine["runtime"], strict=True)) <= log_jobs
        # A session across the beginning of a user's first week is cut in two.
        lines = users.jobs.filter(users.jobs["user"] == int(np.searchsorted(users.users, one)))
        longest = np.bincount(np.cumsum(lines["begins"].to_numpy())).max()
        assert theirs.height - longest <= mine.height <= theirs.height


def onega_user(number):
    import polars as pl

    return pl.col("user") == int(number)


def test_same_seed_same_run_and_another_another(model):
    a, b, c = (closed_loop(model, 24, rng=seed, jobs=800) for seed in (1, 1, 2))
    assert a.workload == b.workload
    assert not a.workload.table.equals(c.workload.table)


def test_users_who_shrink_jobs_at_long_queues_do(model):
    """WR−: the same people on a third of the machine see longer queues and submit shorter jobs."""
    calm = onega.calibrate(model, 48, "easy", rng=1)
    wide = closed_loop(calm, 48, "easy", rng=1, jobs=4000)
    narrow = closed_loop(calm, 16, "easy", rng=1, jobs=4000)
    assert np.median(narrow.work) < np.median(wide.work)
    stubborn = replace(calm, coefficients=np.zeros_like(calm.coefficients))
    kept = closed_loop(stubborn, 16, "easy", rng=1, jobs=4000)
    log = set(model.jobs["runtime"])
    assert set(kept.work) <= log
    assert narrow.summary()["mean_wait"] < kept.summary()["mean_wait"]


def test_calibrated_users_change_little_where_nothing_changes(model):
    calm = onega.calibrate(model, 32, "easy", rng=1)
    same = closed_loop(calm, 32, "easy", rng=1)
    kept = closed_loop(calm, 32, "easy", rng=1, reactions=("thinks",))
    # Medians of about 1200 jobs over a range of 2^8: uncalibrated users would halve or double.
    assert 0.7 < np.median(same.work) / np.median(kept.work) < 1.4


def test_discouraged_users_submit_less(model):
    calm = onega.calibrate(model, 48, "easy", rng=1)
    options = {"rng": 1, "span": 4 * WEEK}
    patient = closed_loop(calm, 12, "easy", **options)
    discouraged = closed_loop(calm, 12, "easy", discouragement=1.0, **options)
    assert len(discouraged) < len(patient)
    assert discouraged.report.count("given_up") > 0
    assert patient.report.count("given_up") == 0


def test_more_people_more_jobs(model):
    one = closed_loop(model, 4000, rng=1, reactions=())
    two = closed_loop(model, 4000, rng=1, reactions=(), population=2)
    assert len(two) == pytest.approx(2 * len(one), rel=0.02)
    assert two.workload.table["user"].n_unique() == 16
    half = closed_loop(model, 4000, rng=1, reactions=(), population=0.5)
    assert half.workload.table["user"].n_unique() == 4


def test_groups_keep_only_their_coefficients():
    log = planted_log(1, users=8, jobs=150, reaction=-0.6)
    kept = ReactiveUsers.fit(log, groups=("WR-",))
    assert (kept.coefficients[:, 0] <= 0).all()
    assert kept.coefficients[:, 0].any()
    assert not kept.coefficients[:, 1:].any()
    assert kept.to_polars().height == 8
    assert kept.summary()["users"] == 8
    with pytest.raises(ExperimentError, match="no feedback group 'WX'"):
        ReactiveUsers.fit(log, groups=("WX",))


def test_users_with_few_jobs_have_no_coefficients():
    users = ReactiveUsers.fit(small_log(1))
    assert not users.coefficients.any()
    assert len(closed_loop(users, 6, rng=0, jobs=200)) == 200


def test_one_user_with_one_job():
    log = Workload(
        {"submit": [5.0, 6.0], "wait": [9.0, 1.0], "runtime": [9.0, 9.0], "procs": [1, 1],
         "user": [3, None]},
        Meta(procs=4),
    )  # fmt: skip
    users = ReactiveUsers.fit(log)
    found = closed_loop(users, 4, rng=0, jobs=3)
    assert found.workload.column("submit").tolist() == [0.0, WEEK, 2 * WEEK]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "spf-pr"}, "preempts"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": 5, "span": 5.0}, "not both"),
        ({"span": -1.0}, "span must be"),
        ({"population": 0}, "population must be"),
        ({"population": 0.01}, "leaves nobody"),
        ({"discouragement": 2}, "discouragement must"),
        ({"reactions": ("size",)}, "did you mean 'sizes'"),
        ({"policy": "lcfs"}, "lcfs isn't possible"),
    ],
)
def test_refusals(model, options, message):
    with pytest.raises(ExperimentError, match=message):
        closed_loop(model, 24, rng=1, **options)

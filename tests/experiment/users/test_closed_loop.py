"""A machine whose users wait for their results and see the queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from experiment.users.logs import planted_log
from onega import Cluster, ExperimentError, RateControl, ReactiveUsers, Workload, closed_loop
from onega.core.workload.meta import Meta
from onega.core.workload.think_times import last_finished
from onega.kernels.users.closed_loop import moved_rank
from places import shared
from reference.closed_loop import naive_closed_loop, naive_last_finished

WEEK = 604_800.0
POLICIES = ("fcfs", "easy", "conservative", "spf+easy", "saf", "f2", "wfp3+easy", "xf")


def small_log(seed, n=60, users=4, procs=6):
    random = np.random.default_rng(seed)
    return Workload(
        {
            "submit": np.sort(random.integers(0, 100_000, n)).astype(float),
            "wait": random.integers(0, 3000, n).astype(float),
            "runtime": random.integers(1, 6000, n).astype(float),
            "procs": random.integers(1, 5, n),
            "user": random.integers(1, users + 1, n),
        },
        Meta(epoch=978307200.0, procs=procs),
    )


@pytest.fixture(scope="module")
def log():
    return planted_log(1, users=8, jobs=150, reaction=-0.6)


@pytest.fixture(scope="module")
def users(log):
    return ReactiveUsers.fit(log, 24)


def test_who_waits_for_what_by_hand():
    log = Workload(
        {
            "submit": [0.0, 700.0, 1000.0, 50_000.0, 54_600.0, 60_000.0],
            "runtime": [600.0, 5000.0, 100_000.0, 1000.0, 10.0, 5.0],
            "procs": [1] * 6,
            "user": [7, 7, 7, 7, 7, 8],
        },
        Meta(epoch=978307200.0, procs=8),
    )
    # Ends: 600, 5700, 101000, 51000, 54610, 60005. Nothing waits on eight processors.
    hour = ReactiveUsers.fit(log, within=3600.0)
    assert hour.after.tolist() == [-1, 0, 0, -1, 3, -1]
    assert hour.thinks().tolist() == [100.0, 400.0, 3600.0]
    day = ReactiveUsers.fit(log, within=86_400.0)
    assert day.after.tolist() == [-1, 0, 0, 1, 3, -1]
    assert ReactiveUsers.fit(log, within=0.0).after.tolist() == [-1] * 6


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 50.0, 400.0, 1e9]))
def test_last_finished_is_that_of_the_naive_twin(seed, within):
    random = np.random.default_rng(seed)
    submit = np.sort(random.integers(0, 300, 40)).astype(float)
    end = submit + random.integers(1, 60, 40)
    user = random.integers(-1, 3, 40)
    expected = naive_last_finished(user.tolist(), submit.tolist(), end.tolist(), within)
    assert last_finished(user, submit, end, within).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 9))
def test_users_who_wait_are_those_of_the_naive_twin(seed, procs):
    users = ReactiveUsers.fit(small_log(seed))
    table = users.baseline.workload.table
    think = np.where(users.after >= 0, 0.0, np.nan)
    think[users.after >= 0] = users.thinks()
    lines = [
        {**row, "after": int(after), "think": float(pause)}
        for row, after, pause in zip(table.to_dicts(), users.after, think, strict=True)
    ]
    start, submit = naive_closed_loop(lines, procs)
    found = closed_loop(users, procs, "fcfs")
    order = np.lexsort((np.arange(len(lines)), submit))
    np.testing.assert_array_equal(found.workload.column("submit"), np.array(submit)[order])
    np.testing.assert_array_equal(found.start, np.array(start)[order])


@pytest.mark.parametrize("reactions", [(), ("thinks",), ("sizes", "thinks")])
@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_changes_where_nothing_changes(log, policy, reactions):
    """The log is a fixed point: same machine, same policy, the same jobs and waits, to the bit."""
    users = ReactiveUsers.fit(log, 24, policy)
    closed = closed_loop(users, rng=3, reactions=reactions, discouragement=1.0)
    np.testing.assert_array_equal(closed.start, users.baseline.start)
    same = ["submit", "runtime", "procs", "user", "estimate"]
    assert closed.workload.table.select(same).equals(users.baseline.workload.table.select(same))
    assert not closed.report.dropped


@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "HPC2N-2002-2.2-cln"]
)
def test_archive_logs_are_fixed_points(name):
    log, _ = onega.clean(onega.read(shared("traces", f"{name}.swf.gz")))
    users = ReactiveUsers.fit(log)
    opened = onega.simulate(log, policy="easy")
    closed = closed_loop(users, rng=1, reactions=("sizes", "thinks"))
    assert len(closed) == len(opened)
    np.testing.assert_array_equal(closed.start, opened.start)
    np.testing.assert_array_equal(closed.work, opened.work)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("reactions", [(), ("thinks",), ("sizes", "thinks")])
def test_the_machine_is_the_simulators(users, policy, reactions):
    """What came about, given to the simulator as a log, has the same schedule, job by job."""
    closed = closed_loop(users, 16, policy, rng=3, reactions=reactions)
    again = onega.simulate(closed.workload, 16, policy)
    np.testing.assert_array_equal(closed.start, again.start)
    np.testing.assert_array_equal(closed.end, again.end)


def test_dependencies_of_the_simulator_say_the_same(users):
    """Its ``after`` and ``think`` close the loop in `simulate` too, on yet another machine."""
    closed = closed_loop(users, 24)
    direct = closed_loop(users, 12, "fcfs")
    again = onega.simulate(closed.workload, 12, "fcfs", dependencies=True)
    np.testing.assert_array_equal(np.sort(again.start), np.sort(direct.start))


def test_rate_control_too(users):
    cluster = Cluster(24, RateControl("queue", rates=(0.5, 1.0), k_low=2, k_high=6))
    closed = closed_loop(users, cluster, "easy", rng=3)
    again = onega.simulate(closed.workload, cluster, "easy")
    np.testing.assert_allclose(closed.start, again.start)
    assert closed.summary()["rate_changes"] > 0


def test_users_think_after_the_end_of_what_they_waited_for(users):
    closed = closed_loop(users, 16, "easy", rng=1)
    table = closed.workload.table
    followed = table["after"].is_not_null().to_numpy()
    assert followed.sum() == (users.after >= 0).sum()
    before = table["after"].drop_nulls().to_numpy() - 1
    np.testing.assert_allclose(
        closed.workload.column("submit")[followed],
        closed.end[before] + table["think"].drop_nulls().to_numpy(),
    )
    who = table["user"].to_numpy()
    np.testing.assert_array_equal(who[followed], who[before])


def test_people_who_wait_keep_the_queue_short(users):
    opened = closed_loop(users, 14, "fcfs", reactions=())
    closed = closed_loop(users, 14, "fcfs")
    assert closed.summary()["mean_wait"] < 0.8 * opened.summary()["mean_wait"]


def test_jobs_without_a_wait_or_a_user_stay(log):
    """They were dropped once, with "nothing changed" as the report."""
    row = pl.int_range(pl.len())
    holes = log.with_columns(
        wait=pl.when(row % 5 > 0).then("wait"), user=pl.when(row % 7 > 0).then("user"), note="holes"
    )
    users = ReactiveUsers.fit(holes, 24)
    assert len(users.baseline) == len(log)
    assert users.report.count("no_wait") == -(-len(log) // 5)
    assert users.report.count("no_user") == -(-len(log) // 7)
    assert len(closed_loop(users)) == len(log)


def test_a_log_without_waits_is_enough(log):
    users = ReactiveUsers.fit(log.with_columns(wait=None, note="no waits"), 24)
    assert not users.coefficients.any()
    assert len(closed_loop(users, 16)) == len(log)


def test_moved_ranks_have_the_mean_that_was_asked_for_and_pile_up_nowhere():
    plain = getattr(moved_rank, "py_func", moved_rank)  # kernels' parts aren't for Python to call
    rank = (np.arange(10_000) + 0.5) / 10_000
    for shift in (-0.44, -0.2, 0.05, 0.3):
        moved = np.array([plain(one, shift) for one in rank])
        assert np.mean(moved) == pytest.approx(0.5 + shift, abs=1e-3)
        assert (np.diff(moved) > 0).all()
        # The least and the most stay as rare as γ allows: at most 1/γ = 15.7 times as many.
        assert np.mean(moved > 1 - 1e-3) <= 16e-3
        assert np.mean(moved < 1e-3) <= 16e-3


def test_same_seed_same_run_and_another_another(users):
    options = {"reactions": ("sizes", "thinks"), "population": 1.5}
    a, b, c = (closed_loop(users, 16, rng=seed, **options) for seed in (1, 1, 2))
    assert a.workload == b.workload
    assert not a.workload.table.equals(c.workload.table)


def test_users_who_shrink_jobs_at_long_queues_do(users):
    """WR−: the same people on a smaller machine see longer queues and submit shorter jobs."""
    both = ("sizes", "thinks")
    narrow = closed_loop(users, 12, rng=1, reactions=both)
    assert np.median(narrow.work) < np.median(users.baseline.work)
    stubborn = replace(users, coefficients=np.zeros_like(users.coefficients))
    kept = closed_loop(stubborn, 12, rng=1, reactions=both)
    assert set(kept.work) <= set(users.baseline.work)
    assert narrow.summary()["mean_wait"] < kept.summary()["mean_wait"]


def test_a_loop_that_runs_away_says_so_and_stops(users):
    """Jobs that grow with the queue make the queue grow."""
    eager = replace(users, coefficients=np.tile([3.0, 0.0, 3.0, 0.0], (users.users.size, 1)))
    with pytest.raises(ExperimentError, match=r"runs away: after .* days and .* times the work"):
        closed_loop(eager, 12, rng=1, reactions=("sizes", "thinks"))
    shy = replace(users, coefficients=-eager.coefficients)
    assert len(closed_loop(shy, 12, rng=1, reactions=("sizes", "thinks"))) == len(users.baseline)


def test_discouraged_users_submit_less(users):
    patient = closed_loop(users, 12, rng=1)
    discouraged = closed_loop(users, 12, rng=1, discouragement=1.0)
    given_up, never = (discouraged.report.count(name) for name in ("given_up", "not_submitted"))
    assert given_up > 0
    assert len(discouraged) == len(patient) - given_up - never
    assert discouraged.summary()["mean_wait"] < patient.summary()["mean_wait"]


def test_more_people_more_jobs(users):
    two = closed_loop(users, 4000, rng=1, population=2)
    assert len(two) == 2 * len(users.baseline)
    assert two.workload.table["user"].n_unique() == 16
    week = two.workload.column("submit") % WEEK
    log_week = users.baseline.workload.column("submit") % WEEK
    opened = closed_loop(users, 4000, rng=1, population=2, reactions=())
    np.testing.assert_allclose(
        np.sort(opened.workload.column("submit") % WEEK), np.sort(np.tile(log_week, 2))
    )
    assert week.size == opened.workload.column("submit").size
    half = closed_loop(users, 4000, rng=1, population=0.5)
    assert half.workload.table["user"].n_unique() == 4


def test_groups_keep_only_their_coefficients(log):
    kept = ReactiveUsers.fit(log, groups=("WR-",))
    assert (kept.coefficients[:, 0] <= 0).all()
    assert kept.coefficients[:, 0].any()
    assert not kept.coefficients[:, 1:].any()
    assert kept.to_polars().height == 8
    assert kept.summary()["users"] == 8
    with pytest.raises(ExperimentError, match="no feedback group 'WX'"):
        ReactiveUsers.fit(log, groups=("WX",))


def test_jobs_wider_than_the_machine_are_cut_and_counted(users):
    found = closed_loop(users, 4)
    assert found.workload.column("procs").max() == 4
    assert found.report.count("cut") == int((users.baseline.workload.column("procs") > 4).sum())


def test_one_user_with_one_job():
    log = Workload(
        {"submit": [5.0, 6.0], "runtime": [9.0, 9.0], "procs": [1, 1], "user": [3, None]},
        Meta(procs=4),
    )  # fmt: skip
    found = closed_loop(ReactiveUsers.fit(log))
    assert found.workload.column("submit").tolist() == [5.0, 6.0]
    unowned = log.with_columns(user=None, note="no users")
    with pytest.raises(ExperimentError, match="who submitted"):
        ReactiveUsers.fit(unowned)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "spf-pr"}, "preempts"),
        ({"population": 0}, "population must be"),
        ({"population": 0.01}, "leaves none"),
        ({"discouragement": 2}, "discouragement must"),
        ({"reactions": ("size",)}, "did you mean 'sizes'"),
        ({"policy": "lcfs"}, "lcfs isn't possible"),
    ],
)
def test_refusals(users, options, message):
    with pytest.raises(ExperimentError, match=message):
        closed_loop(users, 24, rng=1, **options)


def test_refusals_of_the_fit(log):
    with pytest.raises(ExperimentError, match="within must be"):
        ReactiveUsers.fit(log, within=-1.0)
    with pytest.raises(ExperimentError, match="preempts"):
        ReactiveUsers.fit(log, policy="lcfs-pr")

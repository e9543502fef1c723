"""Users moved against one another."""

from __future__ import annotations

import numpy as np
import pytest

from experiment.users.logs import taking_turns
from onega import ExperimentError, ReactiveUsers, regulation, simulate
from onega.experiment.users.closed_loop import moved_users, weeks_of
from onega.experiment.users.regulation import Surrogate, _crossing, days_anew

DAY, WEEK = 86_400.0, 604_800.0


@pytest.fixture(scope="module")
def log():
    return taking_turns()


def test_users_who_take_turns_wait_longer_when_they_are_moved(log):
    found = regulation(log, draws=4)
    table = {row["surrogate"]: row for row in found.to_polars().to_dicts()}
    moved = table["users moved by any number of weeks"]
    assert moved["low"] > 1.2
    assert table["weeks drawn anew"]["ratio"] < moved["ratio"]
    closed = [row["ratio"] for name, row in table.items() if "closed" in name]
    assert max(closed) < moved["ratio"]
    assert found.summary()["users_moved_by_any_number_of_weeks_ratio"] == moved["ratio"]
    assert found.wait == simulate(log, policy="easy").summary()["mean_wait"]
    assert regulation(log, draws=4).to_polars().equals(found.to_polars())


@pytest.mark.parametrize("closed", [False, True])
def test_users_that_stay_are_the_log(log, closed):
    users = ReactiveUsers.fit(log)
    same = moved_users(users, np.zeros(users.users.size, np.int64), closed=closed)
    np.testing.assert_array_equal(same.start, users.baseline.start)


def test_moved_users_keep_their_week(log):
    users = ReactiveUsers.fit(log)
    turn = np.arange(users.users.size) - 2
    moved = moved_users(users, turn, closed=False).workload
    assert len(moved) == len(log)
    assert weeks_of(users) == 12
    for place, user in enumerate(users.users):
        old = log.column("submit")[log.column("user") == user] - log.column("submit")[0]
        new = moved.column("submit")[moved.column("user") == user] - log.column("submit")[0]
        expected = np.sort((old + turn[place] * WEEK) % (12 * WEEK))
        np.testing.assert_allclose(np.sort(new), expected)


def test_days_are_drawn_from_the_same_weekday(log):
    first = log.column("submit")[0]
    drawn = days_anew(log, np.random.default_rng(1))
    in_week = set(((log.column("submit") - first) % WEEK).tolist())
    found = (drawn.column("submit") - first) % WEEK
    assert set(found.tolist()) <= in_week
    assert drawn.table["submit"].is_sorted()
    days = ((drawn.column("submit") - first) // DAY).astype(int)
    assert abs(np.unique(days).size - 84) <= 2


def test_intervals_and_crossings_by_hand():
    one = Surrogate("x", "y", (2.0, 0.5))
    assert one.ratio == pytest.approx(1.0)
    # Student's t with one degree of freedom at 95 %: 12.706; standard error ln 2.
    low, high = one.interval(0.95)
    assert high == pytest.approx(2**12.7062, rel=1e-3)
    assert low == pytest.approx(1 / high)
    assert _crossing(np.array([1.0, 100.0]), [2.0, 0.5]) == pytest.approx(10.0)
    assert _crossing(np.array([1.0, 100.0]), [0.9, 0.5]) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [({"draws": 1}, "draws must be"), ({"confidence": 1.0}, "confidence must be")],
)
def test_refusals(log, options, message):
    with pytest.raises(ExperimentError, match=message):
        regulation(log, **options)


def test_logs_that_tell_nothing(log):
    with pytest.raises(ExperimentError, match="at least 2 are needed"):
        regulation(log.head(50))
    with pytest.raises(ExperimentError, match="no job waits"):
        regulation(log, 4000)
    with pytest.raises(ExperimentError, match="who submitted"):
        regulation(log.with_columns(user=None, note="no users"))

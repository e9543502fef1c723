"""Who waits and who gets the machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from onega.core.schedule.fairness import jain


@given(st.lists(st.floats(0, 1e200), min_size=1, max_size=20))
def test_jain_lies_between_one_nth_and_one(values):
    assert 1 / len(values) - 1e-12 <= jain(values) <= 1 + 1e-12


def test_jain_values():
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([5, 0, 0, 0]) == pytest.approx(0.25)
    assert jain([1, 2]) == pytest.approx(9 / 10)
    assert jain([0, 0]) == 1
    assert np.isnan(jain([]))
    with pytest.raises(ValueError, match="negative"):
        jain([-1, 2])


def test_fairness_of_a_schedule():
    log = onega.Workload(
        {"submit": [0.0, 0, 0], "runtime": [10.0, 10, 10], "procs": [1, 1, 1], "user": [1, 1, 2]}
    )
    schedule = onega.simulate(log, 1)
    result = schedule.fairness("user")
    assert result.to_polars()["mean_wait"].to_list() == [5.0, 20.0]
    flat = result.summary()
    assert flat["count"] == 2
    assert flat["jain_mean_wait"] == pytest.approx(25**2 / (2 * (25 + 400)))
    assert flat["jain_share_of_area"] == pytest.approx(1 / (2 * (4 / 9 + 1 / 9)))
    with pytest.raises(ValueError, match="no job of this schedule has a group"):
        schedule.fairness("group")
    with pytest.raises(ValueError, match="can't compare by 'colour'"):
        schedule.fairness("colour")

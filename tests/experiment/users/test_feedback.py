"""Feedback: what users saw, their models, and what is chance."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.users.logs import planted_log
from onega import ExperimentError, Schedule, Workload, feedback
from onega.core.workload.meta import Meta
from onega.experiment.users.feedback_fit import (
    GROUPS,
    Observations,
    UserModels,
    holm,
    permuted,
    shifted,
)
from onega.experiment.users.feedback_state import cut_points, levels_of, seen_at_submission


def random_log(seed, n=40):
    random = np.random.default_rng(seed)
    return Workload(
        {
            "submit": random.integers(0, 60, n).astype(float),
            "wait": random.integers(0, 20, n).astype(float),
            "runtime": random.integers(0, 15, n).astype(float),
            "procs": random.integers(1, 5, n),
            "user": random.integers(1, 4, n),
        },
        Meta(procs=500),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_state_just_before_a_submission(seed):
    """The naive twin counts every job, job by job."""
    schedule = Schedule.observed(random_log(seed))
    seen = seen_at_submission(schedule)
    submit, procs = (schedule.workload.column(name) for name in ("submit", "procs"))
    for i in range(len(schedule)):
        waiting = busy = 0
        for j in range(len(schedule)):
            before = submit[j] < submit[i] or (submit[j] == submit[i] and j < i)
            waiting += before and schedule.start[j] >= submit[i]
            busy += procs[j] * (schedule.start[j] < submit[i] < schedule.end[j])
        assert (seen.waiting[i], seen.busy[i]) == (waiting, busy)


def test_levels_are_equal_frequencies_with_ties_together():
    values = np.arange(1000)
    levels = levels_of(values, cut_points(values))
    assert np.unique(levels).tolist() == pytest.approx(np.arange(10) / 9)
    # Quantiles that occur in the data: a level may have one value more or less.
    assert set(np.unique(levels, return_counts=True)[1]) <= {99, 100, 101}
    tied = np.array([1] * 5 + [2] * 5)
    assert np.unique(levels_of(tied, cut_points(tied))).size == 2


def least_aic(y, w, o):
    """The naive twin: every subset by least squares."""
    best, chosen = np.inf, (0.0, 0.0)
    for size in range(3):
        for subset in combinations((0, 1), size):
            design = np.column_stack([np.ones(y.size), *((w, o)[k] for k in subset)])
            coefficient, *_ = np.linalg.lstsq(design, y, rcond=None)
            rest = np.sum((y - design @ coefficient) ** 2)
            aic = y.size * np.log(rest / y.size) + 2 * (1 + size)
            if aic < best - 1e-9:
                best = aic
                full = dict(zip(subset, coefficient[1:], strict=True))
                chosen = (full.get(0, 0.0), full.get(1, 0.0))
    return chosen


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(-1, 1), st.floats(-1, 1))
def test_models_are_those_of_every_subset(seed, bw, bo):
    random = np.random.default_rng(seed)
    user = np.repeat([0, 1, 2], [20, 35, 50])
    w, o = random.integers(0, 10, (2, user.size)) / 9
    r = bw * w + random.normal(0, 0.5, user.size)
    p = bo * o + random.normal(0, 0.5, user.size)
    models = UserModels(Observations(user, user, w, o, r, p), 3)
    found = models.coefficients()
    for one in range(3):
        mine = user == one
        expected = (*least_aic(r[mine], w[mine], o[mine]), *least_aic(p[mine], w[mine], o[mine]))
        np.testing.assert_allclose(found[one], expected, atol=1e-9)
    order = permuted(user, random)
    again = UserModels(Observations(user, user, w[order], o[order], r, p), 3).coefficients()
    np.testing.assert_allclose(models.coefficients(order), again, atol=1e-9)


def test_constant_and_equal_regressors_are_no_trouble():
    user = np.zeros(60, int)
    ramp = np.linspace(0, 1, 60)
    flat = np.zeros(60)
    found = UserModels(Observations(user, user, ramp, ramp, ramp, flat), 1).coefficients()
    assert found[0, 2:].tolist() == [0, 0]
    assert found[0, :2].sum() == pytest.approx(1)
    found = UserModels(Observations(user, user, flat, flat, ramp, ramp), 1).coefficients()
    assert not found.any()


@pytest.mark.parametrize("rearrange", [permuted, shifted])
def test_rearranging_stays_within_cells(rearrange):
    cell = np.repeat([0, 3, 4, 9], [1, 10, 2, 50])
    order = rearrange(cell, np.random.default_rng(0))
    assert sorted(order) == list(range(cell.size))
    np.testing.assert_array_equal(cell[order], cell)
    if rearrange is shifted:
        steps = np.diff(order[13:])
        assert np.sum(steps != 1) <= 1


def test_holm():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]).max() == 1


def test_planted_feedback_is_found():
    result = feedback(planted_log(1, reaction=-0.5), rng=1)
    found = result.group("WR-")
    assert found.share > 0.9
    assert found.survives(0.05)
    assert not result.group("WR+").evidence
    curve = result.curves().filter(pl.col("group") == "WR-")["mean"].to_numpy()
    assert curve[0] > 2 * curve[-1]
    other = feedback(planted_log(2, reaction=0.5), rng=1)
    assert other.group("WR+").survives(0.05)
    assert not other.group("WR-").evidence


@pytest.mark.parametrize("burst", [1, 4])
def test_nothing_is_found_where_nothing_was_planted(burst):
    """Thirty logs without feedback at an error rate of 0.2: at most 13 say anything survives.

    Were the rate exactly 0.2, more than 13 would come with probability 10⁻³. With bursts
    of equal jobs too: shifts keep them together.
    """
    false = 0
    for seed in range(30):
        log = planted_log(100 + seed, users=6, jobs=80, burst=burst)
        result = feedback(log, permutations=99, significance=0.2, rng=seed)
        false += any(one.survives(0.2) for one in result.groups)
    assert false <= 13


def test_hours_take_a_part_of_the_day():
    log = planted_log(5, users=4, jobs=900, reaction=-0.5)
    result = feedback(log, hours=(13, 16), permutations=0)
    hours = (log.column("submit") // 3600) % 24
    assert result.submissions.height == np.sum((hours >= 13) & (hours < 16))
    assert result.group("WR-").share > 0.9
    whole = feedback(log, permutations=0)
    inside = whole.curves(hours=(13, 16)).filter(pl.col("group") == "WR-")
    assert inside["jobs"].sum() == np.sum((hours >= 13) & (hours < 16))
    night = feedback(log, hours=(22, 3), permutations=0)
    assert night.submissions["hour"].is_in([22, 23, 0, 1, 2]).all()
    with pytest.raises(ExperimentError, match="two hours of the day"):
        feedback(log, hours=(16, 16))
    undated = Workload(log.table, Meta(procs=100))
    with pytest.raises(ExperimentError, match="hours can't be told"):
        feedback(undated.with_machine(4000), hours=(1, 2))


class TestRefusals:
    def log(self):
        return planted_log(1, users=3, jobs=60)

    def test_no_waits(self):
        bare = self.log().with_columns(pl.lit(None, dtype=pl.Float64).alias("wait"), note="")
        with pytest.raises(ExperimentError, match="no waits"):
            feedback(bare)

    def test_no_users(self):
        bare = self.log().with_columns(pl.lit(None, dtype=pl.Int32).alias("user"), note="")
        with pytest.raises(ExperimentError, match="user column"):
            feedback(bare)

    def test_no_job_waits(self):
        quick = self.log().with_columns(
            pl.lit(0.0).alias("wait"), (pl.int_range(pl.len()) * 100.0).alias("submit"), note=""
        )
        with pytest.raises(ExperimentError, match="no queue that users could react to"):
            feedback(quick)

    def test_time_sharing(self):
        with pytest.raises(ExperimentError, match="shares them in time"):
            feedback(self.log().with_machine(1))

    def test_users_with_one_job(self):
        lonely = self.log().with_columns(
            pl.int_range(pl.len(), dtype=pl.Int32).alias("user"), note=""
        )
        with pytest.raises(ExperimentError, match="no user has 50 jobs"):
            feedback(lonely)

    def test_values(self):
        with pytest.raises(ExperimentError, match="significance must be"):
            feedback(self.log(), significance=2)
        with pytest.raises(ExperimentError, match="permutations"):
            feedback(self.log(), permutations=-1)


def test_one_user_and_constant_widths_are_answered():
    log = planted_log(3, users=1, jobs=300)
    flat = log.with_columns(pl.lit(4, dtype=pl.Int64).alias("procs"), note="")
    result = feedback(flat, permutations=19)
    assert result.users.size == 1
    assert result.group("WP+").share == result.group("OP-").share == 0


def test_result_is_complete():
    result = feedback(planted_log(1), permutations=19)
    assert tuple(one.name for one in result.groups) == GROUPS
    assert "fewer than 159" in str(result.report)
    flat = result.summary()
    assert flat["jobs"] == 2400
    assert all(f"{name}_share" in flat for name in GROUPS)
    assert result.to_polars().height == 8
    assert result.users_table().height == 12
    for kind in result.figure_kinds():
        assert result.plot(kind).data
    assert result.plot("curves", hours=(13, 16)).data

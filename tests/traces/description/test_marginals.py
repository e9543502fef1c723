"""One attribute at a time, against twins and theory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onega.traces.description.marginals import MIN_TAIL_JOBS, hill_tail, marginal
from onega.traces.description.sections import Lacking
from reference import description as twin

VALUES = st.lists(
    st.one_of(st.integers(0, 50).map(float), st.floats(0, 1e9, allow_subnormal=False)),
    min_size=1,
    max_size=60,
)


@given(VALUES)
def test_moments_percentiles_and_mode_are_what_their_definitions_say(values):
    found = marginal("runtime", np.array(values))
    close = lambda x: pytest.approx(x, rel=1e-9, abs=1e-9 * max(values, default=0) + 1e-12)  # noqa: E731
    assert found.count == len(values)
    assert found.mean == close(twin.mean(values))
    assert found.minimum == min(values)
    assert found.maximum == max(values)
    assert found.quartiles == close([twin.percentile(values, f"{q}/4") for q in (1, 2, 3)])
    assert found.deciles == close([twin.percentile(values, f"{d}/10") for d in range(1, 10)])
    assert found.p95 == close(twin.percentile(values, "95/100"))
    assert found.p99 == close(twin.percentile(values, "99/100"))
    q25, median, q75 = found.quartiles
    assert found.siqr == close(((median - q25) + (q75 - median)) / 2)
    assert (found.mode, found.mode_share) == twin.mode(values)
    if len(values) > 1:
        assert found.std == close(twin.std(values))


def test_a_single_value_has_no_spread():
    found = marginal("width", np.array([4.0]))
    assert (found.std, found.cv) == (None, None)
    assert found.median == found.mode == found.maximum == 4


def test_a_mean_of_zero_has_no_coefficient_of_variation():
    assert marginal("wait", np.zeros(3)).cv is None


def test_unknown_values_are_left_out():
    assert marginal("wait", np.array([1.0, np.nan, 3.0])).mean == 2


def test_an_unknown_attribute_is_lacking():
    with pytest.raises(Lacking, match="no wait is known"):
        marginal("wait", np.array([np.nan, np.nan]))


def test_keys_carry_the_attribute_and_agree_with_each_other():
    keys = marginal("gap", np.arange(11.0)).summary()
    assert all(key.startswith("gap_") for key in keys)
    assert keys["gap_p50"] == keys["gap_median"] == 5
    assert keys["gap_p90"] == 9


@given(st.lists(st.integers(1, 10**6).map(float), min_size=MIN_TAIL_JOBS, max_size=200))
def test_hill_points_are_the_formula(values):
    try:
        tail = hill_tail(np.array(values))
    except Lacking:
        ordered = sorted(values, reverse=True)
        assert ordered[0] == ordered[len(values) // 10]
        return
    for point in tail.curve:
        assert point.alpha == pytest.approx(twin.hill(values, point.k), rel=1e-6)
        expected = twin.pareto_distance(values, point.k, point.alpha)
        assert point.distance == pytest.approx(expected, abs=1e-6)
    assert tail.distance == min(point.distance for point in tail.curve)
    assert tail.error == tail.alpha / math.sqrt(tail.k)


@pytest.mark.parametrize("alpha", [0.8, 1.5, 3.0])
def test_the_index_of_pareto_variables_is_found(alpha):
    # Choosing k by the fit adds to the error, hence 4 standard errors: 1 in 16 000 if k were fixed.
    values = np.random.default_rng(20).pareto(alpha, 20_000) + 1
    tail = hill_tail(values)
    assert abs(tail.alpha - alpha) < 4 * tail.error
    assert tail.heavy is (alpha < 2)
    assert tail.fits


def test_run_times_cut_off_by_a_limit_have_no_power_law():
    values = np.minimum(np.random.default_rng(3).pareto(1.0, 5000) + 1, 12.0)
    assert not hill_tail(values).fits


def test_too_few_jobs_have_no_tail():
    with pytest.raises(Lacking, match=f"at least {MIN_TAIL_JOBS}"):
        hill_tail(np.arange(1.0, MIN_TAIL_JOBS))


def test_equal_run_times_have_no_tail():
    with pytest.raises(Lacking, match="all equal"):
        hill_tail(np.full(100, 60.0))

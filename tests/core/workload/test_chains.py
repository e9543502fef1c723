"""The chains of Song (2006), against obvious twins, its worked example and its KTH figures."""

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onega.core.workload import chains

SERIES = st.lists(st.integers(1, 200), min_size=2, max_size=60)


def naive_chain(values):
    """(3.1)–(3.5) word by word, with dictionaries."""
    reduced = [2 ** math.floor(math.log2(v)) for v in values]
    levels = sorted(set(reduced))
    pairs = {(i, j): 0 for i in levels for j in levels}
    for k in range(len(values) - 1):
        pairs[reduced[k], reduced[k + 1]] += 1
    quality = [
        sum(v == level for v in values) / sum(s == level for s in reduced) for level in levels
    ]
    return levels, [levels.index(s) for s in reduced], pairs, quality


@given(SERIES)
def test_chain_equals_the_definition(values):
    levels, path, pairs, quality = naive_chain(values)
    chain = chains.Chain.of(values)
    assert chain.levels.tolist() == levels
    assert chain.path.tolist() == path
    assert chain.counts.tolist() == [[pairs[i, j] for j in levels] for i in levels]
    assert chain.quality.tolist() == quality
    assert chain.dimension == len(levels)


@given(SERIES)
def test_rows_of_the_transition_matrix_are_distributions(values):
    matrix = chains.Chain.of(values).transitions
    assert np.all(matrix >= 0)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)


def test_worked_example_of_table_3_2():
    chain = chains.Chain.of([2, 4, 6, 16])
    assert chain.levels.tolist() == [2, 4, 16]
    assert (chain.path + 1).tolist() == [1, 2, 2, 3]
    assert chain.quality.tolist() == [1, 0.5, 1]
    # 2→4, 4→4, 4→16; 16 is only ever last, so it gets all successors together: 4, 4, 16.
    np.testing.assert_allclose(chain.transitions, [[0, 1, 0], [0, 0.5, 0.5], [0, 2 / 3, 1 / 3]])


def test_floor_power_is_exact_beside_powers_of_two():
    for exponent in (-3, 0, 1, 29, 49):
        power = 2.0**exponent
        below, above = np.nextafter(power, 0), np.nextafter(power, math.inf)
        assert chains.floor_power([below, power, above]).tolist() == [power / 2, power, power]


def test_state_of_takes_the_largest_level_below():
    assert chains.state_of([1, 2, 3, 4, 15, 16, 99], [2, 4, 16]).tolist() == [0, 0, 0, 1, 1, 2, 2]


@given(SERIES, SERIES)
def test_path_correlations_equal_the_definition(first, second):
    n = min(len(first), len(second))
    p, r = first[:n], second[:n]
    pairs = [(p[i + 1] - p[i], r[i + 1] - r[i]) for i in range(n - 1)]
    kept = [(a, b) for a, b in pairs if a != 0 and b != 0]
    cor0, cor1 = chains.path_correlations(p, r)
    for got, (x, y) in ((cor0, (p, r)), (cor1, tuple(zip(*kept)) or ([], []))):
        expected = naive_correlation(x, y)
        assert (math.isnan(got) and math.isnan(expected)) or got == pytest.approx(
            expected, abs=1e-9
        )


def naive_correlation(x, y):
    """(3.6) in whole numbers under the roots."""
    n = len(x)
    sxy = n * sum(a * b for a, b in zip(x, y)) - sum(x) * sum(y)
    sxx = n * sum(a * a for a in x) - sum(x) ** 2
    syy = n * sum(b * b for b in y) - sum(y) ** 2
    return sxy / math.sqrt(sxx * syy) if sxx * syy > 0 else math.nan


@given(SERIES, st.integers(0, 5))
def test_autocorrelation_equals_the_definition(values, lag):
    mean = sum(values) / len(values)
    power = sum((v - mean) ** 2 for v in values)
    got = chains.autocorrelation(values, lag)
    if len(set(values)) == 1 or lag >= len(values):
        assert math.isnan(got)
        return
    top = sum((values[i] - mean) * (values[i + lag] - mean) for i in range(len(values) - lag))
    assert got == pytest.approx(top / power, abs=1e-9)


def test_autocorrelation_of_an_autoregressive_series_is_its_coefficient():
    # AR(1) with coefficient 0.6, n = 200 000: the standard error of ρ₁ is √((1−0.36)/n) = 0.0018.
    noise = np.random.default_rng(3).normal(size=200_000)
    series = np.empty_like(noise)
    value = 0.0
    for i, step in enumerate(noise):
        value = 0.6 * value + step
        series[i] = value
    rho = chains.autocorrelations(series, (0, 1, 2))
    np.testing.assert_allclose(rho, [1, 0.6, 0.36], atol=4 * 0.0025)


def test_equal_neighbours():
    assert chains.equal_neighbours([1, 1, 2, 2, 2, 3]) == 3 / 5
    assert math.isnan(chains.equal_neighbours([4]))


def test_mean_run_lengths_against_the_multinomial_law():
    lengths = chains.mean_run_lengths([1, 1, 1, 2, 3, 3, 1, 4])
    assert set(lengths) == {1, 2, 4}  # 3 is no power of two
    assert lengths[1] == (2.0, 1 / (1 - 4 / 8))
    assert lengths[2] == (1.0, 1 / (1 - 1 / 8))
    # Independent draws have the law's mean: 1/(1−p), standard error √p/(1−p)/√runs ≈ 0.005.
    draws = np.random.default_rng(5).choice([1, 2, 4], p=[0.5, 0.3, 0.2], size=200_000)
    for observed, expected in chains.mean_run_lengths(draws).values():
        assert observed == pytest.approx(expected, abs=0.03)


def test_successor_means_follow_the_thesis_example():
    # §3.1: 1,1,1,2,2,5,5,5,8,16,16,16,2,2 becomes 1,2,5,8,16,2.
    series = [1, 1, 1, 2, 2, 5, 5, 5, 8, 16, 16, 16, 2, 2]
    once = chains.without_repeats(np.array(series, float))
    assert chains.successor_means(once) == {1.0: 2, 2.0: 5, 4.0: 8, 8.0: 16, 16.0: 2}
    repeats = chains.successor_means(series)
    assert repeats[1.0] == pytest.approx((1 + 1 + 2) / 3)


@pytest.mark.parametrize("bad", [[], [1, 0], [2, -1], [1, math.nan], [math.inf]])
def test_refuses_what_has_no_logarithm(bad):
    with pytest.raises(ValueError, match=r"positive|at least one"):
        chains.Chain.of(bad)


def test_kth_gives_the_seeds_figures(shared):
    path = shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz")
    with gzip.open(path, "rt") as lines:
        rows = np.array([line.split() for line in lines if line.strip() and line[0] != ";"], float)
    rows = rows[(rows[:, 3] > 0) & (rows[:, 4] > 0)]
    summary = chains.temporal_summary(rows[:, 4], rows[:, 3])
    assert summary["same_procs"] == pytest.approx(0.375, abs=0.001)  # Table 3.1
    assert summary["states_runtime"] == 18  # Table 3.3
    assert summary["states_procs"] == 7  # printed 8, but 1, 2, …, 64 are seven
    assert round(summary["cor0"], 2) == 0.04  # Table 3.4
    assert round(summary["cor1"], 2) == 0.14
    assert round(summary["corr"], 2) == 0.01  # Table 3.6
    assert round(summary["rho1_procs"], 2) == 0.29  # Table 3.7
    assert round(summary["rho1_runtime"], 2) == 0.29

"""The stability constant: four methods, exact twins, golden values, closed forms."""

from __future__ import annotations

import csv
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.core.errors import QueueingError
from onega.queueing.constant import (
    constant_at,
    constant_curve,
    fewest_servers,
    multiresource_constant,
    sensitivity,
    stability_constant,
)
from onega.queueing.harmonic import harmonic_renewal, invert_one_minus
from onega.queueing.widths import Widths
from reference.stability import (
    constant_fraction,
    constant_partitions,
    constant_quadrature,
    vector_constant_fraction,
)


@st.composite
def small_laws(draw, most=9):
    widths = draw(st.lists(st.integers(1, most), min_size=1, max_size=4, unique=True))
    weights = draw(st.lists(st.integers(1, 20), min_size=len(widths), max_size=len(widths)))
    total = sum(weights)
    return {k: Fraction(w, total) for k, w in zip(widths, weights)}


def floats(law):
    return {k: float(p) for k, p in law.items()}


@given(small_laws(), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_exact_is_the_fraction(law, more):
    servers = max(law) + more
    assert stability_constant(floats(law), servers).value == pytest.approx(
        float(constant_fraction(law, servers)), rel=1e-13
    )


@given(small_laws(most=5), st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_partitions_and_enumeration_are_the_fraction(law, more):
    servers = max(law) + more
    exact = constant_fraction(law, servers)
    assert constant_partitions(law, servers) == exact
    for method in ("partitions", "enumeration"):
        value = stability_constant(floats(law), servers, method=method).value
        assert value == pytest.approx(float(exact), rel=1e-12)


def test_the_integral_of_the_generating_function_agrees():
    probs = np.array([0.3, 0.0, 0.25, 0.05, 0.1, 0.0, 0.0, 0.3])
    for servers in (8, 40, 300):
        exact = stability_constant(probs, servers).value
        assert constant_quadrature(probs, servers) == pytest.approx(exact, rel=1e-11)


def test_golden_values(shared):
    laws = {
        "powers": dict(
            zip((1, 2, 4, 8, 16, 32, 64, 128), (0.3, 0.15, 0.15, 0.15, 0.1, 0.08, 0.05, 0.02))
        ),
        "geometric-0.5-truncated-60": [0.5**k / (1 - 0.5**60) for k in range(1, 61)],
        "kth": onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz")),
    }
    with open(shared("golden", "hpcwld-C.csv")) as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 6
    for row in rows:
        servers = int(row["servers"])
        law = laws.get(row["name"], f"uniform:{servers}")
        assert stability_constant(law, servers).value == pytest.approx(float(row["C"]), rel=2e-14)


def test_partitions_reach_the_golden_geometric_law(shared):
    law = [0.5**k / (1 - 0.5**60) for k in range(1, 61)]
    exact = stability_constant(law, 60).value
    assert stability_constant(law, 60, method="partitions").value == pytest.approx(exact, rel=1e-11)


def test_montecarlo_covers_the_exact_value():
    exact = stability_constant("uniform:20", 50).value
    runs = [
        stability_constant("uniform:20", 50, method="montecarlo", draws=4000, rng=seed)
        for seed in range(40)
    ]
    # 40 intervals at 95 %: fewer than 32 hits has probability 1e-4.
    assert sum(run.low <= exact <= run.high for run in runs) >= 32
    sample = np.array([run.value for run in runs])
    assert abs(sample.mean() - exact) < 4 * sample.std(ddof=1) / math.sqrt(40)


def test_equal_widths_fill_the_machine():
    for width, servers in ((1, 100), (4, 64), (7, 7)):
        value = stability_constant({width: 1.0}, servers).value
        assert value == pytest.approx(1 / (servers // width), rel=1e-14)


@pytest.mark.parametrize("servers", [10, 1000, 100_000])
def test_uniform_widths_have_a_closed_form(servers):
    # P(N₁+…+N_j ≤ s) = (s choose j)/s^j, so C = 1 − Σ_{j≥2} (s choose j)/s^j/(j(j−1)) → e − 2.
    term, total = 1.0, 1.0
    for j in range(2, min(servers, 60) + 1):
        term *= (servers - j + 1) / (servers * j)
        total -= term / (j * (j - 1))
    assert stability_constant(f"uniform:{servers}", servers).value == pytest.approx(
        total, rel=1e-12
    )


@pytest.mark.parametrize("kind", ["uniform", "zipf", "one and all", "mixed", "even"])
def test_fft_agrees_with_the_recursion(kind):
    servers = 6000
    dense = np.zeros(servers + 1)
    index = np.arange(1, servers + 1)
    if kind == "uniform":
        dense[1:] = 1 / servers
    elif kind == "zipf":
        dense[1:] = index**-1.5
    elif kind == "one and all":
        dense[[1, servers]] = 0.5
    elif kind == "mixed":
        dense[1:] = 0.5 / servers
        dense[1] += 0.5
    else:
        dense[2::2] = 1.0
    law = Widths(np.flatnonzero(dense), dense[dense > 0] / dense.sum())
    direct = harmonic_renewal(law.values, law.probs, servers, fft=False)
    quick = harmonic_renewal(law.values, law.probs, servers, fft=True)
    tails = law.tails(servers)
    values = [float(np.dot(tails, ell[servers:0:-1])) for ell in (direct, quick)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_power_series_inverse():
    series = np.zeros(500)
    series[1:] = np.random.default_rng(1).random(499) / 500
    inverse = invert_one_minus(series)
    minus = -series
    minus[0] = 1.0
    unit = np.convolve(minus, inverse)[:500]
    assert unit[0] == pytest.approx(1)
    assert np.abs(unit[1:]).max() < 1e-14


@given(small_laws(), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_more_servers_never_raise_the_constant(law, span):
    sizes = np.arange(max(law), max(law) + span + 1)
    curve = constant_curve(floats(law), sizes)
    assert np.all(np.diff(curve) <= 1e-15)
    # No policy can use more than the machine: E[N]/(C·s) ≤ 1.
    assert np.all(Widths.of(floats(law)).mean / (curve * sizes) <= 1 + 1e-12)


def test_curve_is_undefined_below_the_widest_job():
    curve = constant_curve({3: 0.5, 5: 0.5}, [4, 5, 6])
    assert math.isnan(curve[0])
    assert curve[1] == stability_constant({3: 0.5, 5: 0.5}, 5).value


@given(small_laws(), st.floats(0.01, 60))
@settings(max_examples=60, deadline=None)
def test_fewest_servers_is_the_boundary(law, load):
    servers = fewest_servers(floats(law), load)
    assert load * stability_constant(floats(law), servers).value < 1
    if servers > max(law):
        assert load * stability_constant(floats(law), servers - 1).value >= 1


def test_fewest_servers_of_many_servers():
    # All widths 1: M/M/s is stable from s = ⌊load⌋ + 1 on.
    assert fewest_servers([1.0], 12_345.5) == 12_346
    assert fewest_servers([1.0], 12_345.0) == 12_346


def test_sensitivity_is_the_derivative():
    law = {1: 0.4, 3: 0.35, 8: 0.25}
    servers, step = 20, 1e-6
    weights = sensitivity(law, servers)
    # Move a little probability from width 1 to width 8.
    moved = [
        stability_constant({1: 0.4 - h, 3: 0.35, 8: 0.25 + h}, servers).value for h in (step, -step)
    ]
    slope = (moved[0] - moved[1]) / (2 * step)
    assert slope == pytest.approx(weights[2] - weights[0], rel=1e-7)


@given(
    st.lists(
        st.tuples(st.tuples(st.integers(0, 3), st.integers(0, 4)), st.integers(1, 9)),
        min_size=1,
        max_size=4,
        unique_by=lambda one: one[0],
    ).filter(lambda classes: all(sum(need) for need, _ in classes)),
    st.integers(3, 6),
    st.integers(4, 6),
)
@settings(max_examples=40, deadline=None)
def test_several_resources_are_the_fraction(classes, first, second):
    total = sum(weight for _, weight in classes)
    exact = vector_constant_fraction(
        [(need, Fraction(weight, total)) for need, weight in classes], (first, second)
    )
    value = multiresource_constant(
        [need for need, _ in classes], [w / total for _, w in classes], (first, second)
    )
    assert value == pytest.approx(float(exact), rel=1e-12)


def test_one_resource_is_a_special_case():
    value = multiresource_constant([[1], [3], [5]], [0.5, 0.3, 0.2], [17])
    assert value == pytest.approx(stability_constant({1: 0.5, 3: 0.3, 5: 0.2}, 17).value, rel=1e-14)


def test_a_plentiful_resource_changes_nothing():
    one = stability_constant({1: 0.5, 2: 0.5}, 6).value
    value = multiresource_constant([[1, 3], [2, 1]], [0.5, 0.5], [6, 100])
    assert value == pytest.approx(one, rel=1e-14)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: stability_constant([0.5, 0.4], 2), "sum to 0.9"),
        (lambda: stability_constant([1.0], 0), "whole number from 1"),
        (lambda: stability_constant([1.0], 2.5), "whole number from 1"),
        (lambda: stability_constant([0.5, 0.5], 1), "can never start"),
        (lambda: stability_constant([1.5, -0.5], 2), "from 0 to 1"),
        (lambda: stability_constant({0: 0.5, 1: 0.5}, 2), "whole number from 1"),
        (lambda: stability_constant([1.0], 2, method="exakt"), "did you mean 'exact'"),
        (lambda: stability_constant("uniform:80", 300, method="partitions"), "take method 'exact'"),
        (lambda: stability_constant("uniform:30", 30, method="enumeration"), "too many"),
        (lambda: stability_constant([1.0], 2, method="montecarlo", draws=1), "2 draws"),
        (
            lambda: stability_constant([1.0], 2, method="montecarlo", confidence=1),
            "between 0 and 1",
        ),
        (lambda: stability_constant([1.0], 10**9), "at most"),
        (lambda: fewest_servers([1.0], -1), "from 0"),
        (lambda: fewest_servers([1.0], 1e9), "more than"),
        (lambda: constant_curve([1.0], [0]), "from 1"),
        (lambda: multiresource_constant([[1, 2]], [1.0], [3]), "a column per resource"),
        (lambda: multiresource_constant([[0, 0]], [1.0], [3, 3]), "needs nothing"),
        (lambda: multiresource_constant([[4, 0]], [1.0], [3, 3]), "could never start"),
        (lambda: multiresource_constant([[1.5]], [1.0], [3]), "whole numbers"),
        (lambda: multiresource_constant([[1], [2]], [0.5, 0.6], [3]), "sum to 1"),
        (lambda: multiresource_constant([[1, 1]], [1.0], [10**5, 10**5]), "coarser units"),
    ],
)
def test_refusals_say_what_is_accepted(act, words):
    with pytest.raises(QueueingError, match=words):
        act()


@pytest.mark.parametrize("kind", ["mostly one", "zipf", "powers", "two lengths"])
def test_a_million_servers_to_ten_digits_by_two_ways(kind):
    """Recursion and FFT round differently; they agree to twelve digits."""
    servers = 200_000
    widths = np.arange(1, 401)
    if kind == "mostly one":
        weights = np.where(widths == 1, 1.0, 1e-7)
    elif kind == "zipf":
        weights = widths**-2.5
    elif kind == "powers":
        widths, weights = 2 ** np.arange(8), np.array([30, 15, 15, 15, 10, 8, 5, 2.0])
    else:
        widths, weights = np.array([2, 3]), np.array([999.0, 1.0])
    law = Widths(widths, weights / weights.sum())
    values = [
        constant_at(law, servers, harmonic_renewal(law.values, law.probs, servers, fft=fft))
        for fft in (False, True)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_widths_with_a_common_divisor_leave_the_rest_idle():
    assert stability_constant({4: 0.5, 6: 0.5}, 21).value == pytest.approx(
        stability_constant({2: 0.5, 3: 0.5}, 10).value, rel=1e-15
    )


def test_large_machines_lose_what_the_rule_of_thumb_says():
    """1 − E[N]/(C·s) ≈ (E[N²]/E[N] − 1)/(2s) for s far above the widths."""
    law = Widths.of({1: 0.5, 3: 0.3, 16: 0.2})
    value = stability_constant(law, 10_000).value
    lost = 1 - law.mean / (value * 10_000)
    second_moment = float(np.dot(law.probs, law.values**2))
    assert lost == pytest.approx((second_moment / law.mean - 1) / 20_000, rel=2e-3)


def test_monte_carlo_of_endless_length_is_refused():
    with pytest.raises(QueueingError, match="too many jobs for Monte Carlo"):
        stability_constant([1.0], 10**7, method="montecarlo")

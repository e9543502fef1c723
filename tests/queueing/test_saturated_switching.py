"""Two servers whose speed switches at random: hpcwld's golden file, closed forms, simulation."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onega.core.errors import QueueingError
from onega.queueing.saturated import markov_throughput, switched_throughput


def two_servers(p1, pa, pd, mu1, mu2, f1, f2):
    return switched_throughput(
        {1: p1, 2: 1 - p1},
        2,
        {1: 1 / mu1, 2: 1 / mu2},
        speeds=(f1, f2),
        p_arrival=pa,
        p_departure=pd,
    )


def test_every_row_of_the_golden_file_is_right(shared):
    with open(shared("golden", "hpcwld-max-throughput-2.csv")) as lines:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(lines)]
    assert len(rows) == 12
    for row in rows:
        expected = row.pop("max_rate")
        assert two_servers(**row) == pytest.approx(expected, rel=1e-12)


@given(st.floats(0.05, 1), st.floats(0.05, 1), st.floats(0.1, 5), st.floats(1, 4))
@settings(max_examples=40, deadline=None)
def test_one_class_is_a_quadratic(pa, pd, mu, f2):
    """One class: p_a·λ² + λ·r₂(p_d − p_a) − r₁r₂·p_d = 0, r_i = f_i·(rate of the full machine).

    hpcwld's function has this root for p₁ = 0 and p₁ = 1 with a pair of parentheses missing (and
    μ₂ for μ₁); the golden file doesn't contain those cases.
    """
    for p1, full in ((0.0, mu), (1.0, 2 * mu)):
        r1, r2 = full, f2 * full
        root = r2 * (pa - pd) + math.sqrt(r2**2 * (pa - pd) ** 2 + 4 * r1 * r2 * pa * pd)
        assert two_servers(p1, pa, pd, mu, mu, 1.0, f2) == pytest.approx(root / (2 * pa), rel=1e-9)


def test_the_ends_are_the_constant_speeds():
    law = {1: 0.4, 2: 0.6}
    unit = markov_throughput(law, 2, 1.0)

    def at(pa, pd, speeds=(1.0, 3.0)):
        return switched_throughput(law, 2, 1.0, speeds=speeds, p_arrival=pa, p_departure=pd)

    assert at(0.0, 0.5) == pytest.approx(unit)
    assert at(0.5, 0.0) == pytest.approx(3 * unit)
    assert at(0.5, 0.5, speeds=(2.0, 2.0)) == pytest.approx(2 * unit)
    assert unit < at(0.3, 0.6) < at(0.6, 0.3) < 3 * unit


def drift(rate: float, p1: float, pa: float, pd: float, jobs: int, rng: np.random.Generator):
    """Growth per arrival of a queue that starts very long: simulated event by event."""
    high, waiting_two = False, False
    running = [1, 1]  # widths in service
    arrivals = departures = 0
    for _ in range(jobs):
        speed = 2.0 if high else 1.0
        rates = [speed * (1.0 if width == 1 else 1.5) for width in running]
        total = sum(rates)
        if rng.random() * (rate + total) < rate:
            arrivals += 1
            high = high or rng.random() < pa
            continue
        departures += 1
        high = high and rng.random() >= pd
        running.pop(0 if rng.random() * total < rates[0] else 1) if len(
            running
        ) == 2 else running.pop()
        while True:
            width = 2 if waiting_two else (1 if rng.random() < p1 else 2)
            if sum(running) + width > 2:
                waiting_two = width == 2
                break
            waiting_two = False
            running.append(width)
    return arrivals, departures


def test_a_long_queue_neither_grows_nor_shrinks_at_the_boundary():
    """At λ = boundary arrivals and departures balance; 10 % below or above they don't. |z| < 4."""
    p1, pa, pd = 0.5, 0.3, 0.6
    boundary = two_servers(p1, pa, pd, 1.0, 1.5, 1.0, 2.0)
    for factor in (1.0, 0.9, 1.1):
        ratios = []
        for seed in range(12):
            came, left = drift(factor * boundary, p1, pa, pd, 8000, np.random.default_rng(seed))
            ratios.append(left / came)
        z = (np.mean(ratios) - 1) / (np.std(ratios, ddof=1) / math.sqrt(12))
        if factor == 1.0:
            assert abs(z) < 4
        else:
            assert z * (1 - factor) > 0
            assert abs(z) > 4


def test_more_than_two_servers_and_classes():
    law, means = {1: 0.5, 2: 0.3, 4: 0.2}, {1: 1.0, 2: 0.5, 4: 2.0}
    low = markov_throughput(law, 5, means)
    value = switched_throughput(law, 5, means, speeds=(1.0, 1.5), p_arrival=0.2, p_departure=0.4)
    assert low < value < 1.5 * low


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speeds": (2.0, 1.0)}, "low, high"),
        ({"speeds": (0.0, 1.0)}, "positive"),
        ({"p_arrival": 1.5}, "between 0 and 1"),
        ({"p_departure": -0.1}, "between 0 and 1"),
    ],
)
def test_refusals(options, words):
    given_ = {"speeds": (1.0, 2.0), "p_arrival": 0.5, "p_departure": 0.5} | options
    with pytest.raises(QueueingError, match=words):
        switched_throughput([0.5, 0.5], 2, 1.0, **given_)

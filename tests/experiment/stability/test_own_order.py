"""The log's jobs in their own order: bounds that hold, and exact answers, against a naive twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.experiment.stability.own_order import OwnOrder


def naive_starts(procs, runtimes, servers, copies):
    """Free times of the servers in a sorted list; a job takes the first so many of them."""
    free, starts = [0.0] * servers, []
    for _ in range(copies):
        for width, length in zip(procs, runtimes):
            start = free[width - 1]
            starts.append(start)
            free = sorted(free[width:] + [start + length] * width)
    return starts


def measure(procs, runtimes, budget=100_000, precision=0.001):
    jobs = np.asarray(procs, np.int64), np.asarray(runtimes, np.float64)
    return OwnOrder(*jobs, np.ones(len(procs) - 1), precision, budget)


LISTS = st.lists(st.tuples(st.integers(1, 4), st.floats(0.1, 20)), min_size=1, max_size=12)


@given(LISTS, st.integers(4, 9))
@settings(max_examples=60, deadline=None)
def test_bounds_hold_and_the_whole_is_never_exceeded(jobs, servers):
    procs, runtimes = zip(*jobs)
    work = float(np.dot(procs, runtimes))
    long = naive_starts(procs, runtimes, servers, 400)
    size = len(procs)
    # 400 copies: what one more takes, to within S_max/400 either way.
    period = long[-1] / 400
    slack = max(runtimes) / 400
    for budget in (size, 5 * size, 100 * size):
        found = measure(procs, runtimes, budget)(servers)
        assert found.low <= found.share <= found.high <= 1
        assert found.jobs <= max(size, budget)
        assert work / (servers * found.low) >= period * (1 - 1e-9)
        if found.high < 1:
            assert work / (servers * found.high) <= (period + slack) * (1 + 1e-9)


def test_constant_work_is_exact():
    """Widths 2 and 3 in turn on 4 servers, one second each: two seconds, five of eight."""
    found = measure([2, 3], [1.0, 1.0 + 1e-3])(4)
    assert found.share == pytest.approx((2 + 3.003) / (4 * 2.001))
    exact = measure([2, 3] * 20, [1.0] * 40)(4)
    assert exact.sure == "exactly"
    assert exact.low == exact.share == exact.high == pytest.approx(5 / 8)


def test_the_order_matters():
    """On 4 servers: 2, 2, 3, 3 packs the twos together, 2, 3, 2, 3 doesn't."""
    together = measure([2, 2, 3, 3] * 10, [1.0] * 40)(4).share
    mixed = measure([2, 3, 2, 3] * 10, [1.0] * 40)(4).share
    assert together == pytest.approx(10 / 12)
    assert mixed == pytest.approx(10 / 16)


@given(LISTS)
@settings(max_examples=30, deadline=None)
def test_more_servers_never_complete_less(jobs):
    procs, runtimes = zip(*jobs)
    found = measure(procs, runtimes)
    rates = [(found(s).low * s, found(s).high * s) for s in range(4, 12)]
    assert all(low <= high * (1 + 1e-9) for (low, _), (_, high) in pairwise(rates))


def test_scaling_run_times_changes_nothing():
    rng = np.random.default_rng(2)
    procs, runtimes = rng.integers(1, 5, 100), rng.lognormal(0, 1, 100)
    first, second = (measure(procs, factor * runtimes)(6).share for factor in (1, 4096))
    assert first == second


def test_independent_exponential_jobs_come_to_the_formula():
    """20 000 jobs; the share of the work that a chance correlation could move is below 2 %."""
    rng = np.random.default_rng(7)
    procs, runtimes = rng.choice([1, 2, 5], 20_000, p=[0.5, 0.3, 0.2]), rng.exponential(1, 20_000)
    exact = onega.stability({1: 0.5, 2: 0.3, 5: 0.2}, procs=8).utilisation_at_limit
    assert measure(procs, runtimes)(8).share == pytest.approx(exact, rel=0.02)


def test_intervals_over_other_logs_cover_the_truth():
    """100 logs of one law, 95 %: fewer than 86 hits has probability below 1e-4."""
    law = {1: 0.5, 2: 0.3, 5: 0.2}
    truth = 0.5 * 3 * onega.stability(law, procs=8).C
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        log = onega.Workload(
            {
                "submit": np.cumsum(rng.exponential(2.0, 400)),
                "runtime": rng.exponential(3.0, 400),
                "procs": rng.choice([1, 2, 5], 400, p=[0.5, 0.3, 0.2]),
            }
        ).with_machine(8)
        result = onega.stability(log, method="saturation")
        low, high = result.load_ratio_ci
        hits += low < truth < high
    assert 86 <= hits <= 100

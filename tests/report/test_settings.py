"""Thresholds of the report's slow clock: mean work in the system, as far as it is known."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from onega.experiment.planning.targets import mean_workload
from onega.report.settings import _thresholds


def log(**columns):
    rng = np.random.default_rng(5)
    n = 300
    table = {
        "submit": np.cumsum(rng.exponential(40, n)),
        "runtime": rng.exponential(100.0, n) + 1,
        "procs": rng.integers(1, 5, n),
    }
    return onega.Workload(table | columns)


def test_without_estimates_it_is_the_mean_remaining_work():
    machine = onega.Cluster(8, onega.RateControl(rates=(0.9,)))
    expected = mean_workload(onega.simulate(log(), machine, "easy"))
    assert _thresholds(log(), machine, "easy") == pytest.approx((expected / 2, expected), rel=1e-9)


def test_estimates_by_hand():
    """Known 30 of work 10: 30 × 10 − 10²/2; the second waits 10 s with 5, counts for 5 of 20."""
    two = onega.Workload(
        {"submit": [0, 0], "runtime": [10, 20], "estimate": [30, 5], "procs": [1, 1]}
    )
    mean = (30 * 10 - 50 + 5 * 10 + 5 * 5 / 2) / 30
    assert _thresholds(two, onega.Cluster(1), "fcfs") == pytest.approx((mean / 2, mean))

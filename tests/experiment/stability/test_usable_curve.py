"""What can be used of machines between two that were measured lies between their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from onega.experiment.stability.own_order import OwnOrder
from onega.experiment.stability.usable_curve import UsableCurve


@pytest.fixture(scope="module")
def jobs():
    rng = np.random.default_rng(3)
    procs = rng.choice([1, 2, 7, 16], 3000, p=[0.4, 0.3, 0.2, 0.1])
    return OwnOrder(procs, rng.lognormal(0, 1.5, 3000), rng.exponential(1.0, 2999), 0.01, 30_000)


def test_every_size_lies_within_the_bounds(jobs):
    curve = UsableCurve.measure(jobs, 40)
    assert 40 in curve.sizes
    assert (curve.sizes[0], curve.sizes[-1]) == (16, 320)
    thin = UsableCurve(*(one[::12] for one in (curve.sizes, curve.share, curve.low, curve.high)), 1)
    for servers in range(16, 320, 7):
        truth = jobs(servers)
        for known in (curve(servers), thin(servers)):
            assert known.low <= truth.high + 1e-12
            assert known.high >= truth.low - 1e-12
            assert known.low <= known.share <= known.high <= 1
    assert curve(40).low == pytest.approx(jobs(40).low, rel=1e-12)


def test_beyond_what_was_measured_little_is_known(jobs):
    curve = UsableCurve.measure(jobs, 40)
    assert curve(10_000).high == 1
    assert curve(10_000).low < 0.1
    assert curve(1).low == 0


def test_fewest_servers_keep_up(jobs):
    today = jobs.work / jobs.gaps.sum()
    curve = UsableCurve.measure(jobs, 40, [today])
    fewest = curve.fewest_servers(30.0)
    assert curve(fewest).low * fewest > 30
    assert fewest >= jobs.fewest_servers(30.0)
    # Just there more sizes are measured.
    assert curve.fewest_servers(today) == jobs.fewest_servers(today)
    assert curve.fewest_servers(1e6) is None


def test_it_is_kept_as_a_table(jobs):
    curve = UsableCurve.measure(jobs, 40)
    again = UsableCurve.from_polars(curve.to_polars())
    assert again(33) == curve(33)

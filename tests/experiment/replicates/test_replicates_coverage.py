"""Intervals that cover: 400 experiments on queues whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from experiment.workloads import WEEK, Queue
from onega.core.rng import child
from reference import experiments as formula

pytestmark = pytest.mark.verification

EXPERIMENTS = 400
SERVERS, RATE, MEAN = 4, 2.8, 1.0
TRUTH = {
    "mean(wait)": formula.mean_wait(SERVERS, RATE, MEAN),
    "p95(wait)": formula.wait_quantile(SERVERS, RATE, MEAN, 0.95),
    "share(wait>1s)": formula.share_waiting_longer(SERVERS, RATE, MEAN, 1.0),
}


@pytest.mark.parametrize("warmup", [None, "mser5"])
def test_intervals_on_mmc_contain_the_truth(warmup):
    """95 % intervals of ten runs of 5000 jobs: means, quantiles and shares, in 90 to 99 %.

    With the level exactly 95 %, 400 experiments fall outside 90–99 % once in 10⁵ times.
    """
    hits = dict.fromkeys(TRUTH, 0)
    for number in range(EXPERIMENTS):
        found = onega.replicate(
            Queue(RATE, MEAN, 5000),
            SERVERS,
            replicates=10,
            measures=list(TRUTH),
            warmup=warmup,
            rng=child(7, number),
        )
        for measure, truth in TRUTH.items():
            hits[measure] += truth in found.interval(measure)
    shares = {measure: count / EXPERIMENTS for measure, count in hits.items()}
    assert all(0.90 <= share <= 0.99 for share in shares.values()), shares


def test_intervals_of_paired_differences_contain_the_truth():
    """Mean wait with 5 servers minus that with 4, on the same customers."""
    expected = formula.mean_wait(5, RATE, MEAN) - TRUTH["mean(wait)"]
    source = Queue(RATE, MEAN, 5000)
    hits = 0
    for number in range(EXPERIMENTS):
        values = [
            onega.replicate(source, servers, replicates=10, rng=child(8, number)).of("mean(wait)")
            for servers in (4, 5)
        ]
        hits += expected in onega.mean_interval(values[1] - values[0])
    assert 0.90 <= hits / EXPERIMENTS <= 0.99, hits / EXPERIMENTS


def test_intervals_with_sequential_stopping_contain_the_truth():
    """Stopping when the interval is narrow costs a little of the level."""
    hits = 0
    for number in range(EXPERIMENTS):
        found = onega.replicate(
            Queue(RATE, MEAN, 5000),
            SERVERS,
            replicates=200,
            until="ci(mean(wait))<5%",
            measures=["mean(wait)"],
            rng=child(9, number),
        )
        assert found.reached
        hits += TRUTH["mean(wait)"] in found.interval("mean(wait)")
    assert 0.90 <= hits / EXPERIMENTS <= 0.99, hits / EXPERIMENTS


def test_bootstrap_intervals_by_weeks_contain_the_truth():
    """One log of 40 weeks of an M/M/4 queue, resampled by weeks: 95 % percentile intervals.

    The interval is widened for 40 weeks (Hesterberg's expanded percentile interval) and ends at the
    order statistics that 40 resamples have for it.
    """
    mean = WEEK / 50  # 2.8 × 50 jobs a week
    queue = Queue(RATE / mean, mean, 40 * 140)
    expected = formula.mean_wait(SERVERS, RATE / mean, mean)
    hits = 0
    for number in range(EXPERIMENTS):
        log = queue(np.random.default_rng(child(10, number, 0)))
        found = onega.replicate(
            log, SERVERS, replicates=40, measures=["mean(wait)"], rng=child(10, number, 1)
        )
        hits += expected in found.interval("mean(wait)")
    assert 0.90 <= hits / EXPERIMENTS <= 0.99, hits / EXPERIMENTS

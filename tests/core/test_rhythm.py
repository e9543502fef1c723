"""Bursts, weeks, tails and cycles of sizes, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from onega.core.workload.clock import MONDAY
from onega.core.workload.meta import Meta
from onega.core.workload.rhythm import (
    dispersion_index,
    heaviest_share,
    ratio_of_means,
    rhythm,
    variation,
    window_sums,
)
from onega.core.workload.workload import Workload
from places import shared

HOUR, DAY, WEEK = 3600.0, 86400.0, 604800.0


def naive_sums(times: list[float], length: float, weights: list[float]) -> list[float]:
    first, last = min(times), max(times)
    sums, begin = [], first
    while begin + length <= last:
        inside = [w for t, w in zip(times, weights) if begin <= t < begin + length]
        sums.append(sum(inside))
        begin += length
    return sums


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), min_size=1, max_size=60),
    st.integers(1, 40),
)
def test_sums_of_whole_windows_are_those_of_a_loop(jobs, length):
    times, weights = [float(t) for t, _ in jobs], [float(w) for _, w in jobs]
    assert window_sums(times, length, weights).tolist() == naive_sums(times, length, weights)
    ones = naive_sums(times, length, [1.0] * len(times))
    assert window_sums(times, length).tolist() == ones
    index = dispersion_index(times, length)
    if len(ones) < 2 or not any(ones):
        assert math.isnan(index)
    else:
        mean = sum(ones) / len(ones)
        expected = sum((n - mean) ** 2 for n in ones) / len(ones) / mean
        assert index == pytest.approx(expected)


def test_a_poisson_process_has_dispersion_one_and_batches_of_k_have_k():
    rng = np.random.default_rng(1)
    single = np.cumsum(rng.exponential(60.0, 400_000))
    hours = int(single[-1] // HOUR)
    # Var of the index of n Poisson windows is about 2/n: four standard errors.
    assert dispersion_index(single, HOUR) == pytest.approx(1, abs=4 * math.sqrt(2 / hours))
    assert dispersion_index(np.repeat(single, 5), HOUR) == pytest.approx(
        5, abs=20 * math.sqrt(2 / hours)
    )


def test_ratios_and_shares():
    values = np.array([1.0, 3.0, 10.0, 30.0])
    chosen = np.array([True, True, False, False])
    assert ratio_of_means(values, chosen) == pytest.approx(2 / 20)
    assert math.isnan(ratio_of_means(values, np.zeros(4, bool)))
    assert heaviest_share(values, 0.25) == pytest.approx(30 / 44)
    assert heaviest_share(values, 0.01) == pytest.approx(30 / 44)
    assert variation(np.array([1.0, 3.0])) == pytest.approx(0.5)
    assert math.isnan(variation(np.array([1.0])))
    assert math.isnan(variation(np.zeros(3)))


def test_night_and_weekend_are_those_of_the_local_clock():
    # Monday 12 h and 20 h, Saturday 12 h, in a zone one hour east of Greenwich.
    submit = np.array([12 * HOUR, 20 * HOUR, 5 * DAY + 12 * HOUR, 2 * WEEK]) - HOUR
    table = {"submit": submit, "runtime": [10.0, 40.0, 30.0, 20.0], "procs": [1, 2, 4, 1]}
    found = rhythm(Workload(table, Meta(epoch=MONDAY, utc_offset=HOUR)))
    assert found.night_runtime == pytest.approx(((40 + 20) / 2) / ((10 + 30) / 2))
    assert found.night_procs == pytest.approx((3 / 2) / (5 / 2))
    assert found.weekend_runtime == pytest.approx(30 / (70 / 3))
    assert found.weekend_procs == pytest.approx(4 / (4 / 3))
    assert math.isnan(found.dispersion_week)  # one whole week only
    assert list(found.summary())[:2] == ["dispersion_hour", "dispersion_day"]


def test_jobs_without_a_run_time_are_left_out():
    table = {"submit": [0.0, 1.0, 2.0], "runtime": [10.0, None, 30.0], "procs": [1, 1, 1]}
    assert rhythm(Workload(table, Meta())).heavy_work == pytest.approx(0.75)
    empty = rhythm(Workload({"submit": [0.0], "runtime": [None], "procs": [1]}, Meta()))
    assert all(math.isnan(value) for value in empty.summary().values())


def test_figures_of_kth():
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    found = rhythm(log)
    assert found.dispersion_week == pytest.approx(55.0, abs=0.1)
    assert found.weekly_work_cv == pytest.approx(0.132, abs=0.001)
    assert found.night_runtime == pytest.approx(1.70, abs=0.01)

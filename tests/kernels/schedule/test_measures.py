"""Measures in one pass: the bits of NumPy's array expressions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onega.core.schedule.measures import job_means, mean_measures
from onega.core.workload.columns import fixed
from onega.kernels.schedule import measures as kernels

seeds = st.integers(0, 2**32 - 1)


def jobs(count, seed):
    """Jobs with whole and broken times, some without any service."""
    stream = np.random.default_rng(seed)
    submit = np.sort(stream.uniform(0, 50, count).round(int(stream.integers(0, 3))))
    start = submit + np.maximum(0, stream.normal(0, 5, count)).round(1)
    service = np.maximum(0, stream.normal(10, 10, count))
    return submit, start, start + service, service


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), seeds)
def test_measures_of_jobs_are_their_definitions(count, seed):
    submit, start, end, service = jobs(count, seed)
    table = np.empty((5, count))
    kernels.measure_jobs(kernels.Times(submit, start, end, service), 10.0, table)
    response = end - submit
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = np.where(service > 0, response / service, np.nan)
    bounded = np.maximum(1.0, response / np.maximum(service, 10.0))
    expected = np.array([start - submit, response, service, slowdown, bounded])
    assert np.array_equal(table, expected, equal_nan=True)
    known = [row[~np.isnan(row)] for row in expected]
    averages = [row.mean() if row.size else np.nan for row in known]
    assert np.array_equal(mean_measures(table), averages, equal_nan=True)


def test_of_no_job_there_are_no_means():
    means = mean_measures(np.empty((5, 0)))
    assert np.isnan(means).all()
    assert np.isnan(list(job_means(np.empty((5, 0)), means).values())).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), seeds)
def test_totals_of_times_are_those_of_numpy(count, seed):
    submit, start, end, _ = jobs(count, seed)
    procs = np.random.default_rng(seed).integers(1, 9, count)
    left = end.copy()
    left[:: max(1, count // 3)] = np.inf  # still there at the end
    found = kernels.times_within(
        kernels.Stretches(start, end, procs),
        kernels.Presence(submit, left),
        kernels.Window(5.0, 60.0),
    )
    lasted = np.maximum(np.minimum(end, 60.0) - np.maximum(start, 5.0), 0.0)
    present = np.maximum(np.minimum(left, 60.0) - np.maximum(submit, 5.0), 0.0)
    for times, expected in zip(found, (procs * lasted, lasted, present)):
        assert times.tolist() == expected.tolist()


def steps(stream):
    """A rate that changes now and then, from −1 on."""
    since = np.concatenate([[-1.0], np.sort(stream.uniform(0, 60, int(stream.integers(0, 6))))])
    rate = stream.uniform(0.5, 2.0, since.size)
    clock = np.concatenate([[0.0], np.cumsum(np.diff(since) * rate[:-1])])
    return kernels.Rate(since, rate, clock)


def areas(some, waits, rate):
    queued, used = kernels.queued_areas(some, waits, rate)
    return queued, used.sum()


def work_clock(rate, times):
    place = np.maximum(np.searchsorted(rate.since, times, side="right") - 1, 0)
    return rate.clock[place] + (times - rate.since[place]) * rate.rate[place]


def naive_area(some, waits, rate):
    """∫ procs(t)·R(t)·1{a job waits}, instant by instant."""
    times = np.unique(np.concatenate([*waits, some.since, some.until, rate.since]))
    middle = (times[1:] + times[:-1]) / 2
    waiting = np.array([(waits.begins <= t).sum() > (waits.ends <= t).sum() for t in middle])
    weight = np.diff(work_clock(rate, times)) * waiting
    busy = np.array([some.procs[(some.since <= t) & (t < some.until)].sum() for t in middle])
    return float(weight.sum()), float((busy * weight).sum())


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 60), seeds)
def test_areas_while_somebody_waits_are_those_counted_by_instants(count, seed):
    submit, start, end, _ = jobs(count, seed)
    stream = np.random.default_rng(seed)
    some = kernels.Stretches(start, end, stream.integers(1, 9, count))
    waits, rate = kernels.Waits(submit, np.sort(start)), steps(stream)
    found = areas(some, waits, rate)
    assert found == pytest.approx(naive_area(some, waits, rate), rel=1e-9, abs=1e-6)


def test_where_nobody_waits_no_area_is_queued():
    some = kernels.Stretches(np.array([0.0]), np.array([5.0]), np.array([2]))
    rate = kernels.Rate(np.zeros(1), np.ones(1), np.zeros(1))
    at_once = kernels.Waits(np.array([0.0]), np.array([0.0]))
    assert areas(some, at_once, rate) == (0.0, 0.0)


def test_waits_that_end_before_they_begin_count_for_nothing():
    """They have no meaning; they once wrote outside an array."""
    rate = kernels.Rate(np.zeros(1), np.ones(1), np.zeros(1))
    some = kernels.Stretches(np.array([0.0]), np.array([5.0]), np.array([2]))
    begins = np.arange(0.0, 400.0, 2.0)
    backwards = kernels.Waits(begins, np.zeros(begins.size))
    assert areas(some, backwards, rate) == (0.0, 0.0)
    one = kernels.Waits(np.array([1.0, 50.0, np.nan]), np.array([3.0, 20.0, np.nan]))
    assert areas(some, one, rate) == (2.0, 4.0)
    # More beginnings than ends: the rest has none.
    unended = kernels.Waits(np.array([1.0, 50.0]), np.array([3.0]))
    assert areas(some, unended, rate) == (2.0, 4.0)


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300])
def test_waits_shorter_than_floats_can_divide_by(tiny):
    rate = kernels.Rate(np.zeros(1), np.ones(1), np.zeros(1))
    some = kernels.Stretches(np.array([0.0]), np.array([5.0]), np.array([2]))
    found = areas(some, kernels.Waits(np.zeros(1), np.array([tiny])), rate)
    assert found == (tiny, 2 * tiny)


def test_columns_for_kernels_are_of_one_kind():
    given = np.arange(6, dtype=np.int32)[::2]
    found = fixed(given)
    assert found.dtype == np.int64
    assert found.flags.c_contiguous
    assert not found.flags.writeable
    assert found.tolist() == [0, 2, 4]
    own = np.ones(3)
    assert np.shares_memory(fixed(own), own)
    assert own.flags.writeable

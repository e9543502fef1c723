"""Measures of jobs and of the machine, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onega.core.schedule.history import RateHistory
from onega.core.schedule.measures import job_means, mean_measures, measure_jobs
from onega.core.schedule.system import Stretches, queued_areas, time_within

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
    table = measure_jobs(submit, start, end, service)
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
def test_times_in_a_window_are_counted_one_by_one(count, seed):
    submit, _, left, _ = jobs(count, seed)
    left[:: max(1, count // 3)] = np.inf  # still there at the end
    found = time_within(submit, left, 5.0, 60.0)
    assert found.tolist() == [
        max(0.0, min(end, 60.0) - max(begin, 5.0)) for begin, end in zip(submit, left)
    ]


def steps(stream):
    """A rate that changes now and then, from −1 on."""
    since = np.concatenate([[-1.0], np.sort(stream.uniform(0, 60, int(stream.integers(0, 6))))])
    rates = tuple(stream.uniform(0.5, 2.0, since.size).tolist())
    return RateHistory(since, np.arange(since.size), rates)


def areas(some, begins, ends, rates):
    queued, used = queued_areas(some, begins, ends, rates)
    return queued, used.sum()


def work_clock(rates, times):
    place = np.maximum(np.searchsorted(rates.since, times, side="right") - 1, 0)
    rate = np.array(rates.rates)
    clock = np.concatenate([[0.0], np.cumsum(np.diff(rates.since) * rate[:-1])])
    return clock[place] + (times - rates.since[place]) * rate[place]


def naive_area(some, begins, ends, rates):
    """∫ procs(t)·R(t)·1{a job waits}, instant by instant."""
    times = np.unique(np.concatenate([begins, ends, some.since, some.until, rates.since]))
    middle = (times[1:] + times[:-1]) / 2
    waiting = np.array([(begins <= t).sum() > (ends <= t).sum() for t in middle])
    weight = np.diff(work_clock(rates, times)) * waiting
    busy = np.array([some.procs[(some.since <= t) & (t < some.until)].sum() for t in middle])
    return float(weight.sum()), float((busy * weight).sum())


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 60), seeds)
def test_areas_while_somebody_waits_are_those_counted_by_instants(count, seed):
    submit, start, end, _ = jobs(count, seed)
    stream = np.random.default_rng(seed)
    some = Stretches(start, end, stream.integers(1, 9, count))
    case = some, submit, np.sort(start), steps(stream)
    assert areas(*case) == pytest.approx(naive_area(*case), rel=1e-9, abs=1e-6)


ALWAYS_ONE = RateHistory.constant(0.0)
TWO_BUSY = Stretches(np.array([0.0]), np.array([5.0]), np.array([2]))


def test_where_nobody_waits_no_area_is_queued():
    assert areas(TWO_BUSY, np.array([0.0]), np.array([0.0]), ALWAYS_ONE) == (0.0, 0.0)
    assert areas(TWO_BUSY, np.empty(0), np.empty(0), ALWAYS_ONE) == (0.0, 0.0)


def test_waits_that_end_before_they_begin_count_for_nothing():
    """They have no meaning; they once wrote outside an array."""
    begins = np.arange(0.0, 400.0, 2.0)
    assert areas(TWO_BUSY, begins, np.zeros(begins.size), ALWAYS_ONE) == (0.0, 0.0)
    begins, ends = np.array([1.0, 50.0, np.nan]), np.array([3.0, 20.0, np.nan])
    assert areas(TWO_BUSY, begins, ends, ALWAYS_ONE) == (2.0, 4.0)
    # More beginnings than ends: the rest has none.
    assert areas(TWO_BUSY, np.array([1.0, 50.0]), np.array([3.0]), ALWAYS_ONE) == (2.0, 4.0)


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300])
def test_waits_shorter_than_floats_can_divide_by(tiny):
    found = areas(TWO_BUSY, np.zeros(1), np.array([tiny]), ALWAYS_ONE)
    assert found == (tiny, 2 * tiny)

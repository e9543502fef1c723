"""Width against run time, and neighbours in time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onega.core.workload.workload import Workload
from onega.traces.description import describe
from onega.traces.description.shape import distributional_correlation
from reference import description as twin
from traces.description.logs import small_log

JOBS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 5000)), min_size=2, max_size=60)


def log_of(widths, runtimes):
    return Workload({"submit": range(len(widths)), "runtime": runtimes, "procs": widths})


@given(JOBS)
def test_distributional_correlation_equals_its_twin(jobs):
    widths, runtimes = map(list, zip(*jobs))
    found = distributional_correlation(np.array(widths, float), np.array(runtimes, float))
    cut, measure, gap = twin.distributional(widths, runtimes)
    assert found[0] == cut
    assert found[1:] == pytest.approx((measure, gap), abs=1e-12) or found[1] is measure is None


@given(JOBS)
def test_distributional_correlation_ignores_monotone_rescaling(jobs):
    widths, runtimes = (np.array(side, float) for side in zip(*jobs))
    plain = distributional_correlation(widths, runtimes)
    assert distributional_correlation(widths, np.log(runtimes)) == plain


def test_wider_is_always_longer():
    description = describe(log_of([1, 1, 8, 8], [1, 2, 10, 20]))
    assert description.shape.distributional_corr == 1
    assert describe(log_of([1, 1, 8, 8], [10, 20, 1, 2])).shape.distributional_corr == -1


def test_serial_and_powers_of_two():
    shape = describe(log_of([1, 2, 3, 4, 6, 1], [5] * 6)).shape
    assert shape.serial == pytest.approx(2 / 6)
    assert shape.power_of_two == pytest.approx(4 / 6)
    assert [(one.width, one.jobs) for one in shape.widths] == [
        (1, 2),
        (2, 1),
        (3, 1),
        (4, 1),
        (6, 1),
    ]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50))
def test_histogram_of_run_times_holds_every_job_in_its_bin(runtimes):
    bins = describe(log_of([1] * len(runtimes), runtimes)).shape.runtimes
    assert sum(one.jobs for one in bins) == len(runtimes)
    for one in bins:
        inside = [r for r in runtimes if one.low * (1 + 1e-9) <= r < one.high * (1 - 1e-9)]
        assert one.jobs >= len(inside)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=60))
def test_runs_and_successors_equal_their_twins(widths):
    runtimes = [w * 7 for w in widths]
    temporal = describe(log_of(widths, runtimes)).temporal
    found = {run.width: (run.jobs, run.observed, run.independent) for run in temporal.runs}
    for width, expected in twin.runs(widths).items():
        assert found[width] == pytest.approx(expected)
    assert len(found) == len(twin.runs(widths))
    for rows, values, drop in (
        (temporal.width_successors, widths, True),
        (temporal.runtime_successors, runtimes, False),
    ):
        expected = twin.successors(values, drop)
        assert {row.power for row in rows} == set(expected)
        for row in rows:
            assert (row.jobs, row.mean) == pytest.approx(expected[row.power])


def test_the_seeds_example_of_removed_repetitions():
    # §3.1: 1,1,1,2,2,5,5,5,8,16,16,16,2,2 → U' = 1,2,5,8,16,2 and U'' = 1,2,4,8,16,2.
    widths = [1, 1, 1, 2, 2, 5, 5, 5, 8, 16, 16, 16, 2, 2]
    rows = describe(log_of(widths, [1] * 14)).temporal.width_successors
    assert [(row.power, row.mean) for row in rows] == [(1, 2), (2, 5), (4, 8), (8, 16), (16, 2)]


def test_neighbours():
    temporal = describe(small_log()).temporal
    assert temporal.same_width == 0.5
    assert (temporal.width_states, temporal.runtime_states) == (2, 2)


def test_constant_widths_have_no_correlations():
    description = describe(small_log(procs=[4, 4, 4]))
    assert description.shape.corr is None
    assert description.shape.distributional_corr is None
    assert description.temporal.rho1_width is None
    assert description.temporal.cor0 is None
    assert description.temporal.runs[0].independent == math.inf
    assert description.missing["corr"] == "all jobs are 4 processors wide"
    assert {"rho1_procs", "cor0", "cor1", "distributional_corr"} <= set(description.missing)


def test_constant_run_times_have_no_correlations():
    description = describe(small_log(runtime=[9.0, 9.0, 9.0]))
    assert description.temporal.rho1_runtime is None
    assert description.missing["rho1_runtime"] == "all jobs run 9 s"
    assert description.missing["corr"] == "all jobs run 9 s"
    assert description.missing["distributional_corr"] == "all jobs run 9 s"


def test_halves_that_run_alike_have_no_direction():
    description = describe(log_of([1, 1, 2, 2], [5, 9, 5, 9]))
    assert description.shape.distributional_corr is None
    assert description.shape.distributional_gap == 0
    assert "same run times" in description.missing["distributional_corr"]

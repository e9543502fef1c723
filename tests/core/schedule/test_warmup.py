"""MSER-5: against trying every place, and on series whose warm-up is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from experiment.workloads import log
from onega.core.errors import ExperimentError
from onega.core.schedule.warmup import Warmup, after_warmup, mser5, waits_in_order
from reference import experiments as naive


@given(st.lists(st.integers(0, 1000), min_size=20, max_size=200))
def test_mser5_is_the_naive_one(values):
    found = mser5([float(value) for value in values])
    removed, settled = naive.mser5([float(value) for value in values])
    if (found.removed, found.settled) != (removed, settled):
        # Two places with the same statistic but for rounding: both are minima.
        def statistic(d):
            left = np.array(values[: len(values) // 5 * 5], float).reshape(-1, 5).mean(axis=1)[d:]
            return left.var() / left.size

        assert statistic(found.removed // 5) == pytest.approx(statistic(removed // 5), abs=1e-9)


def test_a_jump_is_found_to_the_batch():
    rng = np.random.default_rng(1)
    series = np.concatenate([np.zeros(300), np.full(2000, 50.0)]) + rng.normal(0, 1, 2300)
    assert mser5(series).removed == 300
    assert mser5(series).settled


def test_a_settled_series_loses_little():
    """Of white noise, the cut is rarely past a tenth: in no more than 10 of 50 series."""
    far = sum(
        mser5(np.random.default_rng(seed).normal(0, 1, 2000)).removed > 200 for seed in range(50)
    )
    assert far <= 10


def test_a_series_that_drifts_throughout_is_reported_as_not_settled():
    found = mser5(np.arange(1000.0))
    assert not found.settled
    assert found.removed == 500


def test_too_few_values_are_refused():
    with pytest.raises(ExperimentError, match="at least 20"):
        mser5(np.arange(19.0))


@pytest.mark.parametrize(
    ("given_", "rule", "seconds"),
    [
        (None, "none", 0),
        ("none", "none", 0),
        ("mser5", "mser5", 0),
        ("2d", "time", 172800),
        (60, "time", 60),
    ],
)
def test_rules_are_read(given_, rule, seconds):
    found = Warmup.parse(given_)
    assert (found.rule, found.seconds) == (rule, seconds)
    assert Warmup.parse(found) is found


@pytest.mark.parametrize("wrong", ["mser", "-5", -1.0, float("nan")])
def test_unknown_rules_are_refused(wrong):
    with pytest.raises(ExperimentError, match="accepted: none, mser5"):
        Warmup.parse(wrong)


def test_the_first_jobs_by_submission_are_left_out_whatever_their_rows():
    workload = log(jobs=200)
    order = np.random.default_rng(1).permutation(200)
    mixed = onega.Workload(workload.table[order], workload.meta)
    schedule = onega.simulate(mixed, 64, "easy")
    keep = after_warmup(schedule, 50)
    early = np.argsort(mixed.column("submit"), kind="stable")[:50]
    assert sorted(np.flatnonzero(~keep)) == sorted(early)
    assert after_warmup(schedule, 0) is None


def test_a_time_leaves_out_the_jobs_before_and_never_all():
    schedule = onega.simulate(log(), 64, "easy")
    submit = schedule.workload.column("submit")
    assert Warmup.parse("1w").removed(schedule).removed == np.sum(submit < 604_800)
    with pytest.raises(ExperimentError, match="leaves no job"):
        Warmup.parse("10w").removed(schedule)


def test_a_quiet_beginning_is_left_out():
    """One server: 1000 jobs that never wait, then groups of five that wait 0, 1, 2, 3 and 4 s."""
    submit = np.concatenate([10.0 * np.arange(1000), 1e4 + 10.0 * np.repeat(np.arange(800), 5)])
    quiet = onega.Workload(
        {"submit": submit, "runtime": np.ones(5000), "procs": np.ones(5000, int)}
    )
    found = mser5(waits_in_order(onega.simulate(quiet, 1)))
    assert (found.removed, found.settled) == (1000, True)


def test_a_burst_at_the_beginning_is_left_out_too():
    """The rule looks for the calmest rest, not for an empty machine; so it has to be asked for."""
    submit = np.concatenate([np.zeros(100), 1000 + 2.0 * np.arange(3000)])
    burst = onega.Workload(
        {"submit": submit, "runtime": np.ones(3100), "procs": np.ones(3100, int)}
    )
    assert mser5(waits_in_order(onega.simulate(burst, 1))).removed == 100


def test_the_pilot_is_averaged_and_the_longest_of_the_cases_counts():
    rng = np.random.default_rng(1)
    early = np.concatenate([np.zeros(20), np.full(300, 9.0)])
    late = np.concatenate([np.zeros(60), np.full(300, 9.0)])
    pilot = [[early + rng.normal(0, 1, 320), late + rng.normal(0, 1, 360)] for _ in range(10)]
    found = Warmup.parse("mser5").decided(pilot)
    assert (found.jobs, found.settled) == (300, True)
    one, two = (Warmup.parse("mser5").decided([[run[k]] for run in pilot]).jobs for k in (0, 1))
    assert 100 <= one <= 120
    assert two == 300
    # Of different lengths, as far as the shortest goes.
    pilot[0] = [run[:200] for run in pilot[0]]
    assert Warmup.parse("mser5").decided(pilot).jobs == 300


def test_a_short_replicate_keeps_half_of_its_jobs():
    schedule = onega.simulate(log(jobs=100), 64, "easy")
    assert Warmup("mser5", jobs=80).removed(schedule).removed == 50
    assert Warmup("mser5", jobs=20).removed(schedule).removed == 20

"""Estimated run times (Song 2006, chapter 4)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from models.contract import example_log
from onega.core.errors import ModelError
from onega.core.workload.distances import ks_distance
from onega.models import BetaEstimates, GammaEstimates, TsafrirEstimates
from onega.models.estimates.estimates import _moments, misfit
from onega.models.jobs.alignment import Alignment
from places import shared

RNG = np.random.default_rng


def pairs(n=40_000):
    return np.rint(np.exp2(RNG(0).uniform(3, 17, n)))


def test_beta_lines_come_back():
    # p from 0.35 to 1.4 and q from 30 down to 1.4: shapes as KTH has them.
    truth = BetaEstimates(0.15, -2.0, -0.18, 2.3, alignment=Alignment(0.0), bound=1e12)
    runtime = pairs()
    estimate = truth.draw(runtime, RNG(1))
    back = BetaEstimates.learn(runtime, estimate)
    p, q = truth.shapes(np.exp2(np.arange(4.5, 17)))
    p2, q2 = back.shapes(np.exp2(np.arange(4.5, 17)))
    # Classes of 3000 jobs: moments give p and q to about 5 %; the lines do better in the middle.
    np.testing.assert_allclose(p2, p, rtol=0.15)
    np.testing.assert_allclose(q2, q, rtol=0.25)


def test_moments_are_the_corrected_ones():
    """p = x̄(x̄(1−x̄)/s² − 1): with the thesis's misprint (no −1) p would be too large by x̄."""
    runtime = np.concatenate([np.full(30_000, 2.0**k) for k in (5, 9)])
    accuracy = RNG(2).beta(2.0, 3.0, runtime.size) * 1.1
    back = BetaEstimates.learn(runtime, runtime / accuracy)
    p, q = back.shapes(np.array([2.0**5.5, 2.0**9.5]))
    np.testing.assert_allclose(p, 2.0, rtol=0.05)
    np.testing.assert_allclose(q, 3.0, rtol=0.05)


def test_gamma_lines_come_back():
    truth = GammaEstimates(0.05, -0.5, 0.2, -2.5, alignment=Alignment(0.0), bound=1e12)
    runtime = pairs()
    back = GammaEstimates.learn(runtime, truth.draw(runtime, RNG(1)))
    for name, error in (("shape_slope", 0.02), ("shape_level", 0.2), ("scale_slope", 0.03),
                        ("scale_level", 0.3)):  # fmt: skip
        assert getattr(back, name) == pytest.approx(getattr(truth, name), abs=error), name


def test_longer_jobs_are_estimated_better_as_the_seed_found():
    log = example_log()
    model = BetaEstimates.fit(log)
    runtime = np.repeat([30.0, 30_000.0], 5000)
    accuracy = runtime / model.draw(runtime, RNG(1))
    assert accuracy[5000:].mean() > accuracy[:5000].mean()


def test_table_4_6():
    table = Alignment(1.0)
    given_times = np.array([30, 80, 299, 301, 1700, 3700, 9000, 15000, 20000.0])
    moved = table.apply(given_times, np.zeros(9))
    assert moved.tolist() == [30, 60, 300, 300, 1800, 3600, 9600, 14400, 21600]
    nobody = Alignment(0.0).apply(given_times, np.zeros(9))
    np.testing.assert_array_equal(nobody, given_times)


@given(st.lists(st.floats(60, 3e5), min_size=1, max_size=50))
def test_alignment_moves_by_half_a_unit_at_most(times):
    values = np.array(times)
    moved = Alignment(1.0).apply(values, np.zeros(values.size))
    assert np.all(np.abs(moved - values) <= 1800.0 + 1e-6)
    assert np.all(moved > 0)


def test_the_share_aligned_is_the_probability():
    values = RNG(3).uniform(3600, 14400, 50_000)
    moved = Alignment(0.8).apply(values, RNG(4).random(50_000))
    error = np.sqrt(0.8 * 0.2 / 50_000)  # four of them: a right share fails once in 16 000 times
    assert np.mean(moved % 1200 == 0) == pytest.approx(0.8, abs=4 * error)


def test_alignment_is_learnt():
    rng = RNG(5)
    short = rng.integers(1, 12, 4000) * 300.0  # multiples of five minutes
    middle = 3600 + rng.integers(0, 7, 4000) * 1800.0  # half hours
    long = rng.integers(4, 20, 4000) * 3600.0
    odd = rng.integers(300, 70_000, 3000).astype(float)
    learnt = Alignment.fit(np.concatenate((short, middle, long, odd)))
    assert learnt.units[1:].tolist() == [300, 1800, 3600]
    assert learnt.probability == pytest.approx(0.8, abs=0.02)


def test_models_can_learn_the_round_values():
    log = example_log()
    learnt = BetaEstimates.fit(log, learn_alignment=True)
    assert learnt.alignment == Alignment.fit(log.column("estimate"))
    assert learnt.alignment.probability == pytest.approx(1.0, abs=0.01)  # all in five minutes
    assert BetaEstimates.fit(log).alignment == Alignment()
    assert TsafrirEstimates.fit(log, learn_alignment=True) == TsafrirEstimates.fit(log)


def test_tsafrir_gives_the_log_its_values_and_no_job_too_little():
    log = example_log()
    model = TsafrirEstimates.fit(log)
    assert model.modal.values.size == 20
    runtime = log.column("runtime")
    drawn = model.draw(runtime, RNG(1))
    assert np.all(drawn >= runtime)
    assert ks_distance(log.column("estimate"), drawn) < 0.03
    assert np.mean(np.isin(drawn, model.modal.values)) == pytest.approx(model.share, abs=0.03)


def test_recover_fills_only_what_is_missing_and_says_so():
    log = example_log()
    missing = np.arange(len(log)) % 3 == 0
    values = pl.Series("estimate", np.where(missing, np.nan, log.column("estimate"))).fill_nan(None)
    holes = log.with_columns(values, note="holes")
    model = onega.models.MODELS["independent"].fit(log).estimates
    full = model.recover(holes, rng=1)
    assert full.table["estimate"].null_count() == 0
    kept = full.column("estimate")[~missing]
    np.testing.assert_array_equal(kept, log.column("estimate")[~missing])
    assert full.meta.report.count("recovered_estimate") == missing.sum()
    assert "recovered 1000 missing estimates" in full.meta.provenance[-1]
    assert model.recover(holes, rng=1) == full
    assert ks_distance(full.column("estimate"), log.column("estimate")) < 0.03


def test_several_logs_train_one_model():
    logs = [example_log(rng=k) for k in (1, 2)]
    both = BetaEstimates.fit(*logs, bound=36_000.0)
    assert both.bound == 36_000
    assert both.draw(np.full(1000, 30_000.0), RNG(0)).max() <= 36_000
    with pytest.raises(ModelError, match="at least 50"):
        BetaEstimates.fit()


def test_accuracies_without_spread_are_refused_or_taken_as_they_are():
    log = example_log()
    exact = log.with_columns((pl.col("runtime") * 2).alias("estimate"), note="exact")
    with pytest.raises(ModelError, match="accuracies that differ"):
        BetaEstimates.fit(exact)
    model = onega.models.MODELS["independent"].fit(exact)
    assert model.estimates.KIND == "tsafrir"


def test_logs_that_outlive_their_estimates_get_a_gamma_law():
    log = example_log()
    late = log.with_columns((pl.col("runtime") / 1.5).ceil().alias("estimate"), note="late")
    late = late.with_columns(
        (pl.col("estimate") * pl.Series(RNG(0).uniform(0.5, 2, len(log)))).alias("estimate"),
        note="spread",
    )
    assert onega.models.MODELS["independent"].fit(late).estimates.KIND == "gamma-estimates"


@pytest.mark.parametrize("truth", [BetaEstimates, GammaEstimates, TsafrirEstimates])
def test_the_fit_chooses(truth):
    """Estimates drawn from a family are learnt by that one, or by one that fits no worse."""
    log = example_log()
    runtime = log.column("runtime")
    drawn = truth.fit(log).draw(runtime, RNG(2))
    again = log.with_columns(pl.Series("estimate", drawn), note="drawn")
    chosen = onega.models.MODELS["independent"].fit(again).estimates
    assert misfit(chosen, runtime, drawn) <= misfit(truth.fit(again), runtime, drawn)
    assert misfit(chosen, runtime, drawn) < 0.15


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"])
def test_estimates_of_archive_logs_are_near_by_default(name):
    log = onega.read(shared("traces", f"{name}.swf.gz"))
    made = onega.models.MODELS["markov-pair"].fit(log).sample(len(log), rng=1)
    assert onega.compare(log, made).summary()["ks_estimate"] < 0.03


def test_every_class_counts_once_in_a_beta_law():
    """Jobs of one class alone, thrice: the lines stay where they are."""
    log = example_log()
    runtime, estimate = log.column("runtime"), log.column("estimate")
    often = np.frexp(runtime)[1] == np.frexp(np.median(runtime))[1]
    rows = np.concatenate((np.arange(len(log)), *[np.flatnonzero(often)] * 200))
    once = BetaEstimates.learn(runtime, estimate)
    thrice = BetaEstimates.learn(runtime[rows], estimate[rows])
    assert thrice.p_slope == pytest.approx(once.p_slope, rel=0.02)
    assert thrice.q_slope == pytest.approx(once.q_slope, rel=0.02)


def test_classes_have_the_moments_of_their_jobs_and_stand_in_their_middle():
    """Run times from 2^k to 2^(k+1) are a class, at k + ½; fewer than 20 jobs are none."""
    rng = RNG(8)
    classes = np.repeat([3, 5, 9], [40, 25, 19])
    values = rng.random(classes.size)
    mean, variance, count, where = _moments(values, classes)
    assert where.tolist() == [3.5, 5.5]
    assert count.tolist() == [40, 25]
    parts = [values[classes == k] for k in (3, 5)]
    assert mean == pytest.approx([part.mean() for part in parts])
    assert variance == pytest.approx([part.var(ddof=1) for part in parts])

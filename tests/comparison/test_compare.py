"""Comparing a log with synthetic jobs."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

import onega
from onega.comparison.compare_words import FIGURES, compare_sentences
from onega.core.errors import ModelError
from onega.core.workload.distances import ks_distance, total_variation
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.models import MODELS
from onega.models.published.lublin import Lublin

KEYS = [
    "jobs_real",
    "jobs_synthetic",
    "ks_procs",
    "ks_runtime",
    "ks_gap",
    "d_sa",
    "corr_real",
    "corr_synthetic",
    "rho1_procs_real",
    "rho1_procs_synthetic",
    "rho1_runtime_real",
    "rho1_runtime_synthetic",
    "same_procs_real",
    "same_procs_synthetic",
]


@given(
    st.lists(st.integers(0, 9), min_size=5, max_size=40),
    st.lists(st.integers(0, 9), min_size=5, max_size=40),
)
def test_ks_distance_equals_scipys_statistic(first, second):
    assert ks_distance(first, second) == pytest.approx(
        ks_2samp(first, second, method="asymp").statistic
    )
    assert ks_distance(first, second) == ks_distance(second, first)


def test_distances_of_nothing_are_not_numbers():
    assert math.isnan(ks_distance([], [1]))
    assert math.isnan(total_variation([0, 0], [1, 2]))
    assert total_variation([1, 1], [2, 0]) == 0.5


def log_of(procs, runtime, **columns):
    submit = np.arange(len(procs)) * 3600.0
    meta = Meta(source="hand", epoch=978307200.0, procs=8)  # a midnight in UTC
    return Workload({"submit": submit, "procs": procs, "runtime": runtime} | columns, meta)


def test_a_comparison_by_hand():
    real = log_of([1, 1, 2, 4], [10, 10, 20, 40])
    synthetic = log_of([1, 2, 2, 4, 8], [10, 20, 20, 40, 80])
    flat = onega.compare(real, synthetic).summary()
    assert set(KEYS) <= set(flat)
    assert (flat["jobs_real"], flat["jobs_synthetic"]) == (4, 5)
    assert flat["ks_procs"] == pytest.approx(0.5 - 0.2)
    # Areas per job: (10+10+40+160)/4 = 55 and (10+40+40+160+640)/5 = 178.
    assert flat["d_sa"] == pytest.approx(178 / 55 - 1)
    assert flat["same_procs_real"] == pytest.approx(1 / 3)
    assert flat["corr_real"] == pytest.approx(1)
    assert flat["load_real"] == pytest.approx(220 / (8 * 3 * 3600))
    assert flat["ks_gap"] == 0
    assert math.isnan(flat["ks_estimate"])
    # From midnight on, a job an hour: shares 1/4 in four hours and 1/5 in five.
    assert flat["hourly_distance"] == pytest.approx(0.2)


def test_noon_is_not_midnight():
    at_night = log_of([1, 2, 4], [10, 10, 10])
    at_noon = log_of([1, 2, 4], [10, 10, 10], submit=43200 + np.arange(3) * 3600.0)
    assert onega.compare(at_night, at_noon).summary()["hourly_distance"] == pytest.approx(1)


def test_d_sa_is_the_seeds_for_equal_lengths():
    model = MODELS["lublin"]()
    a, b = model.sample(500, rng=1), model.sample(500, rng=2)
    area = [float(w.column("procs").astype(float) @ w.column("runtime")) for w in (a, b)]
    assert onega.compare(a, b).d_sa == pytest.approx((area[1] - area[0]) / area[0])


def test_a_log_is_like_itself():
    log = Lublin().sample(1000, rng=1)
    flat = onega.compare(log, log).summary()
    for key in ("ks_procs", "ks_runtime", "ks_gap", "d_sa", "hourly_distance"):
        assert flat[key] == 0
    for key in ("corr", "rho1_procs", "rho1_runtime", "same_procs", "cor0", "cor1", "load"):
        assert flat[f"{key}_real"] == flat[f"{key}_synthetic"]


def test_unusable_jobs_are_left_out_and_too_few_refused():
    log = Lublin().sample(100, rng=1)
    holes = log.with_columns(
        pl.when(pl.int_range(pl.len()) < 10)
        .then(None)
        .otherwise(pl.col("runtime"))
        .alias("runtime"),
        note="holes",
    )
    assert onega.compare(holes, log).summary()["jobs_real"] == 90
    with pytest.raises(ModelError, match="at least 3 jobs"):
        onega.compare(log.head(2), log)


def test_several_models_over_replicates():
    log = Lublin(machine=64).sample(800, rng=1, cluster=64)
    done = []
    result = onega.compare_models(
        log, ["independent", "markov"], replicates=4, rng=5, progress=done.append
    )
    assert done == [count / 8 for count in range(1, 9)]
    assert result.models == ("independent", "markov")
    table = result.to_polars()
    row = table.filter((pl.col("model") == "markov") & (pl.col("measure") == "d_sa")).to_dicts()[0]
    values = result.rows.filter(pl.col("model") == "markov")["d_sa"].to_numpy()
    assert row["mean"] == pytest.approx(values.mean())
    # Student's t with 3 degrees of freedom: 3.182.
    assert row["high"] - row["mean"] == pytest.approx(3.1824 * values.std(ddof=1) / 2, rel=1e-3)
    assert row["median_abs"] == pytest.approx(np.median(np.abs(values)))
    flat = result.summary()
    assert flat["markov.d_sa"] == row["mean"]
    again = onega.compare_models(log, ["independent", "markov"], replicates=4, rng=5)
    assert again.rows.equals(result.rows)
    # A replicate doesn't depend on how many there are.
    fewer = onega.compare_models(log, ["independent", "markov"], replicates=2, rng=5)
    assert fewer.rows.filter(pl.col("replicate") == 1).equals(
        result.rows.filter(pl.col("replicate") == 1)
    )


def test_models_that_are_fitted_already():
    log = Lublin(machine=64).sample(500, rng=1, cluster=64)
    result = onega.compare_models(log, {"mine": MODELS["markov"].fit(log)}, replicates=1, jobs=200)
    assert result.rows["jobs_synthetic"].to_list() == [200]
    assert result.models == ("mine",)


@pytest.mark.parametrize(
    ("models", "replicates", "message"),
    [(["marcov"], 2, "did you mean 'markov'"), ([], 2, "at least one model"), (["markov"], 0, "1")],
)
def test_nonsense_is_refused(models, replicates, message):
    with pytest.raises(ModelError, match=message):
        onega.compare_models(Lublin().sample(100, rng=1), models, replicates=replicates)


def test_figures():
    log = Lublin(machine=64).sample(500, rng=1, cluster=64)
    one = onega.compare(log, log)
    many = onega.compare_models(log, ["independent", "markov"], replicates=1)
    for result in (one, many):
        for kind in result.figure_kinds():
            figure = result.plot(kind)
            assert len(figure.data) >= 2
            assert figure.layout.title.text
    cdf = one.plot("cdf").data[0]
    assert max(cdf.y) == pytest.approx(100)
    model = MODELS["markov"].fit(log)
    for kind in model.figure_kinds():
        assert model.plot(kind).data
    with pytest.raises(ModelError, match="no transition matrix"):
        Lublin().plot("transitions")
    from onega.models.arrivals.arrivals import Arrivals, Poisson

    with pytest.raises(ModelError, match="no daily cycle"):
        Lublin(arrivals=Arrivals(Poisson(9.0))).plot("week")


def test_the_answer_in_words_names_what_differs_most():
    rows = {
        "jobs": (100.0, 50.0),  # a number of jobs is no likeness
        "ks_procs": (None, 0.02),
        "ks_gap": (None, 0.3),
        "rho1_procs": (0.5, 0.1),  # |0.1 − 0.5| = 0.4
        "dispersion_week": (50.0, 5.0),  # |5 ÷ 50 − 1| = 0.9
        "load": (0.7, 0.7),
        "hourly_distance": (None, 0.2),
        "mean_gap": (100.0, 111.0),  # |111 ÷ 100 − 1| = 0.11, the fourth
        "heavy_work": (0.3, math.nan),
    }
    first, second = compare_sentences(rows)
    assert first == (
        "One by one the jobs are not alike: the distributions of widths and gaps between "
        "submissions are at most 30 % apart (KS, gaps between submissions)."
    )
    assert second == (
        "What differs most: bursts by the week (5, in the log 50); memory of widths (0.1, in the "
        "log 0.5); hours of the day (share of jobs at another hour: 20 %). 1 of 5 other figures "
        "are within 10 %."
    )


def test_a_log_beside_itself_is_alike_and_every_figure_has_words():
    log = log_of([1, 2, 4, 2] * 50, [10.0, 20.0, 5.0, 7.0] * 50).with_machine(8)
    found = onega.compare(log, log, waits=True, privacy=False)
    first, second = found.sentences()
    assert "are alike" in first
    assert second.startswith("All ")
    assert set(found.to_polars()["measure"]) <= set(FIGURES)

"""All models beside several logs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import polars as pl
import pytest

import onega
from onega.comparison.compare import compare
from onega.comparison.model_table import ITSELF, judge_models, typical_factor
from onega.core.errors import ModelError
from onega.core.rng import child
from onega.experiment.workers.processes import Processes
from onega.experiment.workers.workers import Threads, run_all
from onega.models import MODELS
from onega.models.published.lublin import Lublin

FAMILIES = {name: MODELS[name] for name in ("independent", "jann", "markov")}


@pytest.fixture(scope="module")
def logs():
    model = Lublin(machine=32)
    return {name: model.sample(600, rng=k, cluster=32) for k, name in enumerate("ab")}


@pytest.fixture(scope="module")
def table(logs):
    return judge_models(logs, FAMILIES, replicates=2, halves=True, rng=5)


def test_typical_factor_by_hand():
    assert typical_factor([0.5, 2.0, 1.0]) == pytest.approx(2 ** (2 / 3))
    assert math.isnan(typical_factor([]))
    assert math.isnan(typical_factor([1.0, 0.0]))


def test_rows_are_those_of_single_comparisons(logs, table):
    number = list(MODELS).index("jann")
    seed = np.random.SeedSequence(5)
    model = MODELS["jann"].fit(logs["a"], rng=child(seed, 0, 1 + number))
    drawn = model.sample(600, rng=child(seed, 1 + number, 1))
    expected = compare(logs["a"], drawn, waits=True).summary()
    rows = table.whole["a"].rows
    found = rows.filter((pl.col("model") == "jann") & (pl.col("replicate") == 1)).to_dicts()[0]
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, nan_ok=True), key


def test_a_models_row_does_not_depend_on_the_others(logs, table):
    alone = judge_models({"b": logs["b"]}, {"markov": MODELS["markov"]}, replicates=2, rng=5)
    both = table.whole["b"].rows.filter(pl.col("model") == "markov")
    assert alone.whole["b"].rows.equals(both)


@pytest.mark.parametrize("workers", [Threads(3), Processes(2)], ids=str)
def test_workers_do_not_matter(logs, table, workers):
    run = partial(run_all, workers=workers)
    other = judge_models(logs, FAMILIES, replicates=2, halves=True, rng=5, run=run)
    assert other.to_polars().equals(table.to_polars())


def test_means_typical_factors_and_errors(table):
    flat = table.to_polars()
    whole = flat.filter((pl.col("part") == "whole") & (pl.col("model") == "jann"))
    ratios = whole.filter(pl.col("measure") == "wait_easy_ratio")["mean"].to_list()
    assert table.typical()["jann"] == pytest.approx(typical_factor(ratios))
    assert table.summary()["typical.jann.wait_easy_ratio"] == table.typical()["jann"]
    rows = whole.filter(pl.col("measure").str.starts_with("dispersion")).to_dicts()
    worst = max(abs(row["mean"] / row["log_value"] - 1) for row in rows)
    near = {row["model"]: row for row in table.nearness().to_dicts()}
    assert near["jann"]["dispersion"] == pytest.approx(worst)
    ks = whole.filter(pl.col("measure").is_in(["ks_procs", "ks_runtime", "ks_gap"]))
    assert near["jann"]["ks"] == pytest.approx(ks["mean"].max())


def test_halves(logs, table):
    """Models know the first half of the time; the second judges them, and the first itself."""
    log = logs["a"]
    middle = (log.column("submit").min() + log.column("submit").max()) / 2
    first, second = log.window(t1=middle), log.window(t0=middle)
    own = compare(second, first, waits=True).summary()
    found = table.halves["a"].rows.filter(pl.col("model") == ITSELF).to_dicts()
    assert len(found) == 1
    assert found[0]["wait_easy_ratio"] == own["wait_easy_ratio"]
    jann = table.halves["a"].rows.filter(pl.col("model") == "jann")
    assert jann["jobs_synthetic"].to_list() == [len(first)] * 2
    assert jann["jobs_real"].to_list() == [len(second)] * 2


def test_published_traces_are_rows_on_the_logs_machine(logs):
    trace = Lublin(machine=16).sample(300, rng=9, cluster=16)
    given = {"theirs": [trace, trace.head(200)]}
    table = judge_models({"a": logs["a"]}, {}, given=given, replicates=7, rng=1)
    rows = table.whole["a"].rows
    assert rows["jobs_synthetic"].to_list() == [300, 200]
    expected = onega.simulate(trace.with_machine(32), 32, "easy").summary()["mean_wait"]
    assert rows["wait_easy_synthetic"][0] == expected


def test_what_cannot_be_judged_is_said(logs):
    bare = logs["a"].with_columns(estimate=None, note="no estimates")
    wide = Lublin(machine=64).sample(300, rng=1, cluster=64)
    families = {name: MODELS[name] for name in ("independent", "cirne")}
    table = judge_models({"a": bare}, families, given={"wide": [wide]}, replicates=1, rng=1)
    assert {(one.workload, one.model) for one in table.missing} >= {("a", "wide")}
    assert all(one.why for one in table.missing)
    assert "wide" not in table.models
    with pytest.raises(ModelError, match="no model could be judged"):
        judge_models({"a": bare}, {}, given={"wide": [wide]}, replicates=1)
    with pytest.raises(ModelError, match="at least one log"):
        judge_models({}, FAMILIES)
    with pytest.raises(ModelError, match="replicates"):
        judge_models(logs, FAMILIES, replicates=0)


def test_the_figure_has_every_log_and_model(table):
    figure = table.plot()
    assert {trace.name for trace in figure.data} == {"a", "b"}
    assert set(figure.data[0].y) == set(FAMILIES)
    means = table.whole["a"].to_polars()
    easy = means.filter(pl.col("measure") == "wait_easy_ratio")
    expected = dict(zip(easy["model"], easy["mean"], strict=True))
    drawn = dict(zip(figure.data[0].y, figure.data[0].customdata, strict=True))
    assert drawn == pytest.approx(expected)

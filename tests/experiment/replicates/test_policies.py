"""Policies compared on a log and on replicates of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest

import onega
from experiment.workloads import Queue, log
from onega.core.errors import ExperimentError

LOG = log()
compare = partial(
    onega.compare_policies, LOG, 64, ["fcfs", "easy", "spf+easy"], replicates=8, rng=1
)


def test_the_log_itself_is_simulated_too():
    found = compare()
    for place, policy in enumerate(("fcfs", "easy", "spf+easy")):
        summary = onega.simulate(LOG, 64, policy).summary()
        keys = ("mean_wait", "p95_wait", "mean_bounded_slowdown", "utilisation")
        assert found.on_log[place].tolist() == [summary[key] for key in keys]
    observed = onega.Schedule.observed(LOG, 64).summary()
    assert found.observed[0] == observed["mean_wait"]


def test_a_policy_under_which_no_job_starts_is_not_the_best():
    found = compare()
    values = found.replicates.values.copy()
    values[:, 0] = np.nan  # fcfs: no job has a wait
    starved = replace(found, replicates=replace(found.replicates, values=values))
    assert starved.best("mean(wait)") != "fcfs"


def test_replicates_are_those_of_replicate():
    alone = onega.replicate(LOG, 64, ["fcfs", "easy", "spf+easy"], replicates=8, rng=1)
    assert np.array_equal(compare().replicates.values, alone.values)


def test_the_table_has_a_row_for_every_measure_and_policy_and_for_what_was_seen():
    table = compare().to_polars()
    assert table.height == 4 * (3 + 1)
    assert table["policy"].to_list()[:4] == ["fcfs", "fcfs+easy", "spf+easy", "observed"]
    first = table.filter(pl.col("policy") == "fcfs")
    assert first["difference"].null_count() == 4
    row = table.row(1, named=True)
    assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert row["sure"] == (not row["difference_low"] <= 0 <= row["difference_high"])


def test_sure_is_whether_the_interval_leaves_out_zero():
    found = compare()
    assert found.sure("mean(wait)", "spf+easy")
    assert not found.sure("mean(wait)", "fcfs")  # from itself
    assert found.best() == "spf+easy"
    assert found.summary()["spf+easy_mean_wait_sure"] is True
    assert found.summary()["best"] == "spf+easy"


def test_another_machine_than_the_logs_was_not_seen():
    found = onega.compare_policies(LOG, 80, ["fcfs", "easy"], replicates=4, rng=1)
    assert found.observed is None
    assert "observed" not in found.to_polars()["policy"].to_list()


def test_a_log_that_does_not_say_its_size_was_seen_on_the_machine_given():
    unsaid = onega.Workload(LOG.table)
    found = onega.compare_policies(unsaid, 64, ["fcfs", "easy"], resample="none")
    assert found.observed[0] == onega.Schedule.observed(LOG, 64).summary()["mean_wait"]


def test_without_a_log_there_are_only_replicates():
    found = onega.compare_policies(Queue(0.8, 1.0, 500), 1, ["fcfs", "spf"], replicates=5, rng=1)
    assert found.on_log is None
    assert found.observed is None
    assert found.to_polars()["on_log"].null_count() == 8
    assert found.replicates.kind == "student"
    assert len(found.plot().data) > 0


def test_a_comparison_needs_two():
    for wrong in (["easy"], "easy", []):
        with pytest.raises(ExperimentError, match="at least two"):
            onega.compare_policies(LOG, 64, wrong)


def test_the_same_warm_up_is_taken_from_the_log():
    found = compare(warmup="1w")
    late = onega.simulate(LOG, 64, "fcfs").jobs.filter(pl.col("submit") >= 604_800)
    assert found.on_log[0, 0] == pytest.approx(late["wait"].mean(), rel=1e-12)


def test_the_figure_shows_log_replicates_and_what_was_seen():
    figure = compare().plot()
    names = {trace.name for trace in figure.data}
    assert names == {"replicates", "mean and 95 % interval", "on the log itself"}
    assert sum(note.text == "observed" for note in figure.layout.annotations) == 4
    assert len(compare().plot("differences").data) == 4


def test_the_log_alone_has_numbers_and_no_intervals():
    found = onega.compare_policies(LOG, 64, ["fcfs", "easy"], resample="none")
    assert found.replicates.single
    row = found.to_polars().row(1, named=True)
    assert row["on_log"] == row["mean"] == onega.simulate(LOG, 64, "easy").summary()["mean_wait"]
    assert row["difference"] < 0
    assert row["low"] is row["difference_low"] is row["sure"] is None
    assert not found.sure("mean(wait)", "easy")
    assert found.summary()["interval"] == "none"
    with pytest.raises(ExperimentError, match="no interval"):
        onega.compare_policies(
            LOG, 64, ["fcfs", "easy"], resample="none", until="ci(mean(wait))<5%"
        )


def test_a_log_of_eight_days_is_told_what_it_can_do():
    with pytest.raises(ExperimentError, match="--resample none"):
        onega.compare_policies(log(weeks=1.2), 64, ["fcfs", "easy"], replicates=4)


def test_resample_does_not_advise_an_option_that_it_lacks():
    with pytest.raises(ExperimentError, match=r"draw from it$"):
        onega.resample(log(weeks=1.2))

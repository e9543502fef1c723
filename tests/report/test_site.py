"""The site report: everything asked is answered, numbers are the library's, gaps are explained."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import onega
from onega.pages import Facts, Picture, to_html, to_markdown
from onega.report.settings import ASSUMED, SLOW, compare_settings

SECTIONS = ["short", "load", "people", "time", "capacity", "settings", "adequacy", "made"]


def test_the_page_answers_every_question(made):
    document = made.document()
    assert [section.anchor for section in document.sections] == SECTIONS
    names = [picture.name for picture in document.pictures()]
    assert len(set(names)) == len(names)
    wanted = {"machine-over-time", "queue", "rho", "policies", "waits", "power"}
    wanted |= {"adequacy-distribution", "model-distributions", "daily", "groups"}
    assert wanted <= set(names)


def test_every_number_has_a_sentence(made):
    for section in made.document().sections:
        for block in section.blocks:
            if isinstance(block, Facts):
                assert all(fact.label and fact.value and fact.meaning for fact in block.items)
            if isinstance(block, Picture):
                assert block.caption
                assert block.title


def test_one_self_contained_file(made):
    page = to_html(made.document())
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    body = page.replace(max(scripts, key=len), "")
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", body)
    assert len(page) < 10_000_000
    assert page.count('class="plot"') == len(list(made.document().pictures()))


def test_markdown_has_the_tables(made):
    text = to_markdown(made.document())
    assert "| policy | mean wait |" in text
    assert "### Models of the workload" in text
    assert "markov-pair, fitted to this log" in text
    assert "<" not in re.sub(r"`[^`]*`", "", text)  # no HTML


def test_the_numbers_are_the_librarys(made, log):
    flat = made.summary()
    easy = onega.simulate(log, 64, "easy").summary()
    assert flat["easy_mean_wait"] == easy["mean_wait"]
    assert flat["mean_wait"] == pytest.approx(log.column("wait").mean())
    assert flat["rho"] == onega.stability(log).rho
    assert flat["users"] == 8
    assert flat["offered_load"] == onega.describe(log).load.offered_load
    assert flat["missing"] == []
    low, high = flat["easy_mean_wait_low"], flat["easy_mean_wait_high"]
    assert low <= high


def test_the_same_seed_gives_the_same_report(made, log):
    again = onega.site_report(log, policies=("fcfs", "easy"), replicates=3)
    assert again.summary() == made.summary()
    other = onega.site_report(log, policies=("fcfs", "easy"), replicates=3, seed=2)
    assert other.summary()["easy_mean_wait_low"] != made.summary()["easy_mean_wait_low"]


def test_a_given_model_is_judged(log):
    model = onega.models.Independent.fit(log, rng=1)
    made = onega.site_report(log, {"mine": model}, policies=("fcfs", "easy"), replicates=2)
    answers = made.answers
    assert not answers.models.own
    assert list(answers.models.waits) == ["mine"]
    assert made.summary()["mine.ks_procs"] == answers.models.comparison.summary()["mine.ks_procs"]
    assert "No model was given" not in to_markdown(made.document())


def test_a_poor_log_says_what_it_lacks(make_log):
    bare = make_log(waits=False, people=False, dates=False)
    made = onega.site_report(bare, policies=("fcfs", "easy"), replicates=2)
    text = to_markdown(made.document())
    flat = made.summary()
    assert not flat["waits_observed"]
    assert "site: the log doesn't say how long jobs waited" in flat["missing"]
    assert "Not known:" in text
    assert "Under EASY the machine would be" in text
    assert "observed |" not in text


def test_without_a_machine_the_peak_is_taken_and_said(make_log):
    log = make_log(machine=None)
    made = onega.site_report(log, policies=("fcfs", "easy"), replicates=2)
    assert made.answers.cluster.procs == onega.Schedule.observed(log).cluster.procs
    assert "the most that were ever busy at once" in to_markdown(made.document())


def test_refusals(make_log):
    bare = make_log(machine=None, waits=False)
    with pytest.raises(onega.SimulationError, match="--procs N"):
        onega.site_report(bare)
    with pytest.raises(onega.ExperimentError, match="at least two jobs"):
        onega.site_report(make_log().head(1))


def test_what_cleaning_dropped_is_said(log):
    broken = onega.Workload(
        log.table.with_columns(
            runtime=np.where(np.arange(len(log)) < 3, -1.0, log.column("runtime"))
        ),
        log.meta,
    )
    made = onega.site_report(broken, policies=("fcfs", "easy"), replicates=2)
    assert made.summary()["dropped_by_cleaning"] == 3
    assert "Cleaning: dropped 3: jobs whose run time is missing" in to_markdown(made.document())


def test_a_log_of_a_week_gets_replicates_from_a_model(log):
    week = log.select(pl.col("submit") < 7 * 86400)
    made = onega.site_report(week, policies=("fcfs", "easy"), replicates=2)
    assert "settings" not in made.answers.missing
    assert not made.answers.settings.replicates.resampled
    assert "samples of a model fitted to the log" in to_markdown(made.document())


# -- policies and clocks


@pytest.fixture(scope="module")
def settings(log):
    return compare_settings(log, onega.Cluster(64), ("fcfs", "easy"), n=3, rng=1)


def test_settings_are_named_and_paired(settings):
    assert settings.policies == ("fcfs", "easy")
    assert settings.clocks == ("easy", "easy, slow clock at low load", "easy, slow clock always")
    always = settings.clocks[-1]
    energy = settings.replicates
    paired = 1 - energy.of("energy", always) / energy.of("energy", "easy")
    assert settings.saved(always).mean == pytest.approx(paired.mean())
    assert settings.later(always).mean > 0
    assert settings.assumed_power


def test_a_slow_clock_always_is_slower_by_its_rate(settings):
    full, slow = (settings.on_log[name] for name in (settings.clocks[0], settings.clocks[-1]))
    service = [(one.end - one.start).sum() for one in (full, slow)]
    assert service[1] == pytest.approx(service[0] / SLOW)
    watts = ASSUMED.busy[0]
    procs = slow.workload.column("procs")
    assert slow.summary()["job_energy"] == pytest.approx(
        watts * (procs * (slow.end - slow.start)).sum()
    )


def test_one_number_of_watts_compares_no_clocks(log):
    found = compare_settings(
        log, onega.Cluster(64), ("fcfs", "easy"), power=onega.Power(200.0, 50.0), n=2, rng=1
    )
    assert found.clocks == ("easy",)
    assert not found.assumed_power


def test_the_machines_own_rate_control_is_compared(log):
    control = onega.RateControl("workload", rates=(2.0, 2.66), k_low=1e3, k_high=1e4)
    cluster = onega.Cluster(64, control, onega.Power((0.03, 0.04), (0.01, 0.02)))
    found = compare_settings(log, cluster, ("fcfs", "easy"), n=2, rng=1)
    assert found.clocks[1] == "easy, the machine's own rate control"
    full = found.on_log["easy"]
    assert (full.end - full.start) == pytest.approx(log.column("runtime") / 2.66)


def test_the_figures_axis_has_every_policy(settings):
    from onega.figures.report import settings_figure

    waits = {name: settings.interval("mean(wait)", name) for name in settings.policies}
    figure = settings_figure(waits, settings.replicated)
    assert list(figure.data[0].y) == ["fcfs", "easy"]
    assert len(figure.data[0].error_x.array) == 2


def test_few_points_are_vectors_and_many_are_pixels(made):
    site = made.answers.site
    few, many = site.plot("waits", points=100), site.plot("waits")
    kinds = [figure.data[1].type for figure in (few, many)]
    assert kinds == ["scatter", "scattergl"]
    assert len(few.data[1].x) == 100
    assert len(many.data[1].x) == 600

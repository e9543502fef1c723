"""The site report: everything asked is answered, numbers are the library's, gaps are explained."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import onega
from cut_logs import BUSY_OF_ALL, hourly
from onega.core.machine.assumed import assumed_power
from onega.core.units import humanise_seconds
from onega.pages import Facts, Picture, to_html, to_markdown
from onega.queueing.sentences import percent
from onega.report.sections.load import _share_tables
from onega.report.sections.settings import _clock_tables
from onega.report.settings import SLOW, compare_settings

SECTIONS = ["short", "load", "people", "time", "capacity", "settings", "adequacy", "made"]


def test_the_page_answers_every_question(made):
    document = made.document()
    assert [section.anchor for section in document.sections] == SECTIONS
    names = [picture.name for picture in document.pictures()]
    assert len(set(names)) == len(names)
    wanted = {"machine-over-time", "queue", "usable", "policies", "waits", "power"}
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
    assert "### Rules, on this log" in text
    assert "### Rules, over 3 resamples of the log's weeks" in text
    assert "| rule | mean wait | its range | change from" in text
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
    assert "Users are not known:" in text
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
    per_work = {
        name: energy.of("window_energy", name) / energy.of("window_effective_load", name)
        for name in (always, "easy")
    }
    paired = 1 - per_work[always] / per_work["easy"]
    assert settings.saved(always).mean == pytest.approx(paired.mean())
    assert settings.later(always).mean > 0
    assert settings.assumed_power


def test_a_slow_clock_always_is_slower_by_its_rate(settings):
    full, slow = (settings.on_log[name] for name in (settings.clocks[0], settings.clocks[-1]))
    service = [(one.end - one.start).sum() for one in (full, slow)]
    assert service[1] == pytest.approx(service[0] / SLOW)
    watts = assumed_power(64)[0].busy[0]
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


def test_the_first_words_measure_the_window_and_warn():
    """One long last job: nine of ten processors are busy while jobs come, a third in all."""
    made = onega.site_report(hourly(), replicates=2, policies=("fcfs", "easy"))
    page = to_markdown(made.document())
    assert "The machine was 90 % busy" in page
    assert "1 January 2024 08:00 to 22 January 2024 00:00 (from when the machine had filled" in page
    assert "9 jobs of the log still ran at its last submission" in page
    found = made.summary()
    assert found["utilisation"] == pytest.approx(BUSY_OF_ALL)
    assert found["window_utilisation"] == pytest.approx(0.9)
    assert found["warnings"]
    whole = onega.site_report(hourly(), replicates=2, policies=("fcfs", "easy"), window="whole")
    assert "The machine was 31 % busy" in to_markdown(whole.document())


def test_observed_and_simulated_rows_are_of_the_same_jobs():
    log = hourly(days=30, long_last_job=False)
    some = log.with_columns(
        pl.when(pl.col("job") > 200).then(pl.col("wait")).alias("wait"), note="some waits"
    )
    found = compare_settings(some, onega.Cluster(10), ("fcfs", "easy"), n=2, rng=1)
    assert found.counted is not None
    assert found.counted.sum() == len(log) - 200
    waits = found.on_log["fcfs"].jobs["wait"].to_numpy()[found.counted]
    assert found.value("mean(wait)", "fcfs") == pytest.approx(waits.mean())


@pytest.mark.parametrize(
    ("procs", "nodes", "busy", "words"),
    [
        (80_000, None, 500 / 64, "nodes of 64 cores"),
        (80_000, 1000, 500 / 80, "1,000 nodes of 80 processors"),
        (100, None, 250.0, "nodes of 2 processors"),
    ],
)
def test_watts_are_assumed_by_the_node(procs, nodes, busy, words):
    """250 W for each of 80 000 cores would be 20 MW."""
    power, said = assumed_power(procs, nodes)
    assert power.busy[-1] == pytest.approx(busy)
    assert words in said
    given, said = assumed_power(procs, nodes, (1000.0, 400.0))
    assert given.busy[-1] == pytest.approx(2 * busy)
    assert said.startswith("as given: 1,000 W busy and 400 W idle per node")


def test_work_that_a_slow_clock_puts_off_is_not_saved():
    """A machine that is full throughout: at 80 % of the clock and 60 % of the watts, a quarter."""
    submit = np.arange(1000) * 2000.0
    jobs = {"submit": submit, "runtime": np.full(1000, 72_000.0), "procs": np.ones(1000, int)}
    log = onega.Workload(jobs).with_machine(10)
    power = onega.Power((300.0, 500.0), (0.0, 0.0))
    found = compare_settings(log, onega.Cluster(10), ("easy",), power=power, n=2, rng=1)
    assert found.saved_on_log(found.clocks[-1]) == pytest.approx(1 - 0.6 / SLOW)


# One quantity, one number; words for a director; nothing gained over reality.


def tables_of(made):
    return {table.title: table for table in made.document().tables()}


def test_the_logs_figures_and_those_of_resamples_stand_apart(made):
    """Each table is of one or of the other, and says which."""
    found, tables = made.answers.settings, tables_of(made)
    over = found.replicated
    for kind in ("Rules", "Clocks"):
        assert f"{kind}, on this log" in tables
        assert f"{kind}, over {over}" in tables
    alone = {row[0].split(" ")[0]: row for row in tables["Rules, on this log"].rows}
    many = {row[0].split(" ")[0]: row for row in tables[f"Rules, over {over}"].rows}
    assert "observed" not in many
    for name in found.policies:
        assert alone[name][1] == humanise_seconds(found.value("mean(wait)", name))
        assert "to" not in alone[name][1]  # no range of something else behind it
        wait = found.interval("mean(wait)", name)
        assert many[name][1] == humanise_seconds(wait.mean)
        assert wait.low <= wait.mean <= wait.high
    energy = tables["Clocks, on this log"].rows
    assert energy[1][2] == percent(found.saved_on_log(found.clocks[1]))


def test_the_first_screen_is_for_a_director(made):
    document = made.document()
    short = document.sections[0]
    said = document.title + document.subtitle
    for block in short.blocks:
        if isinstance(block, Facts):
            said += " ".join(f"{one.label} {one.value} {one.meaning}" for one in block.items)
        else:
            said += block.text
    assert "site.swf" not in said
    assert not re.search(r"ρ|λ|KS|p-value|Song|spf|fcfs|`|--", said)
    assert "first come, first served" in said
    assert "site.swf" in " ".join(document.sections[-1].blocks[0].items)


def test_a_log_that_names_its_machine_gives_the_title(log):
    named = onega.Workload(
        log.table, log.meta.noting("named", header=("Computer: IBM SP2", "Installation: KTH"))
    )
    made = onega.site_report(named, policies=("fcfs", "easy"), replicates=2)
    assert made.document().title == "IBM SP2, KTH"


def test_gains_are_against_the_simulated_present_rule_never_against_what_happened(log):
    """Users waited ten times as long as any simulation says: that is no gain of a policy."""
    waits = 10.0 * onega.simulate(log, 64, "easy").jobs["wait"].to_numpy() + 3600
    slow = onega.Workload(log.table.with_columns(wait=waits), log.meta)
    made = onega.site_report(slow, policies=("easy", "conservative"), replicates=3)
    flat = made.summary()
    assert flat["present_policy"] in ("easy", "conservative")
    assert flat["present_against_observed"] < 0.1
    verdict = made.document().sections[0].blocks[0].text
    assert "optimistic" in verdict
    found = made.answers.settings
    observed = made.answers.history.summary()["mean_wait"]
    gain = observed - found.value("mean(wait)", found.best)
    assert humanise_seconds(gain) not in to_markdown(made.document())
    chosen = onega.site_report(
        slow, policies=("easy", "conservative"), present="conservative", replicates=3
    )
    assert chosen.answers.settings.present == "conservative"
    assert "| conservative (present) |" in to_markdown(chosen.document())


def test_a_gain_that_may_be_chance_is_not_called_one(made):
    found = made.answers.settings
    for name in found.policies:
        gain = found.shorter(name)
        assert found.surely_better(name) == (gain.low > 0)
    short = made.document().sections[0].blocks[1]
    rule = next(one for one in short.items if one.label == "Another scheduling rule")
    assert rule.value.endswith("less") == (
        found.best != found.present and found.surely_better(found.best)
    )


def test_a_size_that_can_t_be_right_is_the_first_thing_said():
    made = onega.site_report(hourly(), cluster=4, replicates=2, policies=("fcfs", "easy"))
    page = to_markdown(made.document())
    first = page.index("4 processors can't be right, unless jobs shared processors")
    assert first < page.index("The machine was 225 % busy (more than there is)")
    assert made.summary()["size_warning"].startswith("4 processors can't be right")
    shares = [float(one) for one in re.findall(r"([\d.]+) % busy(?! \(more)", page)]
    assert all(one <= 100 for one in shares)
    right = onega.site_report(hourly(), replicates=2, policies=("fcfs", "easy"))
    assert right.summary()["size_warning"] is None


def test_a_rule_that_explains_nothing_does_not_stand_for_the_present_one(log):
    """Random waits: whichever rule is nearest is so by chance, and EASY is the usual one."""
    made = onega.site_report(log, policies=("spf+easy", "easy", "fcfs"), replicates=2)
    results = made.answers.site.results
    assert all(one.summary()["skill"] <= 0 for one in results.values())
    assert made.answers.settings.present == "easy"
    assert "stands for the present rule" in to_markdown(made.document())
    given = onega.site_report(log, policies=("easy", "fcfs"), present="fcfs", replicates=2)
    assert given.answers.settings.present == "fcfs"


def test_energy_and_what_is_saved_of_it_are_one_number(settings):
    """In the table of clocks, saved is what the energies beside it say."""
    table = next(_clock_tables(settings))
    energy = [float(row[1].split()[0].replace(",", "")) for row in table.rows]
    saved = [float(row[2].split()[0]) for row in table.rows[1:]]
    for value, share in zip(energy[1:], saved, strict=True):
        assert 100 * (1 - value / energy[0]) == pytest.approx(share, abs=0.6)


def test_no_room_is_left_where_the_filled_machine_is_asked_for_too_much():
    hour = 3600.0
    submit = np.concatenate([np.arange(3) * 24 * hour, 72 * hour + np.arange(500) * 0.24 * hour])
    columns = {"submit": submit, "runtime": np.full(503, hour), "procs": np.full(503, 2)}
    late = onega.Workload(columns).with_machine(8)
    made = onega.site_report(late, policies=("fcfs", "easy"), replicates=2)
    facts = [block for section in made.document().sections for block in section.blocks]
    room = [one for block in facts if isinstance(block, Facts) for one in block.items
            if one.label == "Room left under EASY"]  # fmt: skip
    assert room[0].value == "None"
    notes = to_markdown(made.document())
    assert "This log differs: the run times" in notes  # in one sentence, not a list of its own


def test_a_log_of_many_years_shows_its_last_months(make_log):
    few = make_log(jobs=300)
    submit = np.linspace(0, 40 * 30.5 * 86400, 300)
    long = few.with_columns(pl.Series("submit", submit), note="forty months")
    tables = list(_share_tables(SimpleNamespace(description=onega.describe(long))))
    months = next(table for table in tables if table.title == "By month")
    assert len(months.rows) == 24
    assert months.note.startswith("The last 24 of 4")
    assert months.rows[-1][-1] == "100.0 %"

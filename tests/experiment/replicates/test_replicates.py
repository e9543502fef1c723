"""Replicates: the same draws for all, reproducible, with honest intervals."""

from __future__ import annotations

import math
import pickle
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from experiment.workloads import Queue, log
from onega.core.errors import ExperimentError, SimulationError
from onega.experiment.planning.targets import Measure
from onega.experiment.replicates.draws import busy_processors, make_draws
from onega.experiment.replicates.replicates import percentile_interval
from onega.experiment.replicates.resampling import whole_weeks
from onega.experiment.replicates.runs import Case, Experiment, run_replicate
from onega.experiment.workers.workers import Threads

LOG = log()
quick = partial(onega.replicate, LOG, 64, replicates=6, rng=1)


def test_every_policy_gets_the_same_workloads():
    both = quick(["easy", "spf+easy"])
    for policy in ("easy", "spf+easy"):
        alone = quick(policy)
        assert np.array_equal(alone.values[:, 0], both.values[:, both._policy(policy)])


@pytest.mark.parametrize("resample", ["weeks", "users"])
def test_the_number_of_workers_changes_nothing(resample):
    one, two = (
        quick(["easy", "fcfs"], resample=resample, workers=Threads(count)) for count in (1, 3)
    )
    assert np.array_equal(one.values, two.values)


def test_a_replicate_can_be_made_alone():
    found = quick(["easy", "spf+easy"])
    draws = make_draws(LOG, rng=1)
    for policy in found.policies:
        again = onega.simulate(draws.workload(4), 64, policy).summary()
        assert found.of("mean(wait)", policy)[4] == again["mean_wait"]
        assert found.of("p95(wait)", policy)[4] == again["p95_wait"]


def test_everything_a_replicate_needs_can_be_sent_to_another_process():
    experiment = Experiment(
        make_draws(LOG, rng=1),
        (Case("easy", onega.Cluster(64), onega.Policy.parse("easy")),),
        (Measure.parse("mean(wait)"),),
    )
    sent = pickle.loads(pickle.dumps(experiment))
    assert np.array_equal(run_replicate(2, sent).values, run_replicate(2, experiment).values)


def test_more_replicates_begin_with_the_fewer():
    few, more = quick("easy"), onega.replicate(LOG, 64, "easy", replicates=9, rng=1)
    assert np.array_equal(few.values, more.values[:6])


def test_random_rate_control_is_drawn_alike_for_every_policy():
    control = onega.RateControl("random", rates=(0.5, 1.0), p_low=0.3, p_high=0.3)
    machine = onega.Cluster(64, control)
    found = onega.replicate(LOG, machine, ["fcfs", "easy"], replicates=3, rng=1)
    again = onega.replicate(LOG, machine, ["easy"], replicates=3, rng=1)
    assert np.array_equal(found.values[:, 1], again.values[:, 0])


def test_another_seed_gives_other_replicates():
    assert not np.array_equal(
        quick("easy").values, onega.replicate(LOG, 64, "easy", replicates=6, rng=2).values
    )


def test_the_machine_is_the_logs_own_by_default():
    assert np.array_equal(
        onega.replicate(LOG, policy="easy", replicates=6, rng=1).values, quick("easy").values
    )


def test_intervals_of_resamples_are_their_percentiles_and_of_draws_students():
    found = quick(["easy", "spf+easy"])
    values = found.of("mean(wait)", "easy")
    assert found.kind == "percentile"
    interval = found.interval("mean(wait)", "easy")
    assert interval == percentile_interval(values, drawn_from=found.drawn_from)
    assert interval.mean == values.mean()
    assert (interval.low, interval.high) == (values.min(), values.max())  # six tell no more
    student = found.interval("mean(wait)", "easy", kind="student")
    assert student == onega.mean_interval(values)
    drawn = onega.replicate(Queue(0.8, 1.0, 500), 1, replicates=5, rng=1)
    assert drawn.kind == "student"
    assert drawn.interval("mean(wait)") == onega.mean_interval(drawn.of("mean(wait)"))
    with pytest.raises(ExperimentError, match="unknown interval"):
        found.interval("mean(wait)", kind="normal")


def test_differences_are_paired():
    found = quick(["easy", "spf+easy"])
    apart = found.of("mean(wait)", "spf+easy") - found.of("mean(wait)", "easy")
    expected = onega.mean_interval(apart)
    assert found.difference("mean(wait)", "spf+easy", "easy", kind="student") == expected
    assert found.difference("mean(wait)", "spf+easy", kind="student") == expected
    against = found.difference("mean(wait)", "easy", "spf+easy", kind="student")
    assert against.mean == -expected.mean


def test_common_workloads_make_differences_surer():
    """The paired interval is narrower than that of independent draws would be."""
    found = onega.replicate(Queue(0.7, 1.0, 3000), 4, ["fcfs", "spf"], replicates=15, rng=1)
    paired = found.difference("mean(wait)", "spf", kind="student").half_width
    a, b = found.of("mean(wait)", "spf"), found.of("mean(wait)", "fcfs")
    apart = onega.mean_interval(a - np.roll(b, 1)).half_width
    assert paired < apart / 1.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60), st.floats(0.5, 0.99))
def test_percentile_intervals_hold_about_the_level(values, level):
    sample = np.array(values)
    interval = percentile_interval(sample, level=level)
    inside = np.mean((sample >= interval.low - 1e-9) & (sample <= interval.high + 1e-9))
    assert inside >= min(level, 1 - 2 / sample.size) - 2 / sample.size - 1e-9
    assert interval.low <= np.median(sample) + 1e-9
    assert interval.high >= np.median(sample) - 1e-9


def test_percentile_intervals_end_at_the_order_statistics_of_their_level():
    """Of 39 values the first and the last are the 95 % interval, of 199 the fifth from each end."""
    assert (
        percentile_interval(np.arange(39.0)).low,
        percentile_interval(np.arange(39.0)).high,
    ) == (
        pytest.approx(0.0),
        pytest.approx(38.0),
    )
    interval = percentile_interval(np.arange(199.0))
    assert (interval.low, interval.high) == (pytest.approx(4.0), pytest.approx(194.0))


def test_few_weeks_widen_the_interval_as_student_would():
    """Bootstrap means of m normal values: s·√((m−1)/m)/√m wide; the interval is x̄ ± t·s/√m."""
    few = 8
    sample = np.random.default_rng(1).normal(size=few)
    drawn = np.random.default_rng(2).normal(size=400_000)
    means = sample.mean() + drawn * sample.std(ddof=0) / np.sqrt(few)
    found = percentile_interval(means, drawn_from=few)
    student = onega.mean_interval(sample)
    assert found.low == pytest.approx(student.low, rel=0.02)
    assert found.high == pytest.approx(student.high, rel=0.02)
    assert percentile_interval(means).half_width < 0.8 * found.half_width


def test_resamples_know_what_they_were_drawn_from():
    weeks = onega.replicate(LOG, policy="easy", replicates=2, rng=1)
    assert weeks.drawn_from == whole_weeks(LOG)
    users = onega.replicate(LOG, policy="easy", replicates=2, rng=1, resample="users")
    assert users.drawn_from == LOG.table["user"].n_unique()
    drawn = onega.replicate(Queue(0.8, 1.0, 500), 1, replicates=2, rng=1)
    assert drawn.drawn_from is None
    assert not drawn.resampled


def test_results_can_be_had_as_tables_and_keys():
    found = quick(["easy", "spf+easy"])
    table = found.to_polars()
    assert table.height == 12
    assert (
        table.filter(pl.col("policy") == "spf+easy")["mean_wait"].to_list()
        == found.of("mean(wait)", "spf+easy").tolist()
    )
    assert found.table().height == 8
    assert found.summary()["spf+easy_mean_wait"] == found.interval("mean(wait)", "spf+easy").mean
    assert quick("easy").summary()["mean_wait_low"] == quick("easy").interval("mean(wait)").low
    assert "SeedSequence(1)" in found.provenance[0]
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.values, found.values)
    with pytest.raises(ValueError, match="read-only"):
        found.values[0, 0, 0] = 1


def test_what_was_not_run_or_measured_is_refused_by_name():
    found = quick("easy")
    with pytest.raises(ExperimentError, match=r"p50\(wait\) wasn't measured"):
        found.of("p50(wait)")
    with pytest.raises(ExperimentError, match="'spf' isn't among the policies"):
        found.of("mean(wait)", "spf")


# Sequential stopping.


def test_replicates_stop_when_the_interval_is_narrow_enough():
    source = Queue(0.5, 1.0, 400)
    found = onega.replicate(source, 1, replicates=1000, until="ci(mean(wait)) < 5%", rng=1)
    interval = found.interval("mean(wait)", kind="student")
    assert found.reached
    assert 10 < len(found) < 1000
    assert interval.half_width <= 0.05 * interval.mean
    # What it took is about what the variance says: z²·s²/(0.05·x̄)².
    values = found.of("mean(wait)")
    needed = (1.96 * values.std(ddof=1) / (0.05 * values.mean())) ** 2
    assert 0.5 * needed < len(found) < 2 * needed + 10
    again = onega.replicate(
        source, 1, replicates=1000, until="ci(mean(wait)) < 5%", rng=1, workers=Threads(1)
    )
    assert np.array_equal(again.values, found.values)


def test_replicates_stop_at_the_most_and_say_that_it_did_not_suffice():
    found = onega.replicate(
        Queue(0.9, 1.0, 300), 1, replicates=15, until="ci(mean(wait))<0.1%", rng=1
    )
    assert found.reached is False
    assert len(found) == 15


def test_every_precision_and_policy_counts():
    wanted = ["ci(mean(wait))<10%", "ci(utilisation)<1%"]
    one = onega.replicate(LOG, 64, "easy", replicates=400, until=wanted[0], rng=1)
    both = onega.replicate(LOG, 64, ["easy", "fcfs"], replicates=400, until=wanted, rng=1)
    assert 10 < len(one) <= len(both) < 400
    for policy in both.policies:
        interval = both.interval("mean(wait)", policy, kind="student")
        assert interval.half_width <= 0.1 * interval.mean
        assert both.interval("utilisation", policy, kind="student").half_width <= 0.01


def test_a_measure_that_never_varies_is_known_at_once():
    idle = onega.replicate(
        Queue(0.01, 1.0, 50), 50, replicates=100, until="ci(mean(wait))<1%", rng=1
    )
    assert len(idle) == 10
    assert idle.reached


# Warm-up.


def test_the_warm_up_is_reported_and_the_same_for_all_policies():
    found = quick(["fcfs", "easy"], warmup="mser5")
    alone = [quick(policy, warmup="mser5").warmup.jobs for policy in ("fcfs", "easy")]
    assert found.warmup.jobs == max(alone)
    assert found.removed == (found.warmup.jobs,) * 6
    assert found.summary()["warmup"] == "mser5"
    assert found.summary()["warmup_jobs"] == found.warmup.jobs
    assert found.summary()["settled"] == found.warmup.settled


def test_a_machine_that_can_not_keep_up_never_settles():
    found = onega.replicate(Queue(2.0, 1.0, 2000), 1, replicates=10, warmup="mser5", rng=1)
    assert not found.warmup.settled
    assert found.removed == (1000,) * 10


def test_jobs_of_the_warm_up_do_not_count():
    found = quick("easy", warmup="1w")
    draws = make_draws(LOG, rng=1)
    schedule = onega.simulate(draws.workload(0), 64, "easy")
    late = schedule.jobs.filter(pl.col("submit") >= pl.col("submit").min() + 604_800)
    assert found.of("mean(wait)")[0] == pytest.approx(late["wait"].mean(), rel=1e-12)
    assert found.removed[0] == len(schedule) - late.height
    assert quick("easy").removed == (0,) * 6


# Sources.


def test_a_model_is_a_source():
    model = onega.models.Lublin(machine=64)
    found = onega.replicate(model, policy="easy", replicates=3, jobs=300, rng=1)
    assert found.kind == "student"
    draws = make_draws(model, jobs=300, rng=1)
    again = onega.simulate(draws.workload(2), 64, "easy").summary()
    assert found.of("mean(wait)")[2] == again["mean_wait"]


def test_load_multiplies_any_sources_own():
    model = onega.models.Lublin(machine=64)
    for draws in (
        make_draws(model, jobs=2000, rng=1),
        make_draws(Queue(0.5, 1.0, 500), rng=1),
        make_draws(LOG, rng=1),
        make_draws(LOG, resample="none", rng=1),
    ):
        once, half = draws.workload(0), draws.workload(0, 0.5)
        assert busy_processors(half) == pytest.approx(0.5 * busy_processors(once), rel=0.01)
        assert half.table["runtime"].to_list() == once.table["runtime"].to_list()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"replicates": 1}, "at least 2"),
        ({"replicates": 2.5}, "at least 2"),
        ({"replicates": True}, "at least 2"),
        ({"policy": []}, "at least one policy"),
        ({"policy": ["easy", "fcfs+easy"]}, r"given twice: fcfs\+easy"),
        ({"measures": []}, "at least one measure"),
        ({"measures": ["speed"]}, "not a measure"),
        ({"until": "soon"}, "not a precision"),
        ({"resample": "days"}, "accepted: weeks, users, none"),
        ({"jobs": 100}, "jobs= is for models"),
        ({"warmup": "some"}, "unknown warm-up"),
    ],
)
def test_wrong_arguments_are_refused(arguments, hint):
    with pytest.raises(ExperimentError, match=hint):
        onega.replicate(LOG, 64, **{"policy": "easy", "rng": 1, **arguments})


def test_wrong_sources_are_refused():
    with pytest.raises(ExperimentError, match="jobs=…"):
        onega.replicate(onega.models.Lublin(), policy="easy")
    with pytest.raises(ExperimentError, match="come from a Workload"):
        onega.replicate(42, 64)
    with pytest.raises(ExperimentError, match="how many processors"):
        onega.replicate(Queue(0.5, 1.0, 50))
    with pytest.raises(SimulationError, match="wider than the machine"):
        onega.replicate(LOG, 2, replicates=2)


@pytest.mark.parametrize("kind", ["intervals", "differences"])
def test_figures_show_every_policy_and_measure(kind):
    found = quick(["easy", "spf+easy"])
    figure = found.plot(kind)
    titles = [figure.layout[name].title.text for name in figure.layout if name.startswith("xaxis")]
    assert any("mean wait" in title for title in titles)
    assert len([name for name in titles if name]) == 4
    shown = {label for trace in figure.data for label in trace.y}
    assert shown == set(found.policies if kind == "intervals" else found.policies[1:])


def test_figures_of_far_values_are_logarithmic():
    found = onega.replicate(
        LOG, 32, ["fcfs", "spf+easy"], measures=["median(wait)"], replicates=4, rng=1
    )
    values = found.values
    assert values.max() > 30 * values.min() > 0
    assert found.plot().layout.xaxis.type == "log"
    assert math.isfinite(float(found.plot().data[-1].x[0]))

"""Measures, targets and precisions in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from experiment.workloads import log
from onega.core.errors import ExperimentError
from onega.experiment.planning.targets import (
    JOB_UNITS,
    RUN_UNITS,
    Measure,
    Precision,
    Target,
    mean_workload,
    parse_targets,
)

SCHEDULE = onega.simulate(log(), onega.Cluster(64, power=onega.Power(250, 90)), "easy")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("mean(wait)", "mean(wait)"),
        (" Mean ( WAIT ) ", "mean(wait)"),
        ("p95(wait)", "p95(wait)"),
        ("p99.9(response)", "p99.9(response)"),
        ("median(slowdown)", "median(slowdown)"),
        ("max(bounded_slowdown)", "max(bounded_slowdown)"),
        ("share(wait>3600)", "share(wait>1h)"),
        ("share(bounded_slowdown > 10)", "share(bounded_slowdown>10)"),
        ("utilisation", "utilisation"),
        ("mean_power", "mean_power"),
    ],
)
def test_measures_are_read_and_written(text, canonical):
    measure = Measure.parse(text)
    assert str(measure) == canonical
    assert Measure.parse(canonical) == measure
    assert Measure.parse(measure) is measure


@given(
    st.sampled_from(["mean", "median", "min", "max", "p50", "p95", "p99.9", "p0.1"]),
    st.sampled_from(sorted(JOB_UNITS)),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.integers(1, 10**7),
)
def test_what_is_written_can_be_read_again(statistic, column, sign, limit):
    target = Target.parse(f"{statistic}({column}) {sign} {limit}")
    assert Target.parse(str(target)) == target
    assert target.limit == limit


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("p95(wait)<1h", 3600),
        ("p95(wait) ≤ 1h30m", 5400),
        ("mean(wait)<2d", 172800),
        ("mean(wait)<90", 90),
        ("utilisation>70%", 0.7),
        ("utilisation>0.7", 0.7),
        ("share(wait>10m)<5%", 0.05),
        ("mean(bounded_slowdown)<10", 10),
        ("mean_power<2000", 2000),
    ],
)
def test_limits_take_units(text, limit):
    assert Target.parse(text).limit == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("p95(weit)<1h", "did you mean 'wait'"),
        ("p95(wait)", "not a target"),
        ("p95(wait)=1h", "not a target"),
        ("p95(wait)<soon", "isn't a time"),
        ("p95(wait)<", "not a target"),
        ("", "not a target"),
        ("p100(wait)<1h", "between p0 and p100"),
        ("p0(wait)<1h", "between p0 and p100"),
        ("avg(wait)<1h", "unknown statistic 'avg'"),
        ("wait<1h", "mean(wait)"),
        ("utilization>70%", "not a measure"),
        ("utilisation>seventy", "isn't a share"),
        ("share(wait)<5%", "needs a limit"),
        ("share(wait<1h)<5%", "needs a limit"),
        ("share(weit>1h)<5%", "no job measure 'weit'"),
        ("mean(bounded_slowdown)<10%", "isn't a number"),
        ("mean(wait)<inf", "finite"),
        ("p95(wait)<1h<2h", "not a measure"),
    ],
)
def test_wrong_targets_are_refused_with_a_pointer(text, hint):
    with pytest.raises(ExperimentError) as error:
        Target.parse(text)
    assert hint in str(error.value)
    assert "\n" not in str(error.value)


def test_every_measure_of_a_run_is_a_number_of_the_schedule():
    summary = SCHEDULE.summary()
    for name in RUN_UNITS:
        value = Measure.parse(name).evaluate(SCHEDULE)
        if name != "mean_workload":
            assert value == summary[name]


def test_statistics_are_those_of_the_jobs():
    wait = SCHEDULE.jobs["wait"].to_numpy()
    for text, expected in (
        ("mean(wait)", wait.mean()),
        ("median(wait)", np.median(wait)),
        ("min(wait)", wait.min()),
        ("max(wait)", wait.max()),
        ("p95(wait)", np.quantile(wait, 0.95)),
        ("share(wait>10m)", np.mean(wait > 600)),
    ):
        assert Measure.parse(text).evaluate(SCHEDULE) == expected
    summary = SCHEDULE.summary()
    assert Measure.parse("p95(wait)").evaluate(SCHEDULE) == summary["p95_wait"]
    keep = wait > np.median(wait)
    assert Measure.parse("mean(wait)").evaluate(SCHEDULE, keep) == wait[keep].mean()


def test_the_mean_remaining_work_is_each_jobs_own_integral():
    """∫W = Σ work·wait + work²/2 at rate 1."""
    jobs = SCHEDULE.jobs
    total = (jobs["work"] * jobs["wait"] + jobs["work"] ** 2 / 2).sum()
    expected = total / SCHEDULE.summary()["makespan"]
    assert mean_workload(SCHEDULE) == pytest.approx(expected, rel=1e-9)


def test_power_that_was_not_given_is_asked_for():
    plain = onega.simulate(log(), 64, "easy")
    for text in ("mean_power", "energy", "mean(energy)"):
        with pytest.raises(ExperimentError, match="power="):
            Measure.parse(text).evaluate(plain)


def test_targets_hold_and_say_by_how_much_they_are_missed():
    upper, lower = Target.parse("mean(wait)<100"), Target.parse("utilisation>=50%")
    assert upper.holds([99.0, 100.0, 101.0]).tolist() == [True, False, False]
    assert lower.holds([0.49, 0.5]).tolist() == [False, True]
    assert upper.excess(150) == 0.5
    assert lower.excess(0.25) == 0.5
    assert upper.excess(50) < 0
    assert Target.parse("mean(wait)<0").excess(3) == 3


def test_several_targets_or_none():
    assert len(parse_targets(["p95(wait)<1h", "utilisation>50%"])) == 2
    assert parse_targets("p95(wait)<1h") == parse_targets(["p95(wait)<1h"])
    with pytest.raises(ExperimentError, match="needs a target"):
        parse_targets([])


def test_precisions_are_relative_or_absolute():
    relative, absolute = (
        Precision.parse("ci(mean(wait)) < 5%"),
        Precision.parse("ci(p95(wait))<10m"),
    )
    assert (relative.width, relative.relative) == (0.05, True)
    assert (absolute.width, absolute.relative) == (600.0, False)
    assert relative.ratio(100.0, 10.0) == 2.0
    assert absolute.ratio(100.0, 300.0) == 0.5
    assert relative.ratio(0.0, 1.0) == math.inf
    assert relative.ratio(0.0, 0.0) == 0.0
    # Of a share, per cent are its own unit.
    share = Precision.parse("ci(utilisation)<1%")
    assert (share.width, share.relative) == (0.01, False)
    for one in (relative, absolute, share):
        assert Precision.parse(str(one)) == one


@pytest.mark.parametrize("text", ["mean(wait)<5%", "ci(mean(wait))>5%", "ci(mean(wait))<0%", "ci"])
def test_wrong_precisions_are_refused(text):
    with pytest.raises(ExperimentError):
        Precision.parse(text)


def test_values_are_shown_with_their_units():
    assert Measure.parse("mean(wait)").show(7200) == "2 h"
    assert Measure.parse("utilisation").show(0.5) == "50 %"
    assert Measure.parse("mean_power").show(20150.0) == "20.15 kW"
    assert Measure.parse("energy").show(1.5e9) == "416.7 kWh"
    assert Measure.parse("mean(bounded_slowdown)").show(12.3456) == "12.35"
    assert Measure.parse("mean(wait)").show(math.nan) == "–"


def test_keys_are_those_of_a_summary():
    summary = SCHEDULE.summary()
    for text in ("mean(wait)", "p95(wait)", "max(wait)", "mean(bounded_slowdown)", "utilisation"):
        assert Measure.parse(text).key in summary
    assert Measure.parse("share(wait>1h)").key == "share_wait_over_1h"

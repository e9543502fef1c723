"""The measure: known values, preconditions, invariances, the naive twin, real runs of Slurm."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.comparison.adequacy.adequacy import table_sizes
from places import shared
from reference.adequacy import measure as naive


def log(wait, *, runtime=10.0, submit=None, procs=1, estimate=60.0, job=None):
    n = len(wait)
    columns = {
        "submit": np.arange(n, dtype=float) if submit is None else submit,
        "runtime": np.broadcast_to(np.asarray(runtime, dtype=float), n),
        "procs": np.broadcast_to(procs, n),
        "wait": np.asarray(wait, dtype=float),
    }
    if estimate is not None:
        columns["estimate"] = np.broadcast_to(np.asarray(estimate, dtype=float), n)
    if job is not None:
        columns["job"] = job
    return onega.Workload(columns)


def test_hand_made_stream():
    """Differences 3, 4 and 0: E = 5, P = 5/√3, two jobs wait for another time."""
    result = onega.adequacy(log([0, 10, 5]), log([3, 14, 5]))
    assert (result.defined, result.reason, result.jobs) == (True, None, 3)
    assert result.E == 5.0
    assert result.P == 5 / math.sqrt(3)
    assert result.different == 2
    near = [onega.adequacy(log([0, 10, 5]), log([3, 14, 5]), same_within=t) for t in (2, 3, 4)]
    assert [one.different for one in near] == [2, 1, 0]


def test_residence_is_wait_plus_processing():
    """A job that waits 2 s more and runs 2 s less stays as long: P = 0, but another wait."""
    result = onega.adequacy(log([1, 1], runtime=[10, 10]), log([3, 1], runtime=[8, 10]))
    assert result.P == 0
    assert result.different == 1
    only_running = onega.adequacy(log([1], runtime=10), log([1], runtime=14))
    assert (only_running.P, only_running.different) == (4.0, 0)


def test_a_schedule_is_at_no_distance_from_itself():
    one = log([0, 3.5, 1e6])
    result = onega.adequacy(one, one)
    assert (result.E, result.P, result.different) == (0, 0, 0)
    assert result.sources().width["share"].to_list() == [0.0]
    figures = result.summary()
    assert math.isnan(figures["worst10_share"])


def test_one_late_job_counts_by_the_root_of_the_stream():
    """E doesn't know how long the stream is; P does (why the paper normalises)."""
    for n in (1, 100, 10_000):
        result = onega.adequacy(log(np.zeros(n)), log(np.r_[100.0, np.zeros(n - 1)]))
        assert result.E == 100
        assert result.P == pytest.approx(100 / math.sqrt(n), rel=1e-14)


@pytest.mark.parametrize(
    ("changes", "words", "job"),
    [
        ({"wait": [0, 0]}, "the numbers of jobs differ", 3),
        ({"submit": [0, 1, 2.5]}, "submit times differ", 3),
        ({"procs": [1, 2, 1]}, "widths differ", 2),
        ({"estimate": [60, 60, 61]}, "requested times differ", 3),
        ({"estimate": None}, "requested times differ", 1),
    ],
)
def test_preconditions_are_refused_with_reason_and_first_job(changes, words, job):
    result = onega.adequacy(log([0, 0, 0]), log(**({"wait": [0, 0, 0]} | changes)))
    assert not result.defined
    assert words in result.reason
    assert result.mismatch.job == job
    assert f"job {job}" in result.reason
    assert math.isnan(result.P)
    assert math.isnan(result.E)
    assert result.adequate is None
    assert result.prefixes() == ()
    figures = result.summary()
    assert (figures["defined"], figures["jobs"], figures["different"]) == (False, 0, 0)
    assert figures["job_at_fault"] == job
    assert result.to_polars().is_empty()
    with pytest.raises(ValueError, match="undefined"):
        result.sources()


def test_the_first_at_fault_is_the_first_submitted_not_the_first_row():
    real = log([0, 0, 0], submit=[5, 3, 4], job=[1, 2, 3])
    model = log([0, 0, 0], submit=[5, 3, 4], job=[1, 2, 3], procs=[2, 2, 2])
    result = onega.adequacy(real, model)
    assert result.mismatch.job == 2
    assert result.mismatch.count == 3


def test_numbers_of_jobs_without_common_ids_name_no_job():
    result = onega.adequacy(log([0, 0, 0], job=[7, 8, 9]), log([0, 0], job=[1, 2]))
    assert result.mismatch.job is None
    assert "3 in reality, 2 in the model" in result.reason


def test_requested_times_missing_on_both_sides_agree():
    assert onega.adequacy(log([0, 1], estimate=None), log([0, 2], estimate=None)).defined


def test_submit_times_may_differ_by_a_tolerance():
    real, model = log([0, 0], submit=[0, 10]), log([0, 0], submit=[0.4, 10.4])
    assert not onega.adequacy(real, model).defined
    result = onega.adequacy(real, model, tolerance=0.5)
    assert result.defined
    # Each side's residence times are counted from its own submissions.
    assert result.P == pytest.approx(0, abs=1e-12)


def test_epochs_are_brought_together():
    real, model = log([5, 5]), log([5, 7], submit=[100, 101])
    real = onega.Workload(real.table, onega.Meta(epoch=1_000_100))
    model = onega.Workload(model.table, onega.Meta(epoch=1_000_000))
    assert onega.adequacy(real, model).P == pytest.approx(math.sqrt(2))


@st.composite
def streams(draw):
    n = draw(st.integers(1, 12))
    number = st.integers(0, 20)
    real, model = [], []
    for job in range(n):
        submit, width = draw(st.integers(0, 6)), draw(st.integers(1, 3))
        requested = draw(st.one_of(st.none(), st.integers(1, 2)))
        for side in (real, model):
            start = submit + draw(number)
            side.append((job, submit, width, requested, start, start + 1 + draw(number)))
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(1, 3))
        row = list(model[draw(st.integers(0, n - 1))])
        row[place] = (row[place] or 0) + 1
        model[row[0]] = tuple(row)
    if draw(st.integers(0, 5)) == 0:
        model.pop()
    return draw(st.permutations(real)), draw(st.permutations(model))


def workload(rows):
    names = ("job", "submit", "procs", "estimate", "start", "end")
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row")
    return onega.Workload(
        table.select(
            "job",
            "submit",
            "procs",
            "estimate",
            (pl.col("start") - pl.col("submit")).alias("wait"),
            (pl.col("end") - pl.col("start")).alias("runtime"),
        )
    )


@settings(max_examples=150, deadline=None)
@given(streams())
def test_agrees_with_the_naive_twin_whatever_the_order_of_rows(sides):
    real, model = sides
    if not model:
        return
    expected = naive(real, model)
    result = onega.adequacy(workload(real), workload(model))
    if isinstance(expected, str):
        assert expected in result.reason
    else:
        assert (result.E, result.P) == pytest.approx(expected[:2], rel=1e-12)
        assert result.different == expected[2]


def test_rows_of_unlike_ids_are_paired_by_submission():
    real = log([0, 1, 2], submit=[0, 5, 9], job=[1, 2, 3])
    model = log([2, 0, 1], submit=[9, 0, 5], job=[33, 11, 22])
    assert onega.adequacy(real, model).P == 0


@pytest.mark.parametrize(
    ("jobs", "sizes"),
    [
        (7, (7,)),
        (50, (50,)),
        (1000, (50, 100, 250, 500, 750, 1000)),
        (12_000, (50, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000, 12_000)),
    ],
)
def test_prefixes_are_those_of_table_1(jobs, sizes):
    assert table_sizes(jobs) == sizes


def test_each_prefix_is_the_measure_of_the_first_jobs():
    rng = np.random.default_rng(4)
    real, model = log(rng.exponential(50, 300)), log(rng.exponential(50, 300))
    result = onega.adequacy(real, model)
    for row in result.prefixes():
        part = onega.adequacy(real.head(row.jobs), model.head(row.jobs))
        assert (row.E, row.P) == pytest.approx((part.E, part.P), rel=1e-12)
        assert row.different == part.different
    assert result.prefixes([3])[0].jobs == 3
    with pytest.raises(ValueError, match="1 to 300"):
        result.prefixes([301])


@pytest.mark.parametrize(("reference", "verdict"), [(None, None), (4.9, False), (5.0, True)])
def test_verdict_against_the_reference(reference, verdict):
    result = onega.adequacy(log([0, 0]), log([5, 5]), reference=reference)
    assert result.adequate is verdict
    assert result.summary()["reference"] == reference


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_reference_is_a_number_of_seconds(wrong):
    with pytest.raises(ValueError, match="seconds"):
        onega.adequacy(log([0]), log([0]), reference=wrong)


def test_baseline_is_the_spread_of_waits_within_width_classes():
    """Widths 1 (waits 0, 10: mean 5) and 4 to 7 (waits 100, 100): √((25+25+0+0)/4)."""
    real = log([0, 10, 100, 100], procs=[1, 1, 4, 7])
    result = onega.adequacy(real, real)
    assert result.baseline == pytest.approx(math.sqrt(50 / 4))
    good = onega.adequacy(real, log([0, 10, 100, 101], procs=[1, 1, 4, 7]))
    assert good.summary()["skill"] == pytest.approx(1 - 0.25 / 12.5)
    assert good.summary()["skill_reason"] is None


def test_equal_waits_leave_no_skill():
    """A third of a second: the mean of three isn't it to the bit."""
    real = log([1 / 3] * 3 + [7.0] * 2, procs=[1, 1, 1, 4, 4])
    figures = onega.adequacy(real, log([1, 2, 3, 4, 5], procs=[1, 1, 1, 4, 4])).summary()
    assert math.isnan(figures["skill"])
    assert figures["skill_reason"].startswith("jobs of like widths all waited the same")


def test_sources_add_up_and_name_the_culprit():
    rng = np.random.default_rng(8)
    wait = rng.exponential(100, 400)
    late = wait.copy()
    late[123] += 10_000
    submit = np.sort(rng.integers(0, 86400, 400)).astype(float)
    procs = rng.integers(1, 65, 400)
    real, model = (log(w, submit=submit, procs=procs) for w in (wait, late + 0.01))
    result = onega.adequacy(real, model)
    found = result.sources()
    assert found.worst["job"][0] == 124
    assert found.worst.height == 10
    for table in (found.width, found.wait, found.hour):
        assert table["share"].sum() == pytest.approx(1)
        assert table["jobs"].sum() == 400
        hit = table.sort("share")[-1]
        assert hit["share"][0] > 0.99
    assert found.width.sort("share")["width_from"][-1] == 2 ** int(math.log2(procs[123]))
    assert found.hour.sort("share")["hour"][-1] == submit[123] // 3600
    figures = result.summary()
    assert figures["worst10_share"] > 0.99
    assert figures["P_without_worst10"] == pytest.approx(0.01)
    assert figures["median_difference"] == pytest.approx(0.01)


def test_beside_the_measure():
    result = onega.adequacy(log([0, 10, 20]), log([20, 0, 10]))
    figures = result.summary()
    assert figures["mean_wait_error"] == 0
    # The same waits in another order: no distribution sees it, P does.
    assert (figures["ks_wait"], figures["wait_distribution_error"]) == (0, 0)
    assert result.P == pytest.approx(math.sqrt((400 + 100 + 100) / 3))
    assert figures["wait_correlation"] == pytest.approx(-0.5)


def test_a_simulated_schedule_against_an_observed_one():
    """Two jobs of the whole machine: the second waits for the first, 10 s, in both."""
    jobs = onega.Workload({"submit": [0, 0], "runtime": [10, 10], "procs": [4, 4], "wait": [0, 12]})
    result = onega.adequacy(onega.Schedule.observed(jobs), onega.simulate(jobs, 4, "easy"))
    assert result.differences.tolist() == [0, -2]
    assert result.names[1] == "fcfs+easy"


def test_jobs_that_never_ran_are_reported():
    one = log([0, 1])
    broken = one.with_columns(pl.Series("wait", [None, 1.0]), note="no wait")
    result = onega.adequacy(broken, one)
    assert not result.defined
    assert result.mismatch.job == 1
    assert result.report.dropped == 1


def test_other_things_are_refused():
    with pytest.raises(onega.SimulationError, match="two schedules or logs"):
        onega.adequacy(log([0]), [1, 2])


RUNS = {
    "heavy": (("e100a", "e100b", "e100c", "e100d"), 114.3, 347.3),
    "stock": (("st100a", "st100b"), 355.2, 355.2),
    "low": (("lo100a", "lo100b"), 1.6, 1.7),
}


def slurm_run(name, stream):
    """A run of the real Slurm as a log: submissions are the stream's own instants."""
    run = pl.read_csv(shared("slurm", f"slurm-{name}.csv"))
    jobs = pl.read_csv(shared("slurm", f"stream-{stream}.csv"))
    return onega.Workload(
        {
            "job": jobs["id"],
            "submit": jobs["offset"].cast(pl.Float64),
            "procs": jobs["width"],
            "estimate": 60.0 * jobs["limit"],
            "runtime": run["end"] - run["start"],
            "wait": run["start"] - jobs["offset"],
        }
    )


@pytest.mark.parametrize("kind", RUNS)
def test_slurm_against_itself(kind):
    names, least, most = RUNS[kind]
    runs = [slurm_run(name, "low" if kind == "low" else "heavy") for name in names]
    found = [onega.adequacy(a, b).P for a, b in itertools.combinations(runs, 2)]
    assert min(found) == pytest.approx(least, abs=0.1)
    assert max(found) == pytest.approx(most, abs=0.1)


def test_figures_are_drawn():
    rng = np.random.default_rng(0)
    result = onega.adequacy(log(rng.exponential(9, 200)), log(rng.exponential(9, 200)), reference=5)
    assert result.figure_kinds() == ("along", "waits", "distribution", "sources")
    for kind in result.figure_kinds():
        assert len(result.plot(kind).data) >= 1
    curve = result.plot("along").data[0]
    assert curve.y[-1] == pytest.approx(result.P)
    assert json.loads(json.dumps(result.summary()["prefixes"]))[-1]["jobs"] == 200

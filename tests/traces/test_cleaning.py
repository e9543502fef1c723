"""The cleaning rules: what each does, that it says so, and that it can be turned off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from onega import Meta, Workload
from onega.traces.cleaning import RULES, Flurries
from reference import naive_clean


def workload(machine=None, **columns):
    n = len(next(iter(columns.values())))
    base = {"submit": list(range(n)), "runtime": [10.0] * n, "procs": [1] * n}
    return Workload({**base, **columns}, Meta(procs=machine))


small = st.integers(0, 5)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "job": st.integers(1, 6),
            "submit": small.map(float),
            "runtime": st.none() | st.integers(-1, 3).map(float),
            "procs": st.none() | st.integers(-1, 9),
            "user": st.none() | st.integers(1, 2),
            "status": st.none() | st.sampled_from(["cancelled", "completed"]),
        }
    ),
    min_size=1,
    max_size=14,
)


def made(some, procs=None):
    return Workload({name: [row[name] for row in some] for name in some[0]}, Meta(procs=procs))


@given(rows, st.none() | st.integers(1, 8))
def test_like_the_naive_rules(some, procs):
    cleaned, report = onega.clean(made(some, procs))
    found = cleaned.table.select(some[0].keys()).to_dicts()
    assert found == naive_clean.clean(some, procs)
    assert len(some) - len(cleaned) == report.dropped
    again, nothing = onega.clean(cleaned)
    assert again == cleaned
    assert not nothing


@given(rows, st.integers(2, 5), st.sampled_from([0.5, 1.0, 2.5, 10.0]))
def test_flurries_like_the_naive_rule(some, jobs, window):
    log = made(some)
    skip = list(RULES)
    cleaned, report = onega.clean(log, skip=skip, flurries=Flurries(jobs, window))
    expected = naive_clean.flooded(some, jobs, window)
    assert report.count("flurries") == len(expected)
    kept = [row for number, row in enumerate(some) if number not in expected]
    assert cleaned.table.select(some[0].keys()).to_dicts() == kept


CASES = {
    "duplicate_ids": ({"job": [1, 1]}, 1),
    "cancelled_before_start": ({"status": ["cancelled", None], "runtime": [None, 5.0]}, 1),
    "missing_width": ({"procs": [None, 0, -3, 5]}, 3),
    "missing_runtime": ({"runtime": [None, 0.0, -1.0, 2.0]}, 3),
    "too_wide": ({"procs": [8, 9, 100]}, 2),
    "unsorted": ({"submit": [5.0, 3.0, 4.0]}, 1),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_reports_and_can_be_turned_off(rule):
    columns, count = CASES[rule]
    log = workload(machine=8, **columns)
    cleaned, report = onega.clean(log)
    assert report.summary() == {rule: count}
    finding = report.findings[0]
    assert len(finding.examples) == min(count, 5)
    assert "job" in finding.examples[0]
    assert rule in cleaned.meta.provenance[-1]
    untouched, nothing = onega.clean(log, skip=[rule, "missing_runtime"])
    assert not nothing
    assert untouched == log


def test_rows_of_an_id_of_several_jobs_are_all_jobs():
    log = Workload({"job": [4, 4, 4], "submit": [0, 0, 7], "runtime": [1] * 3, "procs": [1] * 3})
    cleaned, report = onega.clean(log)
    assert cleaned.table["job"].to_list() == [4, 5, 6]
    assert [(f.action, f.count) for f in report] == [("changed", 2)]


def test_a_row_is_counted_once():
    log = workload(status=["cancelled", None], runtime=[None, 1.0], procs=[None, 1])
    _, report = onega.clean(log)
    assert report.summary() == {"cancelled_before_start": 1}


def test_unknown_machine_keeps_wide_jobs():
    assert not onega.clean(workload(procs=[10**9, 1]))[1]


def test_unknown_rule():
    with pytest.raises(ValueError, match="did you mean 'too_wide'"):
        onega.clean(workload(procs=[1]), skip=["to_wide"])


def test_jitter_needs_rng():
    with pytest.raises(ValueError, match="rng="):
        onega.clean(workload(procs=[1]), jitter=True)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
    st.sampled_from([1.0, 0.25]),
    st.integers(0, 9),
)
def test_jitter_keeps_the_order_and_the_second(times, step, seed):
    log = workload(submit=[step * time for time in times])
    before = log.sorted()
    after, report = onega.clean(log, jitter=True, rng=seed)
    assert after.table["job"].to_list() == before.table["job"].to_list()
    moved = after.table["submit"].to_numpy() - before.table["submit"].to_numpy()
    assert (moved >= 0).all()
    assert (moved < 1).all()
    assert (np.diff(after.table["submit"].to_numpy()) > 0).all()
    ties = len(times) - len(set(times))
    assert report.count("jitter") == ties
    assert np.count_nonzero(moved) == ties
    assert onega.clean(log, jitter=True, rng=seed)[0] == after


def test_jitter_is_uniform():
    # 2000 pairs: the later of the two is moved by the larger of two uniforms, mean 2/3,
    # standard deviation sqrt(1/18); |z| < 4 fails once in 16 000 seeds, and the seed is fixed.
    n = 2000
    log = workload(submit=np.repeat(np.arange(n) * 5.0, 2))
    after, _ = onega.clean(log, jitter=True, rng=11)
    moved = (after.table["submit"] - log.table["submit"]).to_numpy()[1::2]
    assert abs(moved.mean() - 2 / 3) < 4 * np.sqrt(1 / 18 / n)


def test_flurries_say_whose():
    log = workload(user=[7] * 5 + [8] * 2, submit=[0, 1, 2, 3, 4, 0, 1])
    cleaned, report = onega.clean(log, flurries=Flurries(jobs=4, window=10))
    assert len(cleaned) == 2
    assert "users 7" in str(report)


@pytest.mark.parametrize(("jobs", "window"), [(1, 10), (5, 0), (5, float("nan"))])
def test_flurries_are_checked(jobs, window):
    with pytest.raises(ValueError, match="flurry"):
        Flurries(jobs, window)


def test_default_flurries_leave_the_cleaned_logs_alone(shared):
    for name in ("KTH-SP2-1996-2.1-cln.swf.gz", "SDSC-SP2-1998-4.2-cln.swf.gz"):
        log = onega.read(shared("traces", name))
        assert not onega.clean(log, flurries=True)[1].count("flurries")


def test_kth_and_sdsc(shared):
    _, report = onega.clean(onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz")))
    assert report.summary() == {"missing_width": 1, "missing_runtime": 8}
    _, report = onega.clean(onega.read(shared("traces", "SDSC-SP2-1998-4.2-cln.swf.gz")))
    assert report.summary() == {"cancelled_before_start": 5681}

"""The job table: what it accepts, what its verbs do, that it doesn't change."""

import math
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onega import Meta, TraceError, Workload
from onega.core.workload.schema import JOB_TABLE, STATUSES, SWF_STATUS_CODES


def make(submit, meta=None, **columns):
    n = len(submit)
    base = {"submit": submit, "runtime": [10.0] * n, "procs": [2] * n}
    return Workload({**base, **columns}, meta)


class TestConstruction:
    def test_columns_are_completed_and_ordered(self):
        table = make([0, 5]).table
        assert dict(table.schema) == JOB_TABLE
        assert list(table.columns) == list(JOB_TABLE)
        assert table["job"].to_list() == [1, 2]
        assert table["estimate"].null_count() == 2

    def test_from_a_frame_in_any_order(self):
        frame = pl.DataFrame({"procs": [1], "runtime": [1], "submit": [3], "job": [9]})
        assert Workload(frame).table.row(0)[:4] == (9, 3.0, 1.0, 1)

    def test_a_conforming_frame_is_taken_as_it_is(self):
        table = make([0, 5]).table
        assert Workload(table).table is table

    @pytest.mark.parametrize("missing", ["submit", "runtime", "procs"])
    def test_required_columns(self, missing):
        columns = {"submit": [0], "runtime": [1], "procs": [1]}
        del columns[missing]
        with pytest.raises(TraceError, match=f"{missing} missing"):
            Workload(columns)

    def test_unknown_columns(self):
        with pytest.raises(TraceError, match="unknown columns colour"):
            make([0], colour=["red"])

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("submit", None),
            ("submit", math.nan),
            ("submit", math.inf),
            ("runtime", math.inf),
            ("job", None),
        ],
    )
    def test_refused_values(self, column, value):
        with pytest.raises(TraceError, match=f"field {column}.*row 2"):
            Workload({"submit": [0, 1], "runtime": [1, 1], "procs": [1, 1], column: [1, value]})

    def test_status_must_be_known(self):
        with pytest.raises(TraceError, match="field status"):
            make([0], status=["dancing"])
        assert make([0], status=["timeout"]).table["status"].to_list() == ["timeout"]

    def test_widths_that_do_not_fit(self):
        with pytest.raises(TraceError, match="field user"):
            make([0], user=[2**40])

    def test_unknown_runtime_and_width_are_allowed(self):
        log = make([0, 1], runtime=[None, 1], procs=[None, 1])
        assert log.table["runtime"].null_count() == 1


class TestValue:
    def test_frozen(self):
        log = make([0])
        with pytest.raises(AttributeError):
            log.table = None
        with pytest.raises(TypeError):
            hash(log)

    def test_arrays_are_read_only(self):
        with pytest.raises(ValueError, match="read-only"):
            make([0, 1]).column("submit")[0] = 5

    def test_column_types(self):
        log = make([0, 1], estimate=[5, None])
        assert log.column("procs").dtype == np.int64
        assert np.isnan(log.column("estimate")[1])

    def test_equality_is_by_jobs_and_facts(self):
        meta = Meta(source="a", procs=4, epoch=5.0)
        assert make([0, 1], meta) == make([0, 1], Meta(source="b", procs=4, epoch=5.0))
        assert make([0, 1], meta) != make([0, 1], Meta(procs=5, epoch=5.0))
        assert make([0, 1]) != make([0, 2])
        assert make([0]) != 5

    def test_repr(self):
        log = make([0, 86400 * 5], Meta(procs=100, source="kth.swf"))
        assert repr(log) == "<Workload: 2 jobs, 100 procs, over 5 d, from kth.swf>"
        assert repr(make([0]).head(0)) == "<Workload: 0 jobs>"
        assert "<b>Workload: 2 jobs" in log._repr_html_()
        assert "&lt;" in make([0], Meta(source="<x>"))._repr_html_()

    def test_has_and_span(self):
        log = make([5, 1], wait=[None, 3])
        assert log.has("wait")
        assert not log.has("user")
        assert log.span == 4.0
        assert log.head(1).span == 0.0


class TestVerbs:
    def test_select(self):
        log = make([0, 1, 2], procs=[1, 2, 3])
        assert len(log.select(pl.col("procs") > 1)) == 2
        assert len(log.select(np.array([True, False, False]))) == 1
        assert log.select(pl.col("procs") > 1).meta.provenance == ("select: kept 2 of 3 jobs",)

    def test_window_is_half_open(self):
        log = make([0, 1, 2])
        assert log.window(1, 2).table["submit"].to_list() == [1.0]
        assert len(log.window(t1=1)) == 1
        assert len(log.window(t0=1)) == 2

    def test_head(self):
        assert len(make([0, 1]).head(5)) == 2
        with pytest.raises(ValueError, match="-1"):
            make([0]).head(-1)

    @given(
        st.lists(st.integers(0, 10**6), min_size=2, max_size=20),
        st.sampled_from([0.5, 1.0, 2.0, 4.0]),
    )
    def test_scale_load_divides_gaps(self, times, factor):
        log = make(sorted(times))
        scaled = log.scale_load(factor)
        assert scaled.table["submit"][0] == log.table["submit"][0]
        gaps, before = (np.diff(w.table["submit"].to_numpy()) for w in (scaled, log))
        assert np.array_equal(gaps, before / factor)
        assert scaled.table["runtime"].equals(log.table["runtime"])

    def test_stretch_runtimes(self):
        log = make([0], estimate=[100.0], cpu_time=[5.0], wait=[7.0]).stretch_runtimes(2)
        row = log.table.row(0, named=True)
        assert (row["runtime"], row["estimate"], row["cpu_time"], row["wait"]) == (20, 200, 10, 7)

    @pytest.mark.parametrize("factor", [0, -1, math.inf, math.nan])
    def test_factors_are_checked(self, factor):
        for verb in (make([0]).scale_load, make([0]).stretch_runtimes):
            with pytest.raises(ValueError, match="positive"):
                verb(factor)

    def test_empty_workloads_can_be_scaled(self):
        empty = make([0]).head(0)
        assert len(empty.scale_load(2)) == 0
        assert len(empty.sorted()) == 0

    def test_with_machine(self):
        assert make([0]).with_machine(64, 8).meta.procs == 64
        with pytest.raises(ValueError, match="at least 1"):
            make([0]).with_machine(0)

    def test_sorted_is_stable(self):
        log = make([5, 0, 5, 0], job=[1, 2, 3, 4])
        assert log.sorted().table["job"].to_list() == [2, 4, 1, 3]
        ordered = log.sorted()
        assert ordered.sorted() is ordered

    def test_with_columns(self):
        log = make([0]).with_columns(pl.col("procs") * 2, note="doubled")
        assert log.table["procs"].to_list() == [4]
        assert log.meta.provenance == ("doubled",)


class TestConcat:
    def test_on_one_clock(self):
        a = make([0, 100], Meta(epoch=1000.0, procs=4), job=[7, 8], after=[None, 7])
        b = make([0], Meta(epoch=1050.0, procs=8))
        both = Workload.concat([a, b])
        assert both.table["submit"].to_list() == [0.0, 50.0, 100.0]
        assert both.table["job"].to_list() == [1, 2, 3]
        assert both.table["after"].null_count() == 3
        assert (both.meta.procs, both.meta.epoch) == (8, 1000.0)

    def test_without_epochs(self):
        assert Workload.concat([make([3]), make([1])]).table["submit"].to_list() == [1.0, 3.0]

    def test_nothing(self):
        with pytest.raises(ValueError, match="at least one"):
            Workload.concat([])


def test_every_status_has_an_swf_code():
    assert set(SWF_STATUS_CODES) == set(STATUSES)
    assert [SWF_STATUS_CODES[name] for name in STATUSES[:6]] == list(range(6))


def test_what_is_made_of_a_workload_is_made_once_and_not_sent_along():
    log = Workload({"submit": [5.0, 0.0, 3.0], "runtime": [1.0] * 3, "procs": [1] * 3})
    made = []
    for _ in range(2):
        assert log.cached(("thing",), lambda: made.append("made") or len(log)) == 3
    assert made == ["made"]
    again = pickle.loads(pickle.dumps(log))
    assert again == log
    assert again.cached(("thing",), lambda: "anew") == "anew"


def test_submissions_are_sorted():
    log = Workload({"submit": [5.0, 0.0, 3.0], "runtime": [1.0] * 3, "procs": [1] * 3})
    assert log.submissions.tolist() == [0.0, 3.0, 5.0]
    assert log.submissions is log.submissions
    assert log.sorted().submissions.tolist() == [0.0, 3.0, 5.0]


def test_concat_keeps_names_apart():
    """Number 1 is ann in one log and bob in the other: joined they are two users."""
    jobs = {"submit": [0.0, 1.0], "runtime": [1.0, 1.0], "procs": [1, 1], "user": [1, 2]}
    one = Workload(jobs, Meta(labels={"user": {1: "ann", 2: "bob"}}))
    other = Workload(jobs, Meta(labels={"user": {1: "bob", 2: "eve"}}))
    joined = Workload.concat([one, other])
    assert joined.names("user").to_list() == ["ann", "bob", "bob", "eve"]
    assert joined.table["user"].n_unique() == 3
    assert Workload.concat([one, one]).meta.labels == one.meta.labels

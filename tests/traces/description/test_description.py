"""The whole: sections, what is missing, the flat dictionary."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from onega.core.json_safe import json_safe
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.traces.description import describe
from traces.description.logs import full_log, small_log

MACHINE = Meta(procs=8, epoch=0.0)


def test_load_by_hand():
    # Areas 60, 60 and 20: 140 processor-seconds; submissions over 30 s, the last end at 130 s.
    load = describe(small_log(wait=[0.0, 60.0, 0.0], meta=MACHINE)).load
    assert load.area == 140
    assert load.offered_load == pytest.approx(140 / (8 * 30))
    assert load.utilisation == pytest.approx(140 / (8 * 130))
    assert load.start.isoformat() == "1970-01-01T00:00:00+00:00"
    assert (load.jobs, load.usable, load.widest) == (3, 3, 4)


def test_unusable_jobs_are_counted_by_what_they_lack():
    log = Workload(
        {"submit": [0, 1, 2, 3, 4], "runtime": [None, 0, -1, 5, 5], "procs": [1, 1, 1, None, 0]}
    )
    load = describe(log).load
    assert (load.without_runtime, load.zero_runtime, load.without_width) == (2, 1, 2)
    assert load.usable == 0


def test_a_full_log_lacks_nothing():
    description = describe(full_log())
    assert description.missing == {}
    assert all(value is not None for value in description.sections().values())
    assert len(description.sections()) == 15


def test_an_empty_log_is_refused_in_words():
    empty = Workload({"submit": [], "runtime": [], "procs": []}, Meta(source="x.swf"))
    with pytest.raises(onega.TraceError, match=r"x\.swf: the log has no jobs"):
        describe(empty)


@pytest.mark.parametrize(
    ("log", "missing"),
    [
        (small_log(), {"wait", "estimate", "estimates", "users", "cycles", "offered_load", "tail"}),
        (small_log(meta=MACHINE), {"utilisation", "wait"}),
        (small_log(submit=[5.0, 5.0, 5.0], meta=MACHINE), {"offered_load"}),
        (small_log(runtime=[None] * 3), {"runtime", "area", "temporal", "corr"}),
        (small_log(procs=[None] * 3), {"width", "shape", "area", "temporal"}),
        (small_log(runtime=[0.0] * 3, wait=[0.0] * 3, submit=[0.0] * 3, meta=MACHINE),
         {"utilisation"}),
        (small_log().head(1), {"gap", "temporal", "corr", "tail"}),
    ],
)  # fmt: skip
def test_what_a_log_lacks_is_none_with_a_reason(log, missing):
    description = describe(log)
    assert missing <= set(description.missing)
    assert all(len(reason) > 10 for reason in description.missing.values())
    for name in missing & {"wait", "users", "cycles", "gap", "temporal", "runtime", "shape"}:
        assert getattr(description, name) is None
    json.dumps(json_safe(description.summary()), allow_nan=False)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-5, 1e6)),
            st.one_of(st.none(), st.integers(-1, 500)),
            st.one_of(st.none(), st.floats(-1, 1e6)),
            st.one_of(st.none(), st.floats(0, 1e6)),
            st.one_of(st.none(), st.integers(0, 5)),
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([None, 1, 64]),
)
def test_any_log_can_be_described_and_written(rows, procs):
    runtime, width, estimate, wait, user = zip(*rows)
    table = {
        "submit": pl.Series(range(len(rows)), dtype=pl.Float64),
        "runtime": pl.Series(runtime, dtype=pl.Float64),
        "procs": pl.Series(width, dtype=pl.Int64),
        "estimate": pl.Series(estimate, dtype=pl.Float64),
        "wait": pl.Series(wait, dtype=pl.Float64),
        "user": pl.Series(user, dtype=pl.Int32),
    }
    description = describe(Workload(pl.DataFrame(table), Meta(procs=procs, epoch=1e9)))
    json.dumps(json_safe(description.summary()), allow_nan=False)
    assert description.to_polars().height >= 20
    for section, value in description.sections().items():
        assert section not in description.missing
        assert value is not None


def test_the_order_of_rows_does_not_matter():
    log = full_log()
    mixed = np.random.default_rng(1).permutation(len(log))
    shuffled = Workload(log.table[mixed.tolist()], log.meta)
    assert describe(shuffled).summary() == describe(log).summary()


def test_the_summary_is_flat():
    flat = describe(full_log()).summary()
    for value in flat.values():
        assert value is None or isinstance(value, bool | int | float | str | list)
    for key in ("jobs", "procs", "offered_load", "utilisation", "runtime_mean", "width_mode",
                "gap_cv", "estimate_max", "area_siqr", "tail_index", "serial_share", "corr",
                "same_procs", "rho1_procs", "rho1_runtime", "cor0", "cor1", "accuracy_mean",
                "frequent_estimates_share", "users", "jobs_by_hour"):  # fmt: skip
        assert key in flat


def test_to_polars_has_a_row_per_measure():
    frame = describe(full_log()).to_polars()
    assert frame.columns == ["section", "measure", "value", "text"]
    row = frame.filter(pl.col("measure") == "jobs").to_dicts()
    assert row == [{"section": "load", "measure": "jobs", "value": 400.0, "text": None}]
    zone = frame.filter(pl.col("measure") == "timezone")
    assert zone["text"].to_list() == ["Europe/Stockholm"]


@pytest.mark.parametrize(
    ("name", "rows"),
    [("hours", 24), ("weekdays", 7), ("submissions", 5), ("active", 10), ("runs", 5)],
)
def test_tables_inside(name, rows):
    assert describe(full_log()).table(name).height == rows


def test_an_unknown_table_is_named():
    with pytest.raises(ValueError, match=r"no table 'nope'.*hours"):
        describe(full_log()).table("nope")


def test_provenance_is_kept_and_repr_is_one_line():
    description = onega.describe(full_log().head(100))
    assert description.provenance == ("head: first 100 jobs",)
    assert repr(description).startswith("<Description: 100 jobs, offered load ")
    assert "\n" not in repr(description)

"""Writing and reading gives the same workload, bit by bit."""

import gzip
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings

import onega
from onega import Meta, TraceError, Workload
from traces.strategies import identical, workloads

relaxed = settings(max_examples=40)


@relaxed
@given(workloads())
def test_swf(tmp_path_factory, workload):
    path = tmp_path_factory.mktemp("out") / "a.swf"
    report = onega.write(workload, path)
    again = onega.read(path)
    assert identical(again, workload)
    assert not report
    assert not [f for f in again.meta.report if f.action != "noted"]
    expected = {
        column: {number: " ".join(name.split()) for number, name in names.items()}
        for column, names in workload.meta.labels.items()
    }
    assert again.meta.labels == expected
    onega.write(again, path)
    assert identical(onega.read(path), workload)


@relaxed
@given(workloads())
def test_parquet(tmp_path_factory, workload):
    path = tmp_path_factory.mktemp("out") / "a.parquet"
    assert not onega.write(workload, path)
    again = onega.read(path)
    assert identical(again, workload)
    assert again.meta.labels == workload.meta.labels
    assert again.meta.header == workload.meta.header


@relaxed
@given(workloads())
def test_csv_keeps_the_table(tmp_path_factory, workload):
    """Without names: with them, a CSV file holds the names, and numbers are given anew."""
    workload = Workload(workload.table, replace(workload.meta, labels={}))
    path = tmp_path_factory.mktemp("out") / "a.csv.gz"
    onega.write(workload, path)
    again = onega.read(path)
    assert again.table.equals(workload.table)


def test_header_is_brought_up_to_date(tmp_path):
    meta = Meta(
        header=(" Version: 2", " MaxProcs: 64", " MaxRecords: 900", " Queue: 1 a", " Queue: 2 b"),
        procs=128,
        labels={"queue": {2: "b", 3: "c"}},
        timezone="UTC",
    )
    log = Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]}, meta)
    onega.write(log, tmp_path / "a.swf")
    lines = (tmp_path / "a.swf").read_text().splitlines()
    assert lines[:4] == ["; Version: 2", "; MaxProcs: 128", "; MaxRecords: 1", "; Queue: 2 b"]
    assert set(lines[4:-1]) == {"; TimeZoneString: UTC", "; Queue: 3 c"}
    assert lines[-1].startswith("1 0 -1 1 1 -1")


def test_names_cannot_break_the_header(tmp_path):
    meta = Meta(header=(" a\n1 2 3 4 5",), labels={"user": {1: "eve\n9 9 9 9 9"}})
    log = Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]}, meta)
    onega.write(log, tmp_path / "a.swf")
    assert len(onega.read(tmp_path / "a.swf")) == 1


def test_states_that_swf_lacks(tmp_path):
    states = ["timeout", "cancelled", "node_fail", "failed", None] * 30
    log = Workload(
        {"submit": range(150), "runtime": [1] * 150, "procs": [1] * 150, "status": states}
    )
    onega.write(log, tmp_path / "a.swf")
    assert onega.read(tmp_path / "a.swf").table["status"].to_list() == states
    codes = [
        line.split()[10]
        for line in (tmp_path / "a.swf").read_text().splitlines()
        if not line.startswith(";")
    ]
    assert codes[:5] == ["5", "5", "0", "0", "-1"]


def test_negative_times_move_the_epoch(tmp_path):
    log = Workload({"submit": [-10.5, 3.0], "runtime": [1, 1], "procs": [1, 1]}, Meta(epoch=1000.0))
    report = onega.write(log, tmp_path / "a.swf")
    again = onega.read(tmp_path / "a.swf")
    assert report.count("epoch_moved") == 2
    assert again.meta.epoch == 989.0
    assert (again.table["submit"] + again.meta.epoch).to_list() == [989.5, 1003.0]


def test_what_swf_cannot_say_is_reported(tmp_path):
    log = Workload({"submit": [0.0], "runtime": [-5.0], "procs": [None], "requested_procs": [3]})
    report = onega.write(log, tmp_path / "a.swf")
    assert report.summary() == {"negative_runtime": 1, "width_from_request": 1}


@pytest.mark.parametrize("column", ["submit", "runtime", "memory"])
def test_too_large_is_no_workload(column):
    values = {"submit": [0.0], "runtime": [1.0], "procs": [1], column: [1e30]}
    with pytest.raises(TraceError, match=f"field {column}: .*; row 1 has 1e[+]30"):
        Workload(values)


@pytest.mark.parametrize("column", ["wait", "estimate", "cpu_time"])
def test_too_large_is_refused_and_nothing_is_left(tmp_path, column):
    values = {"submit": [0.0], "runtime": [1.0], "procs": [1], column: [1e30]}
    with pytest.raises(TraceError, match=f"field {column}.*job 1"):
        onega.write(Workload(values), tmp_path / "a.swf")
    assert list(tmp_path.iterdir()) == []


def test_same_workload_same_bytes(tmp_path):
    log = Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]})
    for name in ("a.swf.gz", "b.swf.gz"):
        onega.write(log, tmp_path / name)
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.swf.gz").read_bytes()).startswith(b"; MaxRecords: 1\n")


def test_empty_workload_is_written_but_not_read(tmp_path):
    log = Workload(
        pl.DataFrame(schema={"submit": pl.Float64, "runtime": pl.Float64, "procs": pl.Int64})
    )
    onega.write(log, tmp_path / "a.swf")
    with pytest.raises(TraceError, match="no jobs"):
        onega.read(tmp_path / "a.swf")

"""The table of events: what is read, and which row is refused why."""

from __future__ import annotations

import re

import polars as pl
import pytest

import onega
from onega import Events, SimulationError, TraceError

CSV = """\
time,event,job,node,procs,until,watts
100,fail,,3,,,
50,drain,,"1,5-6",,,
100,cancel,17,,,,
200,return,,3,,,
300,reserve,,,4,400,
300,cap,,,,,5000
310,down,,,2,,
320,up,,,2,,
"""


def test_csv_and_parquet_and_columns_are_the_same(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(CSV)
    read = onega.read_events(path)
    assert len(read) == 8
    assert read.table.schema["node"] == pl.String
    assert read.table["job"].to_list() == [None, None, 17, None, None, None, None, None]
    read.table.write_parquet(tmp_path / "events.parquet")
    again = onega.read_events(tmp_path / "events.parquet")
    assert again.table.equals(read.table)
    assert repr(again) == "<Events: 8 of events.parquet>"
    made = Events({"time": [1, 0], "event": ["fail", "return"], "node": [2, "2-3"]})
    assert made.table["node"].to_list() == ["2", "2-3"]
    assert Events.of(made) is made
    assert Events.of({"time": [0], "event": ["up"], "procs": [1]}).table.height == 1


def test_rows_happen_by_time_then_by_place(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(CSV)
    order = [(row, values["event"]) for row, values in onega.read_events(path).in_order()]
    assert order[:4] == [(2, "drain"), (1, "fail"), (3, "cancel"), (4, "return")]


WRONG = {
    "word": (
        {"event": ["fial"], "node": ["1"]},
        "row 1: unknown event 'fial'; did you mean 'fail'",
    ),
    "no word": ({"event": [None], "node": ["1"]}, "row 1: unknown event None"),
    "early": (
        {"time": [-1], "event": ["fail"], "node": ["1"]},
        "row 1: time is at least 0, got -1",
    ),
    "nan": (
        {"time": [float("nan")], "event": ["fail"], "node": ["1"]},
        "row 1: time is at least 0, got nan",
    ),
    "no time": ({"time": ["soon"], "event": ["fail"]}, "row 1: time must be a number, got 'soon'"),
    "null time": ({"time": [None], "event": ["fail"], "node": ["1"]}, "row 1: time is at least 0"),
    "lacks": ({"event": ["fail"]}, "row 1: fail takes node; given: nothing"),
    "too much": (
        {"event": ["fail"], "node": ["1"], "job": [3]},
        "row 1: fail takes node; given: job and node",
    ),
    "reserve": (
        {"event": ["reserve"], "node": ["1"]},
        "reserve takes procs and until or node and until; given: node",
    ),
    "until": (
        {"time": [5], "event": ["reserve"], "node": ["1"], "until": [5]},
        "row 1: until is after the time, got 5",
    ),
    "for ever": (
        {"time": [5], "event": ["reserve"], "node": ["1"], "until": [float("inf")]},
        "until is at most 1e+12 seconds, got inf",
    ),
    "end of time": (
        {"time": [1e300], "event": ["fail"], "node": ["1"]},
        "time is at most 1e+12 seconds, got 1e+300",
    ),
    "far reserve": (
        {"event": ["reserve"], "node": ["1"], "until": [1e300]},
        "until is at most 1e+12 seconds, got 1e+300",
    ),
    "far cap": ({"event": ["cap"], "watts": [1e300]}, "watts are at most 1.15292e+18, got 1e+300"),
    "node": ({"event": ["fail"], "node": ["0"]}, "row 1: '0' are no numbers of nodes"),
    "half": ({"event": ["cancel"], "job": [1.5]}, "row 1: job must be a whole number, got 1.5"),
    "none": ({"event": ["down"], "procs": [0]}, "row 1: procs is at least 1, got 0"),
    "watts": ({"event": ["cap"], "watts": [0.0]}, "row 1: watts are above 0, got 0"),
    "column": ({"event": ["fail"], "nodes": ["1"]}, "unknown column 'nodes'; did you mean 'node'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_named(name):
    table, message = WRONG[name]
    with pytest.raises(SimulationError, match=re.escape(message)):
        Events({"time": [1.0]} | table)


def test_several_wrong_rows_are_counted():
    table = {"time": [1, -1, -2], "event": ["up"] * 3, "procs": [1] * 3}
    with pytest.raises(SimulationError, match=r"row 2: .* got -1.0; so have 1 more rows"):
        Events(table)


def test_a_table_without_time_or_event():
    with pytest.raises(SimulationError, match="there is no column 'time'"):
        Events({"event": ["up"], "procs": [1]})


def test_files_that_are_no_tables(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("time,event,node\n5,fail\n")
    with pytest.raises(TraceError, match=r"line 2.*2 fields where the header has 3"):
        onega.read_events(path)
    path.write_text("time,event,node\n5,fial,1\n")
    with pytest.raises(SimulationError, match=r"events.csv, row 1: unknown event 'fial'"):
        onega.read_events(path)

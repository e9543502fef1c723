"""CSV and Parquet with a column map, and tables of gaps."""

import json
import os
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import onega
from onega import TraceError
from onega.traces.tables.mapping import ColumnMap, column_map, with_flags


@pytest.fixture
def table(tmp_path):
    def write(*lines, name="jobs.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def test_usual_names(table):
    log = onega.read(
        table(
            "job_id,user,submit_time,start_time,end_time,cores,wallclock_req,state,colour",
            "9,eve,2024-01-01 00:00:00,2024-01-01 00:00:05,2024-01-01 00:01:05,8,3600,TIMEOUT,red",
            "8,bob,2024-01-01 00:00:02.5,2024-01-01 00:00:05,2024-01-01 00:01:05,4,,COMPLETED,",
        )
    )
    assert log.table.select("job", "submit", "wait", "runtime", "procs", "estimate").rows() == [
        (9, 0.0, 5.0, 60.0, 8, 3600.0),
        (8, 2.5, 2.5, 60.0, 4, None),
    ]
    assert log.table["status"].to_list() == ["timeout", "completed"]
    assert log.meta.labels == {"user": {1: "eve", 2: "bob"}}
    report = str(log.meta.report)
    assert "submit_time as submit" in report
    assert "colour" in report
    assert "UTC" in report


def test_map_with_units(table):
    path = table("id;t;ms;n;mem;limit", "1;1000;2500;3;2;10", "2;1500;500;4;;")
    log = onega.read(
        path,
        columns={
            "job": "id",
            "submit": "t",
            "runtime": "ms:ms",
            "procs": "n",
            "memory": "mem:gb",
            "estimate": "limit:min",
        },
    )
    assert log.meta.epoch is None
    assert log.table.select("job", "submit", "runtime", "procs", "memory", "estimate").rows() == [
        (1, 1000.0, 2.5, 3, 2.0 * 2**30, 600.0),
        (2, 1500.0, 0.5, 4, None, None),
    ]


def test_map_from_toml(table, tmp_path):
    mapping = tmp_path / "site.toml"
    mapping.write_text(
        """
        timezone = "America/Denver"
        separator = ";"
        [machine]
        procs = 2000
        nodes = 50
        [columns]
        submit = { name = "when", date = "%d.%m.%Y %H:%M" }
        runtime = { name = "hours", unit = "h" }
        procs = "n"
        status = "how"
        [states]
        "all right" = "completed"
        KAPUTT = "failed"
        """
    )
    path = table(
        "when;hours;n;how", "01.07.2024 12:00;1.5;4;all right", "01.07.2024 13:00;2;4;kaputt"
    )
    log = onega.read(path, columns=mapping)
    assert log.meta.epoch == 1719856800.0  # 18:00 UTC
    assert log.table["submit"].to_list() == [0.0, 3600.0]
    assert log.table["runtime"].to_list() == [5400.0, 7200.0]
    assert log.table["status"].to_list() == ["completed", "failed"]
    assert (log.meta.procs, log.meta.nodes, log.meta.timezone) == (2000, 50, "America/Denver")


def test_flags_add_to_a_map():
    both = with_flags(column_map({"submit": "a"}), ["runtime=b:h", "procs=c:d:e"])
    assert both.columns["runtime"].unit == "h"
    assert both.columns["procs"].name == "c:d:e"
    assert both.columns["submit"].name == "a"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sumbit": "a"}, "did you mean 'submit'"),
        ({"procs": {"name": "a", "unit": "h"}}, "unit 'h' of field 'procs'"),
        ({"runtime": {"name": "a", "date": "%Y"}}, "has no date"),
        ({"runtime": {"nome": "a"}}, "column's name"),
        ({"runtime": "nowhere"}, "no column 'nowhere'"),
    ],
)
def test_wrong_maps(table, columns, message):
    with pytest.raises(TraceError, match=message):
        onega.read(table("submit,runtime,procs", "0,1,1"), columns=columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[colums]", "did you mean 'columns'"),
        ("columns = 5", "structure"),
        ("[machine]\nprocs = 0", "positive whole"),
        ("[states]\na = 'great'", "accepted: failed"),
        ("timezone = 'Europe/Atlantis'", "no time zone"),
        ("= = =", "not a TOML file"),
    ],
)
def test_wrong_map_files(table, tmp_path, text, message):
    mapping = tmp_path / "bad.toml"
    mapping.write_text(text)
    with pytest.raises(TraceError, match=message) as caught:
        onega.read(table("submit,runtime,procs", "0,1,1"), columns=mapping)
    assert caught.value.path == str(mapping)


def test_map_file_must_exist(table, tmp_path):
    with pytest.raises(TraceError, match=r"nope\.toml: can't be read"):
        onega.read(table("submit,runtime,procs", "0,1,1"), columns=tmp_path / "nope.toml")


@pytest.mark.parametrize(
    ("lines", "line", "field", "message"),
    [
        (["submit,runtime", "0,1"], 1, "procs", "no column is mapped to procs"),
        (["submit,procs", "0,1"], 1, "runtime", "runtime or end"),
        (["a,b", "0,1"], 1, "submit", "map one with"),
        (["submit,runtime,procs", "0,1,1", "1,x,1"], 3, "runtime", "length of time"),
        (["submit,runtime,procs", "0,1,1", "1,2"], 3, "procs", "2 fields"),
        (["submit,runtime,procs", "0,1,1", "1,2,3,4"], 3, "4", "4 fields"),
        (["submit,runtime,procs", "0,1,1.5"], 2, "procs", "whole number"),
        (["submit,runtime,procs", "0,nan,1"], 2, "runtime", "length of time"),
        (["submit,runtime,procs", "0,1e18,1"], 2, "runtime", "below"),
        (["submit,runtime,procs", "0,1,99999999999999999999"], 2, "procs", "whole number"),
        (["submit,runtime,runtime", "0,1,1"], 1, "'runtime'", "two columns"),
        (["submit,runtime,procs,status", "0,1,1,dancing"], 2, "status", "job state"),
    ],
)
def test_errors(table, lines, line, field, message):
    with pytest.raises(TraceError, match=message) as caught:
        onega.read(table(*lines), "csv")
    assert (caught.value.line, caught.value.field) == (line, field)


def test_quotes_and_blank_lines(table):
    path = table("submit,runtime,procs,user", '0,1,1,"b, ""x"""', "", '5,1,1,"two\nlines"')
    log = onega.read(path)
    assert log.meta.labels["user"] == {1: 'b, "x"', 2: "two\nlines"}


def test_open_quote_is_an_error(table):
    with pytest.raises(TraceError, match="split into fields"):
        onega.read(table("submit,runtime,procs,user", '0,1,1,"open'))


def test_header_only(table):
    with pytest.raises(TraceError, match="header line only"):
        onega.read(table("submit,runtime,procs"))


def test_missing_words_and_negatives(table):
    log = onega.read(table("submit,runtime,procs,wait", "0,NA,4,-3", ",1,1,1", "2,5,-2,0"))
    assert log.table.select("runtime", "procs", "wait").rows() == [
        (None, 4, None),
        (5.0, None, 0.0),
    ]
    assert log.meta.report.summary() == {
        "no_submit": 1,
        "negative_wait": 1,
        "negative_procs": 1,
    }


def test_start_before_submit_is_reported(table):
    log = onega.read(table("submit,start,end,procs", "1700000100,1700000000,1700000200,1"))
    assert log.table["wait"].to_list() == [None]
    assert log.meta.report.count("negative_wait") == 1


def test_parquet_of_a_site(tmp_path):
    start = datetime(2024, 5, 1, 8, 0, 0)
    frame = pl.DataFrame(
        {
            "when": [start, start + timedelta(seconds=90)],
            "took": [timedelta(hours=1), timedelta(minutes=1)],
            "n": pl.Series([4, 8], dtype=pl.UInt16),
            "who": ["a", "b"],
        }
    )
    frame.write_parquet(tmp_path / "site.parquet")
    columns = {"submit": "when", "runtime": "took", "procs": "n", "user": "who"}
    log = onega.read(tmp_path / "site.parquet", columns=columns, timezone="Asia/Kathmandu")
    assert (
        log.meta.epoch == start.timestamp() - start.astimezone().utcoffset().seconds * 0 - 20700
        or (log.meta.epoch == 1714529700.0)
    )
    assert log.table.select("submit", "runtime", "procs", "user").rows() == [
        (0.0, 3600.0, 4, 1),
        (90.0, 60.0, 8, 2),
    ]


def test_parquet_errors(tmp_path):
    path = tmp_path / "bad.parquet"
    pl.DataFrame({"submit": [1.0], "runtime": [1.0], "procs": [1]}).write_parquet(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(TraceError, match="damaged Parquet"):
        onega.read(path)
    pl.DataFrame({"submit": [1.0], "runtime": [[1]], "procs": [1]}).write_parquet(path)
    with pytest.raises(TraceError, match="field runtime"):
        onega.read(path)


def test_gaps_follow_their_row(table):
    log = onega.read(table("interarrival,service,cores,delays", "10,5,1,0", "20,6,2,3", "99,7,3,4"))
    assert log.meta.format == "gaps"
    assert log.table["submit"].to_list() == [0.0, 10.0, 30.0]
    assert log.table.select("runtime", "procs", "wait").rows() == [(5, 1, 0), (6, 2, 3), (7, 3, 4)]


def test_negative_gaps(table):
    log = onega.read(table("interarrival,service,cores", "-5,1,1", "3,1,1", "0,1,1"))
    assert log.table["submit"].to_list() == [5.0, 0.0, 3.0]
    assert log.meta.report.count("negative_gaps") == 1
    cleaned, report = onega.clean(log)
    assert cleaned.table["submit"].to_list() == [0.0, 3.0, 5.0]
    assert report.count("unsorted") == 1


def test_a_gap_is_missing(table):
    with pytest.raises(TraceError, match="line 2, field gap"):
        onega.read(table("interarrival,service,cores", ",1,1", "3,1,1"))


def test_gaps_of_hpcwld_are_those_of_kth(shared):
    gaps = onega.read(shared("golden", "hpcwld-kth-wld.csv.gz"))
    kth, _ = onega.clean(onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz")))
    submit = kth.table["submit"].to_numpy()
    assert np.array_equal(gaps.table["submit"].to_numpy(), submit - submit[0])
    assert gaps.table["runtime"].equals(kth.table["runtime"])
    assert gaps.table["procs"].equals(kth.table["procs"])


@pytest.mark.parametrize(
    ("name", "jobs", "left"), [("krc.csv.gz", 8281, 8243), ("krc2.csv.gz", 9389, 7569)]
)
def test_krc(shared, name, jobs, left):
    log = onega.read(shared("traces", name))
    assert len(log) == jobs
    assert len(onega.clean(log)[0]) == left


def test_a_sites_own_table(shared):
    path = shared("traces", "nrel-eagle-sample.csv")
    mapping = {"procs": "processors_req", "estimate": "wallclock_req", "group": "account"}
    log = onega.read(path, columns=mapping, timezone="America/Denver")
    assert len(log) == 1000
    assert log.table["status"].value_counts().sort("count").rows() == [
        ("timeout", 15),
        ("completed", 985),
    ]
    first = log.table.row(0, named=True)
    assert (first["job"], first["procs"], first["runtime"]) == (532209, 10, 99825.0)
    assert (first["estimate"], first["wait"]) == (172800.0, 1.0)
    assert log.meta.epoch == 1546358155.0  # 2019-01-01 08:55:55 in Denver
    assert log.meta.labels["user"][1] == "user0014"


def test_column_maps_are_for_tables(tmp_path):
    (tmp_path / "a.swf").write_text("1 0 0 1 1\n")
    with pytest.raises(TraceError, match="not for swf"):
        onega.read(tmp_path / "a.swf", "swf", columns=ColumnMap())


def test_rows_without_id_get_one(table):
    log = onega.read(table("job,submit,runtime,procs", "7,0,1,1", ",1,1,1", ",2,1,1"))
    assert log.table["job"].to_list() == [7, 8, 9]
    assert log.meta.report.count("no_id") == 2


def test_states_of_several_kinds(table):
    log = onega.read(
        table(
            "submit,runtime,procs,status", "0,1,1,5", "1,1,1,RUNNING", "2,1,1,-1", "3,1,1,Timeout"
        )
    )
    assert log.table["status"].to_list() == ["cancelled", None, "timeout"]
    assert log.meta.report.count("unfinished") == 1
    assert log.meta.unfinished == {"RUNNING": 1}


def test_typed_columns(tmp_path):
    start = datetime(2024, 5, 1, 8, 0, 0)
    frame = pl.DataFrame(
        {
            "submit": pl.Series([start, start]).dt.replace_time_zone("Europe/Paris"),
            "end": pl.Series([start.date(), None]),
            "start": pl.Series([1714521600, 1714521601]),
            "runtime": pl.Series([1.5, 2.0], dtype=pl.Float32),
            "procs": pl.Series([2.0, 3.0]),
            "memory": pl.Series([1024, 2048]),
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    log = onega.read(tmp_path / "a.parquet")
    assert log.meta.epoch == 1714543200.0  # 06:00 UTC
    assert log.table.select("submit", "runtime", "procs", "memory").rows() == [
        (0.0, 1.5, 2, 1024.0),
        (0.0, 2.0, 3, 2048.0),
    ]
    wrong = frame.with_columns(pl.Series("procs", [True, False]))
    wrong.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(TraceError, match="field procs"):
        onega.read(tmp_path / "a.parquet")


def test_dates_with_offsets_and_patterns_with_zones(table):
    log = onega.read(
        table(
            "submit,end,runtime,procs",
            "2024-01-01T01:00:00+01:00,2024-01-01T00:00:10Z,10,1",
            "2023-12-31 19:00:05-0500,,10,1",
            "2024-01-01 05:30:07+05:30,,10,1",
            "2024-01-01 02:00:09+02,,10,1",  # as PostgreSQL writes it
        )
    )
    assert log.meta.epoch == 1704067200.0
    assert log.table["submit"].to_list() == [0.0, 5.0, 7.0, 9.0]
    assert not log.meta.report.count("no_timezone")
    mapped = onega.read(
        table("when,runtime,procs", "01/02/2024 03:04 +0200,1,1"),
        columns={"submit": {"name": "when", "date": "%d/%m/%Y %H:%M %z"}},
    )
    assert mapped.meta.epoch == 1706749440.0


def test_stored_meta_that_is_damaged(tmp_path):
    frame = onega.Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]}).table
    good = {"header": [], "labels": {}, "provenance": []}
    for key, value in (
        *(
            ("epoch", "soon"),
            ("epoch", 1e300),
            ("timezone", 5),
            ("utc_offset", [1]),
            ("procs", "x"),
        ),
        *(
            ("procs", 0),
            ("procs", 10**300),
            ("labels", {"user": {"9" * 30: "x"}}),
            ("header", [1]),
            ("labels", []),
            ("labels", {"user": {"1": 5}}),
        ),
        *(("unfinished", "x"), ("provenance", {}), ("nonsense", 1)),
    ):
        told = json.dumps(good | {key: value})
        frame.write_parquet(tmp_path / "a.parquet", metadata={"onega.meta": told})
        with pytest.raises(TraceError, match=rf"onega\.meta entry is damaged \({key}"):
            onega.read(tmp_path / "a.parquet")
    for told in ("{}", "[]", "5", "[" * 100_000, json.dumps(good)[:-1]):
        frame.write_parquet(tmp_path / "a.parquet", metadata={"onega.meta": told})
        with pytest.raises(TraceError, match=r"onega\.meta entry is damaged"):
            onega.read(tmp_path / "a.parquet")
    frame.write_parquet(tmp_path / "a.parquet", metadata={"onega.meta": json.dumps(good)})
    assert onega.read(tmp_path / "a.parquet").meta == onega.Meta()


def test_a_panic_of_the_decoder_is_one_line(tmp_path, capfd):
    """Polars tells of it on the standard error, past Python, with a stack of Rust."""
    frame = pl.DataFrame({"submit": [1.0, 2.0], "runtime": [3, None], "procs": [1, 2]})
    frame.write_parquet(tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    panics = 0
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        (tmp_path / "a.parquet").write_bytes(damaged)
        try:
            onega.read(tmp_path / "a.parquet")
        except TraceError as error:
            panics += "its pages can't be decoded" in str(error)
    assert panics
    assert capfd.readouterr().err == ""
    os.write(2, b"still there")
    assert capfd.readouterr().err == "still there"

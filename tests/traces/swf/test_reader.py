"""What the SWF reader makes of each field."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega import TraceError
from onega.traces.swf import reader as swf_reader
from reference import naive_clean, naive_swf

ROW = "{job} {submit} 10 100 4 90.5 2048 8 3600 4096 1 3 2 7 1 0 -1 -1"


def write(path, *lines, newline="\n"):
    path.write_bytes(newline.join([*lines, ""]).encode())
    return path


def row(job=1, submit=0):
    return ROW.format(job=job, submit=submit)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.swf"


def test_every_field(log):
    table = onega.read(write(log, row(5, 17))).table
    assert table.row(0, named=True) == {
        "job": 5,
        "submit": 17.0,
        "runtime": 100.0,
        "procs": 4,
        "estimate": 3600.0,
        "wait": 10.0,
        "user": 3,
        "group": 2,
        "app": 7,
        "queue": 1,
        "partition": 0,
        "status": "completed",
        "memory": 2048.0 * 1024,
        "cpu_time": 90.5,
        "requested_procs": 8,
        "requested_memory": 4096.0 * 1024,
        "after": None,
        "think": None,
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_header(log, newline):
    text = write(
        log,
        "; Version: 2.2",
        "; UnixStartTime: 843480031",
        ";TimeZone: 3600",
        "; TimeZoneString: Europe/Stockholm",
        "; MaxNodes: 25 (thin)",
        "; MaxProcs: 100",
        "; Queue:  1  short jobs   ",
        "; Partition: 2 big",
        "; Note: free: text",
        row(),
        newline=newline,
    )
    meta = onega.read(text).meta
    assert (meta.epoch, meta.timezone, meta.utc_offset) == (843480031, "Europe/Stockholm", 3600)
    assert (meta.procs, meta.nodes) == (100, 25)
    assert meta.labels == {"queue": {1: "short jobs"}, "partition": {2: "big"}}
    assert meta.header[0] == " Version: 2.2"
    assert meta.header[-1] == " Note: free: text"
    assert len(meta.header) == 9
    assert (meta.source, meta.format) == ("log.swf", "swf")


def test_header_that_says_nothing(log):
    text = write(
        log,
        "; UnixStartTime: -1",
        "; MaxProcs: many",
        "; MaxNodes: -1",
        "; TimeZoneString: Mars/Olympus",
        ";",
        ";;; odd",
        row(),
    )
    meta = onega.read(text).meta
    assert (meta.epoch, meta.procs, meta.nodes, meta.timezone) == (None, None, None, None)
    assert meta.report.count("unknown_timezone") == 1


def test_machine_from_nodes(log):
    log_read = onega.read(write(log, "; MaxNodes: 256", row()))
    assert log_read.meta.procs == 256
    assert log_read.meta.report.count("machine_from_nodes") == 1


def test_width_falls_back_on_request(log):
    text = write(log, "1 0 0 5 -1 -1 -1 16 -1 -1 1 1 1 1 1 1 -1 -1", row(2))
    read = onega.read(text)
    assert read.table["procs"].to_list() == [16, 4]
    finding = next(iter(read.meta.report))
    assert (finding.rule, finding.action, finding.count) == ("width_from_request", "noted", 1)
    assert finding.examples[0]["line"] == 1


def test_negative_values_are_missing_and_noted(log):
    text = write(log, row(), "2 5 -7 -3 -4 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1")
    read = onega.read(text)
    last = read.table.row(1, named=True)
    assert (last["wait"], last["runtime"], last["procs"]) == (None, None, None)
    report = read.meta.report
    assert report.summary() == {"negative_wait": 1, "negative_runtime": 1, "negative_procs": 1}
    assert "procs (5)" in str(report)
    assert "line 2" in str(report)


def test_rows_without_submit_are_left_out(log):
    read = onega.read(write(log, "; h", row(1), row(2, -1), row(3, -9)))
    assert read.table["job"].to_list() == [1]
    assert read.meta.report.dropped == 2
    assert read.meta.report.findings[-1].examples[0]["line"] == 3


def test_rows_without_id_get_one(log):
    read = onega.read(write(log, row(7), row(-1), row(-1)))
    assert read.table["job"].to_list() == [7, 8, 9]
    assert read.meta.report.count("no_id") == 2


def test_status_codes(log):
    lines = [f"{n} 0 0 1 1 0 0 1 1 0 {n - 1} 1 1 1 1 1 -1 -1" for n in range(8)]
    read = onega.read(write(log, *lines))
    assert read.table["status"].to_list() == [
        *(None, "failed", "completed", "partial", "partial_completed", "partial_failed"),
        *("cancelled", None),
    ]
    assert read.meta.report.count("unknown_status") == 1


def test_uniformly_short_rows_are_noted(log):
    read = onega.read(write(log, "1 0 0 5 4", "2 9 0 5 4"))
    assert read.table["procs"].to_list() == [4, 4]
    assert not read.has("status")
    assert read.meta.report.count("short_rows") == 2


@pytest.mark.parametrize(
    ("lines", "line", "field"),
    [
        ([row(1), row(2) + " 5"], 2, "19"),
        ([row(1) + " 5"], 1, "19"),
        ([row(1), row(2).rsplit(maxsplit=1)[0]], 2, "think (18)"),
        (["1 2 3 4"], 1, "procs (5)"),
        (["; x", "", row(1), row(2).replace("3600", "36o0")], 4, "estimate (9)"),
        ([row(1).replace("100", "nan", 1)], 1, "runtime (4)"),
        ([row(1).replace("100", "1e18", 1)], 1, "runtime (4)"),
        ([row(1).replace("100", "-inf", 1)], 1, "runtime (4)"),
        ([row("1.5")], 1, "job (1)"),
        ([row(99999999999999999999)], 1, "job (1)"),
        ([row(1).replace(" 3 2", " 3000000000 2")], 1, "user (12)"),
        ([row(1, 1700000000000)], 1, "submit (2)"),
    ],
)
def test_errors_name_line_and_field(log, lines, line, field):
    with pytest.raises(TraceError) as caught:
        onega.read(write(log, *lines))
    assert (caught.value.path, caught.value.line) == (str(log), line)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_long_ids_are_exact(log):
    ids = [2**63 - 1, 2**53 + 1, 10**18 + 7]
    read = onega.read(write(log, *(row(job) for job in ids)))
    assert read.table["job"].to_list() == ids


def test_null_free_columns_stay_null_free(log):
    table = onega.read(write(log, row(1), row(2))).table
    full = [name for name in table.columns if name not in ("after", "think")]
    assert table.select(full).null_count().sum_horizontal().item() == 0


plain_rows = st.lists(
    st.tuples(
        st.integers(0, 10**17),
        *[st.one_of(st.just(-1), st.integers(0, 10**9)) for _ in range(9)],
        st.integers(-1, 7),
        *[st.one_of(st.just(-1), st.integers(0, 10**6)) for _ in range(7)],
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(rows=plain_rows, fields=st.integers(5, 18), compiled=st.booleans())
def test_like_the_naive_reader(tmp_path_factory, rows, fields, compiled):
    text = "\n".join(" ".join(map(str, one[:fields])) for one in rows)
    path = tmp_path_factory.mktemp("swf") / "a.swf"
    path.write_text(text)
    every = naive_swf.read(text)
    repeated = naive_clean.repeated(every)
    expected = [row for number, row in enumerate(every) if number not in repeated]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf_reader, "SMALL", -1 if compiled else 1 << 30)
        table = onega.read(path, "swf").table
    columns = [name for name in naive_swf.COLUMNS if name in table.columns]
    assert table.select(columns).to_dicts() == expected


@pytest.mark.parametrize("small", [1 << 30, -1])
def test_many_blocks_give_the_same_table(tmp_path, monkeypatch, small):
    from onega.traces import files

    lines = [
        f"{n} {n * 3} {n % 7 - 1} {n % 50} {n % 9 - 1} 1.25 -1 4 -1 -1 {n % 7 - 1}" + " 1" * 7
        for n in range(1, 3000)
    ]
    for at in (0, 700, 2500):
        lines.insert(at, f"; Note: here {at}")
    text = "\n".join(lines)
    path = tmp_path / "many.swf"
    path.write_text(text)
    monkeypatch.setattr(files, "BLOCK", 4096)
    monkeypatch.setattr(swf_reader, "SMALL", small)
    read = onega.read(path)
    assert read.table.select(naive_swf.COLUMNS).to_dicts() == naive_swf.read(text)
    assert len(read.meta.header) == 3
    assert read.table["submit"].n_chunks() == 1


def test_line_numbers_across_blocks(tmp_path, monkeypatch):
    from onega.traces import files

    monkeypatch.setattr(files, "BLOCK", 256)
    lines = [row(n) for n in range(1, 200)]
    lines[150] = lines[150].replace("3600", "x")
    with pytest.raises(TraceError, match="line 151, field estimate"):
        onega.read(write(tmp_path / "a.swf", *lines))


def test_column_that_starts_late_and_mixed_nulls(tmp_path, monkeypatch):
    from onega.traces import files

    monkeypatch.setattr(files, "BLOCK", 512)
    head = "{n} {n} 0 5 4 -1 -1 -1 -1 -1 1 {user} 1 1 1 1 -1 -1"
    users = [-1] * 60 + [5] * 60 + [-1] * 60
    lines = [head.format(n=n + 1, user=user) for n, user in enumerate(users)]
    table = onega.read(write(tmp_path / "a.swf", *lines)).table
    assert table["user"].to_list() == [None if user < 0 else user for user in users]
    assert table["user"].dtype == pl.Int32

"""What dominates a log: by user, account, queue, partition, state, month; under the log's names."""

import json

import polars as pl
import pytest

import onega
from onega import Meta, TraceError, Workload
from onega.cli import main
from onega.traces.description.sentences import sentences
from onega.traces.description.shares import breakdown

HOUR = 3600.0


def made(**meta):
    """Three users: ann has the most jobs, bob the most hours; a job without a user; two months."""
    table = {
        "submit": [0.0, 10.0, 20.0, 30.0, 40 * 86400.0],
        "runtime": [HOUR, HOUR, 10 * HOUR, 4 * HOUR, None],
        "procs": [1, 1, 8, 2, 4],
        "user": [7, 7, 9, 11, None],
        "group": [1, 1, 2, 2, None],
        "queue": [3, 3, 3, 4, 4],
        "partition": [1, 1, 1, 1, 1],
        "status": ["completed", "failed", "completed", "timeout", "cancelled"],
    }
    labels = {
        "user": {7: "ann", 9: "bob"},
        "group": {1: "physics", 2: "biology"},
        "queue": {3: "normal", 4: "long"},
        "partition": {1: "batch"},
    }
    return Workload(table, Meta(epoch=1_700_000_000.0, timezone="UTC", labels=labels, **meta))


def test_by_processor_hours():
    rows = breakdown(made(), "user").rows(named=True)
    # Hours by hand: bob 80, user 11 (without a name) 8, ann 2, unknown 0 of 90.
    assert [(row["name"], row["jobs"], row["hours"]) for row in rows] == [
        ("bob", 1, 80.0),
        ("11", 1, 8.0),
        ("ann", 2, 2.0),
        ("unknown", 1, 0.0),
    ]
    assert [row["job_share"] for row in rows] == [0.2, 0.2, 0.4, 0.2]
    assert [row["hour_share"] for row in rows] == pytest.approx([80 / 90, 8 / 90, 2 / 90, 0])
    assert [row["cumulative"] for row in rows] == pytest.approx([80 / 90, 88 / 90, 1, 1])


def test_by_jobs():
    rows = breakdown(made(), "user", order="jobs").rows(named=True)
    assert [row["name"] for row in rows] == ["ann", "bob", "11", "unknown"]
    assert [row["cumulative"] for row in rows] == pytest.approx([0.4, 0.6, 0.8, 1.0])


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("account", ["biology", "physics", "unknown"]),
        ("group", ["biology", "physics", "unknown"]),
        ("queue", ["normal", "long"]),
        ("qos", ["normal", "long"]),
        ("partition", ["batch"]),
        ("state", ["completed", "timeout", "failed", "cancelled"]),
        ("month", ["2023-11", "2023-12"]),
    ],
)
def test_by_everything(by, names):
    table = breakdown(made(), by)
    assert table["name"].to_list() == names
    assert table["jobs"].sum() == 5
    assert table["hours"].sum() == 90.0


def test_months_are_those_of_the_machine():
    log = Workload(
        {"submit": [0.0], "runtime": [1.0], "procs": [1]},
        Meta(epoch=1_706_742_000.0, timezone="Europe/Berlin"),  # 31 January, 23:00 UTC
    )
    assert breakdown(log, "month")["name"].to_list() == ["2024-02"]


def test_what_a_log_does_not_tell():
    log = Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]})
    with pytest.raises(TraceError, match="can't count by account: the log doesn't tell accounts"):
        breakdown(log, "account")
    with pytest.raises(TraceError, match="can't count by 'acount'; did you mean 'account'"):
        breakdown(log, "acount")
    with pytest.raises(TraceError, match="accepted: hours, jobs"):
        breakdown(made(), "user", order="area")
    description = onega.describe(log)
    assert description.shares is None
    assert "by_user" not in description.summary()


def test_in_the_description():
    description = onega.describe(made(procs=16, unfinished={"RUNNING": 3}))
    flat = description.summary()
    assert flat["by_user"][0]["name"] == "bob"
    assert [row["name"] for row in flat["by_month"]] == ["2023-11", "2023-12"]
    assert [row["name"] for row in flat["active_users"]] == ["ann", "bob", "11"]
    assert flat["unfinished"] == [{"state": "RUNNING", "jobs": 3}]
    assert description.table("by_account")["name"].to_list() == ["biology", "physics", "unknown"]
    said = " ".join(sentences(description))
    assert "1 user of 4 used 88.9 % of the processor hours (bob: 88.9 %)" in said
    assert "1 account of 3 had 97.8 % of the processor hours (biology: 97.8 %)" in said
    assert "not counted here: 3 RUNNING" in said
    assert description.plot("users").data[0].x == ("ann", "bob", "11")


def test_demands_are_described():
    log = Workload(
        {
            "submit": [0.0, 1.0],
            "runtime": [HOUR, 2 * HOUR],
            "procs": [4, 8],
            "requested_memory": [2.0**30, None],
            "demand_gpus": [0, 4],
            "demand_nodes": [1, 2],
        }
    )
    description = onega.describe(log)
    rows = {row["resource"]: row for row in description.summary()["demands"]}
    assert rows["gpus"] == {
        "resource": "gpus", "jobs": 1, "job_share": 0.5, "mean": 4.0, "largest": 4.0, "hours": 8.0,
    }  # fmt: skip
    assert (rows["nodes"]["mean"], rows["nodes"]["hours"]) == (1.5, 5.0)
    assert (rows["memory"]["jobs"], rows["memory"]["mean"]) == (1, 4.0)
    assert "50.0 % of the jobs use GPUs, up to 4 each: 8 GPU hours." in list(sentences(description))


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code, capsys.readouterr()


@pytest.fixture
def path(tmp_path):
    onega.write(made(), tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


def test_the_command(path, capsys):
    code, said = run(capsys, "describe", path, "--by", "account")
    assert code == 0
    assert "By account, most hours first" in said.out
    assert [word for word in said.out.split() if word in ("biology", "physics")] == [
        "biology",
        "physics",
    ]
    code, said = run(capsys, "describe", path, "--by", "user", "--order", "jobs", "--json")
    found = json.loads(said.out)
    assert (found["by"], [row["name"] for row in found["rows"]][:2]) == ("user", ["ann", "bob"])
    code, said = run(capsys, "describe", path, "--by", "rack")
    assert (code, said.out) == (2, "")
    assert "can't count by 'rack'" in said.err
    code, said = run(capsys, "describe", path, "--by", "user", "--brief")
    assert code == 2


def test_the_whole_screen_has_names_only(path, capsys):
    code, said = run(capsys, "describe", path)
    assert code == 0
    for title in ("By user", "By account", "By queue", "By state", "By month"):
        assert f"{title}, " in said.out
    assert "user 7" not in said.out
    assert "ann" in said.out


def test_the_report_has_them():
    pytest.importorskip("plotly")
    from types import SimpleNamespace

    from onega.report.sections.load import people_section

    answers = SimpleNamespace(description=onega.describe(made(procs=16)), grouping=None)
    tables = {one.title: one for one in people_section(answers).blocks if hasattr(one, "rows")}
    assert [row[0] for row in tables["By user"].rows] == ["bob", "11", "ann", "unknown"]
    assert tables["By account"].columns[-1] == "cumulative"
    assert [row[0] for row in tables["The users with the most jobs"].rows] == ["ann", "bob", "11"]
    unknown = made().with_columns(pl.lit(None, dtype=pl.Int32).alias("user"), note="users unknown")
    blocks = people_section(SimpleNamespace(description=onega.describe(unknown))).blocks
    assert "By account" in [getattr(one, "title", "") for one in blocks]

"""``onega simulate`` on a detailed machine: files, remarks, and refusals that leave nothing."""

from __future__ import annotations

import json

import polars as pl
import pytest

from onega.cli.app import main
from onega.cli.scheduling.simulate.screen import _mishaps

LOG = """\
; MaxProcs: 8
; UnixStartTime: 0
1 0 -1 100 4 -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1
2 5 -1 100 8 -1 -1 8 120 -1 1 1 1 1 1 1 -1 -1
3 9 -1 100 2 -1 -1 2 120 -1 1 2 1 1 2 1 -1 -1
4 9 -1 100 2 -1 -1 2 120 -1 1 2 1 1 2 1 3 50
5 9 -1 100 2 -1 -1 2 120 -1 1 2 1 1 2 1 77 50
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "events.csv").write_text("time,event,node,job\n50,fail,7-8,\n60,return,7,\n")
    return tmp_path


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as left:
        main(["simulate", "log.swf", "--policy", "easy", *arguments])
    said = capfd.readouterr()
    return left.value.code, said.out, said.err


def test_events_and_the_log_of_events(folder, capfd):
    code, out, err = run(capfd, "--events", "events.csv", "--out", "run", "--json")
    assert code == 0, err
    assert json.loads(out)["node_failures"] == 2
    assert "jobs.csv, system.csv, events.csv and summary.json are in run" in err
    told = pl.read_csv(folder / "run" / "events.csv")
    assert told.columns == ["time", "event", "job", "node"]
    assert told.filter(pl.col("event") == "failed")["node"].to_list() == [7, 8]
    assert "state" in pl.read_csv(folder / "run" / "jobs.csv").columns
    assert json.loads(out)["unstarted_jobs"] == 1  # job 2 needs all eight, and node 8 stays down


@pytest.mark.parametrize("lines", ["0,down,8", "0,down,5\n0,down,3"])
def test_a_machine_that_is_down_before_the_first_job(folder, capfd, lines):
    """A valid file of one line; it once wrote outside an array."""
    (folder / "all.csv").write_text(f"time,event,procs\n{lines}\n")
    code, out, err = run(capfd, "--events", "all.csv", "--out", "run", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["unstarted_jobs"] == 5
    assert told["makespan"] == 9.0  # to the last submission
    code, out, err = run(capfd, "--events", "all.csv")
    assert code == 0, err
    assert "nan" not in out
    assert "-0" not in out


def test_jobs_that_wait_for_ever_are_said_before_the_waits_of_the_others(folder, capfd):
    """Job 2 needs all eight processors, one of which stays down; the others start."""
    out = run(capfd, "--events", "events.csv")[1]
    warning = "1 of 5 jobs never ran to an end, still waiting when nothing more could happen;"
    said = " ".join(out.split())
    assert f"! {warning} waits are of the 4 jobs that started." in said
    assert said.index(warning) < said.index("mean wait")
    assert "Waits are of all jobs" not in said
    told = json.loads(run(capfd, "--events", "events.csv", "--json")[1])
    assert told["started_jobs"] == 4
    assert told["unstarted_warning"].startswith(warning)
    assert json.loads(run(capfd, "--json")[1])["unstarted_warning"] is None
    (folder / "all.csv").write_text("time,event,procs\n0,down,8\n")
    assert "; none started." in " ".join(run(capfd, "--events", "all.csv")[1].split())


def test_dependencies_and_who_is_missing(folder, capfd):
    code, out, err = run(capfd, "--dependencies", "--json")
    assert code == 0
    assert "noted 1: the job they wait for isn't in the workload" in err
    assert json.loads(out)["completed_jobs"] == 5


def test_patience_is_a_law(folder, capfd):
    code, out, _ = run(capfd, "--patience", "1s", "--json")
    assert code == 0
    assert json.loads(out)["cancelled_jobs"] == 2  # 2 doesn't fit beside 1, 5 not beside 1, 3, 4
    code, _, err = run(capfd, "--patience", "never")
    assert code == 2
    assert "neither a duration" in err


def test_moldable_jobs_by_a_law_or_a_table(folder, capfd):
    code, _, err = run(capfd, "--moldable", "amdahl(0.001)", "--out", "run", "--json")
    assert code == 0, err
    assert pl.read_csv(folder / "run" / "jobs.csv")["procs"][0] == 8  # not 4: over sooner so
    (folder / "shapes.csv").write_text("job,procs,runtime\n2,1,700\n")
    code, _, err = run(capfd, "--moldable", "shapes.csv", "--out", "other", "--json")
    assert code == 0, err
    assert pl.read_csv(folder / "other" / "jobs.csv")["procs"].to_list() == [4, 1, 2, 2, 2]
    code, _, err = run(capfd, "--moldable", "amdahl", "--out", "none")
    assert code == 2
    assert "amdahl: no such file, nor a law such as amdahl(0.05)" in err
    code, _, err = run(capfd, "--moldable", "amdal(0.05)", "--out", "none")
    assert code == 2
    assert "not a speed-up law: 'amdal(0.05)'; accepted: amdahl(0.05)" in err
    assert not (folder / "none").exists()


def test_demands_and_a_cluster_file(folder, capfd):
    (folder / "cluster.toml").write_text("[resources]\nmatlab = 1\n")
    (folder / "demands.csv").write_text("job,matlab\n1,1\n3,1\n")
    more = ("--cluster", "cluster.toml", "--demands", "demands.csv", "--out", "run")
    assert run(capfd, *more)[0] == 0
    jobs = pl.read_csv(folder / "run" / "jobs.csv")
    assert jobs["start"][2] >= jobs["end"][0]


def test_a_plain_run_writes_no_log_of_events(folder, capfd):
    code, _, err = run(capfd, "--out", "run")
    assert code == 0
    assert sorted(path.name for path in (folder / "run").iterdir()) == [
        "jobs.csv",
        "summary.json",
        "system.csv",
    ]
    assert "jobs.csv, system.csv and summary.json are in run" in err


BAD = {
    "frees more": ("time,event,node\n5,return,3\n", "", "row 1: node 3 is neither down nor"),
    "negative": ("time,event,node\n-5,fail,3\n", "", "row 1: time is at least 0, got -5"),
    "unknown node": ("time,event,node\n5,fail,9\n", "", "there is no node 9; the machine has 8"),
    "unknown job": ("time,event,job\n5,kill,9\n", "", "there is no job 9 in the workload"),
    "no partition": ("", "[[partitions]]\nname = 2\nprocs = 8\n", "describe their partition"),
    "too wide": (
        "",
        "[[partitions]]\nname = 1\nprocs = 4\n[[partitions]]\nname = 2\nprocs = 4\n",
        "wider than partition 1 of 4 processors, with 8 (job 2)",
    ),
    "cap": ("", "power_cap = 50\n[power]\nbusy = 9\nidle = 1\n", "the power cap of 50 W is below"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(folder, capfd, name):
    events, cluster, message = BAD[name]
    more = ["--out", "run"]
    if events:
        (folder / "bad.csv").write_text(events)
        more += ["--events", "bad.csv"]
    if cluster:
        (folder / "cluster.toml").write_text(cluster)
        more += ["--cluster", "cluster.toml"]
    code, out, err = run(capfd, *more)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert not (folder / "run").exists()


def test_circles_are_refused(folder, capfd):
    text = LOG.replace(" -1 -1\n2", " 2 10\n2", 1).replace(" 1 1 -1 -1\n3", " 1 1 1 10\n3", 1)
    (folder / "log.swf").write_text(text)
    code, _, err = run(capfd, "--dependencies", "--out", "run")
    assert code == 2
    assert "dependencies go in a circle: each waits for the next (jobs 1, 2)" in err or (
        "(jobs 2, 1)" in err
    )
    assert not (folder / "run").exists()


def test_work_in_vain_is_a_share_of_all_processors_time():
    numbers = {"interruptions": 3, "lost_work": 80.0, "procs": 8, "makespan": 100.0}
    (row,) = _mishaps(numbers)
    assert row == (
        "interruptions",
        "3",
        "of jobs; work done in vain is 10.0 % of the machine's time",
    )

"""``onega sweep``: what is printed, what is written, how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import polars as pl
import pytest

import onega
from experiment.sweeps import same, write_sweep
from onega.cli.app import main
from onega.cli.scheduling import run_progress
from onega.experiment.sweep.store import stored_keys
from onega.experiment.sweep.sweep import Tally

BODY = '[vary]\npolicy = ["fcfs", "easy"]\nprocs = [4, 16, 20]\n'


@pytest.fixture
def spec(tmp_path):
    return str(write_sweep(tmp_path, BODY))


def run(capsys, *words):
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", *map(str, words)])
    return stopped.value.code, *capsys.readouterr()


def test_a_sweep_from_beginning_to_end(capsys, spec, tmp_path):
    out, table = tmp_path / "out", tmp_path / "runs.csv"
    code, said, remarks = run(capsys, spec, "-o", out, "--table", table)
    assert code == 0
    assert "can't be made" in said
    assert "6 runs in" in remarks
    assert said.count("easy") == 3  # a small sweep is shown run by run
    frame = pl.read_csv(table)
    assert frame.height == 6
    assert frame["error"].drop_nulls().len() == 2  # 4 processors are too few
    expected = onega.Sweep.load(out).to_polars()
    assert frame["mean_wait"].to_list() == expected["mean_wait"].to_list()


def test_runs_in_which_jobs_wait_for_ever_say_so(capsys, tmp_path):
    """All processors go down for good; without that column few waits would look short."""
    (tmp_path / "events.csv").write_text("time,event,procs\n100,down,16\n")
    body = '[vary]\npolicy = ["fcfs", "easy"]\n'
    spec = write_sweep(tmp_path, f'events = "events.csv"\n{body}')
    code, said, _ = run(capsys, spec, "-o", tmp_path / "out")
    assert code == 0
    assert "unstarted jobs" in said
    assert "unstarted" not in run(capsys, write_sweep(tmp_path, body), "-o", tmp_path / "all")[1]


def test_json_is_one_object_and_nothing_else(capsys, spec, tmp_path):
    code, said, remarks = run(capsys, spec, "-o", tmp_path / "out", "--json")
    numbers = json.loads(said)
    assert code == 0
    assert (numbers["runs"], numbers["done"], numbers["failed"]) == (6, 6, 2)
    assert numbers["complete"]
    assert "runs" not in remarks  # no progress in a pipe


def test_a_dry_run_counts_and_writes_nothing(capsys, spec, tmp_path):
    before = sorted(tmp_path.iterdir())
    code, said, _ = run(capsys, spec, "--dry-run", "--json")
    numbers = json.loads(said)
    assert code == 0
    assert (numbers["runs"], numbers["missing"]) == (6, 6)
    assert numbers["core_seconds"] == pytest.approx(6 * numbers["seconds_per_run"])
    assert run(capsys, spec, "--dry-run", "-o", tmp_path / "out")[0] == 0
    assert sorted(tmp_path.iterdir()) == before
    run(capsys, spec, "-o", tmp_path / "out")
    code, said, _ = run(capsys, spec, "--dry-run", "-o", tmp_path / "out", "--json")
    assert json.loads(said)["missing"] == 0


def test_status_reads_a_folder(capsys, spec, tmp_path):
    out = tmp_path / "out"
    run(capsys, spec, "-o", out)
    with contextlib.closing(sqlite3.connect(out / "runs.sqlite")) as db, db:
        db.execute("DELETE FROM runs WHERE rowid = 1")
    code, said, _ = run(capsys, "--status", out, "--json")
    assert code == 0
    assert json.loads(said)["missing"] == 1
    code, said, _ = run(capsys, "--status", out)
    assert "running now" in said


def test_workers_of_every_kind_give_the_same(capsys, spec, tmp_path):
    tables = []
    for name, words in {"a": (), "b": ("--threads", "1"), "c": ("--workers", "2")}.items():
        assert run(capsys, spec, "-o", tmp_path / name, *words)[0] == 0
        tables.append(onega.Sweep.load(tmp_path / name).to_polars())
    assert same(tables[0], tables[1])
    assert same(tables[0], tables[2])


def test_figures(capsys, spec, tmp_path):
    code, _, remarks = run(capsys, spec, "-o", tmp_path / "out", "--figures", tmp_path / "pictures")
    assert code == 0
    assert "3 figures" in remarks
    page = (tmp_path / "pictures" / "sweep.html").read_text()
    assert "Mean wait over processors" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "what is to be swept?"),
        (("SPEC",), "where shall the runs be kept?"),
        (("SPEC", "-o", "out", "--threads", "2", "--workers", "2"), "give one of --threads"),
        (("SPEC", "-o", "out", "--table", "runs.xlsx"), "a table ends in .csv or .parquet"),
        (("SPEC", "-o", "log.swf"), "is a file; a sweep needs a folder"),
        (("SPEC", "-o", "."), "isn't empty and isn't a sweep"),
        (("--status", "nowhere"), "isn't a sweep"),
        (("SPEC", "--status", "out"), "--status DIR stands alone"),
        (("nowhere.toml", "-o", "out"), "nowhere.toml"),
        (("bad.toml", "-o", "out"), "bad.toml: unknown key 'procz' in vary; did you mean 'procs'?"),
        (("empty.toml", "-o", "out"), "empty.toml: vary.procs is empty"),
        (("SPEC", "-o", "out", "--workers", "0"), "--workers"),
        (("SPEC", "-o", "out", "--dask", "nonsense"), "no Dask scheduler answers at nonsense"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(capsys, spec, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[vary]\nprocz = [1]\n")
    (tmp_path / "empty.toml").write_text("[vary]\nprocs = []\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, remarks = run(capsys, *(spec if word == "SPEC" else word for word in words))
    assert code == 2
    assert out == ""
    assert said in remarks
    assert "Traceback" not in remarks
    kept = sorted(path.name for path in tmp_path.iterdir() if path.name != "out")
    assert kept == [name for name in before if name != "out"]
    assert not (tmp_path / "out" / "runs.sqlite").exists()


def test_another_sweep_is_not_overwritten_unless_told(capsys, spec, tmp_path):
    out = tmp_path / "out"
    run(capsys, spec, "-o", out)
    write_sweep(tmp_path, BODY.replace("[4, 16, 20]", "[16, 24]"))
    code, _, remarks = run(capsys, spec, "-o", out)
    assert code == 2
    assert "vary.procs was [4,16,20], now is [16,24]" in remarks
    assert "--replace-spec" in remarks
    assert len(onega.Sweep.load(out)) == 6
    code, _, _ = run(capsys, spec, "-o", out, "--replace-spec")
    assert code == 0
    assert len(onega.Sweep.load(out)) == 4


def test_runs_that_are_lost_are_named_and_the_code_says_no(capsys, spec, tmp_path, monkeypatch):
    from onega.experiment.sweep import run as sweep_run

    measure = sweep_run.measure

    def hungry(run, sources):
        if run.parameters["procs"] == 20:
            raise MemoryError
        return measure(run, sources)

    with monkeypatch.context() as patched:
        patched.setattr(sweep_run, "measure", hungry)
        code, _, remarks = run(capsys, spec, "-o", tmp_path / "out")
    assert code == 1
    assert "run 2: MemoryError" in remarks
    assert "tries the missing runs again" in remarks
    assert run(capsys, spec, "-o", tmp_path / "out")[0] == 0


def test_combinations_that_cannot_be_are_said_beforehand(capsys, tmp_path):
    body = (
        "cluster.rate_control = {kind = 'queue', rates = [1.0, 2.0]}\n[vary]\n"
        "cluster.rate_control.k_low = [1, 5]\ncluster.rate_control.k_high = [3, 9]\n"
    )
    spec = write_sweep(tmp_path, body)
    code, _, remarks = run(capsys, spec, "-o", tmp_path / "out")
    assert code == 0
    assert "1 run can't be made, e.g.: k_low must not exceed k_high" in remarks


def test_ctrl_c_ends_soon_and_keeps_what_is_finished(tmp_path):
    body = '[vary]\npolicy = ["easy"]\nload = {from = 0.8, to = 0.9, count = 300}\n'
    spec = write_sweep(tmp_path, body, jobs=20_000)
    code = "import sys; from onega.cli.app import main; main(sys.argv[1:])"
    driver = subprocess.Popen(
        [sys.executable, "-c", code, "sweep", str(spec), "-o", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 240
    while not stored_keys(tmp_path / "out"):
        assert time.monotonic() < deadline
        assert driver.poll() is None
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGINT)
    _, remarks = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "stopped" in remarks
    assert "Traceback" not in remarks
    assert 0 < onega.Sweep.load(tmp_path / "out").summary()["done"] < 300


@pytest.mark.parametrize(
    ("tally", "said"),
    [
        (Tally(200), "0 of 200 runs"),
        (Tally(200, 20, 100, 0, 0, 10.0), "120 of 200 runs, 10 a second, 8 s left"),
        (
            Tally(1000, 0, 100, 2, 1, 50.0),
            "100 of 1,000 runs, 2 a second, 7.49 min left, 2 can't be made, 1 lost",
        ),
    ],
)
def test_progress_in_words(tally, said):
    assert run_progress.tally_sentence(tally) == said


def test_lines_in_a_log_are_few(capsys, monkeypatch):
    monkeypatch.setattr(run_progress, "EVERY", 0.0)
    with run_progress.runs_progress("sweeping") as tell:
        tell(Tally(10, 0, 5, seconds=1.0))
    assert capsys.readouterr().err == "onega: sweeping: 5 of 10 runs, 5 a second, 1 s left\n"
    with run_progress.runs_progress("sweeping", silent=True) as tell:
        tell(Tally(10, 0, 5, seconds=1.0))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(run_progress, "EVERY", 30.0)
    with run_progress.runs_progress("sweeping") as tell:
        tell(Tally(10, 0, 5, seconds=1.0))
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with run_progress.runs_progress("sweeping") as tell:
        tell(Tally(10, 0, 5, seconds=1.0))
    assert "5 of 10 runs, 5 a second, 1 s left" in capsys.readouterr().err

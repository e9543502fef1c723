"""What somebody who tried the command for the first time ran into."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import onega
from onega.cli import console

ONEGA = Path(sys.executable).with_name("onega")


def run(*arguments):
    return subprocess.run(
        [str(ONEGA), *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False
    )


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    jobs = onega.Workload(
        {
            "submit": range(0, 600, 10),
            "runtime": [0.0, *range(1, 60)],
            "procs": [1, 2, 4] * 20,
            "wait": [0.0] * 60,
        }
    )
    onega.write(jobs.with_machine(8), path)
    return path


def refused(done, *words):
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_convert_does_not_overwrite_what_it_reads(log, tmp_path):
    before = log.read_bytes()
    refused(run("convert", log, log), "is the log itself")
    link = tmp_path / "link.swf"
    link.symlink_to(log)
    refused(run("convert", log, link), "is the log itself")
    assert log.read_bytes() == before


def test_a_machine_beyond_all_bounds(log):
    refused(run("simulate", log, "--procs", 10**20), "at most", "processors")


@pytest.mark.parametrize(("flag", "value"), [("--ties", "evnt"), ("--knowledge", "runtim")])
def test_bad_words_are_refused_before_reading(log, flag, value):
    done = run("simulate", log, flag, value)
    refused(done, "did you mean")
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_class_is_not_skipped():
    refused(run("stability", "--classes", "0.5,,0.5", "--procs", "2"), "not a number")


def test_few_jobs_have_no_worst_ten(log, tmp_path):
    ten = tmp_path / "ten.swf"
    onega.write(onega.read(log).head(10), ten)
    done = run("adequacy", ten, "--simulate", "easy")
    assert done.returncode == 0, done.stderr
    assert "easy" in done.stdout


def test_fit_says_what_it_leaves_out(log, tmp_path):
    done = run("fit", "independent", log, "-o", tmp_path / "m.json", "--json")
    assert done.returncode == 0, done.stderr
    assert "left out 1 of 60 jobs" in done.stderr


def test_jobs_without_a_log(tmp_path):
    path = tmp_path / "jobs.swf"
    done = run("sample", "lublin", "-n", 500, "--procs", 64, "--seed", 1, "-o", path)
    assert done.returncode == 0, done.stderr
    assert "published parameters" in done.stderr
    drawn = onega.read(path)
    assert (len(drawn), drawn.meta.procs) == (500, 64)
    again = onega.models.Lublin().sample(500, rng=1, cluster=64)
    assert drawn.column("procs").tolist() == again.column("procs").tolist()


def test_other_models_have_to_be_fitted(tmp_path):
    done = run("sample", "markov", "-n", 5, "-o", tmp_path / "jobs.swf")
    refused(done, "onega fit markov LOG")
    assert not list(tmp_path.iterdir())


def test_figures_that_cannot_be_written_are_refused_before_the_run(log, tmp_path):
    out = tmp_path / "out"
    done = run("simulate", log, "--out", out, "--figures", log)
    refused(done, "can't be a folder")
    assert done.stdout == ""
    assert not out.exists()


@pytest.mark.parametrize("words", [("report", "LOG", "-o"), ("demo", "--out")])
def test_places_of_reports_are_looked_at_first(words, log, tmp_path):
    done = run(*(log if word == "LOG" else word for word in words), log / "below" / "x.html")
    refused(done, "can't be a folder")
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_table_of_moldable_jobs_is_called_missing(log):
    refused(run("simulate", log, "--moldable", "shapes.csv"), "shapes.csv: no such file")


def test_one_job_is_one_job(log, tmp_path):
    alone = tmp_path / "alone.swf"
    onega.write(onega.read(log).select(pl.col("runtime") == 7), alone)
    assert "8 processors, 1 job," in run("simulate", alone).stdout


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_compiling_is_said_once_and_to_people_only(terminal, quiet, monkeypatch, capsys):
    monkeypatch.setattr(console, "_said_compiling", False)
    monkeypatch.setattr(console, "_quiet", quiet)
    monkeypatch.setattr(console, "err", lambda: SimpleNamespace(is_terminal=terminal))
    console.say_compiling()
    console.say_compiling()
    assert capsys.readouterr().err.count("compiling") == (terminal and not quiet)


def test_helps_wrap_where_the_terminal_ends_and_flags_have_no_type():
    told = run("simulate", "--help").stdout
    assert "<bool>" not in told
    assert "with a clock that slows down" in " ".join(told.split())
    lines = [line.strip() for line in told.splitlines()]
    assert "with a clock that" not in lines  # the source's line, broken by the terminal's width

"""What somebody who tried the command for the first time ran into."""

import subprocess
import sys
from pathlib import Path

import pytest

import onega

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

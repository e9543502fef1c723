"""`onega describe` as people and scripts call it."""

from __future__ import annotations

import json

import pytest

import onega
from cut_logs import BUSY_OF_ALL, hourly
from onega.cli.app import main
from traces.description.logs import full_log, small_log


@pytest.fixture
def run(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main([str(one) for one in arguments])
        said = capsys.readouterr()
        return leaving.value.code, said.out, said.err

    return call


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    onega.write(full_log(), path)
    return path


def test_first_screen_then_details(run, log):
    code, out, _ = run("describe", log)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "log.swf"
    assert "400 jobs by 14 users on 16 processors" in lines[1]
    bullets = [number for number, line in enumerate(lines) if line.startswith("  • ")]
    tables = [number for number, line in enumerate(lines) if line.startswith("┏")]
    assert 5 <= len(bullets) <= 10
    assert max(bullets) < min(tables)
    for title in ("Distributions", "Shape of the jobs", "Relations in time", "Estimates",
                  "Users by number", "Hours of the day, Europe/Stockholm"):  # fmt: skip
        assert title in out


def test_brief_is_the_first_screen(run, log):
    _, out, _ = run("describe", log, "--brief")
    assert "┏" not in out
    assert len(out.splitlines()) < 15


def test_tables_fit_eighty_columns(run, log):
    _, out, _ = run("describe", log)
    assert max(len(line) for line in out.splitlines() if line[:1] in "┏┡│└") <= 80


def test_json_is_one_flat_object_equal_to_the_summary(run, log):
    code, out, _ = run("describe", log, "--json")
    assert code == 0
    printed = json.loads(out)
    expected = onega.describe(onega.read(log)).summary()
    assert printed.keys() == expected.keys()
    assert printed["same_procs"] == expected["same_procs"]
    assert printed["users"] == 14


def test_the_machines_size_can_be_given(run, log):
    _, out, _ = run("describe", log, "--json", "--procs", 32)
    plain = onega.describe(onega.read(log)).load.offered_load
    assert json.loads(out)["offered_load"] == pytest.approx(plain / 2)


def test_figures_are_written_and_named(run, log, tmp_path):
    code, _, err = run("describe", log, "--brief", "--figures", tmp_path / "figures")
    assert code == 0
    assert (tmp_path / "figures" / "describe.html").stat().st_size > 1_000_000
    assert "12 figures in" in err


def test_what_is_missing_is_said(run, tmp_path):
    path = tmp_path / "poor.swf"
    onega.write(small_log(), path)
    code, out, err = run("describe", path, "--figures", tmp_path)
    assert code == 0
    assert "Not measured" in out
    assert "estimates: the log has no estimated run times" in out
    assert "figure accuracy left out" in err


@pytest.mark.parametrize("text", ["; MaxProcs: 4\n", ""])
def test_a_log_without_jobs_is_one_line_and_code_2(run, tmp_path, text):
    path = tmp_path / "empty.swf"
    path.write_text(text)
    code, out, err = run("describe", path)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "empty.swf" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe"], "Missing argument 'TRACE'"),
        (["describe", "x", "--colour"], "No such option: --colour"),
        (["descrbe", "x"], "Did you mean 'describe'?"),
        (["describe", "x", "--procs", "many"], "--procs"),
        (["describe", "absent.swf"], "absent.swf: no such file"),
    ],
)
def test_misuse_is_one_line_and_code_2(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_the_first_screen_speaks_of_what_there_is(run, tmp_path):
    path = tmp_path / "small.swf"
    onega.write(small_log(wait=[0.0, 0.0, 9.0]), path)
    _, out, _ = run("describe", path, "--brief")
    assert "with --procs N its load is shown" in out
    assert "Half of the jobs didn't wait" in out
    assert "Most jobs come at" not in out  # 30 seconds say nothing about hours


def test_more_asked_for_than_there_is_is_said(run, log):
    _, out, _ = run("describe", log, "--brief", "--procs", 1)
    assert "  • 1 processor can't be right, unless jobs shared processors: " in out.splitlines()[3]
    assert "busy (more than there is)" in out


def test_the_first_screen_measures_a_window_and_says_which(run, tmp_path):
    path = tmp_path / "hourly.swf"
    onega.write(hourly(), path)
    _, out, _ = run("describe", path, "--brief")
    assert "it was 90 % busy, 1 January 2024 08:00 to 22 January 2024 00:00" in out
    assert "1 job of the log" not in out
    assert "9 jobs of the log still ran at its last submission; the last of them ended" in out
    found = json.loads(run("describe", path, "--json")[1])
    assert found["utilisation"] == pytest.approx(BUSY_OF_ALL)  # of all of it, as before
    assert found["window_utilisation"] == pytest.approx(0.9)
    assert len(found["warnings"]) == 1
    _, out, _ = run("describe", path, "--brief", "--window", "whole")
    assert "it was 31 % busy" in out


@pytest.mark.parametrize("command", ["describe", "simulate"])
def test_a_window_outside_the_log_is_refused(run, tmp_path, command):
    """The last submission of 21 days is before the window begins."""
    path = tmp_path / "hourly.swf"
    onega.write(hourly(), path)
    code, out, err = run(command, path, "--procs", 10, "--window", "200d..300d")
    assert (code, out) == (2, "")
    assert "no job was submitted in the window from 1.728e+07 to 2.592e+07 s" in err


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ([0.0] * 50, "No job waited."),
        ([0.0] * 49 + [120.0], "2.0 % of the jobs waited at all, the longest 2 min."),
        ([0.0] * 25 + [60.0] * 25, "Half of the jobs waited 30 s or less; one in twenty waited"),
    ],
)
def test_who_waits_is_said_as_it_is(run, tmp_path, waits, said):
    path = tmp_path / "log.swf"
    jobs = {"submit": [10.0 * job for job in range(50)], "runtime": [1.0] * 50, "procs": [1] * 50}
    onega.write(onega.Workload({**jobs, "wait": waits}), path)
    assert f"  • {said}" in run("describe", path, "--brief")[1]


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        # They ran 60, 60 and 5 s.
        ([60.0, 31.0, 9.0], "33.3 % ran longer than asked for, by 29 s at most."),
        ([60.0, 60.0, 9.0], "none ran longer than asked for."),
    ],
)
def test_by_how_much_jobs_ran_longer_is_said(run, tmp_path, estimate, said):
    path = tmp_path / "log.swf"
    onega.write(small_log(estimate=estimate), path)
    assert said in run("describe", path, "--brief")[1]


def test_a_log_of_one_day_has_one_date(run, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "job,submit,runtime,procs\n1,2024-01-08 08:15:00,9,1\n2,2024-01-08 16:48:00,9,1\n"
    )
    opening = run("describe", path, "--brief")[1].splitlines()[1]
    assert opening == "2 jobs, 8 January 2024, 08:15 to 16:48 (UTC)."

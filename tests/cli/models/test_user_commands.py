"""onega groups, feedback, closed-loop."""

from __future__ import annotations

import json

import pytest

import onega
from experiment.users.logs import grouped_log, planted_log, taking_turns
from onega.cli.app import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    onega.write(grouped_log(), folder / "grouped.swf")
    onega.write(planted_log(1, reaction=-0.5), folder / "planted.swf")
    return folder


def test_groups(paths, capsys, tmp_path):
    code, out, _ = run(capsys, "groups", str(paths / "grouped.swf"), "-k", "2", "--json")
    assert code == 0
    flat = json.loads(out)
    assert (flat["groups"], flat["users"]) == (2, 40)
    code, out, err = run(capsys, "groups", str(paths / "grouped.swf"), "--figures", str(tmp_path))
    assert code == 0
    assert "40 users" in out
    assert (tmp_path / "groups.html").exists()
    code, _, err = run(capsys, "groups", str(paths / "grouped.swf"), "-k", "99")
    assert code == 2
    assert "groups must be a number from 1 to 40" in err


def test_feedback(paths, capsys, tmp_path):
    path = str(paths / "planted.swf")
    code, out, _ = run(capsys, "feedback", path, "--json")
    assert code == 0
    assert json.loads(out)["WR-_survives"] is True
    code, out, _ = run(capsys, "feedback", path, "--permutations", "0", "--figures", str(tmp_path))
    assert code == 0
    assert "WR-" in out
    assert (tmp_path / "feedback.html").exists()
    code, _, err = run(capsys, "feedback", path, "--hours", "noon")
    assert (code, "13-16" in err) == (2, True)
    code, _, err = run(capsys, "feedback", str(paths / "grouped.swf"))
    assert (code, "no waits" in err) == (2, True)
    assert "Traceback" not in err


def test_closed_loop(paths, capsys):
    path = str(paths / "planted.swf")
    code, out, _ = run(capsys, "closed-loop", path, "--procs", "32", "--seed", "1", "--json")
    assert code == 0
    flat = json.loads(out)
    assert flat["open_jobs"] > 0
    assert flat["closed_mean_wait"] >= 0
    code, out, _ = run(capsys, "closed-loop", path, "--policy", "fcfs", "--seed", "1")
    assert code == 0
    assert "closed loop" in out
    code, _, err = run(capsys, "closed-loop", path, "--policy", "spf-pr")
    assert (code, "preempts" in err) == (2, True)


@pytest.mark.parametrize(("flag", "text"), [("--within", "soon"), ("--groups", ",")])
def test_a_word_that_can_not_be_read_is_told_with_its_flag(paths, capsys, flag, text):
    code, _, err = run(capsys, "closed-loop", str(paths / "planted.swf"), flag, text)
    assert (code, err.count("\n"), flag in err, text in err) == (2, 1, True, True)


def test_groups_of_a_log_that_does_not_say_how_large_the_machine_is(paths, tmp_path, capsys):
    onega.write(onega.read(paths / "grouped.swf"), tmp_path / "grouped.csv")
    code, out, _ = run(capsys, "groups", str(tmp_path / "grouped.csv"), "--procs", "64", "--json")
    assert code == 0
    assert json.loads(out)["users"] == 40


def test_a_closed_loop_of_a_log_that_does_not_say_how_large_the_machine_is(paths, tmp_path, capsys):
    path = str(tmp_path / "planted.csv")
    onega.write(onega.read(paths / "planted.swf"), path)
    code, out, err = run(capsys, "closed-loop", path, "--procs", "32", "--seed", "1", "--json")
    assert code == 0
    assert "how large its machine is" in err
    flat = json.loads(out)
    assert flat["baseline_procs"] == flat["procs"] == 32
    assert flat["closed_mean_wait"] == flat["open_mean_wait"]  # the log comes out, job by job
    code, _, err = run(capsys, "closed-loop", path)
    assert (code, "give --procs N" in err) == (2, True)


def test_regulation(paths, capsys):
    path = str(paths / "turns.swf")
    onega.write(taking_turns(), path)
    code, out, _ = run(capsys, "feedback", path, "--regulation", "--draws", "2", "--json")
    assert code == 0
    assert json.loads(out)["users_moved_by_any_number_of_weeks_ratio"] > 1
    code, out, _ = run(capsys, "feedback", path, "--regulation", "--draws", "2")
    assert (code, "weeks drawn anew" in out) == (0, True)

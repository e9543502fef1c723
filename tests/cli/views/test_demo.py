"""`onega demo`: one table, a report, three commands to try; always the same jobs."""

from __future__ import annotations

import json
import shlex

import pytest

import onega
from onega.cli.app import main, make_command
from onega.cli.views import demo


@pytest.fixture
def run(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main(["demo", *(str(one) for one in arguments)])
        said = capsys.readouterr()
        return leaving.value.code, said.out, said.err

    return call


def test_the_jobs_are_always_the_same():
    one, two = demo.make_jobs(), demo.make_jobs()
    assert one == two
    assert len(one) == demo.JOBS
    assert onega.describe(one).load.offered_load == pytest.approx(demo.LOAD, abs=0.02)


def test_it_speaks_and_writes_a_report_where_it_stands(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run()
    assert code == 0
    assert "5,000 jobs on 128 processors" in out
    assert "Backfilling cuts the mean wait by" in out
    assert "Yes: 55 % of the machine is asked for" in out
    for line in demo.TRY:
        assert line in out
    assert "onega-demo/report.html" in err
    page = (tmp_path / "onega-demo" / "report.html").read_text(encoding="utf-8")
    for name in ("waits", "policies", "power", "usable", "daily", "model-distributions"):
        assert f'<figure class="picture" id="{name}">' in page
    assert "markov-pair: the largest gap" in out
    assert [one.name for one in (tmp_path / "onega-demo").iterdir()] == ["report.html"]


def test_json_agrees_with_the_library(run, tmp_path):
    code, out, _ = run("--json", "--out", tmp_path / "here")
    assert code == 0
    found = json.loads(out)
    log = demo.make_jobs()
    easy = onega.simulate(log, onega.Cluster(128, power=onega.Power(250, 90)), "easy").summary()
    for name in demo.MEASURES:
        assert found[f"easy_{name}"] == easy[name]
    assert found["easy_mean_wait"] < found["fcfs_mean_wait"]
    assert found["easy_slow_energy"] < found["easy_energy"]
    assert found["easy_slow_mean_response"] > found["easy_mean_response"]
    expected = onega.stability(log, procs=128).summary()
    for name in ("rho", "stable", "verdict", "offered_load", "utilisation_at_limit"):
        assert found[name] == expected[name]
    assert 0 < found["model_ks_runtime"] < 0.1
    assert (tmp_path / "here" / "report.html").exists()


def test_the_commands_to_try_exist():

    known = make_command().commands
    for line in demo.TRY:
        words = shlex.split(line)
        assert words[0] == "onega"
        options = {word for one in known[words[1]].params for word in one.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_a_place_that_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("x")
    code, _, err = run("--json", "--out", tmp_path / "file")
    assert code == 2
    assert len(err.splitlines()) == 1

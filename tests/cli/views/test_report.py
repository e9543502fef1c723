"""``onega report``: a page, Markdown, JSON, and one line for what is wrong."""

from __future__ import annotations

import json

import pytest

import onega
from onega.cli import main
from onega.traces.repeats import REPEATED
from report.logs import make_log

QUICK = ("--policies", "fcfs,easy", "--replicates", "2")


@pytest.fixture
def run(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as left:
            main(["report", *(str(word) for word in words)])
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


@pytest.fixture(scope="module")
def log():
    return make_log()


@pytest.fixture
def trace(log, tmp_path):
    path = tmp_path / "site.swf"
    onega.write(log, path)
    return path


def test_a_page_and_json(run, trace, log, tmp_path):
    page, model = tmp_path / "out" / "report.html", tmp_path / "mine.json"
    onega.models.Independent.fit(log, rng=1).save(model)
    code, out, err = run(trace, model, "-o", page, "--json", *QUICK)
    assert code == 0
    found = json.loads(out)
    assert found["jobs"] == 600
    assert "mine.ks_runtime" in found
    assert str(page) in err
    assert "works offline" in err
    assert "What other settings would give" in page.read_text(encoding="utf-8")


def test_markdown_goes_to_the_screen_or_a_file(run, trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(trace, "--format", "md", *QUICK)
    assert code == 0
    assert out.startswith("# A machine of 64 processors\n")
    assert not (tmp_path / "report.html").exists()
    code, quiet, _ = run(trace, "-o", "report.md", *QUICK)
    assert code == 0
    assert quiet == ""
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == out


def test_a_cluster_file_gives_watts_and_size(run, trace, tmp_path):
    machine = tmp_path / "cluster.toml"
    machine.write_text("procs = 80\n[power]\nbusy = [100, 200]\nidle = [10, 20]\n")
    code, out, _ = run(trace, "--cluster", machine, "-o", tmp_path / "r.html", "--json", *QUICK)
    assert code == 0
    found = json.loads(out)
    assert found["procs"] == 80
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The watts are those of the machine as described." in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--format", "pdf"], "accepted: html, md"),
        (["--policies", "fcsf"], "fcsf"),
        (["nowhere.json"], "nowhere.json"),
        (["--format", "md", "--json"], "-o FILE.md"),
        (["--replicates", "1"], "--replicates"),
    ],
)
def test_mistakes_are_one_line(run, trace, words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(trace, *words, *([] if "--replicates" in words else QUICK[2:]))
    assert code == 2
    line = err.strip().splitlines()[-1]
    assert line.startswith("onega: ")
    assert told in line


def test_a_log_that_is_not_there(run):
    code, _, err = run("nowhere.swf")
    assert code == 2
    assert "nowhere.swf" in err


def test_a_cluster_file_is_simulated_and_says_the_size(run, log, tmp_path):
    trace, machine = tmp_path / "unsized.swf", tmp_path / "nodes.toml"
    onega.write(onega.Workload(log.table, onega.Meta(source="unsized.swf")), trace)
    machine.write_text(
        "[[nodes]]\ncount = 16\nprocs = 4\n[[queues]]\nname = 'normal'\ndefault = true\n"
        "[multifactor]\nfair_share = 5\n[power]\nbusy = [150, 250]\nidle = [80, 90]\n"
    )
    page = tmp_path / "r.md"
    code, out, _ = run(trace, "--cluster", machine, "-o", page, "--json", *QUICK[2:])
    assert code == 0
    found = json.loads(out)
    assert found["procs"] == 64
    assert found["described"] == ["nodes", "queues", "multifactor weights"]
    assert found["multifactor+easy_mean_wait"] >= 0
    assert "priorities, fair share and limits per user or queue" not in page.read_text("utf-8")
    code, _, err = run(trace, "--cluster", machine, "--procs", "60", *QUICK)
    assert code == 2
    assert "the nodes have 64 processors together, the machine 60" in err


def test_what_is_left_out_is_said_on_stderr(run, log, tmp_path):
    trace = tmp_path / "twice.csv"
    onega.write(log, trace)
    lines = trace.read_text("utf-8").splitlines()
    trace.write_text("\n".join([*lines, *lines[1:4], ""]), "utf-8")
    code, _, err = run(trace, "-o", tmp_path / "r.md", "--procs", "64", *QUICK)
    assert code == 0
    assert f"dropped 3: {REPEATED}" in err
    assert "kB; its figures are in HTML only" in err
    assert "0.0 MB" not in err

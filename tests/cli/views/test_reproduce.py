"""``onega reproduce …``: tables, pages, JSON, and one line for what is wrong."""

from __future__ import annotations

import json

import pytest

import onega
from onega.cli import main
from reproduce.logs import make_log


def run(*words):
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return left.value.code


@pytest.fixture(scope="module")
def log():
    return make_log()


@pytest.fixture
def trace(log, tmp_path):
    path = tmp_path / "mine.swf"
    onega.write(log.head(400), path)
    return path


def test_limits_on_the_terminal_and_as_a_page(tmp_path, capsys):
    page = tmp_path / "limits.html"
    assert run("reproduce", "limits", "-o", page) == 0
    said = capsys.readouterr()
    assert "ours / printed" in said.out
    assert "32 of 32 printed values" in said.out
    assert str(page) in said.err
    assert "Figure 4" in page.read_text(encoding="utf-8")


def test_song_as_json_and_markdown(trace, tmp_path, capsys):
    page = tmp_path / "song.md"
    assert run("reproduce", "song", trace, "--replicates", 1, "--json", "-o", page) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["Table 2.1/mine/jobs"] == 400
    assert "## Groups of users" in page.read_text(encoding="utf-8")


def test_adequacy_of_a_folder(log, tmp_path, capsys):
    for number in (1, 2):
        onega.write(log, tmp_path / f"run-{number}.swf")
    assert run("reproduce", "adequacy", tmp_path, "--models", "easy", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["Table I/900/P, s"] == 0


def test_models_into_a_folder_and_as_json(log, tmp_path, capsys):
    path, made = tmp_path / "mine.swf.gz", tmp_path / "made.swf"
    onega.write(log, path)
    onega.write(onega.models.Lublin(machine=64).sample(300, rng=1, cluster=64), made)
    words = ["reproduce", "models", path, "--models", "independent,jann", "--seeds", 2]
    words += ["--trace", f"GAN={made},{made}", "--threads", 2, "--json", "-o", tmp_path / "judged"]
    assert run(*words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["logs"] == ["mine"]
    assert found["Table 1/GAN/typical"] > 0
    names = sorted(one.name for one in (tmp_path / "judged").iterdir())
    assert names == ["models.csv", "models.html", "models.md"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["song"], "at least one log"),
        (["rumyantsev-2018"], "krc2.csv.gz"),
        (["adequacy"], "--repeat 2"),
        (["adequacy", "nowhere"], "two runs"),
        (["limits", "-o", "page.pdf"], ".html or .md"),
        (["song", "nowhere.swf"], "nowhere.swf"),
        (["sing"], "sing"),
        (["models"], "at least one log"),
        (["models", "x.swf", "--trace", "GAN"], "NAME=FILE"),
    ],
)
def test_mistakes_are_one_line(words, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("reproduce", *words) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("onega: ")
    assert told in line

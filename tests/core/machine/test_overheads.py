"""Overheads: from laws, text and files; refused in a line where they are wrong."""

from __future__ import annotations

import json

import pytest

import onega
from onega.core.machine.overheads import OVERHEADS, Overheads


def test_text_files_and_the_measured_set(tmp_path):
    laws = Overheads.parse("completion=gamma(mean=2, sd=1); release=1s;report=0.01")
    assert laws == Overheads(0, "gamma(mean=2, sd=1)", release=1, report=0.01)
    path = tmp_path / "laws.json"
    laws.save(path, about="made up")
    assert json.loads(path.read_text())["about"] == "made up"
    assert Overheads.load(path) == Overheads.parse(str(path)) == laws
    measured = onega.Cluster(8, overheads="measured").overheads
    assert measured == Overheads.measured()
    assert all(0 <= getattr(measured, name).mean < 10 for name in OVERHEADS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("nonsense", "neither 'measured', nor a file, nor laws"),
        ("no-such-file.json", "there is no such file"),
        ("/", "is a folder"),
        ("launch=1;launch=2", "launch is given twice"),
        ("luanch=3", "of launch, completion, submission"),
        ("launch=soon", "^launch: .* neither a duration"),
        ("completion=1e12", r"^completion: what a job manager adds is at most 2\.592e\+06 s"),
        ("report=gamma(mean=31d, sd=1d)", "^report: what a job manager adds"),
        ("release=1; completion=-1", "^completion: a law's mean is a number at least 0"),
    ],
)
def test_wrong_text_is_refused(text, words):
    with pytest.raises(onega.SimulationError, match=words):
        Overheads.parse(text)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("[]", "an object"),
        ("{}", "holds no laws"),
        ('{"lunch": "1s"}', "did you mean 'launch'"),
        ('{"launch": {"mean": 1}}', "a law as text or seconds"),
        ('{"launch": "gamma(mean=1)"}', "bad.json: launch: .* doesn't determine"),
        ('{"completion": -1}', "bad.json: completion: a law's mean is a number at least 0"),
        ('{"completion": 1, "completion": 2}', "bad.json: .*'completion' stands there twice"),
    ],
)
def test_wrong_files_are_refused(given, words, tmp_path):
    (tmp_path / "bad.json").write_text(given)
    with pytest.raises(onega.SimulationError, match=words):
        Overheads.load(tmp_path / "bad.json")


def test_a_path_starts_in_its_folder_and_laws_may_be_longer_than_a_path(tmp_path):
    Overheads(launch=3).save(tmp_path / "laws.json")
    assert Overheads.chosen("laws.json", folder=tmp_path) == Overheads(launch=3)
    assert Overheads.chosen(" none ") is None
    with pytest.raises(onega.SimulationError, match="there is no such file"):
        Overheads.chosen("laws.json", folder=tmp_path / "else")
    assert Overheads.parse(f"launch = {' ' * 300} 3") == Overheads(launch=3)


def test_what_has_no_text_is_not_written(tmp_path):
    class Own:
        def draw(self, count, rng):
            return rng.random(count)

    with pytest.raises(onega.SimulationError, match="launch is drawn by"):
        Overheads(Own()).save(tmp_path / "laws.json")

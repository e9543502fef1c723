"""Commands on a full disk: one line, exit code 2, the old file as it was, nothing left beside."""

from __future__ import annotations

import json

import pytest

import onega
from full_disk import full_disk
from onega.cli import main
from onega.models.published.lublin import Lublin

JOBS = 3000
ROOM = 700
"""Bytes that a file may have."""


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.swf"
    onega.write(Lublin().sample(JOBS, rng=1, cluster=64), path)
    return path


def run(capsys, *words, code=0):
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    told = capsys.readouterr()
    assert caught.value.code == code, told.err
    return told


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


COMMANDS = {
    "fit": "fit markov LOG -o OUT/model.json",
    "sample": "sample OUT/model.json -n 500 -o OUT/more.swf",
    "swf": "convert LOG OUT/x.swf",
    "csv": "convert LOG OUT/x.csv",
    "parquet": "convert LOG OUT/x.parquet",
    "gzip": "convert LOG OUT/x.swf.gz",
    "bzip2": "convert LOG OUT/x.swf.bz2",
    "xz": "convert LOG OUT/x.swf.xz",
    "zstd": "convert LOG OUT/x.swf.zst",
    "simulate": "simulate LOG --procs 64 --policy easy --out OUT/run",
    "simulate parquet": "simulate LOG --procs 64 --policy easy --out OUT/run --format parquet",
    "figures": "describe LOG --figures OUT/figures",
    "cluster": "cluster init OUT/cluster.toml",
    "report": "reproduce limits -o OUT/limits.html",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_on_a_full_disk(capsys, tmp_path, log, name):
    out = tmp_path / "out"
    out.mkdir()
    if name == "sample":
        Lublin().save(out / "model.json")
    words = [w.replace("LOG", str(log)).replace("OUT", str(out)) for w in COMMANDS[name].split()]
    run(capsys, *words)  # compiles, and makes the files that have to stay
    if name == "cluster":
        (out / "cluster.toml").unlink()
    before = everything(out)
    with full_disk(ROOM):
        told = run(capsys, *words, code=2)
    assert everything(out) == before
    said = [line for line in told.err.splitlines() if "can't be written" in line]
    assert len(said) == 1, told.err
    assert "File too large" in said[0]
    assert "Traceback" not in told.err
    assert "Exception ignored" not in told.err


def test_nothing_is_left_of_a_first_run(capsys, tmp_path, log):
    out = tmp_path / "new"
    with full_disk(ROOM):
        run(capsys, "simulate", log, "--procs", "64", "--policy", "easy", "--out", out, code=2)
    assert not out.exists()


def test_a_model_that_stood_there_is_still_a_model(capsys, tmp_path, log):
    path = tmp_path / "model.json"
    run(capsys, "fit", "markov", log, "-o", path)
    before = path.read_text()
    with full_disk(ROOM):
        run(capsys, "fit", "markov", log, "-o", path, "--seed", "2", code=2)
    assert path.read_text() == before
    assert json.loads(before)["onega_model"] == "markov"
    assert len(onega.models.load(path).sample(10, rng=1)) == 10


def test_events_and_overheads(tmp_path):
    from onega.comparison.adequacy.events import EventLog

    schedule = onega.simulate(Lublin().sample(200, rng=1, cluster=64), 64, "easy")
    events = EventLog.of(schedule)
    laws = onega.Overheads("gamma(mean=0.5, sd=0.1)", 1.0)
    events.write(tmp_path)
    laws.save(tmp_path / "overheads.json")
    before = everything(tmp_path)
    for write in (lambda: events.write(tmp_path), lambda: laws.save(tmp_path / "overheads.json")):
        with full_disk(100), pytest.raises(onega.FileError, match="File too large"):
            write()
    assert everything(tmp_path) == before

"""``onega resample``, ``recover`` and ``compose``, as a shell sees them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import onega
from models.contract import example_log
from onega.cli import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as leaves:
        main([str(word) for word in arguments])
    captured = capsys.readouterr()
    return leaves.value.code or 0, captured.out, captured.err


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "log.swf"
    onega.write(example_log(), path)
    return path


def test_resample_draws_the_logs_own_jobs(trace, tmp_path, capsys):
    out = tmp_path / "again.swf"
    code, text, _ = run(capsys, "resample", trace, "-o", out, "--seed", 1, "--json")
    assert code == 0
    log, again = onega.read(trace), onega.read(out)
    assert json.loads(text)["jobs"] == len(again)
    keys = ["runtime", "procs", "estimate"]
    assert again.table.select(keys).unique().join(log.table, on=keys, how="anti").height == 0
    code, _, said = run(capsys, "resample", trace, "-o", out, "--by", "days")
    assert (code, "did you mean" in said or "weeks" in said) == (2, True)


def test_recover_fills_what_is_missing(tmp_path, trace, capsys):
    log = onega.read(trace)
    holes = tmp_path / "holes.swf"
    missing = pl.Series(np.arange(len(log)) % 4 == 0)
    onega.write(log.with_columns(pl.when(~missing).then(pl.col("estimate")), note="holes"), holes)
    out = tmp_path / "full.swf"
    code, text, said = run(capsys, "recover", holes, "-o", out, "--seed", 1, "--json")
    assert code == 0
    assert json.loads(text)["recovered"] == missing.sum()
    assert "recovered 750 missing estimates" in said
    full = onega.read(out)
    assert full.table["estimate"].null_count() == 0
    kept = ~missing.to_numpy()
    np.testing.assert_array_equal(full.column("estimate")[kept], log.column("estimate")[kept])
    bare = tmp_path / "bare.swf"
    onega.write(example_log(estimates=False), bare)
    code, _, said = run(capsys, "recover", bare, "-o", out)
    assert code == 2
    assert "--learn-from" in said
    assert run(capsys, "recover", bare, "-o", out, "--learn-from", trace)[0] == 0


def test_compose_joins_models(tmp_path, trace, capsys):
    for name, options in (("markov", []), ("independent", ["-O", "arrivals=poisson"])):
        run(capsys, "fit", name, trace, "-o", tmp_path / f"{name}.json", *options)
    both = tmp_path / "both.json"
    first, second = tmp_path / "markov.json", tmp_path / "independent.json"
    code, text, _ = run(capsys, "compose", first, "--arrivals", second, "-o", both, "--json")
    assert code == 0
    assert json.loads(text)["arrivals"] == "poisson"
    model = onega.models.load(both)
    assert model.KIND == "markov"
    assert "exchanged: arrivals" in model.learnt

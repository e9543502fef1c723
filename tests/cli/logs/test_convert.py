"""``onega convert`` through its front door."""

import json

import pytest

import onega
from onega.cli import main

SWF = "; MaxProcs: 8\n1 5 0 10 4\n2 3 0 0 4\n3 3 0 7 9\n4 3 0 7 2\n"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code, capsys.readouterr()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "in.swf"
    path.write_text(SWF)
    return path


@pytest.mark.parametrize("target", ["out.swf", "out.csv", "out.parquet", "out.swf.gz", "o.pq"])
def test_formats(log, tmp_path, capsys, target):
    code, said = run(capsys, "convert", log, tmp_path / target)
    assert code == 0
    assert said.out == ""
    assert "4 of 4 jobs written" in said.err
    again = onega.read(tmp_path / target)
    assert again.table.equals(onega.read(log).table)


def test_clean_says_what_it_did(log, tmp_path, capsys):
    code, said = run(capsys, "convert", log, tmp_path / "out.swf", "--clean")
    assert code == 0
    lines = said.err.splitlines()
    assert f"onega: {log}: dropped 1: jobs whose run time is missing or not positive" in lines
    assert f"onega: {log}: dropped 1: jobs wider than the machine" in lines
    assert lines[-1] == f"onega: {tmp_path / 'out.swf'}: 2 of 4 jobs written"
    assert onega.read(tmp_path / "out.swf").table["job"].to_list() == [4, 1]


def test_json_is_one_flat_object(log, tmp_path, capsys):
    code, said = run(capsys, "convert", log, tmp_path / "o.csv", "--clean", "--json", "--procs", 16)
    found = json.loads(said.out)
    assert code == 0
    assert (found["jobs_in"], found["jobs"], found["dropped"], found["procs"]) == (4, 3, 1, 16)
    assert found["clean_missing_runtime"] == 1
    assert not any(isinstance(value, dict | list) for value in found.values())


def test_rules_can_be_kept_out(log, tmp_path, capsys):
    keep = ("--keep", "too_wide", "--keep", "missing_runtime")
    code, _ = run(capsys, "convert", log, tmp_path / "o.swf", "--clean", *keep)
    assert code == 0
    assert len(onega.read(tmp_path / "o.swf")) == 4


def test_jitter_repeats_by_seed(log, tmp_path, capsys):
    for name in ("a.swf", "b.swf"):
        run(capsys, "convert", log, tmp_path / name, "--clean", "--jitter", "--seed", 3)
    a, b = (onega.read(tmp_path / name) for name in ("a.swf", "b.swf"))
    assert a == b


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--jitter"], "are for --clean"),
        (["--clean", "--jitter"], "needs --seed"),
        (["--clean", "--keep", "wide"], "no cleaning rule"),
        (["--column", "procs"], "FIELD=NAME"),
        (["--column", "width=n"], "no field 'width'"),
        (["--timezone", "Mars"], "no time zone"),
        (["--map", "nope.toml"], "nope.toml: can't be read"),
    ],
)
def test_wrong_options(log, tmp_path, capsys, options, message):
    code, said = run(capsys, "convert", log, tmp_path / "o.swf", *options)
    assert code == 2
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_map_and_columns(tmp_path, capsys):
    (tmp_path / "jobs.csv").write_text("t,len,n,limit\n0,1,4,2\n")
    (tmp_path / "site.toml").write_text(
        "[columns]\nsubmit = 't'\nruntime = {name = 'len', unit = 'h'}\n[machine]\nprocs = 9\n"
    )
    code, said = run(
        capsys,
        *("convert", tmp_path / "jobs.csv", tmp_path / "o.swf", "--map", tmp_path / "site.toml"),
        *("--column", "procs=n", "--column", "estimate=limit:min"),
    )
    assert code == 0, said.err
    log = onega.read(tmp_path / "o.swf")
    assert log.table.select("runtime", "procs", "estimate").rows() == [(3600.0, 4, 120.0)]
    assert log.meta.procs == 9


def test_output_cannot_be_written(log, tmp_path, capsys):
    code, said = run(capsys, "convert", log, tmp_path / "no" / "o.swf")
    assert code == 2
    assert "can't be written" in said.err

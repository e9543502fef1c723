"""Habits of the terminal: examples in every help, --quiet, --version, bare `onega`."""

from __future__ import annotations

import shlex

import pytest

from onega.cli.app import PANELS, main, make_command
from onega.cli.examples import EXAMPLES


def leaves(command, name=""):
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for word, one in inner.items():
        yield from leaves(one, f"{name} {word}".strip())


LEAVES = dict(leaves(make_command()))


def run(capsys, *words):
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return stopped.value.code, *capsys.readouterr()


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_teaches_by_example(name):
    assert name in EXAMPLES


@pytest.mark.parametrize(
    "line", [line for found in EXAMPLES.values() for line, _ in found], ids=str
)
def test_examples_are_commands_that_parse(line):
    words = shlex.split(line)
    assert words[0] == "onega"
    name = next(name for name in (" ".join(words[1:3]), words[1]) if name in LEAVES)
    rest = words[1 + len(name.split()) :]
    LEAVES[name].make_context(name, rest, resilient_parsing=False)


def test_examples_stand_in_the_help(capsys):
    code, out, _ = run(capsys, "simulate", "--help")
    assert code == 0
    assert "onega simulate jobs.swf.gz --policy easy" in out


@pytest.mark.parametrize("group", ["cluster", "archive"])
def test_a_group_shows_the_examples_of_its_commands(capsys, group):
    code, out, _ = run(capsys, group, "--help")
    assert code == 0
    inner = [name for name in EXAMPLES if name.startswith(f"{group} ")]
    assert len(inner) == 2
    assert all(f"$ onega {name}" in out for name in inner)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "jobs.swf"
    rows = ["1 0 0 10 1", "2 1 0 10 1", "3 2 0 -1 1"]
    path.write_text("\n".join(row + " -1" * 13 for row in rows) + "\n")
    return str(path)


def test_quiet_leaves_remarks_out(capsys, log, monkeypatch):
    monkeypatch.setattr("onega.cli.console._quiet", False)
    _, _, loud = run(capsys, "simulate", log, "--procs", "2", "--json")
    assert "left out" in loud or "dropped" in loud
    code, out, err = run(capsys, "simulate", log, "--procs", "2", "--json", "--quiet")
    assert (code, err) == (0, "")
    assert out.startswith("{")


def test_quiet_keeps_errors(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("onega.cli.console._quiet", False)
    code, _, err = run(capsys, "describe", str(tmp_path / "none.swf"), "-q")
    assert code == 2
    assert "none.swf" in err


def test_version_says_where_kernels_are_kept(capsys):
    code, out, _ = run(capsys, "--version")
    first, second = out.splitlines()
    assert code == 0
    assert first.startswith("onega ")
    assert second.startswith("compiled kernels are kept in ")


def test_bare_onega_shows_the_help_and_nothing_else(capsys):
    code, out, err = run(capsys)
    assert code == 0
    assert "Usage" in out
    assert err == ""


def test_no_color(capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = run(capsys, "--help")
    assert "\x1b[3" not in out


def test_every_command_stands_under_a_heading():
    listed = {name for names in PANELS.values() for name in names}
    assert set(make_command().commands) <= listed

"""Groups of options: spread out on the command line, put together for the command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from onega.cli.grouping import grouped


@dataclass(frozen=True, slots=True)
class Colours:
    red: Annotated[int, typer.Option("--red", help="How red.")] = 3
    green: Annotated[str | None, typer.Option("--green")] = None


def run(command, *words):
    app = typer.Typer()
    app.command()(grouped(command))
    return CliRunner().invoke(app, list(words))


def paint(*, wall: Annotated[str, typer.Argument()], colours: Colours, twice: bool = False) -> None:
    """Paint a wall."""
    print(wall, colours, twice)


def test_the_command_gets_the_group():
    done = run(paint, "north", "--red", "7", "--twice")
    assert done.exit_code == 0
    assert done.output == "north Colours(red=7, green=None) True\n"


def test_the_line_has_single_options():
    told = run(paint, "--help").output
    assert "--red" in told
    assert "--green" in told
    assert "--colours" not in told
    assert "Paint a wall." in told


def copy(
    *,
    trace: Annotated[Path, typer.Argument()],
    out: Annotated[Path, typer.Option("-o")],
    others: Annotated[list[Path] | None, typer.Argument()] = None,
) -> None:
    out.write_text("gone")


def test_no_command_writes_over_what_it_reads(tmp_path):
    log, other, link = (tmp_path / name for name in ("log", "other", "link"))
    log.write_text("kept")
    other.write_text("kept")
    link.symlink_to(log)
    for words in ([log, "-o", log], ["-o", link, log], [log, other, "-o", other]):
        done = run(copy, *map(str, words))
        assert done.exit_code == 2
        assert "write to another file" in done.output
    assert log.read_text() == other.read_text() == "kept"
    assert run(copy, str(log), "-o", str(tmp_path / "new")).exit_code == 0


def test_two_options_of_one_name_are_refused():
    def clash(*, red: int = 1, colours: Colours) -> None: ...

    with pytest.raises(TypeError, match="two options 'red'"):
        grouped(clash)

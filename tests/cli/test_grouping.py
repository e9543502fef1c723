"""Groups of options: spread out on the command line, put together for the command."""

from __future__ import annotations

from dataclasses import dataclass
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


def test_two_options_of_one_name_are_refused():
    def clash(*, red: int = 1, colours: Colours) -> None: ...

    with pytest.raises(TypeError, match="two options 'red'"):
        grouped(clash)

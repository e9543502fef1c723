"""Options and steps that commands share: reading a log and saying what was done to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import remark_report
from onega.core.errors import QueueingError, SimulationError
from onega.core.units import duration

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.traces.assembling import Rows


def option(
    flags: str,
    metavar: str,
    help: str,
    panel: str | None = None,
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Make an option that takes a value; ``flags`` are its names, e.g. ``"-o --out"``.

    It stands under a heading of the help if one is given.
    """
    return typer.Option(*flags.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)


def flag(name: str, help: str, panel: str | None = None) -> Any:  # noqa: ANN401
    """Make an option that is there or isn't."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def argument(metavar: str, help: str, **more: Any) -> Any:  # noqa: ANN401
    """Make what is given by its place."""
    return typer.Argument(metavar=metavar, help=help, **more)


TraceArgument = Annotated[Path, argument("TRACE", "A job log (SWF, sacct, PBS, CSV, Parquet, …).")]
FromOption = Annotated[
    str | None,
    option("--from", "FORMAT", "The log's format, if not found from content."),
]
MapOption = Annotated[
    Path | None,
    option("--map", "TOML", "Which column is what, for CSV and Parquet."),
]
ColumnOption = Annotated[
    list[str] | None,
    option("--column", "FIELD=NAME", "A column's name, e.g. submit=submit_time."),
]
TimezoneOption = Annotated[
    str | None,
    option("--timezone", "ZONE", "Zone of the log's dates: Europe/Paris."),
]
ProcsOption = Annotated[int | None, option("--procs", "N", "Processors of the machine.", min=1)]
SeedOption = Annotated[int | None, option("--seed", "N", "Seed of everything random.", min=0)]
WindowOption = Annotated[
    str,
    option(
        "--window",
        "W",
        "Time over which the machine is measured: log (from when it has filled to the last "
        "submission), whole, or START..END (dates, or times such as 2d..9d).",
    ),
]
OverheadsOption = Annotated[
    str | None,
    option(
        "--overheads",
        "O",
        "What the job manager adds to jobs: none, measured (a set that comes along), FILE.json "
        "of onega virtual, or laws: 'completion=gamma(mean=2, sd=1); release=1s'.",
    ),
]
JsonOption = Annotated[bool, flag("--json", "Print one JSON object.")]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a log is read."""

    from_format: FromOption = None
    map_file: MapOption = None
    column: ColumnOption = None
    timezone: TimezoneOption = None

    def read(
        self, path: str | Path, *, procs: int | None = None, rows: Rows = "finished"
    ) -> Workload:
        """Read a log; say on stderr what was changed or left out.

        ``procs``, if given, is the machine's size whatever the log says.
        """
        from onega.traces.reading import read
        from onega.traces.tables.mapping import column_map, with_flags

        mapping = None
        if self.map_file is not None or self.column:
            mapping = with_flags(column_map(self.map_file), self.column or ())
        log = read(path, self.from_format, columns=mapping, timezone=self.timezone, rows=rows)
        remark_report(log.meta.report, path)
        return log if procs is None else log.with_machine(procs, log.meta.nodes)


def figures_option(page: str) -> Any:  # noqa: ANN401
    """Make the option ``--figures DIR``; a DIR that can't be is refused before anything is done."""
    return option(
        "--figures", "DIR", f"Write the figures to DIR/{page}.html.", callback=folder_that_can_be
    )


def folder_that_can_be(folder: Path | None) -> Path | None:
    """Refuse a folder that can't be made or written to."""
    if folder is not None:
        there = next(one for one in (folder, *folder.parents, Path()) if one.exists())
        if not there.is_dir():
            raise SimulationError(f"{folder}: can't be a folder, {there} is a file")
        if not os.access(there, os.W_OK):
            raise SimulationError(f"{folder}: can't be written, {there} is read-only")
    return folder


def file_that_can_be(file: Path | None) -> Path | None:
    """Refuse a file that can't be made, before hours are spent on what is to stand in it."""
    if file is not None:
        if file.is_dir():
            raise SimulationError(f"{file}: is a folder; give the name of a file")
        folder_that_can_be(file.parent)
    return file


def flag_of(name: str) -> str:
    """Write the name of an argument as the flag that gives it."""
    return f"--{name.replace('_', '-')}"


@contextmanager
def in_flags(*names: str) -> Iterator[None]:
    """Tell an error of the library in the words of the command: ``procs=`` is ``--procs``."""
    try:
        yield
    except (QueueingError, SimulationError) as error:
        message = str(error)
        for name in names:
            called = rf"\b{name}=" if "_" not in name else rf"\b{name}\b=?"
            message = re.sub(rf"{called}(?=[\w'\"])", f"{flag_of(name)} ", message)
            message = re.sub(called, flag_of(name), message)
        raise type(error)(message) from None


def names_in(text: str) -> list[str]:
    """Split a list that commas separate."""
    return [name.strip() for name in text.split(",") if name.strip()]


def seconds_of(flag: str, text: str) -> float:
    """Read a duration; one that isn't is told with its flag."""
    try:
        return duration(text)
    except ValueError as error:
        raise SimulationError(f"{flag}: {error}") from None

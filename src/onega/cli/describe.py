"""``onega describe``: what a log says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onega.cli.console import emit_json, remark
from onega.cli.options import (
    ColumnOption,
    FromOption,
    JsonOption,
    MapOption,
    ProcsOption,
    TimezoneOption,
    TraceArgument,
    figures_option,
    read_trace,
)

if TYPE_CHECKING:
    from onega.traces.description import Description


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="describe")(describe)


def describe(
    trace: TraceArgument,
    json: JsonOption = False,  # noqa: FBT002
    brief: Annotated[bool, typer.Option("--brief", help="Print the first screen only.")] = False,  # noqa: FBT002
    figures: Annotated[Path | None, figures_option("describe")] = None,
    procs: ProcsOption = None,
    format: FromOption = None,
    map_file: MapOption = None,
    column: ColumnOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Describe a log: load, job sizes, relations in time, estimates, users, daily cycle."""
    import onega

    log = read_trace(
        trace, format=format, map_file=map_file, columns=column, timezone=timezone, procs=procs
    )
    description = onega.describe(log)
    if json:
        emit_json(description.summary())
    else:
        from onega.cli.describe_screen import print_description

        print_description(description, brief=brief)
    if figures is not None:
        _write_figures(description, figures)


def _write_figures(description: Description, folder: Path) -> None:
    from onega.figures.describe import draw_all
    from onega.figures.export import write_html

    drawn, left_out = draw_all(description)
    for name, why in left_out.items():
        remark(f"figure {name} left out: {why}")
    if not drawn:
        remark("no figure can be drawn of this log")
        return
    path = write_html(drawn, folder / "describe.html", title=description.source or "A log")
    remark(f"{len(drawn)} figures in {path}")

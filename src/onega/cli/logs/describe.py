"""``onega describe``: what a log says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onega.cli.console import emit_json, fail, remark
from onega.cli.grouping import grouped
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    TraceArgument,
    WindowOption,
    figures_option,
)

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.traces.description import Description


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe")(grouped(describe))


def describe(
    *,
    trace: TraceArgument,
    json: JsonOption = False,
    brief: Annotated[bool, typer.Option("--brief", help="Print the first screen only.")] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="Count jobs and hours by user, account, queue, partition, state or month.",
        ),
    ] = None,
    order: Annotated[
        str, typer.Option("--order", metavar="hours|jobs", help="With --by: what comes first.")
    ] = "hours",
    figures: Annotated[Path | None, figures_option("describe")] = None,
    procs: ProcsOption = None,
    window: WindowOption = "log",
    reading: ReadOptions,
) -> None:
    """Describe a log: load, job sizes, relations in time, estimates, users, daily cycle."""
    import onega

    log = reading.read(trace, procs=procs)
    if by is not None:
        if brief or figures is not None:
            fail("--by prints one table; leave --brief and --figures out")
        _print_breakdown(log, by, order, json=json)
        return
    description = onega.describe(log, window=window)
    if json:
        emit_json(description.summary())
    else:
        from onega.cli.logs.describe_screen import print_description

        print_description(description, brief=brief)
    if figures is not None:
        _write_figures(description, figures)


def _print_breakdown(log: Workload, by: str, order: str, *, json: bool) -> None:
    from onega.traces.description.shares import Share, breakdown

    table = breakdown(log, by, order=order)  # type: ignore[arg-type]
    if json:
        emit_json({"source": log.meta.source, "by": by, "order": order, "rows": table.to_dicts()})
        return
    from onega.cli.logs.describe_screen import print_shares

    print_shares([Share(*row) for row in table.iter_rows()], by, order=order)


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

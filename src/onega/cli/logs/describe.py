"""``onega describe``: what a log says."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import FigurePage, emit, fail, remark
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    TraceArgument,
    WindowOption,
    figures_option,
    flag,
    option,
)

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.traces.description import Description


def describe(
    *,
    trace: TraceArgument,
    json: JsonOption = False,
    brief: Annotated[bool, flag("--brief", "Print the first screen only.")] = False,
    by: Annotated[
        str | None,
        option(
            "--by",
            "WHAT",
            "Count jobs and hours by user, account, queue, partition, state or month.",
        ),
    ] = None,
    order: Annotated[
        str, option("--order", "hours|jobs", "With --by: what comes first.")
    ] = "hours",
    figures: Annotated[Path | None, figures_option("describe")] = None,
    procs: ProcsOption = None,
    window: WindowOption = "log",
    reading: ReadOptions,
) -> None:
    """Describe a log: load, job sizes, relations in time, estimates, users, daily cycle."""
    import onega
    from onega.cli.logs.describe_screen import print_description

    log = reading.read(trace, procs=procs)
    if by is not None:
        if brief or figures is not None:
            fail("--by prints one table; leave --brief and --figures out")
        _emit_breakdown(log, by, order, json=json)
        return
    description = onega.describe(log, window=window)
    title = description.source or "A log"
    emit(
        description,
        partial(print_description, brief=brief),
        json=json,
        figures=FigurePage(figures, "describe", title, partial(_figures, description)),
    )


def _emit_breakdown(log: Workload, by: str, order: str, *, json: bool) -> None:
    from onega.cli.logs.describe_screen import print_shares
    from onega.traces.description.shares import Share, breakdown

    table = breakdown(log, by, order=order)  # type: ignore[arg-type]
    numbers = {"source": log.meta.source, "by": by, "order": order, "rows": table.to_dicts()}
    shares = [Share(*row) for row in table.iter_rows()]
    emit(numbers, lambda _: print_shares(shares, by, order=order), json=json)


def _figures(description: Description) -> dict[str, Any]:
    from onega.figures.describe import draw_all

    drawn, left_out = draw_all(description)
    for name, why in left_out.items():
        remark(f"figure {name} left out: {why}")
    if not drawn:
        remark("no figure can be drawn of this log")
    return drawn

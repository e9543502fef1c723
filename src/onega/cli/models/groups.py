"""``onega groups``: which users make the load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onega.cli.console import emit_json, emit_table, remark
from onega.cli.grouping import grouped
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    TraceArgument,
    figures_option,
)

GroupsOption = Annotated[
    int | None,
    typer.Option("--groups", "-k", metavar="K", min=1, help="How many; suggested by default."),
]
FiguresOption = Annotated[Path | None, figures_option("groups")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("groups")(grouped(groups))


def groups(
    *,
    trace: TraceArgument,
    number: GroupsOption = None,
    figures: FiguresOption = None,
    procs: ProcsOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Group the users of a log by what they submit: shares of area, jobs and users."""
    from onega.models.users.clusters import suggest_groups

    log = reading.read(trace, procs=procs)
    choice = suggest_groups(log, most=max(8, number or 0))
    wanted = choice.suggested if number is None else number
    result = choice.into(wanted)
    if result.without_user:
        remark(f"{trace}: {result.without_user} jobs without a user are in no group")
    if figures is not None:
        from onega.figures.export import write_html

        drawn = {"scatter": result.plot("scatter"), "shares": result.plot("shares"),
                 "choice": choice.plot()}  # fmt: skip
        remark(f"figures: {write_html(drawn, figures / 'groups.html', title='Groups of users')}")
    if json:
        emit_json({**result.summary(), "suggested_groups": choice.suggested})
        return
    rows = [
        (
            row["group"],
            f"{row['share_of_area']:.1%}",
            f"{row['share_of_jobs']:.1%}",
            f"{row['share_of_users']:.1%}",
            row["median_procs"],
            f"{row['serial']:.0%}",
            row["median_runtime"],
            f"{row['over_an_hour']:.0%}",
        )
        for row in result.to_polars().to_dicts()
    ]
    title = f"{result.users.size} users in {wanted} groups (suggested: {choice.suggested})"
    heads = ("group", "area", "jobs", "users", "median procs", "serial", "median s", "over 1 h")
    emit_table(title, rows, heads)

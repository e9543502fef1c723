"""``onega groups``: which users make the load."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import FigurePage, draw_all, emit, emit_table, remark
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    TraceArgument,
    figures_option,
    option,
)

if TYPE_CHECKING:
    from onega.models.users.clusters import GroupChoice, UserGrouping


def groups(
    *,
    trace: TraceArgument,
    number: Annotated[
        int | None,
        option("--groups -k", "K", "How many; suggested by default.", min=1),
    ] = None,
    figures: Annotated[Path | None, figures_option("groups")] = None,
    procs: ProcsOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Group the users of a log by what they submit: shares of area, jobs and users."""
    from onega.models.users.clusters import suggest_groups

    log = reading.read(trace, procs=procs)
    choice = suggest_groups(log, most=max(8, number or 0))
    result = choice.into(choice.suggested if number is None else number)
    if result.without_user:
        remark(f"{trace}: {result.without_user} jobs without a user are in no group")
    page = FigurePage(figures, "groups", "Groups of users", partial(_figures, result, choice))
    more = {"suggested_groups": choice.suggested}
    emit(result, partial(_shares, choice=choice), json=json, more=more, figures=page)


def _figures(result: UserGrouping, choice: GroupChoice) -> dict[str, Any]:
    return {**draw_all(result), **draw_all(choice)}


def _shares(result: UserGrouping, choice: GroupChoice) -> None:
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
    title = f"{result.users.size} users in {len(rows)} groups (suggested: {choice.suggested})"
    heads = ("group", "area", "jobs", "users", "median procs", "serial", "median s", "over 1 h")
    emit_table(title, rows, heads)

"""How many groups of users: the shares of every grouping beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import plotly.graph_objects as go

from onega.figures.theme import COLOURS, INK, axis, styled

if TYPE_CHECKING:
    from onega.models.users.clusters import GroupChoice


def choice(result: GroupChoice) -> go.Figure:
    """Stack the shares of area of the groups, a bar for each number of groups (Table 5.2)."""
    table = result.to_polars()
    figure = go.Figure()
    for number in sorted(set(table["group"])):
        rows = table.filter(table["group"] == number)
        figure.add_bar(
            x=rows["groups"], y=100 * rows["share_of_area"], name=f"group {number}",
            customdata=100 * rows.select("share_of_jobs", "share_of_users").to_numpy(),
            marker={"color": (*COLOURS, INK)[(number - 1) % 8]},
            hovertemplate="%{y:.1f} % of the area, %{customdata[0]:.1f} % of jobs, "
            "%{customdata[1]:.1f} % of users<extra></extra>",
        )  # fmt: skip
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_xaxes(axis("number of groups"), dtick=1)
    figure.update_yaxes(axis("share of the area", "%"), range=[0, 100])
    note = f"suggested: {result.suggested}, the last before a group falls below 1 % of the area"
    return styled(figure, "How many groups of users", note)


KINDS: Final = {"choice": choice}

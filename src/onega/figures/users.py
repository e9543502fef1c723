"""Figures of users in groups: what each group submits, and how much of the machine it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.figures.theme import COLOURS, axis, power_axis, styled, time_axis

if TYPE_CHECKING:
    from onega.models.users.clusters import UserGrouping

_MOST: Final = 4000
"""Points drawn per group."""

_SHARES: Final = {
    "share_of_area": "processor time",
    "share_of_jobs": "jobs",
    "share_of_users": "users",
}


def scatter(grouping: UserGrouping) -> go.Figure:
    """Draw the jobs of each group, run time over width (Figs 5.4–5.7 of Song 2006)."""
    table = grouping.to_polars()
    titles = [
        f"group {row['group']}: {row['share_of_area']:.1%} of the area,<br>"
        f"{row['share_of_jobs']:.1%} of jobs, {row['share_of_users']:.1%} of users"
        for row in table.to_dicts()
    ]
    clouds = [
        (
            grouping.procs[grouping.job_group == number],
            grouping.runtime[grouping.job_group == number],
        )
        for number in range(grouping.groups)
    ]
    note = f"{grouping.user.size:,} jobs of {grouping.users.size} users; widths spread a little"
    return draw_clouds(clouds, titles, note)


def draw_clouds(
    clouds: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]],
    titles: list[str],
    note: str,
) -> go.Figure:
    """Draw one panel of jobs per group, two in a row."""
    rows = -(-len(clouds) // 2)
    columns = min(2, len(clouds))
    figure = make_subplots(
        rows, columns, subplot_titles=titles, shared_xaxes="all", shared_yaxes="all",
        vertical_spacing=0.35 / max(rows, 2), horizontal_spacing=0.06,
    )  # fmt: skip
    widths = (
        min(float(procs.min()) for procs, _ in clouds if procs.size),
        max(float(procs.max()) for procs, _ in clouds if procs.size),
    )
    random = np.random.default_rng(0)
    for number, (procs, runtime) in enumerate(clouds):
        row, column = number // 2 + 1, number % 2 + 1
        if procs.size > _MOST:
            some = random.choice(procs.size, _MOST, replace=False)
            procs, runtime = procs[some], runtime[some]
        jitter = np.exp2(random.uniform(-0.15, 0.15, procs.size))
        figure.add_trace(
            go.Scattergl(
                x=procs * jitter, y=runtime, mode="markers", customdata=procs, showlegend=False,
                marker={"size": 3, "opacity": 0.35, "color": COLOURS[number % len(COLOURS)]},
                hovertemplate="%{customdata} processors, %{y:,.0f} s<extra></extra>",
            ),
            row, column,
        )  # fmt: skip
        across = power_axis("width", "processors", widths)
        figure.update_xaxes(across, row=row, col=column)
        figure.update_yaxes(time_axis("run time"), row=row, col=column)
        figure.update_xaxes(showticklabels=True, row=row, col=column)
        if column == 2:
            figure.update_yaxes(title=None, row=row, col=column)
    figure = styled(figure, "What each group of users submits", note, height=140 + 340 * rows)
    figure.update_layout(margin={"t": 130})
    return figure


def shares(grouping: UserGrouping) -> go.Figure:
    """Draw each group's share of area, jobs and users (Table 5.2)."""
    table = grouping.to_polars()
    figure = go.Figure()
    for number, (column, name) in enumerate(_SHARES.items()):
        figure.add_bar(
            x=[f"group {one}" for one in table["group"]], y=100 * table[column], name=name,
            marker={"color": COLOURS[number]},
            hovertemplate="%{x}: %{y:.1f} % of " + name + "<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(axis("share", "%"), rangemode="tozero")
    return styled(figure, "Who makes the load", f"{grouping.users.size} users in groups")


KINDS: Final = {"scatter": scatter, "shares": shares}

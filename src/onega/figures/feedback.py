"""Figures of feedback: what users submit at each level of the queue they see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from onega.figures.theme import BLUE, GREY, INK, ORANGE, RED, axis, styled

if TYPE_CHECKING:
    from onega.experiment.users.feedback import Feedback

_PANELS: Final = (("WR", 1, 1), ("OR", 1, 2), ("WP", 2, 1), ("OP", 2, 2))
_FACTOR: Final = {"W": "jobs waiting", "O": "processors busy"}
_ATTRIBUTE: Final = {"R": ("run time", 3600.0, "hours"), "P": ("width", 1.0, "processors")}


def curves(result: Feedback, *, hours: tuple[int, int] | None = None) -> go.Figure:
    """Draw mean run time and width at each level of W and O (Figs 6.2–6.4 of Song 2006)."""
    table = result.curves(hours=hours)
    titles = [f"{_ATTRIBUTE[name[1]][0]} and {_FACTOR[name[0]]}" for name, _, _ in _PANELS]
    figure = make_subplots(2, 2, subplot_titles=titles, vertical_spacing=0.17)
    for name, row, column in _PANELS:
        label, unit, units = _ATTRIBUTE[name[1]]
        attribute = "runtime" if name[1] == "R" else "procs"
        overall = float(result.submissions[attribute].mean()) / unit  # type: ignore[arg-type]
        for sign, colour in (("+", ORANGE), ("-", BLUE)):
            group = result.group(name + sign)
            points = table.filter(pl.col("group") == group.name)
            figure.add_trace(
                go.Scatter(
                    x=points["level"], y=points["mean"] / unit, mode="lines+markers",
                    line={"color": colour, "dash": "solid" if group.evidence else "dot"},
                    opacity=1.0 if group.evidence else 0.4,
                    name="more" if sign == "+" else "less", legendgroup=sign,
                    showlegend=name == "WR", customdata=points["jobs"],
                    hovertemplate=f"{group.users} users, {group.share:.0%} of submissions<br>"
                    "level %{x}: %{y:.2f} " + units + " (%{customdata:,} jobs)<extra></extra>",
                ),
                row, column,
            )  # fmt: skip
        # After the traces: a line isn't drawn on a panel that is still empty.
        figure.add_hline(
            y=overall, line={"color": INK, "dash": "dash", "width": 1}, row=row, col=column
        )
        figure.update_xaxes(axis(f"level of {_FACTOR[name[0]]}"), dtick=1, row=row, col=column)
        figure.update_yaxes(axis(f"mean {label}", units), rangemode="tozero", row=row, col=column)
    note = "users who submit more or less of it the fuller the machine; dotted: under 20 % of jobs"
    if hours is not None:
        note = f"submitted between {hours[0]} and {hours[1]} o'clock; {note}"
    figure = styled(figure, "How users react to the queue", f"{note}; dashed: all jobs", height=740)
    figure.update_layout(legend={"y": 1.05}, margin={"t": 140})
    return figure


def evidence(result: Feedback) -> go.Figure:
    """Draw the share of each group beside what chance gives."""
    table = result.to_polars()
    colours = [
        BLUE if sure else RED if seen else GREY
        for sure, seen in zip(table["survives"], table["evidence"], strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=table["group"], y=100 * table["share"], marker={"color": colours}, showlegend=False,
            hovertemplate="%{x}: %{y:.1f} % of submissions<extra></extra>",
        )
    )  # fmt: skip
    figure.add_scatter(
        x=table["group"], y=100 * table["by_chance"], mode="markers", name="by chance",
        marker={"symbol": "line-ew", "size": 28, "line": {"width": 3, "color": INK}},
        hovertemplate="%{y:.1f} % by chance<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=20, line={"color": INK, "dash": "dash", "width": 1})
    figure.update_xaxes(axis("group: W jobs waiting, O processors busy → R run time, P width"))
    figure.update_yaxes(axis("share of all submissions", "%"), rangemode="tozero")
    note = f"blue: not by chance (error rate {result.level:.0%}); red: could be; dashed: evidence"
    return styled(figure, "Which reactions are evidence, and which survive", note)


KINDS: Final = {"curves": curves, "evidence": evidence}

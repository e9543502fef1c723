"""Figures of a site's report that belong to no single result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from onega.core.units import humanise_seconds
from onega.figures.theme import error_bars, markers, styled, time_axis

if TYPE_CHECKING:
    from onega.core.intervals import Interval


def settings_figure(waits: Mapping[str, Interval], replicated: str) -> go.Figure:
    """Draw mean waits under several settings as points with intervals, on a logarithmic axis."""
    settings, found = list(waits), list(waits.values())
    ends = [(one.mean, one.low, one.high) for one in found]
    points = markers(
        [one.mean for one in found],
        settings,
        "%{y}: %{customdata[0]} (%{customdata[1]} to %{customdata[2]})",
        size=12,
        error_x=error_bars(ends, thickness=1.6, width=8),
        customdata=[[humanise_seconds(value) for value in values] for values in ends],
    )
    figure = go.Figure(points)
    # The marks of decades are too few where settings are alike.
    figure.update_xaxes(time_axis("mean wait"), tickvals=list(_MARKS), ticktext=[*_MARKS.values()])
    figure.update_yaxes(type="category", autorange="reversed", automargin=True)
    height = 190 + 46 * len(found)
    return styled(figure, "Mean wait under each policy", replicated, height=height)


_MARKS = {
    1: "1 s", 10: "10 s", 60: "1 min", 300: "5 min", 1200: "20 min", 3600: "1 h", 2 * 3600: "2 h",
    5 * 3600: "5 h", 12 * 3600: "12 h", 86400: "1 d", 3 * 86400: "3 d", 10 * 86400: "10 d",
    30 * 86400: "30 d", 100 * 86400: "100 d",
}  # fmt: skip

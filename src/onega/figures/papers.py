"""Figures that only the papers have: accuracies and Beta shapes (Song), the trade-off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import polars as pl

from onega.core.types import Floats
from onega.figures.theme import (
    BLUE,
    COLOURS,
    INK,
    LOG_TICKS,
    ORANGE,
    axis,
    styled,
    time_axis,
)

_SHARE = np.linspace(0, 1, 1001)


def time_cdfs(curves: Mapping[str, Floats], title: str) -> go.Figure:
    """Distribution functions of times over each other (Figs 4.3, 4.5, 4.6 of Song 2006)."""
    figure = _cdfs(curves, "%{y:.1f} % at most %{x:,.4~r} s")
    figure.update_xaxes(time_axis("estimated run time"))
    return styled(figure, "Estimated run times", title)


def accuracies(curves: Mapping[str, Floats]) -> go.Figure:
    """Distribution functions of the accuracy, run time / estimate (Fig. 4.2 of Song 2006)."""
    figure = _cdfs(curves, "%{y:.1f} % at most %{x:.3f}")
    figure.update_xaxes(axis("accuracy", "run time / estimate"), range=[0, 1.15])
    return styled(figure, "Accuracy of estimates", "the Beta model beside the log")


def _cdfs(curves: Mapping[str, Floats], hover: str) -> go.Figure:
    figure = go.Figure()
    for place, (name, values) in enumerate(curves.items()):
        line: dict[str, Any] = {"color": COLOURS[place], "width": 2.2, "shape": "hv"}
        if place == 0:
            line |= {"color": INK}
        figure.add_scatter(
            x=np.quantile(values, _SHARE), y=100 * _SHARE, mode="lines", name=name, line=line,
            hovertemplate=f"{hover}<extra>{name}</extra>",
        )  # fmt: skip
    figure.update_yaxes(axis("cumulative share of jobs", "%"), range=[0, 101])
    return figure


def beta_shapes(
    runtime: Floats, p: Floats, q: Floats, line: Callable[[Floats], tuple[Floats, Floats]]
) -> go.Figure:
    """P and q of every class of run times and the fitted lines (Fig. 4.4 of Song 2006)."""
    figure = go.Figure()
    at = np.geomspace(runtime.min(), runtime.max(), 200)
    for name, points, fitted, colour in zip(
        ("p", "q"), (p, q), line(at), (BLUE, ORANGE), strict=True
    ):
        figure.add_scatter(
            x=runtime, y=points, mode="markers", name=f"{name} of a class",
            marker={"color": colour, "size": 8},
            hovertemplate=f"%{{x:,.3~r}} s: {name} = %{{y:,.3~r}}<extra></extra>",
        )  # fmt: skip
        figure.add_scatter(
            x=at, y=fitted, mode="lines", name=f"{name} as fitted",
            line={"color": colour, "width": 1.8},
            hovertemplate=f"%{{x:,.3~r}} s: {name} = %{{y:,.3~r}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(time_axis("run time"))
    figure.update_yaxes(axis("shape of the Beta law"), type="log")
    note = "p grows and q falls with the run time: the longer a job, the better its estimate"
    return styled(figure, "Shape of the Beta law by run time", note)


def waiting(jobs: npt.NDArray[np.int64]) -> go.Figure:
    """Histogram of the jobs that wait when one is submitted (Fig. 6.1 of Song 2006)."""
    counts = np.bincount(jobs)
    figure = go.Figure(
        go.Bar(
            x=np.arange(counts.size), y=100 * counts / jobs.size, marker={"color": BLUE},
            hovertemplate="%{x} waiting: %{y:.2f} % of submissions<extra></extra>",
            showlegend=False,
        )
    )  # fmt: skip
    figure.update_xaxes(axis("jobs waiting at a submission"))
    figure.update_yaxes(axis("share of submissions", "%"))
    note = f"mean {jobs.mean():.1f}, at most {jobs.max()}"
    return styled(figure, "How many jobs wait", note)


def trade_off(table: pl.DataFrame) -> go.Figure:
    """Mean power against mean remaining work, one point a threshold.

    Figure 3 of Rumyantsev et al. (2018).
    """
    hours = table["mean_workload"] / 3600
    figure = go.Figure(
        go.Scatter(
            x=hours, y=table["mean_power"], mode="lines+markers", showlegend=False,
            line={"color": BLUE, "width": 1.5}, marker={"size": 7, "color": BLUE},
            customdata=table["threshold"],
            hovertemplate="k = %{customdata:,.0f}: %{x:,.4~r} h, %{y:,.5~r}<extra></extra>",
        )
    )  # fmt: skip
    for row in (0, table.height // 3, 2 * table.height // 3, table.height - 1):
        figure.add_annotation(
            x=hours[row], y=table["mean_power"][row], text=f"k = {table['threshold'][row]:.3g}",
            arrowcolor=ORANGE,
        )  # fmt: skip
    figure.update_xaxes(axis("mean remaining work", "hours"))
    figure.update_yaxes(axis("mean power", "the paper's unit"))
    note = "one threshold k = k_L = k_H, from 0 (fast whenever there is work) to 3·10⁶ s"
    return styled(figure, "Energy against work in the system", note)


def measure_along(sizes: list[int], curves: Mapping[str, list[float]]) -> go.Figure:
    """P over the first jobs of a stream (Table I of Baranov et al. (2019) as curves)."""
    figure = go.Figure()
    for place, (name, values) in enumerate(curves.items()):
        line: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "width": 2}
        if name.startswith("printed"):
            line = {"color": INK, "width": 2, "dash": "dash"}
        figure.add_scatter(
            x=sizes, y=values, mode="lines+markers", name=name, line=line,
            hovertemplate="first %{x:,} jobs: P = %{y:,.4~r} s<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.update_xaxes({**axis("first jobs of the stream"), **LOG_TICKS})
    figure.update_yaxes(axis("P", "seconds"), rangemode="tozero")
    return styled(figure, "The measure along the stream")

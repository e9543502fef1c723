"""Figures of a fitted model: the week it has learnt, the jobs it draws, its transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go

from onega.core.errors import ModelError
from onega.core.units import humanise_seconds
from onega.figures.series import WEEKDAYS
from onega.figures.theme import BLUE, axis, power_axis, styled, time_axis

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel

_SAMPLE: Final = 4000


def jobs(model: WorkloadModel, *, rng: int = 0) -> go.Figure:
    """Draw a few thousand jobs of the model: run time over width."""
    drawn = model.sample(_SAMPLE, rng=rng)
    procs, runtime = drawn.column("procs"), drawn.column("runtime")
    jitter = np.random.default_rng(rng).uniform(-0.12, 0.12, procs.size)
    figure = go.Figure(
        go.Scattergl(
            x=procs * np.exp2(jitter), y=runtime, mode="markers", customdata=procs,
            marker={"size": 4, "color": BLUE, "opacity": 0.35},
            hovertemplate="%{customdata} processors, %{y:,.0f} s<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(power_axis("width", "processors", (procs.min(), procs.max())))
    figure.update_yaxes(time_axis("run time"))
    note = f"{_SAMPLE:,} jobs drawn from {model.KIND}, widths spread a little to be seen"
    return styled(figure, "Jobs of the model", note)


def week(model: WorkloadModel) -> go.Figure:
    """Draw the relative rate of submissions over the week."""
    cycle = model.arrivals.cycle
    if cycle is None:
        raise ModelError(f"this {model.KIND} model has no daily cycle to draw")
    rate = np.asarray(cycle.intensity())
    rate = rate / rate.mean()
    hours = np.arange(rate.size) / rate.size * 168
    figure = go.Figure(
        go.Scatter(
            x=hours, y=rate, mode="lines", line={"color": BLUE, "width": 2},
            hovertemplate="%{y:.2f} times the mean rate<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(tickvals=[24 * d + 12 for d in range(7)], ticktext=list(WEEKDAYS))
    for day in range(1, 7):
        figure.add_vline(x=24 * day, line={"color": "#9aa5b1", "width": 1, "dash": "dot"})
    figure.update_yaxes(axis("rate of submissions", "mean = 1"), rangemode="tozero")
    return styled(figure, "The week that the model has learnt", f"cycle: {cycle.KIND}")


def transitions(model: Any) -> go.Figure:  # noqa: ANN401
    """Draw the transition matrix of the run-time chain."""
    chain: Any = getattr(model, "runtime", None)
    if not hasattr(chain, "transitions"):
        raise ModelError(f"{model.KIND} has no transition matrix to draw")
    words = [humanise_seconds(level) for level in chain.levels]
    figure = go.Figure(
        go.Heatmap(
            z=100 * chain.transitions, x=words, y=words, colorscale="Blues",
            colorbar={"title": {"text": "%"}},
            hovertemplate="after %{y}: %{x} in %{z:.1f} %<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(axis("run time of the next job, from"))
    figure.update_yaxes(axis("run time of a job, from"))
    return styled(figure, "Transitions of the run-time chain", height=560)


KINDS: Final = {
    "jobs": jobs,
    "week": week,
    "transitions": transitions,
}

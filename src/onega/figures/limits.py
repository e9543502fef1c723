"""Tasks that are cut off: states, P_serv against the mean limit (Zayats et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from onega.core.units import humanise_seconds
from onega.figures.theme import (
    COLOURS,
    GREY,
    INK,
    ORANGE,
    RED,
    axis,
    bars,
    line,
    marked_value,
    markers,
    styled,
)
from onega.queueing.limits.laws import Exponential
from onega.queueing.limits.limits import Limits, request_probability
from onega.queueing.widths import Widths


def states(result: Limits) -> go.Figure:
    """p_n: how often n servers are busy."""
    p = result.probabilities
    above = np.cumsum(p[::-1])[::-1]
    shown = np.flatnonzero((above > 1e-4) & (1 - above + p > 1e-4))
    low, high = int(shown[0]), int(shown[-1])
    figure = go.Figure(probability_curve(low, p[low : high + 1]))
    marked_value(figure, result.mean_busy, f"mean {result.mean_busy:.4g}")
    q95 = result.quantile(0.95)
    marked_value(figure, q95, f"95 %: {q95:,}", colour=INK, height=0.9)
    figure.update_xaxes(axis("busy servers"))
    figure.update_yaxes(axis("probability"), rangemode="tozero")
    return styled(figure, "How many servers are busy", _parameters(result))


def probability_curve(first: int, probabilities: npt.NDArray[np.float64]) -> go.Bar | go.Scatter:
    """Draw probabilities of first, first + 1, … busy servers: bars, or an area if they are many."""
    n = np.arange(first, first + probabilities.size)
    if n.size <= 200:
        return bars(n.tolist(), probabilities.tolist(), "%{x} busy: %{y:.4g}")
    filled: dict[str, Any] = {"fill": "tozeroy", "fillcolor": "rgba(0,114,178,0.15)"}
    return line(n, probabilities, "%{x:,} busy: %{y:.4g}", width=2, **filled)


def p_serv(result: Limits, widths: Sequence[str] = (), points: int = 200) -> go.Figure:
    """P_serv against the mean limit (Figures 3 and 4 of Zayats et al. 2024).

    ``widths`` are further distributions to draw beside the result's own, as texts:
    ``["fixed:1", "fixed:3", "fixed:5"]`` with μ = 1 gives Figure 4.
    """
    mu = result.service_rate
    unit = result.limit if math.isfinite(result.limit.mean) else Exponential(mu)
    last = max(10 / mu, 1.5 * min(result.critical_limit, 100 / mu))
    means = np.linspace(0, last, points + 1)[1:]
    figure = go.Figure()
    laws = [result.widths, *map(Widths.of, widths)] if widths else [result.widths]
    for law, colour in zip(laws, COLOURS):
        y = [
            request_probability(mu, unit.scaled(z / unit.mean), law, shared=result.shared)
            for z in means
        ]
        hover = f"limit %{{x:,.4~r}} s: %{{y:.4f}}<extra>{law.name}</extra>"
        ends = np.append(0.0, means), np.append(0.0, y)
        figure.add_trace(line(*ends, hover, colour=colour, name=f"widths {law.name}"))
    if result.critical_limit <= last:
        name = f"{result.target:g} at {humanise_seconds(result.critical_limit)}"
        here = [result.critical_limit], [result.target]
        hover = "critical limit %{x:,.6~r} s"
        figure.add_trace(markers(*here, hover, colour=RED, size=10, name=name))
    figure.update_xaxes(axis("mean limit", "s"), range=[0, last])
    figure.update_yaxes(axis("P_serv, requests served whole"), range=[0, 1.02])
    return styled(
        figure,
        "How many requests are served, by how long tasks may run",
        f"mean service time {humanise_seconds(1 / mu)}"
        + (", one limit for all tasks of a request" if result.shared else ""),
    )


def servers(result: Limits) -> go.Figure:
    """P(n or more servers are wanted): how many are enough."""
    p = result.probabilities
    above = np.cumsum(p[::-1])[::-1]
    keep = above > 1e-9
    hover = "%{x:,} or more wanted: %{y:.3g}"
    figure = go.Figure(line(np.flatnonzero(keep), above[keep], hover, shape="hv"))
    for epsilon, colour in ((0.05, ORANGE), (0.01, RED), (0.001, GREY)):
        count = result.fewest_servers(epsilon)
        here = [count], [above[count] if count < above.size else epsilon]
        hover = f"{count:,} servers keep it at or under {epsilon:g}"
        name = f"{epsilon:g}: {count:,} servers"
        figure.add_trace(markers(*here, hover, colour=colour, size=10, name=name))
    figure.update_xaxes(axis("servers"))
    figure.update_yaxes(
        axis("P(so many or more are wanted)"), type="log", dtick=1, exponentformat="power"
    )
    return styled(figure, "How many servers are enough", _parameters(result))


def _parameters(result: Limits) -> str:
    return (
        f"a request every {humanise_seconds(1 / result.arrival_rate)}, widths "
        f"{result.widths.name}, service {humanise_seconds(1 / result.service_rate)}, "
        f"limit {humanise_seconds(result.limit.mean)} on average"
    )


KINDS: Final = {"states": states, "p_serv": p_serv, "servers": servers}

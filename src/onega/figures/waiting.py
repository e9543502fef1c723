"""Figures of the exact waiting times of a small machine."""

from __future__ import annotations

from typing import Final

import numpy as np
import plotly.graph_objects as go

from onega.core.units import humanise_seconds
from onega.figures.theme import RED, axis, bars, line, marked_value, markers, styled
from onega.queueing.waiting import Waiting, waiting


def queue(result: Waiting) -> go.Figure:
    """P(n jobs wait)."""
    above = np.cumsum(result.queue[::-1])[::-1]
    size = max(2, int(np.count_nonzero(above > 1e-3)))
    shares = result.queue[:size]
    figure = go.Figure(
        bars(list(range(size)), (100 * shares).tolist(), "%{x} waiting: %{y:,.3~r} % of the time")
    )
    marked_value(figure, result.mean_waiting, f"mean {result.mean_waiting:.3g}")
    figure.update_xaxes(axis("waiting jobs"))
    figure.update_yaxes(axis("share of time", "%"), rangemode="tozero")
    return styled(figure, "How many jobs wait", _machine(result))


def load(result: Waiting, points: int = 16) -> go.Figure:
    """Mean wait against the arrival rate, up to near the stability boundary."""
    most = result.arrival_rate / result.rho
    shares = np.unique(np.append(1 - np.geomspace(0.95, 0.05, points), result.rho))
    solved = [
        waiting(
            result.widths,
            procs=result.procs,
            arrival_rate=float(share) * most,
            mean_runtime=result.mean_runtime,
        )
        for share in shares
    ]
    waits = [one.mean_wait for one in solved]
    figure = go.Figure(line(shares, waits, "ρ = %{x:.3f}: mean wait %{y:,.4~r} s"))
    name = f"ρ = {result.rho:.3g}: mean wait {humanise_seconds(result.mean_wait)}"
    hover = "mean wait %{y:,.4~r} s"
    figure.add_trace(markers([result.rho], [result.mean_wait], hover, colour=RED, name=name))
    figure.update_xaxes(axis("ρ, arrival rate over the largest stable one"), range=[0, 1])
    figure.update_yaxes(axis("mean wait", "s"), rangemode="tozero")
    return styled(figure, "How long jobs wait, by load", _machine(result))


def _machine(result: Waiting) -> str:
    return (
        f"{result.procs:,} servers, ρ = {result.rho:.3g}, mean wait "
        f"{humanise_seconds(result.mean_wait)}, {result.p_wait:.0%} of the jobs wait"
    )


KINDS: Final = {"queue": queue, "load": load}

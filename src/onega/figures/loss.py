"""Figures of a machine without a queue: which jobs are lost, and how busy it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import plotly.graph_objects as go

from onega.figures.limits import probability_curve
from onega.figures.theme import axis, bars, reference_line, styled

if TYPE_CHECKING:
    from onega.queueing.loss import Loss


def blocking(result: Loss) -> go.Figure:
    """Share of lost jobs by width."""
    figure = go.Figure(
        bars(
            result.widths.values.tolist(),
            (100 * result.blocking).tolist(),
            "%{x} processors: %{y:.3g} % lost",
        )
    )
    reference_line(figure, 100 * result.p_loss, f"all jobs: {100 * result.p_loss:.3g} %")
    few = result.widths.values.size <= 25
    figure.update_xaxes(axis("width", "processors"), type="category" if few else "linear")
    figure.update_yaxes(axis("lost jobs", "%"), rangemode="tozero")
    return styled(figure, "Which jobs are lost without a queue", _machine(result))


def occupancy(result: Loss) -> go.Figure:
    """How often n servers are busy."""
    figure = go.Figure(probability_curve(0, result.occupancy))
    figure.update_xaxes(axis("busy servers"))
    figure.update_yaxes(axis("probability"), rangemode="tozero")
    return styled(figure, "How busy a machine without a queue is", _machine(result))


def _machine(result: Loss) -> str:
    load = float(np.dot(result.widths.values, result.offered)) / result.procs
    return f"{result.procs:,} servers, offered load {load:.3g} of the machine"


KINDS: Final = {"blocking": blocking, "occupancy": occupancy}

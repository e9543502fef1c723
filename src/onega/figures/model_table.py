"""Figures of models beside several logs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.comparison.model_table import WAITS
from onega.figures.theme import COLOURS, INK, styled

if TYPE_CHECKING:
    from onega.comparison.model_table import ModelTable

_RANGE: Final = (0.1, 20.0)
"""Ratios beyond this are drawn at the edge: they are wrong by whatever it is."""

_TICKS: Final = (0.1, 0.2, 0.5, 0.8, 1.25, 2, 5, 10, 20)


def waits(table: ModelTable) -> go.Figure:
    """Mean waits of samples over the logs' own, models by their typical factor under EASY."""
    typical = table.typical(WAITS[0])
    order = sorted(typical, key=lambda name: (math.isnan(typical[name]), typical[name]))
    rows = table.to_polars().to_dicts()
    figure = make_subplots(
        cols=2, shared_yaxes=True, horizontal_spacing=0.04, subplot_titles=("EASY", "FCFS")
    )
    for column, measure in enumerate(WAITS, start=1):
        for place, log in enumerate(table.whole):
            found = {
                r["model"]: r
                for r in rows
                if r["log"] == log and r["part"] == "whole" and r["measure"] == measure
            }
            names = [name for name in order if name in found]
            mean = [_inside(found[name]["mean"]) for name in names]
            high = [_inside(_or(found[name]["high"], found[name]["mean"])) for name in names]
            low = [_inside(_or(found[name]["low"], found[name]["mean"])) for name in names]
            colour = COLOURS[place % len(COLOURS)]
            figure.add_scatter(
                x=mean, y=names, row=1, col=column, name=log, legendgroup=log, mode="markers",
                showlegend=column == 1, marker={"color": colour, "size": 8},
                customdata=[found[name]["mean"] for name in names],
                error_x={
                    "type": "data", "symmetric": False, "thickness": 1.2, "width": 3,
                    "array": [b - a for a, b in zip(mean, high, strict=True)],
                    "arrayminus": [a - b for a, b in zip(mean, low, strict=True)],
                    "color": colour,
                },
                hovertemplate="%{y}: × %{customdata:,.3~g}<extra>" + log + "</extra>",
            )  # fmt: skip
        figure.add_vrect(x0=0.8, x1=1.25, fillcolor=INK, opacity=0.08, line_width=0, col=column)
        figure.add_vline(x=1, line={"color": INK, "width": 1.2, "dash": "dash"}, col=column)
    figure.update_xaxes(
        type="log", range=[math.log10(one) for one in (_RANGE[0] / 1.1, _RANGE[1] * 1.1)],
        tickvals=list(_TICKS), ticktext=[f"{one:g}" for one in _TICKS],
        title={"text": "samples' mean wait ÷ the log's"},
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=order)
    note = "shaded: within 0.8 and 1.25; what is farther than 0.1 or 20 stands at the edge"
    styled(figure, "What a scheduler makes of samples", note, height=200 + 30 * len(order))
    return figure.update_layout(margin={"l": 140, "t": 150}, legend={"y": 1.06})


def _inside(value: float) -> float:
    return min(max(value, _RANGE[0]), _RANGE[1])


def _or(value: float, instead: float) -> float:
    return instead if value is None or math.isnan(value) else value


KINDS: Final[dict[str, Callable[[Any], go.Figure]]] = {"waits": waits}

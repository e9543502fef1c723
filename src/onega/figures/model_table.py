"""Figures of models beside several logs."""

from __future__ import annotations

import math
from typing import Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.comparison.model_table import WAITS, ModelTable
from onega.figures.theme import COLOURS, INK, error_bars, styled

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
            ends = [_drawn(found[name]) for name in names]
            colour = COLOURS[place % len(COLOURS)]
            figure.add_scatter(
                x=[mean for mean, _, _ in ends], y=names, row=1, col=column, name=log,
                legendgroup=log, mode="markers", showlegend=column == 1,
                marker={"color": colour, "size": 8},
                customdata=[found[name]["mean"] for name in names],
                error_x=error_bars(ends, colour=colour, thickness=1.2, width=3),
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


def _drawn(row: dict[str, Any]) -> list[float]:
    """Return mean, low and high as they are drawn: not beyond the edge, one value without ends."""
    ends = (row["mean"], row["low"], row["high"])
    known = (row["mean"] if end is None or math.isnan(end) else end for end in ends)
    return [min(max(end, _RANGE[0]), _RANGE[1]) for end in known]


KINDS: Final = {"waits": waits}

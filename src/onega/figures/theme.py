"""One look for all figures: fonts, colours that colour-blind readers tell apart, units on axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
RED: Final = "#D55E00"
SKY: Final = "#56B4E9"
PURPLE: Final = "#CC79A7"
GREY: Final = "#8a8f98"
INK: Final = "#1f2933"

COLOURS: Final = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, GREY)
"""Okabe and Ito's palette, distinguishable with any kind of colour blindness. In this order."""

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"

CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg"},
}
"""Plotly's options for every figure that is written or shown."""

TIME_TICKS: Final = {
    1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36000: "10 h",
    86400: "1 d", 864000: "10 d", 8640000: "100 d",
}  # fmt: skip
"""Marks of a logarithmic axis of seconds, and what people call them."""


_ROUND: Final = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]

LOG_TICKS: Final[dict[str, Any]] = {
    "type": "log",
    "tickvals": _ROUND,
    "ticktext": [f"{value:,}" for value in _ROUND],
}
"""A logarithmic axis with marks at 1, 2, 5, 10, 20, 50 …"""


def styled(
    figure: go.Figure, title: str, subtitle: str | None = None, *, height: int = 460
) -> go.Figure:
    """Give a figure the house's look, a title that says what it shows, and a smaller line below."""
    legend = any(trace.name and trace.showlegend is not False for trace in figure.data)
    figure.update_layout(
        template="plotly_white",
        colorway=list(COLOURS),
        height=height,
        title={
            "text": title,
            "subtitle": {"text": subtitle or "", "font": {"size": 13, "color": "#52606d"}},
            "font": {"size": 18, "color": INK},
            "x": 0.0,
            "xref": "paper",
            "xanchor": "left",
            "y": 1 - 18 / height,
            "yref": "container",
            "yanchor": "top",
        },
        font={"family": FONT, "size": 13, "color": INK},
        margin={"l": 76, "r": 28, "t": 110 if legend else 86, "b": 64},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
        bargap=0.15,
        hoverlabel={"font": {"family": FONT}},
    )
    figure.update_xaxes(showline=True, linecolor="#9aa5b1", gridcolor="#eef1f4", zeroline=False)
    figure.update_yaxes(showline=False, gridcolor="#e4e7eb", zeroline=False)
    # 10,000, not 10k or 10000: as in the tables beside.
    figure.update_yaxes(separatethousands=True, exponentformat="none")
    return figure


def axis(label: str, unit: str | None = None) -> dict[str, Any]:
    """Name an axis, with its unit: ``mean width (processors)``."""
    return {"title": {"text": f"{label} ({unit})" if unit else label}}


def time_axis(label: str) -> dict[str, Any]:
    """Return a logarithmic axis of seconds with marks that people read: 1 min, 1 h, 1 d."""
    return {
        "title": {"text": label},
        "type": "log",
        "tickvals": list(TIME_TICKS),
        "ticktext": list(TIME_TICKS.values()),
    }


def hours_axis(label: str) -> dict[str, Any]:
    """Return a linear axis of hours, from zero."""
    return {"title": {"text": f"{label} (hours)"}, "rangemode": "tozero"}


def power_axis(label: str, unit: str, values: tuple[float, float] = (1, 2**20)) -> dict[str, Any]:
    """Return a logarithmic axis to base 2 whose marks, between two values, don't touch.

    Every power of two where there is room, else every second, third, ….
    """
    first, last = (math.log2(max(1.0, one)) for one in values)
    powers = [2**k for k in range(math.floor(first), math.ceil(last) + 1)]
    step = 1
    while _crowded(powers[::step]):
        step += 1
    return {
        "title": {"text": f"{label} ({unit})"},
        "type": "log",
        "tickvals": powers[::step],
        "ticktext": [f"{power:,}" for power in powers[::step]],
    }


def _crowded(ticks: list[int]) -> bool:
    """Whether the marks of an axis would touch each other on a phone."""
    return sum(6.2 * len(f"{one:,}") + 10 for one in ticks) > 290


def reference_line(figure: go.Figure, level: float, label: str, **place: Any) -> None:  # noqa: ANN401
    """Draw a dashed horizontal line with its meaning written at the right end, above it."""
    figure.add_hline(
        y=level,
        line={"color": INK, "dash": "dash", "width": 1.5},
        annotation={
            "text": label,
            "font": {"size": 12, "color": INK},
            "xanchor": "right",
            "x": 1,
            "bgcolor": "rgba(255,255,255,0.8)",
        },
        annotation_position="top right",
        **place,
    )


def bars(
    x: Sequence[Any],
    y: Sequence[Any],
    hover: str,
    *,
    colour: str | Sequence[str] = BLUE,
    name: str | None = None,
    extra: Sequence[Any] | None = None,
) -> go.Bar:
    """Make bars with a hover text; ``extra`` is its ``%{customdata}``."""
    return go.Bar(
        x=list(x),
        y=list(y),
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        customdata=None if extra is None else list(extra),
        hovertemplate=f"{hover}<extra></extra>",
        showlegend=name is not None,
    )


def table(
    rows: Sequence[Sequence[str]], columns: Sequence[str], *, title: str, note: str | None = None
) -> go.Figure:
    """Make a table as a figure: the first column names the rows, the others are aligned right."""
    align = ["left"] + ["right"] * (len(columns) - 1)
    figure = go.Figure(
        go.Table(
            header={
                "values": [f"<b>{name}</b>" for name in columns],
                "align": align,
                "fill": {"color": "#eef1f4"},
                "line": {"color": "#d5dae0"},
                "height": 30,
            },
            cells={
                "values": [list(column) for column in zip(*rows, strict=True)],
                "align": align,
                "fill": {"color": "white"},
                "line": {"color": "#e4e7eb"},
                "height": 28,
            },
        )
    )
    styled(figure, title, note, height=130 + 30 * (len(rows) + 1))
    return figure.update_layout(margin={"l": 4, "r": 4, "b": 8})

"""One look for all figures: fonts, colours that colour-blind readers tell apart, units on axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
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


def label(
    figure: go.Figure,
    text: str,
    x: float,
    y: float,
    *,
    colour: str = INK,
    **more: Any,  # noqa: ANN401
) -> None:
    """Write a word without an arrow at a place of the axes."""
    figure.add_annotation(
        x=x,
        y=y,
        text=text,
        showarrow=False,
        font={"size": 12, "color": colour},
        bgcolor="rgba(255,255,255,0.8)",
        **more,
    )


def marked_value(
    figure: go.Figure, x: float, text: str, *, colour: str = RED, height: float = 1.0
) -> None:
    """Draw a dashed vertical line with its meaning written beside it, at a share of its height."""
    figure.add_vline(x=x, line={"color": colour, "dash": "dash", "width": 1.5})
    place: dict[str, Any] = {"yref": "paper", "yanchor": "top", "xanchor": "left", "xshift": 6}
    label(figure, text, x, height, colour=colour, **place)


def error_bars(
    values: Collection[Sequence[float]],
    *,
    colour: str | None = INK,
    thickness: float = 1.5,
    width: int = 5,
) -> dict[str, Any]:
    """Return Plotly's error bars of (mean, low, high), drawn to the two ends.

    Without a colour they have that of the points.
    """
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - mean for mean, _, high in values],
        "arrayminus": [mean - low for mean, low, _ in values],
        "color": colour,
        "thickness": thickness,
        "width": width,
    }


def line(
    x: Any,  # noqa: ANN401
    y: Any,  # noqa: ANN401
    hover: str | None,
    *,
    colour: str = BLUE,
    width: float = 2.5,
    dash: str | None = None,
    shape: str | None = None,
    **more: Any,  # noqa: ANN401
) -> go.Scatter:
    """Make a line with a hover text (none if None); one with a name is in the legend."""
    style = {"color": colour, "width": width, "dash": dash, "shape": shape}
    return _scatter(x, y, hover, {"mode": "lines", "line": style} | more)


def markers(
    x: Any,  # noqa: ANN401
    y: Any,  # noqa: ANN401
    hover: str | None,
    *,
    colour: str | Sequence[str] = BLUE,
    size: int = 11,
    **more: Any,  # noqa: ANN401
) -> go.Scatter:
    """Make points with a hover text (none if None); those with a name are in the legend."""
    return _scatter(
        x, y, hover, {"mode": "markers", "marker": {"color": colour, "size": size}} | more
    )


def _scatter(x: Any, y: Any, hover: str | None, more: dict[str, Any]) -> go.Scatter:  # noqa: ANN401
    if hover is None:
        told: dict[str, Any] = {"hoverinfo": "skip"}
    else:
        told = {"hovertemplate": hover if "<extra>" in hover else f"{hover}<extra></extra>"}
    return go.Scatter(x=x, y=y, **{"showlegend": "name" in more} | told | more)


def bars(
    x: Sequence[Any],
    y: Sequence[Any],
    hover: str,
    *,
    colour: str | Sequence[str] = BLUE,
    name: str | None = None,
    extra: Sequence[Any] | None = None,
    gap: float = 0,
    **more: Any,  # noqa: ANN401
) -> go.Bar:
    """Make bars with a hover text; ``extra`` is its ``%{customdata}``, ``gap`` a white edge."""
    edge = {"color": "white", "width": gap} if gap else {"width": 0}
    return go.Bar(
        x=list(x),
        y=list(y),
        name=name,
        marker={"color": colour, "line": edge},
        customdata=None if extra is None else list(extra),
        hovertemplate=f"{hover}<extra></extra>",
        **{"showlegend": name is not None} | more,
    )


def band(
    x: Sequence[Any],
    low: Sequence[float],
    high: Sequence[float],
    **look: Any,  # noqa: ANN401
) -> go.Scatter:
    """Fill what is between two lines."""
    edges = [*x, *x[::-1]], [*high, *low[::-1]]
    more = {"mode": "lines", "line": {"width": 0}, "fill": "toself"}
    return _scatter(*edges, None, more | look)

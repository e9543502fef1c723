"""Figures of a comparison: distribution functions over each other, memory, the day."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.core.workload.chains import autocorrelations
from onega.core.workload.distances import ks_distance
from onega.figures.overview import MARKS, overview
from onega.figures.series import distribution
from onega.figures.theme import COLOURS, INK, axis, power_axis, styled, time_axis

if TYPE_CHECKING:
    from onega.comparison.compare import Comparison, Side
    from onega.comparison.compare_models import ModelComparison

_LAGS: Final = tuple(range(1, 51))


def cdf(result: Comparison | ModelComparison) -> go.Figure:
    """Distribution functions of width, run time and gap over each other (Fig. 3.5)."""
    real, others = _sides(result)
    names = ("procs", "runtime", "gap")
    figure = make_subplots(cols=3, horizontal_spacing=0.06, shared_yaxes=True)
    for column, name in enumerate(names, start=1):
        unit = "processors" if name == "procs" else "s"
        for place, side in enumerate((real, *others)):
            x, y = distribution(getattr(side, name), 1.0)
            figure.add_scatter(
                x=x, y=100 * y, row=1, col=column, name=side.name, legendgroup=str(place),
                mode="lines", showlegend=column == 1, line={**_line(place), "shape": "hv"},
                hovertemplate=f"%{{y:.1f}} % at most %{{x:,.4~r}} {unit}<extra>{side.name}</extra>",
            )  # fmt: skip
    figure.update_xaxes(
        power_axis("width", "processors", (real.procs.min(), real.procs.max())), col=1
    )
    figure.update_xaxes(nticks=8, tickangle=0, col=1)
    figure.update_xaxes(time_axis("run time"), col=2)
    figure.update_xaxes(time_axis("gap between submissions"), col=3)
    for column in (2, 3):
        figure.update_xaxes(MARKS, col=column)
    figure.update_yaxes({**axis("jobs at most so large", "%"), "range": [0, 101]}, col=1)
    note = None
    if len(others) == 1:
        parts = (ks_distance(getattr(real, n), getattr(others[0], n)) for n in names)
        words = zip(("width", "run time", "gap"), parts, strict=True)
        note = "KS distance: " + ", ".join(f"{word} {value:.3f}" for word, value in words)
    return styled(figure, "Distribution functions", note)


def autocorrelation(result: Comparison | ModelComparison) -> go.Figure:
    """Autocorrelation of widths and run times over the first fifty lags (Table 3.7)."""
    real, others = _sides(result)
    figure = make_subplots(cols=2, horizontal_spacing=0.08, shared_yaxes=True)
    for column, name in enumerate(("procs", "runtime"), start=1):
        for place, side in enumerate((real, *others)):
            figure.add_scatter(
                x=_LAGS, y=autocorrelations(getattr(side, name), _LAGS), row=1, col=column,
                name=side.name, legendgroup=str(place), showlegend=column == 1, line=_line(place),
                mode="lines+markers", marker={"size": 4},
                hovertemplate="lag %{x}: %{y:.3f}<extra>" + side.name + "</extra>",
            )  # fmt: skip
    figure.update_xaxes(axis("lag of widths", "jobs"), col=1)
    figure.update_xaxes(axis("lag of run times", "jobs"), col=2)
    figure.update_yaxes(axis("autocorrelation"), col=1)
    return styled(figure, "Memory of the series", "autocorrelation of the values")


def hourly(result: Comparison | ModelComparison) -> go.Figure:
    """Share of submissions in each hour of the day (Fig. 7.1)."""
    real, others = _sides(result)
    figure = go.Figure()
    for place, side in enumerate((real, *others)):
        figure.add_scatter(
            x=list(range(24)), y=100 * side.hourly, name=side.name, line=_line(place),
            mode="lines+markers", marker={"size": 5},
            hovertemplate="%{x} h: %{y:.1f} %<extra>" + side.name + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(axis("hour of the day"), dtick=3)
    figure.update_yaxes(axis("share of submissions", "%"), rangemode="tozero")
    return styled(figure, "The day")


KINDS: Final[dict[str, Callable[..., go.Figure]]] = {
    "overview": overview,
    "cdf": cdf,
    "autocorrelation": autocorrelation,
    "hourly": hourly,
}


def draw_all(result: Comparison | ModelComparison) -> dict[str, go.Figure]:
    """Draw all figures of a comparison, by name; each of several models has its own overview."""
    models = list(getattr(result, "examples", ()))
    if len(models) < 2:
        return {name: draw(result) for name, draw in KINDS.items()}
    own = {f"overview-{name}": overview(result, models=[name]) for name in models}
    return own | {name: draw(result) for name, draw in KINDS.items() if name != "overview"}


def _sides(result: Comparison | ModelComparison) -> tuple[Side, list[Side]]:
    examples = getattr(result, "examples", None)
    if examples is None:
        return result.real, [result.synthetic]  # type: ignore[union-attr]
    found = list(examples.values())
    return found[0].real, [one.synthetic for one in found]


def _line(place: int) -> dict[str, Any]:
    if place == 0:
        return {"color": INK, "width": 2.5}
    return {"color": COLOURS[(place - 1) % len(COLOURS)], "width": 1.8}

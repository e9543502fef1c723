"""Figures of a trade-off: the front with its choices named, bands over replicates, changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go

from onega.figures.quantities import Scale, scale
from onega.figures.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RED,
    axis,
    band,
    line,
    markers,
    styled,
)

if TYPE_CHECKING:
    from onega.experiment.planning.pareto import TradeOff

_AWAY: Final = {"cheapest": (30, -22), "balanced": (46, -40), "quickest": (52, -8)}
"""Where names of choices stand beside their points, in pixels: the front's upper right is empty."""


def front(result: TradeOff) -> go.Figure:
    """Draw all machines by objective and cost, the front, and the choices by name."""
    cost, objective = result.means()
    across, up = (
        scale(result.objective, objective, wide=False),
        scale(result.cost, cost, wide=False),
    )
    names = list(result.names)
    on = [names.index(name) for name in result.front()]
    colours = [BLUE if place in on else GREY for place in range(len(names))]
    if result.trials:
        colours = [GREEN if trial.met else RED for trial in result.trials]
    figure = go.Figure()
    figure.add_trace(line(across.of(objective[on]), up.of(cost[on]), None, width=2))
    look: dict[str, Any] = {"size": 9, "color": colours, "line": {"width": 1, "color": "white"}}
    told: dict[str, Any] = {"text": names, "customdata": _words(result, across, up)}
    figure.add_trace(markers(across.of(objective), up.of(cost), _HOVER, marker=look, **told))
    _name_choices(figure, result, across.of(objective), up.of(cost))
    _label(figure, across, up)
    first, last = float(across.of(objective.min())), float(across.of(objective.max()))
    if last > first:  # room for the names on the right
        room = last - first
        figure.update_xaxes(range=[first - 0.06 * room, last + 0.2 * room])
    note = f"{len(names)} machines, {len(result.replicates)} replicates; line: none beats these"
    if result.targets:
        note += f"; green: {' and '.join(map(str, result.targets))}"
    title = f"{result.cost.words} against {result.objective.words}"
    return styled(figure, title.capitalize(), note, height=560)


def bands(result: TradeOff) -> go.Figure:
    """Draw cost against objective in the order of the machines: every replicate, and their mean.

    With thresholds as machines this is Rumyantsev et al.'s (2018) Figure 3 over replicates.
    """
    found = result.replicates
    x, y = (
        found.values[:, :, found.measures.index(one)] for one in (result.objective, result.cost)
    )
    across, up = (
        scale(result.objective, x.ravel(), wide=False),
        scale(result.cost, y.ravel(), wide=False),
    )
    figure = go.Figure()
    for k in range(len(found)):
        look: dict[str, Any] = {"opacity": 0.22, "name": "one replicate", "showlegend": k == 0}
        figure.add_trace(line(across.of(x[k]), up.of(y[k]), None, width=1, **look))
    means = across.of(x.mean(axis=0)), up.of(y.mean(axis=0))
    look = {"colour": INK, "mode": "lines+markers", "marker": {"size": 6, "color": INK}}
    look |= {"text": list(result.names), "customdata": _words(result, across, up)}
    figure.add_trace(line(*means, _HOVER, name="mean over replicates", showlegend=None, **look))
    _name_ends(figure, result, *means)
    _label(figure, across, up)
    title = f"{result.cost.words} against {result.objective.words}, over replicates"
    note = f"{len(found)} replicates, the same workloads for every machine"
    return styled(figure, title.capitalize(), note, height=560)


def changes(result: TradeOff) -> go.Figure:
    """Draw the change of cost and objective from the first machine, paired, with bands."""
    x: Any = list(result.names)
    thresholds = [machine.rates.k_low for machine in result.machines.values()]
    ladder = all(len(one) == 1 for one in thresholds)
    ladder = ladder and bool(np.all(np.diff([one[0] for one in thresholds]) > 0))
    if ladder:
        x = [one[0] for one in thresholds]
    level = result.confidence
    figure = go.Figure()
    for measure, colour in ((result.cost, BLUE), (result.objective, ORANGE)):
        values = 100 * result.changes(measure)
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
        figure.add_trace(band(x, low, high, fillcolor=colour, opacity=0.2))
        look: dict[str, Any] = {"colour": colour, "name": measure.words, "mode": "lines+markers"}
        figure.add_trace(line(x, values.mean(axis=0), "%{x}: %{y:+,.3~r} %", **look))
    figure.add_hline(y=0, line={"color": INK, "dash": "dash", "width": 1})
    figure.update_xaxes(axis("threshold k, seconds of remaining work" if ladder else "machine"))
    figure.update_yaxes(axis(f"change from {result.names[0]}", "%"))
    note = f"paired by replicate; bands: the middle {100 * level:g} % of {len(result.replicates)}"
    return styled(figure, "What is saved and what it costs", note, height=520)


_HOVER: Final = "<b>%{text}</b><br>%{customdata[0]}, %{customdata[1]}<extra></extra>"


def _words(result: TradeOff, across: Scale, up: Scale) -> list[tuple[str, str]]:
    cost, objective = result.means()
    return list(zip(across.words(objective), up.words(cost), strict=True))


def _label(figure: go.Figure, across: Scale, up: Scale) -> None:
    figure.update_xaxes(across.axis())
    figure.update_yaxes(up.axis())


def _name_choices(figure: go.Figure, result: TradeOff, x: Any, y: Any) -> None:  # noqa: ANN401
    """Write each choice beside its point; a machine chosen for several reasons once."""
    reasons: dict[str, list[str]] = {}
    for what, name in result.choices().items():
        reasons.setdefault(name, []).append(what)
    for name, whats in reasons.items():
        dx, dy = _AWAY.get(whats[0], (64, -18))
        place = result.names.index(name)
        figure.add_annotation(
            x=x[place],
            y=y[place],
            text=f"<b>{', '.join(whats)}</b><br>{name}",
            ax=dx,
            ay=dy,
            xanchor="left",
            align="left",
            arrowcolor=INK,
            bgcolor="rgba(255,255,255,0.85)",
            font={"size": 12},
        )


def _name_ends(figure: go.Figure, result: TradeOff, x: Any, y: Any) -> None:  # noqa: ANN401
    last = len(result.names) - 1
    for place in (0, last // 2, last):
        figure.add_annotation(
            x=x[place], y=y[place], text=result.names[place], ax=30, ay=-40, arrowcolor=INK
        )


KINDS: Final = {
    "front": front,
    "bands": bands,
    "changes": changes,
}

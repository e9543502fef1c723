"""Figures of a plan: what was tried, what it gave, and where the target is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.experiment.planning.sentences import VARIED
from onega.figures.quantities import scale
from onega.figures.theme import BLUE, GREEN, GREY, INK, RED, error_bars, label, line, styled

if TYPE_CHECKING:
    from onega.experiment.planning.planning import Plan
    from onega.experiment.planning.targets import Target

_ACROSS: Final = {
    "procs": "processors",
    "nodes": "nodes",
    "load": "load, as a multiple of the source's own",
    "policy": "policy",
}


def curve(result: Plan) -> go.Figure:
    """Draw each target's measure at every place tried, with its interval and the limit."""
    rows = len(result.targets)
    figure = make_subplots(rows, 1, shared_xaxes=True, vertical_spacing=0.06 if rows < 4 else 0.04)
    for row, target in enumerate(result.targets, start=1):
        _panel(figure, result, target, row)
    figure.update_xaxes(title={"text": _ACROSS[result.vary]}, row=rows, col=1)
    if result.vary != "policy":
        _mark(figure, result)
    if result.lasting is not None:
        _mark_lasting(figure, result.lasting)
    note = _note(result)
    return styled(figure, _title(result), note, height=180 + 300 * rows)


def _panel(figure: go.Figure, result: Plan, target: Target, row: int) -> None:
    which = row - 1
    means = [trial.means[which] for trial in result.trials]
    ends = [end for trial in result.trials for end in (trial.lows[which], trial.highs[which])]
    unit = scale(target.measure, [*ends, target.limit])
    intervals = [
        unit.of((trial.means[which], trial.lows[which], trial.highs[which]))
        for trial in result.trials
    ]
    trace = line(
        [trial.at for trial in result.trials],
        [unit.of(mean) for mean in means],
        "%{x}: %{customdata[0]}, %{customdata[1]} replicates"
        "<br>supported by %{customdata[2]:.1f} %",
        colour=GREY,
        width=1.5,
        mode="markers" if result.vary == "policy" else "lines+markers",
        marker={"size": 10, "color": [BLUE if t.met else RED for t in result.trials]},
        error_y=error_bars(intervals, colour=GREY),
        customdata=[
            (words, trial.replicates, 100 * trial.joint)
            for words, trial in zip(unit.words(means), result.trials, strict=True)
        ],
    )
    figure.add_trace(trace, row, 1)
    figure.add_hline(
        y=float(unit.of(target.limit)),
        line={"color": INK, "dash": "dash", "width": 1.5},
        row=row,
        col=1,
    )
    text, at = str(target).replace("<", "&lt;"), unit.place(target.limit)
    place: dict[str, Any] = {"xref": "x domain", "xanchor": "right", "yanchor": "bottom"}
    label(figure, text, 1, at, row=row, col=1, **place)
    figure.update_yaxes(unit.axis(), row=row, col=1)
    if target.measure.unit != "%" and not unit.logarithmic:
        figure.update_yaxes(rangemode="tozero", row=row, col=1)


def _mark(figure: go.Figure, result: Plan) -> None:
    """Mark the answer, or the nearest there is to one."""
    colour = GREEN if result.met else RED
    words = f"{result.nearest}" if result.met else f"{result.nearest} comes nearest"
    for row in range(1, len(result.targets) + 1):
        figure.add_vline(x=result.nearest, line={"color": colour, "width": 2}, row=row, col=1)
    label(
        figure,
        f"<b>{words}</b>",
        float(result.nearest),
        1,
        colour=colour,
        xref="x",
        yref="y domain",
        xanchor="right",
        yanchor="top",
        xshift=-4,
    )


def _mark_lasting(figure: go.Figure, place: float) -> None:
    """Mark where the offered load is below 1, as the answer's isn't."""
    figure.add_vline(x=place, line={"color": GREY, "dash": "dot", "width": 1.5}, row="all", col=1)
    here: dict[str, Any] = {"xref": "x", "yref": "y domain", "xanchor": "right", "yanchor": "top"}
    label(
        figure, "offered load below 1", float(place), 1, colour=GREY, xshift=-4, yshift=-20, **here
    )


def _title(result: Plan) -> str:
    if not result.met:
        return f"{result.target}: can't be met by varying {VARIED[result.vary]}"
    return {
        "procs": f"{result.best} processors meet {result.target}",
        "nodes": f"{result.best} nodes meet {result.target}",
        "load": f"{result.best} times the load meets {result.target}",
        "policy": f"{result.best} meets {result.target}",
    }[result.vary]


def _note(result: Plan) -> str:
    sized = result.vary in ("procs", "nodes")
    under = "" if sized else f"{result.cluster.procs} processors"
    under += "" if result.vary == "policy" else f"{' under ' if under else ''}{result.policy}"
    sure = {
        "percentile": f"bars: the middle {_percent(result)} of resamples of the log",
        "student": f"bars: {_percent(result)} intervals of the mean",
        "value": "the log as it is, once",
    }[result.rule]
    offered = result.trial().offered_load
    known = "" if offered is None else f"; offered load {offered:.3g}"
    if result.met and result.trial().growing:
        known += ": the queue would grow if it stayed"
    return f"{under}{known}; blue: met, red: not; {sure}"


def _percent(result: Plan) -> str:
    return f"{100 * (result.confidence or 0):g} %"


KINDS: Final = {"curve": curve}

"""Figures of replicates: measures with intervals, and paired differences between policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.figures.quantities import Scale, scale
from onega.figures.theme import BLUE, GREY, INK, ORANGE, RED, error_bars, label, markers, styled

if TYPE_CHECKING:
    from onega.core.intervals import Interval
    from onega.experiment.replicates.replicates import Replicates

_PANEL: Final = 190
_ROW: Final = 26


def intervals(
    result: Replicates,
    *,
    on_log: Any = None,  # noqa: ANN401
    observed: Any = None,  # noqa: ANN401
) -> go.Figure:
    """Draw every measure under every policy: replicates, their mean and its interval."""
    figure = _panels(result)
    for row, measure in enumerate(result.measures, start=1):
        values = result.values[:, :, row - 1]
        unit = scale(measure, values.ravel())
        for place, policy in enumerate(result.policies):
            cloud = _cloud(unit, values[:, place], policy, shown=row == place + 1 == 1)
            figure.add_trace(cloud, row, 1)
        found = [result.interval(measure, policy) for policy in result.policies]
        figure.add_trace(_bars(unit, found, result, shown=row == 1), row, 1)
        if on_log is not None:
            figure.add_trace(_diamonds(unit, on_log[:, row - 1], result, shown=row == 1), row, 1)
        if observed is not None and np.isfinite(observed[row - 1]):
            _observed_line(figure, unit, float(observed[row - 1]), row)
        figure.update_xaxes(unit.axis(), row=row, col=1)
        if measure.unit != "%" and not unit.logarithmic:
            figure.update_xaxes(rangemode="tozero", row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
    return styled(figure, "Policies on the same workloads", _note(result), height=_height(result))


def differences(result: Replicates) -> go.Figure:
    """Draw each policy's difference from the first, paired replicate by replicate."""
    figure = _panels(result)
    others = result.policies[1:] or result.policies
    for row, measure in enumerate(result.measures, start=1):
        found = [result.difference(measure, policy) for policy in others]
        ends = [end for one in found for end in (one.low, one.high)]
        unit = scale(measure, ends, wide=False)
        sure = [0.0 not in one for one in found]
        colours = [BLUE if one else GREY for one in sure]
        figure.add_trace(_with_intervals(unit, found, others, colours, bars=INK), row, 1)
        figure.add_vline(x=0, line={"color": INK, "dash": "dash", "width": 1}, row=row, col=1)
        figure.update_xaxes(title={"text": f"difference of {unit.label}"}, row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
    note = f"{_note(result)}; blue: the interval leaves out zero"
    return styled(figure, f"Differences from {result.policies[0]}", note, height=_height(result))


def _panels(result: Replicates) -> go.Figure:
    rows = len(result.measures)
    gap = 0.0 if rows == 1 else min(0.16, 80 / _height(result))
    return make_subplots(rows, 1, vertical_spacing=gap)


def _height(result: Replicates) -> int:
    return 130 + len(result.measures) * (_PANEL + _ROW * max(0, len(result.policies) - 4))


def _cloud(unit: Scale, values: Any, policy: str, *, shown: bool) -> go.Scatter:  # noqa: ANN401
    look: dict[str, Any] = {"name": "replicates", "showlegend": shown, "marker_opacity": 0.22}
    return markers(unit.of(values), [policy] * len(values), None, size=6, **look)


def _bars(unit: Scale, found: list[Interval], result: Replicates, *, shown: bool) -> go.Scatter:
    name = f"mean and {100 * result.level:g} % interval"
    return _with_intervals(unit, found, result.policies, BLUE, name=name, showlegend=shown)


def _with_intervals(
    unit: Scale,
    found: list[Interval],
    policies: Sequence[str],
    colour: str | Sequence[str],
    *,
    bars: str = BLUE,
    **more: Any,  # noqa: ANN401
) -> go.Scatter:
    """Make a point for each policy, with its interval as a bar."""
    ends = [unit.of((one.mean, one.low, one.high)) for one in found]
    more |= {"error_x": error_bars(ends, colour=bars, thickness=2.5, width=6)}
    more |= {"customdata": _words(unit, found), "colour": colour}
    return markers([mean for mean, _, _ in ends], list(policies), "%{y}: %{customdata}", **more)


def _words(unit: Scale, found: list[Interval]) -> list[str]:
    ends = (unit.words((one.mean, one.low, one.high)) for one in found)
    return [f"{mean} ({low} to {high})" for mean, low, high in ends]


def _diamonds(unit: Scale, values: Any, result: Replicates, *, shown: bool) -> go.Scatter:  # noqa: ANN401
    look: dict[str, Any] = {"symbol": "diamond-open", "size": 13, "color": ORANGE}
    return markers(
        unit.of(values),
        list(result.policies),
        "%{y} on the log: %{customdata}",
        marker=look | {"line": {"width": 2.5, "color": ORANGE}},
        name="on the log itself",
        showlegend=shown,
        customdata=unit.words(values),
    )


def _observed_line(figure: go.Figure, unit: Scale, value: float, row: int) -> None:
    figure.add_vline(
        x=float(unit.of(value)), line={"color": RED, "dash": "dot", "width": 1.5}, row=row, col=1
    )
    place: dict[str, Any] = {"yref": "y domain", "xanchor": "left", "yanchor": "bottom"}
    label(figure, "observed", unit.place(value), 0, colour=RED, row=row, col=1, **place)


def _note(result: Replicates) -> str:
    kind = "resamples of the log" if result.resampled else "draws"
    bars = "where the middle of them is" if result.resampled else "Student's interval"
    return f"{len(result)} {kind}, the same for every policy; bars: {bars}"


KINDS: Final = {
    "intervals": intervals,
    "differences": differences,
}

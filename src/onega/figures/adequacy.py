"""Figures of adequacy: the measure along the stream, waits against waits, where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.comparison.adequacy.adequacy import Adequacy
from onega.core.units import humanise_seconds
from onega.figures.theme import (
    BLUE,
    GREY,
    INK,
    LOG_TICKS,
    ORANGE,
    axis,
    bars,
    reference_line,
    styled,
    time_axis,
)

if TYPE_CHECKING:
    from onega.comparison.adequacy.site import SiteAdequacy

_POINTS: Final = 20_000
"""More points than this make a figure slow and no clearer."""

_VECTORS: Final = 5000
"""Up to so many points are vectors; more are pixels drawn by the graphics card."""

_SIZES: Final = 200


def along(result: Adequacy | SiteAdequacy) -> go.Figure:
    """P over the first k jobs, for every k (Table I as a curve), and the reference value."""
    figure = go.Figure()
    for number, (name, one) in enumerate(_named(result).items()):
        sizes = np.unique(np.geomspace(1, one.jobs, _SIZES).astype(np.int64))
        points = one.prefixes([int(size) for size in sizes])
        figure.add_scatter(
            x=[p.jobs for p in points], y=[p.P for p in points], name=name, mode="lines",
            line={"width": 2.2 if number == 0 else 1.6},
            customdata=[p.different for p in points],
            hovertemplate="first %{x:,} jobs: P = %{y:,.4~r} s, %{customdata:,} different"
            f"<extra>{name}</extra>",
        )  # fmt: skip
    first = next(iter(_named(result).values()))
    if first.reference is not None:
        reference_line(figure, first.reference, f"P_ideal = {_seconds(first.reference)}")
    figure.update_xaxes({**axis("first jobs of the stream"), **LOG_TICKS})
    figure.update_yaxes({**axis("P", "seconds"), "rangemode": "tozero"})
    note = f"each job waiting the mean of its width class: P = {_seconds(first.baseline)}"
    return styled(figure, "The measure along the stream", note)


def waits(result: Adequacy | SiteAdequacy, *, points: int = _POINTS) -> go.Figure:
    """Each job's wait in the model against its real one; about ``points`` jobs at most.

    Few points are drawn as vectors, which print and need no graphics card.
    """
    one = _first(result)
    pairs = one.pairs
    assert pairs is not None
    step = -(-len(pairs) // points)
    x, y = (np.maximum(side.wait[::step], 0.5) for side in (pairs.real, pairs.model))
    top = 1.3 * float(max(x.max(), y.max(), 10))
    figure = go.Figure()
    figure.add_scatter(
        x=[0.5, top], y=[0.5, top], mode="lines", line={"color": INK, "dash": "dash", "width": 1},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    scatter = go.Scatter if points <= _VECTORS else go.Scattergl
    figure.add_trace(
        scatter(
            x=x, y=y, mode="markers", showlegend=False, customdata=pairs.job[::step],
            marker={"size": 5, "color": BLUE, "opacity": 0.45},
            text=[
                f"{humanise_seconds(real)} real, {humanise_seconds(model)} model"
                for real, model in zip(pairs.real.wait[::step], pairs.model.wait[::step])
            ],
            hovertemplate="job %{customdata}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(time_axis("real wait"))
    figure.update_yaxes(time_axis("wait in the model"))
    drawn = "" if step == 1 else f"; every {step}th job drawn"
    note = f"{' against '.join(reversed(one.names))}; below half a second as half a second{drawn}"
    return styled(figure, "Waits, job by job", note, height=560)


def distribution(result: Adequacy | SiteAdequacy) -> go.Figure:
    """Distribution functions of the waits: real, and each model's."""
    figure = go.Figure()
    named = _named(result)
    first = next(iter(named.values()))
    assert first.pairs is not None
    curves = {first.names[0]: first.pairs.real.wait}
    for name, one in named.items():
        assert one.pairs is not None
        curves[name] = one.pairs.model.wait
    share = np.linspace(0, 1, 1001)
    for number, (name, wait) in enumerate(curves.items()):
        line: dict[str, Any] = {"shape": "hv", "width": 2}
        if number == 0:
            line |= {"color": INK, "dash": "dash"}
        figure.add_scatter(
            x=np.maximum(np.quantile(wait, share), 0.5), y=100 * share, name=name, mode="lines",
            line=line,
            text=[humanise_seconds(one) for one in np.quantile(wait, share)],
            hovertemplate="%{y:.1f} % wait at most %{text}<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(time_axis("wait"))
    figure.update_yaxes({**axis("jobs that wait no longer", "%"), "range": [0, 101]})
    return styled(figure, "Distribution of waits", "below half a second as half a second")


def sources(result: Adequacy | SiteAdequacy) -> go.Figure:
    """Shares of P² by width, by decile of the wait and by hour, beside the shares of jobs."""
    one = _first(result)
    found = one.sources()
    tables = (
        (found.width, "width_from", "width from", "processors"),
        (found.wait, "decile", "decile of the real wait", None),
        (found.hour, "hour", "hour of submission", None),
    )
    figure = make_subplots(cols=3, horizontal_spacing=0.05, shared_yaxes=True)
    for column, (table, key, label, unit) in enumerate(tables, start=1):
        x = [str(value) for value in table[key]]
        jobs = 100 * table["jobs"] / one.jobs
        for name, y, colour in (("jobs", jobs, GREY), ("P²", 100 * table["share"], ORANGE)):
            trace = bars(x, list(y), f"%{{x}}: %{{y:.1f}} % of {name}", colour=colour, name=name)
            trace.update(legendgroup=name, showlegend=column == 1)
            figure.add_trace(trace, row=1, col=column)
        figure.update_xaxes({**axis(label, unit), "type": "category"}, row=1, col=column)
    figure.update_yaxes(axis("share", "%"), col=1)
    share = one.summary()["worst10_share"]
    note = f"the ten worst jobs alone are {share:.1%} of P²"
    return styled(figure, "Where the distance comes from", note)


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 1000 else f"{value:.3g} s"


def _named(result: Adequacy | SiteAdequacy) -> dict[str, Adequacy]:
    return {result.names[1]: result} if isinstance(result, Adequacy) else dict(result.results)


def _first(result: Adequacy | SiteAdequacy) -> Adequacy:
    return result if isinstance(result, Adequacy) else result.results[result.best]


KINDS: Final = {
    "along": along,
    "waits": waits,
    "distribution": distribution,
    "sources": sources,
}

"""One page that shows at a glance how like its log a model is, or several models are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.core.types import Floats
from onega.core.units import SECONDS
from onega.core.workload.rhythm import dispersion_index, window_sums
from onega.figures.series import WEEKDAYS
from onega.figures.theme import COLOURS, INK, LOG_TICKS, error_bars, power_axis, styled, time_axis

if TYPE_CHECKING:
    from onega.comparison.compare import Comparison, Side
    from onega.comparison.compare_models import ModelComparison

_POINTS: Final = 400
_SCALES: Final = {
    "1 min": 60.0, "10 min": 600.0, "1 h": 3600.0, "6 h": 21600.0, "1 d": 86400.0,
    "1 w": 604800.0, "4 w": 2419200.0,
}  # fmt: skip
_BARS: Final = {"1 h": "hour", "1 d": "day", "1 w": "week"}
"""Scales whose interval over samples is known."""

MARKS: Final = {"tickvals": [1, 60, 3600, 86400], "ticktext": ["1 s", "1 min", "1 h", "1 d"]}
"""Of times in a narrow panel, which has no room for every mark."""

_TITLES: Final = (
    "Widths (processors)", "Run times", "Gaps between submissions",
    "Index of dispersion of submissions", "Weeks' work over its mean", "Mean waits (h)",
    "Mean sizes by hour, over all", "Mean sizes by weekday, over all",
    "Unique records that come back (%)",
)  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A side to draw: its name and colour, its values, and figures over samples if there are any.

    ``interval(key)`` is (mean, low, high) over the samples, low = high = mean for a single one;
    None: not measured.
    """

    name: str
    side: Side
    colour: str
    interval: Callable[[str], tuple[float, float, float] | None]


def overview(
    result: Comparison | ModelComparison, *, models: Sequence[str] | None = None
) -> go.Figure:
    """Draw laws, bursts, weeks, cycles of sizes, waits and copies on one page.

    Parameters
    ----------
    result
        Compared with ``waits`` and ``privacy``: panels of what wasn't measured say so.
    models
        Of several: whose; all by default.
    """
    shown = _shown(result, models)
    figure = make_subplots(
        rows=3, cols=3, horizontal_spacing=0.075, vertical_spacing=0.105, subplot_titles=_TITLES
    )
    for column, name in enumerate(("procs", "runtime", "gap"), start=1):
        _laws(figure, shown, name, column)
    _dispersion(figure, shown)
    _weeks(figure, shown)
    _waits(figure, shown)
    _sizes(figure, shown, column=1)
    _sizes(figure, shown, column=2)
    _copies(figure, shown)
    title = f"{shown[0].name} and {', '.join(one.name for one in shown[1:])}"
    note = "curves: the first sample, with 95 % intervals of the mean over samples"
    if not hasattr(result, "rows"):
        note = "one sample"
    note += "; sizes: run times solid, widths dotted"
    styled(figure, title, note, height=1020)
    figure.update_annotations(font={"size": 13, "color": INK})
    figure.update_xaxes(title_standoff=4, title_font={"size": 12}, tickfont={"size": 11})
    figure.update_yaxes(tickfont={"size": 11})
    figure.update_layout(
        margin={"l": 56, "r": 20, "t": 130, "b": 40}, legend={"y": 1.035, "traceorder": "normal"}
    )
    return figure


def _shown(result: Comparison | ModelComparison, models: Sequence[str] | None) -> list[Shown]:
    table: dict[tuple[str, str], dict[str, Any]] = {}
    if hasattr(result, "examples"):
        table = {(r["model"], r["measure"]): r for r in result.to_polars().to_dicts()}
        chosen = {name: result.examples[name] for name in models or result.examples}
    else:
        chosen = {result.synthetic.name: result}
        flat = result.summary()
        table = {
            (result.synthetic.name, key): {"mean": float(value)}
            for key, value in flat.items()
            if isinstance(value, int | float)
        }
    first = next(iter(chosen))

    def figures(name: str, ending: str) -> Callable[[str], tuple[float, float, float] | None]:
        def interval(key: str) -> tuple[float, float, float] | None:
            row = table.get((name, key + ending)) or table.get((name, key))
            if row is None or np.isnan(row["mean"]):
                return None
            low, high = row.get("low", np.nan), row.get("high", np.nan)
            mean = row["mean"]
            return mean, mean if np.isnan(low) else max(low, 0.0), mean if np.isnan(high) else high

        return interval

    shown = [Shown(chosen[first].real.name, chosen[first].real, INK, figures(first, "_real"))]
    for place, (name, one) in enumerate(chosen.items()):
        colour = COLOURS[place % len(COLOURS)]
        shown.append(Shown(name, one.synthetic, colour, figures(name, "_synthetic")))
    return shown


def _laws(figure: go.Figure, shown: Sequence[Shown], name: str, column: int) -> None:
    """Draw distribution functions in per cent."""
    for place, one in enumerate(shown):
        values = np.maximum(getattr(one.side, name), 1.0)  # the axis is logarithmic
        x = np.quantile(values, np.linspace(0, 1, _POINTS), method="inverted_cdf")
        y = np.searchsorted(np.sort(values), x, side="right") / values.size
        figure.add_scatter(
            x=x, y=100 * y, row=1, col=column, name=one.name, legendgroup=str(place),
            showlegend=column == 1, mode="lines", line={**_line(one), "shape": "hv"},
            hovertemplate=f"%{{y:.1f}} % at most %{{x:,.4~r}}<extra>{one.name}</extra>",
        )  # fmt: skip
    widest = (1.0, max(float(one.side.procs.max()) for one in shown))
    axis = power_axis("", "", widest) if name == "procs" else {**time_axis(""), **MARKS}
    figure.update_xaxes({**axis, "title": None, "tickangle": 0}, row=1, col=column)
    figure.update_yaxes(range=[0, 101], ticksuffix=" %" if column == 1 else "", row=1, col=column)


def _dispersion(figure: go.Figure, shown: Sequence[Shown]) -> None:
    for place, one in enumerate(shown):
        found = [dispersion_index(one.side.clock, length) for length in _SCALES.values()]
        _add(figure, one, place, 2, 1, x=list(_SCALES.values()), y=found, mode="lines")
        bars = {_SCALES[unit]: one.interval(f"dispersion_{word}") for unit, word in _BARS.items()}
        known = {length: bar for length, bar in bars.items() if bar is not None}
        _add(figure, one, place, 2, 1, **_points(known))
    figure.update_xaxes(
        type="log", tickvals=list(_SCALES.values()), ticktext=list(_SCALES), tickangle=0,
        row=2, col=1,
    )  # fmt: skip
    figure.update_yaxes(LOG_TICKS, row=2, col=1)


def _weeks(figure: go.Figure, shown: Sequence[Shown]) -> None:
    """Draw the weeks' work from the lightest to the heaviest, over its mean."""
    for place, one in enumerate(shown):
        work = np.sort(window_sums(one.side.clock, SECONDS["w"], one.side.procs * one.side.runtime))
        if work.size < 2:
            continue
        share = 100 * (np.arange(work.size) + 0.5) / work.size
        _add(figure, one, place, 2, 2, x=share, y=work / work.mean(), mode="lines")
    figure.update_xaxes(title={"text": "weeks, the lightest first (%)"}, row=2, col=2)
    figure.update_yaxes(rangemode="tozero", row=2, col=2)


def _waits(figure: go.Figure, shown: Sequence[Shown]) -> None:
    names = {"EASY": "wait_easy", "FCFS": "wait_fcfs"}
    for place, one in enumerate(shown):
        bars = {word: one.interval(key) for word, key in names.items()}
        known = {
            word: tuple(value / 3600 for value in bar)
            for word, bar in bars.items()
            if bar is not None
        }
        if not known:
            _say(figure, 2, 3, "not measured (--waits)")
            return
        aside = 0.5 * (place / (len(shown) - 1) - 0.5)
        places = {list(names).index(word) + aside: bar for word, bar in known.items()}
        _add(figure, one, place, 2, 3, **_points(places))
    ticks = {"tickvals": list(range(len(names))), "ticktext": list(names)}
    figure.update_xaxes(ticks, range=[-0.6, len(names) - 0.4], showgrid=False, row=2, col=3)
    figure.update_yaxes(LOG_TICKS, row=2, col=3)


def _sizes(figure: go.Figure, shown: Sequence[Shown], *, column: int) -> None:
    """Draw mean run time and mean width of each hour, or weekday, over those of all jobs."""
    length, count = (3600.0, 24) if column == 1 else (86400.0, 7)
    x = list(range(24)) if column == 1 else list(WEEKDAYS)
    for place, one in enumerate(shown):
        cell = (one.side.clock // length).astype(np.int64) % count
        for values, dash in ((one.side.runtime, "solid"), (one.side.procs, "dot")):
            _add(
                figure, one, place, 3, column, x=x, y=_means(cell, values, count), mode="lines",
                line={**_line(one), "dash": dash},
            )  # fmt: skip
    if column == 1:
        figure.update_xaxes(title={"text": "hour of submission"}, dtick=6, row=3, col=1)
    figure.update_yaxes(rangemode="tozero", row=3, col=column)


def _copies(figure: go.Figure, shown: Sequence[Shown]) -> None:
    """Draw shares of unique records: of the whole log; of the half that was learnt, or wasn't."""
    names = {
        "the log's": "privacy_repeated",
        "learnt half's": "copied_seen",
        "other half's": "copied_unseen",
    }
    for place, one in enumerate(shown[1:], start=1):
        found = {word: one.interval(key) for word, key in names.items()}
        known = {word: 100 * bar[0] for word, bar in found.items() if bar is not None}
        if not known:
            _say(figure, 3, 3, "not measured (--privacy)")
            return
        figure.add_bar(
            x=list(known), y=list(known.values()), row=3, col=3, name=one.name, showlegend=False,
            legendgroup=str(place), marker={"color": one.colour}, width=0.6 / (len(shown) - 1),
            hovertemplate="%{y:.1f} %<extra>" + one.name + "</extra>",
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero", row=3, col=3)


def _add(
    figure: go.Figure,
    one: Shown,
    place: int,
    row: int,
    column: int,
    **trace: Any,  # noqa: ANN401
) -> None:
    trace.setdefault("line", _line(one))
    figure.add_scatter(
        row=row, col=column, name=one.name, legendgroup=str(place), showlegend=False,
        **{"hovertemplate": "%{y:,.3~g}<extra>" + one.name + "</extra>", **trace},
    )  # fmt: skip


def _points(bars: dict[Any, Any]) -> dict[str, Any]:
    """Return markers with their intervals."""
    return {
        "x": list(bars),
        "y": [mean for mean, _, _ in bars.values()],
        "mode": "markers",
        "marker": {"size": 7},
        "error_y": error_bars(bars.values(), colour=None, width=4),
    }


def _means(cell: Any, values: Floats, count: int) -> Floats:  # noqa: ANN401
    jobs = np.bincount(cell, minlength=count)
    sums = np.bincount(cell, weights=values, minlength=count)
    means: Floats = np.where(jobs > 0, sums / np.maximum(jobs, 1), np.nan) / values.mean()
    return means


def _say(figure: go.Figure, row: int, column: int, words: str) -> None:
    figure.add_scatter(
        x=[0], y=[0], mode="text", text=[words], row=row, col=column, showlegend=False,
        hoverinfo="skip",
    )  # fmt: skip
    figure.update_xaxes(visible=False, row=row, col=column)
    figure.update_yaxes(visible=False, row=row, col=column)


def _line(one: Shown) -> dict[str, Any]:
    return {"color": one.colour, "width": 4 if one.colour == INK else 1.7}

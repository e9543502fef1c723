"""Figures of a sweep: a measure over one or two varied parameters, one measure against another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import plotly.graph_objects as go
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.figures.theme import COLOURS, axis, band, line, markers, styled

if TYPE_CHECKING:
    from onega.experiment.sweep.sweep import Sweep

MOST_LINES: Final = 12
TIMES: Final = (("h", 3600.0, 7200.0), ("min", 60.0, 300.0), ("s", 1.0, 0.0))
"""Units of time: name, seconds, and from how many seconds on it is used."""


class _Scaled(NamedTuple):
    """A measure in a unit that people read."""

    label: str
    unit: str | None
    divisor: float

    def axis(self) -> dict[str, Any]:
        return axis(self.label, self.unit)


def curve(
    sweep: Sweep, measure: str = "mean_wait", *, x: str | None = None, by: str | None = None
) -> go.Figure:
    """Draw a measure over one varied parameter, a line for each value of another.

    Lines go through means over everything else that varies (seeds, draws); bands reach from the
    lowest to the highest run. Bars, if the parameter isn't a number.
    """
    table = _table(sweep, measure)
    x = _chosen(sweep, x) if x else (_numeric(sweep, table) or list(_spread(sweep, table)))[0]
    others = [name for name in _spread(sweep, table) if name not in (x, "seed")]
    if by is None:
        by = next((name for name in others if table[name].n_unique() <= MOST_LINES), None)
    else:
        by = _chosen(sweep, by)
    scaled = _scaled(measure, table[measure])
    figure = go.Figure()
    numeric = table[x].dtype.is_numeric()
    for number, (name, rows) in enumerate(_groups(table, by)):
        colour = COLOURS[number % len(COLOURS)]
        found = _summarised(rows, x, measure, scaled)
        if numeric:
            _add_band(figure, found, x, colour)
            _add_line(figure, found, x, name, colour)
        else:
            _add_bars(figure, found, x, name, colour)
    figure.update_xaxes(axis(_words(x)))
    if not numeric:
        figure.update_xaxes(type="category")
    figure.update_yaxes(scaled.axis(), rangemode="tozero")
    title = f"{scaled.label.capitalize()} over {_words(x)}"
    return styled(figure, title, _note(sweep, table, [x, by] if by else [x]))


def surface(
    sweep: Sweep, measure: str = "mean_wait", *, x: str | None = None, y: str | None = None
) -> go.Figure:
    """Draw a measure over two varied parameters as a map; the mean over everything else."""
    table = _table(sweep, measure)
    names = list(_spread(sweep, table))
    names.sort(key=lambda name: (name == "seed", not table[name].dtype.is_numeric()))
    x = _chosen(sweep, x) if x else names[0]
    if y is None:
        y = next((name for name in names if name != x), None)
        if y is None:
            raise ExperimentError(f"a map needs two parameters; only {x} varies")
    else:
        y = _chosen(sweep, y)
    scaled = _scaled(measure, table[measure])
    value = pl.col(measure).mean() / scaled.divisor
    cells = table.group_by(x, y).agg(value.alias("value"))
    across, down = (_places(table[name]) for name in (x, y))
    known = {(row[x], row[y]): row["value"] for row in cells.to_dicts()}
    z = [[known.get((one, other)) for one in across] for other in down]
    figure = go.Figure(
        go.Heatmap(
            x=[_mark(one) for one in across],
            y=[_mark(one) for one in down],
            z=z,
            texttemplate="%{z:,.3~r}" if len(across) * len(down) <= 150 else None,
            colorscale="Blues",
            colorbar={"title": {"text": scaled.unit or ""}},
            hovertemplate=f"{x} %{{x}}, {y} %{{y}}: %{{z:,.4~r}}<extra></extra>",
        )
    )
    figure.update_xaxes(axis(_words(x)), type="category")
    figure.update_yaxes(axis(_words(y)), type="category")
    unit = f" ({scaled.unit})" if scaled.unit else ""
    note = _note(sweep, table, [x, y], band=False)
    return styled(figure, f"{scaled.label.capitalize()}{unit}", note)


def trade_off(
    sweep: Sweep, measure: str | None = None, against: str = "mean_wait", *, by: str | None = None
) -> go.Figure:
    """Draw one measure against another, a point a run: energy against waiting if there is any."""
    table = _table(sweep, against)
    if measure is None:
        has_energy = "energy" in table.columns and table["energy"].is_not_null().any()
        measure = "energy" if has_energy else "utilisation"
    _check_measure(sweep, measure)
    across, up = _scaled(against, table[against]), _scaled(measure, table[measure])
    names = [name for name in _spread(sweep, table) if name != "seed"]
    if by is None:
        few = [name for name in names if table[name].n_unique() <= MOST_LINES]
        by = next((name for name in few if not table[name].dtype.is_numeric()), None)
    else:
        by = _chosen(sweep, by)
    figure = go.Figure()
    for number, (name, rows) in enumerate(_groups(table, by)):
        told = [
            ", ".join(f"{one} {_mark(row[one])}" for one in (*sweep.varied,))
            for row in rows.to_dicts()
        ]
        x, y = rows[against] / across.divisor, rows[measure] / up.divisor
        point = {"color": COLOURS[number % len(COLOURS)], "size": 9, "opacity": 0.8}
        more: dict[str, Any] = {"customdata": told, "name": name, "showlegend": name is not None}
        hover = "%{customdata}<br>%{x:,.4~r}, %{y:,.4~r}"
        figure.add_trace(markers(x.to_list(), y.to_list(), hover, marker=point, **more))
    figure.update_xaxes(across.axis(), rangemode="tozero")
    figure.update_yaxes(up.axis())
    title = f"{up.label.capitalize()} against {across.label}"
    return styled(figure, title, f"one point a run, {table.height:,} runs")


def draw_all(sweep: Sweep) -> dict[str, go.Figure]:
    """Draw every kind that a sweep has enough parameters for."""
    table = _table(sweep, "mean_wait")
    spread = list(_spread(sweep, table))
    figures = {"curve": curve(sweep)}
    if len(spread) > 1:
        figures["map"] = surface(sweep)
    figures["trade_off"] = trade_off(sweep)
    return figures


def _table(sweep: Sweep, measure: str) -> pl.DataFrame:
    """Return the runs that didn't fail; lists of numbers as texts."""
    table = sweep.lazy().filter(pl.col("error").is_null()).collect()
    if table.is_empty():
        raise ExperimentError("there is nothing to draw: no run is finished")
    _check_measure(sweep, measure)
    lists = [name for name in sweep.varied if table[name].dtype == pl.List]
    return table.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join(" "))


def _check_measure(sweep: Sweep, measure: str) -> None:
    numbers = [
        name
        for name, kind in sweep.lazy().collect_schema().items()
        if name in sweep.measures and kind.is_numeric()
    ]
    if measure not in numbers:
        raise ExperimentError(f"no measure {measure!r}; {suggest(measure, numbers)}")


def _spread(sweep: Sweep, table: pl.DataFrame) -> Sequence[str]:
    """Return the parameters that take more than one value; all of them if there is only one run."""
    several = [name for name in sweep.varied if table[name].n_unique() > 1]
    return several or list(sweep.varied)


def _numeric(sweep: Sweep, table: pl.DataFrame) -> list[str]:
    names = [name for name in _spread(sweep, table) if table[name].dtype.is_numeric()]
    return sorted(names, key=lambda name: name == "seed")


def _chosen(sweep: Sweep, name: str) -> str:
    if name not in sweep.varied:
        raise ExperimentError(f"{name!r} doesn't vary; {suggest(name, sweep.varied)}")
    return name


def _places(values: pl.Series) -> list[Any]:
    """Return the different values: numbers in their order, words in the order of the spec."""
    different = values.unique(maintain_order=True)
    return (different.sort() if values.dtype.is_numeric() else different).to_list()


def _groups(table: pl.DataFrame, by: str | None) -> list[tuple[str | None, pl.DataFrame]]:
    if by is None:
        return [(None, table)]
    parts = table.partition_by(by, maintain_order=True)
    return [(_named(by, rows[by][0]), rows) for rows in parts]


def _named(by: str, value: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return value
    return f"{by.rpartition('.')[2].replace('_', ' ')} {_mark(value)}"


def _summarised(rows: pl.DataFrame, x: str, measure: str, scaled: _Scaled) -> pl.DataFrame:
    value = pl.col(measure) / scaled.divisor
    found = rows.group_by(x, maintain_order=True).agg(
        value.mean().alias("mean"),
        value.min().alias("low"),
        value.max().alias("high"),
        pl.len().alias("runs"),
    )
    return found.sort(x) if found[x].dtype.is_numeric() else found


def _add_band(figure: go.Figure, found: pl.DataFrame, x: str, colour: str) -> None:
    if not (found["runs"] > 1).any():
        return
    places = found[x].to_list()
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    low, high = found["low"].to_list(), found["high"].to_list()
    figure.add_trace(band(places, low, high, fillcolor=f"rgba({red},{green},{blue},0.15)"))


def _add_line(
    figure: go.Figure, found: pl.DataFrame, x: str, name: str | None, colour: str
) -> None:
    hover = f"{x} %{{x}}: %{{y:,.4~r}}<extra>{name or ''}</extra>"
    look: dict[str, Any] = {"mode": "lines+markers", "marker": {"size": 7}} | (
        {"name": name} if name else {}
    )
    figure.add_trace(
        line(found[x].to_list(), found["mean"].to_list(), hover, colour=colour, **look)
    )


def _add_bars(
    figure: go.Figure, found: pl.DataFrame, x: str, name: str | None, colour: str
) -> None:
    several = (found["runs"] > 1).any()
    figure.add_bar(
        x=[_mark(one) for one in found[x]],
        y=found["mean"].to_list(),
        name=name,
        marker={"color": colour},
        showlegend=name is not None,
        error_y={
            "array": (found["high"] - found["mean"]).to_list(),
            "arrayminus": (found["mean"] - found["low"]).to_list(),
            "thickness": 1.5,
        }
        if several
        else None,
        hovertemplate=f"%{{x}}: %{{y:,.4~r}}<extra>{name or ''}</extra>",
    )


def _scaled(measure: str, values: pl.Series) -> _Scaled:
    """Choose a unit by what is measured and how much of it there is."""
    largest = float(values.abs().max() or 0.0)  # type: ignore[arg-type]
    label = measure.replace("_", " ").replace("p95", "95 %")
    if measure.endswith(("_wait", "_response", "_service")) or measure == "makespan":
        unit, seconds, _ = next(one for one in TIMES if largest >= one[2])
        return _Scaled(label, unit, seconds)
    if measure in ("utilisation", "wasted_share"):
        return _Scaled(label, "%", 0.01)
    if measure in ("energy", "job_energy", "idle_energy"):
        return _Scaled(label, "kWh", 3.6e6) if largest >= 3.6e5 else _Scaled(label, "J", 1.0)
    return _Scaled(label, {"mean_power": "W"}.get(measure), 1.0)


UNITS: Final[Mapping[str, str]] = {
    "procs": "processors",
    "load": "offered load",
    "load_factor": "load, as a multiple of the log's",
    "jobs": "jobs",
}


def _words(name: str) -> str:
    """Name a parameter: the last part of a dotted name says what it is."""
    return UNITS.get(name, name.rpartition(".")[2].replace("_", " "))


def _mark(value: Any) -> str:  # noqa: ANN401
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _note(sweep: Sweep, table: pl.DataFrame, shown: list[str], *, band: bool = True) -> str:
    """Say what the means go over: what still differs between runs at one place of the figure."""
    rest = [name for name in _spread(sweep, table) if name not in shown]
    inside = table.group_by(shown).agg(pl.col(rest).n_unique())
    most = {name: max(inside[name].to_list()) for name in rest}
    over = [f"{_words(name)} ({most[name]})" for name in rest if most[name] > 1]
    if not over:
        return f"{table.height:,} runs"
    reach = "; bands: lowest to highest run" if band else ""
    return f"{table.height:,} runs, means over {', '.join(over)}{reach}"


KINDS: Final[Mapping[str, Callable[..., go.Figure]]] = {
    "curve": curve,
    "map": surface,
    "trade_off": trade_off,
}

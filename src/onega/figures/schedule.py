"""Figures of a schedule: work, load, queue, waits, slowdown, power."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.core.errors import SimulationError
from onega.core.schedule.common import common_jobs
from onega.core.schedule.energy import busy_power
from onega.core.types import Floats
from onega.core.units import humanise_seconds
from onega.figures.gantt import gantt
from onega.figures.series import Clock, bins, distribution, extremes, means, span_name
from onega.figures.theme import (
    BLUE,
    COLOURS,
    GREY,
    INK,
    LOG_TICKS,
    ORANGE,
    RED,
    axis,
    line,
    reference_line,
    styled,
    time_axis,
)

if TYPE_CHECKING:
    import polars as pl

    from onega.core.schedule.schedule import Schedule

Window = tuple[float, float]


def workload(schedule: Schedule, window: Window | None = None) -> go.Figure:
    """Remaining work, jobs in service and rate over time (Rumyantsev et al. 2018, Figure 1).

    ``window`` = (from, to) in seconds after the log's epoch; all of it by default.
    """
    table = _system(schedule, window)
    time, clock = _clock(schedule, table)
    rated = table["rate"].n_unique() > 1
    heights = [0.58, 0.27, 0.15] if rated else [0.65, 0.35]
    figure = make_subplots(
        rows=len(heights), cols=1, shared_xaxes=True, vertical_spacing=0.045, row_heights=heights
    )
    # Work jumps up at submissions and falls on a line between events.
    fallen = np.maximum(_left_limits(table), 0.0)
    both_times = np.repeat(time, 2)
    both = np.column_stack([fallen, table["workload"].to_numpy()]).ravel()
    kept = extremes(both_times, both)
    hours = both[kept] / 3600
    drop = line(clock.place(both_times[kept]), hours, "%{y:,.4~r} h of work", colour=INK, width=1.4)
    figure.add_trace(drop, row=1, col=1)
    _thresholds(figure, schedule)
    running = table["running"].to_numpy().astype(np.float64)
    figure.add_trace(_steps((time, running), clock, GREY, "%{y} jobs running"), row=2, col=1)
    if rated:
        rate = table["rate"].to_numpy()
        figure.add_trace(_steps((time, rate), clock, RED, "rate %{y}"), row=3, col=1)
        levels = list(schedule.rates.rates)
        figure.update_yaxes(title={"text": "rate"}, tickvals=levels, row=3, col=1)
    figure.update_yaxes(title={"text": "remaining work (hours)"}, rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title={"text": "jobs running"}, rangemode="tozero", row=2, col=1)
    figure.update_xaxes(clock.axis(), row=len(heights), col=1)
    title = "Remaining work of all jobs in the system, and jobs in service"
    styled(figure, title, _described(schedule), height=720 if rated else 600)
    return figure.update_layout(margin={"r": 56})


def utilisation(schedule: Schedule, window: Window | None = None) -> go.Figure:
    """Busy share of the machine, as a mean over each hour, day or week."""
    table = _system(schedule, window)
    time, clock = _clock(schedule, table)
    edges, span = bins(time)
    size = schedule.cluster.procs
    busy = 100 * means(time, table["busy"].to_numpy() / size, edges)
    figure = go.Figure(_area(clock, edges, busy, "%{y:.1f} % busy", BLUE))
    overall = 100 * float(means(time, table["busy"].to_numpy() / size, time[[0, -1]])[0])
    reference_line(figure, overall, f"mean {overall:.1f} %")
    figure.update_xaxes(clock.axis())
    top = max(101.0, float(np.nanmax(busy)) * 1.02)
    figure.update_yaxes(axis("busy processors", "%"), range=[0, top])
    note = f"{_described(schedule)}; mean over each {span_name(span)}"
    return styled(figure, "How busy the machine is", note)


def queue(schedule: Schedule, window: Window | None = None) -> go.Figure:
    """Jobs that wait, over time."""
    table = _system(schedule, window)
    time, clock = _clock(schedule, table)
    waiting = table["waiting"].to_numpy().astype(np.float64)
    figure = go.Figure(_steps((time, waiting), clock, ORANGE, "%{y:,} jobs waiting", fill=True))
    mean = float(means(time, waiting, time[[0, -1]])[0])
    reference_line(figure, mean, f"mean {mean:.3g}")
    figure.update_xaxes(clock.axis())
    figure.update_yaxes(axis("jobs waiting"), rangemode="tozero")
    return styled(figure, "How long the queue is", _described(schedule))


def power(schedule: Schedule, window: Window | None = None) -> go.Figure:
    """Power of busy and of idle processors, as means over hours, days or weeks.

    Rumyantsev et al. (2018), (11).
    """
    if schedule.cluster.power is None:
        raise SimulationError("no power was given, so there is none to draw; simulate with power=")
    table = _system(schedule, window)
    time, clock = _clock(schedule, table)
    edges, span = bins(time)
    watts, unit, scale = table["power"].to_numpy(), "W", 1.0
    if watts.max() >= 2000:
        unit, scale = "kW", 1000.0
    by_busy = busy_power(schedule, time)
    rest = "idle, sleeping and waking processors" if schedule.cluster.sleep else "idle processors"
    figure = go.Figure()
    for name, drawn, colour in (
        (rest, watts - by_busy, GREY),
        ("busy processors", by_busy, ORANGE),
    ):
        mean = means(time, drawn, edges) / scale
        area = _area(clock, edges, mean, f"%{{y:,.4~r}} {unit}", colour, stack="power")
        area.update(name=name, showlegend=True)
        figure.add_trace(area)
    overall = float(means(time, watts, time[[0, -1]])[0]) / scale
    reference_line(figure, overall, f"mean {overall:,.4g} {unit}")
    figure.update_xaxes(clock.axis())
    figure.update_yaxes(axis("power", unit), rangemode="tozero")
    note = f"{_described(schedule)}; mean over each {span_name(span)}"
    return styled(figure, "What the machine draws", note)


def waits(schedule: Schedule) -> go.Figure:
    """Distribution of waits; the share of jobs that didn't wait is where the line begins."""
    return compare_schedules({_name(schedule): schedule})


def slowdown(schedule: Schedule) -> go.Figure:
    """Distribution of the bounded slowdown."""
    return compare_schedules({_name(schedule): schedule}, measure="bounded_slowdown")


def compare_schedules(schedules: Mapping[str, Schedule], *, measure: str = "wait") -> go.Figure:
    """Distributions of a measure under several schedules, over each other.

    Parameters
    ----------
    schedules
        Name → schedule; observed ones and simulated ones alike.
    measure
        ``"wait"``, ``"response"``, ``"slowdown"`` or ``"bounded_slowdown"``.

    Notes
    -----
    Over the jobs that all of them have, where they are schedules of one log: an observed one may
    lack waits, and hold jobs that can't be simulated.
    """
    if measure not in _MEASURES:
        raise ValueError(f"no distribution of {measure!r}; accepted: {', '.join(_MEASURES)}")
    if not schedules:
        raise ValueError("compare_schedules needs at least one schedule, got none")
    tables = [schedule.jobs for schedule in schedules.values()]
    if len({schedule.workload.meta.source for schedule in schedules.values()}) == 1:
        tables = common_jobs(tables)
    note = _distribution_note(next(iter(schedules.values())), measure)
    return compare_tables(dict(zip(schedules, tables, strict=True)), measure=measure, note=note)


def compare_tables(
    tables: Mapping[str, pl.DataFrame], *, measure: str = "wait", note: str = ""
) -> go.Figure:
    """Draw what `compare_schedules` does, of tables with the columns of `Schedule.jobs`."""
    title, label, least, scale = _MEASURES[measure]
    figure = go.Figure()
    for place, (name, table) in enumerate(tables.items()):
        values = table[measure].to_numpy()
        values = values[np.isfinite(values)]
        x, share = distribution(values, least)
        if x[0] > least:
            x, share = np.append(least, x), np.append(0.0, share)
        hover = f"%{{y:.1f}} % at most %{{customdata}}<extra>{name}</extra>"
        told = [humanise_seconds(float(v)) if scale == "time" else f"{v:.4g}" for v in x]
        look: dict[str, Any] = {
            "colour": COLOURS[place % len(COLOURS)],
            "width": 2.4,
            "shape": "hv",
        }
        look |= {"name": name, "showlegend": len(tables) > 1, "customdata": told}
        figure.add_trace(line(x, 100 * share, hover, **look))
    figure.update_xaxes(time_axis(label) if scale == "time" else axis(label) | LOG_TICKS)
    figure.update_yaxes(axis("cumulative share of jobs", "%"), range=[0, 101])
    if len(tables) > 1:
        note = "the higher the line, the better"
        note += "; a wait under a second counts as none" if measure == "wait" else ""
    return styled(figure, title, note)


_MEASURES: Final[dict[str, tuple[str, str, float, str]]] = {
    "wait": ("How long jobs wait", "wait", 1.0, "time"),
    "response": ("From submission to completion", "response time", 1.0, "time"),
    "slowdown": ("Slowdown of jobs", "response / service", 1.0, "ratio"),
    "bounded_slowdown": (
        "Slowdown of jobs",
        "bounded slowdown, response / max(service, 10 s)",
        1.0,
        "ratio",
    ),
}
"""Measure → title, label of the axis, least value on its logarithmic axis, kind of axis."""

KINDS: Final[dict[str, Callable[..., go.Figure]]] = {
    "workload": workload,
    "gantt": gantt,
    "utilisation": utilisation,
    "queue": queue,
    "waits": waits,
    "slowdown": slowdown,
    "power": power,
}


def draw_all(schedule: Schedule) -> dict[str, go.Figure]:
    """Draw every figure that the schedule can give, by name."""
    return {
        name: draw(schedule)
        for name, draw in KINDS.items()
        if name != "power" or schedule.cluster.power is not None
    }


def _name(schedule: Schedule) -> str:
    return str(schedule.policy) if schedule.policy else "observed"


def _described(schedule: Schedule) -> str:
    source = schedule.workload.meta.source
    on = f" on {schedule.cluster.procs:,} processors"
    return f"{_name(schedule)}{on}{f', jobs of {source}' if source else ''}"


def _system(schedule: Schedule, window: Window | None) -> pl.DataFrame:
    table = schedule.system
    if window is None:
        return table
    time = table["time"].to_numpy()
    first = max(0, int(np.searchsorted(time, window[0], side="right")) - 1)
    last = int(np.searchsorted(time, window[1], side="right"))
    if last - first < 2:
        raise ValueError(
            f"nothing happens in the window {window}; "
            f"the schedule goes from {time[0]:g} to {time[-1]:g} s"
        )
    return table[first:last]


def _clock(schedule: Schedule, table: pl.DataFrame) -> tuple[Floats, Clock]:
    time = table["time"].to_numpy()
    first = float(schedule.workload.column("submit").min())
    return time, Clock.of(first, float(time[-1] - time[0]), schedule.workload.meta)


def _left_limits(table: pl.DataFrame) -> Floats:
    """Return the remaining work right before each event."""
    time, work = table["time"].to_numpy(), table["workload"].to_numpy()
    fall = (table["rate"] * table["running"]).to_numpy()[:-1] * np.diff(time)
    return np.concatenate([[0.0], work[:-1] - fall])


def _thresholds(figure: go.Figure, schedule: Schedule) -> None:
    """Mark where the workload rule switches, with the names at the right, beside the picture.

    A rule that goes by estimates switches where *their* sum passes these, not the work shown.
    """
    control = schedule.cluster.rates
    if control.kind != "workload":
        return
    same = control.k_low == control.k_high
    marks = [("k" if same else "k_high", level, "bottom") for level in control.k_high]
    marks += [] if same else [("k_low", level, "top") for level in control.k_low]
    policy = schedule.policy
    of = ", by estimates" if policy is not None and policy.knowledge == "estimate" else ""
    for name, level, side in marks:
        figure.add_hline(
            y=level / 3600,
            line={"color": RED, "dash": "dash", "width": 1.2},
            annotation={"text": f"{name}{of}", "xanchor": "left", "yanchor": side, "x": 1.004},
            annotation_font={"size": 11, "color": RED},
            row=1,
            col=1,
        )


def _steps(
    series: tuple[Floats, Floats], clock: Clock, colour: str, hover: str, *, fill: bool = False
) -> go.Scatter:
    """Draw a quantity that holds from one event to the next, thinned without losing its peaks."""
    time, values = series
    kept = extremes(time, values)
    look: dict[str, Any] = {
        "colour": colour,
        "width": 1.4,
        "shape": "hv",
        "fill": "tozeroy" if fill else None,
    }
    return line(clock.place(time[kept]), values[kept], hover, **look)


def _area(
    clock: Clock,
    edges: Floats,
    heights: Floats,
    hover: str,
    colour: str,
    *,
    stack: str | None = None,
) -> go.Scatter:
    """Draw steps from edge to edge, filled down to zero or to the area below."""
    ends = clock.place(edges), np.append(heights, heights[-1:])
    filled: dict[str, Any] = {
        "fill": "tozeroy" if stack is None else "tonexty",
        "stackgroup": stack,
    }
    return line(*ends, hover, colour=colour, width=1.2, shape="hv", **filled)


def _distribution_note(schedule: Schedule, measure: str) -> str:
    values = schedule.jobs[measure].to_numpy()
    median, p95 = np.nanquantile(values, [0.5, 0.95])
    if measure in ("wait", "response"):
        told = f"half at most {humanise_seconds(median)}, 95 % at most {humanise_seconds(p95)}"
    else:
        told = f"half at most {median:.3g}, 95 % at most {p95:.3g}"
    if measure == "wait":
        told = f"{np.mean(values == 0):.0%} of the jobs didn't wait; {told}"
    return f"{_described(schedule)}: {told}"

"""Figures of a described log: those that Song (2006) draws, and its tables as pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.core.errors import TraceError
from onega.core.units import clock_words, humanise_seconds, percent
from onega.figures import theme
from onega.figures.theme import BLUE, GREEN, ORANGE, SKY, axis, bars, styled

if TYPE_CHECKING:
    from onega.traces.description import Description

HOUR: Final = 3600.0
STICK: Final = 2**0.07
"""Half the thickness of a bar on an axis of powers of two."""


def runtimes(description: Description) -> go.Figure:
    """Histogram of run times on a logarithmic scale (Fig. 2.5)."""
    bins = _section(description, "shape", "runtime").runtimes
    figure = go.Figure(
        bars(
            [(one.low * one.high) ** 0.5 for one in bins],
            [100 * one.share for one in bins],
            "%{customdata[0]} to %{customdata[1]}: %{customdata[2]:,} jobs (%{y:.1f} %)",
            extra=[
                (humanise_seconds(one.low), humanise_seconds(one.high), one.jobs) for one in bins
            ],
            gap=1,
            width=[one.high - one.low for one in bins],
            offset=[one.low - (one.low * one.high) ** 0.5 for one in bins],
            showlegend=None,
        )
    )
    figure.update_xaxes(theme.time_axis("run time"))
    figure.update_yaxes(axis("share of jobs", "%"))
    spread = description.runtime
    note = None
    if spread is not None:
        note = f"median {humanise_seconds(spread.median)}, mean {humanise_seconds(spread.mean)}"
    return styled(figure, "Run times", note)


def widths(description: Description) -> go.Figure:
    """Histogram of widths; powers of two stand out (Fig. 2.6)."""
    shape = _section(description, "shape", "width")
    figure = go.Figure()
    for name, colour, powers in (("powers of two", ORANGE, True), ("other widths", BLUE, False)):
        rows = [one for one in shape.widths if (one.width & (one.width - 1) == 0) is powers]
        if not rows:
            continue
        trace = bars(
            [one.width for one in rows],
            [100 * one.share for one in rows],
            "%{x} processors: %{customdata:,} jobs (%{y:.2f} %)",
            colour=colour,
            name=name,
            extra=[one.jobs for one in rows],
            # Equally thick on the logarithmic axis.
            width=[one.width * (STICK - 1 / STICK) for one in rows],
            offset=[one.width * (1 / STICK - 1) for one in rows],
        )
        figure.add_trace(trace)
    ends = math.log10(shape.widths[0].width / 1.3), math.log10(shape.widths[-1].width * 1.3)
    between = (shape.widths[0].width, shape.widths[-1].width)
    figure.update_xaxes(theme.power_axis("width", "processors", between), range=ends)
    figure.update_yaxes(axis("share of jobs", "%"))
    note = f"{percent(shape.serial)} serial, {percent(shape.power_of_two)} powers of two"
    return styled(figure, "Widths", note).update_layout(barmode="overlay")


def runs(description: Description) -> go.Figure:
    """Mean length of runs of one width, against independent draws (Fig. 3.1)."""
    temporal = _section(description, "temporal")
    rows = temporal.runs
    labels = [f"{row.width:,}" for row in rows]
    figure = go.Figure(
        [
            bars(
                labels,
                [row.observed for row in rows],
                "%{y:.2f} in a row, of %{customdata:,} jobs",
                name="in the log",
                extra=[row.jobs for row in rows],
            ),
            bars(
                labels,
                [row.independent for row in rows],
                "%{y:.2f} in a row if drawn independently",
                colour=SKY,
                name="if widths were independent",
            ),
        ]
    )
    figure.update_xaxes(axis("width", "processors"), type="category")
    figure.update_yaxes(axis("mean length of a run", "jobs"), rangemode="tozero")
    note = f"{temporal.same_width:.1%} of neighbours have the same width"
    return styled(figure, "How often one width is submitted in a row", note)


def width_successors(description: Description) -> go.Figure:
    """Mean width of the next job, by class of width (Fig. 3.2)."""
    temporal = _section(description, "temporal")
    rows = temporal.width_successors
    if not rows:
        raise TraceError("no figure 'width_successors': the width never changes")
    figure = go.Figure(
        bars(
            [_class_label(row.power, description.load.widest) for row in rows],
            [row.mean for row in rows],
            "after %{x} processors: %{y:.1f} on average (%{customdata:,} jobs)",
            extra=[row.jobs for row in rows],
        )
    )
    figure.update_xaxes(axis("width of a job", "processors"), type="category")
    figure.update_yaxes(axis("mean width of the next job", "processors"), rangemode="tozero")
    theme.reference_line(
        figure, temporal.mean_width, f"mean of all jobs: {temporal.mean_width:.1f}"
    )
    return styled(
        figure, "What follows a job of a given width", "repetitions of one width count once"
    )


def runtime_successors(description: Description) -> go.Figure:
    """Mean run time of the next job, by class of run time (Fig. 3.3)."""
    temporal = _section(description, "temporal")
    rows = temporal.runtime_successors
    figure = go.Figure(_time_class_bars(rows, [row.mean / HOUR for row in rows], "%{y:.2f} h"))
    figure.update_xaxes(theme.time_axis("run time of a job"))
    figure.update_yaxes(theme.hours_axis("mean run time of the next job"))
    theme.reference_line(
        figure,
        temporal.mean_runtime / HOUR,
        f"mean of all jobs: {humanise_seconds(temporal.mean_runtime)}",
    )
    note = (
        "" if temporal.rho1_runtime is None else f"autocorrelation ρ₁ {temporal.rho1_runtime:.2f}"
    )
    return styled(figure, "What follows a job of a given run time", note)


def accuracy(description: Description) -> go.Figure:
    """Mean accuracy of estimates, by class of run time (Fig. 4.1)."""
    section = _section(description, "estimates")
    rows = section.classes
    if not rows:
        raise TraceError("no figure 'accuracy': no job ran within 1.1 times its estimate")
    figure = go.Figure(_time_class_bars(rows, [row.accuracy for row in rows], "%{y:.2f}"))
    figure.update_xaxes(theme.time_axis("run time"))
    figure.update_yaxes(axis("mean accuracy", "run time / estimate"), range=[0, 1.1])
    theme.reference_line(figure, 1.0, "exact")
    note = (
        "jobs that ran less than 1.1 times their estimate; "
        f"the mean over all is {section.mean_accuracy:.2f}"
    )
    return styled(figure, "How accurate estimates are", note)


def estimates(description: Description) -> go.Figure:
    """Draw the twenty most frequent estimates (Tables 4.3–4.5)."""
    section = _section(description, "estimates")
    rows = sorted(section.frequent)
    figure = go.Figure(
        bars(
            [clock_words(row.estimate) for row in rows],
            [100 * row.share for row in rows],
            "%{x}: %{customdata:,} jobs (%{y:.1f} %)",
            extra=[row.jobs for row in rows],
        )
    )
    figure.update_xaxes(axis("estimated run time"), type="category", tickangle=-45)
    figure.update_yaxes(axis("share of jobs", "%"))
    note = (
        f"these {len(rows)} values are {section.frequent_share:.1%} of all estimates; "
        f"the largest is {clock_words(section.maximum)}"
    )
    return styled(figure, "The most frequent estimates", note)


def submissions(description: Description) -> go.Figure:
    """Users by number of submissions (Table 5.1)."""
    section = _section(description, "users")
    rows = section.submissions
    labels = [
        f"{row.low:,}–{row.high - 1:,}" if row.high else f"{row.low:,} or more" for row in rows
    ]
    figure = go.Figure(
        bars(
            labels,
            [100 * row.share for row in rows],
            "%{x} submissions: %{customdata} users (%{y:.1f} %)",
            extra=[row.users for row in rows],
        )
    )
    figure.update_traces(text=[f"{100 * row.share:.1f} %" for row in rows], textposition="outside")
    figure.update_xaxes(axis("submissions per user"), type="category")
    figure.update_yaxes(
        axis("share of users", "%"), range=[0, max(100 * r.share for r in rows) * 1.15]
    )
    return styled(figure, "How many jobs users submit", f"{section.users:,} users")


def users(description: Description) -> go.Figure:
    """Mean width of the ten most active users' jobs (Fig. 5.1)."""
    section = _section(description, "users")
    rows = [row for row in section.active if row.mean_width is not None]
    if not rows:
        raise TraceError("no figure 'users': the widths of the active users' jobs are unknown")
    figure = go.Figure(
        bars(
            [row.name for row in rows],
            [row.mean_width for row in rows],
            "user %{x}: %{customdata[0]:,} jobs, %{y:.1f} processors on average, "
            "%{customdata[1]:.1f} % of all processor time",
            extra=[(row.jobs, 100 * (row.area_share or 0)) for row in rows],
        )
    )
    figure.update_traces(text=[f"{row.mean_width:.1f}" for row in rows], textposition="outside")
    figure.update_xaxes(axis("user, the most active one first"), type="category")
    figure.update_yaxes(axis("mean width", "processors"), rangemode="tozero")
    note = f"together they submitted {section.active_job_share:.0%} of all jobs"
    return styled(figure, f"The {len(rows)} most active users", note)


def daily(description: Description) -> go.Figure:
    """Jobs, mean run time and mean width by hour of submission (Fig. 7.1)."""
    section = _section(description, "cycles")
    return _cycle(section.hours, f"The day, in {_zone(section)}", "hour of submission")


def weekly(description: Description) -> go.Figure:
    """Jobs, mean run time and mean width by day of submission (Fig. 7.2)."""
    section = _section(description, "cycles")
    return _cycle(section.weekdays, f"The week, in {_zone(section)}", "day of submission")


def tail(description: Description) -> go.Figure:
    """Hill plot: the tail index against the number of largest run times it rests on."""
    section = _section(description, "tail")
    points = section.curve
    hover = (
        "the %{x} longest jobs (from %{customdata[0]}): α = %{y:.2f}, distance %{customdata[1]:.3f}"
    )
    told = [(humanise_seconds(p.threshold), p.distance) for p in points]
    alphas = [point.alpha for point in points]
    figure = go.Figure(theme.line([point.k for point in points], alphas, hover, customdata=told))
    name = f"nearest to a power law: α = {section.alpha:.2f} ± {section.error:.2f}"
    look: dict[str, Any] = {"color": ORANGE, "size": 13, "line": {"color": "white", "width": 2}}
    figure.add_trace(theme.markers([section.k], [section.alpha], None, marker=look, name=name))
    theme.reference_line(figure, 2.0, "heavy below α = 2")
    figure.update_xaxes(axis("longest jobs taken", "k"), **theme.LOG_TICKS)
    # Where queues cut run times off, α grows without bounds for small k; it says nothing there.
    figure.update_yaxes(axis("tail index α"), range=[0, max(5.0, 1.5 * section.alpha)])
    quality = "a fair fit" if section.fits else "a poor fit: limits on run times cut the tail off"
    note = f"distance from a power law {section.distance:.2f}, {quality}"
    return styled(figure, "How heavy the tail of run times is", note)


KINDS: Final[dict[str, Callable[..., go.Figure]]] = {
    "daily": daily,
    "weekly": weekly,
    "runtimes": runtimes,
    "widths": widths,
    "runs": runs,
    "width_successors": width_successors,
    "runtime_successors": runtime_successors,
    "accuracy": accuracy,
    "estimates": estimates,
    "submissions": submissions,
    "users": users,
    "tail": tail,
}
"""Name → drawing function of one `Description`."""


def draw_all(description: Description) -> tuple[dict[str, go.Figure], dict[str, str]]:
    """Draw what the log can give; the second dictionary says why the rest is not there."""
    figures: dict[str, go.Figure] = {}
    left_out: dict[str, str] = {}
    for name, draw in KINDS.items():
        try:
            figures[name] = draw(description)
        except TraceError as error:
            left_out[name] = error.message
    return figures, left_out


def _section(description: Description, name: str, *also: str) -> Any:  # noqa: ANN401
    """Return a section, or say why the log hasn't got it."""
    for needed in (name, *also):
        if getattr(description, needed) is None:
            raise TraceError(f"no such figure of this log: {description.missing[needed]}")
    return getattr(description, name)


def _zone(section: Any) -> str:  # noqa: ANN401
    return f"{section.timezone} time"


def _class_label(power: float, widest: int | None) -> str:
    low, high = int(power), int(2 * power - 1)
    high = min(high, widest or high)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _time_class_bars(rows: Any, heights: list[float], value: str) -> go.Bar:  # noqa: ANN401
    """Draw bars over classes [2^k, 2^(k+1)) seconds of a logarithmic axis."""
    powers = [row.power for row in rows]
    told = [
        (humanise_seconds(row.power), humanise_seconds(2 * row.power), row.jobs) for row in rows
    ]
    hover = f"%{{customdata[0]}} to %{{customdata[1]}}: {value} (%{{customdata[2]:,}} jobs)"
    return bars(powers, heights, hover, extra=told, gap=1.5, width=powers, offset=0)


def _cycle(slots: Any, title: str, label: str) -> go.Figure:  # noqa: ANN401
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    labels = [slot.label.removesuffix(":00") for slot in slots]
    rows = (
        ([slot.jobs for slot in slots], BLUE, "jobs", "%{y:,} jobs"),
        (
            [None if slot.mean_runtime is None else slot.mean_runtime / HOUR for slot in slots],
            ORANGE,
            "mean run<br>time (hours)",
            "%{y:.2f} h on average",
        ),
        (
            [slot.mean_width for slot in slots],
            GREEN,
            "mean width<br>(processors)",
            "%{y:.1f} processors on average",
        ),
    )
    for row, (heights, colour, name, hover) in enumerate(rows, 1):
        figure.add_trace(bars(labels, heights, f"%{{x}}: {hover}", colour=colour), row=row, col=1)
        figure.update_yaxes(title={"text": name}, rangemode="tozero", row=row, col=1)
    figure.update_xaxes(type="category")
    figure.update_xaxes(title={"text": label}, row=3, col=1)
    return styled(figure, title, "by time of submission", height=640)

"""Which job ran where and when: jobs packed onto processors, and when each waited and ran.

Figure 2 of Rumyantsev et al. (2018), with the processors of `onega.core.schedule.packing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from onega.core.schedule.packing import pack
from onega.core.types import Floats, Ints
from onega.core.units import humanise_seconds
from onega.figures.series import Clock
from onega.figures.theme import BLUE, GREEN, INK, ORANGE, PURPLE, RED, SKY, line, styled

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

JOBS: Final = 500
"""As many jobs as the paper's figure shows."""

MOST_RECTANGLES: Final = 6000

JOB_COLOURS: Final = (BLUE, ORANGE, GREEN, SKY, RED, PURPLE, "#F0E442", "#44679f", "#7fb77e",
                      "#b86b4b", "#3b8ea5", "#9a7fb8")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chosen:
    """The jobs of a figure, by submission, and what ran while they were in the system."""

    rows: Ints
    first: int
    begin: float
    end: float
    row: Ints
    start: Floats
    finish: Floats


def gantt(schedule: Schedule, jobs: int | tuple[int, int] | slice | None = None) -> go.Figure:
    """Processors occupied by jobs above; below, each job waiting (grey) and running (black).

    Parameters
    ----------
    schedule
        Observed or simulated.
    jobs
        Which jobs, counted from 0 by submission: ``slice(7000, 7500)``, ``(7000, 500)`` (from,
        count), or how many (those that waited most, in a row). 500 by default.
    """
    chosen = choose(schedule, jobs)
    first = float(schedule.workload.column("submit").min())
    clock = Clock.of(first, chosen.end - chosen.begin, schedule.workload.meta)
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=[0.5, 0.5]
    )
    figure.add_trace(_rectangles(schedule, chosen, clock), row=1, col=1)
    for trace in _lives(schedule, chosen, clock):
        figure.add_trace(trace, row=2, col=1)
    low, high = clock.place([chosen.begin, chosen.end])
    # Both axes: Plotly would take the lengths of the bars for the places on an axis of numbers.
    figure.update_xaxes(clock.axis() | {"range": [low, high]})
    figure.update_xaxes(title=None, row=1, col=1)
    figure.update_layout(barmode="overlay")
    top = schedule.cluster.procs
    figure.update_yaxes(title={"text": "processors"}, range=[0, top], row=1, col=1)
    figure.update_yaxes(title={"text": "job, by submission"}, tickformat=",", row=2, col=1)
    last = chosen.first + chosen.rows.size - 1
    name = str(schedule.policy) if schedule.policy else "observed"
    note = f"{name}: jobs {chosen.first:,} to {last:,} by submission, and all that ran beside them"
    return styled(figure, "Which jobs ran when, and which waited", note, height=820)


def choose(schedule: Schedule, jobs: int | tuple[int, int] | slice | None = None) -> Chosen:
    """Find the jobs of a figure and the pieces of service that overlap their time."""
    submit = schedule.workload.column("submit")
    order = np.argsort(submit, kind="stable")
    first, count = _range(schedule, order, jobs)
    rows = order[first : first + count]
    begin, end = float(submit[rows].min()), float(_leave(schedule)[rows].max())
    row, start, finish = schedule.service_pieces()
    seen = np.flatnonzero((finish > begin) & (start < end) & (finish > start))
    seen = seen[np.argsort(start[seen], kind="stable")]
    if seen.size > MOST_RECTANGLES:
        # More than a picture can show: stop where it is full.
        end = float(start[seen[MOST_RECTANGLES]])
        seen = seen[:MOST_RECTANGLES]
    return Chosen(rows, first, begin, end, row[seen], start[seen], finish[seen])


def _leave(schedule: Schedule) -> Floats:
    """Return when each job left; one that never did is there to the end."""
    return np.where(np.isnan(schedule.end), schedule.last, schedule.end)


def _range(
    schedule: Schedule, order: Ints, jobs: int | tuple[int, int] | slice | None
) -> tuple[int, int]:
    total = len(schedule)
    if isinstance(jobs, slice):
        first, stop, step = jobs.indices(total)
        if step != 1:
            raise ValueError(f"gantt draws neighbouring jobs, got a step of {step}")
        count = stop - first
    elif isinstance(jobs, tuple):
        first, count = jobs
        count = min(count, total - first)
    else:
        count = min(JOBS if jobs is None else jobs, total)
        first = _busiest(schedule, order, count) if count > 0 else 0
    if not (0 <= first < total and count > 0):
        raise ValueError(f"jobs={jobs!r} chooses none of the {total} jobs (counted from 0)")
    return first, count


def _busiest(schedule: Schedule, order: Ints, count: int) -> int:
    """Return where ``count`` jobs in a row waited most; used most, if none waited."""
    waits = (schedule.start - schedule.workload.column("submit"))[order]
    waits = np.nan_to_num(waits)  # a job that never started has no wait
    area = (schedule.workload.column("procs") * schedule.work)[order]
    weight = waits if waits.any() else area
    sums = np.concatenate([[0.0], np.cumsum(weight)])
    return int(np.argmax(sums[count:] - sums[:-count]))


def _rectangles(schedule: Schedule, chosen: Chosen, clock: Clock) -> go.Bar:
    width = schedule.workload.column("procs")[chosen.row]
    packed = list(pack(chosen.start, chosen.finish, width, schedule.cluster.procs))
    piece, first, count = (np.array(part) for part in zip(*packed, strict=True))
    row = chosen.row[piece]
    start = np.maximum(chosen.start[piece], chosen.begin)
    finish = np.minimum(chosen.finish[piece], chosen.end)
    ids = schedule.workload.table["job"].to_numpy()[row]
    palette = np.array(JOB_COLOURS)
    return go.Bar(
        orientation="h",
        base=clock.place(start),
        x=clock.length(finish - start),
        y=first + count / 2,
        width=count,
        marker={"color": palette[row % palette.size], "line": {"color": "white", "width": 0.3}},
        customdata=[
            (int(one), int(n), humanise_seconds(float(took)))
            for one, n, took in zip(
                ids, width[piece], (chosen.finish - chosen.start)[piece], strict=True
            )
        ],
        hovertemplate="job %{customdata[0]}: %{customdata[1]:,} processors for "
        "%{customdata[2]}<extra></extra>",
        showlegend=False,
    )


def _lives(schedule: Schedule, chosen: Chosen, clock: Clock) -> Iterator[go.Scatter]:
    """Draw jobs grey from submission to completion, black where they ran."""
    submit = schedule.workload.column("submit")[chosen.rows]
    number = np.arange(chosen.first, chosen.first + chosen.rows.size)
    yield _segments(
        submit, _leave(schedule)[chosen.rows], number, clock, name="waiting", color="#b8bec6"
    )
    place = np.full(len(schedule), -1)
    place[chosen.rows] = number
    mine = place[chosen.row] >= 0
    yield _segments(
        chosen.start[mine],
        chosen.finish[mine],
        place[chosen.row[mine]],
        clock,
        name="running",
        color=INK,
    )


def _segments(
    start: Floats, end: Floats, level: Ints, clock: Clock, *, name: str, color: str
) -> go.Scatter:
    """Draw horizontal lines, one for each job."""
    middle = np.empty((start.size, 3), dtype=object)
    middle[:, 0], middle[:, 1] = clock.place(start).astype(object), clock.place(end).astype(object)
    levels: Any = np.repeat(level, 3).astype(object)
    levels[2::3] = None
    return line(middle.ravel(), levels, f"job %{{y}}: {name}", colour=color, width=1.6, name=name)

"""What a run leaves for its pictures: each job's place on the machine, and finished figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from onega.core.files import write_table
from onega.core.schedule.packing import pack
from onega.figures.schedule import compare_schedules, power, queue, utilisation

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from onega.core.schedule.schedule import Schedule

MEASURES = {"waits": "wait", "slowdown": "bounded_slowdown", "response": "response"}
"""Figures that compare runs, and what they are of."""


def write_pieces(schedule: Schedule, path: Path) -> None:
    """Place every piece of service on processors, once for all pictures, and keep it by start.

    One row per rectangle: ``row`` of the workload, ``start``, ``end``, ``first`` processor,
    ``count`` of processors.
    """
    if schedule.pieces is None:
        row, start, end = np.arange(len(schedule)), schedule.start, schedule.end
    else:
        row, start, end = schedule.pieces.row, schedule.pieces.start, schedule.pieces.end
    seen = np.flatnonzero(end > start)
    seen = seen[np.argsort(start[seen], kind="stable")]
    row, start, end = row[seen], start[seen], end[seen]
    width = schedule.workload.column("procs")[row]
    packed = list(pack(start, end, width, schedule.cluster.procs))
    piece, first, count = np.array(packed, dtype=np.int64).reshape(-1, 3).T
    pieces = pl.DataFrame(
        {
            "row": row[piece],
            "start": start[piece],
            "end": end[piece],
            "first": first,
            "count": count,
        }
    )
    write_table(pieces, path)


def draw_run(schedule: Schedule) -> dict[str, go.Figure]:
    """Draw what the page shows of a run at once; its schedule is drawn as one looks at it."""
    name = str(schedule.policy) if schedule.policy else "observed"
    figures = {
        figure: compare_schedules({name: schedule}, measure=measure)
        for figure, measure in MEASURES.items()
    }
    figures["utilisation"] = utilisation(schedule)
    figures["queue"] = queue(schedule)
    if schedule.cluster.power is not None:
        figures["power"] = power(schedule)
    return figures

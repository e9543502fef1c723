"""A stretch of a schedule at the resolution of a screen.

Few jobs are given one by one. Of many, the share of processors × time that is busy in every cell of
a grid, exactly: the busy area up to time t and processor p is a sum, over the corners of the
rectangles, of ± (t − t_i)⁺·(p − p_i)⁺, and such ramps on a grid are double running sums of hats.
So a picture of 300 000 jobs costs a pass over their corners, whatever its size.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.types import Floats, Ints
from onega.figures.series import means

MOST_RECTANGLES: Final = 3000
"""Rectangles that are sent one by one; above, a grid says more and weighs less."""


@dataclass(frozen=True)
class Picture:
    """A run's tables, ready to be cut into windows."""

    folder: Path
    procs: int

    @cached_property
    def pieces(self) -> dict[str, npt.NDArray[Any]]:
        """Rectangles by start: row, start, end, first, count."""
        return self._columns("pieces.parquet")

    @cached_property
    def jobs(self) -> dict[str, npt.NDArray[Any]]:
        """Of each job what a reader points at."""
        names = ["job", "submit", "start", "end", "wait", "procs"]
        return self._columns("jobs.parquet", names)

    @cached_property
    def system(self) -> dict[str, npt.NDArray[Any]]:
        """Time, busy processors and waiting jobs after every event."""
        return self._columns("system.parquet", ["time", "busy", "waiting"])

    def _columns(self, file: str, names: list[str] | None = None) -> dict[str, npt.NDArray[Any]]:
        table = pl.read_parquet(self.folder / file, columns=names)
        return {name: table[name].to_numpy() for name in table.columns}

    def window(self, begin: float, end: float, columns: int, rows: int) -> dict[str, Any]:
        """Cut out [begin, end): rectangles or a grid, and busy and waiting for each column."""
        pieces = self.pieces
        seen = np.flatnonzero((pieces["end"] > begin) & (pieces["start"] < end))
        in_view = np.zeros(self.jobs["job"].size, dtype=bool)
        in_view[pieces["row"][seen]] = True
        height = max(self.procs, int((pieces["first"] + pieces["count"]).max(initial=1)))
        answer: dict[str, Any] = {
            "begin": begin,
            "end": end,
            "height": height,
            "jobs": int(np.count_nonzero(in_view)),
            "series": self._series(np.linspace(begin, end, columns + 1)),
        }
        if seen.size <= MOST_RECTANGLES:
            return answer | {"kind": "jobs", "rectangles": self._rectangles(seen)}
        box = Box(begin, end, height, columns, min(rows, height))
        cells = occupancy({name: values[seen] for name, values in pieces.items()}, box)
        grid = np.rint(255 * np.clip(cells, 0, 1)).astype(np.uint8)
        return answer | {"kind": "grid", "columns": columns, "rows": box.rows, "grid": _text(grid)}

    def _rectangles(self, seen: Ints) -> dict[str, Any]:
        pieces, jobs = self.pieces, self.jobs
        row = pieces["row"][seen]
        found = {name: pieces[name][seen] for name in ("start", "end", "first", "count")}
        found |= {name: jobs[name][row] for name in ("job", "submit", "wait", "procs")}
        return {name: values.tolist() for name, values in found.items()}

    def _series(self, edges: Floats) -> dict[str, list[float]]:
        """Mean busy processors and most waiting jobs in each column."""
        time = self.system["time"]
        busy = means(time, self.system["busy"].astype(np.float64), edges)
        waiting = peaks(time, self.system["waiting"].astype(np.float64), edges)
        # A thousandth of a processor is less than a pixel, and halves what is sent.
        return {"busy": np.nan_to_num(busy).round(3).tolist(), "waiting": waiting.tolist()}


def _text(grid: npt.NDArray[np.uint8]) -> str:
    """Write bytes, row after row from processor 0, as base64."""
    return base64.b64encode(grid.tobytes()).decode("ascii")


@dataclass(frozen=True, slots=True)
class Box:
    """A stretch of time and all processors, cut into columns and rows."""

    begin: float
    end: float
    height: int
    columns: int
    rows: int


def occupancy(pieces: dict[str, npt.NDArray[Any]], box: Box) -> Floats:
    """Return the busy share of every cell (rows × columns); exact but for rounding."""
    length = (box.end - box.begin) / box.columns
    left = np.clip((pieces["start"] - box.begin) / length, 0, box.columns)
    right = np.clip((pieces["end"] - box.begin) / length, 0, box.columns)
    low = pieces["first"] * (box.rows / box.height)
    high = (pieces["first"] + pieces["count"]) * (box.rows / box.height)
    shape = (box.rows + 2, box.columns + 2)
    hats = np.zeros(shape[0] * shape[1])
    for time, time_sign in ((left, 1.0), (right, -1.0)):
        for level, level_sign in ((low, 1.0), (high, -1.0)):
            _add_hats(hats, shape, (time, level), time_sign * level_sign)
    # Summed twice in a direction hats are ramps; a cell is a ramp's step from edge to edge.
    cells: Floats = hats.reshape(shape).cumsum(axis=0).cumsum(axis=1)
    return cells[: box.rows, : box.columns]


def _add_hats(
    hats: Floats, shape: tuple[int, int], corner: tuple[Floats, Floats], sign: float
) -> None:
    """Spread each corner over the four cells around it, by its place between them."""
    (column, dx), (row, dy) = (_split(place) for place in corner)
    for down, weight_y in ((0, 1 - dy), (1, dy)):
        for across, weight_x in ((0, 1 - dx), (1, dx)):
            place = (row + down) * shape[1] + column + across
            hats += np.bincount(place, sign * weight_x * weight_y, minlength=hats.size)


def _split(place: Floats) -> tuple[Ints, Floats]:
    whole = np.floor(place).astype(np.int64)
    return whole, place - whole


def peaks(time: Floats, values: Floats, edges: Floats) -> Floats:
    """Most of a quantity in each [edge, next edge); it holds from its time on, 0 before."""
    stop = np.searchsorted(time, edges[1:], side="left")
    start = np.searchsorted(time, edges[:-1], side="right") - 1
    padded = np.concatenate([[0.0], values])  # place 0: before anything happened
    first, last = start + 1, np.maximum(stop, start + 1)
    # From each column's first value up to the next column's first; what is between comes after.
    highest = np.maximum.reduceat(padded[: last[-1] + 1], first)
    result: Floats = np.maximum(highest, padded[last])
    return result

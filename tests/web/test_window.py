"""A schedule at the resolution of a screen: exact areas, peaks that aren't lost."""

from __future__ import annotations

import base64
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.web.drawing import write_pieces
from onega.web.window import MOST_RECTANGLES, Box, Picture, occupancy, peaks


def naive_occupancy(pieces, box):
    """Overlap of every rectangle with every cell, one after the other."""
    cells = np.zeros((box.rows, box.columns))
    times = np.linspace(box.begin, box.end, box.columns + 1)
    levels = np.linspace(0, box.height, box.rows + 1)
    for start, end, first, count in zip(*(pieces[k] for k in KEYS), strict=True):
        for row in range(box.rows):
            tall = min(first + count, levels[row + 1]) - max(first, levels[row])
            for column in range(box.columns):
                long = min(end, times[column + 1]) - max(start, times[column])
                cells[row, column] += max(tall, 0) * max(long, 0)
    return cells / ((box.end - box.begin) / box.columns * box.height / box.rows)


def naive_peak(time, values, begin, end):
    """The value that holds at the beginning, and all that come before the end."""
    before = [v for t, v in zip(time, values, strict=True) if t <= begin]
    inside = [v for t, v in zip(time, values, strict=True) if begin < t < end]
    return max([before[-1] if before else 0.0, *inside])


KEYS = ("start", "end", "first", "count")
rectangles = st.lists(
    st.tuples(
        st.floats(-50, 150), st.floats(0, 120), st.integers(0, 9), st.integers(1, 6)
    ),
    min_size=1,
    max_size=12,
)  # fmt: skip


@given(rectangles, st.integers(1, 9), st.integers(1, 16))
@settings(max_examples=60, deadline=None)
def test_occupancy_is_the_overlap_of_every_rectangle(some, columns, rows):
    start, length, first, count = (np.array(part) for part in zip(*some, strict=True))
    pieces = {"start": start, "end": start + length, "first": first, "count": count}
    box = Box(0.0, 100.0, 16, columns, rows)
    np.testing.assert_allclose(
        occupancy(pieces, box), naive_occupancy(pieces, box), atol=1e-10, rtol=1e-10
    )


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1, max_size=20),
    st.integers(-10, 40),
    st.integers(1, 40),
    st.integers(1, 8),
)
@settings(max_examples=100, deadline=None)
def test_peaks_keep_the_highest_of_each_column(events, begin, length, columns):
    events = sorted(dict(events).items())
    time, values = (np.array(part, dtype=float) for part in zip(*events, strict=True))
    edges = np.linspace(begin, begin + length, columns + 1)
    expected = [naive_peak(time, values, a, b) for a, b in pairwise(edges)]
    assert peaks(time, values, edges).tolist() == expected


@pytest.fixture(scope="module")
def schedule():
    log = onega.models.Lublin().sample(6000, rng=1, load=0.8, cluster=64)
    return onega.simulate(log, 64, "easy")


@pytest.fixture(scope="module")
def picture(schedule, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    schedule.jobs.write_parquet(folder / "jobs.parquet")
    schedule.system.write_parquet(folder / "system.parquet")
    write_pieces(schedule, folder / "pieces.parquet")
    return Picture(folder, 64)


def test_pieces_cover_each_job_and_never_overlap(schedule, picture):
    pieces = picture.pieces
    width = np.bincount(pieces["row"], pieces["count"], minlength=len(schedule))
    assert (width == schedule.workload.column("procs")).all()
    order = np.lexsort((pieces["start"], pieces["first"]))
    table = pl.DataFrame({name: values[order] for name, values in pieces.items()})
    for processor in range(64):
        on_it = table.filter(
            (pl.col("first") <= processor) & (processor < pl.col("first") + pl.col("count"))
        ).sort("start")
        assert (on_it["start"][1:] >= on_it["end"][:-1]).all()


def test_many_jobs_come_as_a_grid_with_the_right_area(schedule, picture):
    first, last = float(schedule.start.min()), float(schedule.end.max())
    found = picture.window(first, last, 200, 32)
    assert found["kind"] == "grid"
    assert found["jobs"] == 6000
    grid = np.frombuffer(base64.b64decode(found["grid"]), np.uint8)
    assert grid.size == found["rows"] * found["columns"]
    busy = schedule.summary()["utilisation"]
    assert grid.mean() / 255 == pytest.approx(busy, rel=0.02)
    assert np.mean(found["series"]["busy"]) / 64 == pytest.approx(busy, rel=0.01)
    assert max(found["series"]["waiting"]) == schedule.system["waiting"].max()


def test_few_jobs_come_one_by_one(schedule, picture):
    middle = float(np.median(schedule.start))
    found = picture.window(middle, middle + 3600, 200, 32)
    assert found["kind"] == "jobs"
    shown = set(found["rectangles"]["job"])
    table = schedule.jobs.filter((pl.col("start") < middle + 3600) & (pl.col("end") > middle))
    assert shown == set(table["job"])
    assert found["jobs"] == len(shown) <= MOST_RECTANGLES
    by_job = dict(zip(table["job"], table["wait"], strict=True))
    for job, wait in zip(found["rectangles"]["job"], found["rectangles"]["wait"], strict=True):
        assert by_job[job] == wait


def test_a_window_beside_the_schedule_is_empty(picture):
    found = picture.window(-2e9, -1e9, 10, 10)
    assert found["jobs"] == 0
    assert found["series"]["busy"] == [0.0] * 10
    assert found["series"]["waiting"] == [0.0] * 10

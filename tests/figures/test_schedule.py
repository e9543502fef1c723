"""Figures of a schedule: right numbers, units, nothing lost by thinning, never too large."""

from __future__ import annotations

import re

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.core.schedule.packing import pack
from onega.figures.gantt import JOBS, MOST_RECTANGLES, choose
from onega.figures.schedule import KINDS, compare_schedules, draw_all
from onega.figures.series import Clock, bins, extremes, means, nice_span
from onega.figures.theme import power_axis

CONTROL = onega.RateControl("workload", rates=(1.0, 2.0), k_low=200, k_high=600)
POWER = onega.Power((3.0, 7.0), (1.0, 2.0))


def jobs(count=300, seed=1, **meta):
    rng = np.random.default_rng(seed)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(20, count)).round(),
            "runtime": rng.lognormal(4, 1.2, count).round() + 1,
            "procs": rng.integers(1, 9, count),
        },
        onega.Meta(procs=16, **meta),
    )


@pytest.fixture(scope="module")
def schedule():
    return onega.simulate(jobs(), onega.Cluster(16, CONTROL, POWER), "easy")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epoch", [None, 1.7e9])
def test_every_kind_has_a_title_and_named_axes(kind, epoch):
    drawn = onega.simulate(jobs(epoch=epoch), onega.Cluster(16, CONTROL, POWER), "easy").plot(kind)
    assert isinstance(drawn, go.Figure)
    assert drawn.layout.title.text
    assert drawn.layout.title.subtitle.text
    axes = [name for name in drawn.layout if re.fullmatch(r"yaxis\d*", name)]
    assert all(drawn.layout[name].title.text for name in axes)
    assert any(drawn.layout[a].title.text for a in drawn.layout if re.fullmatch(r"xaxis\d*", a))


def test_the_workload_comes_first(schedule):
    assert schedule.figure_kinds()[0] == "workload"
    assert schedule.plot() == schedule.plot("workload")


def test_observed_and_preemptive_schedules_are_drawn():
    log = onega.Workload(jobs(60).table.with_columns(wait=np.arange(60.0)), onega.Meta(procs=999))
    assert set(draw_all(onega.Schedule.observed(log))) == set(KINDS) - {"power"}
    displaced = onega.simulate(jobs(60), 16, "lcfs-pr")
    assert set(draw_all(displaced)) == set(KINDS) - {"power"}


def test_one_job_is_drawn():
    one = onega.Workload({"submit": [5.0], "runtime": [7.0], "procs": [2]})
    drawn = draw_all(onega.simulate(one, onega.Cluster(4, power=onega.Power(2, 1))))
    assert set(drawn) == set(KINDS)


def test_power_needs_power():
    with pytest.raises(onega.SimulationError, match="no power was given"):
        onega.simulate(jobs(), 16).plot("power")


# Figure 1 --------------------------------------------------------------------------------------


def test_work_jumps_at_submissions_and_falls_between_events():
    """Two jobs at rate 1 on one processor: 10 s of work, 4 more at 3 s, empty at 14 s."""
    two = onega.Workload({"submit": [0.0, 3.0], "runtime": [10.0, 4.0], "procs": [1, 1]})
    line = onega.simulate(two, 1).plot("workload").data[0]
    seconds = np.array(line.y) * 3600
    points = list(zip(line.x, seconds, strict=True))
    assert points == [
        (0, 0), (0, 10), (3, pytest.approx(7)), (3, pytest.approx(11)),
        (10, pytest.approx(4)), (10, pytest.approx(4)), (14, pytest.approx(0)), (14, 0),
    ]  # fmt: skip


def test_thresholds_and_the_rate_are_drawn(schedule):
    drawn = schedule.plot("workload")
    assert {note.text for note in drawn.layout.annotations} == {"k_low", "k_high"}
    levels = {shape.y0 for shape in drawn.layout.shapes}
    assert levels == {200 / 3600, 600 / 3600}
    assert set(drawn.data[2].y) == {1.0, 2.0}
    fixed = onega.simulate(jobs(), 16).plot("workload")
    assert len(fixed.data) == 2


def test_a_window_shows_its_part_only(schedule):
    time = schedule.system["time"].to_numpy()
    window = (time[100], time[200])
    line = schedule.plot("queue", window=window).data[0]
    assert len(line.x) == 101
    assert list(line.y) == schedule.system["waiting"][100:201].to_list()
    with pytest.raises(ValueError, match="nothing happens in the window"):
        schedule.plot("queue", window=(-10.0, -5.0))


# Thinning --------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(-9, 9)), min_size=1, max_size=300),
    st.sampled_from([4, 16, 60]),
)
@settings(max_examples=200, deadline=None)
def test_thinning_keeps_ends_and_extremes_of_every_stretch(rows, points):
    rows.sort(key=lambda row: row[0])
    time = np.array([row[0] for row in rows], float)
    values = np.array([row[1] for row in rows], float)
    if time[-1] == time[0]:
        time[-1] += 1
    kept = extremes(time, values, points)
    assert list(kept) == sorted(set(kept))
    if len(rows) <= points:
        assert kept.size == len(rows)
        return
    assert kept.size <= points
    columns = points // 4
    column = np.minimum((time - time[0]) / (time[-1] - time[0]) * columns, columns - 1).astype(int)
    for one in set(column):
        inside = np.flatnonzero(column == one)
        shown = [row for row in kept if column[row] == one]
        assert shown[0] == inside[0]
        assert shown[-1] == inside[-1]
        assert values[shown].max() == values[inside].max()
        assert values[shown].min() == values[inside].min()


def test_long_series_stay_drawable():
    drawn = draw_all(onega.simulate(jobs(30_000), 16, "fcfs"))
    for figure in drawn.values():
        for trace in figure.data:
            assert len(trace.x) <= 3 * MOST_RECTANGLES
    assert len(drawn["queue"].data[0].x) <= 4000
    assert max(drawn["queue"].data[0].y) == onega.simulate(jobs(30_000), 16).system["waiting"].max()
    assert len(drawn["workload"].to_json()) < 1_000_000


# Means over hours and days ---------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), min_size=2, max_size=30),
    st.integers(1, 20),
)
@settings(max_examples=200, deadline=None)
def test_means_over_bins_are_integrals(steps, width):
    time = np.cumsum([gap for gap, _ in steps]).astype(float)
    values = np.array([level for _, level in steps], float)
    edges = np.arange(0, time[-1] + 2 * width, width, dtype=float)
    found = means(time, values, edges)
    for low, high, mean in zip(edges, edges[1:], found, strict=False):
        begin, end = max(low, time[0]), min(high, time[-1])
        # Whole seconds: the quantity at each second's beginning, summed.
        seconds = [values[np.searchsorted(time, s, "right") - 1] for s in np.arange(begin, end)]
        if seconds:
            assert mean == pytest.approx(np.mean(seconds))
        else:
            assert np.isnan(mean)


def test_utilisation_and_power_means_are_the_summary(schedule):
    summary = schedule.summary()
    shown = schedule.plot("utilisation").layout.annotations[0].text
    assert shown == f"mean {100 * summary['utilisation']:.1f} %"
    drawn = schedule.plot("power")
    assert drawn.layout.annotations[0].text == f"mean {summary['mean_power']:,.4g} W"
    assert [trace.name for trace in drawn.data] == ["idle processors", "busy processors"]


def test_bins_are_usual_lengths_and_cover():
    assert nice_span(86400 * 365) == 2 * 86400
    assert nice_span(3600 * 20) == 300
    assert nice_span(86400 * 365 * 100) == pytest.approx(86400 * 365 * 100 / 240)
    edges, span = bins(np.array([100.0, 5000.0]))
    assert edges[0] <= 100
    assert edges[-1] >= 5000
    assert np.all(np.diff(edges) == span)


# Figure 2 --------------------------------------------------------------------------------------


@st.composite
def intervals(draw):
    count = draw(st.integers(1, 40))
    start = np.sort(np.array(draw(st.lists(st.integers(0, 60), min_size=count, max_size=count))))
    length = np.array(draw(st.lists(st.integers(1, 20), min_size=count, max_size=count)))
    procs = np.array(draw(st.lists(st.integers(1, 6), min_size=count, max_size=count)))
    return start.astype(float), (start + length).astype(float), procs


@given(intervals(), st.integers(1, 30))
@settings(max_examples=300, deadline=None)
def test_packing_gives_every_job_its_processors_and_nobody_two(work, size):
    start, end, procs = work
    given_to = [set() for _ in start]
    for job, first, count in pack(start, end, procs, size):
        assert count > 0
        places = set(range(first, first + count))
        assert not places & given_to[job]
        given_to[job] |= places
    busiest = 0
    for job, places in enumerate(given_to):
        assert len(places) == procs[job]
        beside = [k for k in range(job) if end[k] > start[job]]
        assert all(not places & given_to[k] for k in beside)
        busiest = max(busiest, procs[job] + sum(procs[k] for k in beside))
    if busiest <= size:
        assert max(max(places) for places in given_to) < size


def test_a_schedule_fits_its_machine(schedule):
    bars = schedule.plot("gantt", jobs=slice(0, 300)).data[0]
    low = np.array(bars.y) - np.array(bars.width) / 2
    assert low.min() >= 0
    assert (low + np.array(bars.width)).max() <= 16
    area = float(np.sum(np.array(bars.width) * np.array(bars.x))) * 60  # minutes on the axis
    used = float((schedule.jobs["procs"] * schedule.jobs["service"]).sum())
    assert area == pytest.approx(used)


def test_jobs_wait_in_grey_and_run_in_black(schedule):
    drawn = schedule.plot("gantt", jobs=(10, 5))
    assert "(seconds)" in drawn.layout.xaxis2.title.text
    _, waiting, running = drawn.data
    assert (waiting.name, running.name) == ("waiting", "running")
    table = schedule.jobs.sort("submit", maintain_order=True)[10:15]
    first = schedule.jobs["submit"].min()
    assert [x for x in waiting.x if x is not None][::2] == pytest.approx(
        (table["submit"] - first).to_list()
    )
    starts = sorted(x for x in list(running.x)[::3])
    assert starts == pytest.approx(sorted((table["start"] - first).to_list()))
    assert [y for y in waiting.y if y is not None] == [10, 10, 11, 11, 12, 12, 13, 13, 14, 14]


def test_the_jobs_of_a_figure_can_be_chosen(schedule):
    assert list(choose(schedule, (50, 10)).rows) == list(range(50, 60))
    assert list(choose(schedule, slice(290, None)).rows) == list(range(290, 300))
    assert choose(schedule).rows.size == min(JOBS, 300)
    waits = (schedule.start - schedule.workload.column("submit")).tolist()
    sums = [sum(waits[k : k + 20]) for k in range(281)]
    assert choose(schedule, 20).first == int(np.argmax(sums))


@pytest.mark.parametrize("wrong", [0, (300, 5), (-1, 5), (5, 0), slice(5, 5)])
def test_no_jobs_are_refused(schedule, wrong):
    with pytest.raises(ValueError, match="chooses none of the 300 jobs"):
        schedule.plot("gantt", jobs=wrong)


def test_a_step_is_refused(schedule):
    with pytest.raises(ValueError, match="neighbouring jobs"):
        schedule.plot("gantt", jobs=slice(0, 10, 2))


def test_a_crowded_stretch_is_cut():
    """One job that waits for everything behind it would make all of them part of the picture."""
    count = MOST_RECTANGLES + 500
    table = {
        "submit": np.arange(count, dtype=float),
        "runtime": np.append(20_000.0, np.full(count - 1, 1.0)),
        "procs": np.ones(count, np.int64),
    }
    chosen = choose(onega.simulate(onega.Workload(table), 2), (0, 5))
    assert chosen.row.size == MOST_RECTANGLES
    assert chosen.end < 20_000


# Distributions ---------------------------------------------------------------------------------


def test_the_line_begins_at_the_share_that_did_not_wait(schedule):
    drawn = schedule.plot("waits")
    waits = schedule.jobs["wait"].to_numpy()
    assert drawn.data[0].x[0] == 1.0
    assert drawn.data[0].y[0] == pytest.approx(100 * np.mean(waits <= 1.0))
    assert drawn.data[0].y[-1] == pytest.approx(100)
    assert f"{np.mean(waits == 0):.0%} of the jobs didn't wait" in drawn.layout.title.subtitle.text


def test_distribution_functions_are_exact_where_drawn():
    schedule = onega.simulate(jobs(5000), 16, "easy")
    line = schedule.plot("slowdown").data[0]
    values = schedule.jobs["bounded_slowdown"].to_numpy()
    assert len(line.x) <= 2001
    for x, y in list(zip(line.x, line.y, strict=True))[:: len(line.x) // 25]:
        assert y == pytest.approx(100 * np.mean(values <= x))


def test_schedules_over_each_other(schedule):
    fcfs = onega.simulate(jobs(), 16, "fcfs")
    drawn = compare_schedules({"fcfs": fcfs, "easy": schedule}, measure="response")
    assert [trace.name for trace in drawn.data] == ["fcfs", "easy"]
    assert all(trace.showlegend for trace in drawn.data)
    with pytest.raises(ValueError, match="at least one schedule"):
        compare_schedules({})
    with pytest.raises(ValueError, match="no distribution of 'energy'"):
        compare_schedules({"a": fcfs}, measure="energy")


# The axis of time ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "unit"), [(100, "seconds"), (3600, "minutes"), (86400, "hours"), (1e7, "days")]
)
def test_time_has_a_unit_that_fits(length, unit):
    clock = Clock.of(50.0, length, onega.Meta())
    assert unit in clock.axis()["title"]["text"]
    assert clock.place([50.0])[0] == 0


def test_dates_where_the_log_has_them():
    clock = Clock.of(0.0, 100.0, onega.Meta(epoch=86400.0))
    assert str(clock.place([1.5])[0]) == "1970-01-02T00:00:01.500"
    assert clock.axis()["type"] == "date"
    assert clock.length([2.0])[0] == 2000


def test_dates_are_those_of_the_machines_own_zone():
    """Stockholm is an hour ahead in winter and two in summer; the axis says which clock it is."""
    winter = onega.Meta(epoch=1_704_067_200.0, timezone="Europe/Stockholm")  # 2024-01-01 00:00 UTC
    clock = Clock.of(0.0, 100.0, winter)
    assert str(clock.place([0.0])[0]) == "2024-01-01T01:00:00.000"
    assert str(clock.place([182 * 86400.0])[0]) == "2024-07-01T02:00:00.000"
    assert clock.axis()["title"]["text"] == "time (Europe/Stockholm)"


@pytest.mark.parametrize("widest", [8, 100, 2048, 200_000])
def test_ticks_of_widths_leave_room_between_them(widest):
    """At 11 pixels of height a digit is 6 wide; a phone has 300 pixels for the axis."""
    axis = power_axis("width", "processors", (1, widest))
    texts = axis["ticktext"]
    assert len(texts) >= 3
    assert sum(6.2 * len(text) + 10 for text in texts) < 300
    assert all(value & (value - 1) == 0 for value in axis["tickvals"])

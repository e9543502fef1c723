"""Every figure is drawn, says its units, and works without a network."""

from __future__ import annotations

import re

import plotly.graph_objects as go
import pytest

import onega
from onega.figures.describe import KINDS, draw_all
from onega.figures.export import write_html
from onega.figures.theme import COLOURS
from onega.traces.description import describe
from traces.description.logs import full_log, small_log


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_title_and_named_axes(kind):
    figure = describe(full_log()).plot(kind)
    assert isinstance(figure, go.Figure)
    assert figure.layout.title.text
    assert len(figure.data) > 0
    axes = [axis for axis in figure.layout if re.fullmatch(r"yaxis\d*", axis)]
    assert all(figure.layout[axis].title.text for axis in axes)
    assert any(figure.layout[a].title.text for a in figure.layout if re.fullmatch(r"xaxis\d*", a))


def test_the_daily_cycle_is_drawn_by_default():
    description = describe(full_log())
    assert description.plot() == description.plot("daily")
    assert description.figure_kinds() == tuple(KINDS)


def test_bars_are_the_numbers():
    description = describe(full_log())
    jobs = description.plot("daily").data[0]
    assert list(jobs.y) == [slot.jobs for slot in description.cycles.hours]
    observed, independent = description.plot("runs").data
    assert list(observed.y) == [run.observed for run in description.temporal.runs]
    assert list(independent.y) == [run.independent for run in description.temporal.runs]


def test_a_figure_that_a_log_cannot_give_says_why():
    with pytest.raises(onega.TraceError, match="no estimated run times"):
        describe(small_log()).plot("accuracy")


def test_an_unknown_kind_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'daily'"):
        describe(full_log()).plot("dayly")


def test_what_cannot_be_drawn_is_left_out_with_a_reason():
    figures, left_out = draw_all(describe(small_log(procs=[4, 4, 4])))
    assert set(figures) | set(left_out) == set(KINDS)
    assert {"accuracy", "users", "daily", "tail", "width_successors"} <= set(left_out)
    assert {"runs", "widths", "runtimes"} <= set(figures)


def test_colours_are_distinct():
    assert len(set(COLOURS)) == len(COLOURS)


def test_a_page_works_alone(tmp_path):
    figures, _ = draw_all(describe(full_log()))
    path = write_html(figures, tmp_path / "new" / "page.html", title="a <log>")
    page = path.read_text(encoding="utf-8")
    assert "<h1>a &lt;log&gt;</h1>" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)
    assert page.count("plotly.js v") == 1
    for name in figures:
        assert f'<div class="figure" id="{name}">' in page
    assert [one.name for one in path.parent.iterdir()] == ["page.html"]


def test_one_figure_is_a_page_too(tmp_path):
    figure = describe(full_log()).plot("runs")
    assert "How often one width" in write_html(figure, tmp_path / "one.html").read_text()


def test_no_figure_is_no_page(tmp_path):
    with pytest.raises(ValueError, match="at least one figure"):
        write_html({}, tmp_path / "none.html")

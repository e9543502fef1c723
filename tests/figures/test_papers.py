"""Figures that only the papers have: what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from onega.figures import papers


def test_distribution_functions_run_from_the_least_to_the_largest():
    curves = {"the log": np.array([10.0, 20.0, 400.0]), "the model": np.array([5.0, 6.0])}
    for figure in (papers.time_cdfs(curves, "note"), papers.accuracies(curves)):
        log, model = figure.data
        assert (log.x[0], log.x[-1]) == (10, 400)
        assert (model.x[0], model.x[-1]) == (5, 6)
        assert (log.y[0], log.y[-1]) == (0, 100)
        assert [log.name, model.name] == ["the log", "the model"]


def test_beta_shapes_have_points_and_lines():
    runtime = np.array([2.0, 8.0, 32.0])
    figure = papers.beta_shapes(runtime, runtime, 1 / runtime, lambda t: (t, 1 / t))
    assert [trace.mode for trace in figure.data] == ["markers", "lines"] * 2
    assert figure.data[1].y[0] == pytest.approx(2)
    assert figure.data[3].y[-1] == pytest.approx(1 / 32)


def test_waiting_is_a_histogram_in_percent():
    figure = papers.waiting(np.array([0, 0, 1, 3]))
    assert list(figure.data[0].y) == [50, 25, 0, 25]


def test_the_trade_off_marks_thresholds():
    table = pl.DataFrame(
        {"threshold": [0.0, 1e5, 2e5], "mean_workload": [3600.0, 7200.0, 10800.0],
         "mean_power": [3.0, 2.0, 1.0]}
    )  # fmt: skip
    figure = papers.trade_off(table)
    assert list(figure.data[0].x) == [1, 2, 3]
    assert "k = 2e+05" in [note.text for note in figure.layout.annotations]


def test_the_measure_along_a_stream():
    figure = papers.measure_along([50, 100], {"easy": [1.0, 2.0], "printed": [0.0, 12.0]})
    assert [trace.name for trace in figure.data] == ["easy", "printed"]
    assert figure.data[1].line.dash == "dash"

"""Figures: every kind draws, says its units, and shows what the numbers say."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from onega.core.errors import QueueingError


@pytest.fixture(scope="module")
def model():
    return onega.limits("fixed:1", arrival_rate=5, service_rate=1, limit_rate=0.5, target=0.8)


def titles(figure):
    return figure.layout.xaxis.title.text, figure.layout.yaxis.title.text


def test_figure_3(model):
    figure = model.plot("p_serv")
    curve = figure.data[0]
    mean = np.asarray(curve.x)
    assert np.asarray(curve.y) == pytest.approx(mean / (mean + 1), abs=1e-12)  # (44), x̄ = 1
    assert titles(figure) == ("mean limit (s)", "P_serv, requests served whole")


def test_figure_4(model):
    figure = model.plot("p_serv", widths=["fixed:3", "fixed:5"])
    for curve, k in zip(figure.data, (1, 3, 5)):
        mean = np.asarray(curve.x)
        assert curve.name == f"widths fixed:{k}"
        assert np.asarray(curve.y) == pytest.approx((mean / (mean + 1)) ** k, abs=1e-12)  # (48)


def test_states_are_bars_if_few_and_an_area_if_many(model):
    few = model.plot("states").data[0]
    assert few.type == "bar"
    assert few.y[0] == pytest.approx(model.probabilities[int(few.x[0])])
    many = onega.limits("fixed:2", arrival_rate=3000, service_rate=1, limit_rate=0.5)
    area = many.plot("states").data[0]
    assert area.type == "scatter"
    assert float(np.sum(area.y)) > 0.999


def test_servers_marks_the_sizes(model):
    figure = model.plot("servers")
    assert f"0.01: {model.fewest_servers(0.01)} servers" in [trace.name for trace in figure.data]


def test_loss_figures():
    result = onega.loss({1: 0.5, 4: 0.5}, procs=12, arrival_rate=5, mean_runtime=1)
    bars = result.plot("blocking").data[0]
    assert list(bars.y) == pytest.approx(list(100 * result.blocking))
    assert titles(result.plot()) == ("width (processors)", "lost jobs (%)")
    assert list(result.plot("occupancy").data[0].y) == pytest.approx(list(result.occupancy))


def test_rho_crosses_one_at_the_fewest_servers():
    result = onega.stability({1: 0.5, 8: 0.5}, procs=64, arrival_rate=15, mean_runtime=1)
    figure = result.plot("rho", sizes=np.arange(60, 90))
    x, y = np.asarray(figure.data[0].x), np.asarray(figure.data[0].y)
    assert x[np.argmax(y < 1)] == result.min_procs
    assert titles(figure) == ("servers", "ρ = λ·C·E[S]")


def test_a_wide_range_is_logarithmic():
    result = onega.stability({1: 0.9, 2: 0.1}, procs=64)
    assert result.plot("constant").layout.xaxis.type == "log"
    near = result.plot("constant", sizes=[64, 100, 128])
    assert near.layout.xaxis.type != "log"


def test_waiting_figures():
    result = onega.waiting([0.5, 0.5], procs=2, arrival_rate=0.9, mean_runtime=1)
    curve = result.plot("load", points=5).data[0]
    assert np.all(np.diff(curve.y) > 0)
    assert result.plot("queue").data[0].y[0] == pytest.approx(100 * result.queue[0])


def test_an_unknown_kind_is_named(model):
    with pytest.raises(ValueError, match="did you mean 'states'"):
        model.plot("state")


def test_rho_needs_rates():
    with pytest.raises(QueueingError, match="arrival rate"):
        onega.stability([1.0], procs=2).plot("rho")

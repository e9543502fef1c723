"""Figures of a sweep show its numbers."""

from __future__ import annotations

import polars as pl
import pytest

import onega
from experiment.sweeps import small_log
from onega.core.errors import ExperimentError
from onega.figures.sweep import draw_all


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    spec = {
        "fixed": {"cluster.power.busy": 2.0, "cluster.power.idle": 1.0},
        "vary": {
            "policy": ["spf+easy", "fcfs"],
            "procs": [4, 16, 24, 32],
            "load_factor": [1.0, 1.5],
        },
    }
    return onega.sweep(spec, tmp_path_factory.mktemp("figures") / "out", workload=small_log())


def lines(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def test_a_curve_goes_through_the_means(sweep):
    found = lines(sweep.plot("curve", measure="utilisation"))
    assert list(found) == ["spf+easy", "fcfs"]
    table = sweep.to_polars().filter(pl.col("error").is_null())
    for policy, trace in found.items():
        assert list(trace.x) == [16, 24, 32]  # nothing runs on 4
        for procs, value in zip(trace.x, trace.y, strict=True):
            rows = table.filter(policy=policy, procs=procs)
            assert value == pytest.approx(100 * rows["utilisation"].mean())


def test_a_band_reaches_from_the_lowest_to_the_highest(sweep):
    figure = sweep.plot("curve")
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == 2
    rows = sweep.to_polars().filter(policy="fcfs", procs=16)
    seconds = {"s": 1, "min": 60, "h": 3600}[figure.layout.yaxis.title.text.split("(")[1][:-1]]
    at_16 = sorted(y for x, y in zip(bands[1].x, bands[1].y, strict=True) if x == 16)
    expected = [rows["mean_wait"].min() / seconds, rows["mean_wait"].max() / seconds]
    assert at_16 == pytest.approx(expected)
    assert "means over load" in figure.layout.title.subtitle.text


def test_words_are_bars_in_the_order_of_the_spec(sweep):
    figure = sweep.plot("curve", x="policy", by="procs")
    assert [bar.type for bar in figure.data] == ["bar"] * 3
    assert list(figure.data[0].x) == ["spf+easy", "fcfs"]


def test_a_map_holds_the_means(sweep):
    figure = sweep.plot("map", measure="p95_wait", x="procs", y="policy")
    cells = figure.data[0]
    assert list(cells.x) == ["16", "24", "32"]
    assert list(cells.y) == ["spf+easy", "fcfs"]
    rows = sweep.to_polars().filter(policy="fcfs", procs=24)
    seconds = {"s": 1, "min": 60, "h": 3600}[cells.colorbar.title.text]
    assert cells.z[1][1] == pytest.approx(rows["p95_wait"].mean() / seconds)


def test_a_trade_off_has_a_point_a_run(sweep):
    figure = sweep.plot("trade_off")
    assert "energy" in figure.layout.yaxis.title.text
    assert sum(len(trace.x) for trace in figure.data) == 12
    assert "policy fcfs, procs 16, load_factor 1" in figure.data[1].customdata[0]


def test_all_figures_and_their_names(sweep):
    assert tuple(draw_all(sweep)) == sweep.figure_kinds() == ("curve", "map", "trade_off")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measure": "mean_wayt"}, "no measure 'mean_wayt'; did you mean 'mean_wait'?"),
        ({"x": "prcs"}, "'prcs' doesn't vary; did you mean 'procs'?"),
        ({"by": "seed"}, "'seed' doesn't vary"),
    ],
)
def test_mistakes_are_named(sweep, options, said):
    with pytest.raises(ExperimentError) as refused:
        sweep.plot("curve", **options)
    assert said in str(refused.value)


def test_small_sweeps(tmp_path):
    log = small_log()
    one = onega.sweep({"vary": {"policy": ["easy"]}}, tmp_path / "one", workload=log)
    assert tuple(draw_all(one)) == ("curve", "trade_off")
    with pytest.raises(ExperimentError, match="a map needs two parameters; only policy varies"):
        one.plot("map")
    none = onega.sweep({"vary": {"procs": [1]}}, tmp_path / "none", workload=log)
    with pytest.raises(ExperimentError, match="nothing to draw"):
        none.plot()

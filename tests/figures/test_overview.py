"""One page for a log and its models: what is drawn is what was measured."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from onega.core.workload.rhythm import dispersion_index
from onega.figures.compare import draw_all
from onega.figures.overview import _SCALES
from onega.models.published.lublin import Lublin


@pytest.fixture(scope="module")
def log():
    return Lublin(machine=64).sample(3000, rng=1, cluster=64)


@pytest.fixture(scope="module")
def result(log):
    names = ["independent", "markov"]
    return onega.compare_models(log, names, replicates=3, waits=True, privacy=True, rng=2)


def panel(figure, row, column, kind="scatter"):
    """Traces of one panel, in the order in which they were added."""
    number = 3 * (row - 1) + column
    axis = "x" if number == 1 else f"x{number}"
    return [one for one in figure.data if (one.xaxis or "x") == axis and one.type == kind]


def test_laws(log, result):
    figure = result.plot("overview")
    curves = panel(figure, 1, 2)
    assert [one.name for one in curves] == [log.meta.source, "independent", "markov"]
    runtime = log.column("runtime")
    for x, y in zip(curves[0].x[::50], curves[0].y[::50], strict=True):
        assert y == pytest.approx(100 * np.mean(runtime <= x))


def test_dispersion_has_curves_and_intervals(log, result):
    lines = panel(result.plot("overview"), 2, 1)
    own = [dispersion_index(log.column("submit"), one) for one in _SCALES.values()]
    np.testing.assert_allclose(lines[0].y, own)
    bars = lines[3]  # of the first model
    table = {(r["model"], r["measure"]): r for r in result.to_polars().to_dicts()}
    day = table["independent", "dispersion_day_synthetic"]
    place = list(bars.x).index(86400.0)
    assert bars.y[place] == pytest.approx(day["mean"])
    assert bars.y[place] + bars.error_y.array[place] == pytest.approx(day["high"])


def test_waits_have_the_logs_own_and_intervals(log, result):
    own, first, _ = panel(result.plot("overview"), 2, 3)
    waits = [
        onega.simulate(log, 64, policy).summary()["mean_wait"] / 3600 for policy in ("easy", "fcfs")
    ]
    np.testing.assert_allclose(own.y, waits)
    assert not np.any(own.error_y.array)
    assert np.all(np.asarray(first.error_y.array) > 0)


def test_sizes_by_hour_and_weekday(log, result):
    hours, days = (panel(result.plot("overview"), 3, column) for column in (1, 2))
    clock = log.column("submit")  # of a sample: after a Monday's midnight, UTC
    runtime = log.column("runtime")
    at_noon = runtime[clock // 3600 % 24 == 12].mean() / runtime.mean()
    assert hours[0].y[12] == pytest.approx(at_noon)
    on_friday = log.column("procs")[clock // 86400 % 7 == 4].mean() / log.column("procs").mean()
    assert days[1].y[4] == pytest.approx(on_friday)
    assert [one.line.dash for one in days[:2]] == ["solid", "dot"]


def test_copies(result):
    bars = panel(result.plot("overview"), 3, 3, "bar")
    rows = result.rows.to_dicts()
    assert bars[0].y[1] == pytest.approx(100 * rows[0]["copied_seen"])
    repeated = np.mean([r["privacy_repeated"] for r in rows if r["model"] == "markov"])
    assert bars[1].y[0] == pytest.approx(100 * repeated)


def test_one_model_and_one_sample(log, result):
    alone = result.plot("overview", models=["markov"])
    assert {one.name for one in alone.data} == {log.meta.source, "markov"}
    two = onega.compare(log, log).plot("overview")
    words = [one.text[0] for one in two.data if one.mode == "text"]
    assert words == ["not measured (--waits)", "not measured (--privacy)"]
    assert list(draw_all(result))[:2] == ["overview-independent", "overview-markov"]
    assert next(iter(draw_all(onega.compare(log, log)))) == "overview"

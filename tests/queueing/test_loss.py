"""The machine without a queue: Erlang, product form, simulation, sizing."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.core.errors import QueueingError
from onega.queueing.loss import MEASURES, fewest_servers_for_loss
from reference.loss import simulate_loss


def product_form(loads: dict[int, float], servers: int) -> dict[int, float]:
    """Blocking per width from P(n_1, …) ∝ Π a_k^n_k/n_k! over all states that fit."""
    widths = list(loads)
    weight = np.zeros(servers + 1)
    for counts in product(*(range(servers // k + 1) for k in widths)):
        busy = sum(c * k for c, k in zip(counts, widths))
        if busy <= servers:
            weight[busy] += math.prod(
                loads[k] ** c / math.factorial(c) for c, k in zip(counts, widths)
            )
    weight /= weight.sum()
    return {k: float(weight[servers - k + 1 :].sum()) for k in widths}


@given(
    st.dictionaries(st.integers(1, 5), st.floats(0.05, 4), min_size=1, max_size=3),
    st.integers(5, 11),
)
@settings(max_examples=40, deadline=None)
def test_kaufman_roberts_is_the_product_form(loads, servers):
    total = sum(loads.values())
    result = onega.loss(
        {k: a / total for k, a in loads.items()}, procs=servers, arrival_rate=total, mean_runtime=1
    )
    expected = product_form(loads, servers)
    for k, blocked in zip(result.widths.values, result.blocking):
        assert blocked == pytest.approx(expected[int(k)], rel=1e-11)
    assert result.mean_busy == pytest.approx(
        float(np.dot(result.occupancy, np.arange(servers + 1))), rel=1e-11
    )


@pytest.mark.parametrize(("load", "servers"), [(0.5, 3), (80.0, 100), (5000.0, 5000)])
def test_erlang(load, servers):
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    result = onega.loss([1.0], procs=servers, arrival_rate=load, mean_runtime=1)
    assert result.p_loss == pytest.approx(blocked, rel=1e-10)
    assert result.all_busy == pytest.approx(blocked, rel=1e-10)
    assert result.work_loss == pytest.approx(blocked, rel=1e-10)


def test_only_the_product_of_rate_and_run_time_matters():
    first = onega.loss("1:0.5,3:0.5", procs=9, arrival_rate=2, mean_runtime=3)
    second = onega.loss("1:0.5,3:0.5", procs=9, arrival_rate=6, mean_runtime={1: 1.0, 3: 1.0})
    assert first.blocking == pytest.approx(second.blocking, rel=1e-14)


def test_a_simulation_agrees():
    """8 quantities, |z| < 4: a false alarm has probability below 1e-3."""
    result = onega.loss(
        "1:0.5,2:0.3,4:0.2", procs=12, arrival_rate=5, mean_runtime={1: 1.0, 2: 2.0, 4: 0.5}
    )
    measured = simulate_loss(result, jobs=20_000, replicates=20, rng=11)
    expected = {"p_loss": result.p_loss, "mean_busy": result.mean_busy, "all_busy": result.all_busy}
    expected |= {f"blocking_{k}": b for k, b in zip(result.widths.values, result.blocking)}
    assert set(measured) == set(expected)
    for name, value in measured.items():
        assert abs(value.distance(expected[name])) < 4, name


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("epsilon", [0.3, 0.01, 1e-5])
def test_sizing_is_the_boundary(measure, epsilon):
    law, options = "1:0.5,2:0.3,4:0.2", {"arrival_rate": 5, "mean_runtime": 1}

    def value(servers):
        result = onega.loss(law, procs=servers, **options)
        return {
            "jobs": result.p_loss,
            "work": result.work_loss,
            "widest": result.blocking[-1],
            "all_busy": result.all_busy,
        }[measure]

    servers = fewest_servers_for_loss(law, epsilon, measure=measure, **options)
    assert all(value(s) <= epsilon for s in range(servers, servers + 20))
    if servers > 4:
        assert value(servers - 1) > epsilon


def test_from_a_log_each_width_has_its_own_run_time():
    rng = np.random.default_rng(1)
    procs = rng.choice([1, 8], 2000)
    log = onega.Workload(
        {
            "submit": np.arange(2000.0),
            "runtime": np.where(procs == 1, 4.0, 2.0),
            "procs": procs,
        }
    ).with_machine(16)
    result = onega.loss(log)
    share = np.mean(procs == 1)
    assert result.procs == 16
    assert result.offered == pytest.approx([share * 4, (1 - share) * 2], rel=1e-12)
    assert result.summary()["utilisation"] <= 1
    assert result.to_polars().columns == ["procs", "probability", "offered", "blocking"]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: onega.loss([1.0], procs=3), "needs arrival_rate"),
        (lambda: onega.loss([1.0], arrival_rate=1, mean_runtime=1), "how many servers"),
        (lambda: onega.loss([0, 1.0], procs=1, arrival_rate=1, mean_runtime=1), "never start"),
        (lambda: onega.loss([1.0], procs=1, arrival_rate=-1, mean_runtime=1), "positive rate"),
        (lambda: onega.loss([1.0], procs=1, arrival_rate=1, mean_runtime=0), "positive number"),
        (lambda: onega.loss([1.0], procs=1, arrival_rate=1, mean_runtime={2: 1}), "width 1"),
        (lambda: fewest_servers_for_loss([1.0], 0, arrival_rate=1, mean_runtime=1), "epsilon"),
        (
            lambda: fewest_servers_for_loss(
                [1.0], 0.1, arrival_rate=1, mean_runtime=1, measure="job"
            ),
            "did you mean 'jobs'",
        ),
        (
            lambda: fewest_servers_for_loss([1.0], 0.1, arrival_rate=1e9, mean_runtime=1),
            "more than",
        ),
    ],
)
def test_refusals(act, words):
    with pytest.raises(QueueingError, match=words):
        act()


def test_the_summary_counts_processors_not_jobs():
    """Two jobs of width 1 and one of width 3 at a time, on average, on ten processors: 50 %."""
    law, runtime = {1: 2 / 3, 3: 1 / 3}, 6.0
    found = onega.loss(law, procs=10, arrival_rate=0.5, mean_runtime=runtime).summary()
    assert found["offered_load"] == pytest.approx((2 * 1 + 1 * 3) / 10)
    assert found["utilisation"] == pytest.approx(found["offered_load"] * (1 - found["work_loss"]))

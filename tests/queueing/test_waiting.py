"""Exact waiting times: M/M/c, M/M/1, an explicit chain, conservation laws, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import onega
from onega.core.errors import QueueingError
from onega.queueing.constant import stability_constant
from onega.queueing.saturated import markov_throughput
from reference.waiting import explicit_chain


def erlang_c(servers: int, load: float) -> tuple[float, float]:
    """P(wait) and mean number waiting of M/M/c."""
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    rho = load / servers
    wait = blocked / (1 - rho * (1 - blocked))
    return wait, wait * rho / (1 - rho)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (1, 0.95), (4, 3.9), (30, 24.0)])
def test_widths_of_one_are_an_mmc_queue(servers, load):
    result = onega.waiting([1.0], procs=servers, arrival_rate=load / 3, mean_runtime=3)
    wait, queue = erlang_c(servers, load)
    assert result.p_wait == pytest.approx(wait, rel=1e-9)
    assert result.mean_waiting == pytest.approx(queue, rel=1e-9)
    assert result.mean_wait == pytest.approx(queue / (load / 3), rel=1e-9)
    assert abs(result.mean_waiting / queue - 1) < 10 * result.error


@pytest.mark.parametrize("servers", [2, 7, 128])
def test_widths_of_the_whole_machine_are_an_mm1_queue(servers):
    result = onega.waiting({servers: 1.0}, procs=servers, arrival_rate=0.8, mean_runtime=1)
    assert result.mean_jobs == pytest.approx(4, rel=1e-10)
    assert result.p_wait == pytest.approx(0.8, rel=1e-10)
    assert result.queue[:4] == pytest.approx([0.36, 0.128, 0.1024, 0.08192], rel=1e-9)


@pytest.mark.parametrize(
    ("classes", "servers", "rate", "longest"),
    [
        ([(1, 0.5, 1.0), (2, 0.5, 1.0)], 2, 0.1, 9),
        ([(1, 0.6, 2.0), (3, 0.4, 0.7)], 3, 0.06, 9),
        ([(1, 0.3, 1.0), (2, 0.3, 0.5), (3, 0.4, 2.0)], 4, 0.03, 6),
    ],
)
def test_the_chain_with_every_class_written_out_agrees(classes, servers, rate, longest):
    result = onega.waiting(
        {k: p for k, p, _ in classes},
        procs=servers,
        arrival_rate=rate,
        mean_runtime={k: 1 / mu for k, _, mu in classes},
    )
    queue, wait, jobs = explicit_chain(classes, servers, rate, longest)
    # What the explicit chain cuts off is below result.queue[longest − servers].
    slack = 20 * longest * float(result.queue[max(1, longest - servers) :].sum())
    assert slack < 1e-2
    assert result.mean_waiting == pytest.approx(queue, rel=slack + 1e-9)
    assert result.p_wait == pytest.approx(wait, rel=slack + 1e-9)
    assert result.mean_jobs == pytest.approx(jobs, rel=slack + 1e-9)


@pytest.mark.parametrize("rho", [0.2, 0.7, 0.97])
def test_conservation(rho):
    means = {1: 2.0, 3: 1.0, 4: 0.5}
    most = markov_throughput({1: 0.5, 3: 0.3, 4: 0.2}, 6, means)
    result = onega.waiting(
        {1: 0.5, 3: 0.3, 4: 0.2}, procs=6, arrival_rate=rho * most, mean_runtime=means
    )
    work = 0.5 * 1 * 2.0 + 0.3 * 3 * 1.0 + 0.2 * 4 * 0.5
    assert result.rho == pytest.approx(rho, rel=1e-12)
    assert result.mean_busy == pytest.approx(rho * most * work, rel=1e-9)
    mean = 0.5 * 2 + 0.3 * 1 + 0.2 * 0.5
    assert result.mean_response - result.mean_wait == pytest.approx(mean, rel=1e-9)  # Little
    assert math.fsum(result.queue) == pytest.approx(1, abs=1e-11)
    number = float(np.dot(result.queue, np.arange(result.queue.size)))
    assert number == pytest.approx(result.mean_waiting, rel=1e-7)


def test_the_saturated_chain_is_the_stability_constant():
    for law, servers in (("0.5,0.5", 2), ("uniform:5", 7), ("1:0.3,2:0.3,5:0.4", 23)):
        constant = stability_constant(law, servers).value
        assert markov_throughput(law, servers, 2.0) == pytest.approx(1 / (2 * constant), rel=1e-11)


def test_a_wider_class_that_runs_longer_lowers_the_throughput():
    equal = markov_throughput({1: 0.5, 4: 0.5}, 6, 1.0)
    longer = markov_throughput({1: 0.5, 4: 0.5}, 6, {1: 0.5, 4: 1.5})
    assert longer < equal


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arrival_rate": 5.0}, "isn't stable, so it has no mean wait"),
        ({"arrival_rate": 8 / 7}, "isn't stable"),
        ({"arrival_rate": -1}, "positive"),
        ({"mean_runtime": 0}, "positive"),
        ({"mean_runtime": {1: 1.0}}, "no value for width 2"),
        ({"procs": 1}, "can never start"),
        ({"widths": "uniform:40", "procs": 60}, "simulate"),
        ({"widths": "uniform:11", "procs": 11}, "simulate"),
    ],
)
def test_refusals(options, words):
    given = {"widths": [0.5, 0.5], "procs": 2, "arrival_rate": 0.5, "mean_runtime": 1.0} | options
    with pytest.raises(QueueingError, match=words):
        onega.waiting(given.pop("widths"), **given)


def test_summary_table_and_figures():
    result = onega.waiting([0.5, 0.5], procs=2, arrival_rate=0.9, mean_runtime=1)
    summary = result.summary()
    assert {"mean_wait", "p_wait", "mean_jobs", "error"} <= set(summary)
    assert result.to_polars().columns == ["waiting", "probability"]
    for kind in result.figure_kinds():
        assert result.plot(kind).data

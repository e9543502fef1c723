"""Queues whose means are known: replicates on fixed seeds, |z| < 4 (error rate 6e-5 each)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import onega
from onega import Cluster, RateControl, Workload

JOBS, WARM, REPLICATES = 20_000, 2_000, 30


def means(servers, policy, arrival_rate, draw, measure="wait", rates=None, **options) -> np.ndarray:
    """The mean of a job measure in each replicate, the first jobs left out."""
    found = []
    for seed in range(REPLICATES):
        rng = np.random.default_rng(seed)
        log = Workload(
            {
                "submit": np.cumsum(rng.exponential(1 / arrival_rate, JOBS)),
                "runtime": draw(rng, JOBS),
                "procs": np.ones(JOBS, int),
            }
        )
        machine = Cluster(servers, rates) if rates else Cluster(servers)
        schedule = onega.simulate(log, machine, policy, **options)
        found.append(schedule.jobs[measure].to_numpy()[WARM:].mean())
    return np.array(found)


def agrees(found: np.ndarray, expected: float) -> None:
    z = (found.mean() - expected) / (found.std(ddof=1) / math.sqrt(found.size))
    assert abs(z) < 4, (z, found.mean(), expected)
    # a test of a z that is blind would pass anything
    assert found.std(ddof=1) / math.sqrt(found.size) < 0.05 * expected


def exponential(rng, n):
    return rng.exponential(1.0, n)


def erlang(rng, n):
    return rng.gamma(3, 1 / 3, n)


def hyperexponential(rng, n):
    return rng.exponential(1.0, n) * np.where(rng.random(n) < 0.8, 0.5, 3.0)


def constant(rng, n):
    return np.ones(n)


SECOND_MOMENT = {
    exponential: 2.0,
    constant: 1.0,
    erlang: 4 / 3,
    hyperexponential: 0.8 * 2 * 0.25 + 0.2 * 2 * 9.0,
}


@pytest.mark.parametrize("draw", SECOND_MOMENT)
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_one_server_pollaczek_khinchine(draw, policy):
    rho = 0.7
    agrees(means(1, policy, rho, draw), rho * SECOND_MOMENT[draw] / (2 * (1 - rho)))


@pytest.mark.parametrize("servers", [2, 10])
def test_many_servers_erlang_c(servers):
    load = 0.8 * servers
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) / (1 - load / servers)
    waits = last / (sum(terms) + last)
    agrees(means(servers, "fcfs", load, exponential), waits / (servers - load))


@pytest.mark.parametrize("draw", [exponential, erlang, hyperexponential])
def test_newest_first_with_preemption_feels_only_the_mean(draw):
    rho = 0.6
    agrees(means(1, "lcfs-pr", rho, draw, "response"), 1 / (1 - rho))


def test_shortest_first():
    """W = ∫ W₀ / (1 − ρ(x))² dF(x), ρ(x) = λ ∫₀ˣ t dF(t) (Phipps 1956), exponential work."""
    rho = 0.8
    x = np.linspace(0, 40, 400_001)
    below = rho * (1 - (1 + x) * np.exp(-x))
    expected = np.trapezoid(rho / (1 - below) ** 2 * np.exp(-x), x)
    agrees(means(1, "spf", rho, exponential), float(expected))


def test_two_rates_by_queue_length():
    """The chain of (level, number): up when an arrival makes k_high + 1, down at k_low."""
    arrival, rates, k_low, k_high, most = 0.8, (0.9, 1.6), 2, 5, 200
    states = [(0, n) for n in range(k_high + 1)] + [(1, n) for n in range(k_low + 1, most + 1)]
    place = {state: number for number, state in enumerate(states)}
    flow = np.zeros((len(states), len(states)))
    for level, n in states:
        here = place[level, n]
        if n < most:
            up = (1, n + 1) if level == 1 or n + 1 > k_high else (0, n + 1)
            flow[here, place[up]] += arrival
        if n > 0:
            down = (0, n - 1) if level == 0 or n - 1 <= k_low else (1, n - 1)
            flow[here, place[down]] += rates[level]
    system = (flow - np.diag(flow.sum(axis=1))).T
    system[0] = 1.0
    share = np.linalg.solve(system, np.eye(len(states))[0])
    number = sum(p * n for p, (_, n) in zip(share, states))
    control = RateControl("queue", rates=rates, k_low=k_low, k_high=k_high)
    found = means(1, "fcfs", arrival, exponential, "response", rates=control)
    agrees(found, float(number) / arrival)

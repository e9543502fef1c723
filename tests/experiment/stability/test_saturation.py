"""Saturated throughput against formulas where they hold; exact waits against the simulator."""

from __future__ import annotations

import math

import numpy as np
import pytest

import onega
from onega.core.errors import QueueingError
from onega.core.intervals import mean_interval
from onega.experiment.stability.saturation import saturated_throughput
from onega.queueing.constant import multiresource_constant, stability_constant
from onega.queueing.phases import build_phases, service_rates
from onega.queueing.saturated import (
    _switched,
    departure_matrix,
    markov_throughput,
    switched_throughput,
)
from onega.queueing.widths import Widths
from reference.stability import saturated_starts

SURE = 0.9999
"""Level of the intervals: each test below raises a false alarm once in ten thousand."""


@pytest.mark.parametrize(
    ("law", "procs"), [("0.5,0.5", 2), ("uniform:10", 10), ("1:0.6,4:0.4", 32)]
)
def test_equal_laws_agree_with_the_constant(law, procs):
    measured = saturated_throughput(law, procs, precision=0.02, confidence=SURE, rng=3)
    assert measured.reached
    assert (measured.high - measured.low) / 2 / measured.rate < 0.021
    assert measured.low < 1 / stability_constant(law, procs).value < measured.high


def test_own_exponential_laws_agree_with_the_chain():
    law, means = {1: 0.5, 3: 0.3, 4: 0.2}, {1: 2.0, 3: 1.0, 4: 0.5}
    measured = saturated_throughput(
        law, 6, mean_runtime=means, precision=0.02, confidence=SURE, rng=4
    )
    assert measured.low < markov_throughput(law, 6, means) < measured.high


def test_several_resources_agree_with_the_constant():
    needs, probs, capacity = [[1, 4], [2, 1], [4, 8]], [0.5, 0.3, 0.2], [8, 16]
    rng, jobs, seconds = np.random.default_rng(5), 5000, []
    for _ in range(24):
        taken = [needs[kind] for kind in rng.choice(3, 2 * jobs, p=probs)]
        starts = saturated_starts(taken, rng.exponential(1.0, 2 * jobs).tolist(), capacity)
        seconds.append((starts[-1] - starts[jobs - 1]) / jobs)
    measured = mean_interval(seconds, confidence=SURE)
    assert measured.half_width < 0.02 * measured.mean
    assert multiresource_constant(needs, probs, capacity) in measured


def test_one_resource_starts_as_the_simulator_does():
    rng = np.random.default_rng(6)
    procs, runtime = rng.integers(1, 9, 300), rng.exponential(5, 300)
    starts = saturated_starts(procs.reshape(-1, 1).tolist(), runtime, [12])
    log = onega.Workload({"submit": np.zeros(300), "runtime": runtime, "procs": procs})
    assert starts == pytest.approx(onega.simulate(log, 12, "fcfs").start, abs=1e-9)


def test_resources_with_fixed_run_times():
    """Two classes that never fit together: one at a time, exactly one a second."""
    assert saturated_starts([[3, 1], [1, 3]] * 5, [1.0] * 10, [3, 3]) == list(range(10))


def test_backfilling_uses_more_of_the_machine():
    law = "uniform:10"
    fcfs = saturated_throughput(law, 10, "fcfs", precision=0.02, rng=7)
    easy = saturated_throughput(law, 10, "easy", precision=0.02, rng=7)
    assert easy.low > fcfs.high
    # No policy completes more than the processors allow: s/E[N] jobs per mean run time.
    assert easy.low < 10 / 5.5


def test_any_policy_can_serve_widths_of_one():
    for policy in ("fcfs", "spf", "lcfs-pr", "fcfs+conservative"):
        measured = saturated_throughput(
            [1.0], 4, policy, precision=0.06, confidence=SURE, rng=8, jobs=200
        )
        assert measured.low < 4.0 < measured.high, policy


def model_log():
    rng = np.random.default_rng(9)
    n = 40_000  # so many that chance correlations of width and run time stay below 1 %
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(2.0, n)),
            "runtime": rng.exponential(3.0, n),
            "procs": rng.choice([1, 2, 5], n, p=[0.5, 0.3, 0.2]),
        }
    ).with_machine(8)


def test_stability_by_saturation_of_a_log():
    log = model_log()
    exact = onega.stability(log)
    measured = onega.stability(log, method="saturation", precision=0.02, confidence=SURE, rng=1)
    assert measured.constant.method == "saturation"
    # The log's widths and run times are independent, so FCFS must come near the formula.
    assert measured.constant.low < 1.005 * exact.C
    assert measured.constant.high > 0.995 * exact.C
    assert measured.rho == pytest.approx(exact.rho, rel=0.03)
    assert measured.utilisation_at_limit == pytest.approx(exact.utilisation_at_limit, rel=0.05)
    low, high = measured.estimates.rho_ci
    assert low < measured.rho < high
    assert any("in their own order" in sentence for sentence in measured.sentences())
    summary = measured.summary()
    assert summary["formula_rho"] is None  # C is the measured one
    low, high = (summary[f"saturation_utilisation_{end}"] for end in ("low", "high"))
    assert low <= summary["utilisation_at_limit"] <= high <= 1


def test_a_given_mean_stretches_the_log_s_run_times():
    log = model_log()
    first = onega.stability(log, method="saturation", precision=0.05, rng=2)
    second = onega.stability(log, method="saturation", precision=0.05, rng=2, mean_runtime=30.0)
    assert second.mean_runtime == pytest.approx(30.0)
    assert pytest.approx(first.C, rel=1e-12) == second.C
    assert second.max_arrival_rate == pytest.approx(
        first.max_arrival_rate * first.mean_runtime / 30.0, rel=1e-12
    )
    assert second.utilisation_at_limit == pytest.approx(first.utilisation_at_limit, rel=1e-12)


def test_the_seed_makes_the_answer():
    runs = [saturated_throughput([0.5, 0.5], 2, rng=seed, precision=0.05) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0].rate != runs[2].rate
    assert runs[0].summary()["replicates"] == runs[0].replicates


def test_a_model_can_be_saturated():
    class Model:
        def sample(self, n, *, rng=None):
            draw = np.random.default_rng(rng)
            return onega.Workload(
                {
                    "submit": np.arange(n, dtype=float),
                    "runtime": draw.exponential(1.0, n),
                    "procs": draw.choice([1, 2], n),
                }
            )

    measured = saturated_throughput(Model(), 2, precision=0.03, confidence=SURE, rng=1)
    assert measured.low < 8 / 7 < measured.high


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": 0}, "precision"),
        ({"precision": 1}, "precision"),
        ({"confidence": 1}, "confidence level"),
        ({"jobs": 5}, "at least 10 jobs"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(QueueingError, match=words):
        saturated_throughput([0.5, 0.5], 2, **options)


def test_an_unknown_policy_is_refused():
    with pytest.raises(onega.OnegaError, match="fcf"):
        onega.stability([0.5, 0.5], procs=2, method="saturation", policy="fcf")


@pytest.mark.parametrize(
    ("law", "procs", "rho", "means"),
    [
        ({1: 1.0}, 4, 0.8, {1: 1.0}),
        ({5: 1.0}, 5, 0.7, {5: 1.0}),
        ({1: 0.5, 2: 0.5}, 2, 0.75, {1: 1.0, 2: 1.0}),
        ({1: 0.5, 3: 0.3, 4: 0.2}, 6, 0.7, {1: 2.0, 3: 1.0, 4: 0.5}),
    ],
)
def test_exact_waits_agree_with_the_simulator(law, procs, rho, means):
    """Mean wait, P(wait), mean number: 12 quantities at |z| < 4, false alarm below 1e-3."""
    rate = rho * markov_throughput(law, procs, means)
    exact = onega.waiting(law, procs=procs, arrival_rate=rate, mean_runtime=means)
    widths = Widths.of(law)
    rows = []
    for seed in range(24):
        rng = np.random.default_rng(100 + seed)
        n, warm = 20_000, 2000
        kind = rng.choice(widths.values.size, n, p=widths.probs)
        mean = np.array([means[int(k)] for k in widths.values])[kind]
        submit = np.cumsum(rng.exponential(1 / rate, n))
        log = onega.Workload(
            {
                "submit": submit,
                "runtime": rng.exponential(1.0, n) * mean,
                "procs": widths.values[kind],
            }
        )
        schedule = onega.simulate(log, procs, "fcfs")
        wait = (schedule.start - submit)[warm:]
        response = (schedule.end - submit)[warm:]
        rows.append([wait.mean(), (wait > 1e-9).mean(), response.mean()])
    table = np.array(rows)
    expected = [exact.mean_wait, exact.p_wait, exact.mean_response]
    z = (table.mean(axis=0) - expected) / (table.std(axis=0, ddof=1) / math.sqrt(len(rows)))
    assert np.all(np.abs(z) < 4), z


def test_switching_agrees_with_the_simulator():
    """Above the boundary the queue grows by λ − T(λ) per second. |z| < 4."""
    law, work = Widths.of([0.5, 0.5]), {1: 1.0, 2: 1 / 1.5}
    speeds, p_up, p_down = (1.0, 2.0), 0.3, 0.6
    boundary = switched_throughput(law, 2, work, speeds=speeds, p_arrival=p_up, p_departure=p_down)
    rate = 1.3 * boundary
    phases = build_phases(law, 2, service_rates(law, work))
    through = _switched(departure_matrix(phases), phases.departures, speeds, (rate * p_up, p_down))
    assert through < rate
    control = onega.RateControl("random", rates=speeds, p_low=p_down, p_high=p_up)
    done = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n = 10_000
        submit = np.cumsum(rng.exponential(1 / rate, n))
        kind = rng.choice(2, n)
        log = onega.Workload(
            {
                "submit": submit,
                "runtime": rng.exponential(1.0, n) * np.array([1.0, 1 / 1.5])[kind],
                "procs": kind + 1,
            }
        )
        schedule = onega.simulate(log, 2, "fcfs", rates=control, rng=seed)
        first, last = submit[n // 10], submit[-1]
        done.append(np.sum((schedule.end > first) & (schedule.end <= last)) / (last - first))
    z = (np.mean(done) - through) / (np.std(done, ddof=1) / math.sqrt(len(done)))
    assert abs(z) < 4, z


@pytest.mark.verification
def test_the_kth_log_under_three_policies(shared):
    """Wide jobs of the log run otherwise than narrow ones, so FCFS holds less than its formula."""
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    formula = onega.stability(log)
    fcfs = onega.stability(log, method="saturation", precision=0.02, rng=1)
    easy = onega.stability(log, method="saturation", policy="easy", precision=0.02, rng=1)
    assert fcfs.utilisation_at_limit == formula.utilisation_at_limit
    assert fcfs.utilisation_at_limit < formula.formula_utilisation
    assert 1 >= easy.utilisation_at_limit > 0.97
    assert easy.rho < formula.rho < fcfs.rho

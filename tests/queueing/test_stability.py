"""`stability`: keys, log estimates and their intervals, assumption checks, words, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from onega.core.errors import QueueingError
from onega.queueing.checks import NEEDED
from onega.queueing.constant import stability_constant
from onega.queueing.estimates import estimate

KEYS = {
    "procs",
    "C",
    "rho",
    "stable",
    "max_arrival_rate",
    "min_procs",
    "utilisation_at_limit",
    "method",
}


def model_log(jobs=4000, seed=1, rate=0.5, **changes):
    """A log that is what the formula assumes."""
    rng = np.random.default_rng(seed)
    table = {
        "submit": np.cumsum(rng.exponential(1 / rate, jobs)),
        "runtime": rng.exponential(3.0, jobs),
        "procs": rng.choice([1, 2, 5], jobs, p=[0.5, 0.3, 0.2]),
    }
    table |= changes
    return onega.Workload(table).with_machine(8)


LAW = {1: 0.5, 2: 0.3, 5: 0.2}


def test_the_seed_s_smallest_example():
    """Two servers, half of the jobs take both: phases 11, 12, 2*: C = 1/4·1/2 + 1/4 + 1/2 = 7/8."""
    result = onega.stability([0.5, 0.5], procs=2, arrival_rate=1.0, mean_runtime=1.0)
    assert result.C == 0.875
    assert result.rho == 0.875
    assert result.stable is True
    assert result.max_arrival_rate == pytest.approx(8 / 7)
    assert result.utilisation_at_limit == pytest.approx(1.5 / (0.875 * 2))
    assert result.unused_share == pytest.approx(1 / 7)
    assert result.min_procs == 2
    assert set(result.summary()) >= KEYS


@pytest.mark.parametrize("method", ["exact", "partitions", "enumeration", "montecarlo"])
def test_methods_agree(method):
    result = onega.stability(
        LAW, procs=7, arrival_rate=0.3, mean_runtime=3, method=method, rng=5, draws=50_000
    )
    assert result.constant.method == method
    exact = stability_constant(LAW, 7).value
    slack = 4 * (result.constant.high - result.constant.low) / 2 / 1.96 + 1e-12
    assert pytest.approx(exact, abs=slack) == result.C
    if method == "montecarlo":
        assert {"C_low", "C_high"} <= set(result.summary())


def test_the_boundary_is_where_it_is_said_to_be():
    first = onega.stability(LAW, procs=8, arrival_rate=0.5, mean_runtime=3)
    most = first.max_arrival_rate
    assert onega.stability(LAW, procs=8, arrival_rate=0.999 * most, mean_runtime=3).stable
    assert not onega.stability(LAW, procs=8, arrival_rate=1.001 * most, mean_runtime=3).stable
    again = onega.stability(LAW, procs=first.min_procs, arrival_rate=0.5, mean_runtime=3)
    assert again.stable


def test_without_rates_only_the_machine_is_judged():
    result = onega.stability("uniform:10", procs=10)
    assert result.rho is None
    assert result.stable is None
    assert result.max_arrival_rate is None
    assert result.min_procs is None
    assert "can never use" in result.sentences()[0]
    assert onega.stability("uniform:10", procs=10, mean_runtime=60).max_arrival_rate > 0


def test_a_filled_machine_is_said_to_be_usable_whole():
    assert "whole machine" in onega.stability({4: 1.0}, procs=16).sentences()[0]


def test_a_log_that_is_the_model():
    log = model_log()
    result = onega.stability(log)
    assert result.procs == 8
    estimates = result.estimates
    assert estimates is not None
    assert all(check.holds for check in estimates.checks), estimates.checks
    true = 0.5 * 3 * stability_constant(LAW, 8).value
    assert estimates.rho_ci[0] < true < estimates.rho_ci[1]
    assert estimates.rho_ci[0] < result.rho < estimates.rho_ci[1]


def test_intervals_cover_the_truth_as_often_as_they_say():
    """100 logs, 95 %: fewer than 86 hits has probability below 1e-4."""
    constant = stability_constant(LAW, 8).value
    hits = dict.fromkeys(("arrival_rate", "mean_runtime", "constant", "rho"), 0)
    true = {"arrival_rate": 0.5, "mean_runtime": 3.0, "constant": constant, "rho": 1.5 * constant}
    for seed in range(100):
        estimates = estimate(model_log(jobs=400, seed=seed), 8)
        for name, value in true.items():
            low, high = getattr(estimates, f"{name}_ci")
            hits[name] += low < value < high
    assert all(86 <= count <= 100 for count in hits.values()), hits


def test_intervals_are_of_the_logarithm():
    """log ρ = log λ + log C + log E[S]: intervals are symmetric on that scale."""
    found = estimate(model_log(), 8)
    rho = found.arrival_rate * found.mean_runtime * stability_constant(model_log(), 8).value
    assert found.rho_ci[0] * found.rho_ci[1] == pytest.approx(rho**2)
    assert np.prod(found.mean_runtime_ci) == pytest.approx(found.mean_runtime**2)
    assert np.prod(found.arrival_rate_ci) == pytest.approx(found.arrival_rate**2)


def test_what_changes_together_cancels_in_rho():
    """Long jobs after long gaps, of one width: λ and E[S] vary, their product doesn't."""
    gaps = np.random.default_rng(4).exponential(2.0, 1000)
    log = model_log(
        submit=np.concatenate([[0.0], np.cumsum(gaps)]),
        runtime=3 * np.concatenate([[gaps.mean()], gaps]),
        procs=np.full(1001, 2),
    )
    found = estimate(log, 8)
    assert found.rho_ci[1] / found.rho_ci[0] == pytest.approx(1)
    assert found.arrival_rate_ci[1] / found.arrival_rate_ci[0] > 1.05
    assert found.mean_runtime_ci[1] / found.mean_runtime_ci[0] > 1.05


def test_where_only_widths_vary_rho_is_as_unsure_as_the_constant():
    jobs = 1001
    log = model_log(jobs, submit=np.arange(jobs) * 2.0, runtime=np.full(jobs, 3.0))
    found = estimate(log, 8)
    low, high = np.log(found.constant_ci)
    assert high - low > 0.02
    # The first job has no gap before it: batches begin one job later.
    assert np.diff(np.log(found.rho_ci))[0] == pytest.approx(high - low, rel=0.05)


def test_dependent_jobs_widen_the_interval():
    alike = np.repeat(np.random.default_rng(2).choice([1, 2, 5], 80, p=[0.5, 0.3, 0.2]), 50)
    mixed = np.random.default_rng(3).permutation(alike)
    spans = []
    for procs in (alike, mixed):
        low, high = estimate(_with(model_log(), procs), 8).constant_ci
        spans.append(high - low)
    assert spans[0] > 3 * spans[1]


def _with(log, procs):
    import polars as pl

    return log.with_columns(pl.Series("procs", procs), note="other widths")


@pytest.mark.parametrize(
    ("assumption", "changes"),
    [
        ("poisson_arrivals", lambda rng, n: {"submit": np.cumsum(rng.pareto(1.5, n))}),
        ("poisson_arrivals", lambda rng, n: {"submit": np.arange(n) * 2.0}),
        ("exponential_runtimes", lambda rng, n: {"runtime": rng.lognormal(0, 2, n)}),
        ("exponential_runtimes", lambda rng, n: {"runtime": 3 + rng.random(n)}),
    ],
)
def test_departures_from_the_model_are_noticed(assumption, changes):
    log = model_log(**changes(np.random.default_rng(9), 4000))
    result = onega.stability(log)
    broken = {check.assumption for check in result.estimates.checks if not check.holds}
    assert broken == {assumption}
    needed = assumption in NEEDED
    assert any("This log differs" in sentence for sentence in result.sentences()) == needed
    assert result.formula_holds is not needed
    assert result.verdict.basis == ("saturation" if needed else "formula")
    assert result.summary()[f"{assumption}_holds"] is False
    assert result.summary()[f"{assumption}_test"] == "Lilliefors"


def test_wide_jobs_that_run_longer_are_noticed():
    base = model_log()
    runtime = base.column("runtime") * np.where(base.column("procs") == 5, 4.0, 0.25)
    log = onega.Workload(
        {"submit": base.column("submit"), "runtime": runtime, "procs": base.column("procs")}
    ).with_machine(8)
    checks = {check.assumption: check for check in onega.stability(log).estimates.checks}
    assert not checks["one_law"].holds
    assert checks["one_law"].measures["work_ratio"] > 1.5
    assert checks["one_law"].p_value < 1e-6
    assert any("wide jobs run longer" in sentence for sentence in onega.stability(log).sentences())


def test_rows_left_out_are_reported():
    log = onega.Workload(
        {"submit": [0, 1, 2, 3], "runtime": [1, 0, 2, 3], "procs": [1, 1, 0, 2]}
    ).with_machine(4)
    result = onega.stability(log)
    assert result.estimates.jobs == 2
    assert result.estimates.report.count("no_runtime") == 1
    assert result.estimates.report.count("no_width") == 1
    assert result.summary()["jobs_left_out"] == 2


def test_given_rates_replace_the_log_s():
    log = model_log()
    result = onega.stability(log, arrival_rate=0.01, mean_runtime=1.0)
    assert result.estimates is None
    assert result.rho == pytest.approx(0.01 * result.C)
    half = onega.stability(log, arrival_rate=0.01)
    assert half.mean_runtime == pytest.approx(float(np.mean(log.column("runtime"))))


def test_unstable_is_said_plainly():
    result = onega.stability([0.5, 0.5], procs=2, arrival_rate=9.0, mean_runtime=1.0)
    assert result.stable is False
    assert result.sentences()[0].startswith("No: ")


def test_table_curve_and_figures():
    result = onega.stability(LAW, procs=8, arrival_rate=0.5, mean_runtime=3)
    assert result.to_polars()["share_of_work"].sum() == pytest.approx(1)
    curve = result.curve([5, 8, 20])
    assert curve["C"][1] == pytest.approx(result.C, rel=1e-14)
    assert curve["rho"][1] == pytest.approx(result.rho, rel=1e-14)
    assert result.figure_kinds() == ("rho", "constant", "utilisation")
    for kind in result.figure_kinds():
        assert result.plot(kind).data
    with pytest.raises(QueueingError, match="arrival rate"):
        onega.stability(LAW, procs=8).plot("rho")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"procs": None}, "how many servers"),
        ({"procs": 0}, "from 1"),
        ({"procs": 4}, "can never start"),
        ({"arrival_rate": -1}, "positive"),
        ({"mean_runtime": 0}, "positive"),
        ({"method": "exat"}, "did you mean 'exact'"),
        ({"policy": "easy"}, "take method 'saturation'"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(QueueingError, match=words):
        onega.stability(LAW, **({"procs": 8} | options))


def test_a_log_of_one_instant_needs_the_rate():
    log = onega.Workload({"submit": [0, 0], "runtime": [1, 2], "procs": [1, 2]}).with_machine(4)
    with pytest.raises(QueueingError, match="one instant"):
        onega.stability(log)
    assert onega.stability(log, arrival_rate=1, mean_runtime=1).rho is not None


def test_a_job_beyond_all_bounds_is_too_wide_not_too_much_memory():
    wide = onega.Workload({"submit": [0, 9], "runtime": [1, 2], "procs": [1, 4 * 10**9]})
    with pytest.raises(QueueingError, match="width 4000000000 can never start on 10 servers"):
        onega.stability(wide, procs=10)


def test_the_kth_log(shared):
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    result = onega.stability(log, procs=100)
    assert result.estimates.jobs == 28_467
    assert pytest.approx(0.0946965559604583, rel=1e-13) == result.C
    assert result.stable
    broken = {check.assumption for check in result.estimates.checks if not check.holds}
    assert {"poisson_arrivals", "exponential_runtimes"} <= broken

"""The examples and equations of Zayats et al. (2024), other laws, and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import beta
from scipy.stats import nbinom, poisson

import onega
from onega.core.errors import QueueingError
from onega.core.units import percent
from onega.queueing.limits.laws import LAWS, Empirical, Gamma, Weibull, deterministic, parse_limit
from onega.queueing.limits.limits import critical_limit, request_probability, task_probability
from onega.queueing.limits.simulation import simulate_limits
from onega.queueing.widths import Widths

RATES = {"arrival_rate": 6.0, "service_rate": 1.5, "limit_rate": 0.5}
SPECS = ["fixed:1", "fixed:4", "geometric:0.3", "poisson:2.5", "uniform:7", "list:1:0.5,6:0.5"]


def state_numbers(result):
    return np.arange(result.probabilities.size)


def test_example_1_one_server_per_request_is_poisson():
    result = onega.limits("fixed:1", **RATES)
    expected = poisson.pmf(state_numbers(result), 6.0 / 2.0)  # (26)
    assert result.probabilities == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_example_2_geometric_widths(alpha):
    result = onega.limits(f"geometric:{alpha}", **RATES)
    power = 6.0 / 2.0 / alpha
    for z in (0.0, 0.4, 0.9, 1.0):  # (31)
        assert result.pgf(z) == pytest.approx(((1 - alpha) / (1 - alpha * z)) ** power, rel=1e-11)
    expected = nbinom.pmf(state_numbers(result), power, 1 - alpha)
    assert result.probabilities == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("spec", SPECS)
def test_example_3_mean(spec):
    result = onega.limits(spec, **RATES)
    assert result.mean_busy == pytest.approx(6.0 * Widths.parse(spec).mean / 2.0, rel=1e-13)  # (34)
    n, p = state_numbers(result), result.probabilities
    assert np.dot(n, p) == pytest.approx(result.mean_busy, rel=1e-12)
    assert np.dot(n**2, p) - result.mean_busy**2 == pytest.approx(result.var_busy, rel=1e-11)


def test_example_4_one_task():
    for mean_limit in (0.1, 1.0, 7.0):  # (44), service time 1
        result = onega.limits(
            "fixed:1", arrival_rate=1, service_rate=1, limit_rate=1 / mean_limit, target=0.8
        )
        assert result.p_serv == pytest.approx(mean_limit / (mean_limit + 1), rel=1e-14)
        assert result.critical_limit == pytest.approx(0.8 / 0.2, rel=1e-14)  # (45)


@pytest.mark.parametrize("tasks", [1, 3, 5])
def test_example_5_several_tasks(tasks):
    result = onega.limits(f"fixed:{tasks}", **RATES, target=0.7)
    assert result.p_serv == pytest.approx((1.5 / 2.0) ** tasks, rel=1e-14)  # (48)
    assert result.p_loss == pytest.approx(1 - (1.5 / 2.0) ** tasks, rel=1e-13)
    again = onega.limits(
        f"fixed:{tasks}", arrival_rate=6, service_rate=1.5, limit_rate=1 / result.critical_limit
    )
    assert again.p_serv == pytest.approx(0.7, rel=1e-13)


@pytest.mark.parametrize("spec", SPECS)
def test_balance_equations_hold(spec):
    """(12): −[λ+(μ+ν)n]p_n + (μ+ν)(n+1)p_{n+1} + Σ λ α_{n−i} p_i = 0."""
    result = onega.limits(spec, **RATES)
    alpha = np.zeros(result.probabilities.size + 1)
    law = result.widths
    inside = law.values < alpha.size
    alpha[law.values[inside]] = law.probs[inside]
    p = result.probabilities
    for n in range(p.size - 1):
        flow = -(6 + 2 * n) * p[n] + 2 * (n + 1) * p[n + 1]
        flow += 6 * np.dot(alpha[1 : n + 1], p[:n][::-1])
        assert abs(flow) < 1e-13


@pytest.mark.parametrize("spec", SPECS)
def test_generating_function_is_the_integral(spec):
    """(22): log G(z) = −λ/(μ+ν) ∫_z^1 (1 − Q(s))/(1 − s) ds."""
    result = onega.limits(spec, **RATES)
    for z in (0.0, 0.5, 0.9):
        area = quad(lambda s: (1 - result.widths.pgf(s)) / (1 - s), z, 1)[0]
        assert result.pgf(z) == pytest.approx(math.exp(-3.0 * area), rel=1e-10)


def test_thousands_of_busy_servers():
    result = onega.limits("geometric:0.9", arrival_rate=5000, service_rate=1, limit_rate=0.5)
    n, p = state_numbers(result), result.probabilities
    assert math.fsum(p) == pytest.approx(1, abs=1e-13)
    assert np.dot(n, p) == pytest.approx(5000 * 10 / 1.5, rel=1e-11)
    power = 5000 / 1.5 / 0.9
    near = slice(33_000, 34_000)
    assert p[near] == pytest.approx(nbinom.pmf(n[near], power, 0.1), rel=1e-9)
    assert result.tail_error <= 1e-15


def test_the_stated_tail_error_is_a_bound():
    for spec in ("fixed:3", "geometric:0.5"):
        result = onega.limits(spec, **RATES)
        longer = nbinom.sf(result.probabilities.size - 1, 6, 0.5) if "geo" in spec else 0.0
        assert longer <= result.tail_error


def test_quantiles_and_sizing():
    result = onega.limits("fixed:1", **RATES)
    for q in (0.5, 0.95, 0.999):
        assert result.quantile(q) == poisson.ppf(q, 3.0)
    for epsilon in (0.1, 0.01, 1e-6):
        c = result.fewest_servers(epsilon)
        assert poisson.sf(c - 1, 3.0) <= epsilon < poisson.sf(c - 2, 3.0)


LAW_CASES = [
    (deterministic(2.0), lambda mu: 1 - math.exp(-2 * mu)),
    (Gamma(2.5, 2.0), lambda mu: 1 - (1 + mu * 2.0 / 2.5) ** -2.5),
    (Gamma(0.3, 2.0), lambda mu: 1 - (1 + mu * 2.0 / 0.3) ** -0.3),
    (Weibull(1.0, 2.0), lambda mu: mu / (mu + 0.5)),
    (Empirical([1, 1, 3, 5]), lambda mu: 1 - np.mean(np.exp(-mu * np.array([1, 1, 3, 5])))),
]


@pytest.mark.parametrize(("law", "closed"), LAW_CASES)
@pytest.mark.parametrize("mu", [0.2, 1.0, 9.0])
def test_task_probability_of_other_laws(law, closed, mu):
    assert task_probability(mu, law) == pytest.approx(closed(mu), rel=1e-11)


def test_weibull_by_another_quadrature():
    law = Weibull(0.6, 1.7)
    value = quad(lambda x: math.exp(-x) * float(law.survival(np.array(x))), 0, np.inf, limit=400)[0]
    assert task_probability(1.0, law) == pytest.approx(value, rel=1e-7)
    assert quad(lambda t: float(law.survival(np.array(t))), 0, np.inf, limit=400)[0] == (
        pytest.approx(1.7, rel=1e-6)
    )


@given(st.floats(0.1, 5), st.floats(0.05, 3), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_shared_exponential_limit_is_a_beta_integral(mu, nu, tasks):
    widths = Widths.parse(f"fixed:{tasks}")
    value = request_probability(mu, parse_limit(f"exponential:{1 / nu}"), widths, shared=True)
    assert value == pytest.approx(tasks * beta(tasks, 1 + nu / mu), rel=1e-9)
    # Quadrature on the same law, written as a Gamma law of shape 1.
    again = request_probability(mu, Gamma(1.0, 1 / nu), widths, shared=True)
    assert again == pytest.approx(value, rel=1e-9)
    # Sharing a limit helps: tasks survive together.
    assert value >= widths.pgf(mu / (mu + nu)) - 1e-12


@pytest.mark.parametrize("shared", [False, True])
def test_quadrature_reproduces_the_exponential_states(shared):
    spec = "list:1:0.3,2:0.3,5:0.4"
    known = onega.limits(spec, **RATES, shared=shared)
    other = onega.limits(
        spec, arrival_rate=6, service_rate=1.5, limit=Gamma(1.0, 2.0), shared=shared
    )
    size = min(known.probabilities.size, other.probabilities.size)
    assert known.probabilities[:size] == pytest.approx(other.probabilities[:size], abs=1e-13)
    assert known.p_serv == pytest.approx(other.p_serv, rel=1e-11)


def test_mean_busy_is_insensitive_to_sharing():
    options = {"arrival_rate": 2, "service_rate": 1, "limit": "weibull:0.7:2"}
    apart = onega.limits("1:0.4,3:0.6", **options)
    together = onega.limits("1:0.4,3:0.6", **options, shared=True)
    assert apart.mean_busy == pytest.approx(together.mean_busy, rel=1e-11)
    assert apart.var_busy < together.var_busy


def test_no_limit_serves_everybody():
    result = onega.limits("uniform:3", arrival_rate=1, service_rate=1, limit_rate=0)
    assert result.p_serv == 1.0
    assert result.limit.mean == math.inf
    assert 0 < result.critical_limit < math.inf


@pytest.mark.parametrize(
    ("limit", "shared"),
    [
        ("exponential:2", False),
        ("exponential:2", True),
        ("deterministic:2", False),
        ("gamma:2:2", True),
        ("weibull:0.7:2", False),
        ("weibull:0.7:2", True),
    ],
)
def test_a_simulation_agrees(limit, shared):
    """Some 12 quantities × 6 systems at |z| < 4: a false alarm has probability about 1 %."""
    model = onega.limits("1:0.4,3:0.6", arrival_rate=2, service_rate=1, limit=limit, shared=shared)
    measured = simulate_limits(model, requests=8000, replicates=25, rng=7)
    expected = {"mean_busy": model.mean_busy, "var_busy": model.var_busy, "p_serv": model.p_serv}
    expected |= {f"p_{n}": p for n, p in enumerate(model.probabilities)}
    assert len(measured) > 8
    for name, value in measured.items():
        assert abs(value.distance(expected[name])) < 4, name


def test_a_simulation_finds_a_wrong_model():
    import dataclasses

    model = onega.limits("fixed:3", **RATES)
    wrong = dataclasses.replace(model, service_rate=1.6)
    measured = simulate_limits(wrong, requests=8000, replicates=25, rng=7)
    assert abs(measured["p_serv"].distance(model.p_serv)) > 4


def test_critical_limit_of_every_law_reaches_the_target():
    widths = Widths.parse("1:0.4,3:0.6")
    for text in LAWS[1:]:
        for shared in (False, True):
            law = parse_limit(text)
            mean = critical_limit(0.5, law, widths, 0.9, shared=shared)
            scaled = law.scaled(mean / law.mean)
            assert request_probability(0.5, scaled, widths, shared=shared) == pytest.approx(
                0.9, rel=1e-9
            )


def test_summary_and_table():
    result = onega.limits("fixed:2", **RATES)
    summary = result.summary()
    for key in ("mean_busy", "var_busy", "p_serv", "p_loss", "critical_limit", "probabilities"):
        assert key in summary
    table = result.to_polars()
    assert table.columns == ["busy", "probability", "at_least"]
    assert table["at_least"][0] == pytest.approx(1)
    assert any("servers are busy" in sentence for sentence in result.sentences())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arrival_rate": -1}, "positive rate"),
        ({"service_rate": 0}, "positive rate"),
        ({"limit_rate": -0.1}, "from 0"),
        ({"limit_rate": None}, "give limit_rate"),
        ({"limit": "gamma:2:1h"}, "not both"),
        ({"limit_rate": None, "limit": "gama:2:1h"}, "did you mean 'gamma'"),
        ({"limit_rate": None, "limit": "gamma:2"}, "for example"),
        ({"limit_rate": None, "limit": "gamma:2:-1"}, "not a duration|positive"),
        ({"limit_rate": None, "limit": "gamma:0:1h"}, "positive"),
        ({"limit_rate": None, "limit": "weibull:0.001:1h"}, "a shape from 0.01"),
        ({"limit_rate": None, "limit": "exponential:1e-320"}, "a time from 1e-09"),
        ({"limit_rate": None, "limit": "deterministic:1e300"}, "a time from 1e-09"),
        ({"target": 1.0}, "between 0 and 1"),
        ({"arrival_rate": None}, "need arrival_rate"),
        ({"widths": "fixed:0"}, "from 1"),
        ({"arrival_rate": 1e9}, "too many"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(QueueingError, match=words):
        onega.limits(**({"widths": "fixed:1"} | RATES | options))


def test_epsilon_and_probability_are_checked():
    result = onega.limits("fixed:1", **RATES)
    for call in (result.fewest_servers, result.quantile):
        for wrong in (0, 1, -0.5, 2):
            with pytest.raises(QueueingError, match="between 0 and 1"):
                call(wrong)


def test_observed_limits_are_checked():
    for wrong in ([], [0.0], [-1, 2], [math.inf]):
        with pytest.raises(QueueingError, match="positive"):
            Empirical(wrong)
    assert "2 different" in repr(Empirical([1, 2, 2]))
    assert Empirical([1, 2, 2]).scaled(3).mean == pytest.approx(5)


def _log(**columns):
    rng = np.random.default_rng(3)
    n = 4000
    own, cut = rng.exponential(100, n), rng.exponential(300, n)
    table = {
        "submit": np.cumsum(rng.exponential(10, n)),
        "runtime": np.minimum(own, cut),
        "procs": rng.choice([1, 4], n),
    }
    table |= {key: make(own, cut) for key, make in columns.items()}
    return onega.Workload(table)


def test_parameters_from_final_states():
    log = _log(status=lambda own, cut: np.where(cut < own, "timeout", "completed"))
    result = onega.limits(log)
    estimates = result.estimates
    assert estimates is not None
    for low, high, true in (
        (*estimates.arrival_rate_ci, 1 / 10),
        (*estimates.service_rate_ci, 1 / 100),
        (*estimates.limit_rate_ci, 1 / 300),
    ):
        assert low < true < high
    holds = {check.assumption: check.holds for check in estimates.checks}
    assert holds["poisson_arrivals"]
    assert holds["exponential_runtimes"]
    assert not holds["tasks_apart"]
    assert result.summary()["jobs_cut_off"] == estimates.cut_off
    assert any("were really cut off" in sentence for sentence in result.sentences())


def test_every_figure_says_which_law_it_is_of():
    log = _log(status=lambda own, cut: np.where(cut < own, "timeout", "completed"))
    fitted = onega.limits(log)
    seen = 1 - fitted.estimates.cut_off / fitted.estimates.jobs
    for result, words in (
        (fitted, "With exponential limits of"),
        (onega.limits(log, limit="gamma:2:5m"), "With gamma limits of 5 min on average"),
        (onega.limits(log, limit="deterministic:5m"), "With equal limits of 5 min on average"),
    ):
        said = next(one for one in result.sentences() if "served whole" in one)
        assert said.startswith(words)
        assert "one for each task" in said
        assert f"of the log's own jobs {percent(seen)} were not cut off" in said
    apart = next(one for one in onega.limits(log, limit="gamma:2:5m").sentences() if "•" in one)
    assert "an exponential limit of its own" in apart
    own = onega.limits(arrival_rate=1, service_rate=1, limit_rate=0, widths="fixed:1")
    assert any(one.startswith("With no limits, 100 % of") for one in own.sentences())


def test_the_log_s_limits_need_a_log():
    with pytest.raises(QueueingError, match="give a log"):
        onega.limits(arrival_rate=1, service_rate=1, limit="empirical", widths="fixed:1")
    with pytest.raises(QueueingError, match="weibull, empirical"):
        onega.limits(arrival_rate=1, service_rate=1, limit="foo", widths="fixed:1")


def test_parameters_from_estimates():
    by_state = onega.limits(
        _log(status=lambda own, cut: np.where(cut < own, "timeout", "completed"))
    )
    by_estimate = onega.limits(_log(estimate=lambda own, cut: cut))
    assert by_estimate.service_rate == by_state.service_rate
    assert by_estimate.limit.mean == by_state.limit.mean


def test_a_log_that_says_nothing_of_cut_offs_is_refused():
    with pytest.raises(QueueingError, match="neither final states nor estimates"):
        onega.limits(_log())
    with pytest.raises(QueueingError, match="no job was cut off"):
        onega.limits(_log(status=lambda own, cut: np.full(own.size, "completed")))


def test_the_log_s_own_limits():
    log = _log(estimate=lambda own, cut: cut)
    result = onega.limits(log, limit="empirical", widths="fixed:1")
    assert isinstance(result.limit, Empirical)
    estimates = log.column("estimate")
    expected = np.mean(-np.expm1(-result.service_rate * estimates))
    assert result.p_serv == pytest.approx(expected, rel=1e-10)
    with pytest.raises(QueueingError, match="no estimates"):
        onega.limits(
            _log(status=lambda own, cut: np.where(cut < own, "timeout", "completed")),
            limit="empirical",
        )


def test_given_rates_need_nothing_of_cut_offs():
    log = _log()
    result = onega.limits(log, service_rate=0.01, limit_rate=0.002)
    assert result.estimates is None
    assert result.arrival_rate == pytest.approx(1 / float(np.diff(log.column("submit")).mean()))
    assert result.widths.values.tolist() == [1, 4]


@given(
    st.sampled_from(SPECS),
    st.floats(0.05, 40),
    st.floats(0.1, 5),
    st.floats(0, 5),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_invariants(spec, lam, mu, nu, shared):
    result = onega.limits(spec, arrival_rate=lam, service_rate=mu, limit_rate=nu, shared=shared)
    p = result.probabilities
    assert p.min() >= 0
    assert math.fsum(p) == pytest.approx(1, abs=1e-12)
    assert 0 < result.p_serv <= 1
    assert result.p_serv <= result.p_task + 1e-12
    assert result.mean_busy == pytest.approx(lam * result.widths.mean / (mu + nu), rel=1e-10)
    assert result.var_busy >= result.mean_busy * (1 - 1e-12)
    n = state_numbers(result)
    assert np.dot(n, p) == pytest.approx(result.mean_busy, rel=1e-9)
    assert result.quantile(0.5) <= result.quantile(0.95) <= result.quantile(0.999)


def test_a_limit_that_never_comes_has_the_same_critical_limit():
    """All exponential limits have one shape, however rare they are."""
    rates = {"arrival_rate": 1.0, "service_rate": 1e3, "widths": "1:0.5,2:0.5"}
    usual, rare = (onega.limits(limit_rate=rate, **rates) for rate in (1.0, 2e-308))
    assert rare.critical_limit == usual.critical_limit

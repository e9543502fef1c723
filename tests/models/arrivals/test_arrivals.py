"""Gaps, cycles and load: fitting gives the parameters back, the cycle is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from onega.core.errors import ModelError
from onega.core.workload.chains import autocorrelation
from onega.kernels.models.mmpp import log_likelihood
from onega.models.arrivals import arrivals as a
from onega.models.arrivals import cycles as c
from onega.models.published.lublin import GammaDay

RNG = np.random.default_rng

# (process, relative error allowed on its parameters): 50 000 gaps, seed fixed. Four standard
# errors of the worst parameter: for a Gamma or Weibull shape about 0.7 %/√(n/10⁴) each.
PROCESSES = [
    (a.Poisson(120.0), 0.02),
    (a.GammaGaps(0.6, 400.0), 0.04),
    (a.WeibullGaps(0.7, 300.0), 0.03),
    (a.HyperExponentialGaps(0.7, 20.0, 900.0), 0.05),
    (a.MarkovModulated([0.05, 0.002], [0.001, 0.0005]), 0.25),
]


@pytest.mark.parametrize(("process", "error"), PROCESSES, ids=lambda p: getattr(p, "KIND", ""))
def test_fitting_a_sample_gives_the_parameters_back(process, error):
    gaps = process.draw(50_000, RNG(4))
    assert np.all(gaps >= 0)
    back = type(process).fit(gaps).to_dict()
    for name, value in process.to_dict().items():
        if name not in ("kind", "version"):
            np.testing.assert_allclose(back[name], value, rtol=error, err_msg=name)


def test_log_gamma_keeps_both_means():
    gaps = a.LogGammaGaps(10.4, 0.48).draw(50_000, RNG(4))
    law = a.LogGammaGaps.fit(gaps)
    again = law.draw(50_000, RNG(5))
    assert np.log(again + 0.5).mean() == pytest.approx(np.log(gaps + 0.5).mean(), rel=0.01)
    assert again.mean() == pytest.approx(gaps.mean(), rel=0.05)
    assert law.shape == pytest.approx(10.4, rel=0.1)
    assert law.scale == pytest.approx(0.48, rel=0.1)


def test_a_chain_of_gaps_keeps_bursts_that_a_renewal_process_loses():
    calm = np.repeat(RNG(0).random(400) < 0.5, 50)
    gaps = np.where(calm, 600.0, 4.0) * RNG(1).exponential(1.0, calm.size).clip(0.2)
    chain = a.GapChain.fit(gaps).draw(20_000, RNG(2))
    renewal = a.HyperExponentialGaps.fit(gaps).draw(20_000, RNG(2))
    # Neighbours alike: log-gaps remember the spell in the chain only.
    assert autocorrelation(np.log(chain)) == pytest.approx(autocorrelation(np.log(gaps)), abs=0.05)
    assert abs(autocorrelation(np.log(renewal))) < 0.03
    assert chain.mean() == pytest.approx(gaps.mean(), rel=0.1)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e-4, 0.1), min_size=4, max_size=4),
    st.lists(st.floats(0, 500), min_size=1, max_size=8),
)
def test_mmpp_likelihood_equals_matrix_exponentials(rates, gaps):
    lam, leave = np.array(rates[:2]), np.array(rates[2:])
    generator = np.array([[-leave[0], leave[0]], [leave[1], -leave[1]]])
    weights = np.array([leave[1] * lam[0], leave[0] * lam[1]])
    vector = weights / weights.sum()
    total = 0.0
    for gap in gaps:
        vector = vector @ expm((generator - np.diag(lam)) * gap) @ np.diag(lam)
        total += np.log(vector.sum())
        vector = vector / vector.sum()
    assert log_likelihood(np.array(gaps), lam, leave) == pytest.approx(total, rel=1e-6, abs=1e-6)


CYCLES = [
    c.PolynomialCycle.fit(RNG(0).normal(13 * 3600, 3 * 3600, 20_000) % 86400),
    c.StepCycle(1 + np.sin(np.arange(48) / 48 * 2 * np.pi), [1, 1, 1, 1, 1, 0.5, 0.3]),
    c.DayNight(8.0, 12.0),
    GammaDay(),
]


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda one: one.KIND)
@given(st.lists(st.floats(0, 4 * c.WEEK), min_size=1, max_size=20))
def test_clock_undoes_operational_time(cycle, times):
    operational = np.sort(np.array(times))
    clock = cycle.clock(operational)
    assert np.all(np.diff(clock) >= 0)
    np.testing.assert_allclose(cycle.operational(clock), operational, atol=1e-3)


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda one: one.KIND)
def test_a_week_is_a_week_long(cycle):
    assert cycle.operational(c.WEEK) == pytest.approx(c.WEEK)
    assert np.all(cycle.intensity() >= 0)


def test_poisson_under_a_cycle_has_its_intensity():
    cycle = c.StepCycle(np.linspace(0.2, 2.0, 48), [1.5, 1, 1, 1, 1, 0.5, 1])
    process = a.Arrivals(a.Poisson(30.0), cycle)
    clock = process.submissions(process.gaps.draw(400_000, RNG(1)), start=0.0)
    counts = np.bincount((clock % c.WEEK // 1800).astype(int), minlength=336)
    full_weeks = clock[-1] / c.WEEK
    expected = cycle.intensity() / cycle.intensity().mean() * 1800 / 30.0 * full_weeks
    # Poisson counts: 336 standardised differences, |z| < 4.5 each (P ≈ 0.2 % of any failing).
    assert np.max(np.abs(counts - expected) / np.sqrt(expected)) < 4.5


def test_the_polynomial_is_non_negative_periodic_and_close():
    hours = np.concatenate((RNG(0).normal(14, 3.5, 50_000), RNG(1).uniform(0, 24, 10_000))) % 24
    days = RNG(2).choice(7, hours.size, p=np.array([18, 18, 18, 18, 16, 6, 6]) / 100)
    cycle = c.PolynomialCycle.fit(np.sort(days * c.DAY + hours * 3600 + 0.0))
    assert cycle.coefficients.size == 9  # degree eight
    daily = cycle.daily()
    assert daily.min() >= 0
    assert daily[0] == pytest.approx(daily[-1], abs=0.02)
    observed = np.bincount(hours.astype(int), minlength=24) / hours.size
    fitted = daily.reshape(24, 12).sum(axis=1) / daily.sum()
    assert np.abs(observed - fitted).max() < 0.01
    assert cycle.weekdays.mean() == pytest.approx(1)
    assert cycle.weekdays[5] < cycle.weekdays[0] / 2


def test_weekdays_are_counted_by_how_often_they_occur():
    # Ten days at one rate: Monday to Wednesday twice, the rest once.
    clock = np.linspace(0, 10 * c.DAY - 1, 100_000)
    np.testing.assert_allclose(c.weekday_factors(clock), 1.0, rtol=1e-3)


def test_a_weekday_seen_for_an_hour_is_not_seen():
    # A Monday at an even rate, and a busy first hour of Tuesday.
    clock = np.concatenate([np.arange(24) * 3600.0, c.DAY + np.arange(50) * 70.0])
    np.testing.assert_allclose(c.weekday_factors(clock), 1.0)
    # From noon on the Tuesday counts: 50 jobs in its 14 hours, and 24 on Monday.
    longer = np.append(clock, c.DAY + 14 * 3600)
    factors = c.weekday_factors(longer)
    assert factors[1] / factors[0] == pytest.approx((51 / 14) / (24 / 24))


def test_day_and_night_finds_the_day():
    clock = np.sort(RNG(3).uniform(9.5, 21.5, 5000) * 3600 + RNG(4).integers(0, 30, 5000) * c.DAY)
    cycle = c.DayNight.fit(clock)
    assert (cycle.begin, cycle.hours) == (9.5, 12.0)
    process = a.Arrivals.fit(clock, gaps="poisson", cycle="day-night")
    drawn = process.submissions(process.gaps.draw(5000, RNG(5)), start=0.0)
    hour = drawn % c.DAY / 3600
    assert np.all((hour >= 9.5 - 1e-6) & (hour <= 21.5 + 1e-6))


def test_load_changes_the_rate_and_leaves_the_days():
    from models.contract import example_log
    from onega.models import MODELS

    model = MODELS["independent"].fit(example_log(), arrivals="poisson")
    profiles = []
    for load in (0.2, 1.6):
        drawn = model.sample(40_000, rng=7, load=load)
        hours = (drawn.column("submit") % c.DAY // 3600).astype(int)
        profiles.append(np.bincount(hours, minlength=24) / len(drawn))
    # Shares of 1/24 of 40 000 jobs have standard error 0.1 %.
    assert np.abs(profiles[0] - profiles[1]).max() < 0.006
    assert profiles[0].max() > 2 * profiles[0].min()


def test_a_short_log_gets_no_cycle():
    clock = np.sort(RNG(0).uniform(0, 86400, 300))
    assert a.Arrivals.fit(clock).cycle is None


@pytest.mark.parametrize(
    "bad",
    [
        lambda: a.Poisson(0.0),
        lambda: a.GammaGaps(1.0, -1.0),
        lambda: a.HyperExponentialGaps(1.5, 1.0, 2.0),
        lambda: a.MarkovModulated([1.0, 0.0], [1.0, 1.0]),
        lambda: c.DayNight(25.0, 12.0),
        lambda: c.StepCycle(np.ones(47), np.ones(7)),
        lambda: c.StepCycle(np.zeros(48), np.ones(7)).operational(1.0),
        lambda: a.Arrivals.fit(np.array([1.0])),
        lambda: a.GapChain(np.ones((2, 2)), ()),
    ],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(ModelError):
        bad()

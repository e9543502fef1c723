"""Laws of durations: text and back, moments, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onega.core.errors import SimulationError
from onega.core.machine.laws import KINDS, Law

DAY = 86400.0


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("exponential(mean=1h)", Law("exponential", 3600)),
        ("exponential(30d)", Law("exponential", 30 * DAY)),
        ("weibull(shape=0.7, mean=30d)", Law("weibull", 30 * DAY, 0.7)),
        ("weibull(shape=2, scale=10)", Law("weibull", 10 * math.gamma(1.5), 2)),
        ("gamma(shape=2,mean=90s)", Law("gamma", 90, 2)),
        ("gamma(mean=10, sd=5)", Law("gamma", 10, 4)),
        ("gamma(scale=3, shape=2)", Law("gamma", 6, 2)),
        ("lognormal(sigma=0.8, median=1h)", Law("lognormal", 3600 * math.exp(0.32), 0.8)),
        ("Log-normal(sigma=0.5, mean=2h)", Law("lognormal", 7200, 0.5)),
        ("lognormal(mean=10, sd=5)", Law("lognormal", 10, math.sqrt(math.log(1.25)))),
        ("fixed(5)", Law("fixed", 5)),
        ("90s", Law("fixed", 90)),
        ("0", Law("fixed", 0)),
    ],
)
def test_text_is_read_and_written_back(text, law):
    assert Law.parse(text) == law
    assert Law.parse(str(law)) == law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("weibul(shape=1, mean=3)", "did you mean 'weibull'"),
        ("weibull(mean=3d)", "doesn't determine a law.*weibull"),
        ("weibull(shape=0, mean=3d)", "shape is a number above 0, got 0"),
        ("weibull(shape=-1, scale=3d)", "shape is a number above 0"),
        ("exponential(mean=0)", "mean is a number above 0"),
        ("exponential(mean=soon)", "'soon' in .* neither a duration"),
        ("gamma(mean=1, mean=2)", "given twice"),
        ("lognormal(sigma=wide, mean=1)", "'wide' in .* is not a number"),
        ("gamma(mean=1e-300, sd=1e300)", "sd / mean of a gamma law is from 3.2e-05 to 1000"),
        ("gamma(mean=1, sd=1e-6)", "sd / mean of a gamma law .* got 1e-06"),
        ("gamma(mean=0, sd=1)", "mean is a number above 0, got 0"),
        ("lognormal(mean=1e-300, sd=1e300)", "sd / mean of a lognormal law"),
        ("often", "neither a duration .* nor a law"),
    ],
)
def test_what_is_no_law_is_refused(text, message):
    with pytest.raises(SimulationError, match=message):
        Law.parse(text)


@pytest.mark.parametrize(
    ("law", "variance"),
    [
        (Law("exponential", 5), 25),
        (Law("weibull", 5, 0.7), 25 * (math.gamma(1 + 2 / 0.7) / math.gamma(1 + 1 / 0.7) ** 2 - 1)),
        (Law("gamma", 5, 2), 12.5),
        (Law("lognormal", 5, 0.5), 25 * (math.exp(0.25) - 1)),
    ],
)
def test_draws_have_the_mean_and_the_spread(law, variance):
    """Mean and variance within 4 standard errors: a right law fails one time in 16 000."""
    sample = law.draw(200_000, np.random.default_rng(6))
    assert abs(sample.mean() - law.mean) < 4 * math.sqrt(variance / sample.size)
    fourth = np.mean((sample - sample.mean()) ** 4)
    assert abs(sample.var() - variance) < 4 * math.sqrt(fourth / sample.size)
    assert sample.min() >= 0


def test_every_kind_can_be_drawn_with_the_seed_alone():
    for kind in KINDS:
        law = Law(kind, 3.0)
        first, again = (law.draw(5, np.random.default_rng(1)) for _ in range(2))
        assert first.tolist() == again.tolist()
    assert Law("fixed", 3.0).draw(2, np.random.default_rng(1)).tolist() == [3.0, 3.0]


def test_anything_that_draws_is_a_law():
    class Mine:
        def draw(self, count, rng):
            return np.ones(count)

    mine = Mine()
    assert Law.of(mine) is mine
    assert Law.of(3) == Law("fixed", 3)
    assert Law.of("3m") == Law("fixed", 180)
    with pytest.raises(SimulationError, match="is no law"):
        Law.of(None)

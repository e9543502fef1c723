"""Speed-up laws against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from onega import AmdahlSpeedup, DowneySpeedup, SimulationError
from onega.core.machine.speedup import parse_speedup, widths_on_offer


def test_amdahl():
    law = AmdahlSpeedup(0.1)
    assert law.speedup([1, 2, 10]).tolist() == [1, 1 / 0.55, 1 / (0.1 + 0.09)]
    assert AmdahlSpeedup(0).speedup(64) == 64
    assert AmdahlSpeedup(1).speedup(64) == 1


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0, 2.5])
def test_downey_begins_at_1_grows_without_jumps_and_ends_at_the_parallelism(sigma):
    law = DowneySpeedup(40, sigma)
    n = np.linspace(1, 400, 20_000)
    speedup = law.speedup(n)
    assert speedup[0] == pytest.approx(1)
    assert speedup[-1] == 40
    assert np.all(np.diff(speedup) >= -1e-12)
    assert np.abs(np.diff(speedup)).max() <= 1.001 * (n[1] - n[0])
    assert np.all(speedup <= np.minimum(n, 40) + 1e-9)


def test_downey_without_variance_is_linear_and_at_one_both_branches_agree():
    assert DowneySpeedup(16, 0).speedup([1, 8, 16, 32]).tolist() == [1, 8, 16, 16]
    n = np.arange(1, 100)
    below, above = (DowneySpeedup(16, s).speedup(n) for s in (1 - 1e-12, 1.0))
    np.testing.assert_allclose(below, above, rtol=1e-9)


def test_widths():
    assert widths_on_offer(AmdahlSpeedup(0.1), 100) == [1, 2, 4, 8, 16, 32, 64]
    assert widths_on_offer(AmdahlSpeedup(0.1), 64)[-1] == 64
    assert widths_on_offer(AmdahlSpeedup(0.1, widths=(8, 3, 200)), 100) == [3, 8]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AmdahlSpeedup(1.5), "serial share is from 0 to 1"),
        (lambda: AmdahlSpeedup(0.5, widths=(0,)), "a width is at least 1"),
        (lambda: DowneySpeedup(0.5, 1), "average parallelism is at least 1"),
        (lambda: DowneySpeedup(5, -1), "sigma is at least 0"),
        (lambda: parse_speedup("amdahl(1.5)"), "serial share is from 0 to 1"),
        (lambda: parse_speedup("amdahl(0.1, 2)"), "not a speed-up law: 'amdahl"),
        (lambda: parse_speedup("downey(16)"), "not a speed-up law"),
        (lambda: parse_speedup("downey(16, most=4)"), "not a speed-up law"),
        (lambda: parse_speedup("amdahl(0.1, most=0)"), "most is at least 1"),
        (lambda: parse_speedup("amdahl(0.1, most=few)"), "not a speed-up law"),
        (lambda: parse_speedup("amdahl(most=4)"), "not a speed-up law"),
        (lambda: parse_speedup("amdahl(x)"), "accepted: amdahl"),
        (lambda: parse_speedup("gustafson(0.1)"), "not a speed-up law"),
    ],
)
def test_what_is_no_law(make, message):
    with pytest.raises(SimulationError, match=message):
        make()


def test_laws_are_read_from_texts():
    assert parse_speedup("amdahl(0.05)") == AmdahlSpeedup(0.05)
    assert parse_speedup(" downey( 16, 1.5 ) ") == DowneySpeedup(16, 1.5)
    assert parse_speedup("amdahl(0.05, most=20)") == AmdahlSpeedup(0.05, (1, 2, 4, 8, 16))
    assert parse_speedup("downey(16,1,most = 1)") == DowneySpeedup(16, 1, (1,))

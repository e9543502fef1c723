"""Width distributions: texts, logs, moments, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import poisson

from onega import Workload
from onega.core.errors import QueueingError
from onega.queueing.constant import fewest_servers, stability_constant
from onega.queueing.widths import SPECS, Widths


def test_every_example_is_read():
    for text in SPECS:
        law = Widths.parse(text)
        assert math.fsum(law.probs) == pytest.approx(1, abs=1e-15)
        assert law.name == text


def test_texts_mean_what_they_say():
    assert Widths.parse("fixed:4").values.tolist() == [4]
    assert Widths.parse("0.2,0,0.8").values.tolist() == [1, 3]
    assert Widths.parse("list: 8:0.25, 1:0.75").probs.tolist() == [0.75, 0.25]
    assert Widths.parse("1:0.5,2:0.5").mean == 1.5
    assert Widths.parse("uniform:3-5").values.tolist() == [3, 4, 5]
    assert Widths.parse("geometric:0.75").mean == pytest.approx(4, rel=1e-14)


def test_poisson_widths_are_conditioned_on_being_positive():
    law = Widths.parse("poisson:2.5")
    assert law.mean == pytest.approx(2.5 / (1 - math.exp(-2.5)), rel=1e-14)
    assert law.probs[:5] == pytest.approx(poisson.pmf(range(1, 6), 2.5) / (1 - math.exp(-2.5)))
    assert law.cut < 1e-15


def test_moments_tails_and_generating_function():
    law = Widths.of({1: 0.5, 2: 0.25, 5: 0.25})
    assert law.mean == 2.25
    assert law.tails().tolist() == [1, 0.5, 0.25, 0.25, 0.25]
    assert law.tails(7).tolist() == [1, 0.5, 0.25, 0.25, 0.25, 0, 0]
    assert law.tails(2).tolist() == [1, 0.5]
    assert law.pgf(0.5) == 0.5 * 0.5 + 0.25 * 0.25 + 0.25 / 32
    assert law.pgf(1.0) == 1
    assert law.pgf(0.0) == 0


def test_a_log_gives_its_own_widths():
    log = Workload(
        {"submit": [0, 1, 2, 3, 4], "runtime": [5, 5, 0, 5, None], "procs": [2, 2, 9, 4, 3]}
    )
    law = Widths.of(log)
    assert law.values.tolist() == [2, 4]
    assert law.probs == pytest.approx([2 / 3, 1 / 3])


def test_slightly_wrong_sums_are_scaled():
    law = Widths.of([0.3333333, 0.3333333, 0.3333333])
    assert math.fsum(law.probs) == pytest.approx(1, abs=1e-15)


def test_arrays_are_read_only():
    law = Widths.of([0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        law.probs[0] = 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("fxed:4", "did you mean 'fixed'"),
        ("fixed:0", "whole number from 1"),
        ("fixed:2.5", "whole number from 1"),
        ("fixed:1e19", "at most 1.15292e"),
        ("fixed:x", "not a number"),
        ("geometric:1", "between 0 and 1"),
        ("geometric:0.9999999", "reaches too far"),
        ("poisson:-1", "positive"),
        ("uniform:0", "uniform:16"),
        ("1:0.5,0.5", "not understood"),
        ("list:", "not understood"),
        ("1:0.5,1:0.5", "given twice"),
        ("0.5,nan", "from 0 to 1"),
        ([], "at least one"),
        ({}, "at least one"),
        (np.ones((2, 2)) / 4, "at least one"),
        (Workload({"submit": [0.0], "runtime": [0.0], "procs": [1]}), "no job"),
    ],
)
def test_refusals(given, words):
    with pytest.raises(QueueingError, match=words):
        Widths.of(given)


def test_infinite_laws_are_cut_where_the_machine_ends():
    law = Widths.parse("geometric:0.5")
    assert law.within(60).widest == 60
    assert math.fsum(law.within(60).probs) == pytest.approx(1, abs=1e-15)
    assert law.within(10) is law  # one job in a thousand is wider: that must be said
    listed = Widths.of([0.5, 0.5])
    assert listed.within(1) is listed
    assert stability_constant(law, 60).value == pytest.approx(0.0339188929801938, rel=1e-13)
    with pytest.raises(QueueingError, match="can never start"):
        stability_constant(law, 10)


def test_sizing_ignores_what_never_comes():
    law = Widths.parse("geometric:0.5")
    trimmed = law.trimmed()
    assert 0.5**trimmed.widest <= 1e-9 < 0.5 ** (trimmed.widest - 1)
    assert fewest_servers(law, 1.0) == trimmed.widest == 30
    assert Widths.of([0.5, 0.5]).trimmed().widest == 2

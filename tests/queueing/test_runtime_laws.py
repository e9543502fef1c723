"""C for other laws of run times: twins in fractions, the chain, batches, and saturation."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.core.errors import QueueingError
from onega.experiment.stability.saturation import saturated_throughput
from onega.queueing.constant import stability_constant
from onega.queueing.runtime_laws import EXAMPLES, RuntimeLaw
from onega.queueing.saturated import fewest_servers_for_law, law_constant
from onega.queueing.widths import Widths
from reference.stability import (
    constant_enumerated,
    constant_partitions,
    fixed_constant_fraction,
    sides_of_eight,
    two_server_constant,
)

HALVES = [0.5, 0.5]
HYPER = "hyperexponential(0.9:0.1, 0.1:9.1)"
SURE = 0.9999


def erlang(phases):
    zero, rate = F(0), F(phases)
    rows = [[-rate if i == j else rate if j == i + 1 else zero for j in range(phases)]
            for i in range(phases)]  # fmt: skip
    return [F(1)] + [zero] * (phases - 1), rows


def test_three_laws_three_constants():
    """The criterion isn't the same for every law, contrary to what Rumyantsev conjectures."""
    assert law_constant(HALVES, 2, "exponential") == pytest.approx(7 / 8, rel=1e-13)
    assert law_constant(HALVES, 2, "fixed") == pytest.approx(5 / 6, rel=1e-13)
    exact = two_server_constant([F(9, 10), F(1, 10)], [[F(-10), F(0)], [F(0), F(-10, 91)]])
    assert law_constant(HALVES, 2, HYPER) == pytest.approx(float(exact), rel=1e-12)
    assert round(float(exact), 3) == 0.964


def test_the_exponential_twin_is_the_paper_s_seven_eighths():
    assert two_server_constant([F(1)], [[F(-1)]]) == F(7, 8)
    assert fixed_constant_fraction({1: F(1, 2), 2: F(1, 2)}, 2) == F(5, 6)


@pytest.mark.parametrize("phases", [2, 3, 4])
def test_erlang_is_the_twin(phases):
    exact = two_server_constant(*erlang(phases))
    assert law_constant(HALVES, 2, f"erlang({phases})") == pytest.approx(float(exact), rel=1e-12)
    assert phases != 2 or exact == F(55, 64)


def test_erlang_falls_to_the_constant_law():
    found = [law_constant(HALVES, 2, f"erlang({k})") for k in (1, 2, 4, 8, 16, 32)]
    assert found[0] == pytest.approx(7 / 8)
    assert all(a > b > 5 / 6 for a, b in pairwise(found))
    assert found[-1] - 5 / 6 < 0.006


@pytest.mark.parametrize("law", [HYPER, "hyperexponential(cv2=4)", "erlang(3)", "fixed"])
@pytest.mark.parametrize(("widths", "procs"), [([0.5, 0.5], 2), ({1: 0.5, 3: 0.3, 4: 0.2}, 6)])
def test_the_saturated_simulation_agrees(law, widths, procs):
    """8 intervals at 99.99 %: a false alarm once in a thousand."""
    exact = law_constant(widths, procs, law)
    found = saturated_throughput(
        widths, procs, law=law, precision=0.02, confidence=SURE, rng=3, jobs=2000
    )
    assert found.low <= (1 / exact) * (1 + 1e-9)
    assert found.high >= (1 / exact) * (1 - 2e-3)  # constant run times: no spread, an end effect


@given(
    st.dictionaries(st.integers(1, 4), st.integers(1, 9), min_size=1, max_size=3),
    st.integers(4, 8),
)
@settings(max_examples=40)
def test_constant_run_times_are_batches(weights, servers):
    total = sum(weights.values())
    probs = {k: F(w, total) for k, w in weights.items()}
    exact = fixed_constant_fraction(probs, servers)
    found = law_constant({k: float(p) for k, p in probs.items()}, servers, "fixed")
    assert found == pytest.approx(float(exact), rel=1e-11)


@given(
    st.dictionaries(st.integers(1, 4), st.integers(1, 9), min_size=1, max_size=3),
    st.integers(4, 6),
)
@settings(max_examples=25)
def test_the_chain_with_one_phase_is_the_formula(weights, servers):
    total = sum(weights.values())
    probs = {k: w / total for k, w in weights.items()}
    exact = stability_constant(probs, servers).value
    assert law_constant(probs, servers, "exponential") == pytest.approx(exact, rel=1e-10)
    # Two phases of equal rates are one: the same law, another chain.
    same = RuntimeLaw.phase_type([0.3, 0.7], [[-1.0, 0.0], [0.0, -1.0]], "twice")
    assert law_constant(probs, servers, same) == pytest.approx(exact, rel=1e-9)


def test_one_width_that_fills_the_machine_has_no_law():
    for law in ("fixed", "erlang(2)", HYPER):
        assert law_constant({2: 1.0}, 4, law) == pytest.approx(0.5, rel=1e-12)


def squared_variation(law):
    """Squared coefficient of variation of a phase-type law of mean 1: 2·α·T⁻²·1 − 1."""
    ones = np.ones(law.start.size)
    return 2 * law.start @ np.linalg.solve(law.generator, np.linalg.solve(law.generator, ones)) - 1


@pytest.mark.parametrize("text", EXAMPLES)
def test_laws_have_mean_one(text):
    law = RuntimeLaw.parse(text)
    drawn = law.draw(200_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(1.0, abs=4 * drawn.std() / np.sqrt(drawn.size) + 1e-12)
    if law.start is not None:
        assert drawn.var() == pytest.approx(squared_variation(law), rel=0.1)
    assert squared_variation(law) == pytest.approx(4) if "cv2=4" in text else True


def test_the_longest_erlang_law():
    """Its determinant is no number any more: 200²⁰⁰."""
    assert squared_variation(RuntimeLaw.parse("erlang(200)")) == pytest.approx(1 / 200)


def test_a_general_phase_type_law_is_drawn_as_it_is():
    """Coxian: a second phase with probability 1/2; moments from the matrix."""
    law = RuntimeLaw.phase_type([1.0, 0.0], [[-2.0, 1.0], [0.0, -0.5]], "coxian")
    drawn = law.draw(200_000, np.random.default_rng(2))
    assert drawn.mean() == pytest.approx(1.0, abs=4 * drawn.std() / np.sqrt(drawn.size))
    assert drawn.var() == pytest.approx(squared_variation(law), rel=0.05)


def test_min_procs_of_a_law_is_where_the_answer_turns():
    law = Widths.of({1: 0.5, 3: 0.5})
    for text in ("fixed", "erlang(2)"):
        shape = RuntimeLaw.of(text)
        fewest = fewest_servers_for_law(law, 4.0, shape)
        assert 4.0 * law_constant(law, fewest, shape) < 1
        assert 4.0 * law_constant(law, fewest - 1, shape) >= 1
    found = onega.stability(law, procs=8, arrival_rate=4, mean_runtime=1, law="fixed")
    assert found.min_procs == fewest_servers_for_law(law, 4.0, RuntimeLaw.of("fixed"))


def test_where_no_chain_is_small_enough_it_is_measured():
    found = onega.stability("uniform:30", procs=64, law="erlang(3)", precision=0.05, rng=1)
    assert found.constant.method == "saturation"
    assert stability_constant("uniform:30", 64).value > found.C
    other = onega.stability(HALVES, procs=2, law="lognormal(sigma=1)", precision=0.05, rng=1)
    assert other.constant.method == "saturation"
    assert other.law == "lognormal(sigma=1)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("erlan(2)", "did you mean 'erlang'"),
        ("erlang(0)", "1 to"),
        ("erlang(1.5)", "1 to"),
        ("hyperexponential(0.5, 2)", "PROBABILITY:MEAN"),
        ("hyperexponential(0.5:1, 0.4:2)", "sum to 1"),
        ("hyperexponential(0.5:1, 0.5:-2)", "positive"),
        ("hyperexponential(0.5:1, 0.5:1e-320)", "positive, from 1e-09"),
        ("hyperexponential(cv2=0.5)", "cv2 from 1"),
        ("hyperexponential(cv2=x)", "not understood"),
        ("weibull(mean=2)", "doesn't determine"),
        ("7", "not known"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(QueueingError, match=words):
        RuntimeLaw.parse(text)


def test_a_law_needs_method_exact_or_saturation():
    with pytest.raises(QueueingError, match="for exponential run times"):
        onega.stability(HALVES, procs=2, law="fixed", method="montecarlo")
    with pytest.raises(QueueingError, match="no phase-type law"):
        law_constant(HALVES, 2, "lognormal(sigma=1)")


LAWS = (
    {1: F(1, 2), 2: F(1, 2)},
    {1: F(1, 3), 2: F(1, 6), 3: F(1, 2)},
    {2: F(1, 4), 3: F(3, 4)},
    {1: F(1, 5), 4: F(4, 5)},
)


@pytest.mark.parametrize("probs", LAWS)
@pytest.mark.parametrize("servers", [4, 5])
def test_nine_as_printed_is_four_and_eight_lacks_one_over_the_sum(probs, servers):
    """The erratum of Rumyantsev (2014), by enumeration in exact fractions."""
    assert constant_partitions(probs, servers) == constant_enumerated(probs, servers)
    sides = sides_of_eight(probs, servers)
    assert sum((left for left, _ in sides.values()), F(0)) == constant_enumerated(probs, servers)
    for counts, (left, right) in sides.items():
        assert left == right / sum(counts)
    assert any(left != right for left, right in sides.values())

"""The simulator against its naive twin: equal numbers, not nearly equal ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference.schedulers import Control
from simulation.cases import (
    CONTROLS,
    POLICIES,
    Case,
    check,
    compare,
    random_case,
    random_control,
    rate_changes,
)

TIES = ["instant", "event"]
FEW, MANY = 12, 120


def run_cases(policy, ties, control, count, first=0):
    order, backfill = policy
    compared = 0
    for seed in range(first, first + count):
        case = random_case(seed, order, backfill, ties, control)
        try:
            compared += check(case)
        except AssertionError:
            print(case)
            raise
    # Few cases may drop out for want of digits, or nothing would be shown.
    assert compared >= 0.8 * count


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy[0]}+{policy[1]}")
def test_equal(policy, ties, control):
    run_cases(policy, ties, control, FEW)


@pytest.mark.verification
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy[0]}+{policy[1]}")
def test_equal_many(policy, ties, control):
    run_cases(policy, ties, control, MANY, first=10_000)


@st.composite
def cases(draw) -> Case:
    """The same space as `random_case`, for hypothesis to search and to shrink."""
    order, backfill = draw(st.sampled_from(POLICIES))
    kind = draw(st.sampled_from(CONTROLS))
    scale = 60**3 if kind == "workload" else 1
    machine = draw(st.integers(1, 5))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 2),
                st.integers(1, 8),
                st.one_of(st.none(), st.integers(1, 12)),
                st.integers(1, machine),
            ),
            min_size=1,
            max_size=20,
        )
    )
    gaps, runtime, estimate, procs = zip(*rows)
    submit = [scale * sum(gaps[: i + 1]) for i in range(len(gaps))]
    return Case(
        submit,
        [scale * value for value in runtime],
        list(procs),
        [None if value is None else scale * value for value in estimate],
        machine,
        order,
        backfill,
        draw(st.sampled_from(TIES)),
        random_control(np.random.default_rng(draw(st.integers(0, 99))), kind, scale),
        draw(st.sampled_from(["estimate", "runtime"])),
        draw(st.booleans()),
        draw(st.integers(0, 9)),
    )


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_equal_shrinking(case):
    check(case)


@pytest.mark.verification
@settings(max_examples=4000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_equal_shrinking_many(case):
    check(case)


@pytest.mark.parametrize("control", ["none", "queue"])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(
    "policy",
    [("fcfs", None), ("fcfs", "easy"), ("spf", "conservative"), ("xf", "easy"), ("lcfs-pr", None)],
)
def test_times_of_1e12_seconds(policy, ties, control):
    """As late as a log may be; halves of the scale, and sums, are exact."""
    scale = 10**10
    for seed in range(10):
        small = random_case(seed, *policy, ties, control)
        times = {
            name: [None if value is None else scale * value for value in getattr(small, name)]
            for name in ("runtime", "estimate")
        }
        # no job is submitted much later than the first, which keeps all sums below 2^53
        submit = [scale * (value - min(small.submit)) for value in small.submit]
        case = dataclasses.replace(small, submit=submit, **times)
        compare(case, case.run(), case.twin())


# -- rates that floats can't hold, times that don't tie


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize(
    "policy",
    [(o, b) for o in ("fcfs", "spf", "dynamic") for b in (None, "easy", "conservative")]
    + [("lcfs-pr", None), ("spf-pr", None), ("lpf-pr", None)],
    ids=lambda policy: f"{policy[0]}+{policy[1]}",
)
def test_rates_of_the_2018_paper(policy, control):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, machine = 15, 4
        runtime = rng.exponential(10.0, n)
        thresholds = {"queue": ((2,), (4,)), "workload": ((20.0,), (45.0,))}
        k_low, k_high = thresholds.get(control, ((), ()))
        case = Case(
            np.cumsum(rng.exponential(4.0, n)).tolist(),
            runtime.tolist(),
            rng.integers(1, machine + 1, n).tolist(),
            (runtime * rng.uniform(0.7, 2.0, n)).tolist(),
            machine,
            *policy,
            ("instant", "event")[seed % 2],
            Control(
                control, (2.0, 2.66) if control != "none" else (2.66,), k_low, k_high, 0.4, 0.6
            ),
            seed=seed,
        )
        schedule, out = case.run(), case.twin()
        np.testing.assert_allclose(schedule.start, out.start, rtol=1e-9)
        np.testing.assert_allclose(schedule.end, out.end, rtol=1e-9)
        changes = rate_changes(out, case.submit[0])
        np.testing.assert_allclose(schedule.rates.since, [t for t, _ in changes], rtol=1e-9)
        assert schedule.rates.level.tolist() == [level for _, level in changes]

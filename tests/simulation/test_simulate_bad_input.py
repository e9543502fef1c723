"""What can't be simulated is refused by name: the jobs, or the argument, and what is accepted."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import onega
from onega import Cluster, Policy, Power, RateControl, SimulationError, Workload
from onega.core.errors import OnegaWarning
from onega.core.policy import Priority


def log(**columns) -> Workload:
    table = {"submit": [0.0, 1.0, 2.0], "runtime": [5.0, 5.0, 5.0], "procs": [1, 2, 3]}
    return Workload({**table, **columns})


# -- jobs


@pytest.mark.parametrize(
    ("columns", "message", "jobs"),
    [
        ({"procs": [1, 9, 8]}, "2 of 3 jobs .* wider than the machine of 4 processors", (2, 3)),
        ({"runtime": [5.0, 0.0, 5.0]}, "run times must be positive", (2,)),
        ({"runtime": [5.0, 5.0, -1.0]}, "run times must be positive", (3,)),
        ({"runtime": [None, 5.0, 5.0]}, "run times must be positive", (1,)),
        ({"procs": [1, None, 1]}, "widths must be at least 1", (2,)),
        ({"procs": [1, 1, 0]}, "widths must be at least 1", (3,)),
        ({"job": [70, 80, 90], "procs": [1, -2, 1]}, "widths .*job 80", (80,)),
    ],
)
@pytest.mark.parametrize("policy", ["fcfs", "easy", "lcfs-pr"])
def test_jobs_that_cannot_run(columns, message, jobs, policy):
    with pytest.raises(SimulationError, match=message) as caught:
        onega.simulate(log(**columns), 4, policy)
    assert caught.value.jobs == jobs
    assert str(jobs[0]) in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_an_empty_workload():
    empty = Workload({"submit": [], "runtime": [], "procs": []})
    with pytest.raises(SimulationError, match="no jobs"):
        onega.simulate(empty, 4, "easy")


# -- policy


@pytest.mark.parametrize(
    ("policy", "nearest"),
    [
        ("fcsf", "fcfs"),
        ("esay", "easy"),
        ("conservativ", "conservative"),
        ("spf+esay", "easy"),
        ("fcfs+conservatve", "conservative"),
        ("lcfs_pr", "lcfs-pr"),
        ("unicf", "unicef"),
        ("wpf3+easy", "wfp3"),
    ],
)
def test_a_misspelt_policy(policy, nearest):
    with pytest.raises(SimulationError, match=f"did you mean '{nearest}'") as caught:
        onega.simulate(log(), 4, policy)
    assert policy in str(caught.value)
    assert "accepted: " in str(caught.value)


@pytest.mark.parametrize("policy", ["", "+easy", "fcfs+", "quantum-annealing"])
def test_no_policy_at_all(policy):
    with pytest.raises(SimulationError, match="unknown"):
        onega.simulate(log(), 4, policy)


@pytest.mark.parametrize("order", ["lcfs-pr", "spf-pr", "lpf-pr"])
@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_preemptive_orders_take_no_backfilling(order, backfill):
    with pytest.raises(SimulationError, match=f"{order} preempts"):
        onega.simulate(log(), 4, f"{order}+{backfill}")


def test_backfilling_as_printed_in_2018_is_for_fcfs_on_a_plain_machine():
    assert str(Policy.parse("easy-2018")) == "fcfs+easy-2018"
    with pytest.raises(SimulationError, match="first come, first served alone"):
        Policy.parse("spf+easy-2018")
    with pytest.raises(SimulationError, match="doesn't know 'easy-2018'"):
        onega.simulate(log(), onega.Cluster(4, overheads=onega.Overheads(1)), "easy-2018")


def test_text_forms():
    assert Policy.parse("easy") == Policy("fcfs", "easy") == Policy.parse(" FCFS + EASY ")
    assert Policy.parse("conservative") == Policy("fcfs", "conservative")
    assert str(Policy.parse("sjf+easy")) == "spf+easy"
    assert str(Policy("wfp3")) == "wfp3"
    assert not Policy("fcfs").preemptive
    assert Policy("spf-pr").preemptive
    for policy in ("fcfs", "spf+easy", "f4+conservative", "lpf-pr"):
        assert str(Policy.parse(policy)) == policy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "instnat"}, "unknown ties 'instnat'; did you mean 'instant'"),
        ({"ties": None}, "unknown ties"),
        ({"knowledge": "estimates"}, "unknown knowledge 'estimates'; did you mean 'estimate'"),
        ({"rng": -1, "rates": RateControl("random", rates=(1, 2), p_high=0.5)}, "rng must be"),
    ],
)
def test_misspelt_options(options, message):
    with pytest.raises(ValueError, match=message):
        onega.simulate(log(), 4, "easy", **options)


# -- the machine


@pytest.mark.parametrize("procs", [0, -1, 2.5, True, float("nan")])
def test_no_machine(procs):
    with pytest.raises(ValueError):
        Cluster(procs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_low": 5, "k_high": 3}, "k_low must not exceed k_high, got 5 > 3"),
        ({"k_low": -1, "k_high": 3}, "k_low must not be negative"),
        ({"k_low": (1, 2), "k_high": (3, 4)}, "2 rates need 1 k_low and 1 k_high, got 2 and 2"),
        ({}, "2 rates need 1 k_low and 1 k_high, got 0 and 0"),
        ({"k_low": math.nan, "k_high": 3}, "k_low must be numbers"),
        ({"rates": (2, 1), "k_low": 1, "k_high": 3}, "rate_low < rate_high"),
        ({"rates": (2, 2), "k_low": 1, "k_high": 3}, "rate_low < rate_high"),
        ({"rates": (0, 2), "k_low": 1, "k_high": 3}, "rates must be positive"),
        ({"rates": (-1, 2), "k_low": 1, "k_high": 3}, "rates must be positive"),
        ({"rates": (1, math.inf), "k_low": 1, "k_high": 3}, "rates must be positive"),
        ({"rates": (1, 2, 3), "k_low": (2, 1), "k_high": (3, 4)}, "k_low must not decrease"),
        ({"rates": (1, 2, 3), "k_low": (1, 2), "k_high": (5, 4)}, "k_high must not decrease"),
    ],
)
@pytest.mark.parametrize("kind", ["queue", "workload"])
def test_rate_control(kind, options, message):
    with pytest.raises(SimulationError, match=message):
        RateControl(kind, **{"rates": (1, 2), **options})


@pytest.mark.parametrize("name", ["p_low", "p_high"])
@pytest.mark.parametrize("chance", [-0.1, 1.1, math.nan])
def test_chances(name, chance):
    with pytest.raises(SimulationError, match=f"{name} is a probability"):
        RateControl("random", rates=(1, 2), **{name: chance})


def test_unknown_control():
    with pytest.raises(SimulationError, match="did you mean 'queue'"):
        RateControl("queu", rates=(1, 2), k_low=1, k_high=2)


def test_power():
    with pytest.warns(OnegaWarning, match="busy power 1 is below idle power 2"):
        Power(1.0, 2.0)
    with pytest.warns(OnegaWarning, match="busy power 3 is below idle power 5"):
        Power((4.0, 3.0), (1.0, 5.0))
    for bad in (-1.0, math.inf, math.nan, ()):
        with pytest.raises(SimulationError, match="busy power"):
            Power(bad)
    with pytest.raises(
        SimulationError, match="busy power needs one number or one for each of the 2"
    ):
        Cluster(4, RateControl("random", rates=(1, 2)), Power((1, 2, 3)))


def test_power_below_idle_still_runs():
    with pytest.warns(OnegaWarning):
        power = Power(1.0, 2.0)
    assert onega.simulate(log(), 4, "easy", power=power).summary()["energy"] > 0


# -- a user's own order


def nobody(now, submit, estimate, procs):
    return 1.0 / (procs - procs)


def undefined(now, submit, estimate, procs):
    return math.nan if procs == 2 else submit


def wordy(now, submit, estimate, procs):
    return {"first": submit}["first"] + len(open("nothing").read())


def textual(now, submit, estimate, procs):
    return "soon"


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("backfill", [None, "easy", "conservative"])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (nobody, r"'nobody' raised ZeroDivisionError.*submit=0, estimate=5, procs=1"),
        (undefined, r"'undefined' returned nan at .*submit=1, estimate=5, procs=2"),
        (wordy, "'wordy' can't be compiled"),
        (textual, "'textual' can't be compiled"),
    ],
)
def test_a_function_that_fails(function, message, backfill, static):
    policy = Policy(Priority(function, static=static), backfill)
    with pytest.raises(SimulationError, match=message) as caught:
        onega.simulate(log(), 4, policy)
    assert "\n" not in str(caught.value)


MATH = ("atan2", "copysign", "hypot", "pow", "ldexp", "nextafter", "gamma", "erf", "comb", "dist")


@pytest.mark.parametrize("name", MATH)
def test_functions_of_math_work_or_are_refused_in_one_line(name):
    """Those that the compiler knows give the order of the same function in Python."""
    scope = {"math": math}
    two = {"ldexp": "(procs, 3)", "gamma": "(procs)", "erf": "(procs)"}.get(name, "(procs, submit)")
    exec(f"def own(now, submit, estimate, procs):\n    return -1.0 * math.{name}{two}", scope)
    wanted = log(submit=[0.0, 1.0, 2.0, 3.0], procs=[4, 2, 3, 4], runtime=[9.0] * 4)
    if name in ("comb", "dist"):
        with pytest.raises(SimulationError, match=f"can't be compiled.*{name}") as caught:
            onega.simulate(wanted, 4, scope["own"])
        assert "\n" not in str(caught.value)
        return
    start = onega.simulate(wanted, 4, scope["own"]).start
    worth = [scope["own"](9.0, at, 9.0, width) for at, width in ((1.0, 2), (2.0, 3), (3.0, 4))]
    assert np.argmin(start[1:]) == np.argmin(worth)


def test_a_function_that_fails_late():
    def moody(now, submit, estimate, procs):
        if now > 3:
            raise ValueError("too late")
        return submit

    with pytest.raises(SimulationError, match=r"'moody' raised ValueError\('too late'\) at now=5"):
        onega.simulate(log(procs=[4, 4, 4]), 4, moody)


@pytest.mark.parametrize(
    "function",
    [
        lambda: 0.0,
        lambda now: now,
        lambda now, submit, estimate: now,
        lambda now, submit, estimate, procs, more: now,
    ],
)
def test_a_function_of_other_arguments(function):
    with pytest.raises(SimulationError, match="takes four arguments"):
        onega.simulate(log(), 4, function)


def test_a_priority_that_is_no_function():
    with pytest.raises(SimulationError, match="must be a function"):
        Priority(3.0)
    with pytest.raises(SimulationError, match="function"):
        onega.simulate(log(), 4, 17)


def test_whole_numbers_and_infinity_are_keys():
    def by_width(now, submit, estimate, procs):
        return math.inf if procs == 3 else int(procs)

    schedule = onega.simulate(log(submit=[0.0] * 3, procs=[3, 4, 2]), 4, by_width)
    assert schedule.start.tolist() == [10.0, 5.0, 0.0]
    assert "by_width" in repr(schedule)

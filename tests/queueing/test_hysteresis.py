"""A rate that follows the queue: M/M/c where rates are equal, birth and death, simulations."""

from __future__ import annotations

import json

import numpy as np
import pytest

import onega
from onega.cli.app import main
from onega.core.errors import QueueingError

POWER = onega.Power((2.0, 5.0), (1.0, 1.5))


@pytest.mark.parametrize(
    ("widths", "procs", "rate"),
    [([1.0], 4, 3.0), ({1: 0.5, 2: 0.3, 4: 0.2}, 4, 1.0), ({1: 0.7, 3: 0.3}, 5, 1.6)],
)
def test_equal_rates_are_a_plain_queue(widths, procs, rate):
    # rates must increase: so nearly equal that it doesn't show
    control = onega.RateControl("queue", rates=(1.0, 1.0 + 1e-13), k_low=2, k_high=4)
    result = onega.hysteresis(
        widths, procs=procs, arrival_rate=rate, mean_runtime=1.0, rates=control, power=POWER
    )
    plain = onega.waiting(widths, procs=procs, arrival_rate=rate, mean_runtime=1.0)
    for name in ("mean_jobs", "mean_waiting", "mean_wait", "mean_response", "mean_busy"):
        assert getattr(result, name) == pytest.approx(getattr(plain, name), rel=1e-8)
    alone = onega.RateControl("none", rates=(1.0,))
    one = onega.hysteresis(
        widths, procs=procs, arrival_rate=rate, mean_runtime=1.0, rates=alone, power=onega.Power(3)
    )
    assert one.mean_jobs == pytest.approx(plain.mean_jobs, rel=1e-8)
    assert one.mean_power == pytest.approx(3 * plain.mean_busy, rel=1e-8)
    assert one.rate_changes == 0


def birth_and_death(procs, lam, mu, speeds, threshold):
    """One threshold k for both ways: the level is a function of N, and the chain a line."""
    share = [1.0]
    for n in range(1, 400):
        speed = speeds[n > threshold]
        share.append(share[-1] * lam / (min(n, procs) * mu * speed))
    share = np.array(share) / sum(share)
    n = np.arange(400)
    level = (n > threshold).astype(int)
    busy = np.minimum(n, procs)
    watts = busy * np.array([2.0, 5.0])[level] + (procs - busy) * np.array([1.0, 1.5])[level]
    return share @ n, share @ watts


@pytest.mark.parametrize(("procs", "lam", "k"), [(1, 0.9, 2), (3, 4.0, 3), (6, 7.5, 4)])
def test_one_threshold_is_birth_and_death(procs, lam, k):
    control = onega.RateControl("queue", rates=(1.0, 2.0), k_low=k, k_high=k)
    result = onega.hysteresis(
        [1.0], procs=procs, arrival_rate=lam, mean_runtime=1.0, rates=control, power=POWER
    )
    jobs, watts = birth_and_death(procs, lam, 1.0, (1.0, 2.0), k)
    assert result.mean_jobs == pytest.approx(jobs, rel=1e-10)
    assert result.mean_power == pytest.approx(watts, rel=1e-10)
    assert sum(result.time_at) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("widths", "procs", "lam", "control"),
    [
        ({1: 1.0}, 3, 3.5, onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=6)),
        (
            {1: 0.5, 2: 0.3, 4: 0.2},
            4,
            1.3,
            onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=5),
        ),
        (
            {1: 0.6, 3: 0.4},
            4,
            1.2,
            onega.RateControl("queue", rates=(0.5, 1.0, 2.0), k_low=(1, 3), k_high=(3, 7)),
        ),
    ],
    ids=["serial", "widths", "three rates"],
)
def test_simulations_agree(widths, procs, lam, control):
    """Twelve runs; |z| < 4 for five measures each (one wrong alarm in 1000 with 11 degrees)."""
    levels = len(control.rates)
    power = onega.Power(tuple(2.0 + 2 * np.arange(levels)), tuple(1.0 + 0.3 * np.arange(levels)))
    exact = onega.hysteresis(
        widths, procs=procs, arrival_rate=lam, mean_runtime=1.0, rates=control, power=power
    )
    expected = [exact.mean_power, exact.mean_jobs, exact.mean_wait, exact.mean_rate]
    found = []
    jobs = 40_000
    for seed in range(12):
        rng = np.random.default_rng(seed)
        log = onega.Workload(
            {
                "submit": np.cumsum(rng.exponential(1 / lam, jobs)),
                "runtime": rng.exponential(1.0, jobs) + 1e-12,
                "procs": rng.choice(list(widths), jobs, p=list(widths.values())),
            }
        )
        run = onega.simulate(log, onega.Cluster(procs, control, power), "fcfs").summary()
        names = ("mean_power", "mean_jobs_in_system", "mean_wait", "mean_rate")
        found.append([*(run[name] for name in names), run["rate_changes"] / run["makespan"]])
    found = np.array(found)
    z = (found.mean(axis=0) - [*expected, exact.rate_changes]) / (
        found.std(axis=0, ddof=1) / np.sqrt(len(found))
    )
    assert np.abs(z).max() < 4


def test_a_higher_threshold_keeps_more_jobs():
    def at(k_high):
        control = onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=k_high)
        return onega.hysteresis(
            [1.0], procs=4, arrival_rate=4.5, mean_runtime=1.0, rates=control, power=POWER
        )

    answers = [at(k) for k in (2, 4, 8, 16)]
    jobs = [answer.mean_jobs for answer in answers]
    changes = [answer.rate_changes for answer in answers]
    assert jobs == sorted(jobs)
    assert changes == sorted(changes, reverse=True)
    assert answers[0].to_polars()["share"].sum() == pytest.approx(1)


def test_refusals():
    control = onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=4)
    with pytest.raises(QueueingError, match="at most 8 are completed"):
        onega.hysteresis([1.0], procs=4, arrival_rate=8.0, mean_runtime=1.0, rates=control)
    work = onega.RateControl("workload", rates=(1.0, 2.0), k_low=2, k_high=4)
    with pytest.raises(QueueingError, match="by the queue"):
        onega.hysteresis([1.0], procs=4, arrival_rate=1.0, mean_runtime=1.0, rates=work)
    with pytest.raises(QueueingError, match="simulate"):
        onega.hysteresis([1.0], procs=4, arrival_rate=7.9999, mean_runtime=1.0, rates=control)


@pytest.mark.parametrize("name", ["arrival_rate", "mean_runtime"])
@pytest.mark.parametrize("value", [0, -1, 1e-320, 1e300, float("inf"), float("nan")])
def test_numbers_beyond_computing_are_refused(name, value):
    control = onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=4)
    given = {"arrival_rate": 1.0, "mean_runtime": 1.0, name: value}
    with pytest.raises(QueueingError, match=f"{name} must be a positive number.*, from 1e-"):
        onega.hysteresis([1.0], procs=4, rates=control, **given)


def test_one_event_may_pass_several_thresholds():
    """With equal thresholds the middle rate is never taken: the chain of the outer two."""
    three = onega.RateControl("queue", rates=(1.0, 1.5, 2.0), k_low=(2, 2), k_high=(4, 4))
    two = onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=4)
    given = {"procs": 3, "arrival_rate": 2.5, "mean_runtime": 1.0}
    all_three, outer = (onega.hysteresis([1.0], rates=one, **given) for one in (three, two))
    low, middle, high = all_three.time_at
    assert middle == 0
    assert (low, high) == pytest.approx(outer.time_at, rel=1e-10)
    assert all_three.mean_jobs == pytest.approx(outer.mean_jobs, rel=1e-10)


LINE = ["hysteresis", "--procs", "4", "--arrival-rate", "3", "--mean-runtime", "1"]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([*LINE, *arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def test_the_command(capsys):
    words = "--rates 1,2 --k-low 2 --k-high 5 --power-busy 2,5 --power-idle 1,1.5 --json"
    code, spoken, _ = run(capsys, *words.split())
    assert code == 0
    answer = json.loads(spoken)
    control = onega.RateControl("queue", rates=(1.0, 2.0), k_low=2, k_high=5)
    exact = onega.hysteresis(
        [1.0], procs=4, arrival_rate=3.0, mean_runtime=1.0, rates=control, power=POWER
    )
    assert answer["mean_power"] == exact.mean_power
    assert answer["mean_jobs"] == exact.mean_jobs
    code, spoken, _ = run(capsys, "--rates", "1")
    assert code == 0
    assert "jobs in the system" in spoken


@pytest.mark.parametrize(
    "wrong",
    [
        *("--rates 1,2", "--rates fast", "--rates 1 --k-low 3", "--rates 1 --power-idle 2"),
        *("--rates 1,2 --k-low 2 --k-high inf", "--rates 1,2 --k-low inf --k-high inf"),
        *("--rates 1,2 --k-low nan --k-high 3", "--rates 1,2 --k-low 2 --k-high nan"),
        "--rates 1,2 --k-low 2 --k-high 3 --mean-runtime 1e-320",
    ],
)
def test_wrong_commands_are_one_line(capsys, wrong):
    code, spoken, error = run(capsys, *wrong.split())
    assert code == 2
    assert spoken == ""
    assert error.count("\n") == 1

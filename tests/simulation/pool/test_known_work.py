"""Workload-aware rate control goes by what the scheduler knows of the work: small runs by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import onega
from simulation.cases import POLICIES, random_case

TWO = onega.RateControl("workload", rates=(1.0, 2.0), k_low=20, k_high=50)


def jobs(*rows: tuple[float, float, float | None, int]) -> onega.Workload:
    """Jobs of (submit, run time, estimate, processors)."""
    return onega.Workload(
        pl.DataFrame(rows, schema=["submit", "runtime", "estimate", "procs"], orient="row")
    )


def changes(schedule: onega.Schedule) -> list[tuple[float, float]]:
    rates = schedule.rates
    levels = np.array(rates.rates)[rates.level]
    return list(zip(rates.since.tolist(), levels.tolist(), strict=True))


def test_the_rest_of_an_estimate_goes_with_its_job():
    """W = 100 at submission, 90 when the job ends at 5 (10 s of work at rate 2): down at 5."""
    log = jobs((0, 10, 100, 1))
    run = onega.simulate(log, onega.Cluster(2, TWO))
    assert changes(run) == [(0, 2), (5, 1)]
    assert run.end.tolist() == [5]
    assert changes(onega.simulate(log, onega.Cluster(2, TWO), knowledge="runtime")) == [(0, 1)]


def test_a_job_that_outlives_its_estimate_counts_no_longer():
    """W = 30 sinks by 4 a second until the first estimate is reached at 5, then by 2: 4 at 8."""
    control = onega.RateControl("workload", rates=(1.0, 2.0), k_low=4, k_high=25)
    run = onega.simulate(jobs((0, 30, 10, 1), (0, 20, 20, 1)), onega.Cluster(2, control))
    assert changes(run) == [(0, 2), (8, 1)]
    assert run.end.tolist() == [22, 12]


def test_an_estimate_that_ends_is_no_instant_of_the_schedule():
    """A pass where a job outlives its estimate would see other reservations than the next event."""
    control = onega.RateControl("workload", rates=(1.0, 2.0), k_low=1, k_high=1000)
    log = jobs((0, 30, 10, 1), (1, 9, 9, 2), (2, 25, 25, 1))
    run = onega.simulate(log, onega.Cluster(2, control), "easy")
    assert sorted(run.system["time"].to_list()) == [0, 1, 2, 30, 39, 64]


@pytest.mark.parametrize("ties", ["instant", "event"])
def test_a_completion_is_decided_on_before_a_submission_of_its_instant(ties):
    """At 5 W sinks to 0, and a submission lifts it to 30 again, which is not above k_high.

    By events the submission comes first: 90 + 30, then 30, which is above k_low.
    """
    run = onega.simulate(jobs((0, 10, 100, 1), (5, 30, 30, 1)), onega.Cluster(2, TWO), ties=ties)
    assert changes(run) == [(0, 2), (5 if ties == "instant" else 10, 1)]


def test_a_displaced_job_keeps_what_is_known():
    """The first job has 100 − 10 known seconds left when the second displaces it; W = 190 then."""
    log = jobs((0, 40, 100, 1), (5, 10, 100, 1))
    control = onega.RateControl("workload", rates=(1.0, 2.0), k_low=85, k_high=99)
    run = onega.simulate(log, onega.Cluster(1, control), "lcfs-pr")
    # up at 0; the second ends at 10 (W = 90); 85 is reached 2.5 s later
    assert changes(run) == [(0, 2), (12.5, 1)]
    assert run.end.tolist() == [12.5 + 40 - 15, 10]


def test_estimates_times_five_change_the_run():
    rng = np.random.default_rng(1)
    n = 400
    work = rng.lognormal(5, 1.5, n).round() + 1
    log = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(200, n)).round(),
            "runtime": work,
            "estimate": work * rng.uniform(0.5, 3.0, n).round(1),
            "procs": rng.integers(1, 9, n),
        }
    )
    control = onega.RateControl("workload", rates=(0.8, 1.0), k_low=500, k_high=2000)
    machine = onega.Cluster(16, control)
    padded = log.with_columns(pl.col("estimate") * 5, note="estimates × 5")
    # first come, first served knows no estimates: only the control can tell the two apart
    once, five = (onega.simulate(one, machine, "fcfs").summary() for one in (log, padded))
    assert once["mean_rate"] < five["mean_rate"]
    runs = [onega.simulate(one, machine, "fcfs", knowledge="runtime") for one in (log, padded)]
    assert runs[0].end.tolist() == runs[1].end.tolist()


@pytest.mark.parametrize("ties", ["instant", "event"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy[0]}+{policy[1]}")
def test_estimates_that_are_the_run_times_are_the_run_times(policy, ties):
    for seed in range(3):
        case = random_case(seed, *policy, ties, "workload")
        one, two = (
            replace(case, estimate=case.runtime, knowledge=known).run()
            for known in ("estimate", "runtime")
        )
        assert changes(one) == changes(two)
        assert one.start.tolist() == two.start.tolist()
        assert one.end.tolist() == two.end.tolist()


def test_estimates_that_have_no_sum_are_refused():
    log = jobs((0, 10, np.inf, 1), (0, 10, 20, 1))
    with pytest.raises(onega.SimulationError, match=r"1 of 2 are infinite.*--knowledge runtime"):
        onega.simulate(log, onega.Cluster(2, TWO))
    onega.simulate(log, onega.Cluster(2, TWO), knowledge="runtime")
    onega.simulate(log, 2, "easy")


def test_a_job_that_begins_beyond_its_estimate_counts_for_nothing():
    """A state to start from: 20 s done of an estimate of 10; W is the newcomer's 40 alone."""
    before = jobs((0, 30, 10, 1))
    state = onega.simulate(before, 2).state_at(20)
    control = onega.RateControl("workload", rates=(1.0, 2.0), k_low=20, k_high=39)
    run = onega.simulate(jobs((20, 40, 40, 1)), onega.Cluster(2, control), initial=state)
    assert changes(run)[-2:] == [(20, 2), (30, 1)]


@pytest.mark.parametrize("size", [1e-9, 1e6, 1e12])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "xf+easy", "lcfs-pr", "spf-pr"])
def test_estimates_of_any_size_end(policy, size):
    """Estimates far from the run times: every job ends, and the work it did is its own."""
    rng = np.random.default_rng(3)
    rows = [
        (
            float(k // 3),
            float(rng.integers(1, 9)),
            size * rng.random() + 1e-9,
            int(rng.integers(1, 5)),
        )
        for k in range(60)
    ]
    control = onega.RateControl("workload", rates=(0.7, 1.3, 2.1), k_low=(10, 30), k_high=(20, 60))
    run = onega.simulate(jobs(*rows), onega.Cluster(4, control), policy)
    done = run.rates.integral(run.rates.rates, run.end) - run.rates.integral(
        run.rates.rates, run.start
    )
    assert (done >= run.work - 1e-6).all()
    if not run.policy.preemptive:
        np.testing.assert_allclose(done, run.work, rtol=1e-9)

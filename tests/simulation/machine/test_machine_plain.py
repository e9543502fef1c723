"""Without features the detailed engine gives what the plain one gives; portions change nothing."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.errors import SimulationError
from onega.core.machine.cluster import RateControl
from onega.core.policy import Policy
from onega.core.rng import seed_sequence
from onega.simulation.machine import memory as detailed_memory
from onega.simulation.machine import run as detailed_run
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.problem import Jobs
from onega.simulation.pool.setup import in_rows, make_draws
from reference.machine.problems import MECHANISMS, random_mixture, random_problem
from simulation.cases import CONTROLS, random_case

BACKFILLS = [None, "easy", "conservative"]


def detailed(log, cluster, policy, *, knowledge="estimate", enforce_limits=False, rng=None):
    """Starts and ends by row of the log, from the detailed engine."""
    prepared = prepare(
        log,
        cluster,
        Policy.parse(policy).knowing(knowledge),
        RunInputs(),
        enforce_limits=enforce_limits,
        seed=seed_sequence(rng),
    )
    problem = prepared.problem(prepared.first_horizon())
    draws = make_draws(cluster.rates, len(log), seed_sequence(rng))  # as the plain engine draws
    problem = replace(problem, draws=draws)
    return detailed_run.run(problem), prepared.arrivals


def assert_equal_to_plain(log, cluster, policy, **how):
    plain = onega.simulate(log, cluster, policy, **how)
    outcome, arrivals = detailed(log, cluster, policy, **how)
    start = in_rows(outcome.start, arrivals.by_arrival)
    end = in_rows(outcome.end, arrivals.by_arrival)
    np.testing.assert_array_equal(start, plain.start)
    np.testing.assert_array_equal(end, plain.end)


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("order", ["fcfs", "lcfs", "spf", "xf", "wfp3", "unicef", "f2"])
def test_small_cases(order, backfill):
    for seed in range(24):
        case = random_case(seed, order, backfill, "instant", CONTROLS[seed % 4])
        control = case.control
        rates = RateControl(
            control.kind,
            rates=[float(rate) for rate in control.rates],
            k_low=[float(k) for k in control.k_low],
            k_high=[float(k) for k in control.k_high],
            p_low=float(control.p_low),
            p_high=float(control.p_high),
        )
        assert_equal_to_plain(
            case.workload().sorted(),
            onega.Cluster(case.machine, rates),
            Policy(order, backfill),
            knowledge=case.knowledge,
            enforce_limits=case.enforce_limits,
            rng=case.seed,
        )


def archive_log(shared):
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    return log.select((pl.col("runtime") > 0) & (pl.col("procs") > 0)).sorted()


@pytest.mark.parametrize(
    "policy", ["fcfs", "easy", "spf+easy", "conservative", "wfp3+easy", "unicef+conservative"]
)
def test_kth(shared, policy):
    assert_equal_to_plain(archive_log(shared), onega.Cluster(100), policy)


@pytest.mark.parametrize(
    "rates",
    [
        RateControl(rates=0.75),
        RateControl("queue", rates=(0.8, 1.0), k_low=5, k_high=20),
        RateControl("random", rates=(0.7, 1.0, 1.1), p_low=0.2, p_high=0.4),
        RateControl("workload", rates=(0.8, 1.1), k_low=1e6, k_high=3e6),
    ],
    ids=lambda rates: rates.kind,
)
def test_kth_with_rates(shared, rates):
    log = archive_log(shared)
    for policy in ("easy", "wfp3+easy"):
        assert_equal_to_plain(log, onega.Cluster(100, rates), policy, rng=1)


def assert_same(one, other):
    for field in fields(one):
        if not field.name.startswith("switch"):
            np.testing.assert_array_equal(
                getattr(one, field.name), getattr(other, field.name), err_msg=field.name
            )
    # of several changes of the rate at one instant the last counts
    changes = [dict(zip(out.switches["time"], out.switches["level"])) for out in (one, other)]
    assert changes[0] == changes[1]


def problems():
    for mechanism in MECHANISMS:
        for seed in range(5):
            yield random_problem(seed, MECHANISMS[mechanism])
    for seed in range(100, 130):
        yield random_mixture(seed)


def test_portions_of_one_instant_give_the_same(monkeypatch):
    def one_by_one():
        while True:
            yield 1

    for problem in problems():
        whole = detailed_run.run(problem)
        with monkeypatch.context() as patched:
            patched.setattr(detailed_run, "portions", one_by_one)
            assert_same(detailed_run.run(problem), whole)


def test_logs_that_are_too_small_grow(monkeypatch):
    for problem in problems():
        whole = detailed_run.run(problem)
        with monkeypatch.context() as patched:
            patched.setattr(detailed_memory, "LOG_ROOM", 3)
            assert_same(detailed_run.run(problem), whole)


def test_progress_rises_to_one():
    told = []
    detailed_run.run(random_problem(3, MECHANISMS["overheads"]), progress=told.append)
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_a_key_that_is_no_number_is_explained():
    def broken(now, submit, estimate, procs):
        return np.nan if now >= submit else 0.0

    problem = next(
        one
        for seed in range(100)
        if (one := random_problem(seed, MECHANISMS["plain"])).partitions["order"][0] == 3
    )
    with pytest.raises(SimulationError, match=r"'broken' returned nan at now="):
        detailed_run.run(replace(problem, own=broken))


def test_running_jobs_that_do_not_fit_are_refused():
    problem = random_problem(1, MECHANISMS["plain"])
    jobs = Jobs(problem.jobs.size, **(problem.jobs | {"start": np.zeros(problem.jobs.size)}))
    nodes = replace(problem.nodes, capacity=problem.options["procs"].max() * np.ones((1, 1)))
    if problem.options["procs"].sum() <= problem.options["procs"].max():
        pytest.skip("one job only")
    with pytest.raises(SimulationError, match="don't fit on the machine together"):
        detailed_run.run(replace(problem, jobs=jobs, nodes=nodes))

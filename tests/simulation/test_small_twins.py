"""Few small problems of every engine against its twin: also what `make test-nojit` runs.

There numba is switched off, so that the kernels run as Python with bounds checked by numpy (but for
negative indices), and coverage can be measured over them. In the usual run these are the first of
many such problems.
"""

from __future__ import annotations

import numpy as np
import pytest

import onega
from onega.core.rng import seed_sequence
from onega.simulation.machine import memory
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.run import run
from onega.simulation.slurm.run import SlurmDelays
from reference.machine.machine import run_exactly
from reference.machine.problems import MECHANISMS, random_mixture, random_problem
from simulation.cases import CONTROLS, POLICIES, check, random_case
from simulation.machine.test_twin import check as check_machine
from simulation.machine.test_twin import compare
from simulation.slurm.cases import LAWS, PARAMETERS, busy_stream, check_drawn
from simulation.slurm.cases import check as check_slurm


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy[0]}+{policy[1]}")
@pytest.mark.parametrize("ties", ["instant", "event"])
def test_pool(policy, ties):
    """Every order, backfilling and rate control of the pool."""
    compared = sum(
        check(random_case(seed, *policy, ties, control)) for seed, control in enumerate(CONTROLS)
    )
    assert compared >= len(CONTROLS) - 1  # one may drop out for want of digits


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_machine(mechanism):
    """Every mechanism of the machine in detail."""
    compared = sum(check_machine(random_problem(seed, MECHANISMS[mechanism])) for seed in range(4))
    assert compared >= 3


def test_machine_mixtures():
    assert sum(check_machine(random_mixture(seed)) for seed in range(100)) >= 90


def test_failures_that_are_drawn():
    """Events put together as a run of `simulate` has them, with failures and patience."""
    jobs, procs = busy_stream(4, 12)
    failures = onega.Failures("exponential(2000)", "exponential(300)")
    for patience in (None, onega.Law("exponential", 900.0)):
        ready = prepare(
            jobs,
            onega.Cluster(procs, failures=failures),
            onega.Policy.parse("easy").knowing("estimate"),
            RunInputs(patience=patience),
            enforce_limits=False,
            seed=seed_sequence(1),
        )
        problem = ready.problem(3000.0)
        compare(run(problem), run_exactly(problem)[0])


@pytest.mark.parametrize("backfill", [None, "easy", "conservative"])
def test_infinite_estimates(backfill):
    """Moldable jobs among them, of which no shape is known to be the quickest."""
    estimates = [60.0, np.inf, 9.0, np.inf]
    table = {"submit": range(4), "runtime": [5, 6, 7, 8], "procs": [1, 2, 1, 2]}
    jobs = onega.Workload(table | {"estimate": estimates})
    for moldable in (None, onega.AmdahlSpeedup(0.1)):
        ready = prepare(
            jobs,
            onega.Cluster(3, overheads=onega.Overheads()),
            onega.Policy("fcfs", backfill).knowing("estimate"),
            RunInputs(moldable=moldable),
            enforce_limits=False,
            seed=seed_sequence(1),
        )
        problem = ready.problem(ready.first_horizon())
        started = run(problem).start
        assert started.tolist() == run_exactly(problem)[0].start.tolist()
        assert not np.isnan(started).any()


def test_logs_and_plans_that_are_full_grow(monkeypatch):
    """A pass goes on where the plan had no space for a reservation; an instant waits for room."""
    monkeypatch.setattr(memory, "PLAN_ROOM", 0)
    monkeypatch.setattr(memory, "LOG_ROOM", 1)
    grown = []
    for name in ("with_larger_plan", "with_longer_logs"):
        as_before = getattr(memory, name)
        monkeypatch.setattr(
            f"onega.simulation.machine.run.{name}",
            lambda machine, name=name, grow=as_before: grown.append(name) or grow(machine),
        )
    for seed in range(40):
        check_machine(random_mixture(seed, 40))
    assert set(grown) == {"with_larger_plan", "with_longer_logs"}


@pytest.mark.parametrize("parameters", PARAMETERS, ids=range(len(PARAMETERS)))
@pytest.mark.parametrize("seed", range(3))
def test_slurm(parameters, seed):
    """Slurm's passes and plans, with and without what a real system adds."""
    jobs, procs = busy_stream(seed, 12)
    check_slurm(jobs, procs, parameters)
    check_slurm(jobs, procs, parameters, SlurmDelays.draw(LAWS, jobs, rng=seed))


@pytest.mark.parametrize("rule", ["slurm", "slurm:fine"])
def test_slurm_with_overheads_of_a_cluster(rule):
    jobs, procs = busy_stream(4, 12)
    check_drawn(jobs, procs, rule, 4)

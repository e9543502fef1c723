"""Few small problems of every engine against its twin: also what `make test-nojit` runs.

There numba is switched off, so that the kernels run as Python with bounds checked by numpy, and
coverage can be measured over them. In the usual run these are the first of many such problems.
"""

from __future__ import annotations

import pytest

from onega.simulation.machine import memory
from onega.simulation.slurm.run import SlurmDelays
from reference.machine.problems import MECHANISMS, random_mixture, random_problem
from simulation.cases import CONTROLS, POLICIES, check, random_case
from simulation.machine.test_twin import check as check_machine
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

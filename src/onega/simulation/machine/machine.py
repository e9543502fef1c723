"""A run on a detailed machine: prepared, run to its end, made into a schedule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.policy import Policy
from onega.core.rng import Rng, describe_seed, seed_sequence
from onega.core.schedule.schedule import Schedule
from onega.core.workload.report import Report
from onega.core.workload.tables import TableLike
from onega.core.workload.workload import Workload
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import Prepared, prepare
from onega.simulation.machine.fit import Misfit
from onega.simulation.machine.problem import Outcome, Problem
from onega.simulation.machine.result import as_shaped, make_schedule
from onega.simulation.machine.run import run

LONGEST_HORIZON = 64
"""How many times the first horizon failures are drawn for before a run is given up."""


def simulate_detailed(
    workload: Workload,
    machine: Cluster,
    policy: Policy,
    given: RunInputs,
    *,
    enforce_limits: bool = False,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> Schedule:
    """Run a workload on a machine with all its parts; see `onega.simulate`."""
    seed = seed_sequence(rng)
    prepared = prepare(workload, machine, policy, given, enforce_limits=enforce_limits, seed=seed)
    for misfit in prepared.misfits:
        raise misfit.error(len(prepared.arrivals.jobs))
    arrivals = prepared.arrivals
    problem, outcome = _run_to_the_end(prepared, progress)
    how = f"rate control={machine.rates.kind}, enforce_limits={enforce_limits}"
    what = "detailed machine, ties=instant"
    return make_schedule(
        arrivals.workload if given.moldable is None else as_shaped(arrivals, problem),
        machine,
        policy,
        (problem, outcome, arrivals.by_arrival),
        provenance=(
            f"simulated: {policy}, knowledge={policy.knowledge}, {what}, {how}",
            f"rng={describe_seed(seed)}",
        ),
        report=Report.of(prepared.findings),
    )


def find_misfits(
    workload: Workload, machine: Cluster, *, demands: TableLike | None = None
) -> tuple[Misfit, ...]:
    """Find the jobs that could never run on a machine, and why."""
    return fit(workload, machine, demands=demands)[0]


def fit(
    workload: Workload, machine: Cluster, *, demands: TableLike | None = None
) -> tuple[tuple[Misfit, ...], Report]:
    """Find the jobs that could never run on a machine, and what it and the log don't share."""
    policy = Policy(knowledge="estimate" if workload.has("estimate") else "runtime")
    given = RunInputs(demands=demands)
    seed = seed_sequence(0)  # nothing that is drawn decides whether a job fits
    made = prepare(workload, machine, policy, given, enforce_limits=False, seed=seed)
    return made.misfits, Report.of(made.findings)


def _run_to_the_end(
    prepared: Prepared, progress: Callable[[float], None] | None
) -> tuple[Problem, Outcome]:
    """Run with failures and daily caps up to a horizon; further if the run lasts longer.

    What is drawn for a longer horizon continues what was drawn for a shorter one, so the result
    doesn't depend on where the first one was.
    """
    horizon = prepared.first_horizon()
    most = prepared.t0 + LONGEST_HORIZON * (horizon - prepared.t0)
    while True:
        problem = prepared.problem(horizon)
        outcome = run(problem, progress=progress)
        if not prepared.is_open_ended:
            return problem, outcome
        last = float(np.fmax.reduce(outcome.end))
        known = horizon
        if problem.steps:
            known -= 2 * prepared.longest  # what the scheduler sees ahead of the last end
        if not last > known:
            return problem, outcome
        if horizon >= most:
            late = np.flatnonzero(outcome.end > horizon)
            raise SimulationError(
                f"jobs are still not done after {horizon - prepared.t0:,.0f} s: nodes fail too "
                "often for them to finish; use interruption checkpoint, or leave them out",
                jobs=prepared.arrivals.jobs.table["job"].gather(late).to_list(),
            )
        horizon = prepared.t0 + 2 * (horizon - prepared.t0)

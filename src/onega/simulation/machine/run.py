"""Running the detailed machine: from a `Problem` to its `Outcome`, in portions."""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.core.errors import SimulationError
from onega.core.policy import Priority
from onega.core.types import Progress
from onega.kernels.machine.loop import load
from onega.kernels.machine.loop import run as run_portion
from onega.kernels.machine.state import Machine
from onega.kernels.pool import engine
from onega.kernels.pool.records import Columns
from onega.simulation.machine.memory import (
    make_machine,
    outcome,
    with_larger_plan,
    with_longer_logs,
)
from onega.simulation.machine.problem import Outcome, Problem
from onega.simulation.pool.run import portions
from onega.simulation.priority import NO_FUNCTION, compile_priority, explain_bad_key


def run(problem: Problem, *, progress: Progress | None = None) -> Outcome:
    """Run the detailed machine to the end.

    Parameters
    ----------
    problem
        Everything that matters; see `onega.simulation.machine.problem`.
    progress
        Called now and then with the share of jobs that have left.

    Raises
    ------
    SimulationError
        A user's priority function fails, or jobs that run at the beginning don't fit.
    """
    machine = make_machine(problem)
    _load_initial(problem, machine)
    own: Any = NO_FUNCTION
    if problem.own is not None:
        own = compile_priority(Priority(problem.own))
    for rounds in portions():
        reason = run_portion(machine, own, rounds)
        if reason == engine.DONE:
            break
        if reason == engine.LOG_FULL:
            machine = with_longer_logs(machine)
        if reason == engine.QUEUE_FULL:
            machine = with_larger_plan(machine)
        if reason == engine.BAD_KEY:
            raise SimulationError(_explain(problem, machine))
        if progress is not None:
            progress(float(machine.clock[0]["gone"]) / problem.jobs.size)
    if progress is not None:
        progress(1.0)
    return outcome(machine)


def _load_initial(problem: Problem, machine: Machine) -> None:
    """Put the jobs onto the machine that run at the beginning, in the order of their starts."""
    rows = problem.begun
    if rows.size == 0:
        return
    stuck = load(machine, rows[np.argsort(problem.jobs["start"][rows], kind="stable")])
    if stuck >= 0:
        raise SimulationError(
            f"the jobs that run at the beginning don't fit on the machine together: row {stuck} "
            "finds no place; give fewer, or a larger machine",
            jobs=[int(stuck)],
        )


def _explain(problem: Problem, machine: Machine) -> str:
    """Say what a user's function did for the job at fault."""
    assert problem.own is not None
    shape = problem.options.take(problem.jobs["first_option"])
    columns = Columns(machine.jobs["submitted"], shape["work"], shape["expect"], shape["procs"])
    now, culprit = float(machine.clock[0]["now"]), int(machine.clock[0]["culprit"])
    return explain_bad_key(Priority(problem.own), now, columns, culprit)

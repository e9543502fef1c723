"""What makes no difference to a schedule is left out before a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onega.simulation.machine.reduce import reduced
from reference.machine.problems import MECHANISMS, random_problem


def with_shared(capacity, demand_of, steps=()):
    """A plain problem with machine-wide resources; ``demand_of``: per processor of each."""
    problem = random_problem(0, MECHANISMS["plain"])
    procs = problem.options.chunks * problem.options.chunk[:, 0]
    return replace(
        problem,
        nodes=replace(problem.nodes, shared=np.array(capacity, float)),
        options=replace(problem.options, demand=procs[:, None] * np.array(demand_of, float)),
        calendar=replace(
            problem.calendar,
            step_time=np.array([row[0] for row in steps], float),
            step_resource=np.array([row[1] for row in steps], np.int64),
            step_capacity=np.array([row[2] for row in steps], float),
        ),
    )


def test_resources_that_never_run_short_are_left_out():
    machine = float(random_problem(0, MECHANISMS["plain"]).nodes.capacity[:, 0].sum())
    made = reduced(with_shared([machine, 1.0, machine - 1, 5.0], [1, 0, 1, 5 / machine]))
    assert made.nodes.shared.tolist() == [machine - 1]
    assert made.options.demand.shape[1] == 1


def test_resources_whose_capacity_changes_stay():
    made = reduced(with_shared([9.0, 9.0], [0, 0], [(5.0, 1, 8.0)]))
    assert made.nodes.shared.tolist() == [9.0]
    assert made.calendar.step_resource.tolist() == [0]

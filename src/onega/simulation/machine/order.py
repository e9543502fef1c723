"""The order of jobs in each partition, and their dependencies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onega.core.errors import SimulationError
from onega.core.policy import MULTIFACTOR, KeyFunction, Policy, Priority
from onega.core.types import Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.kernels.machine import codes
from onega.kernels.pool.records import Columns
from onega.simulation.machine.problem import Jobs
from onega.simulation.machine.shapes import Shapes, row_of_job
from onega.simulation.pool.setup import stable_order
from onega.simulation.priority import static_keys


def by_submission(now: float, submit: float, estimate: float, procs: float) -> float:
    """First come, first served, by when a job was really submitted."""
    return submit


def by_late_submission(now: float, submit: float, estimate: float, procs: float) -> float:
    """Last come, first served, by when a job was really submitted."""
    return -submit


BY_SUBMISSION = {"fcfs": by_submission, "lcfs": by_late_submission}
BY_TIME = {
    "xf": codes.EXPANSION,
    "wfp3": codes.WFP3,
    "unicef": codes.UNICEF,
    MULTIFACTOR: codes.MULTIFACTOR,
}

Order = tuple[int, KeyFunction | None]
"""The code of a partition's order, and the function that it goes by, if it does."""


def order_of(policy: Policy, *, dependent: bool) -> Order:
    """Return the order of a policy.

    Where jobs are submitted after others end, their places in the log don't say when: the orders
    by submission become functions of it.
    """
    order = policy.order
    if isinstance(order, Priority):
        return (codes.STATIC, None) if order.static else (codes.OWN, order.function)
    if dependent and order in BY_SUBMISSION:
        return codes.OWN, BY_SUBMISSION[order]
    return BY_TIME.get(str(order), codes.STATIC), None


def own_function(orders: Sequence[Order]) -> KeyFunction | None:
    """Return the function of the orders that go by one."""
    functions = {function for _, function in orders if function is not None}
    if len(functions) > 1:
        raise SimulationError(
            "partitions with different orders of one's own (or fcfs and lcfs with dependencies) "
            "can't be in one run; give them the same"
        )
    return next(iter(functions), None)


def ranks(
    jobs: Jobs, shapes: Shapes, policies: Sequence[Policy], orders: Sequence[Order], queues: Ints
) -> Ints:
    """Return each job's place in the fixed order of its partition: queue, key, arrival.

    Where the key depends on the time it is that of the queue. ``jobs`` have partitions;
    ``queues`` are the ranks of theirs.
    """
    static = [number for number, (code, _) in enumerate(orders) if code == codes.STATIC]
    if not static:
        return queues
    partition, place = jobs["partition"], np.arange(jobs.size)
    order = place
    if any(policies[number].order != "fcfs" for number in static):
        columns = (shapes.options[name][shapes.first] for name in ("work", "expect", "procs"))
        known, key = Columns(jobs["submit"], *columns), np.zeros(jobs.size)
        for number in static:
            fixed = static_keys(policies[number], known)
            if fixed is not None:
                inside = partition == number
                key[inside] = fixed[inside]
        order = stable_order(key)
    if queues.any():
        order = order[stable_order(queues[order])]
    rank = np.empty_like(place)
    rank[order] = place
    if len(static) < len(orders):
        rank = np.where(np.isin(partition, static), rank, queues)
    return rank


def dependencies(workload: Workload) -> tuple[Ints, Floats, Finding]:
    """Return the row that each job waits for (−1: none), the seconds after it, and what is missing.

    A job that waits for one that isn't in the workload keeps its logged submission.
    """
    table = workload.table
    asks = table["after"].is_not_null().to_numpy()
    after = np.full(len(workload), -1, np.int64)
    if asks.any():
        after[asks] = row_of_job(workload, table["after"].filter(table["after"].is_not_null()))
    think = table["think"].fill_null(0.0).to_numpy()
    negative = np.flatnonzero((after >= 0) & (think < 0))
    if negative.size:
        raise SimulationError(
            "think times are at least 0", jobs=table["job"].gather(negative).to_list()
        )
    _refuse_cycles(workload, after)
    why = "the job they wait for isn't in the workload: they keep their logged submission"
    missing = int((asks & (after < 0)).sum())
    return after, np.where(after >= 0, think, 0.0), Finding("unknown_after", "noted", missing, why)


def _refuse_cycles(workload: Workload, after: Ints) -> None:
    """Follow all chains at once, twice as far each time; a chain without an end is a circle."""
    if not (after >= 0).any():
        return
    to = np.append(after, after.size)
    to[to < 0] = after.size
    for _ in range(math.ceil(math.log2(after.size + 1)) + 1):
        to = to[to]
    circling = np.flatnonzero(to[:-1] < after.size)
    if circling.size == 0:
        return
    row, circle = int(to[circling[0]]), []  # far enough along to be on the circle itself
    while row not in circle:
        circle.append(row)
        row = int(after[row])
    ids = workload.table["job"].gather(circle).to_list()
    raise SimulationError("dependencies go in a circle: each waits for the next", jobs=ids)

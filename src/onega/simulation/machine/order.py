"""The order of jobs in each partition, and their dependencies."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from onega.core.errors import SimulationError
from onega.core.policy import KeyFunction, Priority
from onega.core.types import Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.kernels.machine import codes
from onega.kernels.pool.records import Columns
from onega.simulation.machine.groups import names_of, queue_levels
from onega.simulation.machine.layout import Layout, order_code
from onega.simulation.machine.shapes import row_of_job
from onega.simulation.pool.setup import rows, stable_order
from onega.simulation.priority import static_keys


def by_submission(now: float, submit: float, estimate: float, procs: float) -> float:
    """First come, first served, by when a job was really submitted."""
    return submit


def by_late_submission(now: float, submit: float, estimate: float, procs: float) -> float:
    """Last come, first served, by when a job was really submitted."""
    return -submit


BY_SUBMISSION = {"fcfs": by_submission, "lcfs": by_late_submission}


def own_order(layout: Layout, *, dependent: bool) -> tuple[KeyFunction | None, frozenset[int]]:
    """Return the function of the orders that go by one, and the partitions that do.

    Where jobs are submitted after others end, their places in the log don't say when: the orders
    by submission become functions of it.
    """
    functions: dict[KeyFunction, None] = {}
    partitions = set()
    for number, policy in enumerate(layout.policies):
        function = None
        if isinstance(policy.order, Priority) and not policy.order.static:
            function = policy.order.function
        elif dependent and isinstance(policy.order, str):
            function = BY_SUBMISSION.get(policy.order)
        if function is not None:
            functions[function] = None
            partitions.add(number)
    if len(functions) > 1:
        raise SimulationError(
            "partitions with different orders of one's own (or fcfs and lcfs with dependencies) "
            "can't be in one run; give them the same"
        )
    return next(iter(functions), None), frozenset(partitions)


def ranks(
    workload: Workload,
    layout: Layout,
    partition: Ints,
    queue_rank: Ints,
    columns: Callable[[], Columns],
) -> Ints:
    """Return each job's place in the fixed order of its partition: queue, key, arrival.

    Orders by a key of the time don't look at it, first come, first served at no ``columns``.
    """
    place = rows(workload)
    static = [n for n, policy in enumerate(layout.policies) if order_code(policy) == codes.STATIC]
    if not static:
        return place
    parts, queues = layout.partitions, layout.cluster.queues
    grouped = len(parts) > 1 or len(queues) > 0

    def ranked(order: Ints) -> Ints:
        """Keep an order within each partition and rank of queues."""
        if grouped:
            group = ((partition + 1) * (queue_rank.max() + 1) + queue_rank)[order]
            there = np.flatnonzero(np.bincount(group))
            order = order[np.concatenate([np.flatnonzero(group == one) for one in there])]
        rank = np.empty_like(place)
        rank[order] = place
        return rank

    if all(layout.policies[number].order == "fcfs" for number in static):
        made_from = (ranks, names_of(parts), names_of(queues), tuple(queue_levels(queues)))
        return workload.cached(made_from, lambda: ranked(place)) if grouped else place
    known, key = columns(), np.zeros(partition.size)
    keys = {number: static_keys(layout.policies[number], known) for number in static}
    for number, fixed in keys.items():
        if fixed is not None:
            inside = partition == number
            key[inside] = fixed[inside]
    return ranked(stable_order(key))


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

"""The same run in simpler terms: what makes no difference to a schedule is left out.

Placing jobs is quick where every chunk is one unit of one resource. Machines that people describe
with more come down to that: nodes with memory or GPUs that never run short before the processors
do, equal nodes that are taken whole, licences that nobody asks for or of which there are plenty.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onega.kernels.machine.codes import FIRST_FIT
from onega.simulation.machine.problem import Problem


def reduced(problem: Problem) -> Problem:
    """Return a problem with the same outcome, in fewer resources where that is possible."""
    return _in_whole_nodes(_without_ample_kinds(_without_ample_shared(problem)))


def _without_ample_shared(problem: Problem) -> Problem:
    """Leave out machine-wide resources of which nobody takes a larger share than of the processors.

    As long as their capacity doesn't change: then the processors run out first.
    """
    capacity, options, calendar = problem.nodes.shared, problem.options, problem.calendar
    if capacity.size == 0:
        return problem
    used = np.zeros(capacity.size, dtype=bool)
    used[calendar.step_resource] = True
    procs = options.chunks * options.chunk[:, 0]
    machine = float(problem.nodes.capacity[:, 0].sum())
    for g in np.flatnonzero(~used):
        used[g] = (options.demand[:, g] * machine > procs * capacity[g]).any()
    if used.all():
        return problem
    number = np.cumsum(used) - 1
    return replace(
        problem,
        nodes=replace(problem.nodes, shared=capacity[used]),
        options=replace(options, demand=options.demand.T[used].T),
        calendar=replace(calendar, step_resource=number[calendar.step_resource]),
    )


def _without_ample_kinds(problem: Problem) -> Problem:
    """Leave out node resources of which nobody takes a larger share than of the processors.

    If every chunk and every reservation takes at most as large a share of a node's memory as of
    its processors, then so do all of them together: the processors run out first.
    """
    capacity, calendar, chunk = problem.nodes.capacity, problem.calendar, problem.options.chunk
    kinds = capacity.shape[1]
    if kinds == 1:
        return problem
    used = np.ones(kinds, dtype=bool)
    for k in range(1, kinds):
        # Amounts a/b of this resource for a processor, compared without dividing.
        a, b = capacity[:, k], capacity[:, 0]
        least = int(np.argmin(np.divide(a, b, out=np.full(b.shape, np.inf), where=b > 0)))
        jobs = chunk[:, k] * b[least] > chunk[:, 0] * a[least]
        held = calendar.amount[:, k] * b[calendar.node] > calendar.amount[:, 0] * a[calendar.node]
        used[k] = jobs.any() or held.any()
    if used.all():
        return problem
    return replace(
        problem,
        nodes=replace(problem.nodes, capacity=capacity[:, used]),
        options=replace(problem.options, chunk=chunk.T[used].T),
        calendar=replace(calendar, amount=calendar.amount[:, used]),
    )


def _in_whole_nodes(problem: Problem) -> Problem:
    """Count in nodes where all nodes are equal and jobs take whole ones.

    A job of n chunks, of which h fit on a node, takes ⌈n/h⌉ nodes; a reservation of any part of a
    node leaves it to nobody.
    """
    nodes, options = problem.nodes, problem.options
    if nodes.pooled or not problem.partitions.whole.all():
        return problem
    capacity, chunk = nodes.capacity, options.chunk
    if (capacity != capacity[0]).any() or not (chunk[:, 0] > 0).all():
        return problem
    fit = np.full(len(chunk), np.inf)
    for have, need in zip(capacity[0], chunk.T, strict=True):
        on_one = np.divide(have, need, out=np.full(need.size, np.inf), where=need > 0)
        fit = np.minimum(fit, np.floor(on_one))
    if not (fit >= 1).all():
        return problem
    calendar = problem.calendar
    taken = np.asarray((calendar.amount > 0).any(axis=1), dtype=np.float64)
    return replace(
        problem,
        nodes=replace(nodes, capacity=np.ones((capacity.shape[0], 1))),
        options=replace(
            options,
            chunks=np.ceil(options.chunks / fit).astype(np.int64),
            chunk=np.ones((chunk.shape[0], 1)),
        ),
        partitions=replace(
            problem.partitions,
            whole=np.zeros_like(problem.partitions.whole),
            placement=np.full_like(problem.partitions.placement, FIRST_FIT),
        ),
        calendar=replace(calendar, amount=taken[:, None]),
    )

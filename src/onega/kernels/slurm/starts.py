"""The queue of pending jobs in the order of priority, and what a start does."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.slurm.clock import changes
from onega.kernels.slurm.nodes import Words, remove_nodes
from onega.kernels.slurm.state import PENDING, RUNNING, State
from onega.kernels.types import Ints


@compiled
def start_job(state: State, number: int, chosen: Words, by: int) -> None:
    """Start a job on the chosen nodes, now."""
    c, job = state.clock[0], state.jobs[number]
    job.state = RUNNING
    job.by = by
    job.start = c.now
    # A virtual node is busy from the start that Slurm notes, in whole seconds.
    job.end = max(c.now, np.floor(c.now) + job.runtime) + job.overrun
    job.next = job.end
    job.expected = np.floor(c.now) + job.limit
    state.held[number] = chosen
    remove_nodes(state.idle, chosen)
    state.active[c.active] = number
    c.active += 1
    c.planned = -1
    changes(state)


@part
def drop_started(state: State) -> None:
    """Take jobs that are no longer pending out of the queue."""
    c = state.clock[0]
    kept = 0
    for place in range(c.pending):
        number = state.queue[place]
        if state.jobs[number].state == PENDING:
            state.queue[kept] = number
            kept += 1
    c.pending = kept


@part
def is_weighted(state: State) -> bool:
    """Tell whether priorities are more than the order of submission."""
    return state.rules[0].weight_age != 0.0 or state.rules[0].weight_size != 0.0


@part
def _priority(state: State, number: int) -> float:
    """Return age and size factors times their weights (priority/multifactor)."""
    rules, job = state.rules[0], state.jobs[number]
    age = min(1.0, (state.clock[0].now - job.submit) / rules.max_age)
    size = job.procs / rules.procs
    if rules.favour_small:
        size = 1.0 - size
    return np.floor(rules.weight_age * age + rules.weight_size * size)


@compiled
def pending_by_priority(state: State) -> Ints:
    """Return the pending jobs by priority; equal ones, and without weights all, as submitted."""
    order = state.queue[: state.clock[0].pending].copy()
    if not is_weighted(state):
        return order
    keys = np.empty(order.size)
    for place in range(order.size):
        keys[place] = -_priority(state, order[place])
    return order[np.argsort(keys, kind="mergesort")]

"""The main pass: jobs start in the order of priority until one doesn't fit."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled
from onega.kernels.slurm.nodes import best_fit, count_nodes
from onega.kernels.slurm.starts import drop_started, is_weighted, pending_by_priority, start_job
from onega.kernels.slurm.state import BY_MAIN, State


@compiled
def passes_in_vain(state: State) -> bool:
    """Tell whether main passes start no job until something changes."""
    c = state.clock[0]
    # By weight another job may be the first one later.
    hopefuls = c.pending if is_weighted(state) else min(c.pending, 1)
    idle = count_nodes(state.idle)
    for place in range(hopefuls):  # noqa: SIM110
        if state.jobs[state.queue[place]].procs <= idle:
            return False
    return True


@compiled
def main_pass(state: State, depth: int) -> None:
    """Start jobs in the order of priority until one doesn't fit, or ``depth`` were looked at."""
    if passes_in_vain(state):
        return
    order = pending_by_priority(state)
    chosen = np.empty(state.idle.size, np.uint64)
    for place in range(min(order.size, depth)):
        wanted = state.jobs[order[place]].procs
        if count_nodes(state.idle) < wanted:
            break
        best_fit(state.idle, wanted, state.rules[0].nodes, chosen)
        start_job(state, order[place], chosen, BY_MAIN)
    drop_started(state)

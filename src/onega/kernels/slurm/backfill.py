"""The backfill cycle: every job that it reaches starts, or gets a reservation in the plan.

What changes nothing isn't done: a job behind the last one that is narrow enough for the free nodes
gets no reservation, as none could be hindered by it, unless it decides whether the cycle is a
change; and a cycle whose plan would be the last one makes none.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.slurm.nodes import best_fit, count_nodes, overlap
from onega.kernels.slurm.plan import clear_plan, move_plan, plan_ends_with, plan_job
from onega.kernels.slurm.starts import drop_started, is_weighted, pending_by_priority, start_job
from onega.kernels.slurm.state import BY_BACKFILL, RUNNING, State
from onega.kernels.types import Ints


@compiled
def backfill_cycle(state: State) -> None:
    """Go through the queue once with a plan: start or reserve."""
    c, rules, plan = state.clock[0], state.rules[0], state.plan
    now = np.floor(c.now)
    order = pending_by_priority(state)[: rules.bf_max_job_test]
    last = _last_narrow(state, order)
    place = 0
    if c.planned >= 0 and now < plan.extent[0].until:
        place = c.planned
        move_plan(plan, now, rules.bf_window)
    else:
        clear_plan(plan, now, rules.bf_window, state.every)
        c.defers = 0
    _expect_ends(state)
    started = False
    while place <= last or (place < order.size and not _is_change(state)):
        number = order[place]
        place += 1
        if plan_job(state, number, now) <= now:
            plan.usable[:] = plan.allowed & state.idle
            best_fit(plan.usable, state.jobs[number].procs, rules.nodes, plan.chosen)
            start_job(state, number, plan.chosen, BY_BACKFILL)
            started = True
            _expect_end(state, number)
            last = _last_narrow(state, order)
    c.marks = overlap(plan.planned, plan.free)
    if started:
        drop_started(state)
    elif not is_weighted(state):
        plan_ends_with(state)
        c.planned, c.quiet = place, plan.extent[0].until


@part
def _is_change(state: State) -> bool:
    """Tell whether a cycle is known to be a change: nodes are marked, or none is left to mark."""
    plan = state.plan
    if overlap(plan.planned, plan.free):
        return True
    return state.clock[0].defers != 0 and count_nodes(plan.free) == 0


@part
def _last_narrow(state: State, order: Ints) -> int:
    """Return the place of the last job that wants no more than the free nodes; −1: none does.

    Free is what the node table says is free: idle nodes and those that are completing.
    """
    state.plan.free[:] = state.idle | state.completing
    free = count_nodes(state.plan.free)
    place = order.size - 1
    while place >= 0 and state.jobs[order[place]].procs > free:
        place -= 1
    return place


@part
def _expect_ends(state: State) -> None:
    """Sort the running jobs by their expected ends; completing jobs no longer count."""
    state.plan.extent[0].running = 0
    for place in range(state.clock[0].active):
        if state.jobs[state.active[place]].state == RUNNING:
            _expect_end(state, state.active[place])


@part
def _expect_end(state: State, number: int) -> None:
    """Put a job among the running ones, after those that are expected to end with it."""
    extent, running, jobs = state.plan.extent[0], state.plan.running, state.jobs
    place = extent.running
    while place > 0 and jobs[running[place - 1]].expected > jobs[number].expected:
        running[place] = running[place - 1]
        place -= 1
    running[place] = number
    extent.running += 1

"""The end of a job: its nodes complete, are released, and the thread that looks notices that."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part, shift
from onega.kernels.slurm.clock import changes
from onega.kernels.slurm.nodes import add_nodes, remove_nodes
from onega.kernels.slurm.state import COMPLETING, OVER, RELEASED, RUNNING, State

FIRST_LOOK, LONGEST_LOOK = 0.005, 1.0
"""Seconds between the looks of the thread that asked a job's nodes: each time twice as many."""


@compiled
def next_end(state: State) -> tuple[float, int]:
    """Return when the next active job ends, is released or is noticed, and its place."""
    best, which = np.inf, -1
    for place in range(state.clock[0].active):
        when = state.jobs[state.active[place]].next
        if when < best:
            best, which = when, place
    return best, which


@compiled
def end_or_release(state: State, place: int) -> None:
    """Let the next thing happen to an active job: its end, its release, or the notice of that."""
    c, number = state.clock[0], state.active[place]
    job = state.jobs[number]
    if job.state == RELEASED:
        _notice(state, place)
        return
    c.planned = -1
    changes(state)
    if job.state == RUNNING:
        job.state = COMPLETING
        takes = job.release + job.reports
        job.next = c.now + takes
        job.noticed = max(job.next, c.now + _seen_after(takes))
        add_nodes(state.completing, state.held[number])
        state.ends[c.to_forget] = np.floor(c.now)
        c.to_forget += 1
        return
    job.state = RELEASED
    remove_nodes(state.completing, state.held[number])
    add_nodes(state.idle, state.held[number])
    job.next = job.noticed
    if job.next == c.now:
        _notice(state, place)


@part
def _seen_after(takes: float) -> float:
    """Return after how long it is seen that something which takes so long is over."""
    step, seen = FIRST_LOOK, 0.0
    while seen < takes and step < LONGEST_LOOK:
        seen += step
        step *= 2.0
    return seen + max(0.0, np.ceil((takes - seen) / LONGEST_LOOK)) * LONGEST_LOOK


@part
def _notice(state: State, place: int) -> None:
    """See that a job's nodes are free again, and ask for a main pass."""
    c = state.clock[0]
    state.jobs[state.active[place]].state = OVER
    c.active -= 1
    # In the order of the starts: of jobs that end at one instant the first that started is first.
    shift(state.active, place, place + 1, c.active - place)
    c.over += 1
    c.asked = 1

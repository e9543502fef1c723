"""Slurm's scheduler: main passes at events and intervals, backfill cycles over a plan of nodes.

A model of slurmctld with sched/backfill, select/linear, one partition and whole nodes, as of
Slurm 22.05. Its clock has whole seconds; so have starts, limits and plans. What happens:

- A submission asks for a main pass, which comes with the next beat of the background loop (once a
  second) that is at least ``batch_sched_delay`` after the last such pass. Every
  ``sched_interval`` a beat makes a pass over the whole queue, else over the first
  ``default_queue_depth`` jobs.
- The end of a job leaves its nodes "completing" until the last of them has answered; then they are
  idle, all at once. The thread that asked them looks after 5, 10, 20, … ms (1 s at most) whether it
  is over; when it sees that, it asks for a main pass too. Jobs that end together don't wait for
  each other.
- A job that ended ``min_job_age`` ago is forgotten by a beat (of those that look for old jobs, once
  a minute). That is a change, too: it may bring a backfill cycle, and so moves those after it.
- A main pass starts jobs in the order of priority until one doesn't fit.
- The backfill cycle sleeps ``bf_interval`` after its last end, and then in steps of a second until
  something has changed. It goes through the queue with a plan (table of times and nodes): each
  job gets the earliest start that the plan and the expected ends of running jobs allow; it
  starts, or its nodes are taken out of the plan, rounded down to ``bf_resolution``. Every job that
  a cycle reaches gets such a reservation, so that Slurm's backfilling is conservative.
- A cycle is itself a change if free nodes are planned for a job (it marks them so, and the next
  cycle takes the marks away), or if a job has to wait for what is planned for another. So cycles
  nearly always come every ``bf_interval`` while jobs wait.

What changes nothing isn't done: beats and wakings that find that it isn't time yet are skipped
(`onega.kernels.slurm.clock`), plans are made as far as they can matter (`…slurm.backfill`), and
while no job can start the loops' pattern repeats itself and is jumped over. Starts are those of a
controller that does it all.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import by_reference, compiled, kernel
from onega.kernels.slurm.backfill import backfill_cycle
from onega.kernels.slurm.clock import changes, is_old, repeats, skip_dull
from onega.kernels.slurm.ends import end_or_release, next_end
from onega.kernels.slurm.main_pass import main_pass, passes_in_vain
from onega.kernels.slurm.state import PENDING, State

DONE, MORE, STUCK = 0, 1, 2
"""Why the loop stopped: all jobs are over, its rounds are used up, the queue doesn't move."""


@compiled
def _beat(state: State) -> bool:
    """Make the background loop's beat; tell whether it was one with a full pass."""
    c, rules = state.clock[0], state.rules[0]
    now = np.floor(c.now)
    c.beat += rules.beat
    if now - c.last_look >= rules.look_interval:
        c.last_look = now
        if now >= is_old(state):
            changes(state)
        while now >= is_old(state):
            c.forgotten += 1
    if now - c.last_full >= rules.sched_interval:
        c.last_full = c.last_pass = now
        c.asked = 0
        if c.pending:
            c.changed = now
            main_pass(state, c.pending)
        return True
    if c.asked and now - c.last_pass >= rules.batch_sched_delay:
        c.last_pass = now
        c.asked = 0
        main_pass(state, rules.queue_depth)
    return False


@compiled
def _wake(state: State) -> None:
    """Wake the backfill cycle: go through the queue if it is time and anything has changed."""
    c, rules = state.clock[0], state.rules[0]
    now = np.floor(c.now)
    if now - c.last_cycle < rules.bf_interval or c.changed < c.last_cycle:
        c.wake = c.now + rules.doze
        return
    marks = c.marks
    if c.pending == 0:
        c.marks = c.defers = 0
    elif now >= c.quiet:
        backfill_cycle(state)
    if marks or c.marks or c.defers:
        c.changed = now
    c.last_cycle = now
    c.wake = c.now + rules.nap


@compiled
def _arrive(state: State) -> None:
    """Take the next job into the queue; a plan of those before it stays as it is."""
    c = state.clock[0]
    state.jobs[c.arrived].state = PENDING
    state.queue[c.pending] = c.arrived
    c.pending += 1
    c.arrived += 1
    c.asked = 1
    changes(state)


@compiled
def _jump(state: State, something: float) -> None:
    """Jump over what repeats itself, if no job can start before something happens."""
    c = state.clock[0]
    until = min(something, is_old(state))
    if c.pending:
        if c.wake < np.inf:
            until = min(until, c.quiet)
        if not passes_in_vain(state):
            return
    if until < np.inf:
        repeats(state, until)


@kernel
def run_slurm(given: State, rounds: int) -> int:
    """Go through at most ``rounds`` events; return why it stopped (DONE, MORE, STUCK)."""
    state = by_reference(given)
    c, rules, jobs = state.clock[0], state.rules[0], state.jobs
    idle_beats = 0
    for _ in range(rounds):
        if c.over == jobs.size:
            return DONE
        ending, which = next_end(state)
        arriving = jobs[c.arrived].submit if c.arrived < jobs.size else np.inf
        something = min(ending, arriving)
        if something == np.inf and c.pending:
            # Nothing runs and nothing comes: the queue has to move within a few cycles.
            idle_beats += 1
            if idle_beats > 4 * (rules.sched_interval + rules.bf_interval + 9):
                return STUCK
        else:
            idle_beats = 0
        skip_dull(state, something)
        c.now = min(min(something, c.beat), c.wake)
        if c.now == ending:
            end_or_release(state, which)
        elif c.now == arriving:
            _arrive(state)
        elif c.now == c.beat:
            if _beat(state):
                _jump(state, something)
        else:
            _wake(state)
    return MORE

"""slurmctld's loops as a clock: which of their turns matter, and when they repeat themselves.

The background loop beats, and the backfill cycle wakes, about once a second; nearly always to find
that it isn't time yet. Those turns are skipped. While no job can start, what is left of the two
loops is a pattern: as soon as they stand to each other, and in their second, as they did at an
earlier full pass, whole periods are jumped over.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from onega.kernels.jit import part
from onega.kernels.slurm.state import State

TICK: Final = 2.0**-10
"""Seconds. The loops stand at whole ticks, and their turns take whole ticks: so sums of them are
exact, and it makes no difference how many turns are skipped at once."""


@part
def _turns(first: float, period: float, until: float) -> float:
    """Return how many turns after ``first`` a loop comes to ``until`` or beyond; at least 0."""
    turns = max(np.ceil((until - first) / period), 0.0)
    # The quotient is rounded: the product decides.
    if turns > 0.0 and first + (turns - 1.0) * period >= until:
        turns -= 1.0
    elif first + turns * period < until:
        turns += 1.0
    return turns


@part
def is_old(state: State) -> float:
    """Return from which time on a job has ended long enough ago to be forgotten; ∞: none has."""
    c = state.clock[0]
    if c.forgotten == c.to_forget:
        return np.inf
    return state.ends[c.forgotten] + state.rules[0].min_job_age


@part
def skip_dull(state: State, something: float) -> None:
    """Move beat and waking to where they do something, or where ``something`` else happens."""
    c, rules = state.clock[0], state.rules[0]
    until = min(c.last_full + rules.sched_interval, c.last_look + rules.look_interval, something)
    if c.asked:
        until = min(until, c.last_pass + rules.batch_sched_delay)
    beat = c.beat + rules.beat * _turns(c.beat, rules.beat, until)
    if c.wake < np.inf:
        cycle = c.last_cycle + rules.bf_interval
        if c.changed < c.last_cycle:
            # Only what comes next can change that.
            cycle = max(cycle, min(beat, something))
        c.wake += rules.doze * _turns(c.wake, rules.doze, cycle)
        if c.wake < beat:
            # A job that the cycle starts may end, and ask for a pass, before that beat.
            beat = c.beat + rules.beat * _turns(c.beat, rules.beat, c.wake)
    c.beat = beat


@part
def changes(state: State) -> None:
    """Forget what was known of the seconds to come: a job came, went, started or was forgotten."""
    c = state.clock[0]
    c.changed = np.floor(c.now)
    c.quiet = -np.inf
    c.seen = 0
    c.remember = 1


@part
def repeats(state: State, until: float) -> None:
    """Jump by whole periods, if the loops stand as they did at an earlier full pass.

    Right after a full pass no pass is asked for, and both passes are of this second; so how the
    loops stand is told by where in its second the beat is, the time to the next waking, the times
    since the last look for old jobs and the last cycle (from ``bf_interval`` on it no longer
    matters), whether anything has changed since that cycle, or in this very second, and whether
    that cycle has marked nodes. An earlier standing is remembered at the 1st, 2nd, 4th, 8th, … pass
    (Brent 1980), so that any period is found.
    """
    c, bf_interval = state.clock[0], state.rules[0].bf_interval
    now = np.floor(c.now)
    ahead, look = c.wake - c.beat, now - c.last_look
    lag = 0.0 if c.wake == np.inf else min(now - c.last_cycle, bf_interval)
    stale = 4 * c.marks + 2 * (c.changed < c.last_cycle) + (c.changed < now)
    period = c.beat - c.beat_then
    c.seen += 1
    alike = ahead == c.wake_then and look == c.look_then and lag == c.lag_then
    if c.seen > 1 and alike and stale == c.stale_then and period == np.floor(period):
        farthest = c.beat if c.wake == np.inf else max(c.beat, c.wake)
        jumped = period * (np.floor((until - farthest) / period) - 1.0)
        if jumped > 0.0:
            c.beat += jumped
            c.wake += jumped
            c.last_full += jumped
            c.last_pass += jumped
            c.last_look += jumped
            c.last_cycle += jumped
            c.changed += jumped
            c.seen = 0
            c.remember = 1
            return
    if c.seen >= c.remember:
        c.remember = 2 * c.seen
        c.beat_then, c.wake_then, c.look_then = c.beat, ahead, look
        c.lag_then, c.stale_then = lag, stale

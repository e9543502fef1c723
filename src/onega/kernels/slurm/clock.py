"""slurmctld's loops as a clock: which of their seconds matter, and when they repeat themselves.

The background loop beats, and the backfill cycle wakes, once a second; nearly always to find that
it isn't time yet. Those seconds are skipped, with the times that adding one at a time would give,
to the last bit. While no job can start, what is left of the two loops is a pattern: as soon as
they stand to each other as they did at an earlier full pass, whole periods are jumped over.
"""

from __future__ import annotations

import math

import numpy as np

from onega.kernels.jit import part
from onega.kernels.slurm.state import State


@part
def _exact_until(time: float) -> float:
    """Return up to where whole seconds can be added to a time without rounding."""
    if time >= 1.0:
        _, exponent = math.frexp(time)
        return math.ldexp(1.0, exponent)
    return 0.0 if time < 0.0 else time


@part
def add_seconds(time: float, seconds: float) -> float:
    """Add a number of seconds, one at a time; in one go where nothing is rounded on the way."""
    while seconds >= 1.0:
        step = min(seconds, max(np.floor(_exact_until(time) - time), 1.0))
        time += step
        seconds -= step
    return time


@part
def next_forgotten(state: State) -> float:
    """Return the next second at which old jobs are forgotten."""
    c = state.clock[0]
    return state.forget[c.forgotten] if c.forgotten < c.to_forget else np.inf


@part
def skip_dull(state: State, something: float) -> None:
    """Move beat and waking to where they do something, or where ``something`` else happens."""
    c, rules = state.clock[0], state.rules[0]
    beats = min(c.last_full + rules.sched_interval, next_forgotten(state)) - np.floor(c.beat)
    if c.asked:
        beats = min(beats, c.last_pass + rules.batch_sched_delay - np.floor(c.beat))
    if something > c.beat:
        c.beat = add_seconds(c.beat, min(beats, np.ceil(something - c.beat)))
    if c.wake == np.inf:
        return
    wakes = c.last_cycle + rules.bf_interval - np.floor(c.wake)
    if c.changed < c.last_cycle:
        # Only what comes next can change that.
        wakes = max(wakes, np.ceil(min(c.beat, something) - c.wake))
    c.wake = add_seconds(c.wake, wakes)


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
    loops stand is told by the time to the next waking, the time since the last cycle (from
    ``bf_interval`` on it no longer matters), whether anything has changed since that cycle, or
    in this very second, and whether that cycle has marked nodes. An earlier standing is remembered
    at the 1st, 2nd, 4th, 8th, … pass (Brent 1980), so that any period is found.
    """
    c, bf_interval = state.clock[0], state.rules[0].bf_interval
    now = np.floor(c.now)
    ahead = c.wake - c.beat
    lag = 0.0 if c.wake == np.inf else min(now - c.last_cycle, bf_interval)
    stale = 4 * c.marks + 2 * (c.changed < c.last_cycle) + (c.changed < now)
    c.seen += 1
    if c.seen > 1 and ahead == c.wake_then and lag == c.lag_then and stale == c.stale_then:
        period = c.beat - c.beat_then
        if period != np.floor(period):
            c.seen, c.remember = 0, 1  # a time was rounded on the way: once more
            return
        end = min(until, _exact_until(c.beat))
        farthest = c.beat
        if c.wake < np.inf:
            end = min(end, _exact_until(c.wake))
            farthest = max(c.beat, c.wake)
        jumped = period * (np.floor((end - farthest) / period) - 1.0)
        if jumped > 0.0:
            c.beat += jumped
            c.wake += jumped
            c.last_full += jumped
            c.last_pass += jumped
            c.last_cycle += jumped
            c.changed += jumped
            c.seen = 0
            c.remember = 1
            return
    if c.seen >= c.remember:
        c.remember = 2 * c.seen
        c.beat_then, c.wake_then, c.lag_then, c.stale_then = c.beat, ahead, lag, stale

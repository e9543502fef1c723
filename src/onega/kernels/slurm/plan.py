"""The plan of Slurm's backfill cycle: which nodes are promised to no job, from when to when.

A plan that was made at one second and starts no job often says the same for many seconds to come:
nothing in it depends on the time but the first slot's begin, the window's end, and whether a job
that would start now ends before a slot begins. ``PLAN.until`` is the time up to which each of
these comparisons comes out as it did, so that a cycle before it needs no plan of its own, and the
jobs that came in between are planned on top of the plan that there is.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part, shift
from onega.kernels.slurm.nodes import (
    Words,
    add_nodes,
    are_equal,
    best_fit,
    count_nodes,
    is_subset,
    overlap,
    remove_nodes,
)
from onega.kernels.slurm.state import Plan, State

MOST_TRIES = 10_000
"""A job is tried at so many instants at most; the real cycle gives up after ``bf_max_time``."""


@part
def clear_plan(plan: Plan, now: float, window: float, every: Words) -> None:
    """Begin with one slot in which every node is free."""
    plan.extent[0].slots = 1
    plan.unpromised[0] = every
    plan.planned[:] = 0
    plan.extent[0].until = np.inf
    move_plan(plan, now, window)


@part
def move_plan(plan: Plan, now: float, window: float) -> None:
    """Let the first slot begin now, and the window end as much later."""
    plan.bounds[0] = now
    plan.bounds[plan.extent[0].slots] = now + window


@part
def _holds_until(plan: Plan, time: float) -> None:
    """Note that something comes out otherwise from a time on."""
    plan.extent[0].until = min(plan.extent[0].until, time)


@part
def plan_ends_with(state: State) -> None:
    """Note that a plan without a start holds until its next slot, or a running job's end, comes."""
    plan = state.plan
    if plan.extent[0].slots > 1:
        _holds_until(plan, plan.bounds[1])
    for number in plan.running[: plan.extent[0].running]:
        if state.jobs[number].expected > plan.bounds[0]:
            _holds_until(plan, state.jobs[number].expected)


@part
def _split(plan: Plan, slot: int, time: float) -> None:
    """Cut a slot in two at a time within it."""
    count = plan.extent[0].slots
    shift(plan.bounds, slot + 2, slot + 1, count - slot)
    plan.bounds[slot + 1] = time
    plan.unpromised[slot + 1 : count + 1] = plan.unpromised[slot:count]
    plan.extent[0].slots = count + 1


@compiled
def reserve(plan: Plan, start: float, until: float) -> None:
    """Promise the chosen nodes to a job: out of every slot between its start and its end."""
    extent, bounds = plan.extent[0], plan.bounds
    start = max(start, bounds[0])
    slot = 0
    while slot < extent.slots and bounds[slot + 1] <= start:
        slot += 1
    if slot < extent.slots and bounds[slot] < start:
        _split(plan, slot, start)
        slot += 1
    first = slot
    if until >= bounds[extent.slots]:
        # The window reaches its end later: a slot begins there.
        _holds_until(plan, until - (bounds[extent.slots] - bounds[0]))
    while slot < extent.slots and bounds[slot] < until:
        if until < bounds[slot + 1]:
            _split(plan, slot, until)
        remove_nodes(plan.unpromised[slot], plan.chosen)
        slot += 1
    _join_equal(plan, max(first - 2, 0), slot)


@part
def _join_equal(plan: Plan, first: int, last: int) -> None:
    """Join the first two neighbours with the same nodes, from a slot up to another; no more.

    Slurm does so after each reservation, from the slot before the last one that ends by then. A
    cut that is left over matters: the time after it is looked at on its own.
    """
    count = plan.extent[0].slots
    for slot in range(first, min(last, count - 1)):
        if are_equal(plan.unpromised[slot], plan.unpromised[slot + 1]):
            shift(plan.bounds, slot + 1, slot + 2, count - slot - 1)
            plan.unpromised[slot + 1 : count - 1] = plan.unpromised[slot + 2 : count]
            plan.extent[0].slots = count - 1
            return


@compiled
def _find_allowed(plan: Plan, earliest: float, until: float) -> tuple[float, float]:
    """Find the nodes that are promised to no job throughout.

    Returns when to look again (0: never), and the begin of the first slot that is too late to
    matter (∞: none is).
    """
    count, bounds, allowed = plan.extent[0].slots, plan.bounds, plan.allowed
    allowed[:] = ~np.uint64(0)
    later = 0.0
    for slot in range(count):
        if bounds[slot + 1] <= earliest:
            continue
        # If what follows offers nothing new, it isn't worth a look of its own.
        if slot + 1 < count and later == 0.0:
            for word in range(allowed.size):
                here = allowed[word] & plan.unpromised[slot, word]
                if plan.unpromised[slot + 1, word] & ~here != 0:
                    later = bounds[slot + 1]
                    break
        if bounds[slot] > until:
            return later, bounds[slot]
        for word in range(allowed.size):
            allowed[word] &= plan.unpromised[slot, word]
    return later, np.inf


@compiled
def _enough_at(state: State, now: float, wanted: int) -> float:
    """Return when running jobs, ending one by one at their limits, leave enough allowed nodes."""
    plan = state.plan
    usable, allowed = plan.usable, plan.allowed
    usable[:] = plan.free & allowed
    if count_nodes(usable) >= wanted:
        return now
    for number in plan.running[: plan.extent[0].running]:
        held = state.held[number]
        for word in range(usable.size):
            usable[word] |= held[word] & allowed[word]
        if count_nodes(usable) >= wanted:
            # A job past its limit is expected to end any moment.
            end = state.jobs[number].expected
            return end if end > now else now + 1.0
    return np.inf


@part
def _conflicts(plan: Plan, start: float, until: float) -> bool:
    """Tell whether a chosen node is promised to another job between two times."""
    for slot in range(plan.extent[0].slots):
        if (
            plan.bounds[slot + 1] > start
            and plan.bounds[slot] < until
            and not is_subset(plan.chosen, plan.unpromised[slot])
        ):
            return True
    return False


@compiled
def plan_job(state: State, number: int, now: float) -> float:
    """Find a job's start; reserve for it unless that is now. Returns ∞ if it gets no reservation.

    If it is now, ``plan.allowed`` are the nodes that it may have.
    """
    plan, rules = state.plan, state.rules[0]
    limit, wanted = state.jobs[number].limit, state.jobs[number].procs
    resolution, grid = rules.bf_resolution, rules.grid
    last = plan.bounds[plan.extent[0].slots]
    later = now
    for _ in range(MOST_TRIES):
        earliest = later
        later, beyond = _find_allowed(plan, earliest, max(earliest, now) + limit)
        start = np.inf
        if count_nodes(plan.allowed) >= wanted:
            start = _enough_at(state, now, wanted)
        if earliest == now and not (later > 0.0 and max(start, earliest) > later):
            # Later, it would end after the slot has begun. (Where this try is given up for the
            # next one, it would be all the more: there are only fewer nodes allowed then.)
            _holds_until(plan, beyond - limit)
        if start == np.inf:
            if later > 0.0:
                continue
            return np.inf
        if start < earliest:
            start = earliest
            state.clock[0].defers = 1
        if start == now + 1.0:
            _holds_until(plan, now)  # a second from now, whenever that is
        if later > 0.0 and start > later:
            continue
        best_fit(plan.usable, wanted, rules.nodes, plan.chosen)
        if start <= now:
            if not overlap(plan.chosen, state.completing):
                return now
            # Wait for the nodes that are about to be released.
            start = now + 1.0
            later = 0.0
            _holds_until(plan, now)
        if start >= last:
            _holds_until(plan, start - (last - now))
        if start > last:
            return np.inf
        from_then = grid + np.floor((start - grid) / resolution) * resolution
        until = grid + np.floor((start + limit - grid) / resolution) * resolution
        if until > now:
            _holds_until(plan, until)
        if start > now and _conflicts(plan, from_then, until):
            if start <= earliest:
                return np.inf
            later = start
            continue
        if plan.extent[0].slots + 2 <= plan.unpromised.shape[0]:
            add_nodes(plan.planned, plan.chosen)
            reserve(plan, from_then, max(until, from_then + resolution))
        return start
    return np.inf

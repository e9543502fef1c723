"""The plan of Slurm's backfill cycle: which nodes are promised to nobody, from when to when.

A plan that was made at one second and starts nobody often says the same for many seconds to come:
nothing in it depends on the time but the first slot's begin, the window's end, and whether a job
that would start now ends before a slot begins. ``Plan.until`` keeps the time up to which each of
these comparisons comes out as it did, so that a cycle before it needs no plan of its own, and the
jobs that came in between are planned on top of the plan that there is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import part
from onega.kernels.slurm.nodes import Words, best_fit, count_nodes, is_subset, overlap
from onega.kernels.types import Floats, Ints

MOST_TRIES = 10_000
"""A job is tried at so many instants at most; the real cycle gives up after ``bf_max_time``."""


class Plan(NamedTuple):
    """Slots in the order of time: ``begin`` ≤ t < ``end``, and the nodes not promised there.

    ``size[0]`` slots are in use; ``last[0]`` is the end of the window that plans are made for.
    Up to ``until[0]``, exclusive, a plan made at any time is this one, but for the begin of its
    first slot and the end of its last; as long as nothing but time has changed.
    """

    begin: Floats
    end: Floats
    nodes: npt.NDArray[np.uint64]
    size: Ints
    last: Floats
    until: Floats


@part
def clear_plan(plan: Plan, now: float, window: float, every: Words) -> None:
    """Begin with one slot in which every node is free."""
    plan.size[0] = 1
    plan.nodes[0] = every
    plan.until[0] = np.inf
    move_plan(plan, now, window)


@part
def move_plan(plan: Plan, now: float, window: float) -> None:
    """Let the first slot begin now, and the window end as much later."""
    plan.begin[0] = now
    plan.last[0] = plan.end[plan.size[0] - 1] = now + window


@part
def _holds_until(plan: Plan, time: float) -> None:
    """Note that something comes out otherwise from a time on."""
    plan.until[0] = min(plan.until[0], time)


@part
def plan_ends_with(plan: Plan, ends: Floats) -> None:
    """Note that a plan without a start holds until its next slot, or a running job's end, comes."""
    if plan.size[0] > 1:
        _holds_until(plan, plan.end[0])
    for end in ends:
        if end > plan.begin[0]:
            _holds_until(plan, end)


@part
def _split(plan: Plan, slot: int, time: float) -> None:
    """Cut a slot in two at a time within it."""
    size = plan.size[0]
    for other in range(size, slot, -1):
        plan.begin[other] = plan.begin[other - 1]
        plan.end[other] = plan.end[other - 1]
        plan.nodes[other] = plan.nodes[other - 1]
    plan.end[slot] = time
    plan.begin[slot + 1] = time
    plan.size[0] = size + 1


@part
def reserve(plan: Plan, start: float, until: float, chosen: Words) -> None:
    """Promise nodes to a job: out of every slot between its start and its end."""
    start = max(start, plan.begin[0])
    slot = 0
    while slot < plan.size[0] and plan.end[slot] <= start:
        slot += 1
    if slot == plan.size[0]:
        return
    if plan.begin[slot] < start:
        _split(plan, slot, start)
        slot += 1
    if until >= plan.last[0]:
        # The window reaches its end later: a slot begins there.
        _holds_until(plan, until - (plan.last[0] - plan.begin[0]))
    while slot < plan.size[0] and plan.begin[slot] < until:
        if until < plan.end[slot]:
            _split(plan, slot, until)
        for word in range(chosen.size):
            plan.nodes[slot, word] &= ~chosen[word]
        slot += 1


@part
def _available(plan: Plan, earliest: float, until: float, allowed: Words) -> tuple[float, float]:
    """Find the nodes that nobody is promised throughout.

    Returns when to look again (0: never), and the begin of the first slot that is too late to
    matter (∞: none is).
    """
    for word in range(allowed.size):
        allowed[word] = ~np.uint64(0)
    later = 0.0
    for slot in range(plan.size[0]):
        if plan.end[slot] <= earliest:
            continue
        # If what follows offers nothing new, it isn't worth a look of its own.
        if slot + 1 < plan.size[0] and later == 0.0:
            for word in range(allowed.size):
                if plan.nodes[slot + 1, word] & ~(allowed[word] & plan.nodes[slot, word]) != 0:
                    later = plan.end[slot]
                    break
        if plan.begin[slot] > until:
            return later, plan.begin[slot]
        for word in range(allowed.size):
            allowed[word] &= plan.nodes[slot, word]
    return later, np.inf


@part
def _will_run(now: float, job: Any, sets: Any, running: Any) -> float:  # noqa: ANN401
    """Return when running jobs, ending one by one at their limits, leave enough allowed nodes."""
    wanted, nodes = job
    free, allowed, chosen = sets
    held, by_end, ends = running
    usable = free & allowed
    if count_nodes(usable) >= wanted:
        best_fit(usable, wanted, nodes, chosen)
        return now
    for place in range(by_end.size):
        for word in range(usable.size):
            usable[word] |= held[by_end[place], word] & allowed[word]
        if count_nodes(usable) >= wanted:
            best_fit(usable, wanted, nodes, chosen)
            # A job past its limit is expected to end any moment.
            return ends[place] if ends[place] > now else now + 1.0
    return np.inf


@part
def _conflicts(plan: Plan, start: float, until: float, chosen: Words) -> bool:
    for slot in range(plan.size[0]):
        if (
            plan.end[slot] > start
            and plan.begin[slot] < until
            and not is_subset(chosen, plan.nodes[slot])
        ):
            return True
    return False


@part
def plan_job(plan: Plan, job: Any, sets: Any, running: Any) -> float:  # noqa: ANN401
    """Find a job's start; reserve for it unless that is now. Returns ∞ if it gets no reservation.

    ``job``: now, limit, width, resolution, number of nodes; ``sets``: free nodes, completing
    nodes, scratch for the allowed and the chosen; ``running``: nodes by job, running jobs by
    expected end, those ends.
    """
    now, limit, wanted, resolution, nodes = job
    free, completing, allowed, chosen = sets
    window = plan.last[0] - now
    later = now
    for _ in range(MOST_TRIES):
        earliest = later
        later, beyond = _available(plan, earliest, max(earliest, now) + limit, allowed)
        start = np.inf
        if count_nodes(allowed) >= wanted:
            start = _will_run(now, (wanted, nodes), (free, allowed, chosen), running)
        if earliest == now and not (later > 0.0 and max(start, earliest) > later):
            # Later, it would end after the slot has begun. (Where this try is given up for the
            # next one, it would be all the more: there are only fewer nodes allowed then.)
            _holds_until(plan, beyond - limit)
        if start == np.inf:
            if later > 0.0:
                continue
            return np.inf
        start = max(start, earliest)
        if start <= now:
            if not overlap(chosen, completing):
                return now
            # Wait for the nodes that are about to be released.
            start = now + 1.0
            later = 0.0
        if start == now + 1.0:
            _holds_until(plan, now)  # a second from now, whenever that is
        if later > 0.0 and start > later:
            continue
        if start >= plan.last[0]:
            _holds_until(plan, start - window)
        if start > plan.last[0]:
            return np.inf
        from_then = np.floor(start / resolution) * resolution
        until = np.floor((start + limit) / resolution) * resolution
        if until > now:
            _holds_until(plan, until)
        if start > now and _conflicts(plan, from_then, until, chosen):
            if start <= earliest:
                return np.inf
            later = start
            continue
        if plan.size[0] + 2 <= plan.begin.size:
            reserve(plan, from_then, max(until, from_then + resolution), chosen)
        return start
    return np.inf

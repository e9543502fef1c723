"""Passes of orders whose key depends on the time, and the keys themselves.

A key is evaluated for every waiting job at every pass; the smallest comes first, equal keys in
the order of arrival. Keys are −(priority) of the literature:

==========  ===============================================  ===============================
expansion   (wait + estimate) / estimate                     largest first
WFP3        (wait / estimate)³ · procs                       Tang et al. 2009
UNICEF      wait / (log₂ procs · estimate)                   Tang et al. 2009
own         a function of (now, submit, estimate, procs)     smallest first
==========  ===============================================  ===============================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.kernels.jit import kernel, part
from onega.kernels.pool.engine import BAD_KEY, BLOCKING, CONSERVATIVE, MORE, clock
from onega.kernels.pool.processors import State, start_job
from onega.kernels.structures.profile import (
    profile_begin,
    profile_reserve,
    profile_until,
)
from onega.kernels.structures.sorted_runs import runs_reach
from onega.kernels.structures.waiting_line import UNBOUNDED
from onega.kernels.types import Floats, Ints, Records

EXPANSION, WFP3, UNICEF, OWN = 0, 1, 2, 3

SERIAL_LOG = 1e-9
"""log₂ 1 = 0 would divide by zero in UNICEF: serial jobs come first, by wait / estimate."""


@part
def builtin_key(code: int, now: float, submit: float, expect: float, procs: float) -> float:
    """Evaluate one of the built-in keys."""
    wait = now - submit
    if code == EXPANSION:
        return -(wait + expect) / expect
    if code == WFP3:
        share = wait / expect
        return -(share * share * share) * procs
    return -wait / (max(np.log2(procs), SERIAL_LOG) * expect)


@kernel
def evaluate_once(submit: Floats, expect: Floats, procs: Ints, own: Any, keys: Floats) -> None:  # noqa: ANN401
    """Evaluate a user's own key that doesn't depend on the time, at each job's submission."""
    for job in range(submit.size):
        keys[job] = own(submit[job], submit[job], expect[job], float(procs[job]))


@part
def _evaluate(jobs: Records, queue: Records, count: int, now: float, own: Any) -> int:  # noqa: ANN401
    """Evaluate a user's own key of every waiting job; return a job without one, or −1."""
    for place in range(count):
        job = jobs[queue[place].job]
        key = own(now, job.submit, job.expect, float(job.procs))
        if np.isnan(key):
            return queue[place].job
        queue[place].key = key
    return -1


@part
def _evaluate_builtin(jobs: Records, queue: Records, count: int, now: float, code: int) -> None:
    for place in range(count):
        job = jobs[queue[place].job]
        queue[place].key = builtin_key(code, now, job.submit, job.expect, float(job.procs))


@part
def _first(queue: Records, count: int) -> int:
    """Return the place of the smallest key; −1 if no job waits. Places of −1 are empty."""
    best = -1
    for place in range(count):
        if queue[place].job >= 0 and (best < 0 or queue[place].key < queue[best].key):
            best = place
    return best


@part
def _close_ranks(queue: Records, count: int) -> int:
    """Squeeze the empty places out, keeping the order of arrival; return how many wait."""
    kept = 0
    for place in range(count):
        if queue[place].job >= 0:
            queue[kept].job = queue[place].job
            kept += 1
    return kept


@part
def _sorted_places(jobs: Records, queue: Records, count: int, widest: int) -> Ints:
    """Return the places of jobs no wider than ``widest``, by key."""
    places = np.empty(count, np.int64)
    keys = np.empty(count)
    found = 0
    for place in range(count):
        job = queue[place].job
        if job >= 0 and jobs[job].procs <= widest:
            places[found] = place
            keys[found] = queue[place].key
            found += 1
    return places[np.argsort(keys[:found], kind="mergesort")]


@part
def _last_hope(state: State, places: Ints, first: int, last: int) -> int:
    """Return the last of places[first:last + 1] whose job can start now beside what is planned.

    A plan only fills up: no job behind it needs a reservation in this pass.
    """
    m = state.machine[0]
    v = clock(m)
    while last >= first:
        job = state.jobs[state.queue[places[last]].job]
        if (
            job.procs <= m.free
            and profile_until(state.profile, job.procs, v + job.expect) == np.inf
        ):
            return last
        last -= 1
    return last


@part
def _start(state: State) -> None:
    """Start and backfill, the keys being known; started jobs leave their places empty."""
    m, jobs, queue = state.machine[0], state.jobs, state.queue
    count = state.waiting.jobs[0]
    conservative = m.backfill == CONSERVATIVE
    v = clock(m)
    shadow, extra, need = -np.inf, 0, 0
    if not conservative:
        head = _first(queue, count)
        while head >= 0 and jobs[queue[head].job].procs <= m.free:
            start_job(state, queue[head].job)
            queue[head].job = -1
            head = _first(queue, count)
        if head >= 0:
            need = jobs[queue[head].job].procs
            shadow, extra = runs_reach(state.runs, m.free, need, v)
            extra -= need
    places = _sorted_places(jobs, queue, count, UNBOUNDED if conservative else m.free)
    if m.backfill == BLOCKING or m.free == 0:
        places = places[:0]
    if conservative:
        profile_begin(state.profile, state.runs, m.free, v)
    last = places.size - 1
    for number in range(places.size):
        if conservative:
            last = _last_hope(state, places, number, last)
            if last < number:
                break
        place = places[number]
        job = jobs[queue[place].job]
        if conservative:
            begin, _ = profile_reserve(state.profile, job.procs, job.expect, 1)
            fits = begin == v
        else:
            fits = v + job.expect <= shadow
            if not fits and job.procs <= extra and job.procs <= m.free:
                fits = True
                extra -= job.procs
        if fits and job.procs <= m.free:
            start_job(state, queue[place].job)
            queue[place].job = -1
            if m.free == 0:
                break


@part
def newcomer_keyed(state: State, number: int) -> bool:
    """Queue a newcomer; a full pass is always needed."""
    count = state.waiting.jobs[0]
    state.queue[count].job = number
    state.waiting.jobs[0] = count + 1
    return True


@part
def pass_keyed(state: State, own: Any) -> int:  # noqa: ANN401
    """One pass of an order by key; returns MORE, or BAD_KEY and the culprit."""
    m = state.machine[0]
    count = state.waiting.jobs[0]
    if count == 0 or m.free == 0:
        return MORE
    if m.key == OWN:
        culprit = _evaluate(state.jobs, state.queue, count, m.now, own)
        if culprit >= 0:
            m.culprit = culprit
            return BAD_KEY
    else:
        _evaluate_builtin(state.jobs, state.queue, count, m.now, m.key)
    _start(state)
    state.waiting.jobs[0] = _close_ranks(state.queue, count)
    return MORE

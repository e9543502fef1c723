"""Scheduling passes of orders by fixed rank: blocking, EASY, conservative.

The queue is searched block by block, see `kernels.structures.waiting_line`; orders whose key
depends on the time are in `keyed`.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.pool.conservative import pass_conservative
from onega.kernels.pool.engine import BLOCKING, CONSERVATIVE, EASY, EASY_2018, clock
from onega.kernels.pool.processors import State, start_job
from onega.kernels.structures.profile import profile_go_on, profile_until
from onega.kernels.structures.sorted_runs import runs_reach
from onega.kernels.structures.waiting_line import (
    BLOCK,
    UNBOUNDED,
    Fit,
    waiting_add,
    waiting_find,
    waiting_head,
    waiting_take,
)


@part
def pass_ranked(state: State) -> None:
    """One full pass."""
    m = state.machine[0]
    if m.backfill == CONSERVATIVE:
        pass_conservative(state)
    elif m.backfill == EASY_2018:
        _pass_easy_2018(state)
    else:
        _pass_easy(state)


@compiled
def _pass_easy(state: State) -> None:
    """Start jobs in order until one doesn't fit; under EASY, backfill behind it.

    The blocked head gets a reservation: the shadow time is when it is expected to fit, the extra
    processors are those that are free then beside it. A later job starts if it fits now and ends,
    by what the scheduler knows, no later than the shadow time, or takes no more than the extra
    processors (which shrink).
    """
    m, waiting = state.machine[0], state.waiting
    v = clock(m)
    shadow, extra = -np.inf, 0
    place, skip = 0, 0
    while waiting.jobs[0] > skip and m.free > 0:
        if skip == 0 and shadow == -np.inf:
            index = waiting_head(waiting)
            need = waiting.entry[index].procs
            if need > m.free:
                if m.backfill == BLOCKING:
                    break
                shadow, extra = runs_reach(state.runs, m.free, need, v)
                extra -= need
                skip = 1
                continue
        else:
            place, index = waiting_find(waiting, place, skip, Fit(m.free, extra, v, shadow))
            if place < 0:
                break
            if v + waiting.entry[index].expect > shadow:
                extra -= waiting.entry[index].procs
        number = waiting.entry[index].job
        gone = waiting_take(waiting, place, index)
        if shadow != -np.inf:
            skip = 0 if gone else index % BLOCK
        start_job(state, number)
    # Until a job ends, only newcomers can profit from this reservation: keep it.
    m.shadow = shadow
    m.extra = extra


@compiled
def _pass_easy_2018(state: State) -> None:
    """Backfilling as Rumyantsev et al. (2018) print it, (13)–(15).

    Candidates are the jobs behind the head that would end *before* its shadow time. They start in
    the order of the queue, and the first that doesn't fit ends the pass; no extra processors.
    """
    m, waiting = state.machine[0], state.waiting
    v = clock(m)
    index = waiting_head(waiting)
    while waiting.jobs[0] > 0 and waiting.entry[index].procs <= m.free:
        number = waiting.entry[index].job
        waiting_take(waiting, 0, index)
        start_job(state, number)
        index = waiting_head(waiting)
    if waiting.jobs[0] > 1 and m.free > 0:
        shadow, _ = runs_reach(state.runs, m.free, waiting.entry[index].procs, v)
        candidates = Fit(UNBOUNDED, 0, v, np.nextafter(shadow, -np.inf))
        place, index = waiting_find(waiting, 0, 1, candidates)
        while place >= 0 and waiting.entry[index].procs <= m.free:
            number = waiting.entry[index].job
            skip = 0 if waiting_take(waiting, place, index) else index % BLOCK
            start_job(state, number)
            place, index = waiting_find(waiting, place, skip, candidates)


@part
def newcomer_ranked(state: State, number: int, alone: bool) -> bool:  # noqa: FBT001
    """Queue a newcomer, or decide on it at once; tells whether it is decided.

    It can be where a full pass could start no other job: nothing else happens now (``alone``), and
    no job waits, or the order blocks, or, under EASY, no job has ended since the head got its
    reservation, that isn't overdue, and the newcomer stands behind the head. Then free processors,
    shadow and extra are as they were, and the clock only went on. Under conservative backfilling
    a job that can't start beside what is planned won't.
    """
    m, waiting, job = state.machine[0], state.waiting, state.jobs[number]
    decided, starts = False, False
    if alone:
        if waiting.jobs[0] == 0:
            starts = job.procs <= m.free
            decided = starts or m.backfill == BLOCKING
        elif job.rank > waiting.entry[waiting_head(waiting)].rank:
            v = clock(m)
            decided = m.backfill == BLOCKING or (m.backfill == EASY and v <= m.shadow)
            if m.backfill == EASY and decided and job.procs <= m.free:
                starts = v + job.expect <= m.shadow
                if not starts and job.procs <= m.extra:
                    starts = True
                    m.extra -= job.procs
            if m.backfill == CONSERVATIVE and v < m.shadow and job.rank > m.planned:
                profile_go_on(state.profile, v)
                until = profile_until(state.profile, job.procs, v + job.expect)
                decided = job.procs > m.free or until < np.inf
    if m.backfill == CONSERVATIVE and (starts or job.rank < m.planned):
        m.shadow = -np.inf  # the plan doesn't know of it
    if starts:
        start_job(state, number)
    else:
        waiting_add(waiting, number, job.rank, job.procs, job.expect)
    return decided

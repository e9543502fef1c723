"""Who comes alone while nothing else happens: decided on without a pass over the queue.

The reservation of the last pass stands then, and whoever couldn't start beside it can't now. Only
for passes of `onega.kernels.detailed_lean`, which these give the same schedules as.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_choose import (
    NOBODY,
    call_newcomer,
    head_blocked,
    lasts,
    lone_newcomer,
    none_allowed,
)
from onega.kernels.detailed_codes import MULTIFACTOR, NO_BACKFILL, STATIC
from onega.kernels.detailed_depth import looked_at, sink_deeper
from onega.kernels.detailed_dips import known_until, look_ahead
from onega.kernels.detailed_lean import begin, decide, next_chance, startable
from onega.kernels.detailed_queue import known_left, queue_add
from onega.kernels.detailed_state import Record, partitions, queued, worths
from onega.kernels.detailed_usage import first_key, renew_keys
from onega.kernels.engine import clock


@callee
def lean_newcomer(s: Record, number: int) -> bool:
    """Decide on a lone newcomer if nothing else has changed; False: a full pass is needed."""
    v = clock(s)
    known = known_until(s) if s.planned else np.inf
    if known == -np.inf:
        return False
    at = lone_newcomer(s, number, v)
    if at < 0:
        return at == NOBODY
    one = queued(s.queue_at)[at]
    if s.planned:
        longest = s.longest if s.molded else one.expect
        if s.parts > 1 or v + longest > known:
            return False
    if next_chance(s, number, at, at + 1, v) == at:
        job = one.job
        option = startable(s, number, job, v)
        if option >= 0:
            call_newcomer(s, number)
            begin(s, number, job, option, v)
    return True


@small
def _longest(s: Record, job: int) -> float:
    """Return how far somebody who comes may look ahead."""
    return float(s.longest if s.molded else known_left(s, job, ints(s.first_option_at)[job]))


@small
def _wait(s: Record, job: int) -> None:
    """Let somebody wait who has been decided on."""
    queue_add(s, job)
    partitions(s.partitions_at)[0].newcomers = 0


@callee
def _to_nobody(s: Record, job: int, v: float) -> None:
    """Decide on somebody who comes while nobody waits."""
    p = partitions(s.partitions_at)[0]
    p.reserved = 0
    p.kept = 0
    p.shadow = np.inf
    s.nodal = 0
    if s.factors and s.now >= s.keys_due:
        s.keys_due = s.now + s.period
    keyed = p.order == MULTIFACTOR
    if keyed and s.restarts:  # else only who waits now will ever wait
        first_key(s, job)
        keyed = False
    nothing = s.all_need and floats(s.total_avail_at)[0] <= 0.0 and not looked_at(s, 0)
    settled = False
    if not nothing and not none_allowed(s, job):
        if s.planned:
            look_ahead(s, v + _longest(s, job))
        option = decide(s, 0, job, v)
        if option >= 0:
            s.waiting += 1
            begin(s, 0, job, option, v)
            return
        settled = p.reservations == NO_BACKFILL or p.reserved > 0
    if keyed:
        first_key(s, job)
    _wait(s, job)
    if settled:
        p.kept = p.reserved == 0 or lasts(s, 0)
        p.head = p.queue


@small
def _goes_first(s: Record, job: int) -> bool:
    """Tell whether somebody who comes stands before the one that the reservation is for."""
    p = partitions(s.partitions_at)[0]
    head = queued(s.queue_at)[p.head]
    if p.order == STATIC:
        return ints(s.rank_at)[job] < head.key
    rank, key = ints(s.queue_rank_at)[job], worths(s.worths_at)[job].key
    if rank != head.rank:
        return rank < head.rank
    return key < head.key or (key == head.key and job < head.job)


@small
def _must_pass(s: Record, job: int, v: float) -> bool:
    """Tell whether somebody who comes can't be decided on by himself."""
    p = partitions(s.partitions_at)[0]
    if not p.kept or v > p.shadow or p.stale or (s.factors and s.now >= s.keys_due):
        return True
    if _goes_first(s, job) or head_blocked(s, 0):
        return True
    return s.planned and v + _longest(s, job) > known_until(s)


@callee
def come_alone(s: Record, job: int) -> None:
    """Let a job start or wait, without a pass if that needs none.

    For one partition by rank or priority, when nothing else has happened since the last pass.
    """
    p = partitions(s.partitions_at)[0]
    v = clock(s)
    deeper = sink_deeper(s, 0)
    if p.waiting == 0:
        _to_nobody(s, job, v)
        return
    if p.order == MULTIFACTOR:
        first_key(s, job)
    if deeper or _must_pass(s, job, v):
        queue_add(s, job)
        if floats(s.total_avail_at)[0] < p.least and not looked_at(s, 0):
            renew_keys(s)  # that is all a pass would do: nobody fits
            p.reserved = 0
            p.kept = 0
            p.newcomers = 0
            return
        p.kept = p.kept and not deeper
        s.pass_due = 1
        return
    if p.reserved and not none_allowed(s, job):
        option = startable(s, 0, job, v)
        if option >= 0:
            s.waiting += 1
            begin(s, 0, job, option, v)
            return
    _wait(s, job)

"""Passes with at most one reservation: blocking orders and EASY, by two rows.

Everything held comes free at some expected end and is not taken again, so that the smallest
availability of a stretch from now on is that of now, or, if the stretch reaches beyond the
reservation's begin (the *shadow*), the smaller of now and then. Two rows are enough: ``avail``, and
``both``: the smaller of ``avail`` and what the reservation leaves at the shadow. What a calendar
takes away in between is in `onega.kernels.detailed_dips`; several reservations, and partitions that
share resources, are in `onega.kernels.detailed_general`.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, move, small
from onega.kernels.detailed_choose import (
    EVERYBODY,
    NOBODY,
    allowed,
    call_newcomer,
    fits_now,
    fits_total,
    lasts,
    lone_newcomer,
    none_allowed,
    plan_first,
    shorter,
)
from onega.kernels.detailed_codes import FIRST_FIT, NO_BACKFILL
from onega.kernels.detailed_deepen import amount_of, lower_dips, reserve_dips
from onega.kernels.detailed_depth import looked_at
from onega.kernels.detailed_dips import (
    copy_row,
    dip_between,
    go_on,
    look_ahead,
    look_further,
    look_through,
)
from onega.kernels.detailed_hold import start
from onega.kernels.detailed_place import enough, place, shared_fit
from onega.kernels.detailed_queue import choices, known_left
from onega.kernels.detailed_state import Record, gots, partitions, queued
from onega.kernels.engine import clock


@callee
def _fits_beside(s: Record, number: int, option: int) -> bool:
    """Find nodes for an option now that are free at the shadow too, beside the reservation."""
    if not fits_total(s, floats(s.total_both_at), number, option):
        return False
    both = floats(s.both_at)
    if not shared_fit(s, both, s.nodes * s.kinds, option):
        return False
    return place(s, both, 0, number, option)


@callee
def _fits_from(s: Record, number: int, option: int, w: float, until: float) -> bool:
    """Tell whether an option fits into ``later``, and the dips up to its end."""
    later, totals = floats(s.later_at), floats(s.total_later_at)
    need = ints(s.chunks_at)[option]
    for k in range(s.kinds):
        if need * floats(s.chunk_at)[option * s.pitch + k] > totals[k]:
            return False
    if not shared_fit(s, later, s.nodes * s.kinds, option):
        return False
    if s.planned and dip_between(s, w, until):
        look_through(s, number, later, w, until)
        window = floats(s.window_at)
        return shared_fit(s, window, s.nodes * s.kinds, option) and enough(
            s, window, 0, number, option
        )
    return s.unit > 0 or enough(s, later, 0, number, option)


@callee
def _first_time(s: Record, number: int, option: int, lasting: float, v: float) -> float:
    """Return when an option fits by the expected ends; ∞ if never. Leaves that row in ``later``."""
    later, totals = floats(s.later_at), floats(s.total_later_at)
    copy_row(s, number, floats(s.avail_at), later)
    for k in range(s.kinds):
        totals[k] = floats(s.total_avail_at)[number * s.kinds + k]
    s.row_end = 0
    s.row_change = 0
    w = v
    while True:
        following = go_on(s, number, w, later, totals)
        if _fits_from(s, number, option, w, w + lasting):
            return w
        if following == np.inf:
            return np.inf
        w = following


@callee
def first_time(s: Record, number: int, job: int, option: int, v: float) -> float:
    """Return when an option fits by the expected ends; ∞ if never. Leaves that row in ``later``."""
    lasting = known_left(s, job, option)
    w = _first_time(s, number, option, lasting, v)
    while s.planned and w + lasting > s.listed:
        look_further(s, w + lasting, v)
        w = _first_time(s, number, option, lasting, v)
    return w


@callee
def reserve_nodes(s: Record, number: int, option: int, lasting: float) -> None:
    """Take an option's nodes out of ``later``, and make ``both`` of it and ``avail``."""
    p = partitions(s.partitions_at)[number]
    avail, later, both = floats(s.avail_at), floats(s.later_at), floats(s.both_at)
    totals = floats(s.total_both_at)
    kinds, shared = s.kinds, s.nodes * s.kinds
    w = p.shadow
    if s.planned and dip_between(s, w, w + lasting):
        look_through(s, number, later, w, w + lasting)
        place(s, floats(s.window_at), 0, number, option)
    else:
        place(s, later, 0, number, option)
    plan_first(s, number, option)
    if lasting > 0.0:
        if s.planned:
            reserve_dips(s, number, option, w, w + lasting)
        for index in range(s.got):
            got = gots(s.got_at)[index]
            for k in range(kinds):
                later[got.node * kinds + k] -= amount_of(s, option, got.node, got.chunks, k)
        for g in range(s.shared):
            later[shared + g] -= floats(s.demand_at)[option * s.shared + g]
    for k in range(kinds):
        totals[number * kinds + k] = 0.0
    for node in range(p.first, p.last):
        for k in range(kinds):
            at = node * kinds + k
            both[at] = min(avail[at], later[at])
            totals[number * kinds + k] += max(both[at], 0.0)
    for g in range(s.shared):
        both[shared + g] = min(avail[shared + g], later[shared + g])


@callee
def _narrow(s: Record, number: int, option: int, reaching: bool) -> None:  # noqa: FBT001
    """After a start: ``both`` has less, and so has ``later`` if the job reaches the shadow."""
    avail, later, both = floats(s.avail_at), floats(s.later_at), floats(s.both_at)
    totals = floats(s.total_both_at)
    kinds, shared = s.kinds, s.nodes * s.kinds
    for index in range(s.got):
        got = gots(s.got_at)[index]
        for k in range(kinds):
            at = got.node * kinds + k
            if reaching:
                later[at] -= amount_of(s, option, got.node, got.chunks, k)
            totals[number * kinds + k] -= max(both[at], 0.0)
            both[at] = min(avail[at], later[at])
            totals[number * kinds + k] += max(both[at], 0.0)
    for g in range(s.shared):
        at = shared + g
        if reaching:
            later[at] -= floats(s.demand_at)[option * s.shared + g]
        both[at] = min(avail[at], later[at])


@small
def _reaches(s: Record, number: int, lasting: float, v: float) -> bool:
    """Tell whether a job that starts now is expected to run at the shadow."""
    p = partitions(s.partitions_at)[number]
    return p.reserved > 0 and not (v + lasting <= p.shadow and p.shadow > v)


@callee
def _find(s: Record, number: int, job: int, option: int, v: float) -> bool:
    """Find nodes for an option now, the reservation respected."""
    lasting = known_left(s, job, option)
    reaching = _reaches(s, number, lasting, v)
    if s.planned and dip_between(s, -np.inf, v + lasting):
        totals = floats(s.total_both_at) if reaching else floats(s.total_avail_at)
        if not fits_total(s, totals, number, option):
            return False
        look_through(s, number, floats(s.both_at if reaching else s.avail_at), -np.inf, v + lasting)
        window = floats(s.window_at)
        return shared_fit(s, window, s.nodes * s.kinds, option) and place(
            s, window, 0, number, option
        )
    if reaching:
        return _fits_beside(s, number, option)
    return fits_now(s, number, option)


@callee
def _startable(s: Record, number: int, job: int, v: float) -> int:
    """Return the option that starts now, the shortest, its nodes found; −1 if none can."""
    first, count = choices(s, job)
    if count == 1:
        return first if _find(s, number, job, first, v) else -1
    best = -1
    for option in range(first, first + count):
        if not allowed(s, job, option):
            continue
        if best >= 0 and not shorter(s, job, option, best):
            continue
        if _find(s, number, job, option, v):
            best = option
    if best >= 0:
        _find(s, number, job, best, v)
    return best


@callee
def _soonest(s: Record, number: int, job: int, v: float) -> tuple[int, float]:
    """Return the option that is over first, and when it begins; −1: none ever fits."""
    first, count = choices(s, job)
    best, begin, over = -1, np.inf, np.inf
    for option in range(first, first + count):
        if not allowed(s, job, option):
            continue
        w = v if _find(s, number, job, option, v) else first_time(s, number, job, option, v)
        until = w + known_left(s, job, option)
        if until < over or (
            until == over and best >= 0 and ints(s.procs_at)[option] < ints(s.procs_at)[best]
        ):
            if w == np.inf:
                continue
            best, begin, over = option, w, until
    return best, begin


@callee
def _reserve_first(s: Record, number: int, job: int, v: float) -> int:
    """Reserve for the first that can't start; returns an option that starts after all, or −1."""
    p = partitions(s.partitions_at)[number]
    first, count = choices(s, job)
    option = first
    if count > 1:
        option, w = _soonest(s, number, job, v)
        if option < 0:
            return -1
        if w == v and _find(s, number, job, option, v):
            return option
    w = first_time(s, number, job, option, v)
    if w != np.inf:
        p.reserved = 1
        p.shadow = w
        p.lasting = known_left(s, job, option)
        reserve_nodes(s, number, option, p.lasting)
    return -1


@callee
def _decide(s: Record, number: int, job: int, v: float) -> int:
    """Return the option that starts now, its nodes found; −1 if none, reserving where due."""
    p = partitions(s.partitions_at)[number]
    first, count = choices(s, job)
    if p.reservations == NO_BACKFILL or p.reserved:
        return _startable(s, number, job, v)
    if count == 1 and _find(s, number, job, first, v):
        return first
    return _reserve_first(s, number, job, v)


@callee
def _begin(s: Record, number: int, job: int, option: int, v: float) -> None:
    """Start a job, and narrow what is left beside the reservation."""
    reaching = _reaches(s, number, known_left(s, job, option), v)
    until = v + known_left(s, job, option)
    p = partitions(s.partitions_at)[number]
    asleep = p.asleep
    start(s, number, job, option)
    if s.planned:
        lower_dips(s, number, option, until)
    if p.reserved:
        _narrow(s, number, option, reaching and until > v)  # of no length: nothing is held then
        if not s.pooled and (p.placement != FIRST_FIT or p.asleep < asleep):
            p.kept = 0  # a reservation made now might lie on other nodes


@small
def _hopeless(s: Record, number: int, entry: int, v: float) -> bool:
    """Tell at a glance that a waiting job can't start: not enough processors."""
    one = queued(s.queue_at)[entry]
    at = number * s.kinds
    if one.procs > floats(s.total_avail_at)[at]:
        return True
    return one.procs > floats(s.total_both_at)[at] and _reaches(s, number, one.expect, v)


@callee
def newcomer_only(s: Record, number: int) -> bool:
    """Decide on a lone newcomer if nothing else has changed; False: a full pass is needed."""
    v = clock(s)
    at = EVERYBODY if s.planned else lone_newcomer(s, number, v)
    if at < 0:
        return at == NOBODY
    job = queued(s.queue_at)[at].job
    option = -1 if _hopeless(s, number, at, v) else _startable(s, number, job, v)
    if option >= 0:
        call_newcomer(s, number)
        _begin(s, number, job, option, v)
    return True


@callee
def pass_simple(s: Record, number: int) -> None:
    """One pass over a partition's queue."""
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    totals = floats(s.total_avail_at)
    v = clock(s)
    p.reserved = 0
    p.kept = 0
    p.shadow = np.inf
    if s.planned:
        look_ahead(s, v + s.longest)
    kept = p.queue
    read, size = p.queue, p.queue + p.waiting
    looked = looked_at(s, number)
    while read < size:
        settled = p.reserved or not looked or p.reservations == NO_BACKFILL
        if settled and totals[number * s.kinds] < p.least:
            break
        job = queue[read].job
        before = p.reserved
        option = -1
        if not none_allowed(s, job):
            if not before or not _hopeless(s, number, read, v):
                option = _decide(s, number, job, v)
            if option < 0 and p.reservations == NO_BACKFILL:
                p.kept = 1
                p.head = kept
                break
        if option >= 0:
            _begin(s, number, job, option, v)
            read += 1
            continue
        if p.reserved and not before:
            p.kept = lasts(s, number)
            p.head = kept
        if kept < read:
            queue[kept] = queue[read]
        kept += 1
        read += 1
    move(queue, kept, read, size - read)
    p.waiting = kept + size - read - p.queue

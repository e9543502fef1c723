"""Passes with at most one reservation where every chunk is one processor.

There totals tell what fits and when: the reservation's begin (the *shadow*) comes from the sorted
expected ends alone, and so does what a job beyond the shadow may take in a pool. On nodes only
such a job needs to know which processors the reservation leaves; the rows that tell are made when
the first of them asks. Both give the same schedules as `onega.kernels.detailed_easy`, which takes
everything else. What the calendar takes away is in `onega.kernels.detailed_ahead`.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, move, small
from onega.kernels.detailed_ahead import fits_dips, fits_on, outlasts_dips, time_by_ends, time_of
from onega.kernels.detailed_bits import first_fit_ones, place_bits
from onega.kernels.detailed_choose import allowed, lasts, none_allowed, shorter
from onega.kernels.detailed_codes import FIRST_FIT, NO_BACKFILL
from onega.kernels.detailed_deepen import lower_dips, reserve_dips
from onega.kernels.detailed_depth import (
    can_wait,
    delay_of_depths,
    looked_at,
    may_wake,
    plan_nodes,
)
from onega.kernels.detailed_dips import look_ahead, look_through
from onega.kernels.detailed_easy import first_time, reserve_nodes
from onega.kernels.detailed_held_bits import build_bits, narrow_bits
from onega.kernels.detailed_hold import start_here
from onega.kernels.detailed_place import place, place_now, shared_fit
from onega.kernels.detailed_queue import choices, known_left
from onega.kernels.detailed_state import (
    ENDS,
    Record,
    ends,
    gots,
    links,
    partitions,
    queued,
    slots,
)
from onega.kernels.engine import clock


@small
def _fits_now(s: Record, number: int, option: int, until: float) -> bool:
    """Tell whether an option fits now, up to its end, whatever is reserved."""
    if ints(s.chunks_at)[option] > floats(s.total_avail_at)[number]:
        return False
    if not shared_fit(s, floats(s.avail_at), s.nodes, option):
        return False
    if not s.planned:
        return True
    have = floats(s.total_avail_at)[number]
    return fits_dips(s, number, option, -np.inf, until) and fits_on(
        s, number, option, floats(s.avail_at), have, until
    )


@callee
def _time_of(s: Record, number: int, job: int, option: int, v: float) -> float:
    """Return when an option fits; ∞ if never."""
    if not s.planned and s.shared <= 1 and s.parts == 1:
        return time_by_ends(s, number, option, v)
    w = time_of(s, number, option, known_left(s, job, option), v)
    return first_time(s, number, job, option, v) if s.nodal else w


@callee
def _soonest(s: Record, number: int, job: int, v: float) -> int:
    """Return the option that is over first, of equal ones the narrowest; −1: none ever fits."""
    first, count = choices(s, job)
    best, over = -1, np.inf
    for option in range(first, first + count):
        lasting = known_left(s, job, option)
        if v + lasting > over or not allowed(s, job, option):
            continue
        w = v
        if not _fits_now(s, number, option, v + lasting):
            w = _time_of(s, number, job, option, v)
        until = w + lasting
        if until < over or (
            until == over and until < np.inf and ints(s.procs_at)[option] < ints(s.procs_at)[best]
        ):
            best, over = option, until
    return best


@callee
def plan_due(s: Record) -> None:
    """Find the nodes of reservations that are to be woken now, before anything else happens."""
    for number in range(s.parts):
        p = partitions(s.partitions_at)[number]
        if p.timer <= s.now and not s.pooled and not p.built:
            _build(s, number)
            p.built = 1


@small
def _reserve(s: Record, number: int, job: int, option: int, v: float) -> None:
    """Reserve for the first that can't start, if it ever fits."""
    p = partitions(s.partitions_at)[number]
    lasting = known_left(s, job, option)
    w = _time_of(s, number, job, option, v)
    if w == np.inf:
        return
    p.reserved = 1
    p.shadow = w
    p.option = option
    p.lasting = lasting
    p.width = ints(s.procs_at)[option]
    p.built = 0
    if s.nodal:
        reserve_nodes(s, number, option, lasting)
        p.built = 1
        p.beside = np.inf
        return
    if s.wake_ahead and not s.pooled:
        p.delay = delay_of_depths(s, number)
    if lasting > 0.0:
        if s.planned:
            reserve_dips(s, number, option, w, w + lasting)
        p.beside -= ints(s.chunks_at)[option]
        for g in range(s.shared):
            floats(s.later_at)[s.nodes + g] -= floats(s.demand_at)[option * s.shared + g]
    if not s.pooled and may_wake(s, number) and not can_wait(s, number):
        _build(s, number)  # which nodes are meant depends on who sleeps now
        p.built = 1


@callee
def _build(s: Record, number: int) -> None:
    """Make the rows of nodes at the shadow, beside the reservation."""
    p = partitions(s.partitions_at)[number]
    avail, later, both = floats(s.avail_at), floats(s.later_at), floats(s.both_at)
    for node in range(p.first, p.last):
        later[node] = avail[node]
    table = ends(s.ends_at)
    index = 0
    while index < ints(s.sizes_at)[ENDS] and table[index].expected <= p.shadow:
        slot = slots(s.slots_at)[table[index].slot]
        index += 1
        link = slot.link if slot.partition == number else -1
        while link >= 0:
            one = links(s.links_at)[link]
            later[one.node] += one.chunks
            link = one.next
    place(s, later, 0, number, p.option)
    if s.wake_ahead:
        plan_nodes(s, number)
    if p.lasting > 0.0:
        for at in range(s.got):
            got = gots(s.got_at)[at]
            later[got.node] -= got.chunks
    total = 0.0
    for node in range(p.first, p.last):
        both[node] = min(avail[node], later[node])
        total += max(both[node], 0.0)
    floats(s.total_both_at)[number] = total


@small
def _fits_beside(s: Record, number: int, option: int, until: float) -> bool:
    """Tell whether an option that fits now does so at the shadow too, beside the reservation."""
    p = partitions(s.partitions_at)[number]
    need = float(ints(s.chunks_at)[option])
    if need > p.beside or not shared_fit(s, floats(s.later_at), s.nodes, option):
        return False
    if s.pooled:
        return True
    if not p.built and s.planes > 0:
        build_bits(s, number)
    elif not p.built:
        _build(s, number)
    p.built = 1
    have = floats(s.total_both_at)[number]
    return need <= have and (
        not s.planned or fits_on(s, number, option, floats(s.both_at), have, until)
    )


@small
def _reaches(s: Record, number: int, until: float, v: float) -> bool:
    """Tell whether a job that would run from now until then is expected to run at the shadow."""
    p = partitions(s.partitions_at)[number]
    return p.reserved > 0 and not (until <= p.shadow and p.shadow > v)


@callee
def begin(s: Record, number: int, job: int, option: int, v: float) -> None:
    """Start a job that fits, and narrow what is left beside the reservation."""
    p = partitions(s.partitions_at)[number]
    until = v + known_left(s, job, option)
    reaching = _reaches(s, number, until, v)
    if p.asleep > 0 and p.reserved and not p.built:
        _build(s, number)  # it might take a node that sleeps, and change their order
        p.built = 1
    bits = ints(s.both_bits_at if reaching else s.avail_bits_at)
    if s.planes == 1:
        first_fit_ones(s, bits, number, ints(s.chunks_at)[option])
    elif s.planes > 1:
        place_bits(s, bits, number, option)
    elif not s.pooled:
        row = floats(s.both_at if reaching else s.avail_at)
        if s.planned and until > s.node_dip:
            look_through(s, number, row, -np.inf, until)
            place(s, floats(s.window_at), 0, number, option)
        elif reaching:
            place(s, row, 0, number, option)
        else:
            place_now(s, number, option)
    asleep = p.asleep
    start_here(s, number, job, option)
    if s.planned:
        lower_dips(s, number, option, until)
    if not p.reserved:
        return
    if not s.pooled and (p.asleep < asleep or p.placement != FIRST_FIT):
        p.kept = 0  # a reservation made now might lie on other nodes
    later = floats(s.later_at)
    reaching = reaching and until > v  # a job of no length holds nothing then
    if reaching:
        p.beside -= ints(s.chunks_at)[option]
        for g in range(s.shared):
            later[s.nodes + g] -= floats(s.demand_at)[option * s.shared + g]
    if p.built and s.planes > 0:
        narrow_bits(s, number, reaching)
    elif p.built:
        avail, both = floats(s.avail_at), floats(s.both_at)
        for at in range(s.got):
            got = gots(s.got_at)[at]
            if reaching:
                later[got.node] -= got.chunks
            left = min(avail[got.node], later[got.node])
            floats(s.total_both_at)[number] += max(left, 0.0) - max(both[got.node], 0.0)
            both[got.node] = left


@small
def startable(s: Record, number: int, job: int, v: float) -> int:
    """Return the shortest option that can start now, the reservation respected; −1: none."""
    first, count = choices(s, job)
    best = -1
    for option in range(first, first + count):
        until = v + known_left(s, job, option)
        if not _fits_now(s, number, option, until):
            continue
        if count > 1 and not allowed(s, job, option):
            continue
        if best >= 0 and not shorter(s, job, option, best):
            continue
        if _reaches(s, number, until, v) and not _fits_beside(s, number, option, until):
            continue
        best = option
    return best


@small
def decide(s: Record, number: int, job: int, v: float) -> int:
    """Return the option that starts now; −1 if none, reserving where due."""
    p = partitions(s.partitions_at)[number]
    if p.reserved or p.reservations == NO_BACKFILL:
        return startable(s, number, job, v)
    option, count = choices(s, job)
    if count > 1:  # it may be over sooner if it waits for another shape
        option = _soonest(s, number, job, v)
        if option < 0:
            return -1
    if _fits_now(s, number, option, v + known_left(s, job, option)):
        return option
    _reserve(s, number, job, option, v)
    return -1


@small
def _next_beside(s: Record, number: int, read: int, size: int, v: float) -> int:
    """Return where the next job stands that may fit now and beside the reservation."""
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    have, beside = floats(s.total_avail_at)[number], p.beside
    if p.built:
        beside = min(beside, floats(s.total_both_at)[number])
    until = p.shadow if p.shadow > v else -np.inf
    if s.shared == 0:
        while read < size:
            one = queue[read]
            if one.procs <= have and (one.procs <= beside or v + one.expect <= until):
                break
            read += 1
        return read
    last = s.nodes + s.shared - 1
    power, power_beside = floats(s.avail_at)[last], floats(s.later_at)[last]
    others = floats(s.avail_at)[s.nodes] if s.shared > 1 else np.inf
    while read < size:
        one = queue[read]
        if (one.procs <= have and one.demand <= power and one.other <= others) and (
            (one.procs <= beside and one.demand <= power_beside) or v + one.expect <= until
        ):
            break
        read += 1
    return read


@small
def next_chance(s: Record, number: int, read: int, size: int, v: float) -> int:
    """Return where the next waiting job stands that may start beside the reservation."""
    while True:
        read = _next_beside(s, number, read, size, v)
        if s.dips == 0 or read == size or outlasts_dips(s, number, queued(s.queue_at)[read], v):
            return read
        read += 1


@callee
def pass_lean(s: Record, number: int) -> None:
    """One pass over a partition's queue."""
    p = partitions(s.partitions_at)[number]
    v = clock(s)
    p.reserved = 0
    p.kept = 0
    p.shadow = np.inf
    s.nodal = 0
    queue = queued(s.queue_at)
    if s.planned:
        look_ahead(s, v + (s.longest if s.molded else p.longest))
    totals = floats(s.total_avail_at)
    # Who stays moves up in blocks: those from ``since`` on belong to ``kept``.
    kept, since = p.queue, p.queue
    read, size = p.queue, p.queue + p.waiting
    looked = looked_at(s, number)
    while read < size:
        settled = p.reserved or not looked or p.reservations == NO_BACKFILL
        if settled and totals[number] < p.least:
            break
        if p.reserved:
            read = next_chance(s, number, read, size, v)
            if read == size:
                break
        job = queue[read].job
        if not none_allowed(s, job):
            before = p.reserved
            option = decide(s, number, job, v)
            if option >= 0:
                begin(s, number, job, option, v)
                if kept < since < read:
                    move(queue, kept, since, read - since)
                kept += read - since
                read += 1
                since = read
                continue
            if p.reservations == NO_BACKFILL or p.reserved > before:
                p.kept = p.reserved == 0 or lasts(s, number)
                p.head = kept + read - since
            if p.reservations == NO_BACKFILL:
                break
        read += 1
    if kept < since < size:
        move(queue, kept, since, size - since)
    p.waiting = kept + size - since - p.queue

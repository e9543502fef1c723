"""What is available when: the one interface between the scheduling pass and the machine.

============ ===================================================================================
fits_now     can an option start now, beside all reservations? its nodes are in ``found``
earliest     when can it start? (∞: never); its nodes are in ``found``
reserve      promise it that
take         let it start on what `fits_now` found: see `running.start`
forget       throw all reservations away
void         throw them away before the next pass
============ ===================================================================================

Beside what is free now, the plan knows *changes*, in time: begins and ends of reservations and of
the calendar's bookings, new capacities; ends of running jobs are in ``ends``. Between two *dips*,
changes for the worse, the amounts of a node only grow. So the least over a window is the least of
its beginning and of the node's dips in it, which are kept in chains by time. The calendar is taken
into the plan as far as is asked.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.machine.calendar import look_ahead, next_row
from onega.kernels.machine.changes import add_change, apply_change, apply_end, begin_later
from onega.kernels.machine.dips import clear_dips, dip_links, lower_dips
from onega.kernels.machine.nodes import drop_links, held_by, keep_found
from onega.kernels.machine.placement import place
from onega.kernels.machine.state import PLENTY, Machine, Record
from onega.kernels.pool.engine import clock as work_clock


@compiled
def forget(m: Machine) -> None:
    """Throw the plan away."""
    plan, clock = m.plan[0], m.clock[0]
    clear_dips(m)
    for k in range(plan.changes):
        if m.changes[k].sign > 0.0:
            drop_links(m, m.changes[k].link)
    plan.changes, plan.stale, plan.started, plan.empty, plan.first = 0, 0, 0, 0, np.inf
    plan.number += 1
    plan.row, plan.rate = clock.next_dated, clock.rate
    plan.until = work_clock(clock) if next_row(m) < np.inf else np.inf
    for g in range(m.resources.size):
        m.resources[g].planned = m.resources[g].capacity
    for k in range(m.partitions.size):
        part = m.partitions[k]
        part.decided, part.seen, part.blocked, part.reserved = 0, 0, 0, 0


@part
def void(m: Machine) -> None:
    """Let the plan be made anew at the next pass."""
    m.plan[0].stale = 1


@part
def window_end(m: Machine, lasting: float) -> float:
    """Return until when something lasts that begins now; the instant itself always counts."""
    v = work_clock(m.clock[0])
    until = v + lasting
    return until if until > v else np.nextafter(v, np.inf)


@part
def _shared_fit(m: Machine, option: int, begin: float, until: float, later: bool) -> bool:  # noqa: FBT001
    """Return whether an option's demand of machine-wide resources is met in a window."""
    for g in range(m.resources.size):
        resource, demand = m.resources[g], m.demand[option, g]
        if demand > (resource.later if later else resource.free):
            return False
        k = resource.dips
        while k >= 0 and m.dips[k].time < until:
            if m.dips[k].time > begin and demand > m.dips[k].free:
                return False
            k = m.dips[k].following
    return True


@part
def _counted(m: Machine, partition: int, chunk: int) -> Record:
    """Return what is known of a kind of chunk in this plan."""
    counted = m.counted[partition * m.needs.shape[0] + chunk]
    if counted.plan != m.plan[0].number:
        counted.plan = m.plan[0].number
        counted.now = counted.later = PLENTY
        counted.until = np.inf
    return counted


@part
def may_fit(m: Machine, partition: int, option: int, until: float) -> bool:
    """Return False if an option can't start now, as far as one can tell without its nodes."""
    shape = m.options[option]
    if shape.cores > m.partitions[partition].spare:
        return False
    counted = _counted(m, partition, shape.chunk)
    if counted.now < shape.chunks or (until >= counted.until and counted.later < shape.chunks):
        return False
    return _shared_fit(m, option, -np.inf, until, False)  # noqa: FBT003


@compiled
def fits_now(m: Machine, partition: int, option: int, lasting: float) -> bool:
    """Return whether an option can start now beside all reservations; where is in ``found``."""
    plan, until = m.plan[0], window_end(m, lasting)
    if until > plan.until:
        look_ahead(m, until)
    if not may_fit(m, partition, option, until):
        return False
    if place(m, m.partitions[partition], m.free, option, -np.inf, until):
        return True
    counted = _counted(m, partition, m.options[option].chunk)
    if until <= plan.first_dip:
        counted.now = min(counted.now, m.placed[0].chunks)
    else:  # all windows that end after the last dip are alike
        until = min(until, np.nextafter(plan.last_dip, np.inf))
        if until <= counted.until:
            counted.until, counted.later = until, m.placed[0].chunks
    return False


@compiled
def earliest(m: Machine, part: Record, option: int, lasting: float, by: float) -> float:
    """Return when an option can start so that it ends by some time; its nodes are in ``found``.

    As far as one can expect; ∞: it can't.
    """
    time = _search(m, part, option, lasting, by)
    while np.isnan(time):
        time = _search(m, part, option, lasting, by)
    return time


@compiled
def _search(m: Machine, part: Record, option: int, lasting: float, by: float) -> float:
    """Do that; NaN: the plan had to look further ahead on the way, begin anew.

    Processors in total, counted on the way, tell when a look at the nodes is worth its while; only
    then the row of later catches up. Bookings that begin don't count: the total is a bound.
    """
    plan, changes, clock = m.plan[0], m.changes, m.clock[0]
    shape = m.options[option]
    needed, total = shape.cores, part.spare
    time, e, c, last_e, last_c, begun = work_clock(clock), 0, 0, 0, 0, False
    while True:
        while e < clock.ends and m.ends[e].time <= time:
            job = m.jobs[m.ends[e].job]
            if m.partitions[job.partition].first == part.first:
                total += job.held
            e += 1
        while c < plan.changes and changes[c].time <= time:
            change = changes[c]
            if change.row >= 0:
                total += max(0.0, change.sign) * m.booked[change.row, 0]
            elif change.link >= 0 and m.partitions[change.partition].first == part.first:
                total += change.sign * change.held
            c += 1
        if time + lasting > by:
            return np.inf
        if total >= needed:
            if time + lasting > plan.until:
                look_ahead(m, time + lasting)
                return np.nan
            if not begun:
                begin_later(m, part.first, part.last)
                begun = True
            for k in range(last_e, e):
                apply_end(m, k)
            for k in range(last_c, c):
                apply_change(m, changes[k])
            last_e, last_c = e, c
            end = time + lasting
            if _shared_fit(m, option, time, end, True) and place(  # noqa: FBT003
                m, part, m.later, option, time, end
            ):
                return time
        following = np.inf
        if e < clock.ends:
            following = m.ends[e].time
        if c < plan.changes:
            following = min(following, changes[c].time)
        if following > plan.until:
            look_ahead(m, min(following, next_row(m)))
            return np.nan
        if following == np.inf:
            return np.inf
        time = following


@compiled
def has_space(m: Machine, part: Record) -> bool:
    """Tell whether there is space for one more job on nodes, and for one more reservation."""
    plan = m.plan[0]
    pieces = part.last - part.first + m.resources.size
    rows = m.calendar.size  # the calendar's come in between
    return (
        m.spare[0].links >= pieces
        and plan.changes + 2 + rows <= m.changes.size
        and plan.dips + pieces + rows <= m.dips.size
    )


@compiled
def reserve(m: Machine, partition: int, option: int, begin: float, until: float) -> int:
    """Promise an option the placement found last; return the first link of it."""
    part, plan = m.partitions[partition], m.plan[0]
    link = keep_found(m)
    held = held_by(m, part, link, m.options[option].chunk)
    for sign in (-1.0, 1.0):
        change = add_change(m, begin if sign < 0.0 else until, sign)
        change.link = link
        change.option = option
        change.partition = partition
        change.held = held
    if until > begin:
        dip_links(m, link, begin)
        lower_dips(m, part, link, option, begin, until)
    else:
        plan.empty = 1
    plan.first = min(plan.first, begin)
    return link

"""What is available when: the one interface between the scheduling pass and the machine.

============ ===================================================================================
fits_now     can an option start now, beside all reservations? its nodes are in ``found``
earliest     when can it start? (∞: never); its nodes are in ``found``
reserve      promise it that
take         let it start on what `fits_now` found: see `running.start`
forget       throw all reservations away
============ ===================================================================================

Beside what is free now, the plan knows *changes*, in time: begins and ends of reservations and of
the calendar's bookings, new capacities; ends of running jobs are in ``ends``. Between two *dips*,
changes for the worse, the amounts of a node only grow. So the least over a window is the least of
its beginning and of the node's dips in it, which are kept in chains by time. The calendar is taken
into the plan as far as somebody asks.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, shift
from onega.kernels.machine.nodes import amount_of, drop_links, held_by, keep_found
from onega.kernels.machine.placement import place
from onega.kernels.machine.state import NONE, Machine, Record
from onega.kernels.pool.engine import clock as work_clock


@compiled
def forget(m: Machine) -> None:
    """Throw the plan away."""
    plan, planned, clock = m.planned.plan[0], m.planned, m.clock[0]
    for k in range(plan.dips):
        if planned.dips[k].node >= 0:
            m.nodes[planned.dips[k].node].dips = NONE
        else:
            m.resources[planned.dips[k].resource].dips = NONE
    for k in range(plan.changes):
        if planned.changes[k].sign > 0.0:
            drop_links(m, planned.changes[k].link)
    plan.changes, plan.dips, plan.stale, plan.started, plan.empty = 0, 0, 0, 0, 0
    plan.first, plan.first_dip, plan.last_dip = np.inf, np.inf, -np.inf
    plan.version += 1
    plan.begin_row, plan.end_row, plan.step_row = clock.next_begin, clock.next_end, clock.next_step
    plan.until, plan.rate = work_clock(clock), clock.rate
    for g in range(m.resources.size):
        m.resources[g].planned = m.resources[g].capacity
    if (
        plan.begin_row == m.tables.booked.size
        and plan.end_row == m.tables.booked.size
        and plan.step_row == m.tables.steps.size
    ):
        plan.until = np.inf
    for k in range(m.partitions.size):
        part = m.partitions[k]
        part.decided, part.seen, part.blocked, part.reserved = 0, 0, 0, 0


# -- changes


@compiled
def _add_change(m: Machine, time: float, sign: float) -> Record:
    """Enter a change by its time, with nothing in it yet."""
    plan, changes = m.planned.plan[0], m.planned.changes
    low, high = 0, plan.changes
    while low < high:
        middle = (low + high) >> 1
        if changes[middle].time <= time:
            low = middle + 1
        else:
            high = middle
    shift(changes, low + 1, low, plan.changes - low)
    plan.changes += 1
    change = changes[low]
    change.time = time
    change.sign = sign
    change.link, change.row, change.resource, change.fresh = NONE, NONE, NONE, 0
    return change


@compiled
def _add_held(m: Machine, part: Record, link: int, option: int, sign: float) -> None:
    """Add to the row of later what a list of links holds (sign 1), or take it away (−1)."""
    chunk = m.options[option].chunk
    while link >= 0:
        n, chunks = m.links[link].node, m.links[link].chunks
        for k in range(m.needs.shape[1]):
            m.planned.later[n, k] += sign * amount_of(m, part, n, chunks, chunk, k)
        link = m.links[link].following
    for g in range(m.resources.size):
        m.resources[g].later += sign * m.demand[option, g]


@compiled
def _apply_end(m: Machine, k: int) -> None:
    """Let a running job have ended in the row of later."""
    slot = m.slots[m.ends[k].slot]
    _add_held(m, m.partitions[slot.partition], slot.link, slot.option, 1.0)


@compiled
def _apply_change(m: Machine, change: Record) -> None:
    """Let a change have happened in the row of later."""
    if change.row >= 0:
        n = m.tables.booked[change.row].node
        for k in range(m.needs.shape[1]):
            m.planned.later[n, k] += change.sign * m.tables.amounts[change.row, k]
    elif change.resource >= 0:
        m.resources[change.resource].later += change.sign
    else:
        _add_held(m, m.partitions[change.partition], change.link, change.option, change.sign)


@compiled
def _begin_later(m: Machine, first: int, last: int) -> None:
    """Let the row of later be what is free now, of some nodes."""
    for n in range(first, last):
        for k in range(m.needs.shape[1]):
            m.planned.later[n, k] = m.free[n, k]
    for g in range(m.resources.size):
        m.resources[g].later = m.resources[g].free


# -- dips


@compiled
def _new_dip(m: Machine, time: float) -> int:
    plan = m.planned.plan[0]
    k = plan.dips
    plan.dips += 1
    m.planned.dips[k].time = time
    m.planned.dips[k].node = NONE
    m.planned.dips[k].resource = NONE
    plan.first_dip = min(plan.first_dip, time)
    plan.last_dip = max(plan.last_dip, time)
    return k


@compiled
def _chain(m: Machine, first: int, new: int) -> int:
    """Put a dip into a chain by its time; return the chain's first."""
    dips = m.planned.dips
    time, before, k = dips[new].time, NONE, first
    while k >= 0 and dips[k].time < time:
        before, k = k, dips[k].following
    dips[new].following = k
    if before < 0:
        return new
    dips[before].following = new
    return first


@compiled
def _dip_at(m: Machine, first: int, time: float) -> bool:
    """Tell whether a chain has a dip at a time already."""
    while first >= 0 and m.planned.dips[first].time < time:
        first = m.planned.dips[first].following
    return first >= 0 and m.planned.dips[first].time == time


@compiled
def _dip_node(m: Machine, n: int, time: float) -> int:
    """Add a dip of a node with the row of later as it is; return its number, −1 if it is known."""
    if _dip_at(m, m.nodes[n].dips, time):
        return NONE
    new = _new_dip(m, time)
    m.planned.dips[new].node = n
    for k in range(m.needs.shape[1]):
        m.planned.amounts[new, k] = m.planned.later[n, k]
    m.nodes[n].dips = _chain(m, m.nodes[n].dips, new)
    return new


@compiled
def _dip_resource(m: Machine, g: int, time: float) -> int:
    if _dip_at(m, m.resources[g].dips, time):
        return NONE
    new = _new_dip(m, time)
    m.planned.dips[new].resource = g
    m.planned.dips[new].free = m.resources[g].later
    m.resources[g].dips = _chain(m, m.resources[g].dips, new)
    return new


@compiled
def lower_dips(
    m: Machine, part: Record, link: int, option: int, begin: float, until: float
) -> None:
    """Take what a list of links holds out of the dips in [begin, until)."""
    dips, chunk = m.planned.dips, m.options[option].chunk
    if m.planned.plan[0].dips == 0:
        return
    while link >= 0:
        n, chunks = m.links[link].node, m.links[link].chunks
        k = m.nodes[n].dips
        while k >= 0 and dips[k].time < until:
            if dips[k].time >= begin:
                for r in range(m.needs.shape[1]):
                    m.planned.amounts[k, r] -= amount_of(m, part, n, chunks, chunk, r)
            k = dips[k].following
        link = m.links[link].following
    for g in range(m.resources.size):
        k = m.resources[g].dips
        while k >= 0 and dips[k].time < until:
            if dips[k].time >= begin:
                dips[k].free -= m.demand[option, g]
            k = dips[k].following


# -- the calendar


@compiled
def _take_rows(m: Machine, until: float) -> int:
    """Enter the calendar's changes up to a time; return how many of them are for the worse."""
    plan, tables, clock = m.planned.plan[0], m.tables, m.clock[0]
    v, rate, now, worse = work_clock(clock), clock.rate, clock.now, 0
    while plan.begin_row < tables.booked.size:
        time = v + (tables.booked[plan.begin_row].begin - now) * rate
        if time > until:
            break
        change = _add_change(m, time, -1.0)
        change.row, change.fresh = plan.begin_row, 1
        worse += 1
        plan.begin_row += 1
    while plan.end_row < tables.booked.size:
        row = tables.by_end[plan.end_row]
        time = v + (tables.booked[row].end - now) * rate
        if time > until:
            break
        _add_change(m, time, 1.0).row = row
        plan.end_row += 1
    while plan.step_row < tables.steps.size:
        step = tables.steps[plan.step_row]
        time = v + (step.time - now) * rate
        if time > until:
            break
        resource = m.resources[step.resource]
        change = _add_change(m, time, step.capacity - resource.planned)
        change.resource = step.resource
        if step.capacity < resource.planned:
            change.fresh = 1
            worse += 1
        resource.planned = step.capacity
        plan.step_row += 1
    return worse


@compiled
def _find_dips(m: Machine) -> None:
    """Find what is free at the changes for the worse that are new."""
    plan, changes, clock = m.planned.plan[0], m.planned.changes, m.clock[0]
    _begin_later(m, 0, m.nodes.size)
    e, c = 0, 0
    while c < plan.changes:
        time, first = changes[c].time, c
        while e < clock.ends and m.ends[e].time <= time:
            _apply_end(m, e)
            e += 1
        while c < plan.changes and changes[c].time == time:
            _apply_change(m, changes[c])
            c += 1
        for k in range(first, c):
            if changes[k].fresh > 0:
                changes[k].fresh = 0
                if changes[k].row >= 0:
                    _dip_node(m, m.tables.booked[changes[k].row].node, time)
                else:
                    _dip_resource(m, changes[k].resource, time)


@compiled
def look_ahead(m: Machine, until: float) -> None:
    """Take the calendar into the plan up to a time, and some more."""
    plan, tables = m.planned.plan[0], m.tables
    until += m.rules[0].longest + 1.0
    if _take_rows(m, until) > 0:
        _find_dips(m)
    plan.until = until
    plan.version += 1
    if (
        plan.begin_row == tables.booked.size
        and plan.end_row == tables.booked.size
        and plan.step_row == tables.steps.size
    ):
        plan.until = np.inf


# -- the interface


@compiled
def _shared_fit(m: Machine, option: int, begin: float, until: float, later: bool) -> bool:  # noqa: FBT001
    """Tell whether an option's demand of machine-wide resources is met in a window."""
    for g in range(m.resources.size):
        resource, demand = m.resources[g], m.demand[option, g]
        if demand > (resource.later if later else resource.free):
            return False
        k = resource.dips
        while k >= 0 and m.planned.dips[k].time < until:
            if m.planned.dips[k].time > begin and demand > m.planned.dips[k].free:
                return False
            k = m.planned.dips[k].following
    return True


@compiled
def fits_now(m: Machine, number: int, option: int, lasting: float) -> bool:
    """Tell whether an option can start now beside all reservations; where is in ``found``."""
    part, shape, plan = m.partitions[number], m.options[option], m.planned.plan[0]
    if shape.chunks * m.needs[shape.chunk, 0] > part.spare:
        return False
    v = work_clock(m.clock[0])
    until = max(v + lasting, np.nextafter(v, np.inf))  # the instant itself always counts
    if until > plan.until:
        look_ahead(m, until)
    if m.resources.size > 0 and not _shared_fit(m, option, -np.inf, until, False):  # noqa: FBT003
        return False
    counted = m.planned.counted[number * m.needs.shape[0] + shape.chunk]
    if counted.version_now == plan.version and counted.now < shape.chunks:
        return False
    beside_all = until > plan.last_dip
    if beside_all and counted.version_all == plan.version and counted.beside < shape.chunks:
        return False
    if place(m, part, m.free, option, -np.inf, until):
        return True
    if until <= plan.first_dip:
        counted.version_now = plan.version
        counted.now = plan.room
    if beside_all:
        counted.version_all = plan.version
        counted.beside = plan.room
    return False


@compiled
def may_fit(m: Machine, number: int, option: int) -> bool:
    """Tell at a glance whether an option could start now, reservations or not."""
    part, shape = m.partitions[number], m.options[option]
    if shape.chunks * m.needs[shape.chunk, 0] > part.spare:
        return False
    for g in range(m.resources.size):
        if m.demand[option, g] > m.resources[g].free:
            return False
    counted = m.planned.counted[number * m.needs.shape[0] + shape.chunk]
    plan = m.planned.plan[0]
    return not (counted.version_now == plan.version and counted.now < shape.chunks)


@compiled
def earliest(m: Machine, part: Record, option: int, lasting: float) -> float:
    """Return when an option can start, as far as one can expect; its nodes are in ``found``."""
    time = _search(m, part, option, lasting)
    while np.isnan(time):
        time = _search(m, part, option, lasting)
    return time


@compiled
def _search(m: Machine, part: Record, option: int, lasting: float) -> float:
    """Do that; NaN: the plan had to look further ahead on the way, begin anew.

    Processors in total, counted on the way, tell when a look at the nodes is worth its while; only
    then the row of later catches up. Bookings that begin don't count: the total is a bound.
    """
    plan, changes, clock = m.planned.plan[0], m.planned.changes, m.clock[0]
    shape = m.options[option]
    needed, total = shape.chunks * m.needs[shape.chunk, 0], part.spare
    time, e, c, last_e, last_c, begun = work_clock(clock), 0, 0, 0, 0, False
    while True:
        while e < clock.ends and m.ends[e].time <= time:
            slot = m.slots[m.ends[e].slot]
            if m.partitions[slot.partition].first == part.first:
                total += slot.held
            e += 1
        while c < plan.changes and changes[c].time <= time:
            change = changes[c]
            if change.row >= 0:
                total += max(0.0, change.sign) * m.tables.amounts[change.row, 0]
            elif change.link >= 0 and m.partitions[change.partition].first == part.first:
                total += change.sign * change.held
            c += 1
        if total >= needed:
            if time + lasting > plan.until:
                look_ahead(m, time + lasting)
                return np.nan
            if not begun:
                _begin_later(m, part.first, part.last)
                begun = True
            for k in range(last_e, e):
                _apply_end(m, k)
            for k in range(last_c, c):
                _apply_change(m, changes[k])
            last_e, last_c = e, c
            if (
                m.resources.size == 0 or _shared_fit(m, option, time, time + lasting, True)  # noqa: FBT003
            ) and place(m, part, m.planned.later, option, time, time + lasting):
                return time
        following = np.inf
        if e < clock.ends:
            following = m.ends[e].time
        if c < plan.changes:
            following = min(following, changes[c].time)
        if following > plan.until:
            v = work_clock(clock)
            look_ahead(m, following if following < np.inf else plan.until + (plan.until - v))
            return np.nan
        if following == np.inf:
            return np.inf
        time = following


@compiled
def has_space(m: Machine, part: Record) -> bool:
    """Tell whether the plan has space for one more reservation."""
    plan, planned = m.planned.plan[0], m.planned
    pieces = part.last - part.first + m.resources.size
    rows = 2 * m.tables.booked.size + m.tables.steps.size  # those of the calendar come in between
    return (
        m.clock[0].spare_link >= pieces
        and plan.changes + 2 + rows <= planned.changes.size
        and plan.dips + pieces + rows <= planned.dips.size
    )


@compiled
def reserve(m: Machine, number: int, option: int, begin: float, until: float) -> int:
    """Promise an option the placement found last; return the first link of it."""
    part, plan = m.partitions[number], m.planned.plan[0]
    link = keep_found(m)
    held = held_by(m, part, link, m.options[option].chunk)
    for sign in (-1.0, 1.0):
        change = _add_change(m, begin if sign < 0.0 else until, sign)
        change.link = link
        change.option = option
        change.partition = number
        change.held = held
    if until > begin:
        lower_dips(m, part, link, option, begin, until)
        _dip_reserved(m, part, link, option, begin)
    else:
        plan.empty = 1
    plan.first = min(plan.first, begin)
    plan.version += 1
    return link


@compiled
def _dip_reserved(m: Machine, part: Record, link: int, option: int, begin: float) -> None:
    """Add the dips of a reservation; the row of later is that of its begin."""
    chunk = m.options[option].chunk
    while link >= 0:
        n, chunks = m.links[link].node, m.links[link].chunks
        new = _dip_node(m, n, begin)
        if new >= 0:
            for k in range(m.needs.shape[1]):
                m.planned.amounts[new, k] -= amount_of(m, part, n, chunks, chunk, k)
        link = m.links[link].following
    for g in range(m.resources.size):
        new = _dip_resource(m, g, begin)
        if new >= 0:
            m.planned.dips[new].free -= m.demand[option, g]

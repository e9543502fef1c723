"""The calendar in a plan: bookings of nodes and steps of capacities, as far ahead as is asked."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.machine.changes import add_change, apply_change, apply_end, begin_later
from onega.kernels.machine.dips import dip_node, dip_resource
from onega.kernels.machine.state import Machine
from onega.kernels.pool.engine import clock as work_clock


@part
def _reading(m: Machine, time: float) -> float:
    """Return what the work clock will read at a time, at today's rate."""
    clock = m.clock[0]
    return work_clock(clock) + (time - clock.now) * clock.rate


@compiled
def next_row(m: Machine) -> float:
    """Return when the first change is that isn't in the plan yet; ∞: there is none."""
    row, calendar = m.plan[0].row, m.calendar
    return _reading(m, calendar[row].time) if row < calendar.size else np.inf


@compiled
def _take_rows(m: Machine, until: float) -> int:
    """Enter the calendar's changes up to a time; return how many of them are for the worse."""
    plan, calendar, worse = m.plan[0], m.calendar, 0
    while plan.row < calendar.size:
        dated = calendar[plan.row]
        time = _reading(m, dated.time)
        if time > until:
            break
        if dated.node >= 0:
            change = add_change(m, time, dated.sign)
            change.row = plan.row
        else:
            resource = m.resources[dated.resource]
            change = add_change(m, time, dated.capacity - resource.planned)
            change.resource = dated.resource
            resource.planned = dated.capacity
        if change.sign < 0.0:
            change.fresh = 1
            worse += 1
        plan.row += 1
    return worse


@compiled
def _find_dips(m: Machine) -> None:
    """Find what is free at the changes for the worse that are new."""
    plan, changes, clock = m.plan[0], m.changes, m.clock[0]
    begin_later(m, 0, m.nodes.size)
    e, c = 0, 0
    while c < plan.changes:
        time, first = changes[c].time, c
        while e < clock.ends and m.ends[e].time <= time:
            apply_end(m, e)
            e += 1
        while c < plan.changes and changes[c].time == time:
            apply_change(m, changes[c])
            c += 1
        for k in range(first, c):
            if changes[k].fresh > 0:
                changes[k].fresh = 0
                if changes[k].row >= 0:
                    dip_node(m, m.calendar[changes[k].row].node, time)
                else:
                    dip_resource(m, changes[k].resource, time)


@compiled
def look_ahead(m: Machine, until: float) -> None:
    """Take the calendar into the plan up to a time, and as far again: few looks see everything."""
    until += until - work_clock(m.clock[0])
    if _take_rows(m, until) > 0:
        _find_dips(m)
    m.plan[0].until = until if next_row(m) < np.inf else np.inf

"""The calendar in a plan: bookings of nodes, steps of capacities, as far ahead as somebody asks."""

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
    plan, tables, time = m.planned.plan[0], m.tables, np.inf
    if plan.begin_row < tables.booked.size:
        time = tables.booked[plan.begin_row].begin
    if plan.end_row < tables.booked.size:
        time = min(time, tables.booked[tables.by_end[plan.end_row]].end)
    if plan.step_row < tables.steps.size:
        time = min(time, tables.steps[plan.step_row].time)
    return _reading(m, time)


@compiled
def _take_rows(m: Machine, until: float) -> int:
    """Enter the calendar's changes up to a time; return how many of them are for the worse."""
    plan, tables, worse = m.planned.plan[0], m.tables, 0
    while plan.begin_row < tables.booked.size:
        time = _reading(m, tables.booked[plan.begin_row].begin)
        if time > until:
            break
        change = add_change(m, time, -1.0)
        change.row, change.fresh = plan.begin_row, 1
        worse += 1
        plan.begin_row += 1
    while plan.end_row < tables.booked.size:
        row = tables.by_end[plan.end_row]
        time = _reading(m, tables.booked[row].end)
        if time > until:
            break
        add_change(m, time, 1.0).row = row
        plan.end_row += 1
    while plan.step_row < tables.steps.size:
        step = tables.steps[plan.step_row]
        time = _reading(m, step.time)
        if time > until:
            break
        resource = m.resources[step.resource]
        change = add_change(m, time, step.capacity - resource.planned)
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
                    dip_node(m, m.tables.booked[changes[k].row].node, time)
                else:
                    dip_resource(m, changes[k].resource, time)


@compiled
def look_ahead(m: Machine, until: float) -> None:
    """Take the calendar into the plan up to a time, and as far again: few looks see everything."""
    until += until - work_clock(m.clock[0])
    if _take_rows(m, until) > 0:
        _find_dips(m)
    m.planned.plan[0].until = until if next_row(m) < np.inf else np.inf

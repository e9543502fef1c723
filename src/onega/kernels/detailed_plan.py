"""The availability profile of one partition: rows of free amounts, step by step.

Steps on the work clock from now on; each has a row with the partition's nodes' amounts and the
machine-wide ones. A row is what is free from its step to the next, the last one's for ever.
Reservations and the calendar take amounts out of a stretch. Columns: node n's resource k at
(n − first)·K + k, machine-wide g behind them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints
from onega.kernels.detailed_deepen import amount_of
from onega.kernels.detailed_dips import list_changes, matters
from onega.kernels.detailed_state import ENDS, Record, changes, ends, gots, links, partitions, slots
from onega.kernels.engine import Floats, Ints

# Places in Plan.number: steps, columns of a row, columns of nodes, rows in use.
STEPS, WIDTH, NODES, ROWS = 0, 1, 2, 3


class Plan(NamedTuple):
    """``since`` and ``row`` by step; ``data``: the rows; ``number``: see STEPS; ``window``: one
    row of the smallest amounts of a stretch."""  # noqa: D205, D209

    since: Floats
    row: Ints
    data: Floats
    number: Ints
    window: Floats


@callee
def new_plan(width: int, nodes: int, room: int, now: float) -> Plan:
    """Make a plan of one step, for at most ``room`` steps."""
    plan = Plan(
        np.empty(room), np.empty(room, np.int64), np.empty(room * width),
        np.array([1, width, nodes, 1]), np.empty(width),
    )  # fmt: skip
    plan.since[0] = now
    plan.row[0] = 0
    return plan


@callee
def cut(plan: Plan, time: float) -> int:
    """Return the step that begins at a time, made if need be; before the first: the first."""
    size = plan.number[STEPS]
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if plan.since[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low == 0 or (low < size and plan.since[low] == time):
        return low
    for step in range(size, low, -1):
        plan.since[step] = plan.since[step - 1]
        plan.row[step] = plan.row[step - 1]
    width = plan.number[WIDTH]
    fresh = plan.number[ROWS]
    source, target = plan.row[low - 1] * width, fresh * width
    for column in range(width):
        plan.data[target + column] = plan.data[source + column]
    plan.since[low] = time
    plan.row[low] = fresh
    plan.number[STEPS] = size + 1
    plan.number[ROWS] = fresh + 1
    return low


@callee
def add(plan: Plan, step: int, stop: int, column: int, amount: float) -> None:
    """Change a column from a step up to another."""
    width = plan.number[WIDTH]
    for other in range(step, stop):
        plan.data[plan.row[other] * width + column] += amount


@callee
def _add_job(s: Record, plan: Plan, step: int, slot: int, number: int) -> None:
    """Let what a running job holds be free from a step on."""
    stop = plan.number[STEPS]
    first = partitions(s.partitions_at)[number].first
    option = slots(s.slots_at)[slot].option
    for g in range(s.shared):
        add(plan, step, stop, plan.number[NODES] + g, floats(s.demand_at)[option * s.shared + g])
    if slots(s.slots_at)[slot].partition != number:
        return
    link = slots(s.slots_at)[slot].link
    while link >= 0:
        one = links(s.links_at)[link]
        if flags(s.usable_at)[one.node]:
            for k in range(s.kinds):
                amount = amount_of(s, option, one.node, one.chunks, k)
                add(plan, step, stop, (one.node - first) * s.kinds + k, amount)
        link = one.next


@callee
def _add_calendar(s: Record, plan: Plan, number: int) -> None:
    """Let amounts change as the calendar says."""
    first = partitions(s.partitions_at)[number].first
    for index in range(s.changes):
        if not matters(s, index, number):
            continue
        one = changes(s.changes_at)[index]
        step = cut(plan, one.time)
        stop = plan.number[STEPS]
        if one.node < 0:
            add(plan, step, stop, plan.number[NODES] + one.which, one.amount)
            continue
        for k in range(s.kinds):
            amount = one.amount * floats(s.reserved_amount_at)[one.which * s.kinds + k]
            add(plan, step, stop, (one.node - first) * s.kinds + k, amount)


@callee
def make_plan(s: Record, number: int, room: int, now: float) -> Plan:
    """Make the plan of a partition from what is free, expected ends and the calendar.

    ``room``: how many reservations may come.
    """
    p = partitions(s.partitions_at)[number]
    nodes = (p.last - p.first) * s.kinds
    size = ints(s.sizes_at)[ENDS]
    if s.planned:
        list_changes(s, np.inf)
        s.listed = -np.inf  # the dips aren't listed
    steps = 2 + size + (s.changes if s.planned else 0) + 2 * room
    plan = new_plan(nodes + s.shared, nodes, steps, now)
    avail = floats(s.avail_at)
    for column in range(nodes):
        plan.data[column] = avail[p.first * s.kinds + column]
    for g in range(s.shared):
        plan.data[nodes + g] = avail[s.nodes * s.kinds + g]
    table = ends(s.ends_at)
    for index in range(size):
        slot = table[index].slot
        if s.shared > 0 or slots(s.slots_at)[slot].partition == number:
            step = 0
            if table[index].expected > now:
                step = cut(plan, table[index].expected)
            _add_job(s, plan, step, slot, number)
    if s.planned:
        _add_calendar(s, plan, number)
    return plan


@callee
def hold(s: Record, plan: Plan, number: int, option: int, stretch: tuple[float, float]) -> None:
    """Take what the placement found last out of a stretch (begin, lasting) of the plan."""
    if not stretch[1] > 0.0:
        return
    first = partitions(s.partitions_at)[number].first
    step = cut(plan, stretch[0])
    stop = cut(plan, stretch[0] + stretch[1])
    for index in range(s.got):
        got = gots(s.got_at)[index]
        for k in range(s.kinds):
            amount = amount_of(s, option, got.node, got.chunks, k)
            add(plan, step, stop, (got.node - first) * s.kinds + k, -amount)
    for g in range(s.shared):
        demand = floats(s.demand_at)[option * s.shared + g]
        add(plan, step, stop, plan.number[NODES] + g, -demand)


@callee
def hold_shared(s: Record, plan: Plan, option: int, begin: float, until: float) -> None:
    """Take another partition's reservation out of the machine-wide resources."""
    step, stop = cut(plan, begin), cut(plan, until)
    for g in range(s.shared):
        demand = floats(s.demand_at)[option * s.shared + g]
        add(plan, step, stop, plan.number[NODES] + g, -demand)


@callee
def look(plan: Plan, step: int, until: float) -> None:
    """Leave the smallest amounts from a step up to a time in ``window``."""
    width = plan.number[WIDTH]
    at = plan.row[step] * width
    for column in range(width):
        plan.window[column] = plan.data[at + column]
    step += 1
    while step < plan.number[STEPS] and plan.since[step] < until:
        at = plan.row[step] * width
        for column in range(width):
            plan.window[column] = min(plan.window[column], plan.data[at + column])
        step += 1


@callee
def short_of(s: Record, plan: Plan, step: int, number: int, option: int) -> bool:
    """Tell whether a step has too little in all for an option, wherever it is."""
    chunks = ints(s.chunks_at)[option]
    base = plan.row[step] * plan.number[WIDTH]
    for g in range(s.shared):
        if floats(s.demand_at)[option * s.shared + g] > plan.data[base + plan.number[NODES] + g]:
            return True
    for k in range(s.kinds):
        need = chunks * floats(s.chunk_at)[option * s.pitch + k]
        have = 0.0
        for column in range(k, plan.number[NODES], s.kinds):
            have += max(plan.data[base + column], 0.0)
        if need > have:
            return True
    return False

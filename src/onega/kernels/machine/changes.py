"""What a plan expects to change, and the row of *later*: what is free at some time to come.

Changes stand in the order of time: begins and ends of reservations and of the calendar's bookings,
new capacities. The expected ends of running jobs are in ``ends``.
"""

from __future__ import annotations

from onega.kernels.jit import compiled, part, shift
from onega.kernels.machine.nodes import amount_of
from onega.kernels.machine.state import NONE, Machine, Record
from onega.kernels.types import Records


@part
def first_after(rows: Records, count: int, time: float) -> int:
    """Return the place of the first of so many rows, in the order of time, that is later."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if rows[middle].time <= time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def add_change(m: Machine, time: float, sign: float) -> Record:
    """Enter a change by its time, with nothing in it yet."""
    plan, changes = m.plan[0], m.changes
    place = first_after(changes, plan.changes, time)
    shift(changes, place + 1, place, plan.changes - place)
    plan.changes += 1
    change = changes[place]
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
            m.later[n, k] += sign * amount_of(m, part, n, chunks, chunk, k)
        link = m.links[link].following
    for g in range(m.resources.size):
        m.resources[g].later += sign * m.demand[option, g]


@compiled
def apply_end(m: Machine, k: int) -> None:
    """Let a running job have ended in the row of later."""
    job = m.jobs[m.ends[k].job]
    _add_held(m, m.partitions[job.partition], job.link, job.option, 1.0)


@compiled
def apply_change(m: Machine, change: Record) -> None:
    """Let a change have happened in the row of later."""
    if change.row >= 0:
        n = m.calendar[change.row].node
        for k in range(m.needs.shape[1]):
            m.later[n, k] += change.sign * m.booked[change.row, k]
    elif change.resource >= 0:
        m.resources[change.resource].later += change.sign
    else:
        _add_held(m, m.partitions[change.partition], change.link, change.option, change.sign)


@compiled
def begin_later(m: Machine, first: int, last: int) -> None:
    """Let the row of later be what is free now, of some nodes."""
    for n in range(first, last):
        for k in range(m.needs.shape[1]):
            m.later[n, k] = m.free[n, k]
    for g in range(m.resources.size):
        m.resources[g].later = m.resources[g].free

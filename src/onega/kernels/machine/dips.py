"""Dips: when availability shrinks, and what is left then.

Between two dips the amounts of a node only grow. So the least over a window is the least of its
beginning and of the node's dips in it. Each node, and each machine-wide resource, has a chain of
its dips by time.
"""

from __future__ import annotations

from onega.kernels.jit import compiled, part
from onega.kernels.machine.nodes import amount_of
from onega.kernels.machine.state import NONE, Machine, Record


@part
def _new_dip(m: Machine, time: float) -> int:
    plan = m.planned.plan[0]
    k = plan.dips
    plan.dips += 1
    m.planned.dips[k].time = time
    m.planned.dips[k].node = NONE
    m.planned.dips[k].resource = NONE
    return k


@part
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


@part
def _dip_at(m: Machine, first: int, time: float) -> bool:
    """Tell whether a chain has a dip at a time already."""
    while first >= 0 and m.planned.dips[first].time < time:
        first = m.planned.dips[first].following
    return first >= 0 and m.planned.dips[first].time == time


@part
def dip_node(m: Machine, n: int, time: float) -> int:
    """Add a dip of a node with the row of later as it is; return its number, −1 if it is known."""
    if _dip_at(m, m.nodes[n].dips, time):
        return NONE
    new, plan = _new_dip(m, time), m.planned.plan[0]
    plan.first_dip, plan.last_dip = min(plan.first_dip, time), max(plan.last_dip, time)
    m.planned.dips[new].node = n
    for k in range(m.needs.shape[1]):
        m.planned.amounts[new, k] = m.planned.later[n, k]
    m.nodes[n].dips = _chain(m, m.nodes[n].dips, new)
    return new


@compiled
def dip_resource(m: Machine, g: int, time: float) -> int:
    """Add a dip of a machine-wide resource in the same way."""
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


@compiled
def dip_reserved(m: Machine, part: Record, link: int, option: int, begin: float) -> None:
    """Add the dips of a reservation; the row of later is that of its begin."""
    chunk = m.options[option].chunk
    while link >= 0:
        n, chunks = m.links[link].node, m.links[link].chunks
        new = dip_node(m, n, begin)
        if new >= 0:
            for k in range(m.needs.shape[1]):
                m.planned.amounts[new, k] -= amount_of(m, part, n, chunks, chunk, k)
        link = m.links[link].following
    for g in range(m.resources.size):
        new = dip_resource(m, g, begin)
        if new >= 0:
            m.planned.dips[new].free -= m.demand[option, g]

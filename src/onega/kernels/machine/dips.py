"""Dips: when availability shrinks, and what is left then.

Between two dips the amounts of a node only grow. So the least over a window is the least of its
beginning and of the node's dips in it. Each node, and each machine-wide resource, has a chain of
its dips by time.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.machine.nodes import amount_of
from onega.kernels.machine.state import NONE, Machine, Record


@compiled
def clear_dips(m: Machine) -> None:
    """Let there be no dips."""
    plan = m.plan[0]
    for k in range(plan.dips):
        if m.dips[k].node >= 0:
            m.nodes[m.dips[k].node].dips = NONE
        else:
            m.resources[m.dips[k].resource].dips = NONE
    plan.dips, plan.first_dip, plan.last_dip = 0, np.inf, -np.inf


@part
def _add_dip(m: Machine, owner: Record, time: float) -> int:
    """Add a dip to the chain of a node or resource; return its number, −1 if there is one then."""
    plan, dips = m.plan[0], m.dips
    before, k = NONE, owner.dips
    while k >= 0 and dips[k].time < time:
        before, k = k, dips[k].following
    if k >= 0 and dips[k].time == time:
        return NONE
    new = plan.dips
    plan.dips += 1
    dips[new].time = time
    dips[new].following = k
    if before < 0:
        owner.dips = new
    else:
        dips[before].following = new
    return new


@part
def dip_node(m: Machine, n: int, time: float) -> None:
    """Add a dip of a node, unless it is known, with the row of later as it is."""
    new, plan = _add_dip(m, m.nodes[n], time), m.plan[0]
    if new >= 0:
        plan.first_dip, plan.last_dip = min(plan.first_dip, time), max(plan.last_dip, time)
        m.dips[new].node = n
        for k in range(m.needs.shape[1]):
            m.dip_free[new, k] = m.later[n, k]


@compiled
def dip_resource(m: Machine, g: int, time: float) -> None:
    """Add a dip of a machine-wide resource in the same way."""
    new = _add_dip(m, m.resources[g], time)
    if new >= 0:
        m.dips[new].node = NONE
        m.dips[new].resource = g
        m.dips[new].free = m.resources[g].later


@compiled
def dip_links(m: Machine, link: int, time: float) -> None:
    """Add the dips of all nodes of a list of links, and of machine-wide resources."""
    while link >= 0:
        dip_node(m, m.links[link].node, time)
        link = m.links[link].following
    for g in range(m.resources.size):
        dip_resource(m, g, time)


@compiled
def lower_dips(
    m: Machine, part: Record, link: int, option: int, begin: float, until: float
) -> None:
    """Take what a list of links holds out of the dips in [begin, until)."""
    dips, chunk = m.dips, m.options[option].chunk
    while link >= 0:
        n, chunks = m.links[link].node, m.links[link].chunks
        k = m.nodes[n].dips
        while k >= 0 and dips[k].time < until:
            if dips[k].time >= begin:
                for r in range(m.needs.shape[1]):
                    m.dip_free[k, r] -= amount_of(m, part, n, chunks, chunk, r)
            k = dips[k].following
        link = m.links[link].following
    for g in range(m.resources.size):
        k = m.resources[g].dips
        while k >= 0 and dips[k].time < until:
            if dips[k].time >= begin:
                dips[k].free -= m.demand[option, g]
            k = dips[k].following

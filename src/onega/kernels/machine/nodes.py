"""Free amounts of nodes and of machine-wide resources, as jobs come and go."""

from __future__ import annotations

from onega.kernels.jit import compiled, part
from onega.kernels.machine.state import NONE, Machine, Record


@compiled
def refresh(m: Machine, n: int) -> None:
    """Note whether a node takes new jobs, after its state has changed."""
    node = m.nodes[n]
    part = m.partitions[node.partition]
    usable = 1 if node.up > 0 and node.draining == 0 else 0
    if usable != node.usable:
        part.spare += (usable - node.usable) * max(0.0, m.free[n, 0])
        node.usable = usable


@part
def change_free(m: Machine, n: int, k: int, amount: float) -> None:
    """Add to what is free of a node's resource."""
    old = m.free[n, k]
    m.free[n, k] = old + amount
    if k == 0 and m.nodes[n].usable > 0:
        part = m.partitions[m.nodes[n].partition]
        part.spare += max(0.0, old + amount) - max(0.0, old)


@part
def amount_of(m: Machine, part: Record, n: int, chunks: int, chunk: int, k: int) -> float:
    """Return what so many chunks hold of a node's resource; whole nodes are held whole."""
    return m.capacity[n, k] if part.whole > 0 else chunks * m.needs[chunk, k]


@compiled
def held_by(m: Machine, part: Record, link: int, chunk: int) -> float:
    """Return the processors that a list of links holds."""
    held = 0.0
    while link >= 0:
        held += amount_of(m, part, m.links[link].node, m.links[link].chunks, chunk, 0)
        link = m.links[link].following
    return held


@compiled
def keep_found(m: Machine) -> int:
    """Make a list of links, by node, of the placement found last; return its first."""
    spares, first = m.spare[0], NONE
    for k in range(m.placed[0].nodes - 1, -1, -1):
        spares.links -= 1
        spare = m.links[spares.links].spare
        link = m.links[spare]
        link.node = m.found[k].node
        link.chunks = m.found[k].chunks
        link.following = first
        first = spare
    return first


@compiled
def drop_links(m: Machine, k: int) -> None:
    """Make the links of a list spare again."""
    spares = m.spare[0]
    while k >= 0:
        m.links[spares.links].spare = k
        spares.links += 1
        k = m.links[k].following


@compiled
def hold(m: Machine, job: Record, sign: int) -> None:
    """Take what a job holds out of what is free (sign −1), or give it back (+1)."""
    part, option = m.partitions[job.partition], m.options[job.option]
    k = job.link
    while k >= 0:
        link = m.links[k]
        n = link.node
        for r in range(m.needs.shape[1]):
            change_free(m, n, r, sign * amount_of(m, part, n, link.chunks, option.chunk, r))
        m.nodes[n].jobs -= sign
        k = link.following
    for g in range(m.resources.size):
        m.resources[g].free += sign * m.demand[job.option, g]

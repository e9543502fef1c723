"""What starts, ends and reservations do to the dips of the calendar.

See `onega.kernels.detailed_dips` for what these are, and for the two columns of what is left then.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_state import Record, dips, gots, links, partitions, slots
from onega.kernels.engine import Floats


@small
def amount_of(s: Record, option: int, node: int, chunks: int, k: int) -> float:
    """Return what chunks of an option take of a node's resource; whole nodes are taken whole."""
    if s.wholes and partitions(s.partitions_at)[ints(s.hosts_at)[node]].whole:
        return floats(s.capacity_at)[node * s.kinds + k]
    return chunks * floats(s.chunk_at)[option * s.pitch + k]


@small
def forget_dips(s: Record) -> None:
    """Let the list of dips be made anew when somebody looks."""
    s.changes = 0
    s.dips = 0
    s.listed = -np.inf


@small
def _deepen(s: Record, option: int, index: int, values: Floats) -> None:
    """Let a dip have less: a job holds what was found last."""
    dip = dips(s.dips_at)[index]
    if dip.node < 0:
        values[index * s.kinds] -= floats(s.demand_at)[option * s.shared + dip.which]
        return
    for place in range(s.got):
        got = gots(s.got_at)[place]
        if got.node == dip.node:
            for k in range(s.kinds):
                amount = amount_of(s, option, got.node, got.chunks, k)
                values[index * s.kinds + k] -= amount


@small
def _find_pool(s: Record, number: int, option: int) -> None:
    """Let what was found last be an option's part of a pool."""
    got = gots(s.got_at)[0]
    got.node = partitions(s.partitions_at)[number].first
    got.chunks = ints(s.chunks_at)[option]
    s.got = 1


@callee
def reserve_dips(s: Record, number: int, option: int, since: float, until: float) -> None:
    """Let the dips from one time on and before another have less until the next pass."""
    if s.pooled:
        _find_pool(s, number, option)
    s.seen = 0
    values = floats(s.dip_values_at)
    for index in range(s.dips):
        time = dips(s.dips_at)[index].time
        if time >= until:
            return
        if time >= since:
            _deepen(s, option, index, values)


@callee
def lower_dips(s: Record, number: int, option: int, until: float) -> None:
    """Let the dips before a time have less: a job that starts holds the nodes found last."""
    if s.pooled:
        _find_pool(s, number, option)
    s.seen = 0
    values, base = floats(s.dip_values_at), floats(s.dip_base_at)
    for index in range(s.dips):
        if dips(s.dips_at)[index].time >= until:
            return
        _deepen(s, option, index, values)
        _deepen(s, option, index, base)


@callee
def raise_dips(s: Record, place: int) -> None:
    """Let the dips before a job's expected end have more: it leaves what it holds."""
    slot = slots(s.slots_at)[place]
    option = slot.option
    base = floats(s.dip_base_at)
    for index in range(s.dips):
        dip = dips(s.dips_at)[index]
        if dip.time >= slot.expected:
            return
        if dip.node < 0:
            base[index * s.kinds] += floats(s.demand_at)[option * s.shared + dip.which]
            continue
        link = slot.link
        while link >= 0:
            one = links(s.links_at)[link]
            if one.node == dip.node:
                for k in range(s.kinds):
                    amount = amount_of(s, option, one.node, one.chunks, k)
                    base[index * s.kinds + k] += amount
            link = one.next

"""Watts for a machine of which nothing is known but its size: by node where nodes are known."""

from __future__ import annotations

from typing import Final

from onega.core.machine.cluster import Power
from onega.core.units import count_of, quantity

NODE_BUSY: Final = (300.0, 500.0)
NODE_IDLE: Final = (160.0, 180.0)
"""Watts of a node, at a slow and at the full clock: round numbers for a server of two sockets."""

CORES: Final = 64
"""Cores of a node whose size isn't known."""

SOCKETS: Final = 2

MOST_SOCKETS: Final = 2048
"""A log of a larger machine that doesn't tell its nodes is taken to count cores.

Up to here a processor is taken for a socket: small logs are of machines of one or two processors to
a node, and a large one with 250 W to each of its 80 000 cores would draw 20 MW.
"""


def assumed_power(
    procs: int, nodes: int | None = None, watts: tuple[float, float] | None = None
) -> tuple[Power, str]:
    """Return watts of a processor at a slow and at the full clock, and where they come from.

    Parameters
    ----------
    procs, nodes
        Of the machine; ``nodes`` is None where it isn't known.
    watts
        Of a busy and of an idle node at the full clock, if they are known; at the slow one they
        are taken to fall in the same proportion as the assumed ones.
    """
    each, kind = _processors_per_node(procs, nodes)
    busy, idle = (NODE_BUSY[1], NODE_IDLE[1]) if watts is None else watts
    slow_busy, slow_idle = (busy * NODE_BUSY[0] / NODE_BUSY[1], idle * NODE_IDLE[0] / NODE_IDLE[1])
    power = Power((slow_busy / each, busy / each), (slow_idle / each, idle / each))
    source = "assumed" if watts is None else "as given"
    words = (
        f"{source}: {quantity(busy)} W busy and {quantity(idle)} W idle per node at the full "
        f"clock, {quantity(slow_busy)} W and {quantity(slow_idle)} W at the slow one; {kind}, so "
        f"{quantity(busy / each)} W and {quantity(idle / each)} W per processor"
    )
    return power, words


def _processors_per_node(procs: int, nodes: int | None) -> tuple[float, str]:
    """Return how many processors share a node's watts, and how that is known."""
    if nodes is not None and 0 < nodes <= procs:
        return procs / nodes, f"{nodes:,} nodes of {count_of(procs / nodes, 'processor')}"
    if procs > MOST_SOCKETS:
        return CORES, f"nodes of {CORES} cores, as the log doesn't tell its nodes"
    return SOCKETS, f"nodes of {SOCKETS} processors, as the log doesn't tell its nodes"

"""The modified Kiefer–Wolfowitz recursion (Rumyantsev 2014, (1) and (2)) on sorted runs.

The workload vector W of s servers is kept as runs of (free from when, number of servers) in a
heap, in absolute time, so that nothing is subtracted at each arrival and a customer costs
O(log runs), whatever s is. It is also the fastest way through a first-come-first-served queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel, part
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.ends import ends_pop, ends_push
from onega.kernels.types import Floats, Ints, Records

RUN = record(
    end=REAL,
    servers=WHOLE,
)
"""Servers that are busy until the same time."""


class Vector(NamedTuple):
    """Busy servers: a heap of ``runs``; ``size``: [number of runs, free servers, all servers]."""

    runs: Records
    size: Ints


RUNS, FREE, SERVERS = 0, 1, 2


class Customers(NamedTuple):
    """Arrival times, services (s columns for independent release, else one) and widths."""

    arrival: Floats
    service: Floats
    width: Ints


def make_vector(servers: int, runs: int) -> Vector:
    """Make an empty system with room for ``runs`` runs; there are never more than servers."""
    return Vector(np.empty(min(servers, runs) + 1, RUN), np.array([0, servers, servers]))


@part
def _push(vector: Vector, end: float, servers: int) -> None:
    """Add a run."""
    place = ends_push(vector.runs, vector.size[RUNS], end)
    vector.runs[place].servers = servers
    vector.size[RUNS] += 1


@part
def _drop(vector: Vector) -> None:
    """Take the earliest run out."""
    vector.size[RUNS] -= 1
    ends_pop(vector.runs, vector.size[RUNS])


@part
def _release(vector: Vector, now: float) -> int:
    """Set the servers free whose work is done; return how many are busy still."""
    size = vector.size
    while size[RUNS] > 0 and vector.runs[0].end <= now:
        size[FREE] += vector.runs[0].servers
        _drop(vector)
    return size[SERVERS] - size[FREE]


@kernel
def concurrent(customers: Customers, vector: Vector, begin: Floats, busy: Ints) -> None:
    """Serve customers whose servers are released together.

    Fills when each one's service begins, and how many servers are busy when it arrives.
    """
    size = vector.size
    for i in range(customers.arrival.size):
        now = customers.arrival[i]
        busy[i] = _release(vector, now)
        width = customers.width[i]
        if width <= size[FREE]:
            size[FREE] -= width
        else:
            missing = width - size[FREE]
            size[FREE] = 0
            while missing > 0:
                now = vector.runs[0].end
                if vector.runs[0].servers > missing:
                    vector.runs[0].servers -= missing
                    missing = 0
                else:
                    missing -= vector.runs[0].servers
                    _drop(vector)
        begin[i] = now
        _push(vector, now + customers.service[i], width)


@kernel
def independent(customers: Customers, vector: Vector, begin: Floats, busy: Ints) -> None:
    """Serve customers whose servers are released one by one.

    Row i of the services has a column for each server: the j-th goes to the j-th least loaded.
    """
    size = vector.size
    for i in range(customers.arrival.size):
        now = customers.arrival[i]
        busy[i] = _release(vector, now)
        width = customers.width[i]
        at_once = min(size[FREE], width)
        size[FREE] -= at_once
        for _ in range(width - at_once):
            now = vector.runs[0].end
            _drop(vector)
        begin[i] = now
        for j in range(width):
            _push(vector, now + customers.service[i * size[SERVERS] + j], 1)


@kernel
def vectors(customers: Customers, begin: Floats, columns: int, out: Floats) -> None:
    """Fill row i of ``out`` with W_i, sorted: the work left on each server when i arrives.

    ``columns`` is 1 for concurrent release, else how many services a customer has. The cost grows
    with the servers, unlike that of the delays.
    """
    until = np.zeros(out.shape[1])
    for i in range(customers.arrival.size):
        out[i] = np.maximum(until - customers.arrival[i], 0.0)
        for j in range(customers.width[i]):
            first = i * columns
            until[j] = begin[i] + customers.service[first + (0 if columns == 1 else j)]
        until.sort()

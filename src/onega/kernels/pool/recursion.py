"""The modified Kiefer–Wolfowitz recursion (Rumyantsev 2014, (1) and (2)) on sorted runs.

The workload vector W of s servers is kept as runs of (free from when, number of servers) in a
heap, in absolute time, so that nothing is subtracted at each arrival and a customer costs
O(log runs), whatever s is. It is also the fastest way through a first-come-first-served queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel, part
from onega.kernels.types import Floats, Ints


class Vector(NamedTuple):
    """Busy servers: a binary heap of runs (``until`` when, how many ``servers``).

    ``size``: [number of runs, free servers, all servers].
    """

    until: Floats
    servers: Ints
    size: Ints


RUNS, FREE, SERVERS = 0, 1, 2


class Customers(NamedTuple):
    """Arrival times, services (s columns for independent release, else one) and widths."""

    arrival: Floats
    service: Floats
    width: Ints


def make_vector(servers: int, runs: int) -> Vector:
    """Make an empty system with room for ``runs`` runs; there are never more than servers."""
    room = min(servers, runs) + 1
    return Vector(np.empty(room), np.empty(room, np.int64), np.array([0, servers, servers]))


@part
def vector_push(vector: Vector, until: float, count: int) -> None:
    """Add a run."""
    place = vector.size[0]
    vector.size[0] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if vector.until[parent] <= until:
            break
        vector.until[place] = vector.until[parent]
        vector.servers[place] = vector.servers[parent]
        place = parent
    vector.until[place] = until
    vector.servers[place] = count


@part
def vector_drop(vector: Vector) -> None:
    """Take the earliest run out."""
    size = vector.size[0] - 1
    vector.size[0] = size
    until, count = vector.until[size], vector.servers[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and vector.until[below + 1] < vector.until[below]:
            below += 1
        if vector.until[below] >= until:
            break
        vector.until[place] = vector.until[below]
        vector.servers[place] = vector.servers[below]
        place = below
    vector.until[place] = until
    vector.servers[place] = count


@part
def _release(vector: Vector, now: float) -> int:
    """Set the servers free whose work is done; return how many are busy still."""
    size = vector.size
    while size[RUNS] > 0 and vector.until[0] <= now:
        size[FREE] += vector.servers[0]
        vector_drop(vector)
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
                now = vector.until[0]
                if vector.servers[0] > missing:
                    vector.servers[0] -= missing
                    missing = 0
                else:
                    missing -= vector.servers[0]
                    vector_drop(vector)
        begin[i] = now
        vector_push(vector, now + customers.service[i], width)


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
            now = vector.until[0]
            vector_drop(vector)
        begin[i] = now
        for j in range(width):
            vector_push(vector, now + customers.service[i * size[SERVERS] + j], 1)


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

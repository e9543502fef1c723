"""The stability constant over partitions, and over all orders of jobs (Rumyantsev 2014)."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints


@kernel
def count_partitions(widths: Ints, servers: int) -> float:
    """How many multisets of widths have a sum between 1 and ``servers``."""
    ways = np.zeros(servers + 1)
    ways[0] = 1.0
    for c in range(widths.size):
        for n in range(widths[c], servers + 1):
            ways[n] += ways[n - widths[c]]
    return float(ways.sum()) - 1.0


@kernel
def constant_by_partitions(widths: Ints, probs: Floats, tails: Floats, servers: int) -> float:
    """Rumyantsev (2014), (9): Σ over partitions n of k ≤ s of (m−1)!/Πn_i!·Πp_i^n_i·P(N > s−k).

    m = Σn_i. The walk adds one part at a time, parts in descending order of index; adding a part
    of width i multiplies the weight by m·p_i/(n_i+1) (by p_i for the first part), so no factorial
    is ever formed. ``tails[j]`` = P(N > j), j = 0…servers.
    """
    depth = servers + 2
    part = np.zeros(depth, np.int64)
    weight = np.zeros(depth)
    used = np.zeros(depth, np.int64)
    same = np.zeros(depth, np.int64)
    constant = 0.0
    lost = 0.0
    level = 1
    part[0] = 0
    part[1] = 0
    while level > 0:
        c = part[level]
        if c >= widths.size or used[level - 1] + widths[c] > servers:
            level -= 1
            part[level] += 1
            continue
        used[level] = used[level - 1] + widths[c]
        if level == 1:
            same[level] = 1
            weight[level] = probs[c]
        else:
            same[level] = same[level - 1] + 1 if part[level - 1] == c else 1
            weight[level] = weight[level - 1] * (level - 1) * probs[c] / same[level]
        # Kahan's sum: millions of small terms would else lose four digits.
        term = weight[level] * tails[servers - used[level]] - lost
        grown = constant + term
        lost = (grown - constant) - term
        constant = grown
        level += 1
        part[level] = c
    return constant


@kernel
def constant_by_enumeration(widths: Ints, probs: Floats, servers: int) -> float:
    """Sum over all sequences of s widths of Πp / (how many of them fit into s): (4)."""
    order = np.zeros(servers, np.int64)
    constant = 0.0
    lost = 0.0
    while True:
        weight = 1.0
        used = 0
        fitting = 0
        blocked = False
        for i in range(servers):
            weight *= probs[order[i]]
            used += widths[order[i]]
            if used > servers:
                blocked = True
            if not blocked:
                fitting += 1
        term = weight / fitting - lost
        grown = constant + term
        lost = (grown - constant) - term
        constant = grown
        i = servers - 1
        while i >= 0 and order[i] == widths.size - 1:
            order[i] = 0
            i -= 1
        if i < 0:
            return constant
        order[i] += 1

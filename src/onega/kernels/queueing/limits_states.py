"""State probabilities of servers taken by groups: one recursion for several models."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints

_LARGE = 1e200


@kernel
def group_states(sizes: Ints, weights: Floats, length: int) -> Floats:
    """p_0…p_{length−1} with n·p_n = Σ_j weights_j·p_{n−sizes_j}, scaled to a sum of one.

    The recursion of a sum of independent groups (Panjer; Kaufman and Roberts for the loss system;
    (22) of Zayats et al. 2024). All terms are positive. p_0 may be e^−5000: whenever a term grows
    beyond 1e200 all are scaled down; what underflows then is below 1e-300 of the sum.
    """
    states = np.zeros(length)
    states[0] = 1.0
    total = 1.0
    for n in range(1, length):
        value = 0.0
        for j in range(sizes.size):
            if sizes[j] > n:
                break
            value += weights[j] * states[n - sizes[j]]
        value /= n
        states[n] = value
        total += value
        if total > _LARGE:
            states[: n + 1] /= total
            total = 1.0
    return states / np.cumsum(states[::-1])[-1]  # the small ones first


@kernel
def thinned_groups(widths: Ints, probs: Floats, alive: Floats, weights: Floats) -> Floats:
    """b_j = Σ_q weights_q·P(Bin(θ, alive_q) = j): how long a group has j of its tasks in service.

    Binomial rows grow by one task at a time (Pascal), so nothing overflows.
    O(nodes × widest²).
    """
    widest = widths[-1]
    share = np.zeros(widest + 1)
    for c in range(widths.size):
        share[widths[c]] = probs[c]
    result = np.zeros(widest + 1)
    row = np.zeros(widest + 1)
    for q in range(alive.size):
        p = alive[q]
        if p <= 0.0 or weights[q] == 0.0:
            continue
        row[:] = 0.0
        row[0] = 1.0
        for theta in range(1, widest + 1):
            for j in range(theta, 0, -1):
                row[j] = row[j] * (1.0 - p) + row[j - 1] * p
            row[0] *= 1.0 - p
            if share[theta] > 0.0:
                for j in range(1, theta + 1):
                    result[j] += weights[q] * share[theta] * row[j]
    return result

"""The harmonic renewal sequence, which gives the stability constant at every machine size."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel, part
from onega.kernels.types import Floats, Ints


@kernel
def harmonic_renewal(widths: Ints, probs: Floats, tails: Floats, centred: bool) -> Floats:  # noqa: FBT001
    """ℓ_n = Σ_j P(N₁+…+N_j = n)/j for n = 0…servers, by a recursion for g_n = n·ℓ_n.

    x·d/dx of L(x) = −log(1 − P(x)) gives g_n = n·p_n + Σ_k p_k·g_{n−k}: positive terms, nothing
    cancels, but rounding errors add up over n/E[N] steps. For narrow widths g_n soon comes to 1;
    then ``centred`` runs the same recursion for e_n = g_n − 1,

        e_n = n·p_n − P(N ≥ n) + Σ_{k<n} p_k·e_{n−k},

    whose errors die out with e_n. Sums are Kahan's. ``widths`` ascend, from 1; ``tails[n]`` =
    P(N > n), n = 0…servers. O(servers × number of widths).
    """
    servers = tails.size - 1
    values = np.zeros(servers + 1)
    for c in range(widths.size):
        if widths[c] <= servers:
            values[widths[c]] = widths[c] * probs[c]
    if centred:
        for n in range(1, servers + 1):
            values[n] -= tails[n - 1]
    for n in range(1, servers + 1):
        total = values[n]
        lost = 0.0
        for c in range(widths.size):
            k = widths[c]
            if k >= n:
                break
            term = probs[c] * values[n - k] - lost
            grown = total + term
            lost = (grown - total) - term
            total = grown
        values[n] = total
    for n in range(1, servers + 1):
        values[n] = (1.0 + values[n]) / n if centred else values[n] / n
    return values


@part
def _amounts(cell: int, strides: Ints, here: Ints) -> None:
    """Fill in how much of each resource a cell of the grid stands for."""
    for r in range(strides.size):
        here[r] = cell // strides[r]
        cell -= here[r] * strides[r]


@kernel
def vector_constant(needs: Ints, probs: Floats, capacity: Ints) -> float:
    """C for jobs that need several resources at once; the same recursion on a grid.

    With |n| = Σ n_r: |n|·ℓ_n = |n|·p_n + Σ_k p_k |n−k| ℓ_{n−k}, and
    C = Σ_{n ≤ capacity} P(N ≰ n)·ℓ_{capacity−n}, where ≤ holds in every resource.
    ``needs`` has a row per class and a column per resource. O(Π(capacity+1) × classes).
    """
    resources = capacity.size
    strides = np.ones(resources, np.int64)
    for r in range(resources - 2, -1, -1):
        strides[r] = strides[r + 1] * (capacity[r + 1] + 1)
    cells = strides[0] * (capacity[0] + 1)
    weighted = np.zeros(cells)  # |n|·ℓ_n
    fits = np.zeros(cells)  # P(N ≤ n)
    here = np.zeros(resources, np.int64)
    for cell in range(cells):
        _amounts(cell, strides, here)
        for c in range(probs.size):
            inside, before = True, cell
            for r in range(resources):
                inside &= needs[c, r] <= here[r]
                before -= needs[c, r] * strides[r]
            if inside:
                fits[cell] += probs[c]
                weighted[cell] += probs[c] * (weighted[before] if before > 0 else here.sum())
    constant = 0.0
    for cell in range(1, cells):
        _amounts(cell, strides, here)
        constant += (1.0 - fits[cells - 1 - cell]) * weighted[cell] / here.sum()
    return constant

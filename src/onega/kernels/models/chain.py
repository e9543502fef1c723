"""Walks of Markov chains: one chain, and two chains of which one leads the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel


class Coupled(NamedTuple):
    """A leading and a following chain (Song 2006, §3.2.2).

    Attributes
    ----------
    leader, follower
        Cumulative transition matrices.
    adjusted
        The follower's state after an adjustment, ``[m, n, j]``: the leader goes from m to n, the
        follower leaves j.
    cor0, cor1
        Probability of an adjustment where the leader stays, and where it changes.
    """

    leader: np.ndarray
    follower: np.ndarray
    adjusted: np.ndarray
    cor0: float
    cor1: float


@kernel
def pick(cumulative: np.ndarray, u: float) -> int:
    """Smallest state whose cumulative probability exceeds u (the last one, if rounding fails)."""
    low = 0
    high = cumulative.size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def walk(start: np.ndarray, matrix: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Walk one chain: cumulative start distribution, cumulative rows, one uniform a step."""
    n = uniforms.size
    path = np.empty(n, np.int64)
    for i in range(n):
        row = start if i == 0 else matrix[path[i - 1]]
        path[i] = pick(row, uniforms[i])
    return path


@kernel
def walk_coupled(chains: Coupled, first: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Walk two chains and adjust the follower's states by the thesis's three rules.

    ``first`` holds the two states to start from (leader, follower), ``uniforms`` three numbers a
    step: for the leader, the follower and the adjustment. Returns the two paths, counted from 0.

    The adjusted state is what the job gets; the chain itself goes on from its own state. (Were the
    adjusted state fed back, LANL's ρ₁ of widths would come out as 0.37 where the log has 0.19 and
    the thesis reports 0.20 for its 0.16.)
    """
    n = uniforms.shape[1]
    path = np.empty((2, n), np.int64)
    if n == 0:
        return path
    m = first[0]
    j = first[1]
    path[0, 0] = m
    path[1, 0] = j
    for i in range(1, n):
        leads = pick(chains.leader[m], uniforms[0, i])
        k = pick(chains.follower[j], uniforms[1, i])
        shown = k
        if k != j and uniforms[2, i] < (chains.cor0 if leads == m else chains.cor1):
            shown = chains.adjusted[m, leads, j]
        path[0, i] = leads
        path[1, i] = shown
        m = leads
        j = k
    return path

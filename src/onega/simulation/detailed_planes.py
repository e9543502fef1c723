"""Nodes as bits: where the engine may count processors by words, and the words at the beginning.

See `onega.kernels.detailed_bits` for what the planes of a row are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onega.kernels import detailed_codes as codes
from onega.simulation.detailed_problem import Problem

Array = npt.NDArray[Any]

MOST_PLANES = 8
"""Processors of a node up to which planes are quicker than numbers: all are gone through."""


def is_unit(problem: Problem) -> bool:
    """Tell whether all chunks are one processor, and nodes have whole numbers of them free."""
    capacity, amounts = problem.nodes.capacity, problem.calendar.amount
    return bool(
        capacity.shape[1] == 1
        and not problem.partitions.whole.any()
        and problem.options.extent.least_chunk[0] == problem.options.extent.chunk[0] == 1.0
        and (capacity == np.floor(capacity)).all()
        and (amounts == np.floor(amounts)).all()
    )


def planes_of(problem: Problem) -> int:
    """Return how many planes nodes need where all chunks are one processor; 0: bits won't do.

    Bits know no amounts below 0 and nothing of who runs on a node that takes no more jobs: no
    reservations of nodes, no draining, no sleep, and passes with at most one reservation.
    """
    rules = problem.partitions
    most = int(problem.nodes.capacity[:, 0].max())
    passes = (rules.reservations <= 1).all() and (
        problem.nodes.shared.size == 0 or rules.order.size == 1
    )
    quiet = (
        problem.sleep is None
        and problem.calendar.begin.size == 0
        and not (problem.events.code == codes.DRAIN).any()
    )
    if problem.nodes.pooled or most > MOST_PLANES or not passes or not quiet:
        return 0
    return 1 if most <= 1 else 4 if most <= 4 else 8


def words_of(hosts: Array, parts: int) -> Array:
    """Return at which word the bits of each partition's nodes begin, and the end."""
    words = np.zeros(parts + 1, np.int64)
    words[1:] = (np.bincount(hosts, minlength=parts) + 63) // 64
    return words.cumsum()


def bits_of(amounts: Array, hosts: Array, words: Array, planes: int) -> Array:
    """Return the planes of a row of free processors; nodes stand by partition."""
    if planes == 0:
        return np.zeros(0, np.int64)
    first = np.searchsorted(hosts, np.arange(words.size - 1))
    places = 64 * words[hosts] + np.arange(hosts.size) - first[hosts]
    some = np.zeros((planes, 64 * int(words[-1])), dtype=bool)
    some[:, places] = amounts >= np.arange(1, planes + 1)[:, None]
    packed = np.packbits(some, axis=1, bitorder="little").view(np.int64)
    if planes > 1:
        packed = np.concatenate([np.full_like(packed, -1), packed, np.zeros_like(packed)])
    return packed.T.ravel()

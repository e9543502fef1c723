"""Sets of nodes as words of 64 bits, and which nodes Slurm's select/linear takes for a job."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import part

Words = npt.NDArray[np.uint64]

ONE = np.uint64(1)
HALVES = tuple(
    (np.uint64(width), np.uint64((1 << 64) // ((1 << width) + 1))) for width in (1, 2, 4, 8, 16, 32)
)
"""Widths of neighbouring counts of bits, and the mask of every other one of them."""


@part
def count_nodes(words: Words) -> int:
    """Count the nodes of a set."""
    total = 0
    for word in words:
        counts = word  # of 1 bit each; then of two together, of four, …
        for width, mask in HALVES:
            counts = (counts & mask) + (counts >> width & mask)
        total += int(counts)
    return total


@part
def has_node(words: Words, node: int) -> bool:
    """Tell whether a node is in a set."""
    return (words[node >> 6] >> np.uint64(node & 63)) & ONE != 0


@part
def add_node(words: Words, node: int) -> None:
    """Put a node into a set."""
    words[node >> 6] |= ONE << np.uint64(node & 63)


@part
def add_nodes(words: Words, more: Words) -> None:
    """Put all nodes of another set into a set."""
    for place in range(words.size):
        words[place] |= more[place]


@part
def remove_nodes(words: Words, fewer: Words) -> None:
    """Take all nodes of another set out of a set."""
    for place in range(words.size):
        words[place] &= ~fewer[place]


@part
def is_subset(small: Words, large: Words) -> bool:
    """Tell whether every node of one set is in another."""
    for place in range(small.size):  # noqa: SIM110
        if small[place] & ~large[place] != 0:
            return False
    return True


@part
def are_equal(first: Words, second: Words) -> bool:
    """Tell whether two sets are the same."""
    for place in range(first.size):  # noqa: SIM110
        if first[place] != second[place]:
            return False
    return True


@part
def overlap(first: Words, second: Words) -> bool:
    """Tell whether two sets share a node."""
    for place in range(first.size):  # noqa: SIM110
        if first[place] & second[place] != 0:
            return True
    return False


@part
def best_fit(free: Words, wanted: int, nodes: int, chosen: Words) -> None:
    """Choose ``wanted`` of the free nodes, of which there are enough, as select/linear does.

    Runs of consecutive nodes are taken whole, one after the other: the smallest that suffices for
    what is still wanted (the first of equal ones), or, while none does, the largest.
    """
    left = free.copy()
    chosen[:] = 0
    while wanted > 0:
        best_first, best_size, least = 0, 0, 2 * nodes
        node = 0
        while node < nodes:
            if not has_node(left, node):
                node += 1
                continue
            first = node
            while node < nodes and has_node(left, node):
                node += 1
            size = node - first
            # What is left over; if it doesn't suffice, what is missing, which is always worse.
            cost = size - wanted if size >= wanted else nodes + wanted - size
            if cost < least:
                best_first, best_size, least = first, size, cost
        for taken in range(best_first, best_first + min(best_size, wanted)):
            add_node(chosen, taken)
        remove_nodes(left, chosen)
        wanted -= best_size

"""The order of the blocks that a long sorted sequence is kept in.

Entries stand in blocks of fixed length, so that one that comes or goes moves at most a block of
them; which block is where in the sequence is told by their numbers alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import part, shift
from onega.kernels.types import Ints


class Blocks(NamedTuple):
    """``order``: numbers of the blocks in use, as they follow each other, then of the spare ones;
    ``used[0]``: how many are in use."""  # noqa: D205, D209

    order: Ints
    used: Ints


def make_blocks(number: int, used: int) -> Blocks:
    """Make so many blocks, the first of them in use."""
    return Blocks(np.arange(number), np.array([used]))


@part
def open_block(blocks: Blocks, place: int) -> int:
    """Put a spare block into the order at ``place`` and return its number; there must be one."""
    order, used = blocks.order, blocks.used[0]
    fresh = order[used]
    shift(order, place + 1, place, used - place)
    order[place] = fresh
    blocks.used[0] = used + 1
    return fresh


@part
def close_block(blocks: Blocks, place: int) -> None:
    """Take the block at ``place`` out of the order; it is spare."""
    order, left = blocks.order, blocks.used[0] - 1
    spare = order[place]
    shift(order, place, place + 1, left - place)
    order[left] = spare
    blocks.used[0] = left

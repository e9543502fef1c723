"""The waiting jobs in queue order, in blocks that a search can pass over.

Entries (rank, processors, expected work) stand sorted by rank in blocks of at most 128, without
holes. Each block knows a bound: the fewest processors that a job in it asks for and, for each width
class k, the shortest expected work among jobs narrower than 2^(k+1). A search for the first job
that fits passes over every block that can't hold one, so that a queue of 10⁵ jobs costs a few
hundred looks instead of 10⁵, and a short queue is one block that is simply read.

Bounds are lower bounds: leaving jobs don't update them; a search that reads a block in vain does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import part, shift
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.blocks import Blocks, close_block, make_blocks, open_block
from onega.kernels.types import Floats, Ints, Records

BLOCK = 128
UNBOUNDED = 2**62

ENTRY = record(rank=WHOLE, procs=WHOLE, expect=REAL, width=WHOLE, job=WHOLE)
BLOCKS = record(filled=WHOLE, stale=WHOLE, fewest=WHOLE)


class Waiting(NamedTuple):
    """``entry``: BLOCK jobs a block, with their ``width`` classes; ``block``: ``filled``, whether
    its bound is ``stale``, the ``fewest`` processors; ``shortest`` by block and width class;
    ``blocks``: which are in use, in the order of the queue; ``jobs[0]`` wait."""  # noqa: D205, D209

    entry: Records
    block: Records
    shortest: Floats
    blocks: Blocks
    jobs: Ints


class Fit(NamedTuple):
    """What a job must satisfy: ``procs`` ≤ free, and clock + expect ≤ shadow or procs ≤ extra."""

    free: int
    extra: int
    clock: float
    shadow: float


def make_waiting(jobs: int, widest: int) -> Waiting:
    """Make an empty queue for so many jobs, one after the other, up to ``widest`` processors.

    There is always a spare block: a block is opened behind a full one, with half of its jobs or,
    at the end of the queue, with none. So every block in use but the last has, or had, half a block
    of jobs to itself, and there are at most ``jobs`` / (BLOCK / 2) + 1. The system only hands out
    the memory that is touched.
    """
    number = jobs // (BLOCK // 2) + 2
    return Waiting(
        np.empty(number * BLOCK, ENTRY),
        np.empty(number, BLOCKS),
        np.empty((number, max(1, int(widest).bit_length()))),
        make_blocks(number, used=0),
        np.zeros(1, np.int64),
    )


@part
def width_class(procs: int) -> int:
    """Return ⌊log₂ procs⌋."""
    result = 0
    while procs > 1:
        procs >>= 1
        result += 1
    return result


@part
def _bound(waiting: Waiting, block: int, procs: int, expect: float) -> None:
    """Let a block's bound take one more job into account."""
    waiting.block[block].fewest = min(waiting.block[block].fewest, procs)
    for k in range(width_class(procs), waiting.shortest.shape[1]):
        if waiting.shortest[block, k] <= expect:
            break
        waiting.shortest[block, k] = expect


@part
def waiting_tighten(waiting: Waiting, block: int) -> None:
    """Make a block's bound anew from its jobs."""
    waiting.block[block].fewest = UNBOUNDED
    waiting.shortest[block, :] = np.inf
    waiting.block[block].stale = 0
    for index in range(block * BLOCK, block * BLOCK + waiting.block[block].filled):
        _bound(waiting, block, waiting.entry[index].procs, waiting.entry[index].expect)


@part
def _open_block(waiting: Waiting, place: int) -> int:
    """Put an empty block into the order at ``place``."""
    block = open_block(waiting.blocks, place)
    waiting.block[block].filled = 0
    waiting.block[block].stale = 0
    waiting.block[block].fewest = UNBOUNDED
    waiting.shortest[block, :] = np.inf
    return block


@part
def _block_for(waiting: Waiting, rank: int) -> int:
    """Return the block that a rank goes into, with room for it."""
    used = waiting.blocks.used[0]
    if used == 0:
        return _open_block(waiting, 0)
    low, high = 0, used
    while high - low > 1:
        middle = (low + high) >> 1
        if waiting.entry[waiting.blocks.order[middle] * BLOCK].rank <= rank:
            low = middle
        else:
            high = middle
    block = waiting.blocks.order[low]
    size = waiting.block[block].filled
    if size < BLOCK:
        return block
    fresh = _open_block(waiting, low + 1)
    if low + 1 == used and rank > waiting.entry[block * BLOCK + size - 1].rank:
        return fresh
    half = BLOCK // 2
    shift(waiting.entry, fresh * BLOCK, block * BLOCK + half, half)
    waiting.block[block].filled = half
    waiting.block[fresh].filled = half
    waiting_tighten(waiting, block)
    waiting_tighten(waiting, fresh)
    return fresh if rank > waiting.entry[fresh * BLOCK].rank else block


@part
def waiting_add(waiting: Waiting, job: int, rank: int, procs: int, expect: float) -> None:
    """Let a job wait."""
    block = _block_for(waiting, rank)
    size = waiting.block[block].filled
    index = block * BLOCK + size
    while index > block * BLOCK and waiting.entry[index - 1].rank > rank:
        index -= 1
    shift(waiting.entry, index + 1, index, block * BLOCK + size - index)
    entry = waiting.entry[index]
    entry.job = job
    entry.rank = rank
    entry.procs = procs
    entry.expect = expect
    entry.width = width_class(procs)
    waiting.block[block].filled = size + 1
    waiting.jobs[0] += 1
    _bound(waiting, block, procs, expect)


@part
def waiting_take(waiting: Waiting, place: int, index: int) -> bool:
    """Let the job at an entry of the block at ``place`` go; tell whether the block is gone too.

    The next job in order then stands at the same entry, or first in the block now at ``place``.
    """
    block = waiting.blocks.order[place]
    size = waiting.block[block].filled - 1
    waiting.block[block].filled = size
    waiting.block[block].stale = 1
    waiting.jobs[0] -= 1
    shift(waiting.entry, index, index + 1, block * BLOCK + size - index)
    if size > 0:
        return False
    close_block(waiting.blocks, place)
    return True


@part
def waiting_head(waiting: Waiting) -> int:
    """Return the entry of the first job; there must be one."""
    return waiting.blocks.order[0] * BLOCK


@part
def waiting_find(waiting: Waiting, place: int, skip: int, fit: Fit) -> tuple[int, int]:
    """Find the first job that fits, from the ``skip``-th entry of the block at ``place`` on.

    Returns its block's place and its entry; place −1 if there is none.
    """
    used = waiting.blocks.used[0]
    k = min(width_class(fit.free), waiting.shortest.shape[1] - 1)
    while place < used:
        block = waiting.blocks.order[place]
        fewest = waiting.block[block].fewest
        possible = fewest <= fit.free and (
            fewest <= fit.extra or fit.clock + waiting.shortest[block, k] <= fit.shadow
        )
        if possible:
            first = block * BLOCK
            for index in range(first + skip, first + waiting.block[block].filled):
                procs = waiting.entry[index].procs
                if procs <= fit.free and (
                    procs <= fit.extra or fit.clock + waiting.entry[index].expect <= fit.shadow
                ):
                    return place, index
            if skip == 0 and waiting.block[block].stale and used > 2:
                waiting_tighten(waiting, block)
        place += 1
        skip = 0
    return -1, 0

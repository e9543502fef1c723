"""A sorted multiset as runs of (key, count), in blocks.

Holds the expected ends of running jobs: ``count`` processors come free at ``key``. Equal keys are
one run. Blocks of at most 64 runs keep insertion and removal at O(√n) memory moves however many
jobs run, and let a search skip whole blocks by their totals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import part, shift
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.blocks import Blocks, close_block, make_blocks, open_block
from onega.kernels.types import Records

BLOCK = 64


ENTRY = record(key=REAL, count=WHOLE)
BLOCKS = record(filled=WHOLE, total=WHOLE, bounded=WHOLE, least=WHOLE, most=WHOLE)


class Runs(NamedTuple):
    """``entry``: BLOCK runs a block; ``block``: ``filled`` and ``total`` of a block, the ``least``
    and the ``most`` that the sum of its counts reaches on the way if they are known (``bounded``);
    ``blocks``: which are in use, in the order of their keys."""  # noqa: D205, D209

    entry: Records
    block: Records
    blocks: Blocks


def make_runs(capacity: int) -> Runs:
    """Make an empty multiset for at most ``capacity`` different keys."""
    number = 4 * (capacity // BLOCK) + 4
    return Runs(
        np.empty(number * BLOCK, ENTRY), np.zeros(number, BLOCKS), make_blocks(number, used=1)
    )


@part
def _position(runs: Runs, key: float) -> int:
    """Return the place in ``order`` of the block that holds or would hold ``key``."""
    low = 0
    high = runs.blocks.used[0]
    while high - low > 1:
        middle = (low + high) >> 1
        if runs.entry[runs.blocks.order[middle] * BLOCK].key <= key:
            low = middle
        else:
            high = middle
    return low


@part
def _within(runs: Runs, block: int, key: float) -> int:
    """Return the index of the first run of a block whose key isn't below ``key``."""
    low = block * BLOCK
    high = low + runs.block[block].filled
    while low < high:
        middle = (low + high) >> 1
        if runs.entry[middle].key < key:
            low = middle + 1
        else:
            high = middle
    return low


@part
def runs_clear(runs: Runs) -> None:
    """Take everything out."""
    runs.blocks.used[0] = 1
    _empty(runs, runs.blocks.order[0])


@part
def _empty(runs: Runs, block: int) -> None:
    runs.block[block].filled = 0
    runs.block[block].total = 0
    runs.block[block].bounded = 0


@part
def runs_append(runs: Runs, key: float, count: int) -> None:
    """Add ``count`` at a ``key`` behind all others; blocks are left half empty for later ones."""
    used = runs.blocks.used[0]
    block = runs.blocks.order[used - 1]
    if runs.block[block].filled >= BLOCK // 2:
        block = open_block(runs.blocks, used)
        _empty(runs, block)
    index = block * BLOCK + runs.block[block].filled
    runs.entry[index].key = key
    runs.entry[index].count = count
    runs.block[block].filled += 1
    runs.block[block].total += count


@part
def _rebuild(runs: Runs) -> None:
    """Pack all runs into half-full blocks, so that spare ones are there again."""
    used = runs.blocks.used[0]
    amount = 0
    for place in range(used):
        amount += runs.block[runs.blocks.order[place]].filled
    kept = np.empty(amount, ENTRY)
    at = 0
    for place in range(used):
        block = runs.blocks.order[place]
        for index in range(block * BLOCK, block * BLOCK + runs.block[block].filled):
            kept[at] = runs.entry[index]
            at += 1
    runs_clear(runs)
    for at in range(amount):
        runs_append(runs, kept[at].key, kept[at].count)


@part
def _split(runs: Runs, place: int) -> None:
    """Move the upper half of a full block into a spare one behind it."""
    block = runs.blocks.order[place]
    fresh = open_block(runs.blocks, place + 1)
    half = BLOCK // 2
    shift(runs.entry, fresh * BLOCK, block * BLOCK + half, half)
    moved = 0
    for index in range(fresh * BLOCK, fresh * BLOCK + half):
        moved += runs.entry[index].count
    runs.block[block].filled = half
    runs.block[fresh].filled = half
    runs.block[block].total -= moved
    runs.block[fresh].total = moved
    runs.block[block].bounded = 0
    runs.block[fresh].bounded = 0


@part
def runs_add(runs: Runs, key: float, count: int) -> None:
    """Add ``count`` at ``key``."""
    runs_add_in(runs, _position(runs, key), key, count)


@part
def runs_add_in(runs: Runs, place: int, key: float, count: int) -> None:
    """Add ``count`` at ``key``, which is known to belong into the block at ``place``.

    Places of other blocks change only if there was no such key.
    """
    block = runs.blocks.order[place]
    index = _within(runs, block, key)
    if index == block * BLOCK + runs.block[block].filled or runs.entry[index].key != key:
        if runs.block[block].filled == BLOCK:
            if runs.blocks.used[0] == runs.block.size:
                _rebuild(runs)
                place = _position(runs, key)
            else:
                _split(runs, place)
                if runs.entry[runs.blocks.order[place + 1] * BLOCK].key <= key:
                    place += 1
            block = runs.blocks.order[place]
            index = _within(runs, block, key)
        shift(runs.entry, index + 1, index, block * BLOCK + runs.block[block].filled - index)
        runs.entry[index].key = key
        runs.entry[index].count = 0
        runs.block[block].filled += 1
    runs.entry[index].count += count
    runs.block[block].total += count
    runs.block[block].bounded = 0


@part
def runs_take(runs: Runs, key: float, count: int) -> None:
    """Take ``count`` away at ``key``; the run must be there."""
    place = _position(runs, key)
    block = runs.blocks.order[place]
    index = _within(runs, block, key)
    runs.block[block].total -= count
    runs.block[block].bounded = 0
    runs.entry[index].count -= count
    if runs.entry[index].count > 0:
        return
    size = runs.block[block].filled - 1
    runs.block[block].filled = size
    shift(runs.entry, index, index + 1, block * BLOCK + size - index)
    if size == 0 and runs.blocks.used[0] > 1:
        close_block(runs.blocks, place)


@part
def runs_reach(runs: Runs, have: int, need: int, floor: float) -> tuple[float, int]:
    """Find when ``need`` processors are free if ``have`` are free now.

    Keys below ``floor`` (now) count as ``floor``: a job past its estimate is expected to end now.
    Returns that key and how many are free then, every run up to the key counted.
    """
    free = have
    used = runs.blocks.used[0]
    key = floor
    for place in range(used):
        block = runs.blocks.order[place]
        if free + runs.block[block].total < need:
            free += runs.block[block].total
            continue
        index = block * BLOCK
        while free < need:
            free += runs.entry[index].count
            key = runs.entry[index].key
            index += 1
        if key >= floor:
            return key, free
        return floor, _count_to(runs, place, index, free, floor)
    return np.inf, free


@part
def _count_to(runs: Runs, place: int, index: int, free: int, floor: float) -> int:
    """Go on counting from a run to the last one whose key isn't above ``floor``."""
    while True:
        block = runs.blocks.order[place]
        end = block * BLOCK + runs.block[block].filled
        while index < end:
            if runs.entry[index].key > floor:
                return free
            free += runs.entry[index].count
            index += 1
        place += 1
        if place == runs.blocks.used[0]:
            return free
        index = runs.blocks.order[place] * BLOCK

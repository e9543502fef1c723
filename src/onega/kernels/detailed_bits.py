"""Nodes as bits: placement and allocation where every chunk is one processor of a small node.

Plane l of a row has a bit for each node with at least l processors free, so that the smaller of two
rows is one *and*, processors are counted as bits, and 64 nodes are taken or given back at once.
Partitions begin at a word of their own. Nodes of one processor have one plane, others C = 4 or 8,
and the planes of word w stand at ``(3w + 1)·C``: behind C words of ones (everybody has 0 or more)
and before C words of zeros, so that planes shifted by a number of processors need no cases; four
at a time, since loops over so few cost more than they do.

An entry of a placement, and a link of an allocation, is a word, a mask of nodes there, and how many
processors are taken of each. Schedules are those of the rows of numbers
(`onega.kernels.detailed_place`), which take over where the calendar takes single nodes away, nodes
drain or sleep, or several reservations are made. What is held is in
`onega.kernels.detailed_held_bits`.
"""

from __future__ import annotations

from onega.kernels.addressed import callee, count_bits, ints, small
from onega.kernels.detailed_codes import BEST_FIT, FIRST_FIT
from onega.kernels.detailed_state import Record, gots, partitions
from onega.kernels.engine import Ints


@small
def planes_at(s: Record, word: int) -> int:
    """Return where a word's planes begin."""
    return word if s.planes == 1 else (3 * word + 1) * s.planes


@small
def _lowest(word: int, count: int) -> int:
    """Return the lowest ``count`` set bits of a word that has more of them."""
    rest = word
    while count > 0:
        rest &= rest - 1
        count -= 1
    return word & ~rest


@small
def _exactly(row: Ints, at: int, level: int) -> int:
    """Return the nodes of a word with just so many processors; its planes begin at ``at``."""
    return row[at + level - 1] & ~row[at + level]


@small
def _count_four(row: Ints, at: int) -> int:
    """Return how many bits four planes have."""
    low = count_bits(row[at]) + count_bits(row[at + 1])
    return low + (count_bits(row[at + 2]) + count_bits(row[at + 3]))


@small
def processors(s: Record, row: Ints, at: int) -> int:
    """Return how many processors the nodes of a word have."""
    if s.planes == 1:
        return count_bits(row[at])
    count = _count_four(row, at)
    return count + _count_four(row, at + 4) if s.planes > 4 else count


@small
def _shift(row: Ints, at: int, mask: int, chunks: int) -> None:
    """Let four planes be, for some nodes, those that stand so many planes further up."""
    a, b, c, d = row[at], row[at + 1], row[at + 2], row[at + 3]
    up = at + chunks
    e, f, g, h = row[up], row[up + 1], row[up + 2], row[up + 3]
    row[at] = a ^ ((a ^ e) & mask)
    row[at + 1] = b ^ ((b ^ f) & mask)
    row[at + 2] = c ^ ((c ^ g) & mask)
    row[at + 3] = d ^ ((d ^ h) & mask)


@small
def fewer(s: Record, row: Ints, word: int, mask: int, chunks: int) -> None:
    """Let nodes of a word have fewer processors; they have them."""
    if s.planes == 1:
        row[word] &= ~mask
        return
    at = (3 * word + 1) * s.planes
    _shift(row, at, mask, chunks)
    if s.planes > 4:
        _shift(row, at + 4, mask, chunks)


@small
def more(s: Record, row: Ints, word: int, mask: int, chunks: int) -> None:
    """Let nodes of a word have more processors."""
    if s.planes == 1:
        row[word] |= mask
        return
    at = (3 * word + 1) * s.planes
    if s.planes > 4:
        _shift(row, at + 4, mask, -chunks)
    _shift(row, at, mask, -chunks)


@small
def _take(s: Record, count: int, word: int, mask: int, chunks: int) -> int:
    """Add processors of each of some nodes to a placement; return its entries, no more if none."""
    got = gots(s.got_at)[count]
    got.node = word
    got.mask = mask
    got.chunks = chunks
    return count + (mask != 0)


@small
def first_fit_ones(s: Record, row: Ints, number: int, left: int) -> bool:
    """Take nodes of one processor by number."""
    p = partitions(s.partitions_at)[number]
    word, last = p.word, p.last_word
    count = 0
    while left > 0 and word < last:
        mask = row[word]
        have = count_bits(mask)
        if have > left:
            mask = _lowest(mask, left)
        count = _take(s, count, word, mask, 1)
        left -= have
        word += 1
    s.got = count
    return left <= 0


@small
def _take_all(s: Record, count: int, row: Ints, word: int, nodes: int) -> int:
    """Take all processors of some nodes of a word; return the placement's entries."""
    at = (3 * word + 1) * s.planes
    level = 1
    while level <= s.planes and row[at + level - 1] & nodes != 0:
        count = _take(s, count, word, _exactly(row, at, level) & nodes, level)
        level += 1
    return count


@small
def _part_of_word(s: Record, count: int, row: Ints, word: int, left: int) -> int:
    """Take processors by number of their node from a word that has more than are needed."""
    at = planes_at(s, word)
    rest = row[at]
    bit = rest & -rest
    have = _level(s, row, at, bit)
    while have <= left:
        left -= have
        rest ^= bit
        bit = rest & -rest
        have = _level(s, row, at, bit)
    count = _take_all(s, count, row, word, row[at] ^ rest)
    return _take(s, count, word, bit if left > 0 else 0, left)


@small
def _level(s: Record, row: Ints, at: int, bit: int) -> int:
    """Return how many processors a node has."""
    level = 1
    while row[at + level] & bit != 0:
        level += 1
    return level


@small
def _first_fit(s: Record, row: Ints, number: int, left: int) -> bool:
    """Take processors by number of their node."""
    p = partitions(s.partitions_at)[number]
    word, last = p.word, p.last_word
    count = 0
    while left > 0 and word < last:
        at = planes_at(s, word)
        have = processors(s, row, at)
        if have > left:
            count = _part_of_word(s, count, row, word, left)
        else:
            count = _take_all(s, count, row, word, -1)
        left -= have
        word += 1
    s.got = count
    return left <= 0


@small
def _best_fit(s: Record, row: Ints, number: int, left: int) -> bool:
    """Take processors of the nodes with the fewest free, by number."""
    p = partitions(s.partitions_at)[number]
    planes, last = s.planes, p.last_word
    count, level = 0, 1
    while left > 0 and level <= planes:
        word = p.word
        while left > 0 and word < last:
            mask = _exactly(row, (3 * word + 1) * planes, level)
            have = level * count_bits(mask)
            if have > left:  # some whole, of one a part
                rest, part = mask, left
                while part >= level:
                    rest &= rest - 1
                    part -= level
                count = _take(s, count, word, mask & ~rest, level)
                count = _take(s, count, word, rest & -rest if part > 0 else 0, part)
                left = 0
            else:
                count = _take(s, count, word, mask, level)
                left -= have
            word += 1
        level += 1
    s.got = count
    return left <= 0


@small
def _spread(s: Record, row: Ints, number: int, count: int) -> bool:
    """Put processor by processor onto the node with the most free; see `detailed_place._spread`."""
    p = partitions(s.partitions_at)[number]
    planes, last = s.planes, p.last_word
    high, left = planes, count
    while high > 0:
        enough = left
        word = p.word
        while enough > 0 and word < last:
            enough -= count_bits(row[(3 * word + 1) * planes + high - 1])
            word += 1
        if enough <= 0:
            break
        left = enough
        high -= 1
    got = 0
    word = p.word if high > 0 else last
    while word < last:
        at = (3 * word + 1) * planes
        below = row[at + high - 1]  # those that are filled one further
        have = count_bits(below)
        if have > left:
            below, have = _lowest(below, left), left
        left -= have
        got = _take(s, got, word, _exactly(row, at, high) & below, 1)
        level = high + 1
        while level <= planes and row[at + level - 1] != 0:
            mask = _exactly(row, at, level)
            got = _take(s, got, word, mask & below, level - high + 1)
            got = _take(s, got, word, mask & ~below, level - high)
            level += 1
        word += 1
    s.got = got
    return left <= 0


@callee
def place_bits(s: Record, row: Ints, number: int, option: int) -> bool:
    """Find nodes for a job of a partition by a row of bits."""
    left = ints(s.chunks_at)[option]
    if s.planes == 1:  # there all rules take the first
        return first_fit_ones(s, row, number, left)
    rule = partitions(s.partitions_at)[number].placement
    if rule == FIRST_FIT:
        return _first_fit(s, row, number, left)
    if rule == BEST_FIT:
        return _best_fit(s, row, number, left)
    return _spread(s, row, number, left)

"""Nodes as bits: what jobs hold of them, and what a reservation leaves.

See `onega.kernels.detailed_bits` for rows of bits and their planes.
"""

from __future__ import annotations

from onega.kernels.addressed import callee, count_bits, flags, floats, ints, small
from onega.kernels.detailed_bits import fewer, more, place_bits, planes_at, processors
from onega.kernels.detailed_state import ENDS, Record, ends, gots, links, partitions, slots
from onega.kernels.engine import Ints


@small
def take_bits(s: Record, slot: int, option: int) -> None:
    """Take what the placement found last says, and note it in the slot."""
    avail = ints(s.avail_bits_at)
    link, spare = -1, s.spare_link
    table = links(s.links_at)
    got = gots(s.got_at)
    place, count = 0, s.got
    while place < count:
        word, mask, chunks = got[place].node, got[place].mask, got[place].chunks
        spare -= 1
        fresh = table[spare].spare
        one = table[fresh]
        one.node = word
        one.mask = mask
        one.chunks = chunks
        one.next = link
        link = fresh
        fewer(s, avail, word, mask, chunks)
        place += 1
    s.spare_link = spare
    slots(s.slots_at)[slot].link = link
    number = slots(s.slots_at)[slot].partition
    floats(s.total_avail_at)[number] -= ints(s.chunks_at)[option]


@small
def give_bits_back(s: Record, slot: int) -> None:
    """Free an allocation; what lies on nodes that are down is free when they return."""
    avail, up = ints(s.avail_bits_at), ints(s.up_bits_at)
    table = links(s.links_at)
    link, spare = slots(s.slots_at)[slot].link, s.spare_link
    freed = 0
    while link >= 0:
        one = table[link]
        word, chunks = one.node, one.chunks
        mask = one.mask & up[word]
        more(s, avail, word, mask, chunks)
        freed += chunks * count_bits(mask)
        table[spare].spare = link
        spare += 1
        link = one.next
    s.spare_link = spare
    floats(s.total_avail_at)[slots(s.slots_at)[slot].partition] += freed


@small
def word_of(s: Record, node: int) -> int:
    """Return the word in which a node's bit stands."""
    p = partitions(s.partitions_at)[ints(s.hosts_at)[node]]
    return p.word + ((node - p.first) >> 6)


@small
def bit_of(s: Record, node: int) -> int:
    """Return a node's bit in its word."""
    p = partitions(s.partitions_at)[ints(s.hosts_at)[node]]
    return 1 << ((node - p.first) & 63)


@callee
def refresh_bits(s: Record, node: int) -> None:
    """Show new starts all processors of a node if it is up, else none: nobody runs on it then."""
    word, bit = word_of(s, node), bit_of(s, node)
    avail, up = ints(s.avail_bits_at), ints(s.up_bits_at)
    at = planes_at(s, word)
    before = processors(s, avail, at)
    for level in range(s.planes):
        has = flags(s.up_at)[node] > 0 and floats(s.capacity_at)[node] > level
        avail[at + level] = avail[at + level] | bit if has else avail[at + level] & ~bit
    up[word] = up[word] | bit if flags(s.up_at)[node] else up[word] & ~bit
    total = floats(s.total_avail_at)
    total[ints(s.hosts_at)[node]] += processors(s, avail, at) - before


@small
def _copy_four(target: Ints, source: Ints, at: int) -> None:
    a, b, c, d = source[at], source[at + 1], source[at + 2], source[at + 3]
    target[at], target[at + 1], target[at + 2], target[at + 3] = a, b, c, d


@small
def _copy_word(s: Record, target: Ints, source: Ints, word: int) -> None:
    """Copy a word's planes from one row to another."""
    if s.planes == 1:
        target[word] = source[word]
        return
    at = planes_at(s, word)
    _copy_four(target, source, at)
    if s.planes > 4:
        _copy_four(target, source, at + 4)


@small
def _both_of_four(s: Record, at: int) -> None:
    avail, later, both = ints(s.avail_bits_at), ints(s.later_bits_at), ints(s.both_bits_at)
    a, b = avail[at] & later[at], avail[at + 1] & later[at + 1]
    c, d = avail[at + 2] & later[at + 2], avail[at + 3] & later[at + 3]
    both[at], both[at + 1], both[at + 2], both[at + 3] = a, b, c, d


@small
def _both_of_word(s: Record, word: int) -> int:
    """Let ``both`` be what nodes of a word have now and at the shadow; return the processors."""
    both = ints(s.both_bits_at)
    at = planes_at(s, word)
    if s.planes == 1:
        both[at] = ints(s.avail_bits_at)[at] & ints(s.later_bits_at)[at]
    else:
        _both_of_four(s, at)
        if s.planes > 4:
            _both_of_four(s, at + 4)
    return processors(s, both, at)


@callee
def build_bits(s: Record, number: int) -> None:
    """Make the rows of bits at the shadow, beside the reservation."""
    p = partitions(s.partitions_at)[number]
    avail, later = ints(s.avail_bits_at), ints(s.later_bits_at)
    for word in range(p.word, p.last_word):
        _copy_word(s, later, avail, word)
    table = ends(s.ends_at)
    index, size = 0, ints(s.sizes_at)[ENDS]
    while index < size and table[index].expected <= p.shadow:
        slot = slots(s.slots_at)[table[index].slot]
        index += 1
        link = slot.link if slot.partition == number else -1
        while link >= 0:
            one = links(s.links_at)[link]
            more(s, later, one.node, one.mask, one.chunks)
            link = one.next
    place_bits(s, later, number, p.option)
    if p.lasting > 0.0:
        for place in range(s.got):
            got = gots(s.got_at)[place]
            fewer(s, later, got.node, got.mask, got.chunks)
    total = 0
    for word in range(p.word, p.last_word):
        total += _both_of_word(s, word)
    floats(s.total_both_at)[number] = total


@small
def narrow_bits(s: Record, number: int, reaching: bool) -> None:  # noqa: FBT001
    """After a start: ``both`` has less, and so has ``later`` if the job reaches the shadow."""
    later, both = ints(s.later_bits_at), ints(s.both_bits_at)
    change = 0
    for place in range(s.got):
        got = gots(s.got_at)[place]
        word = got.node
        if reaching:
            fewer(s, later, word, got.mask, got.chunks)
        change -= processors(s, both, planes_at(s, word))
        change += _both_of_word(s, word)
    floats(s.total_both_at)[number] += change

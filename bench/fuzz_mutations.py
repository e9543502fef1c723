"""Ways to damage a file: bytes, fields, numbers, nesting, pieces of other files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re

import zstandard

TOKENS = [
    *(b"-1", b"nan", b"inf", b"-inf", b"1e400", b"1e308", b"1e18", b"99999999999999999999", b"0"),
    *(b"-0", b"", b" ", b";", b"|", b",", b'"', b"\x00", b"\xff\xfe", b"\n", b"\r\n", b"\t"),
    *(b"Unknown", b"None", b"null", b"true", b"false", b"NaN", b"Infinity", b"[]", b"{}", b"[[]]"),
    *(b"2024-02-30T00:00:00", b"9999-12-31T23:59:59", b"0000-00-00 00:00:00", b"1-1:1:1:1"),
    *(b"9" * 400, b"9" * 5000, b"[", b"]", b"{", b"}", b"[" * 3000, b"{a=" * 1000, b"123_[1-5]"),
    *(b".", b"+", b"=", b"-", b"\xc3\xa9", b"1_000", b"0x1f", b"1.5", b"0.1", b"-5", b"1", b"2"),
    *(b"4294967296", b"2147483647", b"9223372036854775807", b"9223372036854775808", b"1e-320"),
    *("١٢".encode(), "²".encode(), "１２".encode(), "½".encode(), "\u2028".encode()),
    *(b"JobID", b"CANCELLED by x", b"UNLIMITED", b"1-1000000,1-1000000", b"1-999999999"),
    *(b"time", b"down", b"5,down,64", b"fcfs", b"easy", b"slurm", b"a.b.c", b"kind", b"version"),
]

LIKELY = [
    *(b"0", b"1", b"2", b"3", b"4", b"7", b"8", b"10", b"16", b"60", b"100", b"3600", b"86400"),
    *(b"0.5", b"1.5", b"0.001", b"1e6", b"1e9", b"1e12", b"1e-9", b"-1", b"1704880800", b"65536"),
]
"""Numbers that most readers take."""

PACK = (gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress)
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def mutated(data: bytes, rng: random.Random, seeds: list[bytes]) -> bytes:
    """Return a mutation: most stay close to the format, some don't."""
    chance = rng.random()
    changed = bytearray(data)
    if chance < 0.35:
        for _ in range(rng.choice([1, 1, 2])):
            changed = _swap_field(changed, rng)
    elif chance < 0.65:
        for _ in range(rng.choice([1, 1, 2, 3])):
            changed = _swap_number(changed, rng)
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
            changed = _damage(changed, rng, seeds)
    if rng.random() < 0.02:
        packed = bytearray(rng.choice(PACK)(bytes(changed)))
        changed = _damage(packed, rng, seeds) if rng.random() < 0.5 else packed
    return bytes(changed)


def _swap_field(data: bytearray, rng: random.Random) -> bytearray:
    """Replace one field of one line."""
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    separator = max(b"| ,;=", key=lines[number].count)
    fields = lines[number].split(bytes([separator]))
    fields[rng.randrange(len(fields))] = rng.choice(TOKENS)
    lines[number] = bytes([separator]).join(fields)
    return bytearray(b"\n".join(lines))


def _swap_number(data: bytearray, rng: random.Random) -> bytearray:
    """Replace one number: by one that could be meant, or by any token."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return _swap_field(data, rng)
    one = rng.choice(found)
    new = rng.choice(LIKELY) if rng.random() < 0.5 else rng.choice(TOKENS)
    return data[: one.start()] + new + data[one.end() :]


def _damage(data: bytearray, rng: random.Random, seeds: list[bytes]) -> bytearray:
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice([0, 1, 2, 5, 20, 100]))
    what = rng.randrange(8)
    if what == 0 and data:
        data[at % len(data)] ^= 1 << rng.randrange(8)
    elif what in (1, 2):
        data[at:to] = rng.choice(TOKENS)
    elif what == 3:
        del data[at:to]
    elif what == 4:
        data[at:at] = data[at:to] * rng.choice([1, 2, 30])
    elif what == 5:
        other = rng.choice(seeds)
        begin = rng.randrange(len(other) + 1)
        data[at:to] = other[begin : begin + rng.choice([5, 40, 400])]
    elif what == 6:
        return _swap_field(data, rng)
    else:
        del data[at:]
    return data

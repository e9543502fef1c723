"""One row as a Parquet file, written by hand.

A writer of tables of any size takes a millisecond for a row, on threads of its own that take the
processors away from the runs; a sweep writes a million of them. This is the least that the format
asks for: a page with one value for each column, uncompressed, and the description behind them
(https://parquet.apache.org/docs/file-format; its records are in Thrift's compact protocol).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

MAGIC: Final = b"PAR1"

_DOUBLE, _BYTES = 5, 6
"""Physical types, as the format numbers them."""

_HERE, _NULL = b"\x02\x00\x00\x00\x02\x01", b"\x02\x00\x00\x00\x02\x00"
"""Definition levels of one value: a run of one, which is there or isn't, behind its length."""


class Column(NamedTuple):
    """A value and whether it is a text; numbers are doubles."""

    value: str | float | None
    text: bool


class _Described(NamedTuple):
    """What the file says of a column: in the schema, and of its only page before the sizes."""

    schema: bytes
    chunk: bytes


def parquet_row(row: Mapping[str, Column]) -> bytes:
    """Write one row: columns that may be null, in the order given."""
    pages, chunks, schema = [MAGIC], [], []
    place = len(MAGIC)
    for name, column in row.items():
        page = _page(column)
        at, size = _number(place), _number(len(page))
        described = _described(name, text=column.text)
        schema.append(described.schema)
        # file offset, {what it is, size twice, where its page begins}
        sized = b"\x16" + size + b"\x16" + size
        chunks.append(b"\x26" + at + described.chunk + sized + b"\x26" + at + b"\0\0")
        pages.append(page)
        place += len(page)
    root = b"\x48" + _text("root") + b"\x15" + _number(len(row)) + b"\0"
    group = b"\x19" + _list(len(row), 12) + b"".join(chunks)
    group += b"\x16" + _number(place - len(MAGIC)) + b"\x16\x02\0"
    about = (
        b"\x15\x02"  # version 1
        + (b"\x19" + _list(len(row) + 1, 12) + root + b"".join(schema))
        + b"\x16\x02"  # one row
        + (b"\x19" + _list(1, 12) + group)
        + (b"\x28" + _text("onega") + b"\0")
    )
    return b"".join([*pages, about, struct.pack("<I", len(about)), MAGIC])


def _page(column: Column) -> bytes:
    """Return a data page of one value: header, definition level, value."""
    value = column.value
    if value is None:
        data = _NULL
    elif column.text:
        encoded = str(value).encode()
        data = _HERE + struct.pack("<I", len(encoded)) + encoded
    else:
        data = _HERE + struct.pack("<d", value)
    size = _number(len(data))
    # data page, its size twice, {one value, plain, levels as runs}
    header = b"\x15\0\x15" + size + b"\x15" + size + b"\x2c\x15\x02\x15\0\x15\x06\x15\x06\0\0"
    return header + data


@lru_cache(maxsize=4096)
def _described(name: str, *, text: bool) -> _Described:
    kind = b"\x15" + _number(_BYTES if text else _DOUBLE)
    named = _text(name)
    string = b"\x25\0\x4c\x1c\0\0" if text else b""  # UTF-8, by its old and its new name
    schema = kind + b"\x25\x02\x18" + named + string + b"\0"
    # {type, encodings plain and runs, path, uncompressed, one value …
    chunk = b"\x1c" + kind + b"\x19\x25\0\x06\x19\x18" + named + b"\x15\0\x16\x02"
    return _Described(schema, chunk)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(value: int) -> bytes:
    """Thrift's zigzag: here never negative."""
    return _varint(value << 1)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _varint(len(encoded)) + encoded


def _list(size: int, kind: int) -> bytes:
    return bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)

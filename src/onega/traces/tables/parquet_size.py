"""How much a Parquet file holds once it is decoded, from its page headers alone.

A file of 200 KB can hold gigabytes: equal values are counted instead of written, and pages are
compressed. Polars tells of a file's footer no more than its rows and columns, and a footer may lie;
the header of every page says how many values and bytes the decoder will make of it. They are
records of Thrift's compact protocol (github.com/apache/parquet-format, ``parquet.thrift``), walked
here without touching the pages themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from onega.traces.files import Limits

PARQUET_MAGIC: Final = b"PAR1"
VALUE: Final = 8
"""Bytes of a decoded value at least."""
DEEPEST: Final = 32
"""Records inside records; the format's own have five."""

# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
# Fields of the records, by their numbers in parquet.thrift.
_ROW_GROUPS, _COLUMNS, _CHUNK_META = 4, 1, 3
_COMPRESSED_SIZE, _DATA_OFFSET, _DICTIONARY_OFFSET = 7, 9, 11
_PAGE_UNCOMPRESSED, _PAGE_COMPRESSED, _PAGE_HEADERS, _PAGE_VALUES = 2, 3, (5, 7, 8), 1


class TooMuchError(Exception):
    """The file would need more memory than the limits allow."""


def check_decoded_size(content: bytes, limits: Limits) -> None:
    """Refuse a Parquet file that would grow past its limits.

    Raises
    ------
    TooMuchError
        If it would grow past ``limits.size``, or past ``limits.ratio`` times its own size.
    ValueError
        If its footer or a page header can't be read.
    """
    decoded = walked = 0
    for chunk in _chunks(content):
        walked += chunk[_COMPRESSED_SIZE]
        if walked > len(content):
            raise ValueError("columns overlap")
        for header in _pages(content, chunk):
            details = [header[one] for one in _PAGE_HEADERS if one in header]
            values = sum(_count(one, _PAGE_VALUES, 0) for one in details)
            decoded += max(header[_PAGE_UNCOMPRESSED], VALUE * values)
            if decoded > limits.size:
                raise TooMuchError(
                    f"would take more than {limits.size:,} bytes decoded, the limit in force"
                )
            if decoded > limits.ratio_from and decoded > limits.ratio * len(content):
                raise TooMuchError(
                    f"grows more than {limits.ratio:g} times when decoded, which no log does; "
                    "raise the limit if it is one"
                )


def _chunks(content: bytes) -> Iterator[dict[int, Any]]:
    """Yield the metadata of every column of every row group."""
    size = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != PARQUET_MAGIC or not 0 < size <= len(content) - 12:
        raise ValueError("no footer at its end")
    footer = _Records(content[-8 - size : -8]).record()
    for group in _list(footer, _ROW_GROUPS):
        for column in _list(group, _COLUMNS):
            chunk = column.get(_CHUNK_META)
            if not isinstance(chunk, dict):
                raise ValueError("a column without a description")
            for name in (_COMPRESSED_SIZE, _DATA_OFFSET):
                _count(chunk, name)
            yield chunk


def _pages(content: bytes, chunk: dict[int, Any]) -> Iterator[dict[int, Any]]:
    """Yield the page headers of a column."""
    place = chunk[_DATA_OFFSET]
    dictionary = _count(chunk, _DICTIONARY_OFFSET, 0)
    if 0 < dictionary < place:
        place = dictionary
    end = place + chunk[_COMPRESSED_SIZE]
    while place < end:
        records = _Records(content, place)
        header = records.record()
        _count(header, _PAGE_UNCOMPRESSED)
        yield header
        place = records.place + _count(header, _PAGE_COMPRESSED)


def _count(record: Any, field: int, default: int | None = None) -> int:  # noqa: ANN401
    value = record.get(field, default) if isinstance(record, dict) else None
    if not isinstance(value, int) or value < 0:
        raise ValueError("a number is missing or negative")
    return value


def _list(record: dict[int, Any], field: int) -> list[dict[int, Any]]:
    found = record.get(field, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("a list of descriptions is something else")
    return found


class _Records:
    """A reader of Thrift's compact protocol: records as dictionaries by field number."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self.data, self.place = data, place

    def record(self, depth: int = 0) -> dict[int, Any]:
        if depth > DEEPEST:
            raise ValueError("records are nested too deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:  # noqa: ANN401
        if depth > DEEPEST:
            raise ValueError("records are nested too deep")
        if kind in (_TRUE, _FALSE, _BYTE):  # as elements of a list
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == _STRUCT:
            return self.record(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            count = self._varint() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in range(self._believable(count))]
        if kind == _MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            for _ in range(self._believable(count)):
                self._value(kinds >> 4, depth + 1)
                self._value(kinds & 15, depth + 1)
            return None
        if kind in (_DOUBLE, _BINARY):
            length = VALUE if kind == _DOUBLE else self._believable(self._varint())
            self.place += length
            return None
        raise ValueError(f"a value of unknown type {kind}")

    def _believable(self, count: int) -> int:
        """Refuse a length that the rest of the file can't hold."""
        if count > len(self.data) - self.place:
            raise ValueError("a length goes past the end")
        return count

    def _byte(self) -> int:
        if self.place >= len(self.data):
            raise ValueError("a record goes past the end")
        self.place += 1
        return self.data[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number has more than 64 bits")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

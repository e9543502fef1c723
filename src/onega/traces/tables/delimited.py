"""Text tables with a header line, as strings, each row with its line in the file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.traces.files import DEFAULT_LIMITS, Limits, line_blocks
from onega.traces.notes import LINE, Notes

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

_ROWS: Final = 50_000
_VALUE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}|1[0-9]{9}$")
"""A point in time, which no column is called."""


class TextTable(NamedTuple):
    """All columns as strings, and `LINE`."""

    frame: pl.DataFrame
    names: list[str]


def header_of(start: bytes) -> tuple[list[str], str]:
    """Return the column names in the first line of a text, and the character between them."""
    line = next((one for one in start.split(b"\n") if one.strip()), b"")
    text = line[:100_000].decode("utf-8", "replace").strip("\r\n")
    separator = max("|,;\t", key=text.count)
    if separator not in text:
        return [text.strip()], ","
    try:
        names = next(_csv_reader([text], separator))
    except csv.Error:
        names = text.split(separator)
    return [name.strip() for name in names], separator


def read_delimited(
    path: StrPath,
    separator: str,
    *,
    notes: Notes | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> TextTable:
    """Read a table of text whose first line names the columns.

    Fields may be quoted unless the separator is a pipe (Slurm doesn't quote). A row with another
    number of fields than the header is refused.
    """
    reading = _Reading(path, separator, notes or Notes())
    stream = line_blocks(path, limits)
    for block in stream:
        if separator != "|" and b'"' in block:
            # A quoted field may run over lines and blocks: from here on by the csv module.
            reading.by_row(chain((block,), stream))
        else:
            reading.at_once(block)
    if not reading.frames:
        raise TraceError("holds a header line only, no rows", path=path)
    return TextTable(pl.concat(reading.frames), reading.names)


class _Reading:
    """One pass over one table: the header, and the frames so far."""

    def __init__(self, path: StrPath, separator: str, notes: Notes) -> None:
        self.path = path
        self.notes = notes
        self.separator = separator
        self.names: list[str] = []
        self.frames: list[pl.DataFrame] = []
        self._trailing = False
        self._lines = 0

    def at_once(self, block: bytes) -> None:
        """Add a block of lines without quotes, split all at once."""
        text = self.notes.text(block).removesuffix("\n")
        lines = pl.Series("text", [text]).str.split("\n").explode()
        numbers = pl.Series(LINE, range(self._lines + 1, self._lines + 1 + len(lines)))
        self._lines += len(lines)
        frame = pl.DataFrame([numbers.cast(pl.Int64), lines.str.strip_chars_end("\r")])
        frame = frame.filter(frame["text"].str.strip_chars() != "")
        if not self.names and frame.height:
            self._take_header(frame["text"][0].split(self.separator))
            frame = frame[1:]
        if frame.is_empty():
            return
        text_column = frame["text"]
        found = text_column.str.count_matches(self.separator, literal=True).cast(pl.Int64) + 1
        accepted = found == len(self.names)
        if self._trailing:
            accepted = accepted | (
                (found == len(self.names) + 1) & text_column.str.ends_with(self.separator)
            )
        wrong = (~accepted).arg_true()
        if len(wrong):
            raise self._ragged(int(found[int(wrong[0])]), int(frame[LINE][int(wrong[0])]))
        fields = text_column.str.split_exact(self.separator, len(self.names)).struct.unnest()
        fields = fields.select(fields.columns[: len(self.names)])
        fields.columns = self.names
        self.frames.append(fields.with_columns(frame[LINE]))

    def by_row(self, blocks: Iterator[bytes]) -> None:
        """Add all blocks that are left, row by row, with quoted fields."""
        reader = _csv_reader(self._split(blocks), self.separator)
        kept: list[list[str]] = []
        numbers: list[int] = []
        for number, row in self._rows(reader):
            if not self.names:
                self._take_header(row)
                continue
            kept.append(self._whole_row(row, number))
            numbers.append(number)
            if len(kept) == _ROWS:
                self.frames.append(_frame(kept, numbers, self.names))
                kept, numbers = [], []
        if kept:
            self.frames.append(_frame(kept, numbers, self.names))

    def _split(self, blocks: Iterator[bytes]) -> Iterator[str]:
        for block in blocks:
            # Split at newlines only: str.splitlines would also split at characters inside names.
            lines = self.notes.text(block).removesuffix("\n").split("\n")
            yield from (line + "\n" for line in lines)

    def _rows(self, reader: CsvReader) -> Iterator[tuple[int, list[str]]]:
        """Yield rows that aren't blank, each with the line it ends on."""
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                line = self._lines + reader.line_num
                message = f"can't be split into fields: {error}"
                raise TraceError(message, path=self.path, line=line) from None
            if len(row) > 1 or (row and row[0].strip()):
                yield self._lines + reader.line_num, row

    def _take_header(self, row: list[str]) -> None:
        names = [name.strip() for name in row]
        # `sacct --parsable` ends every line with a separator.
        self._trailing = len(names) > 1 and names[-1] == ""
        if self._trailing:
            names.pop()
        if not any(names):
            raise TraceError("has no header line that names the columns", path=self.path)
        value = next((name for name in names if _VALUE.match(name)), None)
        if value is not None:
            message = (
                f"the first line names no columns, it holds values ({value[:40]}); put the line "
                "with the names back (sacct prints it unless it is given -n, --noheader)"
            )
            raise TraceError(message, path=self.path, line=1)
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            message = "two columns have this name"
            raise TraceError(message, path=self.path, line=1, field=repr(repeated))
        self.names = names

    def _whole_row(self, row: list[str], line: int) -> list[str]:
        if len(row) == len(self.names):
            return row
        if self._trailing and len(row) == len(self.names) + 1 and row[-1] == "":
            return row[:-1]
        raise self._ragged(len(row), line)

    def _ragged(self, found: int, line: int) -> TraceError:
        width = len(self.names)
        beyond = self.names[found] if found < width else str(width + 1)
        message = f"{found} fields where the header has {width}"
        return TraceError(message, path=self.path, line=line, field=beyond)


def _csv_reader(lines: Iterable[str], separator: str) -> CsvReader:
    if separator == "|":
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=separator, strict=True)


def _frame(rows: list[list[str]], lines: list[int], names: list[str]) -> pl.DataFrame:
    columns = {
        name: pl.Series(name, column, dtype=pl.String) for name, column in zip(names, zip(*rows))
    }
    return pl.DataFrame({**columns, LINE: pl.Series(lines, dtype=pl.Int64)})

"""Text tables with a header line, as strings, each row with its line in the file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from onega.core.errors import TraceError
from onega.traces.files import DEFAULT_LIMITS, Limits, line_blocks

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

LINE: Final = "_line"
"""The column that holds each row's line in the file."""

_ROWS: Final = 50_000


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
        names = next(_reader([text], separator))
    except csv.Error:
        names = text.split(separator)
    return [name.strip() for name in names], separator


def read_delimited(
    path: str | os.PathLike[str], separator: str, *, limits: Limits = DEFAULT_LIMITS
) -> TextTable:
    """Read a table of text whose first line names the columns.

    Fields may be quoted unless the separator is a pipe (Slurm doesn't quote). A row with another
    number of fields than the header is refused.
    """
    rows = _rows(_reader(_lines(path, limits), separator), path)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    # `sacct --parsable` ends every line with a separator.
    trailing = len(names) > 1 and names[-1] == ""
    if trailing:
        names.pop()
    _check_names(names, path)
    frames = list(_frames(rows, names, trailing=trailing, path=path))
    if not frames:
        raise TraceError("holds a header line only, no jobs", path=path)
    return TextTable(pl.concat(frames), names)


def _reader(lines: Iterable[str], separator: str) -> CsvReader:
    if separator == "|":
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=separator, strict=True)


def _lines(path: str | os.PathLike[str], limits: Limits) -> Iterator[str]:
    for block in line_blocks(path, limits):
        # Split at newlines only: str.splitlines would also split at characters inside names.
        lines = block.decode("utf-8", "replace").removesuffix("\n").split("\n")
        yield from (line + "\n" for line in lines)


def _rows(reader: CsvReader, path: str | os.PathLike[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that aren't blank, each with the line it ends on."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TraceError(
                f"can't be split into fields: {error}", path=path, line=reader.line_num
            ) from None
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, row


def _check_names(names: list[str], path: str | os.PathLike[str]) -> None:
    if not any(names):
        raise TraceError("has no header line that names the columns", path=path)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise TraceError("two columns have this name", path=path, line=1, field=repr(repeated))


def _frames(
    rows: Iterator[tuple[int, list[str]]],
    names: list[str],
    *,
    trailing: bool,
    path: str | os.PathLike[str],
) -> Iterator[pl.DataFrame]:
    width = len(names)
    kept: list[list[str]] = []
    lines: list[int] = []
    for line, row in rows:
        if len(row) != width:
            if trailing and len(row) == width + 1 and row[-1].strip() == "":
                row.pop()
            else:
                beyond = names[len(row)] if len(row) < width else str(width + 1)
                raise TraceError(
                    f"{len(row)} fields where the header has {width}",
                    path=path,
                    line=line,
                    field=beyond,
                )
        kept.append(row)
        lines.append(line)
        if len(kept) == _ROWS:
            yield _frame(kept, lines, names)
            kept, lines = [], []
    if kept:
        yield _frame(kept, lines, names)


def _frame(rows: list[list[str]], lines: list[int], names: list[str]) -> pl.DataFrame:
    columns = {
        name: pl.Series(name, column, dtype=pl.String) for name, column in zip(names, zip(*rows))
    }
    return pl.DataFrame({**columns, LINE: pl.Series(lines, dtype=pl.Int64)})

"""Reading SWF: blocks of text → rows of numbers → the job table."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.types import Flags
from onega.core.workload.meta import Meta
from onega.core.workload.report import EXAMPLES
from onega.core.workload.schema import STATUS, STATUSES, SWF_STATUS_CODES
from onega.core.workload.workload import Workload
from onega.traces.assembling import WIDTH_FROM_REQUEST, number_missing_ids
from onega.traces.files import Limits, count_lines, line_blocks
from onega.traces.notes import Notes
from onega.traces.swf.columns import GrowingTable
from onega.traces.swf.fields import FEWEST, NUMBER_OF, SWF_FIELDS, SwfField, label
from onega.traces.swf.header import SwfHeader, parse_header
from onega.traces.swf.tokens import (
    FIELDS,
    Scratch,
    Tokens,
    judge,
    tokenize_compiled,
    tokenize_python,
)

SMALL: Final = 1 << 20
"""Bytes of text that plain Python reads (in some 0.03 s): no compiler is loaded for a small log."""

_AHEAD: Final = 2
"""Blocks that are being tokenised while one becomes a table."""

_CODES: Final = 6
_ALLOCATED, _REQUESTED, _STATUS = (NUMBER_OF[c] for c in ("procs", "requested_procs", "status"))


def read_swf(path: StrPath, limits: Limits, **ignored: Any) -> Workload:  # noqa: ANN401
    """Read a log in Standard Workload Format.

    −1 is null. Other negative values are null too, and are reported. ``procs`` is the number
    allocated, falling back to the number requested. Rows without a submit time are left out and
    reported. Rows may end early if all do so at the same field; 19 fields are refused.
    """
    reading = _Reading(path)
    stream = line_blocks(path, limits)
    first = next(stream, b"")
    second = next(stream, None)
    if second is None and len(first) <= SMALL:
        reading.take(first, tokenize_python(first))
        return reading.finish()
    reading.expect(path, first)
    # The kernel runs without the GIL: while it reads the next blocks, this one becomes a table.
    spare = [Scratch() for _ in range(_AHEAD + 1)]
    pending: deque[tuple[bytes, Scratch, Future[Tokens]]] = deque()
    with ThreadPoolExecutor(_AHEAD) as pool:
        for block in chain((first,), () if second is None else (second,), stream):
            scratch = spare.pop()
            pending.append((block, scratch, pool.submit(tokenize_compiled, block, scratch)))
            if not spare:
                spare.append(_take_next(reading, pending))
        while pending:
            _take_next(reading, pending)
    return reading.finish()


def _take_next(reading: _Reading, pending: deque[tuple[bytes, Scratch, Future[Tokens]]]) -> Scratch:
    block, scratch, tokens = pending.popleft()
    reading.take(block, tokens.result())
    return scratch


class _Reading:
    """One pass over one log: frames, comments and notes so far."""

    def __init__(self, path: StrPath) -> None:
        self.path = path
        self.notes = Notes()
        self.fields = 0
        self._table = GrowingTable(room=0)
        self._comments: list[bytes] = []
        self._lines_before = 0
        self._block = b""
        self._tokens: Tokens | None = None

    def expect(self, path: StrPath, first: bytes) -> None:
        """Make room for as many rows as the file seems to have, judged by its first block."""
        size = Path(path).stat().st_size
        seen = 1.02 * count_lines(first) * max(size / len(first), 1)
        # Five fields are ten bytes at least: a block of blank lines promises no rows.
        self._table = GrowingTable(room=int(min(seen, max(size, len(first)) / 10)))

    def take(self, block: bytes, tokens: Tokens) -> None:
        """Add one block of whole lines."""
        self._block, self._tokens = block, tokens
        self._comments += tokens.comments
        if len(tokens.starts):
            self._check_fields(tokens.fields)
            self._fill(tokens, self._resolve(tokens))
        self._lines_before += tokens.lines

    def finish(self) -> Workload:
        """Put the blocks together."""
        if not self._table.rows:
            what = "comments only" if self._comments else "nothing"
            raise TraceError(f"holds {what}, no jobs", path=self.path)
        header = parse_header(self._comments, self.notes)
        table = self._table.finish()
        if self.fields < FIELDS:
            why = f"rows have {self.fields} of SWF's {FIELDS} fields; the others are missing"
            self.notes.add("short_rows", "noted", why, count=table.height)
        if table["submit"].null_count():
            table = table.filter(pl.col("submit").is_not_null())
        table = number_missing_ids(table, self.notes)
        name = Path(self.path).name
        meta = Meta(
            source=name,
            format="swf",
            **header.facts,
            header=tuple(header.lines),
            labels=header.labels,
            provenance=(f"read from {name} (swf)",),
            report=self.notes.report(),
        )
        return Workload(_finer_status(table, header), meta)

    def _line(self, row: int) -> int:
        """Return the line in the file of a row of this block."""
        assert self._tokens is not None
        return self._lines_before + self._block.count(b"\n", 0, int(self._tokens.starts[row])) + 1

    def _fail(self, message: str, row: int, number: int) -> TraceError:
        return TraceError(message, path=self.path, line=self._line(row), field=label(number))

    def _check_fields(self, fields: npt.NDArray[np.int64]) -> None:
        """All rows must have the same number of fields, from 5 to 18."""
        if not self.fields:
            first = int(fields[0])
            if first < FEWEST:
                raise TraceError(
                    f"{first} fields where SWF has {FIELDS}; the first {FEWEST} are needed",
                    path=self.path,
                    line=self._line(0),
                    field=label(first + 1),
                )
            self.fields = min(first, FIELDS)
        wrong = np.flatnonzero(fields != self.fields)
        if wrong.size:
            row = int(wrong[0])
            found = int(fields[row])
            usual = "SWF has 18" if found > FIELDS else f"the rows before have {self.fields}"
            field = str(self.fields + 1) if found > FIELDS else label(min(found, self.fields) + 1)
            raise TraceError(
                f"{found} fields where {usual}", path=self.path, line=self._line(row), field=field
            )

    def _resolve(self, tokens: Tokens) -> dict[int, dict[int, int]]:
        """Judge the odd tokens; return whole numbers that a float can't hold, by field and row."""
        exact: dict[int, dict[int, int]] = {}
        for row, field, text in tokens.odd:
            try:
                value = judge(text)
            except ValueError as error:
                raise self._fail(str(error), row, field + 1) from None
            tokens.values[field, row] = value
            if isinstance(value, int) and SWF_FIELDS[field].most >= 2.0**63 and value >= 0:
                if value >= 2**63:
                    raise self._fail(f"{value} does not fit into 64 bits", row, field + 1)
                # The float isn't the number, nor always in range: a stand-in until `_fill`.
                tokens.values[field, row] = 0.0
                exact.setdefault(field, {})[row] = value
        return exact

    def _fill(self, tokens: Tokens, exact: dict[int, dict[int, int]]) -> None:
        """Write one block into the table."""
        self._table.extend(len(tokens.starts))
        missing: dict[str, Flags | None] = {}
        for number, field in enumerate(SWF_FIELDS[: self.fields], start=1):
            values = tokens.values[number - 1]
            self._check_range(values, number, field)
            missing[field.column] = self._missing(values, number, field)
        self._note_without_submit(missing["submit"])
        self._fall_back_on_request(tokens.values, missing)
        for number, field in enumerate(SWF_FIELDS[: self.fields], start=1):
            values, unknown = tokens.values[number - 1], missing[field.column]
            self._table.put(field.column, values, unknown, factor=field.factor)
            for row, value in exact.get(number - 1, {}).items():
                self._table.replace(field.column, row, value)

    def _check_range(self, values: npt.NDArray[np.float64], number: int, field: SwfField) -> None:
        most = min(field.most, np.nextafter(2.0**63, 0.0))  # whole numbers of 64 bits
        if float(values.max()) > most:
            row = int(np.argmax(values > most))
            unit = f" {field.what}" if field.what else ""
            hint = "; milliseconds?" if field.what == "seconds" else ""
            message = f"{values[row]:g}{unit} is above the largest accepted, {field.most:g}{hint}"
            raise self._fail(message, row, number)
        assert self._tokens is not None
        if not field.whole or not self._tokens.points[number - 1]:
            return
        fractions = values != np.floor(values)
        if fractions.any():
            row = int(np.argmax(fractions))
            raise self._fail(f"{values[row]:g} is not a whole number", row, number)

    def _missing(
        self, values: npt.NDArray[np.float64], number: int, field: SwfField
    ) -> npt.NDArray[np.bool_] | None:
        """Return where a field is missing: −1, and whatever else is negative, which is noted."""
        if field.column == "status":
            return self._missing_status(values)
        if float(values.min()) >= 0.0:
            return None
        missing: npt.NDArray[np.bool_] = values < 0.0
        unusual = np.flatnonzero(missing & (values != -1.0))
        if unusual.size:
            self.notes.add(
                f"negative_{field.column}",
                "changed",
                f"negative values in field {label(number)} were read as missing",
                count=int(unusual.size),
                examples=self._examples(unusual, number),
            )
            values[unusual] = -1.0  # which fits into whole numbers, as −1e300 doesn't
        return missing

    def _missing_status(self, values: npt.NDArray[np.float64]) -> Flags | None:
        known = (values >= 0) & (values < _CODES)
        strange = np.flatnonzero(~known & (values != -1.0))
        if strange.size:
            self.notes.add(
                "unknown_status",
                "changed",
                f"status codes other than −1 to {_CODES - 1} were read as missing",
                count=int(strange.size),
                examples=self._examples(strange, _STATUS),
            )
        if known.all():
            return None
        values[~known] = 0.0
        return ~known

    def _examples(self, rows: npt.NDArray[np.intp], number: int) -> list[dict[str, Any]]:
        assert self._tokens is not None
        name = SWF_FIELDS[number - 1].column
        values = self._tokens.values
        return [
            {
                "line": self._line(int(row)),
                "job": int(values[0, row]),
                name: float(values[number - 1, row]),
            }
            for row in rows[:EXAMPLES]
        ]

    def _fall_back_on_request(
        self, values: npt.NDArray[np.float64], missing: dict[str, Flags | None]
    ) -> None:
        """Take the processors requested where the number allocated is missing."""
        unknown, unasked = missing["procs"], missing.get("requested_procs")
        if unknown is None or self.fields < _REQUESTED:
            return
        rows = np.flatnonzero(unknown if unasked is None else unknown & ~unasked)
        if not rows.size:
            return
        examples = self._examples(rows, _REQUESTED)
        values[_ALLOCATED - 1, rows] = values[_REQUESTED - 1, rows]
        unknown[rows] = False
        self.notes.add(
            "width_from_request", "noted", WIDTH_FROM_REQUEST, count=rows.size, examples=examples
        )

    def _note_without_submit(self, missing: Flags | None) -> None:
        if missing is None:
            return
        rows = np.flatnonzero(missing)
        self.notes.add(
            "no_submit",
            "dropped",
            "rows without a submit time were left out",
            count=int(rows.size),
            examples=self._examples(rows, 2),
        )


def _finer_status(table: pl.DataFrame, header: SwfHeader) -> pl.DataFrame:
    """Put back the states that SWF has no code for, from the header's lists of jobs."""
    for status, ids in header.finer_status.items():
        coarse = STATUSES[SWF_STATUS_CODES[status]]
        chosen = pl.col("job").is_in(list(ids)) & (pl.col("status") == coarse)
        finer = pl.when(chosen).then(pl.lit(status, dtype=STATUS)).otherwise(pl.col("status"))
        table = table.with_columns(finer.alias("status"))
    return table

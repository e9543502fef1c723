"""Reading SWF: blocks of text → rows of numbers → the job table."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import TraceError
from onega.core.meta import Meta
from onega.core.report import EXAMPLES
from onega.core.schema import JOB_TABLE, STATUS, STATUSES, SWF_STATUS_CODES
from onega.core.workload import Workload
from onega.traces.files import DEFAULT_LIMITS, Limits, line_blocks
from onega.traces.notes import Notes
from onega.traces.swf.fields import FEWEST, SWF_FIELDS, SwfField, label
from onega.traces.swf.header import SwfHeader, parse_header
from onega.traces.swf.tokens import FIELDS, Tokens, judge, tokenize_compiled, tokenize_python

SMALL: Final = 4 << 20
"""Bytes of text up to which plain Python is quicker than waiting for the compiled kernel."""

_CODES: Final = 6
_STATUS_OF_CODE: Final = pl.Series(STATUSES[:_CODES], dtype=STATUS)


def read_swf(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Workload:
    """Read a log in Standard Workload Format.

    −1 is null. Other negative values are null too, and are reported. ``procs`` is the number
    allocated, falling back to the number requested. Rows without a submit time are left out and
    reported. Rows may end early if all do so at the same field; 19 fields are refused.
    """
    reading = _Reading(path)
    stream = line_blocks(path, limits)
    first = next(stream, b"")
    second = next(stream, None)
    small = second is None and len(first) <= SMALL
    tokenize = tokenize_python if small else tokenize_compiled
    for block in chain((first,), () if second is None else (second,), stream):
        reading.take(block, tokenize(block))
    return reading.finish()


class _Reading:
    """One pass over one log: frames, comments and notes so far."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.notes = Notes()
        self.fields = 0
        self._frames: list[pl.DataFrame] = []
        self._comments: list[bytes] = []
        self._lines_before = 0
        self._block = b""
        self._tokens: Tokens | None = None

    def take(self, block: bytes, tokens: Tokens) -> None:
        """Add one block of whole lines."""
        self._block, self._tokens = block, tokens
        self._comments += tokens.comments
        if len(tokens.starts):
            self._check_fields(tokens.fields)
            self._frames.append(self._frame(tokens, self._resolve(tokens)))
        self._lines_before += block.count(b"\n")

    def finish(self) -> Workload:
        """Put the blocks together."""
        if not self._frames:
            what = "comments only" if self._comments else "nothing"
            raise TraceError(f"holds {what}, no jobs", path=self.path)
        header = parse_header(self._comments, self.notes)
        table = pl.concat(self._frames, rechunk=True)
        self._frames.clear()
        if self.fields < FIELDS:
            why = f"rows have {self.fields} of SWF's {FIELDS} fields; the others are missing"
            self.notes.add("short_rows", "noted", why, count=table.height)
        table = self._number_missing_ids(table)
        table = _finer_status(table, header)
        return Workload(table, self._meta(header))

    def _meta(self, header: SwfHeader) -> Meta:
        return Meta(
            source=Path(self.path).name,
            format="swf",
            epoch=header.epoch,
            timezone=header.timezone,
            utc_offset=header.utc_offset,
            procs=header.procs,
            nodes=header.nodes,
            header=tuple(header.lines),
            labels=header.labels,
            provenance=(f"read from {Path(self.path).name} (swf)",),
            report=self.notes.report(),
        )

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
            if isinstance(value, int) and SWF_FIELDS[field].whole:
                exact.setdefault(field, {})[row] = value
        return exact

    def _frame(self, tokens: Tokens, exact: dict[int, dict[int, int]]) -> pl.DataFrame:
        columns: dict[str, pl.Series] = {}
        for number, field in enumerate(SWF_FIELDS, start=1):
            values = tokens.values[number - 1]
            if number > self.fields:
                dtype = JOB_TABLE[field.column]
                columns[field.column] = pl.Series([None], dtype=dtype).new_from_index(
                    0, len(values)
                )
                continue
            self._check_range(values, number, field)
            missing = self._missing(values, number, field)
            columns[field.column] = self._series(values, missing, number, exact.get(number - 1, {}))
        self._fall_back_on_request(columns)
        frame = pl.DataFrame({name: columns[name].alias(name) for name in JOB_TABLE})
        return self._drop_without_submit(frame)

    def _check_range(self, values: npt.NDArray[np.float64], number: int, field: SwfField) -> None:
        if float(values.max()) > field.most:
            row = int(np.argmax(values > field.most))
            unit = f" {field.what}" if field.what else ""
            hint = "; milliseconds?" if field.what == "seconds" else ""
            message = f"{values[row]:g}{unit} is above the largest accepted, {field.most:g}{hint}"
            raise self._fail(message, row, number)
        if field.whole and not np.array_equal(values, np.floor(values)):
            row = int(np.argmax(values != np.floor(values)))
            raise self._fail(f"{values[row]:g} is not a whole number", row, number)

    def _missing(
        self, values: npt.NDArray[np.float64], number: int, field: SwfField
    ) -> npt.NDArray[np.bool_] | None:
        """Return where a field is missing: −1, and whatever else is negative, which is noted."""
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
        return missing

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

    def _series(
        self,
        values: npt.NDArray[np.float64],
        missing: npt.NDArray[np.bool_] | None,
        number: int,
        exact: dict[int, int],
    ) -> pl.Series:
        field = SWF_FIELDS[number - 1]
        dtype = JOB_TABLE[field.column]
        if missing is not None and missing.all():
            return pl.Series([None], dtype=dtype).new_from_index(0, len(values))
        if field.column == "status":
            return self._status(values, missing)
        if not field.whole:
            numbers = values * field.factor
        else:
            numbers = values.astype(np.int64 if dtype == pl.Int64 else np.int32)
            for row, value in exact.items():
                if not -(2**63) <= value < 2**63:
                    raise self._fail(f"{value} does not fit into 64 bits", row, number)
                numbers[row] = value
        series = pl.Series(numbers)
        return series if missing is None else series.set(pl.Series(missing), None)

    def _status(
        self, values: npt.NDArray[np.float64], missing: npt.NDArray[np.bool_] | None
    ) -> pl.Series:
        strange = values >= _CODES
        if strange.any():
            self.notes.add(
                "unknown_status",
                "changed",
                f"status codes other than −1 to {_CODES - 1} were read as missing",
                count=int(np.count_nonzero(strange)),
                examples=self._examples(np.flatnonzero(strange), 11),
            )
            missing = strange if missing is None else missing | strange
        if missing is None:
            return _STATUS_OF_CODE.gather(pl.Series(values.astype(np.uint32)))
        codes = pl.Series(np.where(missing, 0.0, values).astype(np.uint32))
        return _STATUS_OF_CODE.gather(codes.set(pl.Series(missing), None))

    def _fall_back_on_request(self, columns: dict[str, pl.Series]) -> None:
        """Take the processors requested where the number allocated is missing."""
        unknown = columns["procs"].is_null() & columns["requested_procs"].is_not_null()
        rows = unknown.arg_true().to_numpy()
        if rows.size:
            columns["procs"] = columns["procs"].zip_with(~unknown, columns["requested_procs"])
            self.notes.add(
                "width_from_request",
                "noted",
                "the number of processors allocated is missing; the number requested is taken",
                count=int(rows.size),
                examples=self._examples(rows, 8),
            )

    def _drop_without_submit(self, frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame["submit"].is_null().arg_true().to_numpy()
        if not rows.size:
            return frame
        self.notes.add(
            "no_submit",
            "dropped",
            "rows without a submit time were left out",
            count=int(rows.size),
            examples=self._examples(rows, 2),
        )
        return frame.filter(pl.col("submit").is_not_null())

    def _number_missing_ids(self, table: pl.DataFrame) -> pl.DataFrame:
        missing = table["job"].is_null()
        count = int(missing.sum())
        if not count:
            return table
        largest = table["job"].max()
        first = 1 if largest is None else int(largest) + 1  # type: ignore[arg-type]
        self.notes.add(
            "no_id", "changed", f"rows without a job number got numbers from {first}", count=count
        )
        fresh = missing.cast(pl.Int64).cum_sum() + (first - 1)
        return table.with_columns(table["job"].zip_with(~missing, fresh).alias("job"))


def _finer_status(table: pl.DataFrame, header: SwfHeader) -> pl.DataFrame:
    """Put back the states that SWF has no code for, from the header's lists of jobs."""
    for status, ids in header.finer_status.items():
        coarse = STATUSES[SWF_STATUS_CODES[status]]
        chosen = pl.col("job").is_in(list(ids)) & (pl.col("status") == coarse)
        finer = pl.when(chosen).then(pl.lit(status, dtype=STATUS)).otherwise(pl.col("status"))
        table = table.with_columns(finer.alias("status"))
    return table

"""Writing SWF so that reading it back gives the same workload."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import IO, Final

import polars as pl

from onega.core.errors import TraceError
from onega.core.workload.report import Report
from onega.core.workload.schema import STATUSES, SWF_STATUS_CODES, demand_names
from onega.core.workload.workload import Workload
from onega.traces.notes import Notes
from onega.traces.swf.fields import SWF_FIELDS, SwfField
from onega.traces.swf.header import FINER_STATUS, LABELLED, split_entry

_IDS_PER_LINE: Final = 12


def write_swf(workload: Workload, out: IO[bytes]) -> Report:
    """Write a workload in Standard Workload Format; return what it couldn't say.

    Null is −1; numbers are written with as many digits as they need to come back the same. The
    header keeps the log's own lines, with those that no longer hold brought up to date. Time-outs
    and lost nodes, which SWF calls 5 and 0 like cancelled and failed jobs, are listed in comments
    that `onega.read` understands.
    """
    notes = Notes()
    table, epoch = _at_or_after_zero(workload, notes)
    for field in SWF_FIELDS:
        _refuse_or_note(table, field, notes)
    _note_unsaid_widths(table, notes)
    needs = demand_names(table.columns)
    why = f"SWF has no field for what jobs need beside processors and memory: {', '.join(needs)}"
    notes.add("demands_left_out", "noted", why, count=len(needs))
    for line in _header(workload, epoch):
        out.write(f";{' '.join(line.splitlines())}\n".encode())
    fields = [_text(table[field.column], field) for field in SWF_FIELDS]
    pl.DataFrame(fields).write_csv(
        out, separator=" ", include_header=False, null_value="-1", quote_style="never"
    )
    return notes.report()


def _note_unsaid_widths(table: pl.DataFrame, notes: Notes) -> None:
    """Note jobs whose width is unknown but whose request is: they come back with the request."""
    unsaid = table.filter(pl.col("procs").is_null() & pl.col("requested_procs").is_not_null())
    why = "jobs without a width but with a request will be read back as having the width requested"
    notes.add_rows("width_from_request", "noted", why, unsaid)


def _at_or_after_zero(workload: Workload, notes: Notes) -> tuple[pl.DataFrame, float | None]:
    """Move the epoch back if jobs were submitted before it: SWF has no negative times."""
    table, epoch = workload.table, workload.meta.epoch
    earliest = table["submit"].min() if table.height else 0.0
    if not isinstance(earliest, float) or earliest >= 0:
        return table, epoch
    shift = -math.floor(earliest)
    notes.add(
        "epoch_moved",
        "changed",
        f"submit times were moved by {shift} s, because SWF has no negative ones",
        count=table.height,
    )
    moved = table.with_columns(pl.col("submit") + float(shift))
    return moved, None if epoch is None else epoch - shift


def _refuse_or_note(table: pl.DataFrame, field: SwfField, notes: Notes) -> None:
    """Refuse what a reader would refuse; note negative values, which become missing."""
    column = table[field.column]
    if field.column == "status" or column.null_count() == table.height:
        return
    values = column / field.factor if field.factor != 1.0 else column
    wrong = values > field.most
    if not field.whole:
        wrong = wrong | ~values.is_finite()
    rows = wrong.fill_null(value=False).arg_true()
    if len(rows):
        row = int(rows[0])
        raise TraceError(
            f"job {table['job'][row]} has {values[row]} {field.what}, which SWF readers refuse "
            f"(at most {field.most:g})",
            field=field.column,
        )
    why = f"negative values of {field.column} are written as missing"
    notes.add_rows(f"negative_{field.column}", "changed", why, table.filter(column < 0))


def _text(column: pl.Series, field: SwfField) -> pl.Series:
    """Write one field: whole numbers without a point, others with all the digits they need."""
    name = field.column
    if name == "status":
        codes = pl.Series([SWF_STATUS_CODES[word] for word in STATUSES])
        return codes.gather(column.to_physical()).alias(name)
    column = column.set(column < 0, None)
    if field.whole:
        return column
    values = column / field.factor if field.factor != 1.0 else column
    whole = (values == values.floor()) & (values < 2.0**53)
    if bool(whole.all()):
        return values.cast(pl.Int64).alias(name)
    integers = values.set(~whole, None).cast(pl.Int64).cast(pl.String)
    return integers.zip_with(whole.fill_null(value=True), values.cast(pl.String)).alias(name)


def _header(workload: Workload, epoch: float | None) -> Iterator[str]:
    """Yield the log's header lines, corrected where the workload says otherwise, and our own."""
    meta = workload.meta
    facts = {
        "UnixStartTime": epoch,
        "TimeZone": meta.utc_offset,
        "TimeZoneString": meta.timezone,
        "MaxNodes": meta.nodes,
        "MaxProcs": meta.procs,
        "MaxRecords": len(workload),
    }
    pending = {key: _number_text(value) for key, value in facts.items()}
    labels = {
        LABELLED[column]: {str(number): name for number, name in names.items()}
        for column, names in meta.labels.items()
        if column in LABELLED
    }
    lower = {key.lower(): key for key in (*pending, *labels, *LABELLED.values())}
    for line in meta.header:
        entry = split_entry(line)
        key = lower.get(entry[0].lower()) if entry else None
        if entry is None or key is None:
            yield line
        elif key in facts:
            yield from _corrected(line, key, entry[1], pending)
        else:
            number = entry[1].split(maxsplit=1)[0] if entry[1] else ""
            names = labels.get(key, {})
            if names.get(number) == entry[1][len(number) :].strip():
                names.pop(number)
                yield line
    yield from (f" {key}: {value}" for key, value in pending.items() if value is not None)
    for key, names in labels.items():
        yield from (f" {key}: {number} {name}" for number, name in names.items() if name.strip())
    yield from _finer(workload.table)


def _corrected(line: str, key: str, value: str, pending: dict[str, str | None]) -> Iterator[str]:
    """Keep a header line whose fact still holds, replace it once if it doesn't."""
    if key not in pending:
        return
    fact = pending.pop(key)
    words = value.split()
    stands = (
        value == fact if key == "TimeZoneString" else bool(words) and _same_number(words[0], fact)
    )
    if stands:
        yield line
    elif fact is not None:
        yield f" {key}: {fact}"


def _same_number(text: str, fact: str | None) -> bool:
    try:
        return fact is not None and float(text) == float(fact)
    except ValueError:
        return False


def _number_text(value: float | str | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _finer(table: pl.DataFrame) -> Iterator[str]:
    for key, status in FINER_STATUS.items():
        jobs = table.filter(pl.col("status") == status)["job"].to_list()
        for begin in range(0, len(jobs), _IDS_PER_LINE):
            yield f" {key}: {' '.join(map(str, jobs[begin : begin + _IDS_PER_LINE]))}"

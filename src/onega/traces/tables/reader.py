"""Reading tables whose columns have names: CSV, Parquet, and tables of gaps."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.units import BYTES
from onega.core.workload.schema import (
    JOB_TABLE,
    NAMED,
    NUMBERED,
    REQUIRED,
    STATUS,
    STATUSES,
    SWF_STATUS_CODES,
    is_demand,
)
from onega.core.workload.workload import Workload
from onega.traces.assembling import UNFINISHED, Draft, Rows, assemble
from onega.traces.batsim.jobs import FINAL_STATES
from onega.traces.files import Limits, sample, whole
from onega.traces.notes import LINE, Notes
from onega.traces.parsing import (
    UNITS,
    Source,
    durations,
    ids_or_labels,
    memory,
    moments,
    numbers,
    text_of,
    whole_numbers,
)
from onega.traces.slurm.states import read_states
from onega.traces.tables.delimited import header_of, read_delimited
from onega.traces.tables.mapping import USUAL_NAMES, ColumnMap, ColumnSpec
from onega.traces.tables.parquet import META_KEY, hushed_panics
from onega.traces.tables.parquet_size import TooMuchError, check_decoded_size


def looks_like_gaps(start: bytes) -> bool:
    """Recognise a header with ``interarrival``, as of hpcwld's tables."""
    names = {name.lower() for name in header_of(start)[0]}
    return "interarrival" in names and not names & {"submit", "submit_time"}


def looks_like_csv(start: bytes) -> bool:
    """Recognise a first line of several printable names with a separator between them."""
    names, _ = header_of(start)
    printable = all(name.isprintable() and "\ufffd" not in name for name in names)
    return len(names) > 1 and printable and any(name[:1].isalpha() for name in names)


def read_csv(
    path: StrPath,
    limits: Limits,
    *,
    columns: ColumnMap | None = None,
    timezone: str | None = None,
    format: str = "csv",
    rows: Rows = "finished",
) -> Workload:
    """Read a table of text with a header line, its columns found by the map or by usual names."""
    mapping = columns or ColumnMap()
    separator = mapping.separator or header_of(sample(path, limits))[1]
    notes = Notes()
    frame = read_delimited(path, separator, notes=notes, limits=limits).frame
    return _read(frame, path, mapping, notes, timezone=timezone, format=format, rows=rows)


def read_gaps(path: StrPath, limits: Limits, **options: Any) -> Workload:  # noqa: ANN401
    """Read a table of gaps (interarrival, service, cores, delays).

    The gap in a row lies between that row's job and the next row's, as in hpcwld (Rumyantsev 2014;
    T_i separates jobs i and i + 1). The first job is submitted at 0; the last gap is without use.
    """
    return read_csv(path, limits, format="gaps", **options)


def read_parquet(
    path: StrPath,
    limits: Limits,
    *,
    columns: ColumnMap | None = None,
    timezone: str | None = None,
    rows: Rows = "finished",
) -> Workload:
    """Read a Parquet file: one that `onega.write` made, or any with named columns."""
    frame, stored = parquet_content(path, limits)
    if stored is not None and columns is None:
        from onega.traces.tables.stored_meta import meta_from_json

        try:
            return Workload(frame, meta_from_json(stored))
        except ValueError as error:
            raise TraceError(f"its {META_KEY} entry is damaged ({error})", path=path) from None
    if frame.is_empty():
        raise TraceError("holds no rows", path=path)
    mapping = columns or ColumnMap()
    frame = frame.with_columns(NUMBERED.alias(LINE))
    return _read(frame, path, mapping, Notes(), timezone=timezone, format="parquet", rows=rows)


def parquet_content(path: StrPath, limits: Limits) -> tuple[pl.DataFrame, str | None]:
    """Return a Parquet file's table, and our entry in its metadata if there is one."""
    content = whole(path, limits)
    try:
        check_decoded_size(content, limits)
        with hushed_panics():
            frame = pl.read_parquet(io.BytesIO(content), use_statistics=False)
        _check_text(frame, limits)
        return frame, pl.read_parquet_metadata(io.BytesIO(content)).get(META_KEY)
    except TooMuchError as error:
        raise TraceError(str(error), path=path) from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    except BaseException as error:
        # Polars' decoder panics on some damaged pages; its exception is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        reason = "its pages can't be decoded"
    raise TraceError(f"is a damaged Parquet file ({reason})", path=path)


def _check_text(frame: pl.DataFrame, limits: Limits) -> None:
    """Refuse text that is stored once, but grows past the limit when it is written out."""
    texts = (column for column in frame.iter_columns() if column.dtype == pl.String)
    if sum(int(column.str.len_bytes().sum()) for column in texts) > limits.size:
        raise TooMuchError(f"holds more than {limits.size:,} bytes of text, the limit in force")


def _read(
    frame: pl.DataFrame,
    path: StrPath,
    mapping: ColumnMap,
    notes: Notes,
    *,
    timezone: str | None,
    format: str,
    rows: Rows,
) -> Workload:
    timezone = timezone or mapping.timezone
    chosen = _choose(frame, path, mapping, notes)
    reading = _Columns(frame, path, mapping, timezone, notes)
    table = reading.read(chosen)
    machine = {"procs": mapping.procs, "nodes": mapping.nodes}
    draft = Draft(
        path,
        format,
        table,
        notes,
        labels=reading.labels,
        timezone=timezone,
        machine={name: size for name, size in machine.items() if size is not None},
        clock="own" if _is_ours(frame.columns) else "guess",
        rows=rows,
    )
    return assemble(draft)


def _is_ours(columns: list[str]) -> bool:
    """Recognise a table that `onega.write` wrote."""
    return {name for name in columns if name != LINE and not is_demand(name)} == set(JOB_TABLE)


def _choose(
    frame: pl.DataFrame, path: StrPath, mapping: ColumnMap, notes: Notes
) -> dict[str, ColumnSpec]:
    """Decide which column is what; what isn't mapped is found by its usual name, and noted."""
    names = [name for name in frame.columns if name != LINE]
    for target, spec in mapping.columns.items():
        if spec.name not in names:
            raise TraceError(
                f"no column {spec.name!r} for {target}; the file has {', '.join(names[:30])}",
                path=path,
                line=1,
                field=target,
            )
    chosen = dict(mapping.columns)
    taken = {spec.name for spec in chosen.values()}
    lower = {name.lower(): name for name in reversed(names) if name not in taken}
    found = []
    for target, usual in USUAL_NAMES.items():
        there = [lower[word] for word in usual if word in lower]
        if is_demand(target):  # and not a list of nodes' names, say
            there = [name for name in there if _is_counted(frame[name])]
        name = next(iter(there), None)
        if target not in chosen and name is not None:
            chosen[target] = ColumnSpec(name)
            del lower[name.lower()]
            if name != target:
                found.append(f"{name} as {target}")
    for name in [one for one in lower.values() if is_demand(one)]:
        chosen[name] = ColumnSpec(name)
        del lower[name.lower()]
    notes.add("columns_by_name", "noted", f"read {', '.join(found)}", count=len(found))
    notes.add_unused([name for name in names if name in lower.values()])
    _require(chosen, names, path)
    return chosen


def _is_counted(column: pl.Series) -> bool:
    """Whether a column holds amounts: numbers of at least 0, and nothing else."""
    if column.dtype == pl.Boolean or not (column.dtype.is_numeric() or column.dtype == pl.String):
        return False
    text = column if column.dtype.is_numeric() else text_of(column)
    amount = text.cast(pl.Float64, strict=False)
    return bool((text.is_null() | (amount >= 0).fill_null(value=False)).all())


def _require(chosen: dict[str, ColumnSpec], names: list[str], path: StrPath) -> None:
    alternatives = {
        "submit": ("submit", "gap"),
        "runtime": ("runtime", "end"),
        "procs": ("procs", "requested_procs"),
    }
    for target in REQUIRED:
        if not any(one in chosen for one in alternatives[target]):
            raise TraceError(
                f"no column is mapped to {' or '.join(alternatives[target])}; the file has "
                f"{', '.join(names[:30])}; map one with columns= or --column {target}=NAME",
                path=path,
                line=1,
                field=target,
            )


class _Columns:
    """Reads each chosen column: times, durations, memory, names, states or numbers."""

    def __init__(
        self,
        frame: pl.DataFrame,
        path: StrPath,
        mapping: ColumnMap,
        timezone: str | None,
        notes: Notes,
    ) -> None:
        self.frame = frame
        self.path = path
        self.mapping = mapping
        self.timezone = timezone
        self.notes = notes
        self.labels: dict[str, dict[int, str]] = {}
        self._local = False
        self._unfinished: pl.Series | None = None

    def read(self, chosen: dict[str, ColumnSpec]) -> pl.DataFrame:
        """Return the columns of a draft."""
        columns = {LINE: self.frame[LINE]}
        for target, spec in chosen.items():
            column = self.frame[spec.name]
            source = Source(self.path, self.frame[LINE], spec.name)
            if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
                raise TraceError(
                    f"a column of {column.dtype} can't be read as {target}",
                    path=self.path,
                    field=spec.name,
                )
            columns[target] = self._column(target, spec, column, source).alias(target)
        if self._unfinished is not None:
            columns[UNFINISHED] = self._unfinished.alias(UNFINISHED)
        if self._local and self.timezone is None:
            self.notes.add_no_timezone(self.frame.height)
        table = self._per_processor(pl.DataFrame(columns), chosen)
        return self._from_gaps(table) if "gap" in columns and "submit" not in columns else table

    def _column(
        self, target: str, spec: ColumnSpec, column: pl.Series, source: Source
    ) -> pl.Series:
        if target in ("submit", "start", "end"):
            values, local = moments(column, source, timezone=self.timezone, pattern=spec.date)
            self._local = self._local or local
            return values
        if target in ("runtime", "estimate", "wait", "cpu_time", "think"):
            unit = UNITS[spec.unit or "s"]
            return durations(column, source, unit=unit, words=("UNLIMITED", "Partition_Limit"))
        if target == "gap":
            return numbers(column, source) * UNITS[spec.unit or "s"]
        if target in ("memory", "requested_memory"):
            return memory(column, source, unit=BYTES[(spec.unit or "b").partition("/")[0]])[0]
        if is_demand(target):
            return numbers(column, source, what="an amount")
        if target in NAMED:
            values, names = ids_or_labels(column)
            self.labels[target] = names
            return values
        if target == "status":
            status, self._unfinished = self._status(column, source)
            return status
        return whole_numbers(column, source)

    def _per_processor(self, table: pl.DataFrame, chosen: dict[str, ColumnSpec]) -> pl.DataFrame:
        """Turn memory of whole jobs or nodes (``mb/job``, ``mb/node``) into that of a processor."""
        for target in ("memory", "requested_memory"):
            spec = chosen.get(target)
            of = "" if spec is None or spec.unit is None else spec.unit.partition("/")[2]
            if spec is None or not of:
                continue
            widths = [name for name in ("procs", "requested_procs") if name in table.columns]
            amount = pl.col(target) / pl.coalesce(widths)
            if of == "node":
                if "demand_nodes" not in table.columns:
                    raise TraceError(
                        "memory per node needs the number of nodes; map one with "
                        "columns= or --column demand_nodes=NAME",
                        path=self.path,
                        field=spec.name,
                    )
                amount = amount * pl.col("demand_nodes")
            finite = pl.when(amount.is_finite()).then(amount)
            table = table.with_columns(finite.alias(target))
        return table

    def _status(self, column: pl.Series, source: Source) -> tuple[pl.Series, pl.Series | None]:
        """Read final states (the map's words, ours, SWF's, Slurm's), and apart unfinished ones."""
        text = text_of(column)
        lower = text.str.to_lowercase()
        codes = {str(code): STATUSES[code] for code in SWF_STATUS_CODES.values()}
        words = {name: name for name in STATUSES} | codes | FINAL_STATES | dict(self.mapping.states)
        mapped = lower.replace_strict(words, default=None, return_dtype=STATUS)
        rest = text.is_not_null() & mapped.is_null() & (lower != "-1")
        if not rest.any():
            return mapped, None
        slurm, unfinished = read_states(text.set(~rest, None), source)
        return mapped.zip_with(~rest, slurm), unfinished

    def _from_gaps(self, table: pl.DataFrame) -> pl.DataFrame:
        """Add up gaps to submit times; the earliest is 0."""
        gaps = table["gap"]
        missing = gaps.is_null()
        source = Source(self.path, self.frame[LINE], "gap")
        source.refuse(gaps, missing[:-1].append(pl.Series([False])), "a gap: every row needs one")
        values = gaps.fill_null(0.0).to_numpy()
        submit = np.concatenate([[0.0], np.cumsum(values[:-1])])
        negative = int(np.count_nonzero(values[:-1] < 0))
        why = "gaps are negative: jobs are out of order until they are sorted (clean does)"
        rows = [
            {"line": int(self.frame[LINE][int(row)]), "gap": float(values[row])}
            for row in np.flatnonzero(values[:-1] < 0)[:5]
        ]
        self.notes.add("negative_gaps", "noted", why, count=negative, examples=rows)
        return table.with_columns(pl.Series("submit", submit - submit.min())).drop("gap")

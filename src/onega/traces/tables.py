"""Reading tables whose columns have names: CSV, Parquet, and tables of gaps."""

from __future__ import annotations

import io
import os
from typing import Any, Final

import numpy as np
import polars as pl

from onega.core.errors import TraceError
from onega.core.schema import JOB_TABLE, REQUIRED, STATUS, STATUSES, SWF_STATUS_CODES
from onega.core.workload import Workload
from onega.traces.assembling import Draft, assemble
from onega.traces.delimited import LINE, header_of, read_delimited
from onega.traces.files import Limits, sample, whole
from onega.traces.mapping import USUAL_NAMES, ColumnMap, ColumnSpec
from onega.traces.notes import Notes
from onega.traces.parquet import META_KEY, meta_from_json
from onega.traces.parsing import (
    BYTES,
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

PARQUET_MAGIC: Final = b"PAR1"


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
    path: str | os.PathLike[str],
    limits: Limits,
    *,
    columns: ColumnMap | None = None,
    timezone: str | None = None,
    format: str = "csv",
) -> Workload:
    """Read a table of text with a header line, its columns found by the map or by usual names."""
    mapping = columns or ColumnMap()
    separator = mapping.separator or header_of(sample(path, limits))[1]
    text = read_delimited(path, separator, limits=limits)
    return _read(text.frame, path, mapping, timezone or mapping.timezone, format)


def read_gaps(path: str | os.PathLike[str], limits: Limits, **options: Any) -> Workload:  # noqa: ANN401
    """Read a table of gaps (interarrival, service, cores, delays).

    The gap in a row lies between that row's job and the next row's, as in hpcwld (seed 000: T_i
    separates jobs i and i + 1). The first job is submitted at 0; the last gap is without use.
    """
    return read_csv(path, limits, format="gaps", **options)


def read_parquet(
    path: str | os.PathLike[str],
    limits: Limits,
    *,
    columns: ColumnMap | None = None,
    timezone: str | None = None,
) -> Workload:
    """Read a Parquet file: one that `onega.write` made, or any with named columns."""
    frame, stored = parquet_content(path, limits)
    if stored is not None and columns is None:
        try:
            return Workload(frame, meta_from_json(stored))
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"its {META_KEY} entry is damaged ({error})", path=path) from None
    if frame.is_empty():
        raise TraceError("holds no rows", path=path)
    mapping = columns or ColumnMap()
    frame = frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE))
    return _read(frame, path, mapping, timezone or mapping.timezone, "parquet")


def parquet_content(
    path: str | os.PathLike[str], limits: Limits
) -> tuple[pl.DataFrame, str | None]:
    """Return a Parquet file's table, and our entry in its metadata if there is one."""
    content = whole(path, limits)
    try:
        frame = pl.read_parquet(io.BytesIO(content), use_statistics=False)
        return frame, pl.read_parquet_metadata(io.BytesIO(content)).get(META_KEY)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    except BaseException as error:
        # Polars' decoder panics on some damaged pages; its exception is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        reason = "its pages can't be decoded"
    raise TraceError(f"is a damaged Parquet file ({reason})", path=path)


def _read(
    frame: pl.DataFrame,
    path: str | os.PathLike[str],
    mapping: ColumnMap,
    timezone: str | None,
    format: str,
) -> Workload:
    notes = Notes()
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
        clock="own" if set(frame.columns) - {LINE} == set(JOB_TABLE) else "guess",
    )
    return assemble(draft)


def _choose(
    frame: pl.DataFrame, path: str | os.PathLike[str], mapping: ColumnMap, notes: Notes
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
        name = next((lower[word] for word in usual if word in lower), None)
        if target not in chosen and name is not None:
            chosen[target] = ColumnSpec(name)
            del lower[name.lower()]
            if name != target:
                found.append(f"{name} as {target}")
    notes.add("columns_by_name", "noted", f"read {', '.join(found)}", count=len(found))
    unused = [name for name in names if name in lower.values()]
    why = f"columns without use here: {', '.join(unused[:12])}"
    notes.add("unused_columns", "noted", why, count=len(unused))
    _require(chosen, names, path)
    return chosen


def _require(chosen: dict[str, ColumnSpec], names: list[str], path: str | os.PathLike[str]) -> None:
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
    """Reads each chosen column by what it is."""

    def __init__(
        self,
        frame: pl.DataFrame,
        path: str | os.PathLike[str],
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
        if self._local and self.timezone is None:
            why = "dates have no time zone and were read as UTC; say timezone= or --timezone"
            self.notes.add("no_timezone", "noted", why, count=self.frame.height)
        table = pl.DataFrame(columns)
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
            return memory(column, source, unit=BYTES[spec.unit or "b"])[0]
        if target in ("user", "group", "app", "queue", "partition"):
            values, names = ids_or_labels(column)
            self.labels[target] = names
            return values
        if target == "status":
            return self._status(column, source)
        return whole_numbers(column, source)

    def _status(self, column: pl.Series, source: Source) -> pl.Series:
        """Read states: the map's words, our own, SWF's codes, or Slurm's."""
        text = text_of(column)
        lower = text.str.to_lowercase()
        codes = {str(code): STATUSES[code] for code in SWF_STATUS_CODES.values()}
        words = {name: name for name in STATUSES} | codes | dict(self.mapping.states)
        mapped = lower.replace_strict(words, default=None, return_dtype=STATUS)
        rest = text.is_not_null() & mapped.is_null() & (lower != "-1")
        if not rest.any():
            return mapped
        slurm, unfinished = read_states(text.set(~rest, None), source)
        mapped = mapped.zip_with(~rest, slurm)
        why = "jobs with a state that is not final (RUNNING, PENDING, …) have no status"
        self.notes.add("unfinished", "noted", why, count=int(unfinished.sum()))
        return mapped

    def _from_gaps(self, table: pl.DataFrame) -> pl.DataFrame:
        """Submit times by adding gaps; the earliest is 0."""
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

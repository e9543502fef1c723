"""`onega.read`: find out what a file is, and read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

from onega.core.errors import TraceError, suggest
from onega.core.files import StrPath
from onega.core.workload.workload import Workload
from onega.traces.assembling import Rows
from onega.traces.batsim.workload import looks_like_batsim, read_batsim
from onega.traces.files import DEFAULT_LIMITS, Limits, sample, seekable
from onega.traces.pbs import looks_like_pbs, read_pbs
from onega.traces.repeats import without_repeats
from onega.traces.slurm.jobcomp import looks_like_jobcomp, read_jobcomp
from onega.traces.slurm.sacct import looks_like_sacct, looks_like_sacct_table, read_sacct
from onega.traces.swf.reader import read_swf
from onega.traces.tables.mapping import ColumnMap, MapLike, check_timezone, column_map
from onega.traces.tables.parquet_size import PARQUET_MAGIC
from onega.traces.tables.reader import (
    looks_like_csv,
    looks_like_gaps,
    read_csv,
    read_gaps,
    read_parquet,
)


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of log that can be read.

    ``recognise`` looks at the first bytes of the text; formats are asked in the order of
    `FORMATS`, so the more particular ones come first.
    """

    name: str
    what: str
    recognise: Callable[[bytes], bool]
    read: Callable[..., Workload]


def _looks_like_swf(start: bytes) -> bool:
    """Recognise comments led by ``;``, or a first line that is mostly numbers."""
    for line in start.split(b"\n", 200)[:200]:
        body = line.strip()
        if not body:
            continue
        if body.startswith(b";"):
            return True
        return _is_number_row(body)
    return False


def _is_number_row(body: bytes) -> bool:
    """Recognise a row that is mostly numbers with blanks between; the rest are mistakes in it."""
    words = body.partition(b";")[0].split(maxsplit=40)[:40]
    if len(words) < 2 or b"," in body[:1000] or b"|" in body[:1000]:
        return False
    numeric = sum(word[:1] in b"+-.0123456789" for word in words)
    return words[0][:1] in b"+-.0123456789" and 2 * numeric > len(words)


FORMATS: Final = (
    Format("parquet", "Parquet", lambda start: start.startswith(PARQUET_MAGIC), read_parquet),
    Format("batsim", "Batsim's workload in JSON", looks_like_batsim, read_batsim),
    Format("jobcomp", "Slurm's jobcomp/filetxt log", looks_like_jobcomp, read_jobcomp),
    Format("pbs", "PBS or Torque accounting log", looks_like_pbs, read_pbs),
    Format("swf", "Standard Workload Format", _looks_like_swf, read_swf),
    Format(
        "sacct",
        "Slurm's sacct output",
        lambda start: looks_like_sacct(start) or looks_like_sacct_table(start),
        read_sacct,
    ),
    Format("gaps", "table of gaps", looks_like_gaps, read_gaps),
    Format("csv", "table with named columns", looks_like_csv, read_csv),
)
"""Every format that can be read, in the order in which they are tried on unknown content."""

WITH_STATES: Final = ("sacct", "jobcomp", "csv", "parquet")
"""Formats that tell which jobs hadn't finished."""


def read(
    path: StrPath,
    format: str | None = None,
    *,
    columns: MapLike = None,
    timezone: str | None = None,
    rows: Rows = "finished",
    limits: Limits = DEFAULT_LIMITS,
) -> Workload:
    """Read a log of jobs.

    Parameters
    ----------
    path
        The file; may be compressed (gzip, xz, bzip2, zstd: found by content, not by name), or a
        pipe (``/dev/stdin``).
    format
        ``"swf"``, ``"sacct"``, ``"jobcomp"``, ``"pbs"``, ``"batsim"``, ``"gaps"``, ``"csv"`` or
        ``"parquet"``; found from the content if None.
    columns
        For CSV and Parquet: which column is what, as ``{"submit": "submit_time"}`` or the path
        of a TOML file (see `onega.traces.tables.mapping.ColumnMap`).
    timezone
        The machine's zone (``"Europe/Paris"``), in which dates without one are read; it goes
        before what the log's header says.
    rows
        ``"finished"``, or ``"unfinished"``: the jobs that still ran or waited when the log was
        taken (of Slurm's logs and of tables with states). Their run time is the time so far, and
        jobs that wait have no ``wait``.
    limits
        How much the file may ask of this machine.

    Returns
    -------
    Workload
        What was changed or left out is in ``workload.meta.report``.

    Raises
    ------
    TraceError
        If the file can't be read; the message names the file, the line and the field.
    """
    by_name = {one.name: one for one in FORMATS}
    if format is not None and format not in by_name:
        raise TraceError(f"unknown format {format!r}; {suggest(format, by_name)}")
    if rows not in get_args(Rows):
        raise TraceError(f"unknown rows {rows!r}; {suggest(str(rows), get_args(Rows))}")
    check_timezone(timezone)
    mapping = None if columns is None else column_map(columns)
    with seekable(path, limits) as source:
        try:
            found = _read(source, format, mapping, limits, timezone=timezone, rows=rows)
        except TraceError as error:
            where = str(path) if error.path == str(source) else error.path
            raise TraceError(
                error.message, path=where, line=error.line, field=error.field
            ) from None
    workload = without_repeats(found)
    changes: dict[str, Any] = {}
    if timezone is not None:
        changes["timezone"] = timezone
    if Path(path) != source:
        changes |= {
            "source": str(path),
            "provenance": (f"read from {path} ({workload.meta.format})",),
        }
    return Workload(workload.table, replace(workload.meta, **changes)) if changes else workload


def _read(
    path: Path,
    format: str | None,
    mapping: ColumnMap | None,
    limits: Limits,
    *,
    timezone: str | None,
    rows: Rows,
) -> Workload:
    by_name = {one.name: one for one in FORMATS}
    start = sample(path, limits)
    if format is None:
        # A map says that the file is a table with named columns, whatever they are called.
        tried = FORMATS if mapping is None else [by_name["parquet"], by_name["csv"]]
        format = next((one.name for one in tried if one.recognise(start)), None)
    if format is None:
        raise TraceError(
            f"is not a job log that I know; accepted: {', '.join(by_name)} "
            "(say which with format= or --from)",
            path=path,
        )
    options: dict[str, Any] = {"timezone": timezone}
    if format in ("csv", "parquet", "gaps"):
        options["columns"] = mapping
    elif mapping is not None:
        raise TraceError(f"a column map is for csv, parquet and gaps, not for {format}", path=path)
    if rows == "unfinished":
        if format not in WITH_STATES:
            raise TraceError(
                f"a log of format {format} doesn't keep unfinished jobs apart; "
                f"{', '.join(WITH_STATES)} do",
                path=path,
            )
        options["rows"] = rows
    return by_name[format].read(path, limits, **options)

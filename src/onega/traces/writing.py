"""`onega.write`: a workload into a file, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from onega.core.errors import TraceError, suggest
from onega.core.files import StrPath
from onega.core.workload.report import Report
from onega.core.workload.schema import NAMED
from onega.core.workload.workload import Workload
from onega.traces.batsim.workload import write_batsim
from onega.traces.files import compression_of_name, log_writer
from onega.traces.notes import Notes
from onega.traces.swf.writer import write_swf


def _write_csv(workload: Workload, out: IO[bytes]) -> Report:
    """Write the table; users, groups, queues and the like under the log's own names."""
    meta = workload.meta
    named = [column for column in NAMED if meta.labels.get(column)]
    workload.table.with_columns(workload.names(column) for column in named).write_csv(out)
    notes = Notes()
    said = [name for name in ("epoch", "timezone", "procs", "nodes") if getattr(meta, name)]
    if said:
        why = f"a CSV file holds the jobs only, not the log's {', '.join(said)}"
        notes.add("meta_left_out", "noted", why, count=1)
    return notes.report()


def _write_parquet(workload: Workload, out: IO[bytes]) -> Report:
    from onega.traces.tables.parquet import write_parquet

    return write_parquet(workload, out)


WRITERS: Final[dict[str, Callable[[Workload, IO[bytes]], Report]]] = {
    "swf": write_swf,
    "batsim": write_batsim,
    "csv": _write_csv,
    "parquet": _write_parquet,
}

_SUFFIXES: Final = {
    ".swf": "swf",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "batsim",
}


def write(workload: Workload, path: StrPath, format: str | None = None) -> Report:
    """Write a workload; the file appears under its name only when it is complete.

    Parameters
    ----------
    workload
        The jobs.
    path
        Where to. A name ending in ``.gz``, ``.xz``, ``.bz2`` or ``.zst`` is compressed.
    format
        ``"swf"``, ``"csv"``, ``"parquet"`` or ``"batsim"`` (.json); by the name's ending if None.

    Returns
    -------
    Report
        What the format couldn't say; empty if reading the file gives the same workload.
    """
    chosen = _format_of_name(path) if format is None else format
    if chosen not in WRITERS:
        raise TraceError(f"can't write format {chosen!r}; {suggest(chosen, WRITERS)}", path=path)
    with log_writer(path) as out:
        return WRITERS[chosen](workload, out)


def _format_of_name(path: StrPath) -> str:
    name = Path(path)
    if compression_of_name(name) is not None:
        name = name.with_suffix("")
    try:
        return _SUFFIXES[name.suffix.lower()]
    except KeyError:
        raise TraceError(
            f"can't tell the format from the name; end it in {', '.join(_SUFFIXES)} "
            f"or say which: {', '.join(WRITERS)}",
            path=path,
        ) from None

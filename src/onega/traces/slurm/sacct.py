"""Reading ``sacct`` output: ``--parsable2`` (pipes) or separated by commas."""

from __future__ import annotations

import re
from typing import Any, Final

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.workload.workload import Workload
from onega.traces.assembling import Rows
from onega.traces.files import Limits, sample
from onega.traces.notes import Notes
from onega.traces.slurm.jobs import SlurmTable, read_jobs
from onega.traces.tables.delimited import header_of, read_delimited

_TELLING: Final = {
    *("submit", "start", "end", "state", "elapsed", "elapsedraw", "timelimit", "timelimitraw"),
    *("ncpus", "alloccpus", "reqcpus", "nnodes", "partition", "alloctres", "exitcode", "jobname"),
}


def looks_like_sacct(start: bytes) -> bool:
    """Recognise a header line with JobID and at least one more of sacct's column names."""
    names, _ = header_of(start)
    lower = {name.lower() for name in names}
    return bool(lower & {"jobid", "jobidraw"}) and bool(lower & _TELLING)


def looks_like_sacct_table(start: bytes) -> bool:
    """Recognise sacct's table for people: names, then a line of dashes."""
    lines = start.split(b"\n", 2)
    return len(lines) > 1 and b"JobID" in lines[0] and bool(re.fullmatch(rb"[- \r]{5,}", lines[1]))


def read_sacct(
    path: StrPath,
    limits: Limits,
    *,
    timezone: str | None = None,
    rows: Rows = "finished",
    **ignored: Any,  # noqa: ANN401
) -> Workload:
    """Read what ``sacct --parsable2`` (or ``--delimiter=,``) printed.

    Dates are ISO or seconds since 1970 (``SLURM_TIME_FORMAT=%s``). sacct prints local time
    without saying which: give ``timezone``; UTC is assumed otherwise, and noted.
    """
    start = sample(path, limits)
    if looks_like_sacct_table(start):
        raise TraceError(
            "is sacct's table for people, whose columns are cut; print it with --parsable2",
            path=path,
            line=1,
        )
    _, separator = header_of(start)
    notes = Notes()
    table = SlurmTable(read_delimited(path, separator, notes=notes, limits=limits).frame, path)
    return read_jobs(table, format="sacct", timezone=timezone, notes=notes, rows=rows)

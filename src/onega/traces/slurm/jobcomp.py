"""Reading the log that Slurm's ``jobcomp/filetxt`` plugin writes: a line of key=value per job."""

from __future__ import annotations

import re
from typing import Any, Final

import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.workload.workload import Workload
from onega.traces.assembling import Rows
from onega.traces.files import Limits, text_lines
from onega.traces.notes import LINE, Notes
from onega.traces.slurm.jobs import SlurmTable, read_jobs

_COLUMNS: Final = {
    "JobId": "JobID",
    "UserId": "User",
    "GroupId": "Group",
    "JobState": "State",
    "Partition": "Partition",
    "TimeLimit": "Timelimit",
    "StartTime": "Start",
    "EndTime": "End",
    "SubmitTime": "Submit",
    "NodeCnt": "NNodes",
    "ProcCnt": "AllocCPUS",
    "Tres": "AllocTRES",
    "Account": "Account",
    "QOS": "QOS",
}
"""The log's keys that are used, and what sacct calls the same thing."""

_OTHER_KEYS: Final = (
    *("Name", "NodeList", "WorkDir", "ReservationName", "Gres", "WcKey", "Cluster"),
    *("EligibleTime", "DerivedExitCode", "ExitCode", "ArrayJobId", "ArrayTaskId", "Comment"),
)
_KEY: Final = re.compile(rf"(?:^| )({'|'.join([*_COLUMNS, *_OTHER_KEYS])})=")


def looks_like_jobcomp(start: bytes) -> bool:
    """Recognise ``JobId=… UserId=…``."""
    return re.match(rb"\s*JobId=\S+ UserId=", start) is not None


def read_jobcomp(
    path: StrPath,
    limits: Limits,
    *,
    timezone: str | None = None,
    rows: Rows = "finished",
    **ignored: Any,  # noqa: ANN401
) -> Workload:
    """Read a ``jobcomp/filetxt`` log; dates are local, as in sacct's output."""
    columns: dict[str, list[str | None]] = {name: [] for name in _COLUMNS}
    lines: list[int] = []
    notes = Notes()
    for number, line in text_lines(path, notes, limits):
        pairs = _pairs(line.rstrip("\r"))
        if "JobId" not in pairs:
            raise TraceError("a line without JobId=", path=path, line=number, field="JobId")
        lines.append(number)
        for name, values in columns.items():
            values.append(pairs.get(name))
    if not lines:
        raise TraceError("holds no jobs", path=path)
    frame = pl.DataFrame(
        {
            _COLUMNS[name]: pl.Series(values, dtype=pl.String)
            for name, values in columns.items()
            if any(value is not None for value in values)
        }
    ).with_columns(pl.Series(LINE, lines, dtype=pl.Int64))
    names = [name for name in ("User", "Group") if name in frame.columns]
    # "alice(1001)": the name is enough.
    frame = frame.with_columns(pl.col(names).str.replace(r"\([0-9]+\)$", ""))
    if "Account" in frame.columns and not frame["Account"].str.strip_chars().str.len_chars().sum():
        frame = frame.drop("Account")
    table = SlurmTable(frame, path)
    return read_jobs(table, format="jobcomp", timezone=timezone, notes=notes, rows=rows)


def _pairs(line: str) -> dict[str, str]:
    """Split at the keys that are known: names and directories may hold spaces."""
    found = list(_KEY.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    pairs: dict[str, str] = {}
    for match, end in zip(found, ends):
        pairs.setdefault(match[1], line[match.end() : end].strip())
    return pairs

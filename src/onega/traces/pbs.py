"""Reading the accounting logs of PBS Pro, OpenPBS and Torque.

One record a line: ``MM/DD/YYYY HH:MM:SS;type;job id;key=value key=value …``. ``E`` (ended) is a
job; ``Q`` (queued) gives the submit time of jobs that never ran, ``D`` (deleted) and ``A``
(aborted) tell what became of a job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.workload.schema import STATUS
from onega.core.workload.workload import Workload
from onega.traces.assembling import Draft, assemble
from onega.traces.files import Limits, text_lines
from onega.traces.notes import LINE, Notes
from onega.traces.parsing import Source, durations, labelled, memory, numbers, whole_numbers

_RECORD: Final = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]+);([^;]*);(.*)", re.ASCII)
_ID: Final = re.compile(r"(\d{1,18})(\[\d*\]|-\d{1,9})?(?:\..*)?", re.ASCII)
_PAIR: Final = re.compile(r"([A-Za-z_][\w.]*)=(\"[^\"]*\"|\S*)")

_KEYS: Final = {
    "submit": ("ctime", "qtime", "etime"),
    "start": ("start",),
    "end": ("end",),
    "estimate": ("Resource_List.walltime",),
    "walltime": ("resources_used.walltime",),
    "cput": ("resources_used.cput",),
    "mem": ("resources_used.mem",),
    "requested_mem": ("Resource_List.mem",),
    "requested_pmem": ("Resource_List.pmem",),
    "exit": ("Exit_status",),
    "user": ("user",),
    "group": ("group",),
    "queue": ("queue",),
    "partition": ("partition",),
    "demand_gpus": ("Resource_List.ngpus",),
    "demand_nodes": ("Resource_List.nodect",),
}
"""Our column, and the log's keys for it, the best first."""

_KILLED_AT_LIMIT: Final = -29
_SIGNALLED: Final = (271, 143, 265, 137)
"""Exit states of jobs ended by SIGTERM or SIGKILL, with and without 256 or 128 added."""


@dataclass(slots=True)
class _Log:
    """What one pass over the records gathers."""

    ended: list[dict[str, Any]] = field(default_factory=list)
    queued: dict[str, tuple[int, str, str | None]] = field(default_factory=dict)
    stopped: dict[str, tuple[int, str]] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    offset: float | None = None


def looks_like_pbs(start: bytes) -> bool:
    """Recognise ``03/14/2024 12:00:00;E;123.server;…``."""
    first = next((line for line in start.split(b"\n") if line.strip()), b"")
    return _RECORD.match(first.decode("utf-8", "replace").strip()) is not None


def read_pbs(
    path: StrPath,
    limits: Limits,
    *,
    timezone: str | None = None,
    **ignored: Any,  # noqa: ANN401
) -> Workload:
    """Read a PBS or Torque accounting log.

    The times in ``E`` records are Unix times. The stamps at the start of the lines are local;
    they are needed only for jobs that never ran, and are placed by ``timezone`` or by comparing
    an ``E`` record's stamp with its ``end``.
    """
    log = _Log()
    notes = Notes()
    for number, stamp, kind, job, rest in _records(path, notes, limits):
        _take(log, number, stamp, kind, job, rest)
    rows = log.ended + _never_ran(log, timezone, notes)
    _note_unfinished(log, notes)
    if not rows:
        raise TraceError("no job ended in this log (no E records)", path=path)
    rows.sort(key=lambda row: int(row[LINE]))
    frame, labels = _columns(rows, path, notes)
    return assemble(
        Draft(path, "pbs", frame, notes, labels=labels, timezone=timezone, clock="unix")
    )


def _records(
    path: StrPath, notes: Notes, limits: Limits
) -> Iterator[tuple[int, str, str, str, str]]:
    for number, line in text_lines(path, notes, limits):
        text = line.strip()
        match = _RECORD.fullmatch(text)
        if match is None:
            raise TraceError(
                f"{text[:40]!r} is not an accounting record "
                "(MM/DD/YYYY HH:MM:SS;type;job;key=value …)",
                path=path,
                line=number,
                field="record",
            )
        if match[2] in ("E", "Q", "S", "D", "A") and not _ID.fullmatch(match[3]):
            raise TraceError(
                f"{match[3][:40]!r} is not a job id (123.server, 123[4].server)",
                path=path,
                line=number,
                field="job",
            )
        yield number, match[1], match[2], match[3], match[4]


def _take(log: _Log, number: int, stamp: str, kind: str, job: str, rest: str) -> None:
    if kind == "Q":
        pairs = dict(_PAIR.findall(rest))
        log.queued.setdefault(job, (number, stamp, pairs.get("queue")))
    elif kind == "S":
        log.started[job] = number
    elif kind in ("D", "A"):
        log.stopped.setdefault(job, (number, kind))
    elif kind == "E":
        if "[]" in job:
            log.parents.append(number)
            return
        pairs = {key: value.strip('"') for key, value in _PAIR.findall(rest)}
        row: dict[str, Any] = {LINE: number, "id": job}
        for name, keys in _KEYS.items():
            row[name] = next((pairs[key] for key in keys if key in pairs), None)
        row["procs"] = _allocated(pairs)
        row["requested_procs"] = _requested(pairs)
        row["stopped"] = None
        log.ended.append(row)
        moment = _local(stamp) if log.offset is None else None
        if moment is not None and re.fullmatch(r"[0-9]{1,12}", row["end"] or ""):
            # Local clock minus Unix time, to the quarter of an hour that zones are made of.
            log.offset = round((_as_if_utc(moment) - float(row["end"])) / 900) * 900.0


def _local(stamp: str) -> datetime | None:
    """Read a stamp; None if there is no such date."""
    try:
        return datetime.strptime(stamp, "%m/%d/%Y %H:%M:%S")
    except ValueError:
        return None


def _as_if_utc(moment: datetime) -> float:
    return (moment - datetime(1970, 1, 1)).total_seconds()


def _allocated(pairs: dict[str, str]) -> str | None:
    """Count a job's processors: Torque's slots, the places in exec_host, or ncpus."""
    slots = pairs.get("total_execution_slots")
    if slots:
        return slots
    hosts = pairs.get("exec_host")
    if hosts:
        total = 0
        for place in hosts.split("+"):
            times = re.search(r"\*([0-9]{1,9})$", place)
            span = re.search(r"/([0-9]{1,9})-([0-9]{1,9})$", place)
            if times:
                total += int(times[1])
            elif span:
                total += int(span[2]) - int(span[1]) + 1
            else:
                total += place.count(",") + 1
        return str(total)
    return _requested(pairs)


def _requested(pairs: dict[str, str]) -> str | None:
    """Count what a job asked for: procs, ncpus, or nodes × ppn."""
    for key in ("Resource_List.procs", "Resource_List.ncpus"):
        if re.fullmatch(r"0*[1-9][0-9]{0,17}", pairs.get(key, "")):
            return pairs[key]
    nodes = pairs.get("Resource_List.nodes") or pairs.get("Resource_List.neednodes")
    if not nodes:
        return pairs.get("Resource_List.nodect")
    total = 0
    for chunk in nodes.split("+"):
        parts = chunk.split(":")
        count = int(parts[0]) if re.fullmatch(r"[0-9]{1,9}", parts[0]) else 1
        each = re.search(r"ppn=([0-9]{1,9})", chunk)
        total += count * (int(each[1]) if each else 1)
    return str(total)


def _never_ran(log: _Log, timezone: str | None, notes: Notes) -> list[dict[str, Any]]:
    """Make rows of jobs that were deleted or aborted without an ``E`` record."""
    ended = {row["id"]: row for row in log.ended}
    rows: list[dict[str, Any]] = []
    unknown: list[dict[str, Any]] = []
    for job, (number, kind) in log.stopped.items():
        if job in ended:
            ended[job]["stopped"] = kind
            continue
        if job not in log.queued:
            unknown.append({"line": number, "job": job})
            continue
        line, queued_at, queue = log.queued[job]
        row: dict[str, Any] = dict.fromkeys([*_KEYS, "procs", "requested_procs"])
        submit = _unix(queued_at, timezone, log.offset)
        row |= {LINE: line, "id": job, "queue": queue, "stopped": kind}
        row["submit"] = None if submit is None else repr(submit)
        rows.append(row)
    why = "deleted or aborted jobs whose submission is not in the log were left out"
    notes.add("no_submit", "dropped", why, count=len(unknown), examples=unknown)
    return rows


def _unix(stamp: str, timezone: str | None, offset: float | None) -> float | None:
    moment = _local(stamp)
    if moment is None:
        return None
    if timezone is not None:
        return moment.replace(tzinfo=ZoneInfo(timezone)).timestamp()
    return _as_if_utc(moment) - (offset or 0.0)


def _note_unfinished(log: _Log, notes: Notes) -> None:
    done = {row["id"] for row in log.ended} | set(log.stopped)
    waiting = {job: line for job, (line, _, _) in log.queued.items()} | log.started
    open_jobs = [{"line": line, "job": job} for job, line in waiting.items() if job not in done]
    why = "jobs queued or started in this log that don't end in it were left out"
    notes.add("unfinished", "dropped", why, count=len(open_jobs), examples=open_jobs)
    why = "records of whole job arrays (123[]) were left out: their tasks are the jobs"
    parents = [{"line": line} for line in log.parents]
    notes.add("array_parents", "dropped", why, count=len(parents), examples=parents)


def _columns(
    rows: list[dict[str, Any]], path: StrPath, notes: Notes
) -> tuple[pl.DataFrame, dict[str, dict[int, str]]]:
    lines = pl.Series(LINE, [row[LINE] for row in rows], dtype=pl.Int64)

    def text(name: str) -> tuple[pl.Series, Source]:
        column = pl.Series(name, [row[name] for row in rows], dtype=pl.String)
        return column, Source(path, lines, _KEYS.get(name, (name,))[0])

    columns: dict[str, pl.Series] = {LINE: lines, "job": _job_numbers(rows, notes)}
    for name in ("submit", "start", "end"):
        columns[name] = numbers(*text(name), what="a point in time (seconds since 1970)")
    for name in ("procs", "requested_procs"):
        columns[name] = whole_numbers(*text(name), what="a number of processors")
    columns["estimate"] = durations(*text("estimate"))
    walltime = durations(*text("walltime"))
    elapsed = columns["end"] - columns["start"]
    columns["runtime"] = elapsed.zip_with(elapsed.is_not_null(), walltime)
    width = columns["procs"].cast(pl.Float64)
    width = width.set(width <= 0, None)
    columns["cpu_time"] = durations(*text("cput")) / width
    columns["memory"] = memory(*text("mem"))[0] / width
    each, total = memory(*text("requested_pmem"))[0], memory(*text("requested_mem"))[0] / width
    columns["requested_memory"] = each.zip_with(each.is_not_null(), total)
    for name in ("demand_gpus", "demand_nodes"):
        amount = whole_numbers(*text(name), what="a number of GPUs or nodes")
        if (amount > 0).any():
            columns[name] = amount.cast(pl.Float64)
    labels = {}
    for name in ("user", "group", "queue", "partition"):
        columns[name], labels[name] = labelled(text(name)[0])
    codes = whole_numbers(*text("exit"), what="an exit status")
    columns["status"] = _statuses(codes, columns, text("stopped")[0])
    return pl.DataFrame(columns), labels


def _job_numbers(rows: list[dict[str, Any]], notes: Notes) -> pl.Series:
    matches = [_ID.fullmatch(row["id"]) for row in rows]
    numbers_of = [None if match is None or match[2] else int(match[1]) for match in matches]
    largest = max((int(match[1]) for match in matches if match), default=0)
    fresh = largest
    tasks = []
    for place, number in enumerate(numbers_of):
        if number is None:
            fresh += 1
            numbers_of[place] = fresh
            tasks.append({"line": rows[place][LINE], "JobID": rows[place]["id"]})
    why = f"array tasks (123[4]) got job numbers from {largest + 1}"
    notes.add("array_tasks", "noted", why, count=len(tasks), examples=tasks)
    return pl.Series("job", numbers_of, dtype=pl.Int64)


def _statuses(codes: pl.Series, columns: dict[str, pl.Series], stopped: pl.Series) -> pl.Series:
    """Tell how jobs ended from the exit status, the limit, and D and A records."""
    at_limit = columns["runtime"] >= columns["estimate"]
    frame = pl.DataFrame({"code": codes, "at_limit": at_limit, "stopped": stopped})
    status = (
        pl.when(pl.col("stopped") == "D")
        .then(pl.lit("cancelled"))
        .when(pl.col("stopped") == "A")
        .then(pl.lit("failed"))
        .when(pl.col("code") == 0)
        .then(pl.lit("completed"))
        .when(pl.col("code") == _KILLED_AT_LIMIT)
        .then(pl.lit("timeout"))
        .when(pl.col("code").is_in(list(_SIGNALLED)))
        .then(pl.when("at_limit").then(pl.lit("timeout")).otherwise(pl.lit("cancelled")))
        .when(pl.col("code").is_not_null())
        .then(pl.lit("failed"))
    )
    return frame.select(status.alias("status")).to_series().cast(STATUS)

"""What a run of the virtual Slurm left: its logs, read into one row per job."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

_STAMP: Final = re.compile(r"^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\] (.*)$")
_EVENTS: Final = (
    ("submitted", re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")),
    ("start", re.compile(r"sched: Allocate JobId=(\d+) ")),
    ("start", re.compile(r"sched/backfill: _start_job: Started JobId=(\d+) ")),
    ("end", re.compile(r"_job_complete: JobId=(\d+) done")),
    ("released", re.compile(r"cleanup_completing: JobId=(\d+)")),
)
_MANAGER: Final = {"begin": " started on cluster ", "stop": "Terminate signal "}
_ENDED: Final = re.compile(rb"^JobId=(\d+) .*\n", re.MULTILINE)
_WORDS: Final = re.compile(r"(\w+)=(\S*)")

SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "name": pl.Int64,
    "slurm_id": pl.Int64,
    "state": pl.String,
    "nodes": pl.Int64,
    "limit_minutes": pl.Int64,
    "submitted": pl.Float64,
    "start": pl.Float64,
    "end": pl.Float64,
    "released": pl.Float64,
    "launched": pl.Float64,
    "by": pl.String,
    "node_list": pl.String,
}
"""Columns of `collect`. Times are Unix seconds of the virtual clock; ``released`` is when the last
of the job's nodes was idle again, ``launched`` when its script began; ``by`` is the scheduler that
started it, ``main`` or ``backfill``."""


def unix_time(text: str) -> float | None:
    """Turn one of Slurm's time stamps (UTC) into Unix seconds; None for ``Unknown``."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def finished(folder: Path) -> int:
    """Count the jobs that have ended, or ended once and were requeued."""
    path = folder / "jobcomp.log"
    return len(set(_ENDED.findall(path.read_bytes()))) if path.is_file() else 0


def collect(folder: Path) -> pl.DataFrame:
    """Read jobcomp.log (every job, whole seconds) and slurmctld.log (milliseconds, the scheduler).

    Where slurmctld.log lacks a stamp, the whole second of jobcomp.log stands. Of a job that was
    requeued, the last time that it ran stands.
    """
    jobs: dict[int, dict[str, Any]] = {}
    for line in (folder / "jobcomp.log").read_text(errors="replace").splitlines():
        words = dict(_WORDS.findall(line))
        number = int(words["JobId"])
        jobs[number] = {
            "name": int(words["Name"]),
            "slurm_id": number,
            "state": words["JobState"],
            "nodes": int(words["NodeCnt"]),
            "limit_minutes": int(words["TimeLimit"]),
            "submitted": unix_time(words["SubmitTime"]),
            "start": unix_time(words["StartTime"]),
            "end": unix_time(words["EndTime"]),
            "node_list": words["NodeList"],
        }
    _add_milliseconds(jobs, (folder / "slurmctld.log").read_text(errors="replace"))
    launches = folder / "launches"
    if launches.is_file():
        for line in launches.read_text().splitlines():
            began, _, stamp = line.partition(" ")
            if int(began) in jobs:
                jobs[int(began)]["launched"] = float(stamp)
    rows = [jobs[number] for number in sorted(jobs)]
    return pl.DataFrame([{key: row.get(key) for key in SCHEMA} for row in rows], schema=SCHEMA)


def manager_times(folder: Path) -> tuple[float, float] | None:
    """Return when slurmctld was started and stopped (Unix seconds); None if its log doesn't say."""
    found: dict[str, float | None] = {}
    for line in (folder / "slurmctld.log").read_text(errors="replace").splitlines():
        stamped = _STAMP.match(line)
        for word, sign in _MANAGER.items():
            if stamped and sign in stamped[2]:
                found.setdefault(word, unix_time(stamped[1]))
    begin, stop = found.get("begin"), found.get("stop")
    return None if begin is None or stop is None else (begin, stop)


def _add_milliseconds(jobs: dict[int, dict[str, Any]], text: str) -> None:
    for line in text.splitlines():
        stamped = _STAMP.match(line)
        if not stamped:
            continue
        for key, pattern in _EVENTS:
            found = pattern.search(stamped[2])
            if found and int(found[1]) in jobs:
                job = jobs[int(found[1])]
                job[key] = unix_time(stamped[1])
                if key == "start":
                    job["by"] = "backfill" if "_start_job" in stamped[2] else "main"

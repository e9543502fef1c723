"""Slurm's records into jobs: steps and heterogeneous components folded, arrays told apart."""

from __future__ import annotations

from typing import Final

import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.workload.schema import is_demand
from onega.core.workload.workload import Workload
from onega.traces.assembling import UNFINISHED, Draft, Rows, assemble
from onega.traces.notes import LINE, Notes
from onega.traces.parsing import (
    Source,
    durations,
    labelled,
    moments,
    text_of,
    whole_numbers,
)
from onega.traces.repeats import REPEATED
from onega.traces.slurm.demands import add_demands, requested_memory, used_memory
from onega.traces.slurm.states import read_states

_ID: Final = r"^([0-9]{1,18})(?:_([0-9]{1,18}|\[[^\]]*\]))?(?:\+([0-9]{1,9}))?(?:\.(.+))?$"

SACCT: Final = (
    "sacct --parsable2 --format=JobID,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,"
    "TimelimitRaw,AllocCPUS,ReqCPUS"
)
"""What prints a log that has all that is used."""

NO_LIMIT: Final = ("UNLIMITED", "Partition_Limit", "INFINITE", "NOT_SET")

_LABELLED: Final = {
    "user": ("user", "uid"),
    "group": ("account", "group", "gid"),
    "queue": ("qos",),
    "partition": ("partition",),
}

_USED: Final = {
    *("jobid", "jobidraw", "submit", "start", "end", "state", "elapsed", "elapsedraw", "timelimit"),
    *("timelimitraw", "ncpus", "alloccpus", "reqcpus", "nnodes", "allocnodes", "reqnodes"),
    *("alloctres", "reqtres", "maxrss", "totalcpu", "reqmem", "user", "uid", "account", "group"),
    *("gid", "qos", "partition", "tresusageintot", "averss", "ntasks"),
}


_ADDED: Final = ("procs", "requested_procs")
"""What the components of a heterogeneous job have together, beside their demands."""


class SlurmTable:
    """Slurm's columns by their names in lower case, with where each stands in the file."""

    def __init__(self, frame: pl.DataFrame, path: StrPath) -> None:
        self.path = path
        self.frame = frame
        self.names = {name.lower(): name for name in frame.columns if name != LINE}

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.names

    def column(self, name: str) -> tuple[pl.Series, Source]:
        """Return a column and its place, for the parsers."""
        own = self.names[name]
        return self.frame[own], Source(self.path, self.frame[LINE], own)

    def filter(self, mask: pl.Series) -> SlurmTable:
        """Keep some rows."""
        return SlurmTable(self.frame.filter(mask), self.path)


def read_jobs(
    table: SlurmTable,
    *,
    format: str,
    timezone: str | None,
    notes: Notes,
    rows: Rows = "finished",
) -> Workload:
    """Turn Slurm's records into a workload.

    ``procs`` is AllocCPUS (NCPUS), falling back to ReqCPUS; ``runtime`` ElapsedRaw, Elapsed or
    End − Start; ``wait`` Start − Submit; ``estimate`` the time limit; ``memory`` what the tasks of
    the largest step used together, per processor; ``cpu_time`` TotalCPU per processor. Jobs that
    hadn't finished are kept apart and reported: see `onega.traces.assembling.Draft`.
    """
    _require(table)
    unused = [own for name, own in table.names.items() if name not in _USED]
    notes.add_unused(unused)
    frame, parts = _identify(table)
    steps = parts["step"].is_not_null()
    jobs = table.filter(~steps)
    frame = _times(jobs, frame.filter(~steps), timezone, notes)
    frame = _sizes(jobs, frame, notes)
    frame, labels = _names(jobs, frame)
    frame = _state(jobs, frame)
    if steps.any():
        frame = _fold_steps(frame, table.filter(steps), parts.filter(steps), notes)
    frame = _number_arrays(frame, notes)
    frame = _fold_components(frame, notes)
    frame = _finished(frame)
    draft = Draft(
        table.path,
        format,
        frame,
        notes,
        labels=labels,
        timezone=timezone,
        clock="unix",
        rows=rows,
    )
    return assemble(draft)


def _require(table: SlurmTable) -> None:
    needed = (
        ("JobID", ("jobid", "jobidraw")),
        ("Submit", ("submit",)),
        ("End", ("elapsedraw", "elapsed", "end")),
        (
            "AllocCPUS",
            ("alloccpus", "ncpus", "alloctres", "reqcpus", "reqtres", "nnodes", "allocnodes"),
        ),
    )
    for name, accepted in needed:
        if not any(table.has(one) for one in accepted):
            raise TraceError(
                f"no such column; needed: one of {', '.join(accepted)} ({SACCT})",
                path=table.path,
                line=1,
                field=name,
            )


def _identify(table: SlurmTable) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take job ids apart: number, array task, component of a heterogeneous job, step."""
    column, source = table.column("jobid" if table.has("jobid") else "jobidraw")
    text = text_of(column)
    parts = text.str.extract_groups(_ID).struct.unnest()
    parts.columns = ["number", "task", "component", "step"]
    source.refuse(column, parts["number"].is_null(), "a job id (123, 123_4, 123+0, 123.batch)")
    whole = text.str.split(".").list.first()
    frame = pl.DataFrame({LINE: table.frame[LINE], "key": whole}).with_columns(
        parts["number"].cast(pl.Int64).alias("number"), parts["task"], parts["component"]
    )
    raw = pl.Series("raw", [None], dtype=pl.Int64).new_from_index(0, frame.height)
    if table.has("jobidraw") and table.has("jobid"):
        raw = text_of(table.column("jobidraw")[0]).cast(pl.Int64, strict=False)
    return frame.with_columns(raw.alias("raw")), parts


def _times(
    jobs: SlurmTable, frame: pl.DataFrame, timezone: str | None, notes: Notes
) -> pl.DataFrame:
    columns: dict[str, pl.Series] = {}
    local = False
    for name in ("submit", "start", "end"):
        if jobs.has(name):
            columns[name], was_local = moments(*jobs.column(name), timezone=timezone)
            local = local or was_local
    if local and timezone is None:
        notes.add_no_timezone(frame.height)
    elapsed = [name for name in ("elapsedraw", "elapsed") if jobs.has(name)]
    if elapsed:
        runtimes = [durations(*jobs.column(name)) for name in elapsed]
        columns["runtime"] = pl.select(pl.coalesce(runtimes)).to_series()
    for name in ("timelimit", "timelimitraw"):  # the second, where there are both
        if jobs.has(name):
            columns["estimate"] = durations(*jobs.column(name), unit=60.0, words=NO_LIMIT)
    if jobs.has("totalcpu"):
        columns["cpu_time"] = durations(*jobs.column("totalcpu"))
    return frame.with_columns(**columns)


def _first_positive(
    jobs: SlurmTable, names: tuple[str, ...], tres: str, key: str = "cpu"
) -> pl.Series:
    """Return the first of several counts that is positive, row by row; last, a kind of TRES."""
    found = [whole_numbers(*jobs.column(name)) for name in names if jobs.has(name)]
    if jobs.has(tres):
        text = text_of(jobs.column(tres)[0])
        found.append(text.str.extract(rf"(?:^|,){key}=([0-9]{{1,18}})", 1).cast(pl.Int64))
    if not found:
        return pl.Series([None], dtype=pl.Int64).new_from_index(0, jobs.frame.height)
    positive = [counts.set(counts <= 0, None) for counts in found]
    return pl.select(pl.coalesce(positive)).to_series()


def _sizes(jobs: SlurmTable, frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Read widths, memory and demands. Where only nodes are counted, a processor is a node."""
    procs = _first_positive(jobs, ("alloccpus", "ncpus"), "alloctres")
    requested = _first_positive(jobs, ("reqcpus",), "reqtres")
    nodes = _first_positive(jobs, ("allocnodes", "nnodes", "reqnodes"), "alloctres", "node")
    cpus_known = any(
        jobs.has(name) for name in ("alloccpus", "ncpus", "alloctres", "reqcpus", "reqtres")
    )
    if not cpus_known:
        procs = nodes
    frame = frame.with_columns(procs.alias("procs"), requested.alias("requested_procs"))
    width = frame.select(pl.coalesce("procs", "requested_procs").cast(pl.Float64)).to_series()
    if "cpu_time" in frame.columns:
        frame = frame.with_columns(pl.col("cpu_time") / width)
    asked, used = requested_memory(jobs, width, nodes), used_memory(jobs)
    if asked is not None:
        frame = frame.with_columns(asked.alias("requested_memory"))
    if used is not None:
        frame = frame.with_columns((used / width).alias("memory"))
    return add_demands(jobs, frame, nodes if cpus_known else None, notes)


def _names(jobs: SlurmTable, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, dict[int, str]]]:
    labels = {}
    for name, accepted in _LABELLED.items():
        own = next((one for one in accepted if jobs.has(one)), None)
        if own is not None:
            ids, labels[name] = labelled(jobs.column(own)[0])
            frame = frame.with_columns(ids.alias(name))
    return frame, labels


def _state(jobs: SlurmTable, frame: pl.DataFrame) -> pl.DataFrame:
    if not jobs.has("state"):
        return frame
    status, unfinished = read_states(*jobs.column("state"))
    return frame.with_columns(status.alias("status"), unfinished.alias(UNFINISHED))


def _fold_steps(
    frame: pl.DataFrame, steps: SlurmTable, parts: pl.DataFrame, notes: Notes
) -> pl.DataFrame:
    """Give each job the memory of its largest step; note steps whose job isn't in the log."""
    keys = text_of(steps.column("jobid" if steps.has("jobid") else "jobidraw")[0])
    keys = keys.str.split(".").list.first().alias("key")
    known = keys.is_in(frame["key"].unique().to_list())
    why = "job steps (123.batch, 123.0) were folded into their jobs"
    notes.add("steps_folded", "noted", why, count=int(known.sum()))
    orphans = steps.frame.filter(~known)
    why = "job steps whose job is not in the log were left out"
    notes.add_rows("orphan_steps", "dropped", why, orphans)
    used = used_memory(steps)
    if used is None:
        return frame
    largest = pl.DataFrame({"key": keys, "step_memory": used}).group_by("key").max()
    joined = frame.join(largest, on="key", how="left", maintain_order="left")
    each = pl.col("step_memory") / pl.coalesce("procs", "requested_procs")
    return joined.with_columns(pl.max_horizontal("memory", each).alias("memory")).drop(
        "step_memory"
    )


def _number_arrays(frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Give array tasks numbers of their own: Slurm's (JobIDRaw), or fresh ones."""
    own = pl.coalesce("raw", pl.when(pl.col("task").is_null()).then("number"))
    frame = frame.with_columns(own.alias("job"))
    missing = frame["job"].is_null()
    if missing.any():
        first = int(frame.select(pl.max_horizontal("raw", "number").max()).item()) + 1
        named = frame["key"].filter(missing).unique(maintain_order=True)  # a task may stand twice
        numbers = pl.int_range(first, first + len(named), eager=True)
        fresh = frame["key"].replace_strict(named, numbers, default=None, return_dtype=pl.Int64)
        rows = frame.filter(missing).select(LINE, pl.col("key").alias("JobID"))
        why = f"array tasks (123_4) got job numbers from {first}; JobIDRaw would keep Slurm's own"
        notes.add_rows("array_tasks", "noted", why, rows)
        frame = frame.with_columns(frame["job"].zip_with(~missing, fresh).alias("job"))
    waiting = frame.filter(pl.col("task").str.starts_with("["))
    why = "array tasks that never started (123_[5-9]) stand as one job per line of the log"
    notes.add_rows("array_rests", "noted", why, waiting.select(LINE, "key"))
    return frame


def _fold_components(frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Fold the components of heterogeneous jobs (123+0, 123+1) into one job, widths added."""
    parts = frame.filter(pl.col("component").is_not_null())
    if parts.is_empty():
        return frame
    repeated = ~parts.select(pl.struct(pl.exclude(LINE)).is_first_distinct()).to_series()
    notes.add_rows("repeated_rows", "dropped", REPEATED, parts.filter(repeated).select(LINE, "key"))
    parts = parts.filter(~repeated)
    added = [name for name in frame.columns if name in _ADDED or is_demand(name)]
    largest = [name for name in ("end", "runtime", "memory") if name in frame.columns]
    keys = ("number", "submit")
    rest = [name for name in frame.columns if name not in (*added, *largest, *keys)]
    folded = parts.group_by(keys, maintain_order=True).agg(
        *(pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in added),
        pl.col(*largest).max(),
        pl.col(*rest).first(),
    )
    folded = folded.with_columns(pl.col("number").alias("job")).select(frame.columns)
    why = f"components of heterogeneous jobs (123+0) were folded into {folded.height} jobs"
    notes.add("components_folded", "noted", why, count=parts.height)
    whole = frame.filter(pl.col("component").is_null())
    return pl.concat([whole, folded]).sort(LINE, maintain_order=True)


def _finished(frame: pl.DataFrame) -> pl.DataFrame:
    """Mark jobs that hadn't finished: their run time isn't known yet, or is too short."""
    if "start" in frame.columns and "runtime" in frame.columns:
        # A job that never started has no run time; sacct says 0.
        started = pl.col("start").is_not_null() | (pl.col("runtime") > 0)
        frame = frame.with_columns(pl.when(started).then("runtime").alias("runtime"))
    if UNFINISHED not in frame.columns and "end" in frame.columns:
        had_end = pl.col("end").is_not_null()
        if "runtime" in frame.columns:
            had_end = had_end | pl.col("runtime").is_not_null()
        frame = frame.with_columns(
            pl.when(~had_end).then(pl.lit("without an end")).alias(UNFINISHED)
        )
    return frame

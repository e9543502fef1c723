"""From columns on a wall clock to a job table: submit, start, end → submit, wait, run time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.workload.meta import Meta
from onega.core.workload.schema import JOB_TABLE, is_demand
from onega.core.workload.workload import Workload
from onega.traces.notes import Notes

UNIX_FROM: Final = 1e8
"""Submit times from here on (1973) are Unix times; smaller ones count from an unknown start."""

_NEVER_NEGATIVE: Final = (
    *("wait", "runtime", "estimate", "memory", "cpu_time", "requested_memory", "think"),
    *("procs", "requested_procs", "user", "group", "app", "queue", "partition", "after"),
)


WIDTH_FROM_REQUEST: Final = (
    "the number of processors allocated is missing; the number requested is taken"
)

UNFINISHED: Final = "_unfinished"
"""The column of a draft with the states of jobs that hadn't finished."""

Rows = Literal["finished", "unfinished"]
"""Which jobs of a log are read."""


@dataclass(slots=True)
class Draft:
    """A table on its way: the columns of `JOB_TABLE`, ``start`` and ``end``, and the lines.

    Absent columns are missing. ``submit``, ``start`` and ``end`` are on one ``clock``: ``"unix"``
    (seconds since 1970), ``"own"`` (kept as it is), or ``"guess"`` (Unix time if all submissions
    are from 1973 on, else its own).

    A column `UNFINISHED` holds the state of jobs that hadn't finished when the log was taken
    (RUNNING, PENDING; null: it had finished). They are kept apart: ``rows`` says which of the two
    tables is made. Both count time from the same epoch, and number names alike.
    """

    path: StrPath
    format: str
    frame: pl.DataFrame
    notes: Notes
    labels: dict[str, dict[int, str]] = field(default_factory=dict)
    timezone: str | None = None
    machine: Mapping[str, int] = field(default_factory=dict)
    clock: str = "guess"
    rows: Rows = "finished"


def assemble(draft: Draft) -> Workload:
    """Finish a table: differences, missing values, time axis, ids; everything noted."""
    frame = _differences(draft.frame)
    undated = pl.col("submit").is_null()
    why = "rows without a submit time were left out"
    draft.notes.add_rows("no_submit", "dropped", why, frame.filter(undated))
    frame = number_missing_ids(frame.filter(~undated), draft.notes)
    frame, other, unfinished = _split_unfinished(frame, draft)
    if frame.is_empty():
        raise TraceError(f"no job is left; {_reasons(draft.notes)}", path=draft.path)
    frame = _no_negatives(frame, draft.notes)
    frame = _width_from_request(frame, draft.notes)
    # Both tables count from the first submission of a job that has finished.
    first = other if draft.rows == "unfinished" and not other.is_empty() else frame
    epoch = _epoch(first, draft.clock)
    if epoch is not None:
        frame = frame.with_columns(pl.col("submit") - epoch)
    table = frame.select([name for name in frame.columns if name in JOB_TABLE or is_demand(name)])
    name = Path(draft.path).name
    meta = Meta(
        source=name,
        format=draft.format,
        epoch=epoch,
        timezone=draft.timezone,
        procs=draft.machine.get("procs"),
        nodes=draft.machine.get("nodes"),
        labels={column: names for column, names in draft.labels.items() if names},
        provenance=(f"read from {name} ({draft.format})",),
        unfinished=unfinished,
        report=draft.notes.report(),
    )
    return Workload(table, meta)


def _split_unfinished(
    frame: pl.DataFrame, draft: Draft
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """Return the rows that are asked for, the others, and how many hadn't finished, by state."""
    if UNFINISHED not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(UNFINISHED))
    is_open = pl.col(UNFINISHED).is_not_null()
    rest, done = frame.filter(is_open), frame.filter(~is_open)
    counted = rest[UNFINISHED].value_counts().sort(["count", UNFINISHED], descending=[True, False])
    states = {str(state): int(count) for state, count in counted.iter_rows()}
    if draft.rows == "unfinished":
        if rest.is_empty():
            raise TraceError("all jobs of this log have finished", path=draft.path)
        return rest.drop(UNFINISHED), done.drop(UNFINISHED), states
    said = ", ".join(f"{count:,} {state}" for state, count in states.items())
    why = f"jobs that had not finished when the log was taken ({said})"
    draft.notes.add_rows("unfinished", "kept apart", why, rest.drop(UNFINISHED))
    return done.drop(UNFINISHED), rest.drop(UNFINISHED), states


def _reasons(notes: Notes) -> str:
    return "; ".join(f"{f.count} {f.action}: {f.why}" for f in notes.report()) or "it is empty"


def _differences(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill what isn't given: ``runtime`` = end − start, ``wait`` = start − submit."""
    have = set(frame.columns)
    for name, later, earlier in (("runtime", "end", "start"), ("wait", "start", "submit")):
        if later in have and earlier in have:
            difference = pl.col(later) - pl.col(earlier)
            given = pl.col(name) if name in have else pl.lit(None, dtype=pl.Float64)
            frame = frame.with_columns(pl.coalesce(given, difference).alias(name))
    return frame


def _no_negatives(frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Turn values that can't be negative into missing ones, and note it."""
    for name in _NEVER_NEGATIVE:
        if name not in frame.columns:
            continue
        wrong = frame.filter(pl.col(name) < 0)
        if wrong.is_empty():
            continue
        why = f"negative values of {name} were read as missing"
        notes.add_rows(f"negative_{name}", "changed", why, wrong)
        kept = pl.when(pl.col(name) >= 0).then(pl.col(name))
        frame = frame.with_columns(kept.alias(name))
    return frame


def _width_from_request(frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    if "procs" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.Int64).alias("procs"))
    if "requested_procs" not in frame.columns:
        return frame
    unsaid = frame.filter(pl.col("procs").is_null() & pl.col("requested_procs").is_not_null())
    notes.add_rows("width_from_request", "noted", WIDTH_FROM_REQUEST, unsaid)
    return frame.with_columns(pl.coalesce("procs", "requested_procs").alias("procs"))


def _epoch(frame: pl.DataFrame, clock: str) -> float | None:
    """Return the second of the first submission, if submit times are Unix times."""
    earliest = frame["submit"].min()
    own = clock == "own" or (
        clock == "guess" and isinstance(earliest, float) and earliest < UNIX_FROM
    )
    if own or not isinstance(earliest, float):
        return None
    return float(math.floor(earliest))


def number_missing_ids(frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Give rows without a job number the numbers after the largest, and note it."""
    if "job" not in frame.columns or not frame["job"].null_count():
        return frame
    missing = frame["job"].is_null()
    largest = frame["job"].max()
    first = 1 if largest is None else int(largest) + 1  # type: ignore[arg-type]
    why = f"rows without a job number got numbers from {first}"
    notes.add_rows("no_id", "changed", why, frame.filter(missing))
    fresh = missing.cast(pl.Int64).cum_sum() + (first - 1)
    return frame.with_columns(frame["job"].zip_with(~missing, fresh).alias("job"))

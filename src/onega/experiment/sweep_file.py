"""The file of one run: a row of Parquet, made where the run was made.

Encoding takes about a tenth of a run of a middling log, so it is the worker's: whoever hands out
runs and stores them only copies bytes, and keeps up with any number of workers.
"""

from __future__ import annotations

import io
import time
from typing import Any, Final, NamedTuple

import polars as pl

from onega.experiment.sweep_design import Run, canonical
from onega.experiment.sweep_run import Outcome, Sources, perform

WORDS: Final = ("policy", "knowledge")
"""Measures that are texts; the others are numbers."""

WHOLE: Final = ("jobs", "procs", "rate_changes", "limited_jobs")
"""Measures that are whole numbers."""

ABOUT: Final[dict[str, type[pl.DataType] | pl.DataType]] = {
    "key": pl.String,
    "parameters": pl.String,
    "error": pl.String,
    "seconds": pl.Float64,
    "worker": pl.String,
    "ended": pl.Float64,
}
"""Columns of every file; the measures stand beside them unless there is an error."""


class RunFile(NamedTuple):
    """What is to be stored of a run, and whether it can't be made."""

    content: bytes
    failed: bool


def make_file(run: Run, sources: Sources) -> RunFile:
    """Make one run and its file."""
    outcome = perform(run, sources)
    return RunFile(encode(run, outcome), outcome.error is not None)


def encode(run: Run, outcome: Outcome) -> bytes:
    """Write what came of a run as a Parquet file of one row."""
    row: dict[str, Any] = {
        "key": run.key,
        "parameters": canonical(dict(run.parameters)),
        "error": outcome.error,
        "seconds": outcome.seconds,
        "worker": outcome.worker,
        "ended": time.time(),
    }
    types = dict(ABOUT)
    for name, value in outcome.measures.items():
        text = name in WORDS or isinstance(value, str)
        types[name] = pl.String if text else pl.Float64
        row[name] = value if text or value is None else float(value)
    # As one row, because thirty columns made one by one cost as much as writing them.
    frame = pl.DataFrame([tuple(row.values())], schema=types, orient="row")
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="uncompressed", statistics=False)
    return buffer.getvalue()

"""The file of one run: a row of Parquet, made where the run was made.

A thread stores it too; from processes and other machines it comes back as bytes, so that whoever
hands out runs keeps up with any number of workers.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple

import polars as pl

from onega.experiment.parquet_row import Column, parquet_row
from onega.experiment.sweep_design import Run, canonical
from onega.experiment.sweep_run import Outcome, Sources, perform
from onega.experiment.sweep_store import Store

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
    """What is to be stored of a run, whether it can't be made, whether it is stored already."""

    content: bytes
    failed: bool
    stored: bool = False


def make_file(run: Run, sources: Sources) -> RunFile:
    """Make one run and its file."""
    outcome = perform(run, sources)
    return RunFile(encode(run, outcome), outcome.error is not None)


def make_and_store(run: Run, shared: tuple[Sources, Store]) -> RunFile:
    """Make one run and store its file, if the disk takes it."""
    sources, store = shared
    file = make_file(run, sources)
    try:
        store.write(run, file.content)
    except OSError:
        return file  # whoever handed it out tries again, and tells
    return file._replace(stored=True)


def encode(run: Run, outcome: Outcome) -> bytes:
    """Write what came of a run as a Parquet file of one row."""
    about: dict[str, str | float | None] = {
        "key": run.key,
        "parameters": canonical(dict(run.parameters)),
        "error": outcome.error,
        "seconds": outcome.seconds,
        "worker": outcome.worker,
        "ended": time.time(),
    }
    row = {name: Column(value, ABOUT[name] == pl.String) for name, value in about.items()}
    for name, value in outcome.measures.items():
        text = name in WORDS or isinstance(value, str)
        row[name] = Column(value if text or value is None else float(value), text)
    return parquet_row(row)

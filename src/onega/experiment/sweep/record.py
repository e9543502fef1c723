"""What is stored of one run, made where the run was made: a line of JSON.

A thread stores it too; from processes and other machines it comes back as text, so that one
process alone writes into the sweep's folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import polars as pl

from onega.core.errors import FileError
from onega.experiment.sweep.design import Run
from onega.experiment.sweep.run import Outcome, Sources, perform
from onega.experiment.sweep.store import Store

WORDS: Final = ("policy", "knowledge")
"""Measures that are texts; the others are numbers."""

WHOLE: Final = ("jobs", "procs", "rate_changes", "limited_jobs")
"""Measures that are whole numbers."""

ABOUT: Final[dict[str, type[pl.DataType] | pl.DataType]] = {
    "key": pl.String,
    "error": pl.String,
    "seconds": pl.Float64,
    "worker": pl.String,
    "ended": pl.Float64,
}
"""What is known of every run; the measures stand beside it unless there is an error."""

_BATCH: Final = 10_000
"""Runs that are held as Python's objects at a time."""


class Record(NamedTuple):
    """What is to be stored of a run, whether it can't be made, whether it is stored already."""

    content: str
    failed: bool
    stored: bool = False


def make_record(run: Run, sources: Sources) -> Record:
    """Make one run and what is stored of it."""
    outcome = perform(run, sources)
    return Record(encode(run, outcome), outcome.error is not None)


def make_and_store(run: Run, shared: tuple[Sources, Store]) -> Record:
    """Make one run and store it, if the disk takes it."""
    sources, store = shared
    record = make_record(run, sources)
    try:
        store.write(run, record.content)
    except FileError:
        return record  # the sweep that handed it out tries again, and says so
    return record._replace(stored=True)


def encode(run: Run, outcome: Outcome) -> str:
    """Write what came of a run; numbers come back bit for bit."""
    content = {
        "parameters": dict(run.parameters),
        "error": outcome.error,
        "seconds": outcome.seconds,
        "worker": outcome.worker,
        "ended": time.time(),
        "measures": {
            name: value if value is None or _is_text(name, value) else float(value)
            for name, value in outcome.measures.items()
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _is_text(name: str, value: object) -> bool:
    return name in WORDS or isinstance(value, str)


def to_table(contents: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """Make a table of stored runs (key and content): what is known of each, then the measures.

    The order of the measures doesn't depend on the order of the runs: the longest list of them
    comes first, and what others have beside it behind.
    """
    lists: set[tuple[str, ...]] = {()}
    parts = [_part(batch, lists) for batch in _batches(contents)]
    names = dict.fromkeys(
        name for one in sorted(lists, key=lambda one: (-len(one), one)) for name in one
    )
    empty = pl.DataFrame(schema=ABOUT)
    return pl.concat([empty, *parts], how="diagonal_relaxed").select(*ABOUT, *names)


def _batches(contents: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    source = iter(contents)
    while batch := list(islice(source, _BATCH)):
        yield batch


def _part(batch: list[tuple[str, str]], lists: set[tuple[str, ...]]) -> pl.DataFrame:
    """Make the table of some runs; note the lists of measures that occur."""
    rows = [(key, json.loads(content)) for key, content in batch]
    measured = [row["measures"] for _, row in rows]
    lists |= {tuple(one) for one in measured}
    columns: dict[str, Any] = {"key": [key for key, _ in rows]}
    for name in ABOUT:
        if name != "key":
            columns[name] = [row[name] for _, row in rows]
    schema = dict(ABOUT)
    for name in dict.fromkeys(name for one in measured for name in one):
        values = columns[name] = [one.get(name) for one in measured]
        text = any(_is_text(name, value) for value in values)
        schema[name] = pl.String if text else pl.Float64
    return pl.DataFrame(columns, schema=schema)

"""Parquet: the job table with all that is known of it beside."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO, Final, cast

from onega.core.workload.report import Report
from onega.core.workload.workload import Workload

META_KEY: Final = "onega.meta"
"""The key of our entry among the file's own metadata."""


def write_parquet(workload: Workload, out: IO[bytes]) -> Report:
    """Write the table, with `Meta` (but for the reader's report) as JSON in the metadata."""
    facts = asdict(workload.meta)
    del facts["report"]
    workload.table.write_parquet(out, metadata={META_KEY: json.dumps(facts)})
    return Report()


@contextlib.contextmanager
def hushed_panics() -> Iterator[None]:
    """Silence what Polars' decoder prints when it panics: the error that follows says it.

    It is written to the process's standard error itself, past Python. Several threads may be in
    here: the first turns it away, the last puts it back.
    """
    global _inside, _kept
    with _lock:
        _inside += 1
        if _inside == 1:
            _kept = _turned_away()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _kept is not None:
                os.dup2(_kept, 2)
                os.close(_kept)


_lock, _inside, _kept = threading.Lock(), 0, cast(int | None, None)


def _turned_away() -> int | None:
    """Send the standard error nowhere; return a copy of the old one, None if there is none."""
    try:
        kept = os.dup(2)
    except OSError:
        return None
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return kept

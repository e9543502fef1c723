"""Finished runs as earlier versions stored them: a Parquet file of one row each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from onega.experiment.sweep.database import Row

ABOUT: Final = ("key", "parameters", "error", "seconds", "worker", "ended")
"""Columns of every file; the measures stand beside them unless there is an error."""


def old_files(folder: Path) -> Iterator[Path]:
    """Yield the files ``runs/a/abcd….parquet`` of a sweep's folder."""
    return folder.glob("runs/*/*.parquet")


def read_old(path: Path) -> Row:
    """Read one file, named by its run's key; without content if it is damaged."""
    try:
        row = pl.read_parquet(path.read_bytes()).to_dicts()[0]
        about = {name: row.pop(name) for name in ABOUT}
        about["parameters"] = json.loads(about["parameters"])
        content = json.dumps({**about, "measures": row}, ensure_ascii=False)
    except BaseException as error:
        # A damaged file makes Polars panic, which is no Exception of Python's.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return Row(path.stem)
    return Row(path.stem, content if about["key"] == path.stem else None)


def remove_old(folder: Path) -> None:
    """Remove the files, and the folders that they leave empty."""
    for path in [*old_files(folder), *folder.glob("runs/*/.*.part")]:
        path.unlink(missing_ok=True)
    for place in [*folder.glob("runs/?"), folder / "runs"]:
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()

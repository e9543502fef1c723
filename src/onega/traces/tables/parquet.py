"""Parquet: the job table with all that is known of it beside."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import IO, Any, Final

from onega.core.workload.meta import Meta
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


def meta_from_json(text: str) -> Meta:
    """Rebuild what `write_parquet` stored."""
    facts: dict[str, Any] = json.loads(text)
    facts["labels"] = {
        column: {int(number): name for number, name in names.items()}
        for column, names in facts["labels"].items()
    }
    for name in ("header", "provenance"):
        facts[name] = tuple(facts[name])
    return Meta(**facts)

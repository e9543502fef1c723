"""Gathering what a reader changed or left out, block by block, into one report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import polars as pl

from onega.core.workload.report import EXAMPLES, Finding, Report
from onega.core.workload.report import examples as first_rows

LINE: Final = "_line"
"""The column of a table on its way that holds each row's line in the file."""

MOST_NAMED: Final = 40
"""How many unused columns are named."""


class Notes:
    """A growing list of remarks, one per rule; turned into a `Report` at the end.

    If the first example tells its line, the sentence does too.
    """

    def __init__(self) -> None:
        self._notes: dict[str, tuple[str, str, int, list[dict[str, Any]]]] = {}

    def add(
        self,
        rule: str,
        action: str,
        why: str,
        *,
        count: int,
        examples: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Add ``count`` rows to a rule; the first few examples are kept."""
        if count <= 0:
            return
        action, why, before, kept = self._notes.get(rule, (action, why, 0, []))
        for example in examples:
            if len(kept) >= EXAMPLES:
                break
            kept.append(example)
        self._notes[rule] = (action, why, before + count, kept)

    def add_rows(self, rule: str, action: str, why: str, rows: pl.DataFrame) -> None:
        """Add all rows of a table to a rule; the first few are its examples, their line first."""
        named = rows.rename({LINE: "line"}) if LINE in rows.columns else rows
        self.add(rule, action, why, count=rows.height, examples=first_rows(named))

    def add_no_timezone(self, count: int) -> None:
        """Say that so many rows have dates in no known time zone."""
        why = "dates have no time zone and were read as UTC; say timezone= or --timezone"
        self.add("no_timezone", "noted", why, count=count)

    def text(self, block: bytes) -> str:
        """Decode lines; one that isn't UTF-8 is read as Latin-1, and noted."""
        try:
            return block.decode()
        except UnicodeDecodeError:
            lines = [_decoded(line) for line in block.split(b"\n")]
        why = "lines that aren't UTF-8 were read as Latin-1"
        self.add("latin_1", "noted", why, count=sum(latin for _, latin in lines))
        return "\n".join(line for line, _ in lines)

    def add_unused(self, columns: Sequence[str]) -> None:
        """Name the columns that a reader has no use for, once."""
        rest = len(columns) - MOST_NAMED
        more = f" and {rest} more" if rest > 0 else ""
        why = f"columns without use here: {', '.join(columns[:MOST_NAMED])}{more}"
        self.add("unused_columns", "noted", why, count=len(columns))

    def report(self) -> Report:
        """Return everything that was noted."""
        findings = []
        for rule, (action, why, count, examples) in self._notes.items():
            if examples and "line" in examples[0]:
                why = f"{why}; first in line {examples[0]['line']}"
            findings.append(Finding(rule, action, count, why, tuple(examples)))
        return Report.of(findings)


def _decoded(line: bytes) -> tuple[str, bool]:
    """Decode a line; also tell whether it was taken for Latin-1."""
    try:
        return line.decode(), False
    except UnicodeDecodeError:
        return line.decode("latin-1"), True

"""What was changed or left out, and why, with examples: nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule's effect on a table.

    Attributes
    ----------
    rule
        The rule's name, as it is turned off: ``"missing_width"``.
    action
        ``"dropped"``, ``"kept apart"``, ``"changed"`` or ``"noted"``.
    count
        How many rows.
    why
        One sentence.
    examples
        The first few rows concerned, as they were before.
    """

    rule: str
    action: str
    count: int
    why: str
    examples: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, rule: str, action: str, why: str, rows: pl.DataFrame) -> Finding:
        """Take the rows concerned: their number, and the first few as examples."""
        return cls(rule, action, rows.height, why, examples(rows))

    def __str__(self) -> str:
        return f"{self.action} {self.count}: {self.why}"


@dataclass(frozen=True, slots=True)
class Report:
    """An ordered list of findings; rules that touched nothing are not in it.

    Iterating gives the findings; ``len`` counts them; ``bool`` tells whether there are any.
    """

    findings: tuple[Finding, ...] = field(default=())

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Report:
        """Keep the findings that touched at least one row."""
        return cls(tuple(f for f in findings if f.count))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __add__(self, other: Report) -> Report:
        return Report(self.findings + other.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) if self.findings else "nothing changed"

    @property
    def dropped(self) -> int:
        """Rows that were left out."""
        return sum(f.count for f in self.findings if f.action == "dropped")

    @property
    def changed(self) -> int:
        """Rows that were altered."""
        return sum(f.count for f in self.findings if f.action == "changed")

    def count(self, rule: str) -> int:
        """Rows that one rule touched."""
        return sum(f.count for f in self.findings if f.rule == rule)

    def summary(self) -> dict[str, int]:
        """Rows touched by rule."""
        return {f.rule: self.count(f.rule) for f in self.findings}

    def to_polars(self) -> pl.DataFrame:
        """One row per finding: rule, action, count, why."""
        return pl.DataFrame(
            [(f.rule, f.action, f.count, f.why) for f in self.findings],
            schema={"rule": pl.String, "action": pl.String, "count": pl.Int64, "why": pl.String},
            orient="row",
        )


def examples(rows: pl.DataFrame) -> tuple[dict[str, Any], ...]:
    """Take the first few rows of a table as examples, without their empty fields."""
    return tuple(
        {name: value for name, value in row.items() if value is not None}
        for row in rows.head(EXAMPLES).to_dicts()
    )

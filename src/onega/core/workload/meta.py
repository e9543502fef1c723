"""What is known of a log beside its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onega.core.workload.report import Report

UNKNOWN: Final = "unknown"
"""What stands in tables for a user, group or queue that the log doesn't tell."""


@dataclass(frozen=True, slots=True)
class Meta:
    """Where a workload comes from and what machine it ran on.

    Attributes
    ----------
    source
        The file's name or the model's; None for a table made by hand.
    format
        ``"swf"``, ``"sacct"``, …; None for a table made by hand.
    epoch
        Unix time, in seconds, of ``submit`` = 0.
    timezone
        The machine's zone as an IANA name (``"Europe/Stockholm"``), if known.
    utc_offset
        Seconds east of Greenwich in winter, where only that is known.
    procs, nodes
        The machine's size.
    header
        The log's own comment lines, as they stood, without the leading ``;``.
    labels
        Names behind numbers: ``{"queue": {0: "interactive"}}``.
    unfinished
        How many jobs of the log hadn't finished when it was taken, by their state
        (``{"RUNNING": 12}``): they are kept apart (``onega.read(…, rows="unfinished")``).
    provenance
        What was done since, a line each.
    report
        What the reader changed or left out.
    """

    source: str | None = None
    format: str | None = None
    epoch: float | None = None
    timezone: str | None = None
    utc_offset: float | None = None
    procs: int | None = None
    nodes: int | None = None
    header: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    unfinished: Mapping[str, int] = field(default_factory=dict)
    provenance: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)

    def name_of(self, column: str, number: int | None) -> str:
        """Return what the log calls a user, group, queue or partition: its name, or its number."""
        if number is None:
            return UNKNOWN
        return self.labels.get(column, {}).get(int(number)) or str(number)

    def noting(self, step: str, **changes: Any) -> Meta:  # noqa: ANN401
        """Return a copy with one more line of provenance, and with ``changes``."""
        return replace(self, provenance=(*self.provenance, step), **changes)

    def facts(self) -> tuple[object, ...]:
        """Return what has to be equal in equal workloads: times and machine, not the source."""
        return (self.epoch, self.timezone, self.utc_offset, self.procs, self.nodes)

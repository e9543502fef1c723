"""What is known of a log beside its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from onega.core.report import Report


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
    provenance: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)

    def noting(self, step: str, **changes: Any) -> Meta:  # noqa: ANN401
        """Return a copy with one more line of provenance, and with ``changes``."""
        return replace(self, provenance=(*self.provenance, step), **changes)

    def facts(self) -> tuple[object, ...]:
        """Return what two equal workloads share: not where they come from, but what they say."""
        return (self.epoch, self.timezone, self.utc_offset, self.procs, self.nodes)

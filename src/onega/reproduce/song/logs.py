"""The logs given, and which of Song's (2006) six logs each of them is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from onega.core.errors import TraceError
from onega.core.workload.workload import Workload
from onega.models.users.clusters import UserGrouping, group_users
from onega.reproduce.result import PrintedTable, Value
from onega.reproduce.song import printed
from onega.reproduce.song.notes import notes_for
from onega.traces.cleaning import clean
from onega.traces.description import Description, describe


@dataclass(frozen=True, eq=False)
class SongLog:
    """One log: ``name`` is the thesis's if it is one of its six, else the file's.

    Attributes
    ----------
    known
        Whether the thesis prints figures for it.
    raw
        As it was read.
    """

    name: str
    known: bool
    raw: Workload

    @cached_property
    def jobs(self) -> Workload:
        """Jobs with a positive width and run time."""
        return self.raw.select((pl.col("runtime") > 0) & (pl.col("procs") > 0))

    @cached_property
    def cleaned(self) -> Workload:
        """The log after `onega.clean`."""
        return clean(self.raw)[0]

    @cached_property
    def description(self) -> Description:
        """What the log says."""
        return describe(self.raw)

    @cached_property
    def _groupings(self) -> dict[int, UserGrouping]:
        return {}

    def grouping(self, groups: int) -> UserGrouping | None:
        """Return the users in groups; None if the log has too few of them."""
        if groups not in self._groupings:
            if self.description.users is None or self.description.users.users < groups:
                return None
            self._groupings[groups] = group_users(self.cleaned, groups)
        return self._groupings[groups]


def song_logs(workloads: Sequence[Workload]) -> tuple[SongLog, ...]:
    """Recognise the thesis's logs by the archive's file names; the order of the thesis's tables."""
    if not workloads:
        raise TraceError(
            "reproduce song needs at least one log, e.g. KTH-SP2-1996-2.1-cln.swf.gz "
            "(`onega archive get`); any log will do, the thesis prints figures for "
            + ", ".join(printed.LOGS)
        )
    found = [
        SongLog(name, name in printed.LOGS, workload)
        for workload in workloads
        for name in [song_name(workload.meta.source)]
    ]
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TraceError(f"the log {twice[0]} was given twice")
    for one in found:
        if len(one.jobs) < 2:
            raise TraceError(f"{one.name} has fewer than two jobs with a width and a run time")
    return tuple(found)


def song_name(source: str | None) -> str:
    """Return the thesis's name of a log (``KTH``), or the file's own without its endings."""
    file = (source or "the log").replace("\\", "/").rsplit("/", 1)[-1]
    for name, beginnings in printed.FILES.items():
        if file.lower().startswith(beginnings):
            return name
    return file.split(".", 1)[0]


def drawn_for(logs: Iterable[SongLog], names: Iterable[str]) -> tuple[SongLog, ...]:
    """Return the logs that a figure is drawn for: the thesis's own, and logs it doesn't know."""
    wanted = set(names)
    return tuple(one for one in logs if one.name in wanted or not one.known)


def printed_table(
    label: str,
    title: str,
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, tuple[Value, ...]]],
    logs: Iterable[SongLog],
) -> PrintedTable:
    """Make a table with what is known about its differences for these logs."""
    notes = notes_for(label, tuple(log.name for log in logs))
    return PrintedTable(label, title, columns, tuple(rows), notes)

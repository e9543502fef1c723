"""Chapters 2, 3 and 7 of Song (2006): what the logs say by themselves."""

from __future__ import annotations

from functools import partial
from typing import Any

from onega.core.errors import TraceError
from onega.core.workload.chains import Chain
from onega.reproduce.result import Chapter, PrintedFigure, PrintedTable, Value
from onega.reproduce.song import printed
from onega.reproduce.song.logs import SongLog, drawn_for, printed_table

ALL = printed.LOGS

FIGURES = (
    ("Figure 2.5", "run times", "runtimes", ("KTH",)),
    ("Figure 2.6", "widths", "widths", ("KTH",)),
    ("Figure 3.1", "repeated widths", "runs", ALL),
    ("Figure 3.2", "the next width", "width_successors", ALL),
    ("Figure 3.3", "the next run time", "runtime_successors", ALL),
)
CYCLES = (
    ("Figure 7.1", "the day", "daily", ("KTH",)),
    ("Figure 7.2", "the week", "weekly", ("KTH",)),
)


def relations(logs: tuple[SongLog, ...]) -> Chapter:
    """Tables 2.1 and 3.1–3.4, Figures 2.5, 2.6 and 3.1–3.3."""
    tables = [sizes(logs), neighbours(logs), example(), dimensions(logs), correlations(logs)]
    return Chapter("The logs and their temporal relations", (*tables, *_figures(logs, FIGURES)))


def cycles(logs: tuple[SongLog, ...]) -> Chapter:
    """Figures 7.1 and 7.2."""
    return Chapter("Cycles", _figures(logs, CYCLES))


def sizes(logs: tuple[SongLog, ...]) -> PrintedTable:
    """Table 2.1: processors, jobs, users."""
    rows = []
    for log in logs:
        load = log.description.load
        ours = (load.procs, load.jobs, load.users)
        beside = printed.SIZES.get(log.name, (None,) * 3)
        rows.append((log.name, _values(ours, beside, 0)))
    columns = ("log", "processors", "jobs", "users")
    return printed_table("Table 2.1", "the logs", columns, rows, logs)


def neighbours(logs: tuple[SongLog, ...]) -> PrintedTable:
    """Table 3.1: neighbours of equal width."""
    rows = []
    for log in logs:
        temporal = log.description.temporal
        share = None if temporal is None else 100 * temporal.same_width
        rows.append((log.name, (Value(share, printed.EQUAL_NEIGHBOURS.get(log.name), 1),)))
    columns = ("log", "equal neighbours, %")
    return printed_table("Table 3.1", "neighbouring jobs of equal width", columns, rows, logs)


def example() -> PrintedTable:
    """Table 3.2: the states of a short series."""
    chain = Chain.of(printed.EXAMPLE["t"])
    ours = {
        "t": printed.EXAMPLE["t"],
        "s": tuple(int(chain.levels[state]) for state in chain.path),
        "l": tuple(int(level) for level in chain.levels),
        "u": tuple(int(state) + 1 for state in chain.path),
    }
    rows = tuple(
        (name, (Value(" ".join(map(str, ours[name])), " ".join(map(str, values))),))
        for name, values in printed.EXAMPLE.items()
    )
    return PrintedTable("Table 3.2", "the states of an example", ("series", "values"), rows)


def dimensions(logs: tuple[SongLog, ...]) -> PrintedTable:
    """Table 3.3: states of the two chains."""
    rows = []
    for log in logs:
        temporal = log.description.temporal
        ours = (None, None) if temporal is None else (
            temporal.runtime_states, temporal.width_states
        )  # fmt: skip
        beside = printed.DIMENSIONS.get(log.name, (None, None))
        rows.append((log.name, _values(ours, beside, 0)))
    columns = ("log", "run-time states", "width states")
    return printed_table("Table 3.3", "dimensions of the chains", columns, rows, logs)


def correlations(logs: tuple[SongLog, ...]) -> PrintedTable:
    """Table 3.4: cor₀ and cor₁."""
    rows = []
    for log in logs:
        temporal = log.description.temporal
        ours = (None, None) if temporal is None else (temporal.cor0, temporal.cor1)
        beside = printed.COR.get(log.name, (None, None))
        rows.append((log.name, _values(ours, beside, 2)))
    title = "correlation of the chains' paths and of their changes"
    return printed_table("Table 3.4", title, ("log", "cor₀", "cor₁"), rows, logs)


def _values(ours: Any, beside: Any, digits: int) -> tuple[Value, ...]:  # noqa: ANN401
    return tuple(Value(a, b, digits) for a, b in zip(ours, beside, strict=True))


def _figures(logs: tuple[SongLog, ...], wanted: Any) -> tuple[PrintedFigure, ...]:  # noqa: ANN401
    """Make the figures of the descriptions that can be drawn."""
    found = []
    for label, title, kind, names in wanted:
        for log in drawn_for(logs, names):
            try:
                log.description.plot(kind)
            except TraceError:
                continue
            draw = partial(log.description.plot, kind)
            found.append(PrintedFigure(f"{label}, {log.name}", title, draw))
    return tuple(found)

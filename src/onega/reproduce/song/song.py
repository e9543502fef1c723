"""``onega reproduce song``: Song's (2006) tables and figures on the logs given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from onega.core.errors import ExperimentError
from onega.core.workload.workload import Workload
from onega.reproduce.result import Absent, Chapter, PrintedTable, Reproduction, Value
from onega.reproduce.song import printed
from onega.reproduce.song.estimates import estimates_chapter
from onega.reproduce.song.logs import SongLog, song_logs
from onega.reproduce.song.models import models_chapter
from onega.reproduce.song.relations import cycles, relations
from onega.reproduce.song.users import feedback_chapter, users_chapter

SEVERAL = "several logs, or none"
"""Row of what isn't one log's: Tables 3.2 and 4.6, and logs together in Table 4.9."""

DRAWINGS = Absent(
    "Figures 2.1–2.4, 2.7, 3.4, 5.2, 5.3, 7.3, 7.4 and Table 6.1",
    "drawings of ideas, an algorithm in words and definitions: no data in them",
)


def reproduce_song(
    workloads: Sequence[Workload],
    *,
    replicates: int = 20,
    seed: int = 1,
    all_models: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Make Song's (2006) tables and figures from logs.

    Parameters
    ----------
    workloads
        Logs; those of the thesis are known by the archive's file names. For others our side is
        made and nothing stands beside it.
    replicates
        Samples behind each mean of random draws.
    all_models
        Compare all models, not only the thesis's.
    progress
        Called with the share that is done of the longest part.
    """
    if replicates < 1:
        raise ExperimentError(f"replicates must be at least 1, got {replicates}")
    logs = song_logs(workloads)
    reactions, refused = feedback_chapter(logs)
    chapters = (
        relations(logs),
        models_chapter(logs, replicates=replicates, seed=seed, every=all_models, progress=progress),
        estimates_chapter(logs, replicates=replicates, seed=seed),
        users_chapter(logs, replicates=replicates, seed=seed),
        reactions,
        cycles(logs),
    )
    sources = tuple(log.raw.meta.source or log.name for log in logs)
    every = " --all-models" if all_models else ""
    return Reproduction(
        "song",
        f"Reproduced: {printed.TITLE}",
        sources,
        (_by_log(logs, chapters), *(chapter for chapter in chapters if chapter.items)),
        (*refused, *_absent(logs, chapters), DRAWINGS),
        (
            f"Made by `onega reproduce song {' '.join(sources)} --replicates {replicates}{every} "
            f"--seed {seed}`, with `-o` and the file's name.",
            f"{replicates} samples as long as the log behind every mean ± standard deviation.",
            "Jobs with a positive width and run time; chapters 5 and 6 on the cleaned log.",
        ),
    )


def _by_log(logs: tuple[SongLog, ...], chapters: Sequence[Chapter]) -> Chapter:
    """Count the printed values of each log, and those that come out as printed."""
    names = [log.name for log in logs]
    counts = {name: [0, 0] for name in (*names, SEVERAL)}
    tables = [one for part in chapters for one in part.items if isinstance(one, PrintedTable)]
    for table in tables:
        for row, values in table.rows:
            words = {*table.label.split(", "), *re.split(r", | \(|:", row)}
            mine = [name for name in names if name in words]
            count = counts[mine[0] if len(mine) == 1 else SEVERAL]
            compared = [value.agrees for value in values if value.agrees is not None]
            count[0] += len(compared)
            count[1] += sum(compared)
    rows = tuple(
        (name, (Value(count, digits=0), Value(agree, digits=0)))
        for name, (count, agree) in counts.items()
        if count
    )
    columns = ("log", "printed values", "come out as printed")
    made = PrintedTable("By log", "printed values, and how many come out", columns, rows)
    return Chapter("Agreement", (made,))


def _absent(logs: tuple[SongLog, ...], chapters: Sequence[Chapter]) -> tuple[Absent, ...]:
    """Say what of the numbered tables and figures these logs don't give."""
    made = {
        item.label.split(",")[0] for chapter in chapters for item in chapter.items
    }  # fmt: skip
    given = {log.name for log in logs}
    found = []
    for labels, needs in NEEDS.items():
        missing = [label for label in labels if label not in made]
        if missing:
            found.append(Absent(", ".join(missing), needs))
    others = [name for name in printed.LOGS if name not in given]
    if others and any(log.known for log in logs):
        found.append(Absent(f"rows of {', '.join(others)}", "the log was not given"))
    return tuple(found)


NEEDS: dict[tuple[str, ...], str] = {
    ("Figure 2.5", "Figure 2.6", "Figure 3.5", "Figure 7.1", "Figure 7.2"): "drawn for KTH",
    ("Table 4.2", "Table 4.7", "Table 4.8", "Figure 4.1"): "needs a log with estimates",
    ("Table 4.3",): "needs KTH, SP2 and CTC together",
    ("Table 4.4", "Table 4.5"): "needs KTH or LANL, and SP2 or CTC",
    ("Table 4.9",): "needs two of KTH, SP2 and CTC",
    ("Figure 4.2", "Figure 4.3", "Figure 4.4", "Figure 4.5"): "drawn for KTH",
    ("Figure 4.6", "Figure 5.7"): "drawn for LANL",
    ("Table 5.1", "Table 5.2", "Table 5.3", "Table 5.4"): "needs a log with users",
    ("Figure 5.1", "Figure 5.4", "Figure 5.5", "Figure 5.6"): "drawn for KTH",
    ("Table 6.2", "Table 6.3"): "needs a log with users, waits and times of day",
    ("Figure 6.1", "Figure 6.2", "Figure 6.4"): "drawn for KTH",
    ("Figure 6.3",): "drawn for CTC",
}
"""Numbered tables and figures that need something, and what."""

"""Chapters 5 and 6 of Song (2006): groups of users, and how users react to the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from onega.core.errors import ExperimentError, ModelError, SimulationError
from onega.core.rng import child
from onega.core.schedule.schedule import Schedule
from onega.core.workload.chains import correlation
from onega.core.workload.distances import ks_distance
from onega.core.workload.workload import Workload
from onega.experiment.users.feedback import Feedback, feedback
from onega.experiment.users.feedback_state import cut_points, seen_at_submission
from onega.models.users.groups import UserGroups
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Value
from onega.reproduce.song import printed
from onega.reproduce.song.logs import SongLog, drawn_for, printed_table

if TYPE_CHECKING:
    from numpy.random import SeedSequence

    from onega.core.types import Floats, Ints

BOUNDS: Final = (1, 100, 300, 1000, 2000, np.inf)
"""Classes of Table 5.1; the thesis prints 500 for 300 (docs/describe.md)."""

SCATTERS: Final = ((2, "5.4", "KTH"), (4, "5.5", "KTH"), (6, "5.6", "KTH"), (4, "5.7", "LANL"))


def users_chapter(logs: tuple[SongLog, ...], *, replicates: int, seed: int) -> Chapter:
    """Tables 5.1–5.4 and Figures 5.1, 5.4–5.7."""
    having = tuple(log for log in logs if log.description.users is not None)
    if not having:
        return Chapter("Groups of users", ())
    items: list[PrintedTable | PrintedFigure] = [submissions(having)]
    items += [groups(log) for log in having]
    items += list(grouped_samples(having, replicates, seed))
    for log in drawn_for(having, ("KTH",)):
        plot = partial(log.description.plot, "users")
        items.append(PrintedFigure(f"Figure 5.1, {log.name}", "the most active users", plot))
    for number, figure, name in SCATTERS:
        for log in drawn_for(having, (name,)):
            grouping = log.grouping(number)
            if grouping is None or (figure == "5.7" and not log.known):
                continue
            plot = partial(grouping.plot, "scatter")
            label = f"Figure {figure}, {log.name}"
            items.append(PrintedFigure(label, f"{number} groups of users", plot))
    return Chapter("Groups of users", tuple(items))


def submissions(logs: Sequence[SongLog]) -> PrintedTable:
    """Table 5.1: users by number of submissions."""
    rows = []
    for log in logs:
        users = log.cleaned.table["user"].drop_nulls().to_numpy()
        counts = np.unique(users, return_counts=True)[1]
        shares = 100 * np.histogram(counts, BOUNDS)[0] / counts.size
        beside = printed.SUBMISSIONS.get(log.name, (None,) * 5)
        rows.append((log.name, tuple(Value(float(s), b) for s, b in zip(shares, beside))))
    columns = ("log", "1–99, %", "100–299, %", "300–999, %", "1000–1999, %", "2000 or more, %")
    return printed_table("Table 5.1", "users by submissions", columns, rows, logs)


def groups(log: SongLog) -> PrintedTable:
    """Table 5.2: area, jobs and users of each group, for 2, 4 and 6 groups."""
    rows = []
    for number in (2, 4, 6):
        grouping = log.grouping(number)
        if grouping is None:
            continue
        table = grouping.to_polars()
        shares = table.select("share_of_area", "share_of_jobs", "share_of_users").rows()
        beside = printed.GROUPS.get(log.name, {}).get(number, ((None,) * 3,) * number)
        for place, (ours, theirs) in enumerate(zip(shares, beside, strict=True), start=1):
            values = tuple(Value(100 * a, b, 1) for a, b in zip(ours, theirs, strict=True))
            rows.append((f"K = {number}, group {place}", values))
    columns = ("groups", "area, %", "jobs, %", "users, %")
    made = printed_table("Table 5.2", f"groups of users of {log.name}", columns, rows, (log,))
    return replace(made, label=f"Table 5.2, {log.name}")


def grouped_samples(
    logs: Sequence[SongLog], replicates: int, seed: int
) -> tuple[PrintedTable, ...]:
    """Tables 5.3 and 5.4: what a model of the groups makes of the log, over several draws."""
    distances, correlations = [], []
    for log in logs:
        try:
            model = UserGroups.fit(log.cleaned, generation="literal")
        except ModelError:
            continue
        real = [_column(log.jobs, name) for name in ("procs", "runtime")]
        beside = printed.GROUPS_KS.get(log.name, (None, None))
        beside_correlation = printed.GROUPS_CORRELATION.get(log.name, (None, None))
        for label, one in (
            (f"{log.name}, §5.3 literally", model),
            (f"{log.name}, with sessions", replace(model, generation="sessions")),
        ):
            runs = np.array([_grouped(one, real, child(seed, k)) for k in range(replicates)])
            mean = runs.mean(axis=0)
            spread = runs.std(axis=0, ddof=1) if replicates > 1 else (None,) * 3
            literal = one.generation == "literal"
            printed_values = (*beside, beside_correlation[1]) if literal else (None,) * 3
            values = [Value(float(m), p, 2, s if s is None else float(s))
                      for m, p, s in zip(mean, printed_values, spread, strict=True)]  # fmt: skip
            distances.append((label, tuple(values[:2])))
            of_log = Value(correlation(*real), beside_correlation[0] if literal else None)
            correlations.append((label, (of_log, values[2])))
    if not distances:
        return ()
    first = ("log", "KS width", "KS run time")
    second = ("log", "the log", "MUGM")
    title = "correlation of width and run time"
    far = f"distance of a drawn log from the log, mean ± standard deviation of {replicates} draws"
    return (
        printed_table("Table 5.3", far, first, distances, logs),
        printed_table("Table 5.4", title, second, correlations, logs),
    )


def _grouped(
    model: UserGroups, real: Sequence[Floats], rng: SeedSequence
) -> tuple[float, float, float]:
    """KS distances of widths and run times of one draw, and their correlation in it."""
    drawn = model.sample(real[0].size, rng=rng)
    columns = [_column(drawn, name) for name in ("procs", "runtime")]
    first, second = (ks_distance(a, b) for a, b in zip(real, columns, strict=True))
    return first, second, correlation(*columns)


def _column(workload: Workload, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.asarray(workload.column(name), dtype=np.float64)
    return values[np.isfinite(values)]


def feedback_chapter(logs: tuple[SongLog, ...]) -> tuple[Chapter, tuple[Absent, ...]]:
    """Tables 6.2 and 6.3, Figures 6.1–6.4; and the logs that can't tell of reactions."""
    levels, evidence, absent = [], [], []
    figures: list[PrintedFigure] = []
    for log in logs:
        try:
            found = feedback(log.cleaned, permutations=0)
            waiting = seen_at_submission(Schedule.observed(log.cleaned)).waiting
        except (ExperimentError, SimulationError) as refusal:
            absent.append(Absent(f"Tables 6.2, 6.3 for {log.name}", str(refusal)))
            continue
        cuts = (0, *(int(cut) for cut in cut_points(waiting, 5)))
        words = " ".join(map(str, cuts))
        beside = printed.LEVELS.get(log.name)
        levels.append((log.name, (Value(words, beside and " ".join(map(str, beside))),)))
        ours = found.to_polars()
        theirs = printed.FEEDBACK.get(log.name, (None,) * 8)
        seen = (Value(int(a), b, 0) for a, b in zip(ours["evidence"], theirs))
        shares = (Value(100 * share, digits=1) for share in ours["share"])
        evidence += [(log.name, tuple(seen)), (f"{log.name}: share, %", tuple(shares))]
        if log.name in ("KTH", "CTC") or not log.known:
            figures += _feedback_figures(log, found, waiting)
    if not levels:
        return Chapter("Reactions of users", ()), tuple(absent)
    names = ("WR+", "WR−", "OR+", "OR−", "WP+", "WP−", "OP+", "OP−")
    tables = (
        printed_table("Table 6.2", "where the five levels of waiting jobs begin",
                   ("log", "jobs waiting"), levels, logs),
        printed_table("Table 6.3", "reactions that are evidence (more than 20 % of submissions)",
                   ("log", *names), evidence, logs),
    )  # fmt: skip
    return Chapter("Reactions of users", (*tables, *figures)), tuple(absent)


def _feedback_figures(log: SongLog, found: Feedback, waiting: Ints) -> list[PrintedFigure]:
    """Figures 6.1, 6.2 (6.3 for CTC) and 6.4."""
    from onega.figures import papers as draw

    curves = f"Figure 6.{3 if log.name == 'CTC' else 2}, {log.name}"
    afternoon = partial(found.plot, "curves", hours=(13, 16))
    return [
        PrintedFigure(f"Figure 6.1, {log.name}", "waiting jobs", partial(draw.waiting, waiting)),
        PrintedFigure(curves, "reactions to the queue", partial(found.plot, "curves")),
        PrintedFigure(f"Figure 6.4, {log.name}", "the same between 13 and 16 o'clock", afternoon),
    ]

"""`onega.clean`: take out what can't be simulated or modelled, and say what was taken out.

The rules, in the order in which they are applied (a row is counted by the first that meets it):

1. ``duplicate_ids``: a row that repeats an earlier one (`onega.traces.repeats`) is dropped; another
   row with an id already used gets a new one.
2. ``cancelled_before_start``: cancelled, and it never ran: dropped.
3. ``missing_width``: width unknown or not positive: dropped.
4. ``missing_runtime``: run time unknown or not positive: dropped.
5. ``too_wide``: wider than the machine, if its size is known: dropped.
6. ``unsorted``: rows out of order (negative gaps): sorted by submission, then id.
7. ``flurries`` (only if asked for): one user's floods: dropped.
8. ``jitter`` (only if asked for): jobs stamped with the same instant: spread within it.

The first six leave a log that every other part of Onega accepts, and touch nothing else. The last
two change what the log says, so they have to be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import suggest
from onega.core.rng import Rng, describe_seed, seed_sequence
from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload
from onega.traces.repeats import REPEATED, repeated_rows

Step = tuple[pl.DataFrame, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Flurries:
    """What counts as a flood of one user's jobs: ``jobs`` or more within ``window`` seconds.

    The default, a thousand in a day, leaves the archive's cleaned logs of KTH, SDSC and LANL as
    they are (their busiest users reach 207, 610 and 725) and finds the floods that were taken out
    of the raw ones.
    """

    jobs: int = 1000
    window: float = 86400.0

    def __post_init__(self) -> None:
        if self.jobs < 2 or not self.window > 0:
            raise ValueError(
                f"a flurry is at least 2 jobs within a positive window, got {self.jobs} jobs "
                f"within {self.window} s"
            )


def clean(
    workload: Workload,
    *,
    skip: Collection[str] = (),
    flurries: bool | Flurries = False,
    jitter: bool = False,
    rng: Rng = None,
) -> tuple[Workload, Report]:
    """Take out rows that can't be simulated; return the rest and a report of what was done.

    Parameters
    ----------
    workload
        The log, as it was read.
    skip
        Names of rules to leave out: ``duplicate_ids``, ``cancelled_before_start``,
        ``missing_width``, ``missing_runtime``, ``too_wide``, ``unsorted``.
    flurries
        Drop floods of one user's jobs: True for the usual measure, or a `Flurries`.
    jitter
        Spread jobs with equal submit times at random within the second (or within the gap to
        the next job, if that is shorter), keeping their order. Needs ``rng``.
    rng
        Seed of the jitter.

    Returns
    -------
    Workload, Report
        The report has a finding for every rule that touched a row, with examples.
    """
    unknown = [name for name in skip if name not in RULES]
    if unknown:
        raise ValueError(f"no cleaning rule {unknown[0]!r}; {suggest(unknown[0], RULES)}")
    if jitter and rng is None:
        raise ValueError("jitter draws at random and needs rng=: a seed or a generator")
    table = workload.table
    findings: list[Finding] = []
    for name, rule in RULES.items():
        if name not in skip:
            table, found = rule(table, workload)
            findings += found
    notes = []
    if flurries:
        measure = flurries if isinstance(flurries, Flurries) else Flurries()
        table, found = _drop_flurries(table, measure, workload)
        findings += found
    if jitter:
        seed = seed_sequence(rng)
        table, found = _spread(table, np.random.default_rng(seed))
        findings += found
        notes.append(f" (jitter by {describe_seed(seed)})")
    report = Report.of(findings)
    did = ", ".join(f"{finding.rule} {finding.action} {finding.count}" for finding in report)
    note = f"clean: {did or 'nothing to do'}{''.join(notes)}"
    return Workload(table, workload.meta.noting(note)), report


def simulable(workload: Workload) -> tuple[Workload, Report]:
    """Leave out the jobs that no simulator can run: those without a width or a run time."""
    needed = ("missing_width", "missing_runtime")
    kept, report = clean(workload, skip=[rule for rule in RULES if rule not in needed])
    return (kept, report) if report.dropped else (workload, report)


def _dropping(
    name: str, why: str, wrong: Callable[[Workload], pl.Expr | None]
) -> Callable[..., Step]:
    """Make a rule that drops the rows for which an expression is true; None: no row can be."""

    def rule(table: pl.DataFrame, workload: Workload) -> Step:
        condition = wrong(workload)
        if condition is None:
            return table, ()
        bad = condition.fill_null(value=False)
        gone = table.filter(bad)
        finding = Finding.of(name, "dropped", why, gone)
        return (table.filter(~bad) if gone.height else table), (finding,)

    return rule


def _missing(column: str) -> pl.Expr:
    return pl.col(column).is_null() | (pl.col(column) <= 0)


def _wider_than_machine(workload: Workload) -> pl.Expr | None:
    return None if workload.meta.procs is None else pl.col("procs") > workload.meta.procs


def _renumber(table: pl.DataFrame, workload: Workload) -> Step:
    """Drop rows that repeat an earlier one; give the others with a used id a new one."""
    repeated = ~table["job"].is_first_distinct()
    if not repeated.any():
        return table, ()
    copies = repeated_rows(table)
    kept = table.filter(~copies)
    again = repeated.filter(~copies)
    largest = int(table["job"].max())  # type: ignore[arg-type]
    fresh = again.cast(pl.Int64).cum_sum() + largest
    renumbered = kept.with_columns(kept["job"].zip_with(~again, fresh))
    why_changed = f"jobs whose id an earlier job has got ids from {largest + 1}"
    return renumbered, (
        Finding.of("duplicate_ids", "dropped", REPEATED, table.filter(copies)),
        Finding.of("duplicate_ids", "changed", why_changed, kept.filter(again)),
    )


def _sort(table: pl.DataFrame, workload: Workload) -> Step:
    late = (table["submit"].diff() < 0).fill_null(value=False)
    found = table.filter(late)
    why = "jobs submitted before the job in the row above (negative gaps): rows were sorted"
    finding = Finding.of("unsorted", "changed", why, found)
    return (table.sort("submit", "job", maintain_order=True) if found.height else table), (finding,)


RULES: Final[dict[str, Callable[[pl.DataFrame, Workload], Step]]] = {
    "duplicate_ids": _renumber,
    "cancelled_before_start": _dropping(
        "cancelled_before_start",
        "jobs cancelled before they started",
        lambda _: (pl.col("status") == "cancelled") & _missing("runtime"),
    ),
    "missing_width": _dropping(
        "missing_width", "jobs whose width is missing or not positive", lambda _: _missing("procs")
    ),
    "missing_runtime": _dropping(
        "missing_runtime",
        "jobs whose run time is missing or not positive",
        lambda _: _missing("runtime"),
    ),
    "too_wide": _dropping("too_wide", "jobs wider than the machine", _wider_than_machine),
    "unsorted": _sort,
}
"""The rules that are on by default, in the order in which they are applied."""


def _drop_flurries(table: pl.DataFrame, measure: Flurries, workload: Workload) -> Step:
    """Drop every job that lies in some window with too many jobs of its user."""
    ordered = table.with_row_index("_row").filter(pl.col("user").is_not_null()).sort("submit")
    flooded = np.zeros(table.height, dtype=bool)
    users = []
    for (user,), jobs in ordered.group_by(["user"], maintain_order=True):
        inside = _crowded(jobs["submit"].to_numpy(), measure)
        if inside.any():
            flooded[jobs["_row"].to_numpy()[inside]] = True
            users.append(workload.meta.name_of("user", user))
    gone = table.filter(pl.Series(flooded))
    why = (
        f"floods of one user's jobs ({measure.jobs} or more within {measure.window:g} s), "
        f"users {', '.join(users[:10])}"
    )
    finding = Finding.of("flurries", "dropped", why, gone)
    return table.filter(~pl.Series(flooded)), (finding,)


def _crowded(times: npt.NDArray[np.float64], measure: Flurries) -> npt.NDArray[np.bool_]:
    """Tell which of one user's sorted submit times lie in a window with too many of them."""
    n = times.size
    first = np.arange(n)
    # The window that opens with job i covers jobs i to last[i] - 1.
    last = np.searchsorted(times, times + measure.window, side="left")
    opens = (last - first) >= measure.jobs
    cover = np.zeros(n + 1, dtype=np.int64)
    np.add.at(cover, first[opens], 1)
    np.add.at(cover, last[opens], -1)
    inside: npt.NDArray[np.bool_] = np.cumsum(cover[:-1]) > 0
    return inside


def _spread(table: pl.DataFrame, generator: np.random.Generator) -> Step:
    """Move jobs of one instant apart: sorted uniform offsets below one second, order kept."""
    submit = table["submit"].to_numpy()
    order = np.argsort(submit, kind="stable")
    times = submit[order]
    instants, first, count = np.unique(times, return_index=True, return_counts=True)
    room = np.minimum(1.0, np.diff(instants, append=np.inf))
    group = np.repeat(np.arange(instants.size), count)
    behind = np.arange(times.size) != first[group]
    if not behind.any():
        return table, ()
    draws = generator.random(times.size)
    draws = draws[np.lexsort((draws, group))]
    offsets = np.where(behind, draws * room[group], 0.0)
    moved = submit.copy()
    moved[order] = times + offsets
    rows = np.zeros(times.size, dtype=bool)
    rows[order] = behind
    why = "jobs with the submit time of the job before were moved on by less than a second"
    finding = Finding.of("jitter", "changed", why, table.filter(pl.Series(rows)))
    return table.with_columns(pl.Series("submit", moved)), (finding,)

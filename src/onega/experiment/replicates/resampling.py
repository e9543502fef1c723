"""Other logs like this one: bootstrap resamples by weeks and by users.

One log is one history. Drawing its weeks, or its users, again with replacement gives histories that
might as well have happened; how far a measure goes from one to another says how far the log's own
can be trusted (Efron 1979; for logs of jobs, Zakay and Feitelson 2013).

**By weeks**: whole weeks, drawn with replacement and put one after the other. Everything within a
week stays: which users came, when, what queue built up. A week is long against a queue's memory, so
weeks are nearly independent, and the hour of the day and the day of the week stay in place.

**By users**: users are drawn with replacement, each with all their jobs, until the load is the
log's own; each draw is moved by a random number of whole weeks (round the end), so that two copies
of one user don't submit the same job at one instant. Days and hours stay in place. More users can
be drawn than the log has, which is a way to more load that leaves the day 24 hours long.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.renamed import renamed
from onega.core.rng import Rng, describe_seed, generator, seed_sequence
from onega.core.units import SECONDS, humanise_seconds
from onega.core.workload.schema import renumbered
from onega.core.workload.workload import Workload

WEEK: Final = SECONDS["w"]
By = Literal["weeks", "users"]

FEWEST_WEEKS: Final = 2
_ROW: Final = "row"


@renamed(log="workload")
def resample(
    workload: Workload, by: By = "weeks", *, rng: Rng = None, load: float | None = None
) -> Workload:
    """Draw a log like this one, with replacement, by weeks or by users.

    Parameters
    ----------
    workload
        A log over at least two weeks.
    by
        ``"weeks"`` or ``"users"``.
    rng
        Randomness.
    load
        Multiply the log's load by this. By users: so many more are drawn (the same ones first).
        By weeks: gaps are divided by it, and with them the days.

    Returns
    -------
    Workload
        Jobs numbered anew, sorted by submission, on the log's own time axis. Observed waits and
        references between jobs (``after``, ``think``) don't hold any more and are empty. The
        provenance says what was drawn and what was left out.

    Notes
    -----
    By weeks, a week begins at the first submission; what is left beyond the last whole week is left
    out. By users, jobs without a user stay as they are.
    """
    if by not in ("weeks", "users"):
        raise ExperimentError(
            f"unknown way to resample {by!r}; {suggest(str(by), ('weeks', 'users'))}"
        )
    factor = 1.0 if load is None else float(load)
    if not (np.isfinite(factor) and factor > 0):
        raise ExperimentError(f"load is a positive factor of the log's own load, got {load}")
    refuse_too_short(workload)
    seed = seed_sequence(rng)
    draw = _by_weeks if by == "weeks" else _by_users
    table, note = draw(workload, generator(seed), factor)
    return Workload(
        renumbered(table.sort("submit", maintain_order=True), "think", "wait"),
        workload.meta.noting(f"resampled by {by}: {note}, rng={describe_seed(seed)}"),
    )


def refuse_too_short(log: Workload, otherwise: str = "") -> None:
    """Refuse a log that has no weeks to draw from; ``otherwise``: what else one can do here."""
    if len(log) == 0 or log.span < FEWEST_WEEKS * WEEK:
        raise ExperimentError(
            f"the log spans {humanise_seconds(log.span)}; resampling takes whole weeks, at least "
            f"{FEWEST_WEEKS}; use a longer log, fit a model and draw from it{otherwise}"
        )


def whole_weeks(log: Workload) -> int:
    """How many whole weeks the log spans, from its first submission."""
    return int(log.span // WEEK)


def _by_weeks(
    log: Workload, stream: np.random.Generator, factor: float
) -> tuple[pl.DataFrame, str]:
    """Put weeks that were drawn one after the other; at another load, squeeze the gaps."""
    submit = log.column("submit")
    first = float(submit.min())
    count = whole_weeks(log)
    week = ((submit - first) // WEEK).astype(np.int64)
    drawn = stream.integers(0, count, count)
    order = np.argsort(week, kind="stable")
    begin = np.searchsorted(week[order], np.arange(count))
    size = np.searchsorted(week[order], np.arange(count), side="right") - begin
    rows = order[_ranges(begin[drawn], size[drawn])]
    if rows.size == 0:
        raise ExperimentError("the weeks that were drawn have no job at all; the log is too sparse")
    place = np.repeat(np.arange(count), size[drawn])
    since_first = submit[rows] - first + (place - week[rows]) * WEEK
    table = log.table[rows].with_columns(submit=first + since_first / factor)
    beyond = int(np.count_nonzero(week >= count))
    note = f"{count} weeks drawn of {count}, {rows.size} jobs"
    if factor != 1:
        note += f", load × {factor:g} by dividing gaps"
    if beyond:
        note += f"; {beyond} jobs beyond the last whole week left out"
    return table, note


def _by_users(
    log: Workload, stream: np.random.Generator, factor: float
) -> tuple[pl.DataFrame, str]:
    """Draw users until their area is that of the log times the factor."""
    table = log.table.with_row_index(_ROW)
    known = table.filter(pl.col("user").is_not_null())
    if known.height == 0:
        raise ExperimentError("the log doesn't say who submitted its jobs; resample by weeks")
    submit = log.column("submit")
    first = float(submit.min())
    weeks = max(FEWEST_WEEKS, round(log.span / WEEK))
    area = np.nan_to_num(log.column("procs") * log.column("runtime"))
    user = known["user"].to_numpy()
    rows = known[_ROW].to_numpy().astype(np.int64)
    names, index = np.unique(user, return_inverse=True)
    weight = np.bincount(index, weights=area[rows]).astype(np.float64)
    if not weight.sum() > 0:
        raise ExperimentError("the log's users have no jobs with a width and a run time")
    # The resample lasts a whole number of weeks: as much area in as much time.
    wanted = factor * float(weight.sum()) * weeks * WEEK / log.span
    drawn, shift = _draw_until(weight, wanted, weeks, stream)
    order = np.argsort(index, kind="stable")
    size = np.bincount(index)
    begin = np.cumsum(size) - size
    taken = rows[order[_ranges(begin[drawn], size[drawn])]]
    moved = (submit[taken] - first + np.repeat(shift, size[drawn]) * WEEK) % (weeks * WEEK)
    by_users = log.table[taken].with_columns(
        submit=first + moved,
        user=pl.Series(np.repeat(np.arange(1, drawn.size + 1), size[drawn]), dtype=pl.Int32),
    )
    unknown = log.table.filter(pl.col("user").is_null())
    note = f"{drawn.size} users drawn of {names.size}, {taken.size} jobs, load × {factor:g}"
    if unknown.height:
        note += f"; {unknown.height} jobs without a user kept as they are"
    return pl.concat([by_users, unknown]), note


def _draw_until(
    weight: npt.NDArray[np.float64], wanted: float, weeks: int, stream: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Draw users with replacement until their weight is as near to what is wanted as it gets.

    The draws at a larger ``wanted`` begin with those at a smaller one.
    """
    users: list[int] = []
    shifts: list[int] = []
    total = 0.0
    while True:
        one = int(stream.integers(weight.size))
        moved = int(stream.integers(weeks))
        # The last draw may take the load further away from what is wanted than it is without it.
        if total + weight[one] - wanted > wanted - total and users:
            break
        users.append(one)
        shifts.append(moved)
        total += float(weight[one])
        if total >= wanted:
            break
    return np.array(users), np.array(shifts)


def _ranges(begin: npt.NDArray[np.int64], size: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Join begin[i] … begin[i]+size[i]−1 over all i."""
    start = np.repeat(begin - (np.cumsum(size) - size), size)
    return start + np.arange(int(size.sum()))

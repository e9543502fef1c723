"""Users who react: learnt from a log that says who submitted what, and what he saw."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.schedule.schedule import Schedule
from onega.core.workload.chains import Floats, Ints
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.experiment.users.feedback import REGULAR, feedback, observed, submissions_of
from onega.experiment.users.feedback_fit import COEFFICIENTS, GROUPS
from onega.experiment.users.feedback_state import middle_levels

SESSION_GAP = 3600.0
"""Seconds. Who submits again within an hour of the last submission, or of its end, is still at it
(Zakay and Feitelson 2012)."""

WEEK = 604_800.0


@dataclass(frozen=True, eq=False)
class ReactiveUsers:
    """The users of a log, what they submit, and how they react to the queue.

    A user's line is his own log. Within a session the next job either waits for the last one's end
    (and comes a think time later) or comes a gap after its submission, as it was in the log.

    Attributes
    ----------
    jobs
        One row per job, by user and submission: ``user`` (a place in ``users``), ``submit``,
        ``runtime``, ``procs``, ``estimate``, the levels ``waiting`` and ``busy`` that its user saw,
        ``begins`` (a session), ``waits`` (the next job came after this one's end) and ``delay``
        (seconds from there, or from its submission, to the next).
    users, coefficients
        User numbers, and W→R, O→R, W→P, O→P of each (0 for users with fewer than 50 jobs).
    cuts
        Lower ends of the levels of ``waiting`` and ``busy``.
    procs
        The machine's processors.
    first, span
        The first submission, and how long the log is in whole weeks, in seconds.
    discouragement
        Slope of "this session ends here" over the level of W, within users: how much likelier a
        session is to end at the longest queue than at the shortest.
    meta
        The log's.
    """

    jobs: pl.DataFrame
    users: Ints
    coefficients: Floats
    cuts: dict[str, Floats]
    procs: int
    first: float
    span: float
    discouragement: float
    meta: Meta

    @classmethod
    def fit(
        cls, workload: Workload | Schedule, *, groups: Collection[str] | None = None
    ) -> ReactiveUsers:
        """Learn from a log with waits and users, or from a schedule.

        Parameters
        ----------
        groups
            Keep only coefficients of these groups, e.g. ``("WR-", "OP-")``: those that survive
            chance in `onega.feedback`. None keeps all that AIC chose.
        """
        for name in groups or ():
            if name not in GROUPS:
                raise ExperimentError(f"no feedback group {name!r}; {suggest(name, GROUPS)}")
        schedule = workload if isinstance(workload, Schedule) else observed(workload)
        table, cuts, _ = submissions_of(schedule)
        table = table.with_columns(
            pl.Series("estimate", schedule.workload.table["estimate"]).gather(
                np.argsort(schedule.workload.column("submit"), kind="stable")
            ),
            pl.Series("end", schedule.end[np.argsort(schedule.workload.column("submit"),
                                                     kind="stable")]),
        )  # fmt: skip
        table = table.filter(
            pl.col("user").is_not_null() & (pl.col("runtime") > 0) & (pl.col("procs") > 0)
        )
        if not table.height:
            raise ExperimentError("the log has no job with a user, a run time and a width")
        users, place = np.unique(table["user"].to_numpy(), return_inverse=True)
        coefficients = _coefficients(schedule, users, groups)
        submit = table["submit"].to_numpy()
        first, last = float(submit.min()), float(submit.max())
        jobs = _lines(table.with_columns(pl.Series("user", place)), cuts)
        return cls(
            jobs, users.astype(np.int64), coefficients, cuts, schedule.cluster.procs, first,
            WEEK * max(1.0, float(np.ceil((last - first + 1) / WEEK))), _discouragement(jobs),
            schedule.workload.meta,
        )  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """Return how many users and jobs there are and how they go on."""
        going_on = ~np.append(self.jobs["begins"].to_numpy()[1:], True)
        waits = self.jobs["waits"].to_numpy()
        think = self.jobs["delay"].to_numpy()[going_on & waits]
        return {
            "users": int(self.users.size),
            "jobs": self.jobs.height,
            "procs": self.procs,
            "sessions": int(self.jobs["begins"].sum()),
            "reacting_users": int(np.any(self.coefficients != 0, axis=1).sum()),
            "waits_within_session": float(np.mean(waits[going_on])) if going_on.any() else None,
            "median_think": float(np.median(think)) if think.size else None,
            "discouragement": self.discouragement,
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per user: jobs, sessions, coefficients."""
        counts = self.jobs.group_by("user").agg(
            pl.len().alias("jobs"), pl.col("begins").sum().alias("sessions")
        )
        named = {name: self.coefficients[:, k] for k, name in enumerate(COEFFICIENTS)}
        return counts.sort("user").with_columns(pl.Series("user", self.users)).with_columns(
            **{name: pl.Series(values) for name, values in named.items()}
        )  # fmt: skip


def _coefficients(schedule: Schedule, users: Ints, groups: Collection[str] | None) -> Floats:
    result = np.zeros((users.size, len(COEFFICIENTS)))
    known = schedule.workload.table["user"].drop_nulls()
    if known.value_counts()["count"].max() < REGULAR:  # type: ignore[operator]
        return result
    found = feedback(schedule, permutations=0)
    values = found.coefficients.copy()
    if groups is not None:
        for k, name in enumerate(COEFFICIENTS):
            up, down = f"{name}+" in groups, f"{name}-" in groups
            values[:, k] = np.where(values[:, k] > 0, up, down) * values[:, k]
    result[np.searchsorted(users, found.users)] = values
    return result


def _lines(table: pl.DataFrame, cuts: dict[str, Floats]) -> pl.DataFrame:
    """Lay out users' lines: sessions, who waits for what, think times."""
    ordered = table.sort("user", "submit", maintain_order=True)
    user, submit, end = (ordered[name].to_numpy() for name in ("user", "submit", "end"))
    same = np.append(user[1:] == user[:-1], False)
    following = np.append(submit[1:], np.inf)
    since_submit, since_end = following - submit, following - end
    near = (since_submit <= SESSION_GAP) | ((since_end >= 0) & (since_end <= SESSION_GAP))
    goes_on = same & near
    # The last job of a line has no successor in the log; the line begins anew after its end.
    waits = ~same | (since_end >= 0)
    delay = np.where(goes_on, np.where(waits, since_end, since_submit), 0.0)
    begins = np.concatenate(([True], ~goes_on[:-1]))
    return ordered.select(
        "user",
        "submit",
        "runtime",
        "procs",
        "estimate",
        *(
            pl.Series(name, middle_levels(ordered[name].to_numpy(), cuts[name]))
            for name in ("waiting", "busy")
        ),
        pl.Series("begins", begins),
        pl.Series("waits", waits),
        pl.Series("delay", delay),
    )


def _discouragement(jobs: pl.DataFrame) -> float:
    """Slope of a session's end over the level of W, users' means taken out."""
    user, level = jobs["user"].to_numpy(), jobs["waiting"].to_numpy()
    stops = np.append(jobs["begins"].to_numpy()[1:], True).astype(np.float64)
    count = np.bincount(user)
    x = level - (np.bincount(user, weights=level) / count)[user]
    y = stops - (np.bincount(user, weights=stops) / count)[user]
    power = float(x @ x)
    return float(x @ y / power) if power > 0 else 0.0

"""Do users react to the queue they see? (Song 2006, chapter 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError
from onega.core.plotting import Plottable
from onega.core.renamed import renamed
from onega.core.rng import Rng, describe_seed, generator, seed_sequence
from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats, Ints
from onega.core.workload.clock import local_zone
from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload
from onega.experiment.users.feedback_fit import (
    COEFFICIENTS,
    GROUPS,
    Observations,
    UserModels,
    group_jobs,
    group_members,
    holm,
    jobs_by_chance,
    permuted,
    shifted,
)
from onega.experiment.users.feedback_state import cut_points, levels_of, seen_at_submission
from onega.traces.description.cycles import local_hours

REGULAR = 50
"""Users with fewer submissions say too little of their habits (§6.3.1)."""

EVIDENCE = 0.2
"""A group is evidence of feedback if it covers more than this share of all submissions (§6.4.1)."""

SHARED = 0.1
"""More submissions than this at which more processors are busy than there are: time-sharing."""

_FACTORS = {"W": "waiting", "O": "busy"}
_ATTRIBUTES = {"R": "runtime", "P": "procs"}


@dataclass(frozen=True)
class FeedbackGroup:
    """Users whose coefficient has one sign, e.g. ``WR-``: shorter jobs the more jobs wait.

    Attributes
    ----------
    name, users, share
        Which, how many users, and their share of all submissions.
    by_chance
        Its mean share when what users saw is exchanged at random within user and hour.
    p_permuted, p_shifted
        How often chance gives at least this share: jobs exchanged one by one, and shifted in time
        so that bursts stay together. Adjusted for eight groups (Holm); NaN if not asked for.
    """

    name: str
    users: int
    share: float
    by_chance: float = float("nan")
    p_permuted: float = float("nan")
    p_shifted: float = float("nan")

    @property
    def evidence(self) -> bool:
        """The thesis's criterion: more than 20 % of all submissions."""
        return self.share > EVIDENCE

    def survives(self, level: float) -> bool:
        """Whether it is evidence and neither way of chance explains it."""
        return self.evidence and self.p_permuted <= level and self.p_shifted <= level


@dataclass(frozen=True, eq=False)
class Feedback(Plottable):
    """How the users of a log react to waiting jobs (W) and busy processors (O).

    Attributes
    ----------
    submissions
        One row per job: user, hour, W, O, R, P and their levels.
    users, jobs
        Users with at least 50 jobs, and how many each has.
    coefficients
        Of each user: W→R, O→R, W→P, O→P; 0 where AIC leaves it out.
    groups
        The eight overlapping groups.
    cuts
        Lower ends of the levels of W, O, R and P.
    hours
        The time frame, or None.
    permutations, level
        How often chance was tried, and the error rate: the probability that any group is said to
        survive although no user reacts.
    """

    FIGURES: ClassVar[str] = "feedback"
    submissions: pl.DataFrame
    users: Ints
    jobs: Ints
    coefficients: Floats
    groups: tuple[FeedbackGroup, ...]
    cuts: dict[str, Floats]
    hours: tuple[int, int] | None
    permutations: int
    level: float
    report: Report = field(default_factory=Report)
    provenance: tuple[str, ...] = ()

    def group(self, name: str) -> FeedbackGroup:
        """Return one of the groups, e.g. ``"WR-"``."""
        return next(one for one in self.groups if one.name == name)

    def members(self, name: str) -> Ints:
        """Return the user numbers of a group."""
        column = self.coefficients[:, COEFFICIENTS.index(name[:2])]
        return self.users[column > 0 if name[2] == "+" else column < 0]

    def curves(self, *, hours: tuple[int, int] | None = None) -> pl.DataFrame:
        """Mean run time or width at each level of W or O, for each group (Figs 6.2, 6.3).

        With ``hours`` only of the jobs submitted within, for the groups as they are (Fig. 6.4).
        """
        rows = []
        table = self.submissions
        if hours is not None:
            table = table.filter(_within(hours))
        for one in self.groups:
            factor, attribute = _FACTORS[one.name[0]], _ATTRIBUTES[one.name[1]]
            mine = table.filter(pl.col("user").is_in(self.members(one.name).tolist()))
            rows.append(
                mine.group_by((pl.col(f"{factor}_level") * 9).round().cast(pl.Int64).alias("level"))
                .agg(pl.col(attribute).mean().alias("mean"), pl.len().cast(pl.Int64).alias("jobs"))
                .sort("level")
                .select(
                    pl.lit(one.name).alias("group"),
                    pl.lit(factor).alias("factor"),
                    pl.lit(attribute).alias("attribute"),
                    pl.col("level") + 1,
                    "mean",
                    "jobs",
                )
            )
        return pl.concat(rows)

    def to_polars(self) -> pl.DataFrame:
        """One row per group: the log's row of Table 6.3 upright, with shares and chances."""
        return pl.DataFrame(
            [
                {
                    "group": one.name,
                    "users": one.users,
                    "share": one.share,
                    "evidence": one.evidence,
                    "by_chance": one.by_chance,
                    "p_permuted": one.p_permuted,
                    "p_shifted": one.p_shifted,
                    "survives": one.survives(self.level),
                }
                for one in self.groups
            ]
        )

    def users_table(self) -> pl.DataFrame:
        """One row per user: jobs and coefficients."""
        named = {name: self.coefficients[:, place] for place, name in enumerate(COEFFICIENTS)}
        return pl.DataFrame({"user": self.users, "jobs": self.jobs, **named})

    def summary(self) -> dict[str, Any]:
        """Return everything as one flat dictionary."""
        flat: dict[str, Any] = {
            "jobs": self.submissions.height,
            "users": int(self.users.size),
            "jobs_of_users": int(self.jobs.sum()),
            "hours": None if self.hours is None else f"{self.hours[0]}-{self.hours[1]}",
            "permutations": self.permutations,
            "level": self.level,
        }
        for row in self.to_polars().to_dicts():
            name = row.pop("group")
            flat.update({f"{name}_{key}": value for key, value in row.items()})
        return flat


@renamed(level="significance")
def feedback(
    workload: Workload | Schedule,
    *,
    hours: tuple[int, int] | None = None,
    permutations: int = 499,
    significance: float = 0.05,
    rng: Rng = 0,
) -> Feedback:
    """Find out how users react to the queue.

    W (jobs waiting) and O (processors busy) at every submission come from the log's own waits. Each
    variable is cut into ten levels of equal frequency over all jobs; every user with at least 50
    jobs gets a linear model of run time and of width by AIC.

    Parameters
    ----------
    workload
        A log with waits and users, or a schedule.
    hours
        Only jobs submitted in this time frame of the day, local time, e.g. ``(13, 16)``: takes the
        daily cycle out. What users saw is still counted from all jobs.
    permutations
        How often what users saw is exchanged within user and hour of the day; 0: not at all.
    significance
        The error rate: the probability that any of the eight groups is said to survive although
        no user reacts (p-values are adjusted by Holm's method).
    rng
        Seed of the exchanges; fixed by default, so that one log gives one answer.
    """
    if not 0 < significance < 1:
        raise ExperimentError(
            f"significance must be a probability between 0 and 1, got {significance}"
        )
    if permutations < 0:
        raise ExperimentError(f"permutations must be at least 0, got {permutations}")
    schedule = workload if isinstance(workload, Schedule) else observed(workload)
    table, cuts, notes = submissions_of(schedule)
    if hours is not None:
        _check_hours(hours, schedule)
        table = table.filter(_within(hours))
    regular, left_out = _regular(table, hours)
    seen, users = _observations(regular)
    models = UserModels(seen, users.size)
    seed = seed_sequence(rng)
    groups = _groups(models, seen.cell, table.height, permutations, seed)
    return Feedback(
        table, users, models.jobs, models.coefficients(), groups, cuts, hours, permutations,
        significance,
        schedule.report + Report.of([*notes, *left_out, *_too_few(permutations, significance)]),
        (f"feedback of {schedule!r}", f"rng={describe_seed(seed)}"),
    )  # fmt: skip


def observed(workload: Workload) -> Schedule:
    """Make the schedule of a log; refuse, with the reason, one without waits."""
    if not workload.has("wait"):
        raise ExperimentError(
            "the log has no waits, so what its users saw isn't known; feedback needs the wait "
            "of every job (simulate the log and pass the schedule to see what a policy would show)"
        )
    return Schedule.observed(workload)


def submissions_of(
    schedule: Schedule,
) -> tuple[pl.DataFrame, dict[str, Floats], list[Finding]]:
    """Lay out what was submitted and what was seen; refuse where nothing could be seen."""
    if not schedule.workload.has("user"):
        raise ExperimentError(
            "the log doesn't say who submitted its jobs; feedback needs the user column"
        )
    if schedule.pieces is not None or np.isnan(schedule.start).any():
        raise ExperimentError("jobs were displaced while they ran, or never started; "
                              "feedback needs a schedule in which every job ran once")  # fmt: skip
    seen = seen_at_submission(schedule)
    shared = float(np.mean(seen.busy > schedule.cluster.procs))
    if shared > SHARED:
        raise ExperimentError(
            f"at {shared:.0%} of the submissions more processors are busy than the machine's "
            f"{schedule.cluster.procs}: it shares them in time, no job waits for a free one, and "
            "the number of busy processors says nothing (Song 2006, §6.4)"
        )
    if not np.any(seen.waiting > 0):
        raise ExperimentError(
            "no job ever finds another one waiting: there is no queue that users could react to"
        )
    work = schedule.workload
    values = {
        "waiting": seen.waiting,
        "busy": seen.busy,
        "runtime": work.column("runtime"),
        "procs": work.column("procs"),
    }
    cuts = {name: cut_points(column) for name, column in values.items()}
    hour = _hours(schedule)
    table = pl.DataFrame(
        {
            "user": work.table["user"],
            "submit": work.column("submit"),
            "hour": hour,
            **values,
            **{f"{name}_level": levels_of(column, cuts[name]) for name, column in values.items()},
        }
    ).sort("submit", maintain_order=True)
    unowned = int(table["user"].null_count())
    why = "no user: counted among all submissions, in no group"
    return table, cuts, [Finding("no_user", "noted", unowned, why)]


def _hours(schedule: Schedule) -> Ints:
    """Hour of the day of each submission; from the log's first second if it has no date."""
    submit, meta = schedule.workload.column("submit"), schedule.workload.meta
    if meta.epoch is None:
        return np.asarray(np.floor(submit / 3600) % 24, dtype=np.int64)
    return local_hours(submit + meta.epoch, local_zone(meta)[0])[0]


def _check_hours(hours: tuple[int, int], schedule: Schedule) -> None:
    begin, end = hours
    if not (0 <= begin <= 23 and 1 <= end <= 24 and begin != end):
        raise ExperimentError(f"hours are two hours of the day, e.g. (13, 16); got {hours}")
    if schedule.workload.meta.epoch is None:
        raise ExperimentError("the log doesn't say at what date it begins, so hours can't be told")


def _within(hours: tuple[int, int]) -> pl.Expr:
    begin, end = hours
    after, before = pl.col("hour") >= begin, pl.col("hour") < end
    return after & before if begin < end else after | before


def _regular(
    table: pl.DataFrame, hours: tuple[int, int] | None
) -> tuple[pl.DataFrame, list[Finding]]:
    known = table.filter(pl.col("user").is_not_null())
    counts = known.group_by("user").len()
    most = int(counts["len"].to_numpy().max(initial=0))
    regular = counts.filter(pl.col("len") >= REGULAR)["user"]
    if not len(regular):
        frame = "" if hours is None else f" between {hours[0]} and {hours[1]} o'clock"
        raise ExperimentError(
            f"no user has {REGULAR} jobs{frame}; the busiest of {counts.height} has "
            f"{most}, too few to tell habits from chance"
        )
    kept = known.filter(pl.col("user").is_in(regular.implode()))
    few = known.height - kept.height
    why = f"of users with fewer than {REGULAR} jobs: counted among all submissions, in no group"
    return kept, [Finding("irregular", "noted", few, why)]


def _observations(regular: pl.DataFrame) -> tuple[Observations, Ints]:
    users, user = np.unique(regular["user"].to_numpy(), return_inverse=True)
    cell = user * 24 + regular["hour"].to_numpy()
    order = np.argsort(cell, kind="stable")
    names = ("waiting", "busy", "runtime", "procs")
    levels = (regular[f"{name}_level"].to_numpy()[order] for name in names)
    return Observations(user[order], cell[order], *levels), users.astype(np.int64)


def _too_few(permutations: int, level: float) -> list[Finding]:
    """Say so if chance was tried too seldom for anything to survive: the least p is 8/(N + 1)."""
    needed = int(np.ceil(len(GROUPS) / level)) - 1
    if not 0 < permutations < needed:
        return []
    why = f"permutations: no group can survive at {level:g} with fewer than {needed}"
    return [Finding("few_permutations", "noted", permutations, why)]


def _groups(
    models: UserModels, cell: Ints, total: int, permutations: int, rng: Rng
) -> tuple[FeedbackGroup, ...]:
    coefficients = models.coefficients()
    jobs = group_jobs(coefficients, models.jobs)
    by_chance = np.full(jobs.size, np.nan)
    p = np.full((2, jobs.size), np.nan)
    if permutations:
        random = generator(rng)
        for row, rearrange in enumerate((permuted, shifted)):
            tries = jobs_by_chance(models, cell, rearrange, random)
            found = np.array([next(tries) for _ in range(permutations)])
            reached = (found >= jobs).sum(axis=0)
            p[row] = holm((1 + reached) / (1 + permutations))
            if row == 0:
                by_chance = found.mean(axis=0) / total
    members = group_members(coefficients).sum(axis=0)
    return tuple(
        FeedbackGroup(name, int(users), float(count / total), *map(float, chances))
        for name, users, count, *chances in zip(
            GROUPS, members, jobs, by_chance, p[0], p[1], strict=True
        )
    )

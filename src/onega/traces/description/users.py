"""How submissions spread over users (Song 2006, chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from onega.core.workload.schema import USABLE
from onega.traces.description.sections import Jobs, Lacking, Summary

SUBMISSION_LIMITS = (1, 100, 500, 1000, 2000)
"""Lower limits of the classes of Table 5.1."""

MOST_ACTIVE = 10
"""How many users Fig. 5.1 shows."""


class SubmissionClass(NamedTuple):
    """Users with [low, high) submissions; the last class has no upper limit."""

    low: int
    high: int | None
    users: int
    share: float


class ActiveUser(NamedTuple):
    """One of the users with the most submissions; ``name`` is the log's own, if it has one."""

    user: int
    name: str
    jobs: int
    job_share: float
    area_share: float | None
    mean_width: float | None
    mean_runtime: float | None


@dataclass(frozen=True, slots=True)
class Users:
    """Submissions per user.

    Attributes
    ----------
    users
        How many there are.
    known
        Share of jobs whose user is known.
    submissions
        Users by number of submissions (Table 5.1).
    active
        The ten with the most submissions, with the mean width of their jobs (Fig. 5.1).
    active_job_share, active_area_share
        What these ten make together, of the jobs with a known user and of their squashed area.
    """

    users: int
    known: float
    submissions: tuple[SubmissionClass, ...]
    active: tuple[ActiveUser, ...]
    active_job_share: float
    active_area_share: float | None

    def summary(self) -> Summary:
        """Keys ``top10_users_jobs``, ``top10_users_area``, ``submissions_per_user`` and more."""
        return {
            "user_known_share": self.known,
            "top10_users_jobs": self.active_job_share,
            "top10_users_area": self.active_area_share,
            "submissions_per_user": [one._asdict() for one in self.submissions],
            "active_users": [one._asdict() for one in self.active],
        }


def users(jobs: Jobs) -> Users:
    """Measure how submissions spread over users."""
    table = jobs.workload.table
    known = table.filter(pl.col("user").is_not_null())
    if not known.height:
        raise Lacking("the log doesn't say who submitted the jobs")
    area = pl.when(USABLE).then(pl.col("procs") * pl.col("runtime")).sum().alias("area")
    per_user = (
        known.group_by("user")
        .agg(
            pl.len().alias("jobs"),
            area,
            pl.col("procs").filter(pl.col("procs") > 0).mean().alias("width"),
            pl.col("runtime").filter(pl.col("runtime") >= 0).mean().alias("runtime"),
        )
        .sort("jobs", "user", descending=[True, False])
    )
    total_area = float(per_user["area"].sum())
    active = tuple(
        ActiveUser(
            user=row["user"],
            name=jobs.workload.meta.name_of("user", row["user"]),
            jobs=row["jobs"],
            job_share=row["jobs"] / known.height,
            area_share=row["area"] / total_area if total_area > 0 else None,
            mean_width=row["width"],
            mean_runtime=row["runtime"],
        )
        for row in per_user.head(MOST_ACTIVE).to_dicts()
    )
    shares = [one.area_share for one in active if one.area_share is not None]
    return Users(
        users=per_user.height,
        known=known.height / table.height,
        submissions=_classes(per_user["jobs"]),
        active=active,
        active_job_share=sum(one.job_share for one in active),
        active_area_share=sum(shares) if total_area > 0 else None,
    )


def _classes(jobs: pl.Series) -> tuple[SubmissionClass, ...]:
    classes = []
    for place, low in enumerate(SUBMISSION_LIMITS):
        high = SUBMISSION_LIMITS[place + 1] if place + 1 < len(SUBMISSION_LIMITS) else None
        inside = (jobs >= low) if high is None else (jobs >= low) & (jobs < high)
        count = int(inside.sum())
        classes.append(SubmissionClass(low, high, count, count / len(jobs)))
    return tuple(classes)

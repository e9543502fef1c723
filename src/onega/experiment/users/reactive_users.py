"""Users who react: what each of them waits for, learnt from a log and a run of it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.machine.cluster import Cluster
from onega.core.policy import KeyFunction, Policy, Priority
from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats, Ints
from onega.core.workload.report import Finding, Report
from onega.core.workload.think_times import last_finished
from onega.core.workload.workload import Workload
from onega.experiment.users.feedback import REGULAR, feedback, observed
from onega.experiment.users.feedback_fit import COEFFICIENTS, GROUPS
from onega.experiment.users.feedback_state import cut_points, middle_levels, seen_at_submission
from onega.simulation.simulate import simulate
from onega.traces.cleaning import simulable

DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class ReactiveUsers:
    """The users of a log: what they submit, what they wait for, how they react to the queue.

    Attributes
    ----------
    baseline
        The log on the machine and under the policy that its users are used to.
    within
        H: a user who submits again within so many seconds of a result waited for it.
    after
        For each job the row of the job that its user waited for; −1: it comes at its own time.
    user
        For each job a row of ``users``; −1: the log doesn't say.
    users, coefficients
        User numbers, and W→R, O→R, W→P, O→P of each (0 for users with fewer than 50 jobs).
    cuts
        Lower ends of the levels of jobs waiting and processors busy in the baseline run.
    levels
        The levels that each job's user saw in the baseline run (rows: waiting, busy).
    report
        Jobs that aren't here, or have nothing to react with, and why.
    """

    baseline: Schedule
    within: float
    after: Ints
    user: Ints
    users: Ints
    coefficients: Floats
    cuts: Floats
    levels: Floats
    report: Report = field(default_factory=Report)

    @classmethod
    def fit(
        cls,
        workload: Workload,
        cluster: Cluster | int | None = None,
        policy: str | Policy | Priority | KeyFunction = "easy",
        *,
        within: float = DAY,
        groups: Collection[str] | None = None,
    ) -> ReactiveUsers:
        """Learn from a log that says who submitted its jobs.

        The log is simulated: ends are those of the policy, so that users of the same machine under
        the same policy do exactly what they did in the log. The log's own waits serve only to learn
        how sizes react.

        Parameters
        ----------
        cluster, policy
            What users are used to: the log's own machine, and EASY.
        within
            Seconds. A job that comes at most this long after its user's latest result waited for
            it; another one has a time of its own. 0: no job waits for another.
        groups
            Keep only coefficients of these groups, e.g. ``("WR-", "OP-")``: those that survive
            chance in `onega.feedback`. None keeps all that AIC chose.
        """
        for name in groups or ():
            if name not in GROUPS:
                raise ExperimentError(f"no feedback group {name!r}; {suggest(name, GROUPS)}")
        if not (math.isfinite(within) and within >= 0):
            raise ExperimentError(f"within must be a number of seconds from 0 on, got {within}")
        if not workload.has("user"):
            raise ExperimentError(
                "the log doesn't say who submitted its jobs; a closed loop needs the user column"
            )
        log, left_out = _simulable(workload)
        baseline = simulate(log, cluster, without_preemption(policy))
        known = log.table["user"].is_not_null().to_numpy()
        users, place = np.unique(log.table["user"].drop_nulls().to_numpy(), return_inverse=True)
        user = np.full(len(log), -1)
        user[known] = place
        submit = log.column("submit")
        after = last_finished(user, submit, baseline.end, within)
        coefficients, remarks = _coefficients(log, users, groups)
        seen = seen_at_submission(baseline)
        cuts = np.stack((cut_points(seen.waiting), cut_points(seen.busy)))
        levels = np.stack((middle_levels(seen.waiting, cuts[0]), middle_levels(seen.busy, cuts[1])))
        unowned = Finding("no_user", "noted", int((~known).sum()), "no user: at their own times")
        return cls(
            baseline, float(within), after, user, users.astype(np.int64), coefficients, cuts,
            levels, left_out + Report.of([unowned, *remarks]),
        )  # fmt: skip

    def waiting_within(self, within: float) -> ReactiveUsers:
        """Return the same users with another H."""
        submit = self.baseline.workload.column("submit")
        after = last_finished(self.user, submit, self.baseline.end, within)
        return replace(self, within=float(within), after=after)

    def discouragement(self) -> float:
        """Slope of "no job of its user waited for this one" over the level of W, within users.

        How much likelier users are to stop at the longest queue than at the shortest.
        """
        known = self.user >= 0
        stops = np.ones(self.user.size)
        stops[self.after[self.after >= 0]] = 0.0
        user, level, stops = self.user[known], self.levels[0][known], stops[known]
        count = np.bincount(user)
        x = level - (np.bincount(user, weights=level) / count)[user]
        y = stops - (np.bincount(user, weights=stops) / count)[user]
        power = float(x @ x)
        return float(x @ y / power) if power > 0 else 0.0

    def thinks(self) -> Floats:
        """Seconds from a result to the job that waited for it, of all jobs that did."""
        rows = np.flatnonzero(self.after >= 0)
        submit = self.baseline.workload.column("submit")
        return np.asarray(submit[rows] - self.baseline.end[self.after[rows]], dtype=np.float64)

    def summary(self) -> dict[str, Any]:
        """Return how many users and jobs there are and how they go on.

        ``sessions``: jobs with a time of their own; ``waits_within_session``: share of the others.
        """
        thinks = self.thinks()
        return {
            "users": int(self.users.size),
            "jobs": len(self.baseline),
            "baseline_procs": self.baseline.cluster.procs,
            "baseline_policy": str(self.baseline.policy),
            "within": self.within,
            "reacting_users": int(np.any(self.coefficients != 0, axis=1).sum()),
            "sessions": int(np.count_nonzero(self.after < 0)),
            "waits_within_session": float(np.mean(self.after >= 0)),
            "median_think": float(np.median(thinks)) if thinks.size else None,
            "discouragement": self.discouragement(),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per user: jobs, how many of them waited for a result, coefficients."""
        known = self.user >= 0
        jobs = np.bincount(self.user[known], minlength=self.users.size)
        waited = np.bincount(self.user[self.after >= 0], minlength=self.users.size)
        named = {name: self.coefficients[:, k] for k, name in enumerate(COEFFICIENTS)}
        return pl.DataFrame({"user": self.users, "jobs": jobs, "waited": waited, **named})


def _simulable(workload: Workload) -> tuple[Workload, Report]:
    log, left_out = simulable(workload)
    if len(log) == 0:
        raise ExperimentError("the log has no job with a run time and a width")
    return log.sorted(), left_out


def without_preemption(policy: Any) -> Policy:  # noqa: ANN401
    """Read a policy; refuse one that a closed loop can't take."""
    rule = Policy.parse(policy)
    if rule.preemptive:
        raise ExperimentError(f"{rule} preempts; a closed loop takes orders that don't")
    return rule


def _coefficients(
    log: Workload, users: Ints, groups: Collection[str] | None
) -> tuple[Floats, list[Finding]]:
    """Return how sizes react, from the log's own waits, and what couldn't be learnt."""
    result = np.zeros((users.size, len(COEFFICIENTS)))
    counts = log.table["user"].drop_nulls().value_counts()["count"].to_numpy()
    without = len(log) - int(log.table["wait"].count())
    why = "no wait: their users' sizes react by what the other jobs tell"
    remarks = [Finding("no_wait", "noted", without, why)]
    if without == len(log) or counts.max() < REGULAR:
        return result, remarks
    try:
        found = feedback(observed(log), permutations=0)
    except ExperimentError as error:
        return result, [
            *remarks,
            Finding("sizes", "noted", len(log), f"sizes don't react: {error}"),
        ]
    values = found.coefficients.copy()
    if groups is not None:
        for k, name in enumerate(COEFFICIENTS):
            up, down = f"{name}+" in groups, f"{name}-" in groups
            values[:, k] = np.where(values[:, k] > 0, up, down) * values[:, k]
    result[np.searchsorted(users, found.users)] = values
    return result, remarks

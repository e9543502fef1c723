"""`closed_loop`: simulate a machine whose users wait for their results and see the queue."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.machine.cluster import Cluster
from onega.core.policy import MULTIFACTOR, KeyFunction, Policy, Priority
from onega.core.rng import Rng, child, describe_seed, generator, seed_sequence
from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats, Ints
from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload
from onega.experiment.users.reactive_users import ReactiveUsers, without_preemption
from onega.kernels.pool import engine
from onega.kernels.structures.heap import Heap, make_heap
from onega.kernels.users import closed_loop as kernel
from onega.simulation.pool import setup
from onega.simulation.priority import NO_FUNCTION, compile_priority
from onega.simulation.simulate import _history

REACTIONS: Final = ("sizes", "thinks")

WEEK = 604_800.0

RUNAWAY_GROWTH = 2.0
"""A loop runs away if its users have submitted more than this many times the work that the same
jobs had in the log, although they saw longer queues than in the baseline run."""

RUNAWAY_JOBS = 1000
"""It isn't judged before so many jobs: the first ones may be large by chance."""

_STATIC: Final[dict[str, KeyFunction]] = {
    "spf": lambda now, submit, estimate, procs: estimate,
    "lpf": lambda now, submit, estimate, procs: -estimate,
    "saf": lambda now, submit, estimate, procs: estimate * procs,
    "f1": lambda now, submit, estimate, procs: (
        math.log10(estimate) * procs + 8.70e2 * math.log10(max(submit, 1.0))
    ),
    "f2": lambda now, submit, estimate, procs: (
        math.sqrt(estimate) * procs + 2.56e4 * math.log10(max(submit, 1.0))
    ),
    "f3": lambda now, submit, estimate, procs: (
        estimate * procs + 6.86e6 * math.log10(max(submit, 1.0))
    ),
    "f4": lambda now, submit, estimate, procs: (
        estimate * math.sqrt(procs) + 5.30e5 * math.log10(max(submit, 1.0))
    ),
}
"""Orders with a fixed key. Ranks need all jobs beforehand; here the key is evaluated instead."""


class _Lines(NamedTuple):
    """Jobs that come: rows of the baseline's log, the seconds by which each is moved, which copy of
    its user it is of, and the line that it waits for (−1: none)."""  # noqa: D205, D209

    row: Ints
    moved: Floats
    copy: Ints
    after: Ints


def closed_loop(
    users: ReactiveUsers,
    cluster: Cluster | int | None = None,
    policy: str | Policy | Priority | KeyFunction | None = None,
    *,
    rng: Rng = None,
    population: float = 1.0,
    reactions: Collection[str] = ("thinks",),
    discouragement: float = 0.0,
) -> Schedule:
    """Simulate users who submit when they have their results.

    On the machine and under the policy of ``users.baseline`` the log comes out, job by job and to
    the second; what another machine or policy changes is due to the change alone.

    Parameters
    ----------
    users
        See `ReactiveUsers.fit`.
    cluster, policy
        As for `onega.simulate`, without preemption; those of the baseline run by default.
    rng
        Draws which users are doubled or left out, and where among equal sizes a moved job lies.
    population
        How many times the log's users: 1.1 is a tenth more users (copies of users drawn at random,
        each moved by a random number of weeks, round the log's span).
    reactions
        ``"thinks"``: a job that waited for a result in the log comes as much later or sooner as the
        result does; ``"sizes"``: run times and widths move by the user's coefficients. With none of
        them it is an open loop: the log's submissions at the log's times.
    discouragement
        Users who find a longer queue than in the baseline run give a job up, and what would have
        waited for it, with this probability times the difference of levels (0 to 1). See
        `ReactiveUsers.discouragement` for the log's own slope.

    Returns
    -------
    Schedule
        With the workload that came about: ``after`` and ``think`` say which job was waited for.

    Raises
    ------
    ExperimentError
        Also if the loop runs away: users whose jobs grow with the queue make it grow further.
    """
    base = users.baseline
    machine = base.cluster if cluster is None else cluster
    machine = machine if isinstance(machine, Cluster) else Cluster(machine)
    machine.require_plain("a closed loop")
    rule = _rule(users, base.policy if policy is None else policy)
    _check(population=population, discouragement=discouragement, reactions=reactions)
    seed = seed_sequence(rng)
    run = _Run(users, machine, rule, seed)
    run.prepare(_people(users, population, generator(child(seed, 0))), reactions)
    run.crowd.rules["sizes"] = "sizes" in reactions
    run.crowd.rules["discouragement"] = discouragement
    run.go()
    words = ", ".join(reactions) or "none (open loop)"
    return run.schedule((
        f"closed loop: {rule}, users of {base.workload.meta.source or 'a log'} used to "
        f"{base.policy} on {base.cluster.procs} processors, within {users.within:g} s, "
        f"reactions: {words}, population={population:g}, discouragement={discouragement:g}",
        f"rng={describe_seed(seed)}",
    ))  # fmt: skip


def _rule(users: ReactiveUsers, policy: Any) -> Policy:  # noqa: ANN401
    rule = without_preemption(policy)
    if rule.order in ("lcfs", MULTIFACTOR):
        raise ExperimentError(
            f"{rule.order} isn't possible in a closed loop; take fcfs, spf, saf, wfp3, …"
        )
    if rule.knowledge is None:
        has = users.baseline.workload.has("estimate")
        rule = rule.knowing("estimate" if has else "runtime")
    return rule


def _check(*, population: float, discouragement: float, reactions: Collection[str]) -> None:
    if not (math.isfinite(population) and population > 0):
        raise ExperimentError(f"population must be a positive number, got {population}")
    if not 0 <= discouragement <= 1:
        raise ExperimentError(f"discouragement must lie in [0, 1], got {discouragement}")
    for one in reactions:
        if one not in REACTIONS:
            raise ExperimentError(f"no reaction {one!r}; {suggest(str(one), REACTIONS)}")


def _people(users: ReactiveUsers, population: float, random: np.random.Generator) -> _Lines:
    """Lay out all jobs: the log's users, or some of them, and copies in other weeks."""
    every_user = np.arange(users.users.size)
    whole, part = divmod(population, 1)
    some = random.permutation(every_user)[: round(part * every_user.size)]
    if not whole and not some.size:
        raise ExperimentError(f"population {population:g} of {every_user.size} users leaves none")
    parts: list[_Lines] = []
    size = 0
    for copy in range(int(whole) + (some.size > 0)):
        chosen = np.isin(users.user, every_user if copy < whole else some)
        turn = np.zeros(every_user.size, np.int64)
        if copy == 0:
            chosen |= users.user < 0  # jobs without a user are there once
        else:
            turn = random.integers(0, weeks_of(users), every_user.size)
        one = _turned(users, np.flatnonzero(chosen), turn)
        after = np.where(one.after >= 0, one.after + size, -1)
        parts.append(one._replace(copy=np.full(one.row.size, copy), after=after))
        size += one.row.size
    return _Lines(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _turned(users: ReactiveUsers, row: Ints, turn: Ints) -> _Lines:
    """Move users' whole histories by numbers of weeks, round the log's span."""
    since = users.baseline.workload.column("submit")[row]
    since = since - users.baseline.workload.column("submit")[0]
    known = users.user[row] >= 0
    by = np.where(known, turn[users.user[row]], 0) * WEEK
    moved = np.where(by == 0, 0.0, (since + by) % (weeks_of(users) * WEEK) - since)
    place = np.full(users.user.size, -1)
    place[row] = np.arange(row.size)
    after = np.where(users.after[row] >= 0, place[users.after[row]], -1)
    # Where a history goes on at the beginning of the span, no job waits across it.
    after[(after >= 0) & (moved[after] != moved)] = -1
    return _Lines(row, moved, np.zeros(row.size, np.int64), after)


def weeks_of(users: ReactiveUsers) -> int:
    """How many weeks the log has, the last one perhaps in part."""
    submit = users.baseline.workload.column("submit")
    return max(1, math.ceil((float(submit[-1]) - float(submit[0]) + 1) / WEEK))


def moved_users(users: ReactiveUsers, turn: Ints, *, closed: bool) -> Schedule:
    """Simulate users whose histories are moved by numbers of weeks, on their own machine.

    Closed, they wait for their results as they did where they stood in the log.
    """
    rule = _rule(users, users.baseline.policy)
    run = _Run(users, users.baseline.cluster, rule, seed_sequence(0))
    lines = _turned(users, np.arange(users.user.size), turn)
    run.prepare(lines, ("thinks",) if closed else ())
    run.go()
    return run.schedule((f"users' histories moved by weeks, {'closed' if closed else 'open'}",))


class _Run:
    """One run: users laid out for the kernel."""

    def __init__(self, users: ReactiveUsers, machine: Cluster, rule: Policy, seed: Any) -> None:  # noqa: ANN401
        self.users, self.machine, self.rule, self.seed = users, machine, rule, seed

    def prepare(self, people: _Lines, reactions: Collection[str]) -> None:
        """Make lines, their order, and what sizes are moved along."""
        users, base = self.users, self.users.baseline
        work, procs = base.workload.column("runtime"), base.workload.column("procs")
        order = np.argsort(base.workload.column("submit")[people.row] + people.moved, kind="stable")
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        self.after = np.where(people.after >= 0, place[people.after], -1)[order]
        if "thinks" not in reactions:
            self.after = np.full(order.size, -1)
        self.row, self.copy = people.row[order], people.copy[order]
        self.lines = self._lines(self.row, people.moved[order])
        rules = np.zeros(1, kernel.RULES)
        rules["busy_scale"] = base.cluster.procs / self.machine.procs
        rules["most"] = self.machine.procs
        rules["patience"], rules["growth"] = RUNAWAY_JOBS, RUNAWAY_GROWTH
        draws = generator(child(self.seed, 1)).random(3 * order.size)
        self.crowd = kernel.Crowd(
            rules, self.lines, self._calendar(), np.zeros(order.size, np.int64),
            np.vstack((users.coefficients, np.zeros((1, 4)))),
            np.sort(np.stack((work, procs)).astype(np.float64), axis=1), users.cuts, draws,
        )  # fmt: skip

    def _calendar(self) -> Heap:
        """Make the heap of the lines that come at their own times: they are sorted by them."""
        coming, own = make_heap(self.lines.size), np.flatnonzero(self.after < 0)
        entry = coming.entry[: own.size]
        entry["key"] = self.lines["submit"][own]
        entry["seq"] = entry["slot"] = own
        coming.entry["place"][own] = np.arange(own.size)
        coming.size[0] = own.size
        return coming

    def _lines(self, row: Ints, moved: Any) -> Any:  # noqa: ANN401
        users, base = self.users, self.users.baseline
        log = base.workload
        lines = np.zeros(row.size, kernel.LINE)
        work = log.column("runtime")
        estimate = log.column("estimate") if log.has("estimate") else np.full(len(log), np.nan)
        self.estimated = (estimate > 0) & (self.rule.knowledge == "estimate")
        lines["submit"] = log.column("submit")[row] + moved
        lines["end"] = base.end[row] + moved
        lines["work"] = work[row]
        lines["expect"] = np.where(self.estimated, estimate, work)[row]
        lines["procs"] = log.column("procs")[row]
        lines["user"] = np.where(users.user >= 0, users.user, users.users.size)[row]
        lines["waiting"], lines["busy"] = users.levels[:, row]
        for prefix, values in (("r", work), ("p", log.column("procs"))):
            ordered = np.sort(values)
            for end, side in (("low", "left"), ("high", "right")):
                found = np.searchsorted(ordered, values, side=side)  # type: ignore[call-overload]
                lines[f"{prefix}_{end}"] = found[row] / ordered.size
        lines["follower"], lines["sibling"] = _chained(self.after)
        return lines

    def go(self) -> None:
        """Run the kernel to the end."""
        jobs = np.zeros(self.lines.size, engine.JOB)
        self.begin = float(self.lines["submit"][0])
        jobs["submit"][0] = self.begin
        jobs["procs"][0] = self.machine.procs
        jobs["start"] = jobs["end"] = np.nan
        rule, own = self.rule, None
        order: Any = rule.order
        if isinstance(order, str) and order in _STATIC:
            order = Priority(_STATIC[order], name=order)
        if isinstance(order, Priority):
            rule = Policy(Priority(order.function, name=order.name), rule.backfill, rule.knowledge)
            own = compile_priority(order)
        elif order != "fcfs":
            own = NO_FUNCTION
        control = self.machine.rates
        state = setup.make_state(
            setup.make_machine(rule, self.machine, jobs, ties="instant"),
            jobs,
            setup.make_levels(control),
            setup.make_draws(control, jobs.size, child(self.seed, 2)),
        )
        self.switches: list[Any] = []
        reason = engine.MORE
        while reason != engine.DONE:
            reason = kernel.run_closed(state, self.crowd, own, 1 << 16)
            count = int(state.machine[0]["switches"])
            if count:
                self.switches.append(state.log[:count].copy())
                state.machine[0]["switches"] = 0
            if reason == kernel.RUNAWAY:
                raise ExperimentError(self._runs_away(state.machine[0]))
            if reason in (engine.STUCK, engine.BAD_KEY):
                raise ExperimentError(f"{self.rule} gave no order for a waiting job")
        self.arrived = int(state.machine[0]["arrived"])
        self.jobs = jobs[: self.arrived]

    def _runs_away(self, machine: Any) -> str:  # noqa: ANN401
        rules = self.crowd.rules[0]
        days = (float(machine["now"]) - self.begin) / 86_400
        return (
            f"the loop runs away: after {days:.0f} days and {int(machine['arrived'])} jobs users "
            f"have submitted {rules['made'] / rules['meant']:.1f} times the work that these jobs "
            "had in the log, under longer queues: sizes that grow with the queue feed themselves; "
            "leave groups like WR+ and OR+ out (groups=, --groups) or sizes alone"
        )

    def schedule(self, provenance: tuple[str, ...]) -> Schedule:
        """Return what happened."""
        users, jobs, line = self.users, self.jobs, self.crowd.made[: self.arrived]
        log, row = users.baseline.workload, self.row[line]
        number = np.empty(self.lines.size, np.int64)  # of each line, from 1
        number[line] = np.arange(1, self.arrived + 1)
        before = self.after[line]
        follows = before >= 0
        before = np.where(follows, number[before], 0)
        think = np.where(follows, jobs["submit"] - jobs["end"][before - 1], np.nan)
        highest = int(users.users.max(initial=0)) + 1
        table = log.table[row].with_columns(
            pl.Series("job", np.arange(1, self.arrived + 1)),
            pl.Series("submit", jobs["submit"]),
            pl.Series("runtime", jobs["work"]),
            pl.Series("procs", jobs["procs"]),
            pl.Series("wait", jobs["start"] - jobs["submit"]),
            pl.col("user") + pl.Series("copy", self.copy[line] * highest, dtype=pl.Int32),
            pl.Series("after", np.where(follows, before, -1)).replace(-1, None),
            pl.Series("think", think).fill_nan(None),
        )
        if self.estimated.any():
            moved = pl.Series("expect", np.where(self.estimated[row], jobs["expect"], np.nan))
            table = table.with_columns(
                estimate=pl.when(moved.is_not_nan()).then(moved).otherwise(pl.col("estimate"))
            )
        meta = replace(log.meta, procs=self.machine.procs, report=Report(), provenance=provenance)
        cut = int(np.sum(self.lines["procs"][line] > self.machine.procs))
        given_up = int(self.crowd.rules["given_up"][0])
        never = self.lines.size - self.arrived - given_up
        report = Report.of([
            Finding("given_up", "dropped", given_up, "jobs given up because of the queue"),
            Finding("not_submitted", "dropped", never, "jobs that would have waited for them"),
            Finding("cut", "changed", cut, f"jobs wider than the machine, cut to "
                    f"{self.machine.procs} processors"),
        ])  # fmt: skip
        return Schedule(
            Workload(table, meta), self.machine, self.rule,
            jobs["start"].copy(), jobs["end"].copy(), jobs["work"].copy(),
            np.zeros(self.arrived, dtype=bool),
            _history(self.machine.rates, self.begin, self.switches), None, provenance,
            users.report + report,
        )  # fmt: skip


def _chained(after: Ints) -> tuple[Ints, Ints]:
    """Return the first line that waits for each one, and the next that waits for the same."""
    follower, sibling = np.full((2, after.size), -1)
    follows = np.flatnonzero(after >= 0)
    order = follows[np.argsort(after[follows], kind="stable")]
    first = np.concatenate(([True], after[order][1:] != after[order][:-1]))[: order.size]
    follower[after[order[first]]] = order[first]
    sibling[order[:-1]] = np.where(first[1:], -1, order[1:])
    return follower, sibling

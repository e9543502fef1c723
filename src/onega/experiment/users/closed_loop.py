"""`closed_loop`: simulate a machine whose users see the queue and react to it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.machine.cluster import Cluster
from onega.core.policy import MULTIFACTOR, KeyFunction, Policy, Priority
from onega.core.rng import Rng, child, describe_seed, generator, seed_sequence
from onega.core.schedule.schedule import Schedule
from onega.core.workload.chains import Ints
from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload
from onega.experiment.users.feedback_state import cut_points, seen_at_submission
from onega.experiment.users.reactive_users import WEEK, ReactiveUsers

Reaction = Literal["sizes", "thinks"]
REACTIONS: Final = ("sizes", "thinks")

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


def closed_loop(
    model: ReactiveUsers,
    cluster: Cluster | int,
    policy: str | Policy | Priority | KeyFunction = "easy",
    *,
    rng: Rng = None,
    jobs: int | None = None,
    span: float | None = None,
    population: float = 1.0,
    reactions: Collection[Reaction] = REACTIONS,
    discouragement: float = 0.0,
) -> Schedule:
    """Simulate users who draw their next job knowing the queue.

    Every user goes through his own log, from a random week on and round and round. Nothing of it is
    changed where the simulated queue is what he saw then; where it differs, he reacts.

    Parameters
    ----------
    model
        See `ReactiveUsers.fit`.
    cluster, policy
        As for `onega.simulate`; orders that preempt are not possible.
    rng
        Draws the week in which each user begins, and where among equal sizes a job lies.
    jobs, span
        How many jobs are submitted, or for how many seconds; the log's span by default. Every job
        that was submitted is run to its end.
    population
        How many times the log's users: 1.1 is a tenth more people (copies, each with a week of
        his own).
    reactions
        ``"sizes"``: run times and widths move by the user's coefficients; ``"thinks"``: users wait
        for their last job where they did so in the log. With none of them it is an open loop: the
        log's submissions at the log's times, users' weeks apart.
    discouragement
        Users who find a longer queue than they did in the log give up their session with this
        probability times the difference of levels (0 to 1): they submit less when the queue is
        long. See `ReactiveUsers.discouragement` for the log's own slope.

    Returns
    -------
    Schedule
        With the workload that came about: ``after`` and ``think`` say which job was waited for.
    """
    machine = cluster if isinstance(cluster, Cluster) else Cluster(cluster)
    machine.require_plain("a closed loop")
    rule = _rule(model, policy)
    _check(jobs=jobs, span=span, population=population, discouragement=discouragement)
    for one in reactions:
        if one not in REACTIONS:
            raise ExperimentError(f"no reaction {one!r}; {suggest(str(one), REACTIONS)}")
    seed = seed_sequence(rng)
    run = _Run(model, machine, rule, seed)
    run.prepare(jobs, span, population)
    run.rules["sizes"] = "sizes" in reactions
    run.rules["thinks"] = "thinks" in reactions
    run.rules["discouragement"] = discouragement
    run.go()
    words = ", ".join(reactions) or "none (open loop)"
    return run.schedule((
        f"closed loop: {rule}, users of {model.meta.source or 'a log'}, reactions: {words}, "
        f"population={population:g}, discouragement={discouragement:g}",
        f"rng={describe_seed(seed)}",
    ))  # fmt: skip


def calibrate(
    model: ReactiveUsers,
    cluster: Cluster | int,
    policy: str | Policy | Priority | KeyFunction = "easy",
    *,
    rng: Rng = None,
) -> ReactiveUsers:
    """Return the users with a sense of the queue that fits this machine.

    No simulated policy gives exactly the queues of the log, whose job manager had rules of its own.
    Here users learn the levels anew, from a run in which they keep their sizes: "a long queue" is
    then what is long under this policy, and on average nobody changes anything. What another policy
    or machine changes is then due to the change alone.
    """
    keep_sizes: tuple[Reaction, ...] = ("thinks",)
    run = closed_loop(model, cluster, policy, rng=rng, reactions=keep_sizes)
    seen = seen_at_submission(run)
    busy = np.asarray(seen.busy * (model.procs / run.cluster.procs), dtype=np.float64)
    cuts = {"waiting": cut_points(seen.waiting), "busy": cut_points(busy)}
    return replace(model, cuts={**model.cuts, **cuts})


def _rule(model: ReactiveUsers, policy: Any) -> Policy:  # noqa: ANN401
    rule = Policy.parse(policy)
    if rule.preemptive:
        raise ExperimentError(f"{rule} preempts; a closed loop takes orders that don't")
    if rule.order in ("lcfs", MULTIFACTOR):
        raise ExperimentError(
            f"{rule.order} isn't possible in a closed loop; take fcfs, spf, saf, wfp3, …"
        )
    if rule.knowledge is None:
        has = model.jobs["estimate"].null_count() < model.jobs.height
        rule = rule.knowing("estimate" if has else "runtime")
    return rule


def _check(
    *, jobs: int | None, span: float | None, population: float, discouragement: float
) -> None:
    if jobs is not None and span is not None:
        raise ExperimentError("give a number of jobs or a span, not both")
    if jobs is not None and (isinstance(jobs, bool) or jobs < 1):
        raise ExperimentError(f"jobs must be at least 1, got {jobs}")
    if span is not None and not (math.isfinite(span) and span > 0):
        raise ExperimentError(f"span must be a positive number of seconds, got {span}")
    if not (math.isfinite(population) and population > 0):
        raise ExperimentError(f"population must be a positive number, got {population}")
    if not 0 <= discouragement <= 1:
        raise ExperimentError(f"discouragement must lie in [0, 1], got {discouragement}")


class _Run:
    """One run: the model laid out for the kernel."""

    def __init__(self, model: ReactiveUsers, machine: Cluster, rule: Policy, seed: Any) -> None:  # noqa: ANN401
        self.model, self.machine, self.rule, self.seed = model, machine, rule, seed

    def prepare(self, jobs: int | None, span: float | None, population: float) -> None:
        """Make users, their lines, the machine."""
        from onega.kernels.structures.heap import make_heap
        from onega.kernels.users import closed_loop as kernel

        random = generator(child(self.seed, 0))
        who = self._people(population, random)
        lines, sessions, owner = self._lines(kernel)
        users = self._users(kernel, who, owner)
        until = math.inf if jobs is not None else (span or self.model.span)
        rounds = 1 if jobs is not None else math.ceil(until / self.model.span) + 1
        counts = np.bincount(self.model.jobs["user"].to_numpy())
        size = jobs if jobs is not None else int(counts[who].sum()) * rounds
        self.who = who
        self.rules = np.zeros(1, kernel.RULES)
        self.rules["until"] = until
        self.rules["period"] = self.model.span
        self.rules["busy_scale"] = self.model.procs / self.machine.procs
        self.rules["most"] = self.machine.procs
        log = self.model.jobs
        sizes = np.sort(np.stack((log["runtime"].to_numpy(), log["procs"].to_numpy())), axis=1)
        cuts = np.stack((self.model.cuts["waiting"], self.model.cuts["busy"]))
        draws = random.random(3 * min(size, 1_000_003))
        made = np.zeros(size, kernel.MADE)
        self.crowd = kernel.Crowd(
            self.rules, users, lines, sessions, np.ascontiguousarray(sizes), cuts,
            make_heap(users.size), made, draws,
        )  # fmt: skip
        self._place(random, owner)
        zero = int(np.sum((lines["waits"] == 0) & (lines["delay"] == 0)))
        copies = -(-users.size // self.model.users.size)
        self.burst = users.size + copies * zero + 1

    def _people(self, population: float, random: np.random.Generator) -> Ints:
        everybody = np.arange(self.model.users.size)
        whole, part = divmod(population, 1)
        some = random.permutation(everybody)[: round(part * everybody.size)]
        who = np.concatenate((np.tile(everybody, int(whole)), np.sort(some)))
        if not who.size:
            raise ExperimentError(
                f"population {population:g} of {everybody.size} users leaves nobody"
            )
        return who

    def _lines(self, kernel: Any) -> tuple[Any, Any, Ints]:  # noqa: ANN401
        log = self.model.jobs
        lines = np.zeros(log.height, kernel.LINE)
        work = log["runtime"].to_numpy()
        estimate = log["estimate"].fill_null(float("nan")).to_numpy()
        known = (estimate > 0) & (self.rule.knowledge == "estimate")
        lines["submit"] = log["submit"].to_numpy() - self.model.first
        lines["work"] = work
        lines["expect"] = np.where(known, estimate, work)
        for name in ("procs", "waiting", "busy", "waits", "delay"):
            lines[name] = log[name].to_numpy()
        self.estimated = known
        for prefix, values in (("r", work), ("p", log["procs"].to_numpy())):
            ordered = np.sort(values)
            for end, side in (("low", "left"), ("high", "right")):
                lines[f"{prefix}_{end}"] = (
                    np.searchsorted(ordered, values, side=side) / ordered.size  # type: ignore[call-overload]
                )
        begins = np.flatnonzero(log["begins"].to_numpy())
        sessions = np.zeros(begins.size, kernel.SESSION)
        sessions["start"] = lines["submit"][begins]
        sessions["last"] = np.append(begins[1:], log.height) - 1
        return lines, sessions, log["user"].to_numpy()[begins]

    def _users(self, kernel: Any, who: Ints, owner: Ints) -> Any:  # noqa: ANN401
        users = np.zeros(who.size, kernel.USER)
        users["first"] = np.searchsorted(owner, who, side="left")
        users["last"] = np.searchsorted(owner, who, side="right") - 1
        for name, k in (("wr", 0), ("br", 1), ("wp", 2), ("bp", 3)):
            users[name] = self.model.coefficients[who, k]
        users["after"] = -1
        return users

    def _place(self, random: np.random.Generator, owner: Ints) -> None:
        """Let everybody begin in a week of his own: his log is turned by whole weeks."""
        users, sessions, heap = self.crowd.users, self.crowd.sessions, self.crowd.heap
        turned = WEEK * random.integers(0, round(self.model.span / WEEK), users.size)
        when = np.empty(users.size)
        for number, user in enumerate(users):
            mine = sessions["start"][user["first"] : user["last"] + 1]
            skipped = int(np.searchsorted(mine, turned[number]))
            base = -turned[number]
            if skipped == mine.size:
                skipped, base = 0, base + self.model.span
            session = int(user["first"]) + skipped
            user["session"], user["offset"] = session, base
            user["job"] = 0 if session == 0 else sessions["last"][session - 1] + 1
            when[number] = sessions["start"][session] + base
        # A sorted list is a heap.
        order = np.argsort(when, kind="stable")
        heap.entry["key"] = when[order]
        heap.entry["slot"] = order
        heap.entry["seq"] = np.arange(order.size)
        heap.entry["place"][order] = np.arange(order.size)
        heap.size[0] = order.size
        self.rules["sequence"] = order.size
        self.begin = float(when[order[0]])

    def go(self) -> None:
        """Run the kernel to the end."""
        from onega.kernels.pool import engine
        from onega.kernels.structures.waiting_line import grow_waiting, make_waiting
        from onega.kernels.users.closed_loop import run_closed
        from onega.simulation.pool import setup
        from onega.simulation.priority import NO_FUNCTION, compile_priority

        jobs = np.zeros(self.crowd.made.size, engine.JOB)
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
            setup.make_draws(control, jobs.size, child(self.seed, 1)),
        )
        if own is None:
            room = max(4 * self.burst, setup.QUEUE_ROOM)
            state = state._replace(waiting=make_waiting(room, self.machine.procs))
        self.switches: list[Any] = []
        reason = engine.MORE
        while reason != engine.DONE:
            reason = run_closed(state, self.crowd, own, 1 << 16, self.burst)
            count = int(state.machine[0]["switches"])
            if count:
                self.switches.append(state.log[:count].copy())
                state.machine[0]["switches"] = 0
            if reason == engine.QUEUE_FULL:
                state = state._replace(waiting=grow_waiting(state.waiting))
            if reason in (engine.STUCK, engine.BAD_KEY):
                raise ExperimentError(f"{self.rule} gave no order for a waiting job")
        self.arrived = int(state.machine[0]["arrived"])
        if self.arrived == 0:
            raise ExperimentError("nobody submits anything within the span; make it longer")
        self.jobs = jobs[: self.arrived]

    def schedule(self, provenance: tuple[str, ...]) -> Schedule:
        """Return what happened."""
        from onega.simulation.simulate import _history

        model, jobs, made = self.model, self.jobs, self.crowd.made[: self.arrived]
        copy = np.arange(self.who.size) // model.users.size
        numbers = model.users[self.who] + copy * (int(model.users.max()) + 1)
        line = made["line"]
        followed = made["after"] >= 0
        estimate = np.where(self.estimated[line], jobs["expect"], np.nan)
        table = {
            "submit": jobs["submit"],
            "runtime": jobs["work"],
            "procs": jobs["procs"],
            "estimate": pl.Series(estimate).fill_nan(None),
            "wait": jobs["start"] - jobs["submit"],
            "user": numbers[made["user"]],
            "after": pl.Series(np.where(followed, made["after"] + 1.0, np.nan)).fill_nan(None),
            "think": pl.Series(np.where(followed, made["think"], np.nan)).fill_nan(None),
        }
        # Weeks are turned, so the dates aren't the log's, but weekdays and hours are.
        meta = replace(model.meta, source="closed loop", procs=self.machine.procs,
                       epoch=None if model.meta.epoch is None else model.meta.epoch + model.first,
                       header=(), report=Report(), provenance=provenance)  # fmt: skip
        given_up = int(self.rules["given_up"][0])
        late = int(self.rules["late"][0])
        cut = int(np.sum(self.crowd.lines["procs"][line] > self.machine.procs))
        report = Report.of([
            Finding("given_up", "noted", given_up, "jobs not submitted because of the queue"),
            Finding("late", "noted", late, "days by which sessions were put off until users were "
                    "free"),
            Finding("cut", "changed", cut, f"jobs wider than the machine, cut to "
                    f"{self.machine.procs} processors"),
        ])  # fmt: skip
        return Schedule(
            Workload(table, meta), self.machine, self.rule,
            jobs["start"].copy(), jobs["end"].copy(), jobs["work"].copy(),
            np.zeros(self.arrived, dtype=bool),
            _history(self.machine.rates, self.begin, self.switches), None, provenance, report,
        )  # fmt: skip

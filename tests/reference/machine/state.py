"""The naive detailed machine: who is where, and what can happen to whom. See `reference.detailed`.

Nothing is kept that can be counted anew: what nodes, accounts and users hold is summed over the
running attempts whenever it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp2, inf, isfinite
from typing import Any

from onega.kernels.machine import codes
from onega.simulation.machine.problem import Problem

Number = Any  # Fraction, or float
ABSENT, WAITING, RUNNING, GONE = "absent", "waiting", "running", "gone"
END_EVENT = {
    codes.COMPLETED: codes.ENDED_COMPLETED,
    codes.TIMEOUT: codes.ENDED_TIMEOUT,
    codes.CANCELLED: codes.ENDED_CANCELLED,
    codes.KILLED: codes.ENDED_KILLED,
    codes.LOST: codes.ENDED_LOST,
    codes.DROPPED: codes.ENDED_DROPPED,
}


@dataclass(eq=False)
class Attempt:
    """One stretch of a job on processors: wake-up and launch, then work, then completion."""

    job: int
    option: int
    start: Number
    wake: Number
    launched: Number  # when wake-up and launch are over
    v_expected: Number  # the scheduler expects the end at this reading of the work clock
    held: dict[int, list[Number]]  # node: how much of each of its resources
    begin: Number = None  # when the work began
    v_begin: Number = None  # the work clock then
    v_end: Number = None  # the work is done at this reading of the work clock
    finishing_until: Number = None  # the completion overhead, once it has begun
    end: Number = None

    @property
    def working(self) -> bool:
        return self.begin is not None and self.finishing_until is None


class Machine:
    """Everything that changes. Jobs, options, nodes and partitions are known by number."""

    def __init__(self, problem: Problem, number: Callable[[float], Number]) -> None:
        self.problem = problem
        self.number = number
        jobs, nodes = problem.jobs, problem.nodes
        self.count = jobs.size
        self.options = [
            list(range(first, first + many))
            for first, many in zip(jobs["first_option"], jobs["options"])
        ]
        self.now: Number = self.exact(problem.t0)
        # -- the work clock: V(t_ref) = v_ref
        self.level, self.t_ref, self.v_ref = 0, self.now, self.exact(0.0)
        # -- jobs
        self.phase = [ABSENT] * self.count
        self.due: list[Number] = [  # when each is submitted, as far as that is known
            self.exact(submit) if after < 0 else inf
            for submit, after in zip(jobs["submit"], jobs["after"])
        ]
        self.submit: list[Number] = [None] * self.count
        self.start: list[Number] = [None] * self.count
        self.end: list[Number] = [None] * self.count
        self.state = [codes.UNSTARTED] * self.count
        self.option = [-1] * self.count
        self.saved: list[Number] = [self.exact(0.0)] * self.count
        self.lost: list[Number] = [self.exact(0.0)] * self.count
        self.priority_key = [0.0] * self.count  # MULTIFACTOR only
        self.attempts: list[Attempt] = []  # in the order of starts
        # -- nodes and machine-wide resources
        self.capacity = [[self.exact(x) for x in row] for row in nodes.capacity]
        self.kinds = range(nodes.capacity.shape[1])
        self.shared = [self.exact(x) for x in nodes.shared]
        self.up = [True] * len(self.capacity)
        self.draining = [False] * len(self.capacity)
        self.withheld = [[self.exact(0.0)] * len(self.kinds) for _ in self.capacity]
        self.down_since: list[Number] = [None] * len(self.capacity)
        # -- the calendar; reservations that are over before they begin never happen
        self.reservations = [
            (self.exact(begin), self.exact(end), n, [self.exact(x) for x in amount])
            for begin, end, n, amount in problem.reservations
            if end > max(begin, problem.t0)
        ]
        self.steps = [
            (self.exact(time), resource, self.exact(capacity))
            for time, resource, capacity in problem.steps
        ]
        # -- sleep: of real nodes, since when each is idle (or awake, if that is later than now);
        # of pools, a stack of (since, processors), the top at the end
        self.since: list[Number] = [self.now] * len(self.capacity)
        self.stack = [[(self.now, int(row[0]))] for row in nodes.capacity]
        self.timers: dict[int, tuple[Number, int, list[int]]] = {}  # by partition, see the pass
        # -- fair-share: (usage, unit it counts to) of each user and, under None, of all together
        self.usage: dict[int | None, tuple[float, float]] = {}
        self.epoch = self.exact(self.problem.t0)
        self.priorities_due = self.now
        # -- what is told in the end
        self.log: list[tuple[Number, int, int, int]] = []
        self.parts: list[tuple[int, Number, Number, int, int, int]] = []
        self.switches: list[tuple[Number, int]] = []

    def exact(self, value: float) -> Number:
        return self.number(float(value)) if isfinite(value) else float(value)

    def tell(self, event: int, job: int = -1, node: int = -1) -> None:
        self.log.append((self.now, event, job, node))

    # -- the work clock

    @property
    def rate(self) -> Number:
        return self.exact(self.problem.rates.rates[self.level])

    @property
    def clock(self) -> Number:
        """V(now) = integral of the rate."""
        return self.v_ref + (self.now - self.t_ref) * self.rate

    def time_of(self, v: Number) -> Number:
        """When the work clock reaches v at the present rate."""
        return max(self.now, self.t_ref + (v - self.v_ref) / self.rate)

    # -- jobs

    @property
    def running(self) -> list[Attempt]:
        """Attempts that hold processors, in the order of their starts."""
        return [attempt for attempt in self.attempts if attempt.end is None]

    def in_phase(self, phase: str) -> list[int]:
        return [j for j in range(self.count) if self.phase[j] == phase]

    def attempt_of(self, j: int) -> Attempt:
        (found,) = [attempt for attempt in self.running if attempt.job == j]
        return found

    def procs(self, option: int) -> int:
        return int(self.problem.options["procs"][option])

    def work_left(self, j: int, option: int) -> Number:
        return self.exact(self.problem.options["work"][option]) - self.saved[j]

    def expect_left(self, j: int, option: int) -> Number:
        left = self.exact(self.problem.options["expect"][option]) - self.saved[j]
        return max(left, self.exact(0.0))

    def demand(self, option: int) -> list[Number]:
        return [self.exact(x) for x in self.problem.demand[option]]

    def chunk(self, option: int) -> list[Number]:
        """What one chunk needs of each of a node's resources."""
        return [self.exact(x) for x in self.problem.needs[self.problem.options["chunk"][option]]]

    def choices(self, j: int) -> list[int]:
        """The options that are open to a job: one that has run keeps the one it had."""
        return self.options[j] if self.option[j] < 0 else [self.option[j]]

    def accounts(self, j: int) -> list[int]:
        """The limits that a job counts against."""
        limits = [self.problem.jobs[f"limit_{k}"][j] for k in (1, 2, 3)]
        return [limit for limit in limits if limit > 0]

    def account_allows(self, j: int, option: int) -> bool:
        """Whether one more job with these processors keeps all accounts of the job in limits."""
        limits = self.problem.limits
        for account in self.accounts(j):
            others = [a for a in self.running if account in self.accounts(a.job)]
            procs = sum(self.procs(a.option) for a in others) + self.procs(option)
            if len(others) + 1 > limits["jobs"][account]:
                return False
            if procs > limits["procs"][account]:
                return False
        return True

    # -- nodes

    def on_node(self, n: int) -> list[Attempt]:
        return [attempt for attempt in self.running if n in attempt.held]

    def usable(self, n: int) -> bool:
        return self.up[n] and not self.draining[n]

    def free(self) -> list[list[Number]]:
        """capacity − used − withheld, of every resource of every node."""
        return [
            [
                self.capacity[n][k]
                - self.withheld[n][k]
                - sum(attempt.held[n][k] for attempt in self.on_node(n))
                for k in self.kinds
            ]
            for n in range(len(self.capacity))
        ]

    def free_shared(self) -> list[Number]:
        return [
            capacity - sum(self.demand(attempt.option)[g] for attempt in self.running)
            for g, capacity in enumerate(self.shared)
        ]

    # -- starts and ends on processors

    def begin_work(self, attempt: Attempt) -> None:
        attempt.begin = self.now
        attempt.v_begin = self.clock
        attempt.v_end = self.clock + self.work_left(attempt.job, attempt.option)

    def take(self, j: int, option: int, held: dict[int, list[Number]]) -> Attempt:
        """Give a job its processors now."""
        wake = self.wake_up(held, self.procs(option))
        self.update_usage(int(self.problem.jobs["user"][j]))
        attempt = Attempt(
            job=j,
            option=option,
            start=self.now,
            wake=wake,
            launched=self.now + wake + self.exact(self.problem.jobs["launch"][j]),
            v_expected=self.clock + self.expect_left(j, option),
            held=held,
        )
        self.attempts.append(attempt)
        self.phase[j] = RUNNING
        self.option[j] = option
        if self.start[j] is None:
            self.start[j] = self.now
        if attempt.launched == self.now:
            self.begin_work(attempt)
        return attempt

    def release(self, attempt: Attempt) -> None:
        """Its processors come free now; those of nodes that are down stay down."""
        self.update_usage(int(self.problem.jobs["user"][attempt.job]))
        attempt.end = self.now
        for n in attempt.held:
            if self.problem.nodes.pooled:
                self.stack[n].append((self.now, self.procs(attempt.option)))
            elif self.up[n] and not self.on_node(n):
                self.since[n] = self.now

    # -- sleep

    def depth(self, since: Number) -> int:
        """The sleep state of what is idle since then; −1: awake, or about to be.

        Nothing is asleep at the very instant it came free, not even with a timeout of 0.
        """
        if since >= self.now:
            return -1
        timeouts = [self.exact(x) for x in self.problem.sleep["timeout"]]
        reached = [s for s, timeout in enumerate(timeouts) if self.now - since >= timeout]
        return max(reached, default=-1)

    def delay(self, since: Number) -> Number:
        """How long until what is idle since then could work."""
        if since > self.now:
            return since - self.now
        s = self.depth(since)
        return self.exact(self.problem.sleep["delay"][s]) if s >= 0 else self.exact(0.0)

    def node_depth(self, n: int) -> int:
        """Nodes that are asleep come later in the order of nodes."""
        if self.problem.nodes.pooled or self.on_node(n):
            return 0
        return self.depth(self.since[n]) + 1

    def add_part(
        self, kind: int, since: Number, until: Number, count: int, depth: int, n: int
    ) -> None:
        if until > since:
            self.parts.append((kind, since, until, count, depth, n))

    def end_idle(self, n: int, since: Number, count: int) -> None:
        if self.problem.sleep.size:
            self.add_part(codes.IDLE, since, self.now, count, -1, n)

    def waken(self, n: int, since: Number, count: int) -> Number:
        """An idle stretch ends because somebody wants the processors; since when they are awake."""
        self.end_idle(n, since, count)
        s = self.depth(since)
        if s < 0:
            return since
        ready = self.now + self.delay(since)
        self.add_part(codes.WAKING, self.now, ready, count, s, n)
        return ready

    def pop(self, n: int, procs: int) -> list[tuple[Number, int]]:
        """Take processors (all if there are fewer) from the top of a pool's stack; top first."""
        popped = []
        while procs > 0 and self.stack[n]:
            since, count = self.stack[n].pop()
            if count > procs:
                self.stack[n].append((since, count - procs))
            popped.append((since, min(count, procs)))
            procs -= min(count, procs)
        return popped

    def wake_up(self, held: dict[int, list[Number]], procs: int) -> Number:
        """Wake what a start takes; how long that takes: the slowest of them."""
        wake = self.exact(0.0)
        for n in held:
            if self.problem.nodes.pooled:
                for since, count in self.pop(n, procs):
                    wake = max(wake, self.delay(since))
                    self.waken(n, since, count)
            elif self.on_node(n):
                wake = max(wake, self.since[n] - self.now)
            else:
                wake = max(wake, self.delay(self.since[n]))
                self.since[n] = self.waken(n, self.since[n], int(self.capacity[n][0]))
        return wake

    # -- fair-share (floats: powers of two to any exponent)

    @property
    def unit(self) -> float:
        """What a processor-second of now counts beside one of the epoch."""
        passed = float(self.now - self.epoch) / self.problem.multifactor.half_life
        return exp2(min(passed, 900.0))

    def held_by(self, user: int | None) -> int:
        return sum(
            self.procs(a.option)
            for a in self.running
            if user is None or self.problem.jobs["user"][a.job] == user
        )

    def usage_now(self, user: int | None) -> float:
        """What a user (None: all) has used, each second by what it counted then; in h/ln 2 s."""
        usage, unit = self.usage.get(user, (0.0, 1.0))
        return usage + self.held_by(user) * (self.unit - unit)

    def update_usage(self, user: int) -> None:
        """To be called before the user's processors change."""
        if self.problem.multifactor is None:
            return
        if self.now - self.epoch > 64 * self.problem.multifactor.half_life:
            unit = self.unit
            self.usage = {who: (self.usage_now(who) / unit, 1.0) for who in self.everybody}
            self.epoch = self.now
        updated = {who: (self.usage_now(who), self.unit) for who in (user, None)}
        self.usage.update(updated)

    @property
    def everybody(self) -> list[int | None]:
        """All users, and None for all together."""
        return [None, *range(len(self.problem.shares))]

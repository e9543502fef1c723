"""Naive reference scheduler: every rule spelled out, nothing clever, nothing fast.

Numbers may be int, Fraction or float. Ints and Fractions are never rounded.

One simulation walks from instant to instant. An instant is the next submission, the earliest
completion or the moment the workload rule slows down, whichever is first; what happens inside an
instant, and in which order, is in `_instant_round` and `_event_round`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

Number = Any  # int, Fraction or float
Order = str | Callable[[Number, Number, Number, int], Number]
Pass = Callable[["State"], None]


@dataclass(frozen=True)
class Job:
    """A rigid job; `estimate` is the work the scheduler expects, `work` the work there is."""

    submit: Number
    work: Number
    estimate: Number
    procs: int


@dataclass(frozen=True)
class Control:
    """A rate rule: level i runs at `rates[i]`; thresholds i separate levels i and i + 1."""

    kind: str = "none"
    rates: tuple[Number, ...] = (1,)
    k_low: tuple[Number, ...] = ()
    k_high: tuple[Number, ...] = ()
    p_low: Number = 0
    p_high: Number = 0
    u_arrival: Sequence[Number] = ()
    u_departure: Sequence[Number] = ()


NO_CONTROL = Control()


@dataclass
class Outcome:
    """First start and end per job, and what happened when.

    segments: (job, begin, end) of every interval of service, in the order in which they ended;
    switches: (time, new level); series: (time, level, busy processors, jobs running, jobs
    waiting, remaining work of all jobs in the system) after each scheduling pass or lone change of
    rate.
    """

    start: list[Number]
    end: list[Number]
    segments: list[tuple[int, Number, Number]] = field(default_factory=list)
    switches: list[tuple[Number, int]] = field(default_factory=list)
    series: list[tuple[Number, int, int, int, int, Number]] = field(default_factory=list)


def ratio(numerator: Number, denominator: Number) -> Number:
    """Quotient, exact for ints and Fractions."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        exact = Fraction(numerator, denominator)
        return exact.numerator if exact.denominator == 1 else exact
    return numerator / denominator


class State:
    """Jobs that wait, jobs that run, how fast; jobs are known by their index in the table."""

    def __init__(
        self, jobs: Sequence[Job], procs: int, control: Control, *, handover: bool
    ) -> None:
        self.jobs = jobs
        self.procs = procs
        self.control = control
        self.handover = handover
        self.now: Number = jobs[0].submit if jobs else 0
        self.level = 0
        self.t_ref: Number = 0  # V(t_ref) = v_ref; both move at each change of rate
        self.v_ref: Number = 0
        self.submitted = 0  # jobs[:submitted] have arrived
        self.waiting: list[int] = []  # in order of arrival
        self.running: list[int] = []  # in order of latest start
        self.due: list[int] = []  # running, ending at this instant, not to be displaced
        self.newcomers: list[int] = []  # submitted since the last pass
        self.completed = False  # a completion since the last pass?
        self.remaining: list[Number] = [job.work for job in jobs]  # as of the latest start
        self.v_start: list[Number] = [None] * len(jobs)  # work clock at the latest start
        self.t_start: list[Number] = [None] * len(jobs)  # time of the latest start
        self.out = Outcome([None] * len(jobs), [None] * len(jobs))

    # -- the work clock

    @property
    def rate(self) -> Number:
        return self.control.rates[self.level]

    @property
    def clock(self) -> Number:
        """V(now) = integral of the rate."""
        return self.v_ref + (self.now - self.t_ref) * self.rate

    def completion_time(self, j: int) -> Number:
        """When V reaches V(latest start) + remaining work, at the present rate."""
        v_end = self.v_start[j] + self.remaining[j]
        return max(self.now, self.t_ref + ratio(v_end - self.v_ref, self.rate))

    def expected_end(self, j: int) -> Number:
        """On the work clock, by the estimate; an overdue job is expected to end now."""
        return max(self.clock, self.v_start[j] + self.jobs[j].estimate)

    def work_left(self, j: int) -> Number:
        """Remaining true work of a job in the system."""
        if j in self.running:
            return self.v_start[j] + self.remaining[j] - self.clock
        return self.remaining[j]

    def known_left(self, j: int) -> Number:
        """What is known of the remaining work of a job in the system: estimate less work done."""
        done = self.jobs[j].work - self.work_left(j)
        return max(0, self.jobs[j].estimate - done)

    def known_workload(self) -> Number:
        """What is known of the remaining work of all jobs in the system; rate control's W."""
        return sum(self.known_left(j) for j in self.waiting + self.running)

    def workload(self) -> Number:
        """Remaining true work of all jobs in the system; a measure."""
        v = self.clock
        served = sum(self.v_start[j] + self.remaining[j] - v for j in self.running)
        return served + sum(self.remaining[j] for j in self.waiting)

    # -- processors

    def holders(self) -> list[int]:
        """Running jobs that hold processors: all, or with `handover` all but those that are due
        at the very end of their estimate."""
        over = self.due if self.handover else []
        return [
            j for j in self.running if j not in over or self.jobs[j].estimate != self.jobs[j].work
        ]

    def busy(self) -> int:
        return sum(self.jobs[j].procs for j in self.holders())

    def free(self) -> int:
        return self.procs - self.busy()

    def fits(self, j: int) -> bool:
        return self.jobs[j].procs <= self.free()

    # -- what can happen to a job

    def submit(self) -> int:
        j = self.submitted
        self.submitted += 1
        self.waiting.append(j)
        self.newcomers.append(j)
        return j

    def start(self, j: int) -> None:
        assert self.fits(j)
        self.waiting.remove(j)
        self.running.append(j)
        self.v_start[j] = self.clock
        self.t_start[j] = self.now
        if self.out.start[j] is None:
            self.out.start[j] = self.now

    def displace(self, j: int) -> None:
        """Back to the queue, with the work that is left."""
        self.remaining[j] = self.work_left(j)
        self._stop(j)
        self.waiting.append(j)
        self.waiting.sort()

    def complete(self, j: int) -> None:
        self._stop(j)
        self.completed = True
        self.out.end[j] = self.now

    def _stop(self, j: int) -> None:
        self.running.remove(j)
        self.out.segments.append((j, self.t_start[j], self.now))

    # -- what can happen to the rate

    def set_level(self, level: int) -> None:
        self.v_ref, self.t_ref = self.clock, self.now
        self.level = level
        self.out.switches.append((self.now, level))

    def log(self) -> None:
        self.out.series.append(
            (
                self.now,
                self.level,
                self.busy(),
                len(self.running),
                len(self.waiting),
                self.workload(),
            )
        )


# -- rate control


def _decide_on_arrival(state: State, j: int) -> None:
    """Speed up: by chance, or while the number or work in the system exceeds the threshold."""
    control, top = state.control, len(state.control.rates) - 1
    if control.kind == "random":
        if control.u_arrival[j] < control.p_high and state.level < top:
            state.set_level(state.level + 1)
    elif control.kind in ("queue", "workload"):
        in_system = len(state.waiting) + len(state.running)
        load = in_system if control.kind == "queue" else state.known_workload()
        while state.level < top and load > control.k_high[state.level]:
            state.set_level(state.level + 1)


def _decide_on_departure(state: State, j: int) -> None:
    """Slow down: by chance, or while the number or work in the system is within the threshold."""
    control = state.control
    if control.kind == "random":
        if control.u_departure[j] < control.p_low and state.level > 0:
            state.set_level(state.level - 1)
    elif control.kind in ("queue", "workload"):
        in_system = len(state.waiting) + len(state.running)
        load = in_system if control.kind == "queue" else state.known_workload()
        while state.level > 0 and load <= control.k_low[state.level - 1]:
            state.set_level(state.level - 1)


def _slow_down_time(state: State) -> Number:
    """The instant at which the workload sinks to the threshold (workload rule only)."""
    if state.control.kind != "workload" or state.level == 0:
        return inf
    waiting = sum(state.known_left(j) for j in state.waiting)
    served = [state.known_left(j) for j in state.running]
    work = work_until(state.control.k_low[state.level - 1], waiting, served)
    return inf if work == inf else state.now + ratio(work, state.rate)


def work_until(threshold: Number, waiting: Number, served: Sequence[Number]) -> Number:
    """The least x >= 0 with waiting + sum of max(0, left - x) over the served <= threshold."""

    def total(x: Number) -> Number:
        return waiting + sum(max(0, left - x) for left in served)

    if total(0) <= threshold:
        return 0
    for x, later in pairwise(sorted({0, *served})):  # the total is straight in between
        if total(later) <= threshold:
            return x + ratio((total(x) - threshold) * (later - x), total(x) - total(later))
    return inf


# -- orders


def _expansion(now: Number, job: Job) -> Number:
    """(wait + estimate) / estimate; infinite for an estimate of zero."""
    return ratio(now - job.submit + job.estimate, job.estimate) if job.estimate else inf


def _wfp3(now: Number, job: Job) -> Number:
    """(wait / estimate)^3 * procs; infinite for an estimate of zero."""
    if not job.estimate:
        return inf
    urgency = ratio(now - job.submit, job.estimate)
    return urgency * urgency * urgency * job.procs


KEYS: dict[str, Callable[[Number, int, Job], Number]] = {
    "fcfs": lambda now, j, job: j,
    "lcfs": lambda now, j, job: -j,
    "spf": lambda now, j, job: job.estimate,
    "lpf": lambda now, j, job: -job.estimate,
    "saf": lambda now, j, job: job.estimate * job.procs,
    "xf": lambda now, j, job: -_expansion(now, job),
    "wfp3": lambda now, j, job: -_wfp3(now, job),
}


def _queue(state: State, order: Order) -> list[int]:
    """The waiting jobs in policy order: smallest key first, ties by arrival."""

    def key(j: int) -> Number:
        job = state.jobs[j]
        if callable(order):
            return order(state.now, job.submit, job.estimate, job.procs)
        return KEYS[order](state.now, j, job)

    return sorted(state.waiting, key=lambda j: (key(j), j))


# -- passes of the non-preemptive orders


def _start_heads(state: State, queue: list[int]) -> list[int]:
    """Start jobs in order until one doesn't fit; the rest, that one first, is returned."""
    for position, j in enumerate(queue):
        if not state.fits(j):
            return queue[position:]
        state.start(j)
    return []


def _blocking_pass(state: State, order: Order) -> None:
    """The first job that doesn't fit blocks the others."""
    _start_heads(state, _queue(state, order))


def _reservation(state: State, head: int) -> tuple[Number, int]:
    """Shadow: the expected end at which the head fits. Extra: what it leaves free then."""
    need = state.jobs[head].procs
    ends = [(state.expected_end(j), state.jobs[j].procs) for j in state.holders()]
    for shadow in sorted(end for end, _ in ends):
        free_then = state.free() + sum(procs for end, procs in ends if end <= shadow)
        if free_then >= need:
            return shadow, free_then - need
    raise AssertionError("a job is wider than the machine")


def _easy_pass(state: State, order: Order) -> None:
    """Later jobs may start if that doesn't delay the first one, as far as one can expect."""
    blocked = _start_heads(state, _queue(state, order))
    if len(blocked) < 2 or state.free() == 0:
        return
    shadow, extra = _reservation(state, blocked[0])
    for j in blocked[1:]:
        job = state.jobs[j]
        if not state.fits(j):
            continue
        if state.clock + job.estimate <= shadow:
            state.start(j)
        elif job.procs <= extra:
            state.start(j)
            extra -= job.procs


def _easy_2018_pass(state: State, order: Order) -> None:
    """As printed in 2018: jobs that end before the shadow time, in order, until one doesn't fit."""
    blocked = _start_heads(state, _queue(state, order))
    if len(blocked) < 2 or state.free() == 0:
        return
    shadow, _ = _reservation(state, blocked[0])
    for j in blocked[1:]:
        if state.clock + state.jobs[j].estimate < shadow:
            if not state.fits(j):
                return
            state.start(j)


Claim = tuple[Number, Number, int]  # from, until (both on the work clock), processors


def _free_at(claims: list[Claim], procs: int, v: Number) -> int:
    """Processors that no job claims at v."""
    return procs - sum(width for begin, until, width in claims if begin <= v < until)


def _earliest_window(claims: list[Claim], procs: int, v: Number, job: Job) -> Number:
    """The earliest s >= v such that the job fits at s and all through [s, s + estimate)."""
    for s in sorted({v} | {until for _, until, _ in claims if until > v}):
        inside = [begin for begin, _, _ in claims if s < begin < s + job.estimate]
        if all(_free_at(claims, procs, u) >= job.procs for u in [s, *inside]):
            return s
    raise AssertionError("a job is wider than the machine")


def _conservative_pass(state: State, order: Order) -> None:
    """In order, each job reserves its earliest window; it starts if that is now and it can."""
    v = state.clock
    claims = [(v, state.expected_end(j), state.jobs[j].procs) for j in state.running]
    for j in _queue(state, order):
        job = state.jobs[j]
        s = _earliest_window(claims, state.procs, v, job)
        claims.append((s, s + job.estimate, job.procs))
        if s == v and state.fits(j):
            state.start(j)


# -- passes of the preemptive orders


def _serve_prefix(state: State, ranking: list[int]) -> None:
    """Serve the longest prefix that fits beside the jobs that are due; displace the others."""
    holders = state.holders()
    free = state.procs - sum(state.jobs[j].procs for j in state.due if j in holders)
    served: list[int] = []
    for j in ranking:
        if state.jobs[j].procs > free:
            break
        free -= state.jobs[j].procs
        served.append(j)
    for j in list(state.running):
        if j not in served and j not in state.due:
            state.displace(j)
    for j in served:
        if j not in state.running:
            state.start(j)


def _in_system(state: State) -> list[int]:
    """All jobs that can be ranked: waiting and running, without those that are due."""
    return sorted(j for j in state.waiting + state.running if j not in state.due)


def _newest_pass(state: State) -> None:
    """lcfs-pr: the newest jobs, as many as fit before the first that doesn't."""
    _serve_prefix(state, _in_system(state)[::-1])


def _remaining_work_pass(state: State, sign: int) -> None:
    """spf-pr, lpf-pr: re-rank after completions; else newcomers start if no job waits."""
    if state.completed:
        _serve_prefix(
            state, sorted(_in_system(state), key=lambda j: (sign * state.work_left(j), j))
        )
        return
    for j in list(state.newcomers):
        if state.waiting[0] != j or not state.fits(j):
            return
        state.start(j)


PREEMPTIVE: dict[str, Pass] = {
    "lcfs-pr": _newest_pass,
    "spf-pr": lambda state: _remaining_work_pass(state, 1),
    "lpf-pr": lambda state: _remaining_work_pass(state, -1),
}
BACKFILL: dict[str | None, Callable[[State, Order], None]] = {
    None: _blocking_pass,
    "easy": _easy_pass,
    "conservative": _conservative_pass,
    "easy-2018": _easy_2018_pass,
}


def _scheduler(order: Order, backfill: str | None) -> Pass:
    """The pass of a policy, with its bookkeeping."""
    if isinstance(order, str) and order in PREEMPTIVE:
        if backfill is not None:
            raise ValueError(f"{order} takes no backfilling")
        rule = PREEMPTIVE[order]
    elif callable(order) or order in KEYS:
        backfilling = BACKFILL[backfill]
        rule = lambda state: backfilling(state, order)  # noqa: E731
    else:
        raise ValueError(f"unknown order {order!r}")

    def run(state: State) -> None:
        rule(state)
        state.newcomers.clear()
        state.completed = False
        state.log()

    return run


# -- the order of things at one instant


def _move_to(state: State, t: Number) -> list[int]:
    """Advance to t, slow down if that is due, return the jobs that end at t in start order."""
    ending = [j for j in state.running if state.completion_time(j) <= t]
    slower = _slow_down_time(state) <= t
    state.now = t
    if slower:
        state.set_level(state.level - 1)
    return ending


def _submits_at(state: State, t: Number) -> bool:
    return state.submitted < len(state.jobs) and state.jobs[state.submitted].submit <= t


def _instant_round(state: State, t: Number, schedule: Pass) -> None:
    """Completions, then submissions, each with its rate decision; then one pass."""
    for j in _move_to(state, t):
        state.complete(j)
        _decide_on_departure(state, j)
    while _submits_at(state, t):
        _decide_on_arrival(state, state.submit())
    schedule(state)


def _event_round(state: State, t: Number, schedule: Pass) -> None:
    """Submissions, then completions, each with its rate decision and a pass of its own."""
    state.due = _move_to(state, t)
    if not state.due and not _submits_at(state, t):
        state.log()  # only the rate changed
    while _submits_at(state, t):
        _decide_on_arrival(state, state.submit())
        schedule(state)
    while state.due:
        j = state.due.pop(0)
        state.complete(j)
        _decide_on_departure(state, j)
        schedule(state)


def _next_instant(state: State) -> Number:
    """The earliest of next submission, next completion and slow-down; inf when all is done."""
    times = [state.completion_time(j) for j in state.running]
    if state.submitted < len(state.jobs):
        times.append(state.jobs[state.submitted].submit)
    times.append(_slow_down_time(state))
    return min(times)


def simulate(
    jobs: Sequence[Job],
    procs: int,
    order: Order = "fcfs",
    backfill: str | None = None,
    ties: str = "instant",
    control: Control = NO_CONTROL,
) -> Outcome:
    """Schedule `jobs` (sorted by submit) on `procs` processors.

    `ties` is `instant` or `event` (the rule of pyss): in all passes of an instant the processors
    of a job that ends at it, as its estimate said, are free. Preemptive orders know no estimates.
    """
    if any(not 0 < job.procs <= procs or job.work < 0 or job.estimate < 0 for job in jobs):
        raise ValueError("a job needs 1 to procs processors, and no negative work or estimate")
    if any(later.submit < job.submit for job, later in pairwise(jobs)):
        raise ValueError("jobs must be sorted by submit")
    state = State(jobs, procs, control, handover=ties == "event" and order not in PREEMPTIVE)
    rounds = {"instant": _instant_round, "event": _event_round}
    schedule = _scheduler(order, backfill)
    while (t := _next_instant(state)) < inf:
        rounds[ties](state, t, schedule)
    return state.out

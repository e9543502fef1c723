"""What must be true of any outcome of the detailed machine, seen from problem and outcome alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, isnan

import numpy as np

from onega.kernels.machine import codes
from onega.kernels.machine.state import LIMITS
from onega.simulation.machine.problem import Outcome, Problem

DONE = (codes.COMPLETED, codes.TIMEOUT)


class History:
    """A problem and its outcome, with the questions that the checks ask."""

    def __init__(self, problem: Problem, out: Outcome) -> None:
        self.problem, self.out = problem, out
        self.jobs, self.options = problem.jobs, problem.options
        self.attempts = out.attempts.tolist()
        self.log = out.log.tolist()
        # the first attempts are those of jobs that ran when it all began
        self.inherited = int((~np.isnan(problem.jobs["start"])).sum())
        self.last = max([problem.t0, *out.log["time"].tolist(), *out.switches["time"].tolist()])
        if (out.state == codes.UNSTARTED).any():
            # the table is gone through to its end, though patience that ends then isn't told
            self.last = max([self.last, *problem.events["time"].tolist()])

    def instants(self) -> list[float]:
        times = {self.problem.t0, *self.out.log["time"].tolist()}
        times |= {t for begin, end, *_ in self.problem.reservations for t in (begin, end)}
        times |= {t for t, *_ in self.problem.steps}
        return sorted(t for t in times if self.problem.t0 <= t <= self.last)

    def holding(self, t: float) -> list[int]:
        """Jobs that hold processors right after t."""
        return [job for job, start, _, _, end in self.attempts if start <= t < end]

    def up(self, t: float) -> np.ndarray:
        """Which nodes are up right after t."""
        up = np.ones(len(self.problem.nodes.partition), bool)
        for time, event, _, node in self.log:
            if time <= t and event in (codes.FAILED, codes.RETURNED):
                up[node] = event == codes.RETURNED
        return up

    def withheld(self, t: float) -> np.ndarray:
        held = np.zeros_like(self.problem.nodes.capacity)
        for begin, end, node, amount in self.problem.reservations:
            if begin <= t < end:
                held[node] += amount
        return held

    def shared(self, t: float) -> np.ndarray:
        """Capacities of the machine-wide resources right after t."""
        capacity = self.problem.nodes.shared.copy()
        for time, resource, new in self.problem.steps:
            if time <= t:
                capacity[resource] = new
        return capacity

    def clock(self, t: float) -> float:
        """The work clock: the integral of the rate from the beginning to t."""
        rates = self.problem.rates.rates
        times = [*self.out.switches["time"].tolist(), np.inf]
        v, since, level = 0.0, self.problem.t0, 0
        for switch, new in zip(times, [*self.out.switches["level"].tolist(), 0]):
            v += (max(min(switch, t), since) - since) * rates[level]
            since, level = max(since, min(switch, t)), new
            if switch >= t:
                break
        return v

    def work_spans(self, j: int) -> Iterator[tuple[float, float]]:
        """On the work clock, each stretch from the beginning of work to the end of the attempt."""
        for place, (job, _, _, begin, end) in enumerate(self.attempts):
            if job == j and place < self.inherited:
                yield -self.jobs["saved"][j], self.clock(end)
            elif job == j and not isnan(begin):
                yield self.clock(begin), self.clock(end)


def check_capacity(history: History) -> None:
    """No node resource above what is up and not withheld, partition by partition."""
    problem, nodes = history.problem, history.problem.nodes
    for t in history.instants():
        free = np.where(
            history.up(t)[:, None], np.maximum(nodes.capacity - history.withheld(t), 0), 0
        )
        for partition in range(len(problem.partitions)):
            held = np.zeros(nodes.capacity.shape[1])
            for j in history.holding(t):
                if problem.jobs["partition"][j] == partition:
                    option = history.out.option[j]
                    shape = problem.options[option]
                    held += shape.chunks * problem.needs[shape.chunk]
            assert (held <= free[nodes.partition == partition].sum(axis=0)).all(), t


def check_shared(history: History) -> None:
    """Nobody starts above the capacity of a machine-wide resource."""
    demand = history.problem.demand
    for t in sorted(set(history.out.attempts["start"].tolist())):
        used = sum(demand[history.out.option[j]] for j in history.holding(t))
        for job, start, _, _, end in history.attempts[history.inherited :]:
            if start == t < end:
                needs = demand[history.out.option[job]] > 0
                assert (used <= history.shared(t))[needs].all(), t


def check_accounts(history: History) -> None:
    """Nobody starts above the limits of his accounts."""
    problem = history.problem
    accounts = np.stack([problem.jobs[name] for name in LIMITS], axis=1).tolist()
    for job, t, _, _, end in history.attempts[history.inherited :]:
        for account in accounts[job] if t < end else ():
            if account == 0:
                continue
            members = [j for j in history.holding(t) if account in accounts[j]]
            procs = sum(problem.options["procs"][history.out.option[j]] for j in members)
            assert len(members) <= problem.limits["jobs"][account], t
            assert procs <= problem.limits["procs"][account], t


def check_states(history: History) -> None:
    """Who ended how: the closed list, and what each says of starts and ends."""
    out = history.out
    for j, state in enumerate(out.state.tolist()):
        mine = [attempt for attempt in history.attempts if attempt[0] == j]
        assert state in range(len(codes.STATE_NAMES))
        assert isnan(out.end[j]) == (state == codes.UNSTARTED)
        assert isnan(out.start[j]) == (not mine)
        assert (out.option[j] < 0) == (not mine)
        if mine:
            assert out.start[j] == mine[0][1]
            assert out.start[j] >= out.submit[j]
        if state in DONE:
            assert (state == codes.TIMEOUT) == history.options["limited"][out.option[j]]
            assert out.end[j] == mine[-1][4]
        if state in (codes.CANCELLED, codes.DROPPED):
            assert not mine
        if state in (codes.LOST, codes.KILLED):
            assert mine


def check_attempts(history: History) -> None:
    """Attempts of a job don't overlap; overheads and wake-ups come before the work."""
    free_from: dict[int, float] = {}
    for place, (job, start, wake, begin, end) in enumerate(history.attempts):
        assert start >= free_from.get(job, -np.inf)
        assert wake >= 0
        free_from[job] = end
        if place < history.inherited:
            continue
        ready = start + wake + history.jobs["launch"][job]
        if isnan(begin):
            assert end <= ready
        else:
            assert begin == ready <= end


def check_work(history: History) -> None:
    """Who completed got exactly his work, and what was lost besides."""
    out, jobs = history.out, history.jobs
    for j in range(len(out.state)):
        spans = list(history.work_spans(j))
        got = sum(until - since for since, until in spans)
        if out.state[j] not in DONE:
            continue
        wanted = history.options["work"][out.option[j]] + out.lost_work[j]
        if jobs["completion"][j] == 0:
            assert isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-6), j
        else:  # the last attempt ends with its completion, unless that was interrupted
            top = jobs["completion"][j] * max(history.problem.rates.rates)
            assert wanted <= got * (1 + 1e-9) + 1e-6
            assert got <= (wanted + top) * (1 + 1e-9) + 1e-6


def check_dependencies(history: History) -> None:
    """Dependents come exactly `think` after the end, or are dropped with what they wait for."""
    out, jobs = history.out, history.jobs
    for j in np.flatnonzero(jobs["after"] >= 0):
        parent = jobs["after"][j]
        if not isnan(out.submit[j]):
            assert out.state[parent] in DONE
            assert out.submit[j] == out.end[parent] + jobs["think"][j]
        elif out.state[j] == codes.DROPPED:
            assert out.state[parent] in (codes.CANCELLED, codes.KILLED, codes.LOST, codes.DROPPED)
            assert out.end[j] == out.end[parent]
        else:
            assert out.state[j] in (codes.CANCELLED, codes.UNSTARTED)


def check_log(history: History) -> None:
    """Times don't go back; every start, end and departure is told once."""
    times = history.out.log["time"]
    assert (np.diff(times) >= 0).all()
    started = [job for _, event, job, _ in history.log if event == codes.STARTED]
    assert started == [job for job, *_ in history.attempts[history.inherited :]]
    ends = {
        codes.COMPLETED: codes.ENDED_COMPLETED,
        codes.TIMEOUT: codes.ENDED_TIMEOUT,
        codes.CANCELLED: codes.ENDED_CANCELLED,
        codes.KILLED: codes.ENDED_KILLED,
        codes.LOST: codes.ENDED_LOST,
        codes.DROPPED: codes.ENDED_DROPPED,
    }
    told = [(job, time, event) for time, event, job, _ in history.log if event in ends.values()]
    expected = [
        (j, history.out.end[j], ends[state])
        for j, state in enumerate(history.out.state.tolist())
        if state != codes.UNSTARTED
    ]
    assert sorted(told) == expected


def one_processor_nodes(problem: Problem) -> bool:
    """Whether processors held can be told without knowing where jobs ran."""
    return problem.nodes.pooled or bool((problem.nodes.capacity[:, 0] == 1).all())


def check_processor_seconds(history: History) -> None:
    """Held, idle, waking before anybody came, and down: nothing is missing, nothing double."""
    problem, out = history.problem, history.out
    if problem.sleep.size == 0 or not one_processor_nodes(problem):
        return
    length = (out.parts["until"] - out.parts["since"]) * out.parts["procs"]
    assert (length > 0).all()
    held = sum(
        problem.options["procs"][out.option[job]] * (end - max(start, problem.t0))
        for job, start, _, _, end in history.attempts
    )
    idle = length[out.parts["kind"] == codes.IDLE].sum()
    down = length[out.parts["kind"] == codes.DOWN].sum()
    total = problem.nodes.capacity[:, 0].sum() * (history.last - problem.t0)
    woken = sum(job for _, event, job, _ in history.log if event == codes.WOKEN)
    ahead = total - held - idle - down
    slack = 1e-9 * total
    assert -slack <= ahead <= woken * problem.sleep["delay"].max() + slack


CHECKS = [
    check_capacity,
    check_shared,
    check_accounts,
    check_states,
    check_attempts,
    check_work,
    check_dependencies,
    check_log,
    check_processor_seconds,
]


def check(problem: Problem, out: Outcome) -> None:
    """All of it."""
    history = History(problem, out)
    for one in CHECKS:
        one(history)

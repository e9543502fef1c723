"""Running the kernels in portions: progress, Ctrl-C, their log and their reasons."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onega.core.cluster import Cluster
from onega.core.errors import SimulationError
from onega.core.policy import Policy, Priority
from onega.core.rng import Rng
from onega.kernels import engine
from onega.kernels.engine import Floats, Records
from onega.kernels.loop import run
from onega.kernels.preemptive import run_preemptive
from onega.kernels.recursion import Customers, concurrent, make_vector
from onega.kernels.waiting import grow_waiting
from onega.simulation import setup
from onega.simulation.priority import NO_FUNCTION, compile_priority, explain_bad_key

Progress = Callable[[float], None]

PORTION_SECONDS = 0.1
"""How long compiled code runs before Python looks for Ctrl-C and reports progress."""

PORTION_JOBS = 1 << 20
"""Jobs per portion of the plain first-come-first-served recursion."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a kernel found, by arrival: starts, ends, last starts; changes of rate and pieces."""

    start: Floats
    end: Floats
    last_start: Floats
    switches: list[Records] = field(default_factory=list)
    pieces: list[Records] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation, ready for the kernels."""

    jobs: Records
    cluster: Cluster
    policy: Policy
    ties: str
    rng: Rng = None
    progress: Progress | None = None

    def run(self) -> Outcome:
        """Choose the kernel and run it to the end."""
        if self._is_plain():
            return _run_recursion(self)
        if self.policy.preemptive:
            return _run_preemptive(self)
        return _run_machine(self)

    def _is_plain(self) -> bool:
        """Whether the Kiefer–Wolfowitz recursion gives the answer: fcfs at rate 1."""
        control = self.cluster.rates
        plain = self.policy.order == "fcfs" and self.policy.backfill is None
        return plain and self.ties == "instant" and control.kind == "none" and control.rates[0] == 1

    def prepare(self) -> tuple[Records, Records, Records, Floats]:
        """Make what both loops take: machine, jobs, levels, draws."""
        control = self.cluster.rates
        return (
            setup.make_machine(self.policy, self.cluster, self.jobs, ties=self.ties),
            self.jobs,
            setup.make_levels(control),
            setup.make_draws(control, self.jobs.size, self.rng),
        )


def _run_recursion(task: Task) -> Outcome:
    """First come, first served at rate 1: the Kiefer–Wolfowitz recursion gives the same starts."""
    jobs = task.jobs
    columns = [np.ascontiguousarray(jobs[name]) for name in ("submit", "work", "procs")]
    vector = make_vector(task.cluster.procs, jobs.size)
    begin, busy = np.empty(jobs.size), np.empty(jobs.size, np.int64)
    for first in range(0, jobs.size, PORTION_JOBS):
        some = slice(first, first + PORTION_JOBS)
        customers = Customers(*(column[some] for column in columns))
        concurrent(customers, vector, begin[some], busy[some])
        if task.progress is not None:
            task.progress(min(1.0, (first + PORTION_JOBS) / jobs.size))
    return Outcome(begin, begin + columns[1], begin)


def _run_preemptive(task: Task) -> Outcome:
    state = setup.make_preemptive_state(*task.prepare())
    logs: list[tuple[Records, str, list[Records]]] = [
        (state.log, "switches", []),
        (state.pieces, "pieces", []),
    ]
    for rounds in _portions(state.machine, logs, task):
        reason = run_preemptive(state, rounds)
        if reason == engine.DONE:
            break
        _refuse_stuck(reason)
    _empty(state.machine, logs)
    jobs = state.jobs
    return Outcome(jobs["start"], jobs["end"], state.service["since"], logs[0][2], logs[1][2])


def _run_machine(task: Task) -> Outcome:
    state = setup.make_state(*task.prepare())
    order = task.policy.order
    own: Any = None
    if state.machine[0]["order"] == engine.KEYED:
        own = compile_priority(order) if isinstance(order, Priority) else NO_FUNCTION
    logs: list[tuple[Records, str, list[Records]]] = [(state.log, "switches", [])]
    for rounds in _portions(state.machine, logs, task):
        reason = run(state, own, rounds)
        if reason == engine.DONE:
            break
        if reason == engine.QUEUE_FULL:
            state = state._replace(waiting=grow_waiting(state.waiting))
        if reason == engine.BAD_KEY:
            assert isinstance(order, Priority)
            now, culprit = float(state.machine[0]["now"]), int(state.machine[0]["culprit"])
            raise SimulationError(explain_bad_key(order, now, state.jobs, culprit))
        _refuse_stuck(reason)
    _empty(state.machine, logs)
    return Outcome(state.jobs["start"], state.jobs["end"], state.jobs["start"], logs[0][2])


def _refuse_stuck(reason: int) -> None:
    if reason == engine.STUCK:
        raise SimulationError("jobs wait that can never start: please report this as a bug")


def _portions(
    machine: Records, logs: list[tuple[Records, str, list[Records]]], task: Task
) -> Iterator[int]:
    """Yield how many rounds to run next; after each portion empty the log and tell the progress.

    Portions aim at `PORTION_SECONDS`, without jumping.
    """
    rounds = 4096
    while True:
        began = time.perf_counter()
        yield rounds
        took = time.perf_counter() - began
        factor = min(8.0, max(0.125, PORTION_SECONDS / max(took, 1e-6)))
        rounds = max(64, min(1 << 40, int(rounds * factor)))
        _empty(machine, logs)
        if task.progress is not None:
            task.progress(float(machine[0]["departed"]) / task.jobs.size)


def _empty(machine: Records, logs: list[tuple[Records, str, list[Records]]]) -> None:
    """Take the entries of each log away, so that it has room again."""
    for log, counter, taken in logs:
        count = int(machine[0][counter])
        if count:
            taken.append(log[:count].copy())
            machine[0][counter] = 0

"""Running the kernels in portions: progress, Ctrl-C, their log and their reasons."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.policy import Policy, Priority
from onega.core.rng import Rng
from onega.core.types import Floats, Progress, Records
from onega.kernels.pool import engine
from onega.kernels.pool.loop import run
from onega.kernels.pool.preemptive import run_preemptive
from onega.kernels.pool.records import Columns
from onega.kernels.pool.recursion import Customers, concurrent, make_vector
from onega.simulation.pool import setup
from onega.simulation.priority import NO_FUNCTION, compile_priority, explain_bad_key

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

    columns: Columns
    cluster: Cluster
    policy: Policy
    ties: str
    rng: Rng = None
    progress: Progress | None = None

    @property
    def size(self) -> int:
        """Number of jobs."""
        return self.columns.submit.size

    def run(self) -> Outcome:
        """Choose the kernel and run it to the end."""
        outcome = self._outcome()
        if self.progress is not None:
            self.progress(1.0)
        return outcome

    def _outcome(self) -> Outcome:
        if self.policy.preemptive:
            return _run_preemptive(self)
        if self._is_plain():
            return _run_recursion(self)
        return _run_machine(self)

    def _is_plain(self) -> bool:
        """Whether jobs start in the order of arrival, at rate 1: the recursion is quicker then."""
        control = self.cluster.rates
        steady = control.kind == "none" and control.rates[0] == 1
        in_order = self.policy.order == "fcfs" and self.policy.backfill is None
        return in_order and self.ties == "instant" and steady

    def prepare(self) -> tuple[Records, Records, Records, Floats]:
        """Make what both loops take: machine, jobs, levels, draws."""
        control = self.cluster.rates
        jobs = setup.make_records(self.policy, self.columns)
        return (
            setup.make_machine(self.policy, self.cluster, jobs, ties=self.ties),
            jobs,
            setup.make_levels(control),
            setup.make_draws(control, self.size, self.rng),
        )


def _run_recursion(task: Task) -> Outcome:
    """First come, first served at rate 1: the Kiefer–Wolfowitz recursion gives the same starts."""
    columns = task.columns
    vector = make_vector(task.cluster.procs, task.size)
    begin, busy = np.empty(task.size), np.empty(task.size, np.int64)
    for first in range(0, task.size, PORTION_JOBS):
        some = slice(first, first + PORTION_JOBS)
        customers = Customers(columns.submit[some], columns.work[some], columns.procs[some])
        concurrent(customers, vector, begin[some], busy[some])
        if task.progress is not None:
            task.progress(min(1.0, (first + PORTION_JOBS) / task.size))
    return Outcome(begin, begin + columns.work, begin)


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
    state, order = setup.make_state(*task.prepare()), task.policy.order
    own: Any = None
    if state.machine[0]["order"] == engine.KEYED:
        own = compile_priority(order) if isinstance(order, Priority) else NO_FUNCTION
    logs: list[tuple[Records, str, list[Records]]] = [(state.log, "switches", [])]
    for rounds in _portions(state.machine, logs, task):
        reason = run(state, own, rounds)
        if reason == engine.DONE:
            break
        if reason == engine.BAD_KEY:
            assert isinstance(order, Priority)
            now, culprit = float(state.machine[0]["now"]), int(state.machine[0]["culprit"])
            raise SimulationError(explain_bad_key(order, now, task.columns, culprit))
        _refuse_stuck(reason)
    _empty(state.machine, logs)
    return Outcome(state.jobs["start"], state.jobs["end"], state.jobs["start"], logs[0][2])


def _refuse_stuck(reason: int) -> None:
    if reason == engine.STUCK:
        raise SimulationError("jobs wait that can never start: please report this as a bug")


def _portions(
    machine: Records, logs: list[tuple[Records, str, list[Records]]], task: Task
) -> Iterator[int]:
    """Yield how many rounds to run next; after each portion empty the log and tell the progress."""
    for rounds in portions():
        yield rounds
        _empty(machine, logs)
        if task.progress is not None:
            task.progress(float(machine[0]["departed"]) / task.size)


def portions() -> Iterator[int]:
    """Yield numbers of rounds that take about `PORTION_SECONDS` each, without jumping."""
    rounds = 4096
    while True:
        began = time.perf_counter()
        yield rounds
        took = time.perf_counter() - began
        factor = min(8.0, max(0.125, PORTION_SECONDS / max(took, 1e-6)))
        rounds = max(64, min(1 << 40, int(rounds * factor)))


def _empty(machine: Records, logs: list[tuple[Records, str, list[Records]]]) -> None:
    """Take the entries of each log away, so that it has room again."""
    for log, counter, taken in logs:
        count = int(machine[0][counter])
        if count:
            taken.append(log[:count].copy())
            machine[0][counter] = 0

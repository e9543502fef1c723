"""Driving a virtual Slurm: submissions and events at their instants, until the last job is over."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onega.comparison.virtual_slurm.collect import finished
from onega.comparison.virtual_slurm.ends import Ends
from onega.comparison.virtual_slurm.slurm import VirtualSlurm
from onega.core.errors import SimulationError
from onega.core.machine.events import OF_JOBS, OF_NODES, Events
from onega.core.machine.nodes import numbers
from onega.core.types import Progress
from onega.core.workload.workload import Workload

STALL = 120.0
"""Real seconds without any end of a job, beyond the longest limit, before a run is given up."""

CARE = 3.0
"""Real seconds between two looks whether Slurm has taken nodes out of service by itself."""

RULES = ("requeue", "lost")
"""What becomes of a job that is interrupted or whose node fails."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that is done to a job or to nodes, and when (seconds of the stream)."""

    time: float
    word: str
    job: int | None = None
    nodes: tuple[int, ...] = ()


def plan_actions(events: Events, jobs: Workload, procs: int) -> list[Action]:
    """Turn a table of events into what is done to a machine of ``procs`` nodes of one processor.

    ``down`` takes the highest-numbered nodes that are up, ``up`` gives back the lowest-numbered
    ones that are down, as in the simulator.

    Raises
    ------
    SimulationError
        A row names a job or node that isn't there, takes more than there is, or asks for what
        virtual nodes don't have (reservations, power caps).
    """
    known = set(jobs.column("job").tolist())
    down: set[int] = set()
    actions = []
    for row, values in events.in_order():
        word, when = values["event"], values["time"]
        if word in OF_JOBS:
            if values["job"] not in known:
                raise events.refuse(row, f"there is no job {values['job']} in the stream")
            actions.append(Action(when, word, job=values["job"]))
            continue
        if word in OF_NODES:
            chosen = numbers(values["node"], f"{events.name}, row {row}")
            if max(chosen) > procs:
                raise events.refuse(row, f"there is no node {max(chosen)}, but {procs} nodes")
        elif word in ("down", "up"):
            up = sorted(set(range(1, procs + 1)) - down, reverse=True)
            there = up if word == "down" else sorted(down)
            chosen = there[: values["procs"]]
            if len(chosen) < values["procs"]:
                raise events.refuse(row, f"{values['procs']} processors: only {len(there)} are so")
            word = "fail" if word == "down" else "return"
        else:
            raise events.refuse(row, f"virtual nodes know no {word!r}; take it out of the table")
        down = down - set(chosen) if word == "return" else down | set(chosen)
        actions.append(Action(when, word, nodes=tuple(chosen)))
    return actions


def limit_minutes(estimate: float, runtime: float) -> int:
    """Return Slurm's limit: whole minutes, rounded up; the run time where nothing was requested."""
    seconds = estimate if estimate > 0 else runtime
    return max(1, math.ceil(seconds / 60))


class Drive:
    """One run of a stream on a Slurm that is up.

    Attributes
    ----------
    ends
        What tells jobs that they are over.
    never
        Jobs that an event cancelled before they were submitted.
    """

    def __init__(
        self, slurm: VirtualSlurm, jobs: Workload, actions: list[Action], *, rule: str = RULES[0]
    ) -> None:
        self.slurm, self.jobs, self.actions, self.rule = slurm, jobs, actions, rule
        self.never: set[int] = set()
        self.ends = Ends(slurm)
        self._numbers: dict[int, int] = {}
        self._out: set[int] = set()
        self._cared = time.monotonic()

    def run(self, zero: float, progress: Progress) -> None:
        """Do everything at its instant, ``zero`` being the stream's beginning; wait for the end."""
        steps = self._steps()
        with self.ends:
            for number, (when, what) in enumerate(steps):
                self._wait_until(zero + when)
                if isinstance(what, Action):
                    self._act(what)
                elif int(self.jobs.column("job")[what]) not in self.never:
                    self._submit(what)
                progress(0.9 * (number + 1) / len(steps))
            self._wait_for_ends(progress)

    def _steps(self) -> list[tuple[float, Action | int]]:
        """Events and submissions (rows) by time; at one instant events first, as simulated."""
        steps: list[tuple[float, Action | int]] = [(one.time, one) for one in self.actions]
        steps += [(float(when), row) for row, when in enumerate(self.jobs.column("submit"))]
        return sorted(steps, key=lambda step: (step[0], not isinstance(step[1], Action)))

    def _wait_until(self, instant: float) -> None:
        wait = self.slurm.real_seconds_until(instant)
        while wait > 0:
            time.sleep(min(wait, 1.0))
            if wait > 1:
                self.slurm.check_alive()
                self._care()
            wait = self.slurm.real_seconds_until(instant)

    def _submit(self, row: int) -> None:
        job, width, runtime, estimate = (
            float(self.jobs.column(name)[row]) for name in ("job", "procs", "runtime", "estimate")
        )
        self._numbers[int(job)] = self.slurm.submit(
            int(width),
            runtime,
            limit_minutes(estimate, runtime),
            str(int(job)),
            requeue=self.rule == "requeue",
        )

    def _act(self, action: Action) -> None:
        if action.job is None:
            self._out = (
                self._out - set(action.nodes)
                if action.word == "return"
                else self._out | set(action.nodes)
            )
            self.slurm.set_nodes(action.nodes, _STATES[action.word])
            return
        number = self._numbers.get(action.job)
        if number is None:
            # Not yet submitted: cancelled for good; there is nothing else to interrupt.
            if action.word != "interrupt":
                self.never.add(action.job)
            return
        for command in self._commands(action.word):
            self.slurm.tell(*command, str(number))

    def _commands(self, word: str) -> Iterator[tuple[str, ...]]:
        if word == "kill":
            yield ("scancel",)
        elif word == "cancel":
            yield ("scancel", "--state=PENDING")
        elif self.rule == "lost":
            yield ("scancel", "--state=RUNNING")
        else:
            yield ("scontrol", "requeue")

    def _care(self) -> None:
        """Put nodes back that Slurm took out of service by itself, say after a failed launch."""
        if time.monotonic() - self._cared < CARE:
            return
        self._cared = time.monotonic()
        found = set(self.slurm.nodes_out()) - self._out
        if found:
            self.slurm.set_nodes(sorted(found), "RESUME")

    def _wait_for_ends(self, progress: Progress) -> None:
        longest = float(
            np.nanmax(np.fmax(self.jobs.column("estimate"), self.jobs.column("runtime")))
        )
        patience = STALL + 2 * longest / self.slurm.speed
        wanted = len(self.jobs) - len(self.never)
        seen, since = -1, time.monotonic()
        # A job that was requeued has a line for each time: it is over when it is no longer known.
        while (done := finished(self.slurm.folder)) < wanted or self.slurm.jobs_left():
            if done > seen:
                seen, since = done, time.monotonic()
            self.slurm.check_alive()
            self._care()
            if time.monotonic() - since > patience:
                raise SimulationError(
                    f"no job has ended for {patience:.0f} s; {done} of {wanted} are done; "
                    f"see {self.slurm.folder / 'slurmctld.log'}"
                )
            progress(0.9 + 0.1 * done / max(wanted, 1))
            time.sleep(0.2)


_STATES = {"fail": "DOWN", "drain": "DRAIN", "return": "RESUME"}

"""What a detailed run records beside starts and ends: states, attempts, events, sleep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.types import Floats, Ints
from onega.kernels.machine.codes import DOWN, EVENT_NAMES, IDLE, STATE_NAMES, WAKING

STATES: Final = pl.Enum(STATE_NAMES)
"""Final states of jobs. ``completed``; ``timeout``: ended at its limit; ``cancelled``: left the
queue without having started; ``killed``: cancelled while it ran; ``lost``: interrupted for
good; ``dropped``: never submitted, because the job it depends on didn't end well; ``unstarted``: it
still waited when nothing could happen any more."""

EVENTS: Final = pl.Enum(EVENT_NAMES)
"""What the event log tells, see docs/machine.md."""


@dataclass(frozen=True, slots=True, eq=False)
class Attempts:
    """Every stretch of a job on processors, in the order of the starts.

    Attributes
    ----------
    row
        Row of the workload.
    start, end
        When the processors were taken and given back.
    wake
        Seconds at the beginning in which sleeping processors woke up.
    begin, stop
        When the job's work began and stopped; equal if it never began.
    saved
        Work that it left behind: all of it at the job's end, else what is in a checkpoint; seconds
        at rate 1.
    """

    row: Ints
    start: Floats
    wake: Floats
    begin: Floats
    stop: Floats
    end: Floats
    saved: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Processors that draw a power of their own: ``count`` of them over [since, until)."""

    since: Floats
    until: Floats
    count: Ints
    depth: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Stretches of processors without a job, as the kernel returns them (see `Outcome`)."""

    kind: Ints
    since: Floats
    until: Floats
    count: Ints
    depth: Ints

    def waking(self) -> Stretches:
        """Processors that woke up, by the state they woke from."""
        return self._of(self.kind == WAKING)

    def down(self) -> Stretches:
        """Processors of failed nodes."""
        return self._of(self.kind == DOWN)

    def asleep(self, timeouts: Floats) -> Stretches:
        """Processors asleep: idle stretches cut at since + timeout of each state."""
        idle = self._of(self.kind == IDLE)
        cut = [*timeouts, np.inf]
        found = []
        for depth, (begin, end) in enumerate(pairwise(cut)):
            since = idle.since + begin
            until = np.minimum(idle.until, idle.since + end)
            some = np.flatnonzero(until > since)
            found.append((since[some], until[some], idle.count[some], np.full(some.size, depth)))
        return Stretches(*(np.concatenate(columns) for columns in zip(*found, strict=True)))

    def _of(self, mask: npt.NDArray[np.bool_]) -> Stretches:
        return Stretches(self.since[mask], self.until[mask], self.count[mask], self.depth[mask])


class Chronicle(Protocol):
    """What happened in a detailed run. Each part may be made when it is asked for."""

    @property
    def state(self) -> pl.Series:
        """Final state of each row (`STATES`)."""

    @property
    def submitted(self) -> npt.NDArray[np.bool_]:
        """Which jobs entered the system: not those dropped, or cancelled before submission."""

    @property
    def lost_work(self) -> Floats:
        """Work that each job did in vain, seconds at rate 1."""

    @property
    def head_start(self) -> Floats:
        """Work that was done for each job before the run began, seconds at rate 1."""

    @property
    def attempts(self) -> Attempts:
        """Every stretch of a job on processors."""

    @property
    def events(self) -> pl.DataFrame:
        """The event log: ``time, event, job, node``, in the order in which things happened.

        Jobs by id, nodes from 1; ``woken`` and ``capacity`` have no job.
        """

    @property
    def parts(self) -> Parts:
        """Stretches of processors without a job."""

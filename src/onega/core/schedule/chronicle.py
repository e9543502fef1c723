"""What a detailed run records beside starts and ends: states, attempts, events, sleep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.types import Floats, Ints
from onega.kernels.machine.codes import EVENT_NAMES, IDLE, STATE_NAMES

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
class Parts:
    """Stretches [since, until) of ``count`` processors without a job (see `Outcome`)."""

    kind: Ints
    since: Floats
    until: Floats
    count: Ints
    depth: Ints

    def of(self, kind: int) -> Parts:
        """Those of one kind: IDLE, DOWN, or WAKING (``depth`` is the state they woke from)."""
        columns = (self.kind, self.since, self.until, self.count, self.depth)
        return Parts(*(column[self.kind == kind] for column in columns))

    def asleep(self, timeouts: Floats) -> Parts:
        """Processors asleep: idle stretches cut at since + timeout of each state (``depth``)."""
        idle = self.of(IDLE)
        found = []
        for depth, (begin, end) in enumerate(pairwise([*timeouts, np.inf])):
            since, until = idle.since + begin, np.minimum(idle.until, idle.since + end)
            columns = (idle.kind, since, until, idle.count, np.full(since.size, depth))
            found.append([column[until > since] for column in columns])
        return Parts(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


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

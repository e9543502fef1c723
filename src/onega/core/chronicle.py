"""What a detailed run tells beyond starts and ends: states, attempts, an event log, who slept."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.kernels.detailed_codes import DOWN, EVENT_NAMES, IDLE, STATE_NAMES, WAKING

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STATES: Final = pl.Enum(STATE_NAMES)
"""Final states of jobs. ``completed``; ``timeout``: ended at its limit; ``cancelled``: left the
queue without having started; ``killed``: ended by somebody while it ran; ``lost``: interrupted for
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
    """

    row: Ints
    start: Floats
    wake: Floats
    begin: Floats
    stop: Floats
    end: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Processors that draw a power of their own: ``count`` of them over [since, until)."""

    since: Floats
    until: Floats
    count: Ints
    depth: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Stretches of processors without a job, as the kernel tells them (see `Outcome`)."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Chronicle:
    """What happened in a detailed run.

    Attributes
    ----------
    state
        Final state of each row (`STATES`).
    submitted
        Which rows came into the system at all: not those that were dropped, or cancelled before.
    lost_work
        Work that each job did in vain, seconds at rate 1.
    head_start
        Work that was done for each job before the run began, seconds at rate 1.
    attempts
        Every stretch of a job on processors.
    saved
        Work that each attempt left behind in a checkpoint, seconds at rate 1.
    events
        The event log: ``time, event, job, node``, in the order in which things happened; jobs by
        id, nodes from 1. ``woken`` and ``capacity`` have no job.
    parts
        Stretches of processors without a job.
    """

    state: pl.Series
    submitted: npt.NDArray[np.bool_]
    lost_work: Floats
    head_start: Floats
    attempts: Attempts
    saved: Floats
    events: pl.DataFrame
    parts: Parts

"""What the detailed machine takes and gives: records, and plain arrays.

`Problem` is what workload, cluster, policy, events and rng come down to; `Outcome` is what the
kernel (or, in the tests, its naive twin) makes of it. Both speak of rows by arrival, of nodes,
partitions, users and options by number from 0. Seconds, processors, any unit of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from onega.core.machine.cluster import RateControl
from onega.core.machine.queues import Multifactor
from onega.core.policy import KeyFunction
from onega.core.types import Array, Floats, Ints
from onega.kernels.machine.codes import UNSTARTED
from onega.kernels.machine.state import JOB, LIMIT, OPTION
from onega.kernels.records import to_records

NO_LIMIT = 2**62

Reservation = tuple[float, float, int, Floats]
"""Begin, end, node, what is withheld of each of its resources."""

Step = tuple[float, int, float]
"""From when on a machine-wide resource has another capacity: seconds, resource, capacity."""


class Jobs(dict[str, Array]):
    """Columns of jobs (fields of ``JOB``) that nothing has happened to, in the order of arrival.

    What isn't given is 0, or none, of all of them.
    """

    BLANK: ClassVar = {
        **dict.fromkeys(("submitted", "start", "end"), np.nan),
        **dict.fromkeys(("after", "child", "sibling", "option"), -1),
        "state": UNSTARTED,
    }

    def __init__(self, size: int, **columns: Array) -> None:
        super().__init__(columns)
        self.size = size

    def __missing__(self, name: str) -> Array:
        return np.broadcast_to(np.array(self.BLANK.get(name, 0), JOB[name]), self.size)

    def records(self) -> Array:
        """Make the records of a run."""
        return to_records(JOB, self.size, **(self.BLANK | self))


def make_limits(limits: Sequence[tuple[int, ...]]) -> Array:
    """Make limits (``LIMIT``) on running jobs and processors; the first is none."""
    return np.array([(NO_LIMIT, NO_LIMIT), *limits], LIMIT)


def make_options(chunk: Floats, **columns: Any) -> tuple[Array, Floats]:  # noqa: ANN401
    """Make options (``OPTION``), and the kinds of chunks that there are.

    ``chunk`` has what one chunk of each option needs of each of a node's resources.
    """
    needs, kind = _kinds(chunk)
    cores = columns["chunks"] * needs[kind, 0]
    return to_records(OPTION, len(chunk), chunk=kind, cores=cores, **columns), needs


def _kinds(chunk: Floats) -> tuple[Floats, Ints]:
    """Return the different rows, and which one each option has."""
    first, kind = np.zeros(1, np.int64), np.zeros(len(chunk), np.int64)
    for column in chunk.T:
        if (column != column[0]).any():
            values, number = np.unique(column, return_inverse=True)
            code = kind * values.size + number
            _, first, kind = np.unique(code, return_index=True, return_inverse=True)
    return np.array(chunk[first], order="C"), kind


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The machine's nodes and machine-wide resources.

    Attributes
    ----------
    pooled
        Each partition is one node: nothing fails, processors sleep one by one.
    partition, capacity
        Of each node; (nodes × K), processors first.
    shared
        Capacities of the G machine-wide resources at the beginning.
    """

    pooled: bool
    partition: Ints
    capacity: Floats
    shared: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """One run of the detailed machine.

    Attributes
    ----------
    t0
        When the run begins: everything is idle since then.
    jobs
        Columns by arrival.
    options, partitions, limits, events, sleep
        Records of `onega.kernels.machine.state`, as they are at the beginning: of partitions
        ``order``, ``reservations``, ``placement`` and ``whole``; limits on running jobs and
        processors, of which the first is none; events in the order of time, then of the table;
        sleep states from the lightest, none if nothing sleeps.
    needs, demand
        (kinds × K) what the chunks of a kind need of each node resource; (options × G) what the
        whole job needs of each machine-wide resource.
    reservations, steps
        What is known in advance, in the order of time.
    wake_ahead
        Whether processors are woken in time for the first reservation.
    multifactor, shares
        Weights of the multifactor priority, if any partition goes by it; the share of each user,
        adding up to 1.
    on_interrupt, checkpoint
        LOSE, REQUEUE or CHECKPOINT, and its interval (seconds of work).
    rates, draws
        Rate control; draws of the random one: at arrival of row j ``draws[2j]``, at its departure
        ``draws[2j + 1]``.
    own
        A user's key function if any partition's order is OWN.
    """

    t0: float
    jobs: Jobs
    options: Array
    needs: Floats
    demand: Floats
    nodes: Nodes
    partitions: Array
    limits: Array
    events: Array
    reservations: Sequence[Reservation]
    steps: Sequence[Step]
    multifactor: Multifactor | None
    shares: Floats
    sleep: Array
    wake_ahead: bool
    on_interrupt: int
    checkpoint: float
    rates: RateControl
    draws: Floats
    own: KeyFunction | None = None

    @cached_property
    def followers(self) -> Ints:
        """Rows of jobs that wait for others."""
        return np.flatnonzero(self.jobs["after"] >= 0)

    @cached_property
    def begun(self) -> Ints:
        """Rows of jobs that run at the beginning."""
        return np.flatnonzero(~np.isnan(self.jobs["start"]))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What happened.

    Attributes
    ----------
    submit, start, end, state, option, lost_work
        By job row: effective submission (NaN: never), first start (NaN: never), end or departure
        (NaN: UNSTARTED), final state, option taken (−1: none), work done in vain.
    attempts
        Every stretch on processors, in the order of starts (``ATTEMPT`` of
        `onega.kernels.machine.state`): job, start, wake-up delay, when the work began (NaN: it
        didn't come to that), end.
    log
        The event log in the order in which things happened (``LOGGED``); −1 where there is no job
        or node. CAPACITY has the resource's number as node; WOKEN the processors as job.
    parts
        Stretches of processors without a job (``STRETCH``): IDLE, WAKING (with the depth it was
        in), DOWN; in any order. The depth of other kinds is −1.
    switches
        Changes of the rate: time, level.
    """

    submit: Floats
    start: Floats
    end: Floats
    state: Ints
    option: Ints
    lost_work: Floats
    attempts: Array
    log: Array
    parts: Array
    switches: Array

"""What the detailed machine takes and gives: records, and plain arrays.

`Problem` is what workload, cluster, policy, events and rng come down to; `Outcome` is what the
kernel (or, in the tests, its naive twin) makes of it. Both speak of rows by arrival, of nodes,
partitions, users and options by number from 0. Seconds, processors, any unit of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onega.core.machine.cluster import RateControl
from onega.core.machine.queues import Multifactor
from onega.core.policy import KeyFunction
from onega.core.types import Array, Flags, Floats, Ints
from onega.kernels.machine.codes import UNSTARTED
from onega.kernels.machine.state import JOB, LIMIT

NO_LIMIT = 2**62


def make_jobs(count: int, **columns: Any) -> Array:  # noqa: ANN401
    """Make jobs (``JOB``) that nothing has happened to; what isn't given is 0, or none."""
    jobs = np.zeros(count, JOB)
    jobs["submitted"] = jobs["start"] = jobs["end"] = np.nan
    jobs["after"] = jobs["child"] = jobs["sibling"] = jobs["option"] = -1
    jobs["state"] = UNSTARTED
    for name, values in columns.items():
        jobs[name] = values
    return jobs


def make_limits(limits: Sequence[tuple[int, ...]]) -> Array:
    """Make limits (``LIMIT``) on running jobs and processors; the first is none."""
    return np.array([(NO_LIMIT, NO_LIMIT), *limits], LIMIT)


@dataclass(frozen=True, eq=False)
class Options:
    """Shapes that jobs may take; rigid jobs have one each.

    Attributes
    ----------
    procs, work, expect
        Processors, work (seconds at rate 1) and what the scheduler knows of it.
    chunks, chunk
        Number of equal chunks, and (options × K) what one chunk needs of each node resource.
    demand
        (options × G) what the whole job needs of each machine-wide resource.
    limited
        Whether the work was cut at the estimate.
    """

    procs: Ints
    work: Floats
    expect: Floats
    chunks: Ints
    chunk: Floats
    demand: Floats
    limited: Flags

    @property
    def longest(self) -> float:
        """The longest time that any job is expected to take, at rate 1."""
        return float(self.expect.max(initial=0.0))


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


@dataclass(frozen=True, slots=True, eq=False)
class Calendar:
    """What is known in advance.

    Attributes
    ----------
    begin, end, node, amount
        Reservations by (begin, row): seconds, node, (rows × K) what is withheld of it.
    step_time, step_resource, step_capacity
        New capacities of machine-wide resources, in the order of time.
    """

    begin: Floats
    end: Floats
    node: Ints
    amount: Floats
    step_time: Floats
    step_resource: Ints
    step_capacity: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """One run of the detailed machine.

    Attributes
    ----------
    t0
        When the run begins: everything is idle since then.
    jobs, partitions, limits, events, sleep
        Records of `onega.kernels.machine.state`, as they are at the beginning: of partitions
        ``order``, ``reservations``, ``placement`` and ``whole``; limits on running jobs and
        processors, of which the first is none; events in the order of time, then of the table;
        sleep states from the lightest, none if nothing sleeps.
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
    jobs: Array
    options: Options
    nodes: Nodes
    partitions: Array
    limits: Array
    events: Array
    calendar: Calendar
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
        (NaN: UNSTARTED), final state, option taken (row of `Options`; −1: none), work done in
        vain.
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

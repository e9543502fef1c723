"""What the detailed machine takes and gives, as plain arrays.

`Problem` is what workload, cluster, policy, events and rng come down to; `Outcome` is what the
kernel (or, in the tests, its naive twin) makes of it. Both speak of rows by arrival, of nodes,
partitions, users and options by number from 0. Seconds, processors, any unit of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onega.core.machine.cluster import RateControl
from onega.core.policy import KeyFunction
from onega.core.types import Array, Flags, Floats, Ints


@dataclass(frozen=True, eq=False)
class JobRows:
    """One entry per job, in the order of arrival (submission, then row).

    Attributes
    ----------
    submit
        Seconds; of a dependent job: not used.
    partition, user
        Numbers; users matter to fair-share only.
    rank
        Place in the fixed order of the job's partition (smaller first, distinct): queue rank, key
        and arrival put together. For orders by a key of the time it isn't used.
    queue_rank
        Queues of higher priority have smaller ranks; with keys of the time, jobs go by
        (queue_rank, key, arrival).
    queue_factor
        The queue's term of the multifactor priority, from 0 to 1.
    accounts
        (jobs × 3) accounts that it counts against; −1: none.
    first_option, options
        Its options are rows ``first_option`` … ``first_option + options − 1`` of `Options`.
    limited
        Whether its work was cut at its estimate.
    launch, completion
        Overheads in seconds.
    after, think
        Row of the job that it waits for (−1: none), and seconds after that job's end.
    initial_start, initial_done
        NaN; or it runs at the beginning, since when, and work done so far.
    """

    submit: Floats
    partition: Ints
    user: Ints
    rank: Ints
    queue_rank: Ints
    queue_factor: Floats
    accounts: Ints
    first_option: Ints
    options: Ints
    limited: Flags
    launch: Floats
    completion: Floats
    after: Ints
    think: Floats
    initial_start: Floats
    initial_done: Floats

    @cached_property
    def followers(self) -> Ints:
        """Rows that wait for others."""
        return np.flatnonzero(self.after >= 0)

    @cached_property
    def begun(self) -> Ints:
        """Rows that run at the beginning."""
        return np.flatnonzero(~np.isnan(self.initial_start))


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
    """

    procs: Ints
    work: Floats
    expect: Floats
    chunks: Ints
    chunk: Floats
    demand: Floats

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
class Partitions:
    """Rules of each partition.

    Attributes
    ----------
    order
        STATIC, or the code of a key.
    reservations
        NO_BACKFILL, k, or ALL_RESERVED.
    placement, whole
        How chunks go onto nodes; whether jobs take whole nodes.
    """

    order: Ints
    reservations: Ints
    placement: Ints
    whole: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Multifactor:
    """Weights and memory of the multifactor priority.

    Attributes
    ----------
    age, max_age, job_size, fair_share, queue
        Weights, and the age at which its term is full, seconds.
    half_life, period
        Of usage; between evaluations (0: at every pass).
    shares
        Of each user, adding up to 1.
    """

    age: float
    max_age: float
    job_size: float
    fair_share: float
    queue: float
    half_life: float
    period: float
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Sleep:
    """Sleep states from the lightest: increasing timeouts and the delay of waking up, seconds."""

    timeout: Floats
    delay: Floats
    wake_ahead: bool


@dataclass(frozen=True, slots=True, eq=False)
class TableEvents:
    """Events in the order of time, then of the table: CANCEL … LEAVE, of a job row or a node."""

    time: Floats
    code: Ints
    job: Ints
    node: Ints


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


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One run of the detailed machine.

    Attributes
    ----------
    t0
        When the run begins: everything is idle since then.
    account_jobs, account_procs
        Limits of each account on running jobs and processors (large: none).
    on_interrupt, checkpoint
        LOSE, REQUEUE or CHECKPOINT, and its interval (seconds of work).
    rates, draws
        Rate control; draws of the random one: at arrival of row j ``draws[j]``, at its departure
        ``draws[n + j]``.
    own
        A user's key function if any partition's order is OWN.
    """

    t0: float
    jobs: JobRows
    options: Options
    nodes: Nodes
    partitions: Partitions
    account_jobs: Ints
    account_procs: Ints
    events: TableEvents
    calendar: Calendar
    multifactor: Multifactor | None
    sleep: Sleep | None
    on_interrupt: int
    checkpoint: float
    rates: RateControl
    draws: Floats
    own: KeyFunction | None = None


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

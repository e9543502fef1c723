"""The state of the machine in detail: its records, and the modules that write them.

Everything is in arrays of records (`onega.kernels.records`), grouped in one tuple, `Machine`, that
every function of the engine takes. Amounts stand in rows: ``free[n, k]`` is what node n has of
resource k; processors are resource 0. Times of plans are readings of the work clock.

================= ================================================ ===========================
arrays            what they hold                                   written by
================= ================================================ ===========================
clock             the time, the rate, counters, the next rows      events, leave, loop, queue,
                                                                   running, schedule
jobs              jobs: what is known, what became of them         leave, loop, queue, running
ends              running jobs' expected ends                      running
partitions        rules, queues, idle stacks, plans                nodes, plan, queue,
                                                                   schedule, sleep
queue             places in the queues                             queue, schedule
nodes             states of nodes, since when they are idle        dips, events, nodes, sleep
free              what is free of the nodes                        nodes
resources         machine-wide resources, now and in the plan      calendar, changes, dips,
                                                                   events, nodes, plan
links, spare      shares of nodes, of jobs and reservations        nodes
found, placed     the placement looked for last                    placement
plan              how far the plan goes, and since when            calendar, changes, dips,
                                                                   plan, schedule
changes           what the plan does when                          calendar, changes, plan
later             what is free at a time to come                   changes
dips, dip_free    where the plan dips                              dips
counted           what the plan has no room for                    plan
users, usage      fair-share                                       usage
limits            what limits still allow                          usage
idle              idle processors of a pool                        sleep
lines, stretches  what happened, line by line                      log
written           how much of that there is                        log
attempts          stretches of jobs on processors                  loop, running
================= ================================================ ===========================

The rest (rules, options, needs, demand, capacity, events, calendar, booked, draws, levels, sleep)
isn't written in a run; heaps (work, known, time, dependents), due and switches are by `heap`,
`pool.engine` and `pool.rates`. The table is held by a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.heap import Heap
from onega.kernels.types import Floats, Records

Record = np.record
KeyFunction = Callable[[float, float, float, float], float]
"""A user's priority: of now, submission, estimate and processors (`onega.kernels.jit.KEY`)."""

AHEAD, WAITS, LAUNCHES, WORKS, COMPLETES, GONE = 0, 1, 2, 3, 4, 5
"""Phases of a job."""

NONE = -1
PLENTY = 1 << 40
"""Chunks that need nothing of a node fit in any number."""

CLOCK = record(
    # What the rate controls of `pool.rates` read and write.
    now=REAL, t0=REAL, v0=REAL, rate=REAL, level=WHOLE, control=WHOLE, p_low=REAL, p_high=REAL,
    arrived=WHOLE, departed=WHOLE, switches=WHOLE,
    known_waiting=REAL, known_ends=REAL, counted=WHOLE,
    # Jobs that wait, are in launch, have left.
    waiting=WHOLE, launching=WHOLE, gone=WHOLE,
    # Next rows of the tables.
    next_job=WHOLE, next_row=WHOLE, next_dated=WHOLE,
    # The next start's number; running jobs with an expected end.
    sequence=WHOLE, ends=WHOLE,
    # Whether a pass is due; the partition that it has come to; the job with a bad key.
    pass_due=WHOLE, serving=WHOLE, culprit=WHOLE,
)  # fmt: skip

RULES = record(
    limits=WHOLE, pooled=WHOLE, sleeps=WHOLE, wake_ahead=WHOLE, on_interrupt=WHOLE, checkpoint=REAL,
    lines=WHOLE, stretches=WHOLE,
    factors=WHOLE, age=REAL, max_age=REAL, job_size=REAL, fair_share=REAL, queue=REAL,
    half_life=REAL, period=REAL, machine=REAL,
    keeps=WHOLE,
)  # fmt: skip
"""``lines``, ``stretches``: lines of the logs that one instant takes at most; ``keeps``: whether
plans outlive the pass that made them."""

LIMITS = ("limit_1", "limit_2", "limit_3")
"""Of its queue, of its user, of its user within its queue: 0, or a row of LIMIT."""

JOB = record(
    submit=REAL, launch=REAL, completion=REAL, think=REAL, queue_factor=REAL,
    partition=WHOLE, rank=WHOLE, user=WHOLE, limit_1=WHOLE, limit_2=WHOLE, limit_3=WHOLE,
    first_option=WHOLE, options=WHOLE, after=WHOLE, child=WHOLE, sibling=WHOLE,
    # What became of it.
    submitted=REAL, start=REAL, end=REAL, lost=REAL, saved=REAL, key=REAL,
    state=WHOLE, option=WHOLE, phase=WHOLE,
    # While it holds processors.
    seq=WHOLE, link=WHOLE, held=REAL, expected=REAL, begun=REAL,
)  # fmt: skip
"""A job, in the order of arrival. Times in seconds.

It is submitted at ``submit``, or ``think`` after the end of job ``after`` (−1: none); ``child``,
``sibling``: the first job that waits for its end, and the next one that waits for the same.
``launch``, ``completion``: overheads. ``rank``: its place in the fixed order of its partition
(queue, key and arrival put together, distinct), or of its queue only where the key depends on the
time; smaller first. ``queue_factor``: the queue's term of the multifactor priority, from 0 to 1;
``user`` matters to fair-share only. ``limit_1`` …: limits that it counts against. Its
shapes are ``options`` rows from ``first_option`` on.

Of a job that runs at the beginning ``start`` and ``saved`` say since when, and its work done so
far.

Of a running job: the number ``seq`` of its start, the first ``link`` to its nodes, the processors
``held``, and on the work clock when it is ``expected`` to end, and when its work has ``begun``."""

OPTION = record(
    procs=WHOLE, chunks=WHOLE, chunk=WHOLE, cores=REAL, work=REAL, expect=REAL, limited=WHOLE
)
"""``work``: seconds at rate 1, and what the scheduler expects them to be; ``chunk``: row of
``needs``, what each of the equal chunks needs of a node; ``cores``: what all need of nodes'
processors; ``limited``: whether the work was cut at the estimate."""

PARTITION = record(
    first=WHOLE, last=WHOLE, order=WHOLE, reservations=WHOLE, placement=WHOLE, whole=WHOLE,
    # Its queue's place, how many wait there; its stack of idle processors.
    queue=WHOLE, waiting=WHOLE, stack=WHOLE, entries=WHOLE,
    # Processors free on usable nodes; the plan: see `schedule`.
    spare=REAL, decided=WHOLE, seen=WHOLE, blocked=WHOLE, reserved=WHOLE,
    # Its first reservation, for waking ahead.
    begin=REAL, option=WHOLE, link=WHOLE, timer=REAL,
)  # fmt: skip
WAITING = record(rank=WHOLE, key=REAL, job=WHOLE, option=WHOLE, cores=REAL, expect=REAL)
"""A waiting job's place by (rank, key, job), its only option (−1: there are several), the fewest
processors that it may take, and how long it is expected to run."""

NODE = record(
    partition=WHOLE, number=WHOLE, cores=WHOLE, up=WHOLE, draining=WHOLE, usable=WHOLE, jobs=WHOLE,
    since=REAL, down_since=REAL, dips=WHOLE,
)  # fmt: skip
"""``number``: its own; ``since`` when it is idle (or awake, if that is to come); ``dips``: first of
the plan's dips."""

RESOURCE = record(capacity=REAL, free=REAL, later=REAL, planned=REAL, dips=WHOLE)
LINK = record(node=WHOLE, chunks=WHOLE, following=WHOLE, spare=WHOLE)
SPARE = record(links=WHOLE)
"""How many links are spare; which ones is in the column ``spare`` of the first so many."""

FOUND = record(node=WHOLE, room=WHOLE, rank=WHOLE, chunks=WHOLE)
"""A node that has room for chunks of an option, and how many of them it gets."""

PLACED = record(nodes=WHOLE, chunks=WHOLE)
"""The placement looked for last: how many nodes were found, for how many chunks."""

END = record(time=REAL, job=WHOLE)
PLAN = record(
    stale=WHOLE, number=WHOLE, changes=WHOLE, dips=WHOLE, started=WHOLE, empty=WHOLE,
    first=REAL, first_dip=REAL, last_dip=REAL, rate=REAL,
    until=REAL, row=WHOLE,
)  # fmt: skip
"""``first``: when its first reservation is due; ``number`` of the plan, counted up;
dips of nodes lie in [``first_dip``, ``last_dip``]; the calendar is in it up to ``until``, rows from
``row`` on are not;
``empty``: whether a reservation has no length, so that others may start in its way; ``rate``: that
of the work clock, by which the calendar's times are told."""

CHANGE = record(
    time=REAL, sign=REAL, link=WHOLE, option=WHOLE, partition=WHOLE, row=WHOLE, resource=WHOLE,
    fresh=WHOLE, held=REAL,
)  # fmt: skip
"""A reservation's begin or end (``link``), one of the calendar (``row``), or a new capacity of a
machine-wide ``resource``: that much more (``sign`` is its factor). ``fresh``: a begin or a loss
whose dip isn't known yet; ``held``: processors of a reservation."""

DIP = record(time=REAL, following=WHOLE, node=WHOLE, resource=WHOLE, free=REAL)
"""Availability shrinks at a time: of a node (its amounts are in a row of the same number), or of a
machine-wide resource (``free``)."""

COUNTED = record(plan=WHOLE, now=WHOLE, later=WHOLE, until=REAL)
"""At most how many chunks of a kind fit into a plan, by its number: now, and for as long as
``until`` or longer. A plan only fills up, so that this holds as long as the plan does."""

EVENT = record(time=REAL, code=WHOLE, job=WHOLE, node=WHOLE)
DATED = record(time=REAL, node=WHOLE, sign=REAL, resource=WHOLE, capacity=REAL)
"""A line of the calendar: amounts of a ``node``, in a row of the same number, come free (``sign``
1) or are withheld (−1); or (node −1) a machine-wide ``resource`` has a new ``capacity``."""

USER = record(share=REAL, usage=REAL, since=REAL, held=REAL)
"""A user's share of the machine, usage up to a reading of the unit, and processors held. The last
row is of all users together."""

USAGE = record(epoch=REAL, keys_due=REAL)
"""The time that the unit of usage refers to, and when priorities are to be computed anew."""

LIMIT = record(jobs=WHOLE, procs=WHOLE)
STATE_OF_SLEEP = record(timeout=REAL, delay=REAL)
IDLE = record(since=REAL, procs=WHOLE)
ATTEMPT = record(job=WHOLE, start=REAL, wake=REAL, begin=REAL, end=REAL)
LOGGED = record(time=REAL, event=WHOLE, job=WHOLE, node=WHOLE)
STRETCH = record(kind=WHOLE, since=REAL, until=REAL, procs=WHOLE, depth=WHOLE, node=WHOLE)
WRITTEN = record(lines=WHOLE, stretches=WHOLE)
"""How much of the logs is written. Of attempts there are as many as starts."""


class Logs(NamedTuple):
    """What happened: starts, lines of the event log, stretches without a job, changes of rate."""

    attempts: Records
    lines: Records
    stretches: Records
    switches: Records
    written: Records


class Machine(NamedTuple):
    """Everything. Amounts: what is ``free`` of nodes now and ``later`` on, in a dip, or booked."""

    clock: Records
    rules: Records
    jobs: Records
    options: Records
    needs: Floats
    demand: Floats
    partitions: Records
    queue: Records
    nodes: Records
    free: Floats
    capacity: Floats
    resources: Records
    links: Records
    spare: Records
    ends: Records
    due: Records
    work: Heap
    known: Heap
    time: Heap
    dependents: Heap
    events: Records
    calendar: Records
    booked: Floats
    draws: Floats
    plan: Records
    changes: Records
    dips: Records
    dip_free: Floats
    later: Floats
    counted: Records
    found: Records
    placed: Records
    users: Records
    usage: Records
    limits: Records
    sleep: Records
    idle: Records
    levels: Records
    logs: Logs

"""What the model of slurmctld keeps: jobs, parameters, clock and nodes.

| record | what | written by |
|---|---|---|
| `JOB` | a job; its state, start and end | run (arrivals), starts, ends |
| `RULES` | the scheduler's parameters | nothing |
| `CLOCK` | time, loops, counters | run, clock, main_pass, backfill, starts, ends |
| sets of nodes | idle, completing, held by each job | starts, ends |
| `PLAN` | the plan of a backfill cycle | plan, backfill |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.slurm.nodes import Words
from onega.kernels.types import Floats, Ints, Records

PENDING, RUNNING, COMPLETING, RELEASED, OVER = 1, 2, 3, 4, 5
"""States of a job; RELEASED: its nodes are idle again, which slurmctld hasn't noticed yet."""

BY_MAIN, BY_BACKFILL = 1, 2
"""The scheduler that started a job."""

JOB = record(
    submit=REAL,
    runtime=REAL,
    limit=REAL,
    procs=WHOLE,
    release=REAL,
    reports=REAL,
    overrun=REAL,
    state=WHOLE,
    start=REAL,
    expected=REAL,
    end=REAL,
    next=REAL,
    noticed=REAL,
    by=WHOLE,
)
"""A job, in the order of submission: when slurmctld hears of it, how long it runs from the noted
start, its limit in seconds, its nodes, how long after its end they begin to report and how long
their reports take, how late its end is noted; its state, start, expected end (the noted start plus
the limit) and end; when the next thing happens to it and when it is noticed that its nodes are free
again; which scheduler started it."""

RULES = record(
    procs=WHOLE,
    nodes=WHOLE,
    beat=REAL,
    doze=REAL,
    nap=REAL,
    bf_interval=REAL,
    bf_resolution=REAL,
    grid=REAL,
    bf_window=REAL,
    bf_max_job_test=WHOLE,
    sched_interval=REAL,
    batch_sched_delay=REAL,
    queue_depth=WHOLE,
    min_job_age=REAL,
    look_interval=REAL,
    weight_age=REAL,
    weight_size=REAL,
    max_age=REAL,
    favour_small=WHOLE,
)
"""The parameters, in seconds; ``nodes`` of the ``procs`` are looked at, as jobs never need more.
``beat``, ``doze``, ``nap``: from a beat of the background loop to the next, from a waking of the
backfill loop in vain to the next, and from a cycle to the waking after it; in whole ticks. Plans
are rounded down to ``grid`` and whole multiples of ``bf_resolution`` from there."""

CLOCK = record(
    now=REAL,
    beat=REAL,
    wake=REAL,
    last_full=REAL,
    last_pass=REAL,
    last_cycle=REAL,
    last_look=REAL,
    asked=WHOLE,
    changed=REAL,
    forgotten=WHOLE,
    to_forget=WHOLE,
    arrived=WHOLE,
    pending=WHOLE,
    active=WHOLE,
    over=WHOLE,
    planned=WHOLE,
    marks=WHOLE,
    defers=WHOLE,
    quiet=REAL,
    seen=WHOLE,
    remember=WHOLE,
    beat_then=REAL,
    wake_then=REAL,
    look_then=REAL,
    lag_then=REAL,
    stale_then=WHOLE,
)
"""The time; the next beat of the background loop and the next waking of the backfill cycle; when
passes, cycles and looks for old jobs last were; whether a pass was asked for; when anything last
changed; how many of ``ends`` are forgotten, and how many there are; numbers of jobs. How many of
the queue the plan has (−1: it is void), whether free nodes are planned for one of them, and whether
one has to wait for what is planned for another. Then what saves work: until when cycles start no
job, and how the loops stood at an earlier full pass."""


PLAN = record(slots=WHOLE, until=REAL, running=WHOLE)
"""How many slots and running jobs a plan has, and the time up to which (exclusive) a plan made
later is this one, but for the begin of its first slot and the end of its last; as long as nothing
but time has changed."""


class Plan(NamedTuple):
    """A backfill cycle's plan, and the sets of nodes that it works with.

    A slot is a stretch of time in which the same nodes are unpromised: slot k lasts from
    ``bounds[k]`` to ``bounds[k + 1]`` (exclusive), the last one to the end of the window, and has
    the nodes ``unpromised[k]`` left. ``running``: jobs, by expected end. ``free``: nodes that the
    node table shows as free, idle or completing; ``planned``: nodes of all reservations; for the
    job being planned ``allowed``: unpromised throughout, ``usable``: free by its start, ``chosen``:
    those it would get.
    """

    extent: Records
    bounds: Floats
    unpromised: npt.NDArray[np.uint64]
    running: Ints
    free: Words
    planned: Words
    allowed: Words
    usable: Words
    chosen: Words


class State(NamedTuple):
    """Everything, so that a run can stop and go on.

    ``queue``: pending jobs in the order of submission; ``active``: jobs from their start until
    their release is noticed, in the order of starts; ``idle``, ``completing``, ``every``: sets of
    nodes; ``held[j]``: job j's nodes; ``ends``: seconds in which jobs ended, until they are
    forgotten; ``plan``: the last backfill cycle's.
    """

    rules: Records
    clock: Records
    jobs: Records
    queue: Ints
    active: Ints
    idle: Words
    completing: Words
    held: npt.NDArray[np.uint64]
    every: Words
    ends: Floats
    plan: Plan

"""What the simulator's loops share: jobs, the machine's counters, the work clock, rate control.

All processors run at one common rate R(t). A *work clock* V(t) = ∫R keeps the event heap valid
when the rate changes: a job started at V ends when the clock reaches V + work. Between two
changes of rate, V(t) = V₀ + (t − t₀)·R, so that with R = 1 times are exact sums, never
accumulated.

Loops run in portions and return a reason code; Python shows progress, handles Ctrl-C and raises.
What happened beyond starts and ends (changes of rate, pieces of preempted service) goes into a
log that Python empties between portions.

State is kept in records: a record is one pointer, an array is seven values, and a loop whose parts
take fifty arrays spends its time passing them on.
"""

from __future__ import annotations

from typing import Any

from onega.kernels.jit import part
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.types import Records

# Reasons to return.
DONE, MORE, LOG_FULL, QUEUE_FULL, BAD_KEY, STUCK = 0, 1, 2, 3, 4, 5

# Kinds of order: a fixed rank, a key evaluated at every pass, preemptive ones.
RANKED, KEYED, NEWEST, SHORTEST_LEFT, LONGEST_LEFT = 0, 1, 2, 3, 4
# Backfilling.
BLOCKING, EASY, CONSERVATIVE, EASY_2018 = 0, 1, 2, 3
# Rate control.
FIXED, RANDOM, QUEUE, WORKLOAD = 0, 1, 2, 3
# Ties.
INSTANT, EVENT = 0, 1

Record = Any

JOB = record(
    submit=REAL,
    work=REAL,
    expect=REAL,
    procs=WHOLE,
    rank=WHOLE,
    start=REAL,
    end=REAL,
)
"""A job: what it is, its rank in the policy's order, when it started and ended. Jobs stand in the
order of arrival."""

MACHINE = record(
    # Rules: codes as above, the key function, processors, chances of random control.
    order=WHOLE,
    backfill=WHOLE,
    control=WHOLE,
    ties=WHOLE,
    key=WHOLE,
    procs=WHOLE,
    p_low=REAL,
    p_high=REAL,
    # The time, the clock's reference (t₀, V₀), the rate and its level.
    now=REAL,
    t0=REAL,
    v0=REAL,
    rate=REAL,
    level=WHOLE,
    # Jobs arrived, departed and running; free processors; number of the next start.
    arrived=WHOLE,
    departed=WHOLE,
    running=WHOLE,
    free=WHOLE,
    sequence=WHOLE,
    # W: known work of the waiting, Σ of the known ends of the running, how many count (`workload`).
    known_waiting=REAL,
    known_ends=REAL,
    counted=WHOLE,
    # The head's reservation: shadow time on the work clock (−∞: unknown), extra processors.
    shadow=REAL,
    extra=WHOLE,
    # Conservative: the shadow is the first reservation of all; up to which rank jobs have one.
    planned=WHOLE,
    # Entries in the logs, the job at fault.
    switches=WHOLE,
    pieces=WHOLE,
    culprit=WHOLE,
)
"""The one record of rules and counters."""

LEVEL = record(
    rate=REAL,
    k_low=REAL,
    k_high=REAL,
)
"""A level of the rate, and the thresholds below which it is left downwards, above which upwards."""

DUE = record(
    seq=WHOLE,
    slot=WHOLE,
)
"""A job that ends now: the number of its start, its slot."""

SWITCH = record(
    time=REAL,
    level=WHOLE,
)
PIECE = record(
    job=WHOLE,
    start=REAL,
    end=REAL,
)


@part
def add_due(due: Records, count: int, seq: int, slot: int) -> None:
    """Enter a job that ends now behind so many others, by the order of starts."""
    while count > 0 and due[count - 1].seq > seq:
        due[count] = due[count - 1]
        count -= 1
    due[count].seq = seq
    due[count].slot = slot


@part
def clock(m: Record) -> float:
    """Return V(now)."""
    return m.v0 + (m.now - m.t0) * m.rate


@part
def end_time(m: Record, key: float) -> float:
    """Return when the work clock reaches ``key`` at the present rate; never before now."""
    left = key - m.v0
    if m.rate != 1.0:
        left /= m.rate
    return max(m.now, m.t0 + left)


@part
def next_event(m: Record, jobs: Records, first_end: float) -> float:
    """Return the time of the next completion, at V = ``first_end``, or submission; ∞: none."""
    following = end_time(m, first_end)
    if m.arrived < jobs.size:
        following = min(following, jobs[m.arrived].submit)
    return following


@part
def next_turn(m: Record, jobs: Records, ending: int) -> tuple[int, int]:
    """Return how many jobs arrive, and how many of ``ending`` ones end, before the next pass.

    Ties by instant: all that do so now. Ties by event: a single one, and submissions come first.
    """
    number = m.arrived
    while number < jobs.size and jobs[number].submit <= m.now:
        number += 1
    arriving = number - m.arrived
    if m.ties == INSTANT:
        return arriving, ending
    arriving = min(arriving, 1)
    return arriving, min(1 - arriving, ending)

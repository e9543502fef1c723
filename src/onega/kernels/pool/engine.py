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

import numpy as np

from onega.kernels.jit import part
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.heap import Heap, heap_pop
from onega.kernels.types import Floats, Records

# Reasons to return.
DONE, MORE, LOG_FULL, QUEUE_FULL, BAD_KEY, STUCK, PLAN_FULL = 0, 1, 2, 3, 4, 5, 6

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
    at_rank=WHOLE,
    start=REAL,
    end=REAL,
)
"""A job, one cache line: what it is, its rank in the policy's order (and, standing at that rank,
the job that has it), when it started and ended. Jobs stand in the order of arrival."""

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
    # Work of the waiting; Σ of the clock at the ends of the running (for W).
    work_waiting=REAL,
    ends_running=REAL,
    # The head's reservation: shadow time on the work clock (−∞: unknown), extra processors.
    shadow=REAL,
    extra=WHOLE,
    # Conservative: the shadow is the first reservation of all; who has one, up to which rank.
    planned=WHOLE,
    # Spare slots, entries in the logs, the job at fault.
    spare=WHOLE,
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
    key=REAL,
    seq=WHOLE,
    slot=WHOLE,
)
"""A job that ends now: the clock at its end, the number of its start, its slot."""

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
def clock(m: Record) -> float:
    """Return V(now)."""
    return m.v0 + (m.now - m.t0) * m.rate


@part
def end_time(m: Record, key: float) -> float:
    """Return when the work clock reaches ``key`` at today's rate; never before now."""
    left = key - m.v0
    if m.rate != 1.0:
        left /= m.rate
    return max(m.now, m.t0 + left)


@part
def workload(m: Record) -> float:
    """Return W, the remaining work of all jobs in the system."""
    return m.work_waiting + m.ends_running - m.running * clock(m)


@part
def set_level(m: Record, levels: Records, log: Records, level: int) -> None:
    """Change the rate from now on, and log it; several changes at one instant are one."""
    if level == m.level:
        return
    v = clock(m)
    m.t0 = m.now
    m.v0 = v
    m.rate = levels[level].rate
    m.level = level
    place = m.switches
    if place > 0 and log[place - 1].time == m.now:
        place -= 1
    log[place].time = m.now
    log[place].level = level
    m.switches = place + 1


@part
def control_arrival(m: Record, levels: Records, draws: Floats, log: Records, job: int) -> None:
    """Decide on the rate after a submission (Rumyantsev et al. 2018: (5), III-A, III-C)."""
    level = m.level
    top = levels.size - 1
    if m.control == RANDOM:
        if level < top and draws[2 * job] < m.p_high:
            level += 1
    else:
        measure = float(m.arrived - m.departed) if m.control == QUEUE else workload(m)
        while level < top and measure > levels[level].k_high:
            level += 1
    set_level(m, levels, log, level)


@part
def control_departure(m: Record, levels: Records, draws: Floats, log: Records, job: int) -> None:
    """Decide on the rate after a completion."""
    level = m.level
    if m.control == RANDOM:
        if level > 0 and draws[2 * job + 1] < m.p_low:
            level -= 1
    elif m.control == QUEUE:
        while level > 0 and m.arrived - m.departed <= levels[level].k_low:
            level -= 1
    set_level(m, levels, log, level)


@part
def switch_time(m: Record, levels: Records) -> float:
    """Return when W sinks to the lower threshold: t + (W − k_low)/(R · number running)."""
    if m.level == 0:
        return np.inf
    excess = workload(m) - levels[m.level].k_low
    if excess <= 0.0:
        return m.now
    if m.running == 0:
        return np.inf
    return m.now + excess / (m.rate * m.running)


@part
def advance(m: Record, levels: Records, log: Records, following: float) -> bool:
    """Go on to the next event, at ``following`` or where the workload rule switches down.

    Returns False if there is none.
    """
    if m.control != WORKLOAD:
        m.now = following
        return following != np.inf
    switching = switch_time(m, levels)
    following = min(following, switching)
    if following == np.inf:
        return False
    m.now = following
    if switching <= following:
        set_level(m, levels, log, m.level - 1)
    return True


@part
def next_event(m: Record, jobs: Records, heap: Heap) -> float:
    """Return the time of the next completion or submission; ∞ if there is none."""
    following = np.inf
    if heap.size[0] > 0:
        following = end_time(m, heap.entry[0].key)
    if m.arrived < jobs.size:
        following = min(following, jobs[m.arrived].submit)
    return following


@part
def submitted_by(m: Record, jobs: Records, time: float) -> int:
    """Count the jobs that arrive up to a time."""
    number = m.arrived
    while number < jobs.size and jobs[number].submit <= time:
        number += 1
    return number - m.arrived


@part
def collect_due(m: Record, heap: Heap, due: Records) -> int:
    """Take the jobs that end now out of the heap, in the order in which they started."""
    count = 0
    while heap.size[0] > 0 and end_time(m, heap.entry[0].key) <= m.now:
        key, seq = heap.entry[0].key, heap.entry[0].seq
        slot = heap_pop(heap)
        place = count
        while place > 0 and due[place - 1].seq > seq:
            due[place] = due[place - 1]
            place -= 1
        due[place].key = key
        due[place].seq = seq
        due[place].slot = slot
        count += 1
    return count

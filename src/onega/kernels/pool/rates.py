"""Rate control, and the work in the system as far as it is known, by which one of the rules goes.

The rate has levels. A decision follows each submission (up) and each completion (down): by chance,
by the number of jobs in the system, or by the workload W; W may also sink to a threshold between
events (Rumyantsev et al. 2018: (5), III-A, III-C).

W = Σ max(0, k − d) over all jobs in the system, where k is what the scheduler knows of a job's work
(its estimate, or its run time) and d the work done. A running job counts until its work done
reaches k, even if it goes on; one that ends earlier takes the rest with it. Between events W sinks
at R × the number of running jobs that count.

The waiting jobs' part is a sum. A running job that began (or went on) at V counts V + k − d less
the clock, so that the running jobs' part is the sum of these *known ends* less as many times the
clock; a heap of the known ends tells when a job ceases to count. The sums stand in the record of
the machine (``known_waiting``, ``known_ends``, ``counted``).
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import part
from onega.kernels.pool.engine import QUEUE, RANDOM, WORKLOAD, Record, clock, end_time
from onega.kernels.structures.heap import Heap, heap_has, heap_key, heap_pop, heap_push, heap_remove
from onega.kernels.types import Floats, Records


@part
def workload(m: Record) -> float:
    """Return W, the known remaining work of all jobs in the system."""
    return m.known_waiting + m.known_ends - m.counted * clock(m)


@part
def count_running(m: Record, ends: Heap, slot: int, known_end: float) -> None:
    """Count a job that runs, until the clock reaches its known end; it has ceased to wait."""
    heap_push(ends, slot, known_end, slot)
    m.known_ends += known_end
    m.counted += 1


@part
def _forget(m: Record, known_end: float) -> None:
    m.known_ends -= known_end
    m.counted -= 1
    if m.counted == 0:
        m.known_ends = 0.0  # nothing is left of rounding


@part
def uncount_running(m: Record, ends: Heap, slot: int) -> float:
    """Count a job no longer as running; return what is known to be left of its work."""
    if not heap_has(ends, slot):
        return 0.0
    known_end = heap_key(ends, slot)
    heap_remove(ends, slot)
    _forget(m, known_end)
    return max(0.0, known_end - clock(m))


@part
def outlive_first(m: Record, ends: Heap) -> None:
    """Go on to the earliest known end; its job, which goes on, ceases to count."""
    known_end = ends.entry[0].key
    m.now = end_time(m, known_end)
    heap_pop(ends)
    _forget(m, known_end)


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
    else:
        measure = float(m.arrived - m.departed) if m.control == QUEUE else workload(m)
        while level > 0 and measure <= levels[level].k_low:
            level -= 1
    set_level(m, levels, log, level)


@part
def switch_time(m: Record, levels: Records) -> float:
    """Return when W sinks to the lower threshold: t + (W − k_low)/(R · number that count)."""
    if m.level == 0:
        return np.inf
    excess = workload(m) - levels[m.level].k_low
    if excess <= 0.0:
        return m.now
    if m.counted == 0:
        return np.inf
    return m.now + excess / (m.rate * m.counted)


@part
def advance(m: Record, levels: Records, log: Records, ends: Heap, following: float) -> bool:
    """Go on to the next event, at ``following`` or where the workload rule switches down.

    ``ends``: the known ends of running jobs (`workload`). Returns False if there is no event.
    """
    if m.control != WORKLOAD:
        m.now = following
        return following != np.inf
    switching = switch_time(m, levels)
    while ends.size[0] > 0 and end_time(m, ends.entry[0].key) < min(following, switching):
        outlive_first(m, ends)
        switching = switch_time(m, levels)
    following = min(following, switching)
    if following == np.inf:
        return False
    m.now = following
    if switching <= following:
        set_level(m, levels, log, m.level - 1)
    return True

"""The preemptive-resume orders of Rumyantsev et al. (2018) (III-B), with a loop of their own.

A displaced job keeps its remaining work. Each piece of service that ends by displacement is
logged, so that energy and the series over time can be made from the pieces. Jobs that end at this
very instant hold their processors until their completion is processed and are never displaced;
that matters only where ties go event by event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import by_reference, kernel, part
from onega.kernels.pool.engine import (
    DONE,
    FIXED,
    INSTANT,
    LOG_FULL,
    LONGEST_LEFT,
    MORE,
    NEWEST,
    STUCK,
    WORKLOAD,
    Record,
    add_due,
    clock,
    end_time,
    next_event,
    next_turn,
)
from onega.kernels.pool.rates import (
    advance,
    control_arrival,
    control_departure,
    count_running,
    uncount_running,
)
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.heap import Heap, heap_key, heap_pop, heap_push, heap_remove
from onega.kernels.types import Floats, Ints, Records

SERVICE = record(
    runs=WHOLE,
    left=REAL,
    known=REAL,
    since=REAL,
    older=WHOLE,
    newer=WHOLE,
)
"""A job: whether it runs, the work left when it last stopped, in truth and as far as it is known,
when it last started; and its neighbours among the jobs in the system, by age."""

LINE = record(
    newest=WHOLE,
    edge=WHOLE,
    served=WHOLE,
    newcomer=WHOLE,
    held=WHOLE,
    fresh=WHOLE,
)
"""The newest job, the oldest one of the served prefix, processors of that prefix; the first job
not yet seen by a pass; processors held by jobs that end now; completions since the last pass."""


class State(NamedTuple):
    """Everything the loop needs.

    As in `processors`, and ``service`` by job; ``line``: one record; ``heap``: running jobs by the
    work clock at their end; ``waiting``: the others by remaining work (orders by work); ``log`` and
    ``pieces``: changes of rate and interrupted service.
    """

    machine: Records
    jobs: Records
    levels: Records
    draws: Floats
    service: Records
    line: Records
    heap: Heap
    ends: Heap
    waiting: Heap
    due: Records
    log: Records
    pieces: Records


@part
def _serve(state: State, number: int) -> None:
    """Start or resume a job."""
    m, job, service = state.machine[0], state.jobs[number], state.service[number]
    v = clock(m)
    heap_push(state.heap, number, v + service.left, m.sequence)
    m.sequence += 1
    m.free -= job.procs
    m.running += 1
    if m.control == WORKLOAD:
        m.known_waiting -= service.known
        count_running(m, state.ends, number, v + service.known)
    service.runs = 1
    service.since = m.now
    if np.isnan(job.start):
        job.start = m.now


@part
def _stop(state: State, number: int) -> None:
    """Take a job's processors back; it is out of the heap of running ones already."""
    m, service = state.machine[0], state.service[number]
    m.free += state.jobs[number].procs
    m.running -= 1
    if m.control == WORKLOAD:
        service.known = uncount_running(m, state.ends, number)
    service.runs = 0


@part
def _displace(state: State, number: int) -> None:
    """Stop a running job; it keeps its remaining work."""
    m, service = state.machine[0], state.service[number]
    key = heap_key(state.heap, number)
    heap_remove(state.heap, number)
    _stop(state, number)
    service.left = max(0.0, key - clock(m))
    m.known_waiting += service.known
    if service.since < m.now:
        piece = state.pieces[m.pieces]
        piece.job = number
        piece.start = service.since
        piece.end = m.now
        m.pieces += 1


@part
def _line_enter(line: Record, service: Records, number: int, procs: int) -> None:
    """Put a newcomer in front; it belongs to the served prefix until a pass trims it."""
    service[number].older = line.newest
    service[number].newer = -1
    if line.newest >= 0:
        service[line.newest].newer = number
    line.newest = number
    line.served += procs
    if line.edge < 0:
        line.edge = number


@part
def _line_leave(line: Record, service: Records, number: int, procs: int) -> None:
    """Take a job that is done (and so stands in the served prefix) out of the line."""
    older, newer = service[number].older, service[number].newer
    if older >= 0:
        service[older].newer = newer
    if newer >= 0:
        service[newer].older = older
    else:
        line.newest = older
    if line.edge == number:
        line.edge = newer
    line.served -= procs


@part
def _pass_newest(state: State) -> None:
    """Last come, first served: the newest run, as many as fit before the first that doesn't."""
    m, line, jobs, service = state.machine[0], state.line[0], state.jobs, state.service
    capacity = m.procs - line.held
    while line.served > capacity:
        number = line.edge
        line.served -= jobs[number].procs
        line.edge = service[number].newer
        if service[number].runs:
            _displace(state, number)
    number = line.newest if line.edge >= 0 else -1
    while number >= 0 and not service[number].runs:
        _serve(state, number)
        number = service[number].older if number != line.edge else -1
    number = service[line.edge].older if line.edge >= 0 else line.newest
    while number >= 0 and line.served + jobs[number].procs <= capacity:
        _serve(state, number)
        line.served += jobs[number].procs
        line.edge = number
        number = service[number].older


@part
def _running_by_work(heap: Heap, v: float, sign: float) -> tuple[Ints, Floats]:
    """Return the running jobs and their keys (± remaining work), sorted; ties by arrival."""
    count = heap.size[0]
    numbers = np.empty(count, np.int64)
    for place in range(count):
        numbers[place] = heap.entry[place].slot
    numbers.sort()
    keys = np.empty(count)
    for place in range(count):
        keys[place] = sign * (heap_key(heap, numbers[place]) - v)
    order = np.argsort(keys, kind="mergesort")
    return numbers[order], keys[order]


@part
def _reorder(state: State, sign: float) -> None:
    """Serve the longest prefix that fits of all jobs in the system, by remaining work."""
    m, jobs, service, waiting = state.machine[0], state.jobs, state.service, state.waiting
    running, keys = _running_by_work(state.heap, clock(m), sign)
    capacity = m.procs - state.line[0].held
    starters = np.empty(min(capacity, waiting.size[0]), np.int64)
    starting = 0
    place = 0
    while place < running.size or waiting.size[0] > 0:
        from_queue = place == running.size
        if not from_queue and waiting.size[0] > 0:
            top, key = waiting.entry[0].slot, waiting.entry[0].key
            from_queue = key < keys[place] or (key == keys[place] and top < running[place])
        number = waiting.entry[0].slot if from_queue else running[place]
        if jobs[number].procs > capacity:
            break
        capacity -= jobs[number].procs
        if from_queue:
            starters[starting] = heap_pop(waiting)
            starting += 1
        else:
            place += 1
    for index in range(place, running.size):
        number = running[index]
        _displace(state, number)
        heap_push(waiting, number, sign * service[number].left, number)
    for number in starters[:starting]:
        _serve(state, number)


@part
def _pass_by_work(state: State) -> None:
    """Shortest or longest remaining work first, Rumyantsev et al.'s (2018) literal rule.

    The order is applied at completions; at a submission the served set changes only if the
    newcomer fits beside it and no job waits.
    """
    m, line, jobs, service = state.machine[0], state.line[0], state.jobs, state.service
    waiting = state.waiting
    sign = -1.0 if m.order == LONGEST_LEFT else 1.0
    for number in range(line.newcomer, m.arrived):
        fits = waiting.size[0] == 0 and jobs[number].procs <= m.free
        if line.fresh == 0 and fits:
            _serve(state, number)
        else:
            heap_push(waiting, number, sign * service[number].left, number)
    line.newcomer = m.arrived
    if line.fresh > 0:
        _reorder(state, sign)
    line.fresh = 0


@part
def _enter(state: State) -> None:
    """Let the next job of the log arrive, and decide on the rate."""
    m = state.machine[0]
    number = m.arrived
    m.arrived = number + 1
    m.known_waiting += state.jobs[number].expect
    if m.control != FIXED:
        control_arrival(m, state.levels, state.draws, state.log, number)
    if m.order == NEWEST:
        _line_enter(state.line[0], state.service, number, state.jobs[number].procs)


@part
def _end(state: State, index: int) -> None:
    """Let a job that has done its work leave, and decide on the rate."""
    number = state.due[index].slot
    m, job = state.machine[0], state.jobs[number]
    job.end = m.now
    state.line[0].held -= job.procs
    state.line[0].fresh += 1
    _stop(state, number)
    m.departed += 1
    if m.control != FIXED:
        control_departure(m, state.levels, state.draws, state.log, number)


@part
def _first_end(state: State) -> float:
    """Return where the work clock stands at the next completion; ∞ if no job runs."""
    return state.heap.entry[0].key if state.heap.size[0] > 0 else np.inf


@part
def _collect_due(state: State) -> int:
    """Take the jobs that end now out of the heap, in the order in which they started."""
    m, heap, due = state.machine[0], state.heap, state.due
    count = 0
    while end_time(m, _first_end(state)) <= m.now:
        seq = heap.entry[0].seq
        add_due(due, count, seq, heap_pop(heap))
        count += 1
    return count


@part
def _hold(state: State, ending: int) -> None:
    """Let the jobs that end now keep their processors until their turn."""
    line = state.line[0]
    for index in range(ending):
        number = state.due[index].slot
        procs = state.jobs[number].procs
        line.held += procs
        if state.machine[0].order == NEWEST:
            _line_leave(line, state.service, number, procs)


@kernel
def run_preemptive(state: State, rounds: int) -> int:
    """Go through at most ``rounds`` instants; return DONE, MORE, LOG_FULL or STUCK."""
    state = by_reference(state)
    m, jobs = state.machine[0], state.jobs
    by_instant = m.ties == INSTANT
    for _ in range(rounds):
        if m.switches + 2 > state.log.size or m.pieces + state.due.size > state.pieces.size:
            return LOG_FULL
        following = next_event(m, jobs, _first_end(state))
        if not advance(m, state.levels, state.log, state.ends, following):
            return DONE if m.departed == jobs.size else STUCK
        ending = _collect_due(state)
        _hold(state, ending)
        ended = 0
        while True:
            arriving, leaving = next_turn(m, jobs, ending - ended)
            if not by_instant and arriving + leaving == 0:
                break
            for index in range(ended, ended + leaving):
                _end(state, index)
            ended += leaving
            for _newcomer in range(arriving):
                _enter(state)
            if m.order == NEWEST:
                _pass_newest(state)
            else:
                _pass_by_work(state)
            if m.arrived - m.departed == m.running:
                m.known_waiting = 0.0  # nothing is left of rounding
            if by_instant:
                break
    return MORE

"""Naive twin of the detailed machine: every rule spelled out, nothing clever, nothing fast.

`run` maps a `Problem` to its `Outcome` as the kernel does. It walks from instant to instant; what
happens at one, and in which order, is in `_round`. Times and amounts are Fractions, so that nothing
is rounded (or floats, for speed, where inputs are dyadic and nothing is divided); keys and
fair-share usage are floats, written as the definitions are.

The pass is in `reference.machine.passes`, what a start or an end does in
`reference.machine.state`, rate control in `reference.machine.rates`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, inf, isnan, lcm, nan

import numpy as np

from onega.kernels.machine import codes
from onega.kernels.machine.state import ATTEMPT, LOGGED, STRETCH
from onega.kernels.pool.engine import SWITCH
from onega.simulation.machine.problem import Outcome, Problem
from reference.machine.passes import fire_timers, place, priority_key, schedule
from reference.machine.rates import (
    decide_on_arrival,
    decide_on_departure,
    set_level,
    slow_down_time,
)
from reference.machine.state import (
    ABSENT,
    END_EVENT,
    GONE,
    RUNNING,
    WAITING,
    Attempt,
    Machine,
    Number,
)

# -- leaving


def _depart(machine: Machine, j: int, state: int) -> None:
    """The job leaves for good; those that depend on it hear of it; the rate is decided on."""
    was_in_system = machine.phase[j] != ABSENT
    machine.phase[j] = GONE
    machine.state[j] = state
    machine.end[j] = machine.now
    machine.tell(END_EVENT[state], job=j)
    for child in np.flatnonzero(machine.problem.jobs["after"] == j).tolist():
        if machine.phase[child] != ABSENT:
            continue
        if state in (codes.COMPLETED, codes.TIMEOUT):
            machine.due[child] = machine.now + machine.exact(machine.problem.jobs["think"][child])
        else:
            _depart(machine, child, codes.DROPPED)
    if was_in_system:
        decide_on_departure(machine, j)


def _finish(machine: Machine, attempt: Attempt) -> None:
    """The job has done its work."""
    machine.release(attempt)
    limited = machine.problem.options["limited"][attempt.option]
    _depart(machine, attempt.job, codes.TIMEOUT if limited else codes.COMPLETED)


def _work_done(machine: Machine, attempt: Attempt) -> Number:
    return machine.exact(0.0) if attempt.begin is None else machine.clock - attempt.v_begin


def _interrupt(machine: Machine, attempt: Attempt, node: int = -1) -> None:
    j, problem = attempt.job, machine.problem
    if attempt.finishing_until is not None:
        _finish(machine, attempt)
        return
    done = _work_done(machine, attempt)
    kept = machine.exact(0.0)
    if problem.on_interrupt == codes.CHECKPOINT:
        interval = machine.exact(problem.checkpoint)
        kept = floor(done / interval) * interval
    machine.release(attempt)
    machine.saved[j] += kept
    machine.lost[j] += done - kept
    machine.tell(codes.INTERRUPTED, job=j, node=node)
    if problem.on_interrupt == codes.LOSE:
        _depart(machine, j, codes.LOST)
    else:
        machine.phase[j] = WAITING
        machine.tell(codes.REQUEUED, job=j)


def _kill(machine: Machine, j: int) -> None:
    attempt = machine.attempt_of(j)
    if attempt.finishing_until is not None:
        _finish(machine, attempt)
        return
    machine.lost[j] += _work_done(machine, attempt)
    machine.release(attempt)
    _depart(machine, j, codes.KILLED)


# -- table events


JOB_EVENTS = (codes.CANCEL, codes.INTERRUPT, codes.KILL, codes.LEAVE)


def _job_event(machine: Machine, code: int, j: int) -> bool:
    """Whether anything came of it."""
    phase = machine.phase[j]
    if phase == WAITING and code in (codes.CANCEL, codes.KILL, codes.LEAVE):
        never_started = machine.start[j] is None
        _depart(machine, j, codes.CANCELLED if never_started else codes.KILLED)
    elif phase == ABSENT and code in (codes.CANCEL, codes.LEAVE):
        _depart(machine, j, codes.CANCELLED)
    elif phase == RUNNING and code == codes.KILL:
        _kill(machine, j)
    elif phase == RUNNING and code == codes.INTERRUPT:
        _interrupt(machine, machine.attempt_of(j))
    else:
        if code != codes.LEAVE:
            machine.tell(codes.IGNORED, job=j)
        return False
    return True


def _node_event(machine: Machine, code: int, n: int) -> bool:
    """Whether anything came of it."""
    if code == codes.FAIL and machine.up[n]:
        machine.tell(codes.FAILED, node=n)
        machine.up[n] = False
        machine.down_since[n] = machine.now
        on_it = machine.on_node(n)
        if not on_it:
            machine.end_idle(n, machine.since[n], int(machine.capacity[n][0]))
        for attempt in on_it:
            _interrupt(machine, attempt, n)
    elif code == codes.RETURN and not machine.usable(n):
        machine.tell(codes.RETURNED, node=n)
        machine.draining[n] = False
        if not machine.up[n]:
            _end_down(machine, n)
            machine.up[n] = True
            machine.since[n] = machine.now
    elif code == codes.DRAIN and machine.usable(n):
        machine.tell(codes.DRAINED, node=n)
        machine.draining[n] = True
    else:
        machine.tell(codes.IGNORED, node=n)
        return False
    return True


def _end_down(machine: Machine, n: int) -> None:
    count = int(machine.capacity[n][0])
    machine.add_part(codes.DOWN, machine.down_since[n], machine.now, count, -1, n)


def _table_events(machine: Machine, after: Number) -> bool:
    """All that came up after the last round; whether any was not ignored."""
    events = machine.problem.events
    changed = False
    for row in _passed(machine, events["time"].tolist(), after):
        code = int(events["code"][row])
        if code in JOB_EVENTS:
            changed |= _job_event(machine, code, int(events["job"][row]))
        else:
            changed |= _node_event(machine, code, int(events["node"][row]))
    return changed


# -- the calendar


def _passed(machine: Machine, times: list[Number], after: Number) -> list[int]:
    """Rows of a table that came up after the last round, up to now."""
    return [row for row, time in enumerate(times) if after < time <= machine.now]


def _withhold(machine: Machine, n: int, amount: list[Number], sign: int) -> None:
    machine.withheld[n] = [w + sign * a for w, a in zip(machine.withheld[n], amount)]


def _calendar(machine: Machine, after: Number) -> bool:
    """Reservations end, others begin, capacities change; whether there was any of it."""
    reservations, steps = machine.reservations, machine.steps
    ending = _passed(machine, [end for _, end, _, _ in reservations], after)
    beginning = _passed(machine, [begin for begin, _, _, _ in reservations], after)
    stepping = _passed(machine, [time for time, _, _ in steps], after)
    for row in ending:
        _, _, n, amount = reservations[row]
        _withhold(machine, n, amount, -1)
        machine.tell(codes.RELEASED, node=n)
    for row in beginning:
        _, _, n, amount = reservations[row]
        _withhold(machine, n, amount, +1)
        machine.tell(codes.RESERVED, node=n)
        while min(machine.free()[n]) < 0 and machine.on_node(n):
            # min takes the first of equals: the one that started first
            first = min(machine.on_node(n), key=lambda attempt: attempt.v_expected)
            _interrupt(machine, first, n)
    for row in stepping:
        _, resource, capacity = steps[row]
        machine.shared[resource] = capacity
        machine.tell(codes.CAPACITY, node=resource)
    return bool(ending or beginning or stepping)


# -- the order of things at one instant


def _completions(machine: Machine, done: list[Attempt]) -> bool:
    """`done`: those whose work is done now. Whether anybody left."""
    leaving = []
    for attempt in machine.running:
        overhead = machine.exact(machine.problem.jobs["completion"][attempt.job])
        over = attempt.finishing_until is not None and attempt.finishing_until <= machine.now
        if attempt in done and overhead > 0:
            attempt.finishing_until = machine.now + overhead
        elif attempt in done or over:
            leaving.append(attempt)
    for attempt in leaving:
        _finish(machine, attempt)
    return bool(leaving)


def _submissions(machine: Machine) -> bool:
    arriving = [j for j in machine.in_phase(ABSENT) if machine.due[j] <= machine.now]
    for j in arriving:
        machine.phase[j] = WAITING
        machine.submit[j] = machine.due[j]
        machine.tell(codes.SUBMITTED, job=j)
        if machine.problem.multifactor is not None:
            machine.priority_key[j] = priority_key(machine, j)
        decide_on_arrival(machine, j)
    return bool(arriving)


def _round(machine: Machine, t: Number, after: Number) -> None:
    """All that happens at t; tables have been dealt with up to `after`."""
    slower = slow_down_time(machine) <= t
    done = [a for a in machine.running if a.working and machine.time_of(a.v_end) <= t]
    machine.now = t
    if slower:
        set_level(machine, machine.level - 1)
    for attempt in machine.running:
        if attempt.begin is None and attempt.launched <= t:
            machine.begin_work(attempt)
            if attempt.v_end <= machine.clock:
                done.append(attempt)
    left = _completions(machine, done)
    events = _table_events(machine, after)
    steps = _calendar(machine, after)
    fire_timers(machine)
    arrived = _submissions(machine)
    if slower or left or events or steps or arrived:
        schedule(machine)


def _next_instant(machine: Machine, after: Number) -> Number:
    """The earliest that something happens; inf if nothing can any more."""
    times: list[Number] = [slow_down_time(machine)]
    times += [machine.due[j] for j in machine.in_phase(ABSENT)]
    times += [time for time, _, _ in machine.timers.values()]
    for attempt in machine.running:
        if attempt.begin is None:
            times.append(attempt.launched)
        elif attempt.working:
            times.append(machine.time_of(attempt.v_end))
        else:
            times.append(attempt.finishing_until)
    tables = [machine.exact(time) for time in machine.problem.events["time"]]
    tables += [time for begin, end, _, _ in machine.reservations for time in (begin, end)]
    tables += [time for time, _, _ in machine.steps]
    times += [time for time in tables if time > after]
    return max(machine.now, min(times))


# -- beginning and end


def _load(machine: Machine) -> None:
    """Jobs that run from the beginning take their processors."""
    jobs = machine.problem.jobs
    running = [j for j in range(machine.count) if not isnan(jobs["start"][j])]
    for j in sorted(running, key=lambda j: (jobs["start"][j], j)):
        option = machine.options[j][0]
        held = place(machine, machine.free(), j, option)
        assert held is not None, "what runs at the beginning doesn't fit"
        attempt = machine.take(j, option, held)
        done = machine.exact(jobs["saved"][j])
        attempt.start = attempt.begin = machine.start[j] = machine.exact(jobs["start"][j])
        attempt.launched = machine.now
        attempt.v_begin = machine.clock - done
        attempt.v_end = attempt.v_begin + machine.work_left(j, option)
        attempt.v_expected = attempt.v_begin + machine.expect_left(j, option)
        machine.submit[j] = machine.exact(jobs["submit"][j])


def _close(machine: Machine) -> None:
    """Idle stretches and failures that last until the end of the run."""
    for n, up in enumerate(machine.up):
        if not up:
            _end_down(machine, n)
        elif machine.problem.nodes.pooled:
            for since, count in machine.stack[n]:
                machine.end_idle(n, since, count)
        elif not machine.on_node(n):
            machine.end_idle(n, machine.since[n], int(machine.capacity[n][0]))


def _floats(values: list[Number]) -> np.ndarray:
    return np.array([nan if value is None else float(value) for value in values], float)


def _ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def _records(rows: list[tuple], dtype: np.dtype) -> np.ndarray:
    return np.array([tuple(nan if one is None else one for one in row) for row in rows], dtype)


def _outcome(machine: Machine) -> Outcome:
    attempts = [(a.job, a.start, a.wake, a.begin, a.end) for a in machine.attempts]
    return Outcome(
        _floats(machine.submit),
        _floats(machine.start),
        _floats(machine.end),
        _ints(machine.state),
        _ints(machine.option),
        _floats(machine.lost),
        _records(attempts, ATTEMPT),
        _records(machine.log, LOGGED),
        _records(machine.parts, STRETCH),
        _records(machine.switches, SWITCH),
    )


def _exact(readings: list[Number], jobs: int) -> bool:
    """Whether floats hold all times and clock readings, and sums of them over jobs."""
    grid = lcm(*(Fraction(value).denominator for value in readings))
    most = max(abs(value) for value in readings)
    return grid & (grid - 1) == 0 and most * grid * 16 * (jobs + 1) < 2**53


def run_exactly(problem: Problem) -> tuple[Outcome, bool]:
    """What happens, and whether a run in floats has no excuse to find anything else.

    Only the workload rule divides (by the number of jobs at work); all else stays on the grid of
    the inputs.
    """
    machine = Machine(problem, Fraction if problem.rates.kind == "workload" else float)
    return _run(machine)


def run(problem: Problem, number: Callable[[float], Number] = Fraction) -> Outcome:
    """What happens, by the rules."""
    return _run(Machine(problem, number))[0]


def _run(machine: Machine) -> tuple[Outcome, bool]:
    _load(machine)
    readings = [machine.now]
    after: Number = -inf  # tables have been dealt with up to here
    while any(phase != GONE for phase in machine.phase):
        t = _next_instant(machine, after)
        if t == inf:
            break
        _round(machine, t, after)
        after = machine.now
        readings += [machine.now, machine.clock]
    _close(machine)
    return _outcome(machine), _exact(readings, machine.count)

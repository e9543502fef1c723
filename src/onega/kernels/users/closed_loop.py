"""A machine whose users see the queue: submissions come from users, not from a table.

Each user has a line of jobs of his own (his log), cut into sessions. Within a session the next job
comes a think time after the last one has *ended*, or a gap after it was submitted; the next session
begins when the calendar says, or on the first later day on which he is free at that time. What he
submits is his own job, moved along the log's run times and widths by his coefficients times the
difference between the queue he sees and the one he saw then.

The order at one instant is that of `onega.kernels.pool.loop`: completions, submissions, one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onega.kernels.jit import kernel, part
from onega.kernels.pool.engine import (
    DONE,
    FIXED,
    LOG_FULL,
    MORE,
    QUEUE_FULL,
    STUCK,
    WORKLOAD,
    Floats,
    Record,
    Records,
    advance,
    collect_due,
    control_arrival,
    end_time,
)
from onega.kernels.pool.keyed import newcomer_keyed, pass_keyed
from onega.kernels.pool.processors import State, end_job, unowned_state
from onega.kernels.pool.ranked import newcomer_ranked, pass_ranked
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.heap import Heap, heap_pop, heap_push
from onega.kernels.structures.waiting_line import COUNT, has_room

DAY = 86_400.0
NEVER, THINKS, COMES_BACK = 0, 1, 2
"""What a job's end means to its user: nothing, think and go on, or come back for a session."""

USER = record(
    job=WHOLE,
    session=WHOLE,
    first=WHOLE,
    last=WHOLE,
    offset=REAL,
    wr=REAL,
    br=REAL,
    wp=REAL,
    bp=REAL,
    after=WHOLE,
    think=REAL,
)  # fmt: skip
"""The next line of the log and its session; sessions of the user; log time + offset = time;
coefficients; the job that he waited for and how long he thought."""

LINE = record(
    submit=REAL,
    work=REAL,
    expect=REAL,
    procs=WHOLE,
    waiting=REAL,
    busy=REAL,
    r_low=REAL,
    r_high=REAL,
    p_low=REAL,
    p_high=REAL,
    waits=WHOLE,
    delay=REAL,
)  # fmt: skip
"""A job of the log: what it was, the levels that its user saw, its ranks' ends among all run times
and widths; whether the next one waited for its end, and the time from there (or the submission)."""

SESSION = record(
    start=REAL,
    last=WHOLE,
)

MADE = record(
    user=WHOLE,
    line=WHOLE,
    wakes=WHOLE,
    after=WHOLE,
    think=REAL,
)
"""Of a job in the simulation: its user, its line, what its end means, what it followed."""

RULES = record(
    until=REAL,
    period=REAL,
    discouragement=REAL,
    busy_scale=REAL,
    sizes=WHOLE,
    thinks=WHOLE,
    tries=WHOLE,
    sequence=WHOLE,
    given_up=WHOLE,
    late=REAL,
    most=WHOLE,
)  # fmt: skip


class Crowd(NamedTuple):
    """Users, their lines and sessions, the log's sorted run times and widths (rows), lower ends of
    the levels of W and O (rows), who submits next, jobs made, uniform draws (three a try)."""  # noqa: D205, D209

    rules: Records
    users: Records
    lines: Records
    sessions: Records
    sizes: Floats
    cuts: Floats
    heap: Heap
    made: Records
    draws: Floats


@part
def _level(cuts: Floats, value: float) -> float:
    """Return the middle of the levels that a value takes: 0 … 1, 1/2 where all are equal."""
    below = 0
    while below < cuts.size and cuts[below] < value:
        below += 1
    upto = below
    while upto < cuts.size and cuts[upto] <= value:
        upto += 1
    return (below + upto) / (2 * cuts.size)


@part
def _moved(sizes: Floats, low: float, high: float, shift: float, draw: float) -> float:
    """Take the log's value at a rank: somewhere among the job's equals, moved by the shift."""
    rank = low + (high - low) * draw + shift
    place = int(rank * sizes.size)
    return sizes[min(max(place, 0), sizes.size - 1)]


@part
def _call(crowd: Crowd, number: int, when: float) -> None:
    """Let a user submit his next line at a time."""
    rules = crowd.rules[0]
    heap_push(crowd.heap, number, when, rules.sequence)
    rules.sequence += 1


@part
def _next_session(crowd: Crowd, number: int, free: float) -> None:
    """Come back at the next session's time, on the first day on which the user is free by then."""
    rules, user = crowd.rules[0], crowd.users[number]
    user.session += 1
    if user.session > user.last:
        user.session = user.first
        user.offset += rules.period
    user.job = crowd.sessions[user.session - 1].last + 1 if user.session > 0 else 0
    when = crowd.sessions[user.session].start + user.offset
    if when < free:
        days = np.ceil((free - when) / DAY)
        user.offset += days * DAY
        rules.late += days
        when += days * DAY
    _call(crowd, number, when)


@part
def _go_on(crowd: Crowd, number: int, job: int, now: float) -> None:
    """Decide what a user does after submitting: see `onega.kernels.users.closed_loop`."""
    rules, user, made = crowd.rules[0], crowd.users[number], crowd.made[job]
    line = crowd.lines[user.job]
    waits = line.waits == 1 and rules.thinks == 1
    made.wakes = NEVER
    user.after = -1
    if user.job == crowd.sessions[user.session].last:
        if waits:
            made.wakes = COMES_BACK
        else:
            _next_session(crowd, number, now)
    elif waits:
        made.wakes = THINKS
        user.job += 1
    else:
        user.job += 1
        if rules.thinks == 1:
            _call(crowd, number, now + line.delay)
        else:
            _call(crowd, number, max(now, crowd.lines[user.job].submit + user.offset))


@part
def _wake(crowd: Crowd, job: int, now: float) -> None:
    """Tell a user that a job of his has ended."""
    made = crowd.made[job]
    if made.wakes == THINKS:
        user = crowd.users[made.user]
        user.after = job
        user.think = crowd.lines[made.line].delay
        _call(crowd, made.user, now + user.think)
    elif made.wakes == COMES_BACK:
        _next_session(crowd, made.user, now)


@part
def _submit(crowd: Crowd, m: Record, waiting: int, jobs: Records) -> bool:
    """Let the next user submit; False if he gives up because of the queue."""
    rules = crowd.rules[0]
    number = heap_pop(crowd.heap)
    user = crowd.users[number]
    line = crowd.lines[user.job]
    place = (rules.tries % (crowd.draws.size // 3)) * 3
    rules.tries += 1
    queue = _level(crowd.cuts[0], float(waiting)) - line.waiting
    busy = _level(crowd.cuts[1], (m.procs - m.free) * rules.busy_scale) - line.busy
    if crowd.draws[place] < rules.discouragement * queue:
        rules.given_up += crowd.sessions[user.session].last + 1 - user.job
        user.after = -1
        _next_session(crowd, number, m.now)
        return False
    job = jobs[m.arrived]
    job.submit = m.now
    job.work = line.work
    job.expect = line.expect
    job.procs = line.procs
    if rules.sizes == 1:
        shift = user.wr * queue + user.br * busy
        if shift != 0.0:
            job.work = _moved(
                crowd.sizes[0], line.r_low, line.r_high, shift, crowd.draws[place + 1]
            )
            job.expect = job.work
            if line.expect != line.work:
                job.expect = line.expect * (job.work / line.work)
        shift = user.wp * queue + user.bp * busy
        if shift != 0.0:
            width = _moved(crowd.sizes[1], line.p_low, line.p_high, shift, crowd.draws[place + 2])
            job.procs = int(width)
    job.procs = min(job.procs, rules.most)
    job.rank = m.arrived
    job.at_rank = m.arrived
    made = crowd.made[m.arrived]
    made.user = number
    made.line = user.job
    made.after = user.after
    made.think = user.think
    _go_on(crowd, number, m.arrived, m.now)
    m.arrived += 1
    return True


@part
def _next_submission(crowd: Crowd, m: Record, jobs: Records) -> float:
    if crowd.heap.size[0] == 0 or m.arrived == jobs.size:
        return np.inf
    when = crowd.heap.entry[0].key
    return when if when < crowd.rules[0].until else np.inf


@kernel
def run_closed(state: State, crowd: Crowd, own: Any, rounds: int, burst: int) -> int:  # noqa: ANN401
    """Go through at most ``rounds`` instants; reasons as `onega.kernels.pool.loop.run`.

    ``burst``: no more jobs than this come at one instant.
    """
    state = unowned_state(state)
    jobs, m = state.jobs, state.machine[0]
    for _ in range(rounds):
        if m.switches + 2 > state.log.size:
            return LOG_FULL
        if own is None and not has_room(state.waiting, burst):
            return QUEUE_FULL
        following = _next_submission(crowd, m, jobs)
        if state.heap.size[0] > 0:
            following = min(following, end_time(m, state.heap.entry[0].key))
        if not advance(m, state.levels, state.log, following):
            return DONE if m.departed == m.arrived else STUCK
        ending = collect_due(m, state.heap, state.due)
        for index in range(ending):
            number = state.slots[state.due[index].slot].job
            end_job(state, index)
            _wake(crowd, number, m.now)
        full = ending > 0
        first = m.arrived
        queued = state.waiting.state[COUNT]
        while _next_submission(crowd, m, jobs) <= m.now:
            job = m.arrived
            if not _submit(crowd, m, queued + job - first, jobs):
                continue
            if m.control != FIXED:
                if m.control == WORKLOAD:
                    m.work_waiting += jobs[job].work
                control_arrival(m, state.levels, state.draws, state.log, job)
        arriving = m.arrived - first
        for number in range(arriving):
            if own is None:
                alone = arriving == 1 and ending == 0
                full = not newcomer_ranked(state, first + number, alone) or full
            else:
                full = newcomer_keyed(state, first + number)
        if full:
            m.shadow = -np.inf
            if own is None:
                pass_ranked(state)
            else:
                result = pass_keyed(state, own)
                if result != MORE:
                    return result
        if m.arrived - m.departed == m.running:
            m.work_waiting = 0.0
    return MORE

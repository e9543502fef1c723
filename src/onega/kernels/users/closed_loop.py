"""A machine whose users see the queue: a job comes when its user has the awaited result.

Every job has a line of the log. One without ``after`` is submitted at its own time; another one as
much later (or earlier) than in the log as the job that its user waited for ends later than it did
in the baseline run. Where the machine does what it did in the baseline run, everything happens at
the log's times, to the bit. Sizes may react too: a job is moved along the log's run times and
widths by its user's coefficients times the difference between the queue that the user sees and
the one of the baseline run.

The order at one instant is that of `onega.kernels.pool.loop`: completions, submissions, one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onega.kernels.jit import by_reference, kernel, part
from onega.kernels.pool.engine import (
    DONE,
    FIXED,
    LOG_FULL,
    MORE,
    STUCK,
    WORKLOAD,
    Record,
    end_time,
)
from onega.kernels.pool.keyed import newcomer_keyed, pass_keyed
from onega.kernels.pool.processors import State, collect_due, end_job, first_end
from onega.kernels.pool.ranked import newcomer_ranked, pass_ranked
from onega.kernels.pool.rates import advance, control_arrival
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.heap import Heap, heap_pop, heap_push
from onega.kernels.types import Floats, Ints, Records

RUNAWAY = 99
"""Reason to stop: sizes that grow with the queue feed themselves."""

LINE = record(
    submit=REAL,
    end=REAL,
    work=REAL,
    expect=REAL,
    procs=WHOLE,
    user=WHOLE,
    follower=WHOLE,
    sibling=WHOLE,
    waiting=REAL,
    busy=REAL,
    r_low=REAL,
    r_high=REAL,
    p_low=REAL,
    p_high=REAL,
)  # fmt: skip
"""A job of the log: its submission and its end in the baseline run; what it is; its user's row of
coefficients; the first line that waits for its end, and the next one that waits for the same as
this; the levels of W and O that its user saw; its ranks' ends among run times and widths."""

RULES = record(
    discouragement=REAL,
    busy_scale=REAL,
    sizes=WHOLE,
    most=WHOLE,
    given_up=WHOLE,
    seen=REAL,
    meant=REAL,
    made=REAL,
    patience=WHOLE,
    growth=REAL,
)  # fmt: skip
"""Chance to give up; the log's machine over this one; whether sizes react; the widest job; jobs
given up; sum of differences between levels of W; work as it was in the log and as it became; after
so many jobs a growth of work beyond ``growth`` under longer queues is a loop that runs away."""


class Crowd(NamedTuple):
    """Lines; those whose time of submission is known (``coming``, by time and line); lines as they
    were submitted (``made``); coefficients; the log's sorted run times and widths (rows); lower
    ends of levels of W and O (rows); three uniform draws a line."""  # noqa: D205, D209

    rules: Records
    lines: Records
    coming: Heap
    made: Ints
    coefficients: Floats
    sizes: Floats
    cuts: Floats
    draws: Floats


@part
def _level(cuts: Floats, value: float) -> float:
    """Return the middle of the levels that a value takes: 0 … 1, 1/2 where all are equal."""
    below = np.searchsorted(cuts, value, side="left")
    upto = np.searchsorted(cuts, value, side="right")
    return float((below + upto) / (2 * cuts.size))


@part
def moved_rank(rank: float, shift: float) -> float:
    """Move a rank in (0, 1) so that uniform ranks move by ``shift`` on average, none to an end.

    r ↦ r^γ upwards and 1 − (1 − r)^γ downwards with γ = (1/2 − |s|)/(1/2 + |s|), because U^γ has
    the mean 1/(1 + γ) = 1/2 + s. The order of jobs stays, and the map is onto: nothing piles up.
    """
    size = min(abs(shift), 0.45)
    power = (0.5 - size) / (0.5 + size)
    if shift > 0:
        return rank**power
    return 1.0 - (1.0 - rank) ** power


@part
def _moved(sizes: Floats, low: float, high: float, shift: float, draw: float) -> float:
    """Take the log's value at a rank: somewhere among the job's equals, moved by the shift."""
    place = int(moved_rank(low + (high - low) * draw, shift) * sizes.size)
    return sizes[min(place, sizes.size - 1)]


@part
def _react(crowd: Crowd, line: int, queue: float, busy: float, job: Record) -> None:
    """Move a job's run time and width by what its user sees."""
    rules, one = crowd.rules[0], crowd.lines[line]
    own = crowd.coefficients[one.user]
    shift = own[0] * queue + own[1] * busy
    if shift != 0.0:
        job.work = _moved(crowd.sizes[0], one.r_low, one.r_high, shift, crowd.draws[3 * line])
        job.expect = job.work
        if one.expect != one.work:
            job.expect = one.expect * (job.work / one.work)
    shift = own[2] * queue + own[3] * busy
    if shift != 0.0:
        drawn = crowd.draws[3 * line + 1]
        job.procs = min(
            int(_moved(crowd.sizes[1], one.p_low, one.p_high, shift, drawn)), rules.most
        )
    rules.seen += queue
    rules.meant += one.work * one.procs
    rules.made += job.work * job.procs


@part
def _submit(state: State, crowd: Crowd, line: int) -> bool:
    """Let a user submit a line; False if the user gives it up because of the queue."""
    m, rules, one = state.machine[0], crowd.rules[0], crowd.lines[line]
    job = state.jobs[m.arrived]
    job.work = one.work
    job.expect = one.expect
    job.procs = min(one.procs, rules.most)
    if rules.sizes == 1 or rules.discouragement > 0.0:
        queue = _level(crowd.cuts[0], float(state.waiting.jobs[0])) - one.waiting
        busy = _level(crowd.cuts[1], (m.procs - m.free) * rules.busy_scale) - one.busy
        if crowd.draws[3 * line + 2] < rules.discouragement * queue:
            rules.given_up += 1
            return False
        if rules.sizes == 1:
            _react(crowd, line, queue, busy, job)
    job.submit = m.now
    job.rank = m.arrived
    crowd.made[m.arrived] = line
    m.arrived += 1
    return True


@part
def _wake(crowd: Crowd, line: int, now: float) -> None:
    """Let every line come that waited for a job's end."""
    late = now - crowd.lines[line].end
    follower = crowd.lines[line].follower
    while follower >= 0:
        when = max(now, crowd.lines[follower].submit + late)
        heap_push(crowd.coming, follower, when, follower)
        follower = crowd.lines[follower].sibling


@part
def _next_submission(coming: Heap) -> float:
    return coming.entry[0].key if coming.size[0] > 0 else np.inf


@part
def _runs_away(rules: Record, arrived: int) -> bool:
    """Whether users submit far more work than in the log although the queue is longer."""
    large = rules.made > rules.growth * rules.meant
    return large and rules.seen > 0.0 and arrived >= rules.patience


@kernel
def run_closed(state: State, crowd: Crowd, own: Any, rounds: int) -> int:  # noqa: ANN401
    """Go through at most ``rounds`` instants; reasons as `onega.kernels.pool.loop.run`."""
    state, crowd = by_reference(state), by_reference(crowd)
    m, coming = state.machine[0], crowd.coming
    for _ in range(rounds):
        if m.switches + 2 > state.log.size:
            return LOG_FULL
        following = min(_next_submission(coming), end_time(m, first_end(state)))
        if not advance(m, state.levels, state.log, state.ends, following):
            return DONE if m.departed == m.arrived else STUCK
        ending = collect_due(state)
        for index in range(ending):
            end_job(state, index)
            _wake(crowd, crowd.made[state.due[index].job], m.now)
        full = ending > 0
        first = m.arrived
        while _next_submission(coming) <= m.now:
            job = m.arrived
            if not _submit(state, crowd, heap_pop(coming)):
                continue
            if m.control != FIXED:
                if m.control == WORKLOAD:
                    m.known_waiting += state.jobs[job].expect
                control_arrival(m, state.levels, state.draws, state.log, job)
            if own is None:
                alone = ending == 0 and job == first and _next_submission(coming) > m.now
                full = not newcomer_ranked(state, job, alone) or full
            else:
                full = newcomer_keyed(state, job)
        if full:
            if own is None:
                pass_ranked(state)
            else:
                result = pass_keyed(state, own)
                if result != MORE:
                    return result
        if state.waiting.jobs[0] == 0:
            m.known_waiting = 0.0
        if _runs_away(crowd.rules[0], m.arrived):
            return RUNAWAY
    return MORE

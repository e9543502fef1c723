"""The scheduling pass of conservative backfilling, for orders by fixed rank.

Every job has a reservation, and none is delayed by a later one. Reservations are made anew, in
queue order, when a job has ended before its time or a reservation is due. With thousands waiting,
that is what a run costs; see `pass_conservative` for what keeps it short.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import part
from onega.kernels.pool.engine import clock
from onega.kernels.pool.processors import State, start_job
from onega.kernels.structures.profile import (
    profile_begin,
    profile_go_on,
    profile_reserve,
    profile_until,
)
from onega.kernels.structures.waiting_line import (
    BLOCK,
    Waiting,
    waiting_take,
    waiting_tighten,
)
from onega.kernels.types import Floats


@part
def pass_conservative(state: State) -> None:
    """Conservative backfilling: every job has a reservation, made anew in queue order.

    Three things keep it short. A plan holds until a job ends before its time or a reservation is
    due. A plan only fills up: a job that can't start beside what is planned so far can't start in
    this pass, so that jobs behind the last that could need no reservation (theirs would be of no
    consequence before the plan is made anew). And newcomers go on
    where the plan ended.
    """
    m, waiting, profile = state.machine[0], state.waiting, state.profile
    v = clock(m)
    if v < m.shadow:
        profile_go_on(profile, v)
    else:
        profile_begin(profile, state.runs, m.free, v)
        m.shadow = np.inf
        m.planned = -1
    until = np.full(waiting.shortest.shape[1], np.inf)
    place, skip = _behind(waiting, m.planned)
    hope, at = _next_hope(state, until, place, skip)
    while hope >= 0:
        if skip == waiting.block[waiting.blocks.order[place]].filled:
            place += 1
            skip = 0
        index = waiting.blocks.order[place] * BLOCK + skip
        entry = waiting.entry[index]
        if index == at:
            number = entry.job
            profile_reserve(profile, entry.procs, entry.expect, 1)
            if waiting_take(waiting, place, index):
                skip = 0
            start_job(state, number)
            hope, at = _next_hope(state, until, place, skip)
        else:
            equal = _count_equal(waiting, place, index, at)
            begin, count = profile_reserve(profile, entry.procs, entry.expect, equal)
            m.shadow = min(m.shadow, begin)
            m.planned = waiting.entry[index + count - 1].rank
            skip += count
            if begin < v + waiting.entry[at].expect:
                hope, at = _next_hope(state, until, hope, at % BLOCK)


@part
def _next_hope(state: State, until: Floats, place: int, skip: int) -> tuple[int, int]:
    """Find the first job that can start now beside what is planned so far, as `waiting_find`.

    ``until``: by width class, a time after which the class can't be served from now on, as far as
    is known; what is found out is kept there.
    """
    m, waiting, profile = state.machine[0], state.waiting, state.profile
    v = clock(m)
    for k in range(until.size):
        if 1 << k > m.free:
            until[k] = -np.inf
    while True:
        place, index = _find_brief(waiting, place, skip, v, until)
        if place < 0:
            return place, index
        entry = waiting.entry[index]
        if (
            entry.procs <= m.free
            and profile_until(profile, entry.procs, v + entry.expect) == np.inf
        ):
            return place, index
        until[entry.width] = profile_until(profile, 1 << entry.width, np.inf)
        skip = index % BLOCK + 1


@part
def _behind(waiting: Waiting, rank: int) -> tuple[int, int]:
    """Return the block's place, and the entry in it, of the first job behind a rank.

    The place is that behind the last block if there is none.
    """
    for place in range(waiting.blocks.used[0]):
        first = waiting.blocks.order[place] * BLOCK
        filled = waiting.block[waiting.blocks.order[place]].filled
        if waiting.entry[first + filled - 1].rank > rank:
            skip = 0
            while waiting.entry[first + skip].rank <= rank:
                skip += 1
            return place, skip
    return waiting.blocks.used[0], 0


@part
def _count_equal(waiting: Waiting, place: int, index: int, limit: int) -> int:
    """Count the jobs from an entry on, before ``limit``, that ask for the same; in one block."""
    block = waiting.blocks.order[place]
    end = block * BLOCK + waiting.block[block].filled
    if index < limit:
        end = min(end, limit)
    first, other = waiting.entry[index], index + 1
    while (
        other < end
        and waiting.entry[other].procs == first.procs
        and waiting.entry[other].expect == first.expect
    ):
        other += 1
    return other - index


@part
def _find_brief(
    waiting: Waiting, place: int, skip: int, clock: float, until: Floats
) -> tuple[int, int]:
    """Find the first job whose expected end isn't beyond ``until`` of its width class.

    As `waiting_find`; jobs up to the widest class that ``until`` is not −∞ for.
    """
    classes = until.size
    while place < waiting.blocks.used[0]:
        block = waiting.blocks.order[place]
        possible = False
        for k in range(classes):
            possible |= clock + waiting.shortest[block, k] <= until[k]
        if possible:
            first = block * BLOCK
            for index in range(first + skip, first + waiting.block[block].filled):
                entry = waiting.entry[index]
                if clock + entry.expect <= until[entry.width]:
                    return place, index
            if skip == 0 and waiting.block[block].stale:
                waiting_tighten(waiting, block)
        place += 1
        skip = 0
    return -1, 0

"""The availability profile of conservative backfilling.

Processors that are free now, and the changes of their number at later times on the work clock:
expected ends of running jobs, beginnings and ends of reservations. The changes stand in blocks
(`kernels.structures.sorted_runs`); a block's total, and the least and the most that its running sum
reaches, let a search pass over all of it, so that a reservation costs some square roots of the
number of changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import part
from onega.kernels.records import REAL, WHOLE, record
from onega.kernels.structures.sorted_runs import (
    BLOCK,
    Runs,
    make_runs,
    runs_add_in,
    runs_append,
    runs_clear,
    runs_take,
)
from onega.kernels.structures.waiting_line import width_class
from onega.kernels.types import Records

WIDTH_CLASSES = 63

PRESENT = record(time=REAL, free=WHOLE)
"""Now, and the processors that are free from now on."""

HINT = record(procs=WHOLE, lasting=REAL, begin=REAL)
"""When so many processors were first free for so long."""


class Profile(NamedTuple):
    """``present``: one record; ``changes``: processors that come free (or not) by later times;
    ``hint``: by width class, the last request."""  # noqa: D205, D209

    present: Records
    changes: Runs
    hint: Records


def make_profile(jobs: int) -> Profile:
    """Make a profile with room for so many running jobs and reservations together."""
    return Profile(np.zeros(1, PRESENT), make_runs(2 * jobs), np.zeros(WIDTH_CLASSES, HINT))


@part
def profile_begin(profile: Profile, runs: Runs, free: int, now: float) -> None:
    """Fill the profile from the expected ends of running jobs.

    Jobs that are past their estimates are expected to end now.
    """
    runs_clear(profile.changes)
    present = profile.present[0]
    present.time = now
    present.free = free
    for k in range(profile.hint.size):
        profile.hint[k].begin = -np.inf
    for place in range(runs.blocks.used[0]):
        block = runs.blocks.order[place]
        for index in range(block * BLOCK, block * BLOCK + runs.block[block].filled):
            if runs.entry[index].key > now:
                runs_append(profile.changes, runs.entry[index].key, runs.entry[index].count)
            else:
                present.free += runs.entry[index].count


@part
def profile_go_on(profile: Profile, now: float) -> None:
    """Let time pass: changes up to now have happened."""
    present, changes = profile.present[0], profile.changes
    present.time = now
    first = changes.blocks.order[0]
    while changes.block[first].filled > 0 and changes.entry[first * BLOCK].key <= now:
        count = changes.entry[first * BLOCK].count
        present.free += count
        runs_take(changes, changes.entry[first * BLOCK].key, count)
        first = changes.blocks.order[0]


@part
def _bound(changes: Runs, block: int) -> None:
    """Find the least and the most that the running sum of a block's changes reaches."""
    if changes.block[block].bounded:
        return
    total, least, most = 0, 0, 0
    for index in range(block * BLOCK, block * BLOCK + changes.block[block].filled):
        total += changes.entry[index].count
        least = min(least, total)
        most = max(most, total)
    changes.block[block].least = least
    changes.block[block].most = most
    changes.block[block].bounded = 1


@part
def _not_before(profile: Profile, procs: int, lasting: float) -> float:
    """Return a time before which ``procs`` can't be had for ``lasting``, by earlier requests.

    A profile only fills up: a job that wants no less than an earlier one can't begin before it.
    """
    after = profile.present[0].time
    for k in range(width_class(procs) + 1):
        hint = profile.hint[k]
        if hint.procs <= procs and hint.lasting <= lasting:
            after = max(after, hint.begin)
    return after


@part
def profile_reserve(profile: Profile, procs: int, lasting: float, equal: int) -> tuple[float, int]:
    """Take ``procs`` for ``lasting`` out of the profile as early as they are free.

    For the first of so many ``equal`` jobs, and for those behind it that fit beside it: they could
    not begin earlier. Returns when, and for how many.
    """
    begin, since, stop, free = _earliest(profile, procs, lasting)
    count = min(equal, free // procs) if equal > 1 else 1
    if begin == profile.present[0].time:
        profile.present[0].free -= count * procs
    else:
        runs_add_in(profile.changes, since, begin, -count * procs)
    runs_add_in(profile.changes, stop, begin + lasting, count * procs)
    hint = profile.hint[width_class(procs)]
    hint.procs = procs
    hint.lasting = lasting
    hint.begin = begin
    return begin, count


@part
def _earliest(profile: Profile, procs: int, lasting: float) -> tuple[float, int, int, int]:
    """Return the first time from which on ``procs`` are free for ``lasting``.

    And the places of the blocks that this time and the end belong into, and the fewest processors
    that are free in between.
    """
    changes, free = profile.changes, profile.present[0].free
    begin = _not_before(profile, procs, lasting)
    first, used = 0, changes.blocks.used[0]
    while first + 1 < used and changes.entry[changes.blocks.order[first + 1] * BLOCK].key <= begin:
        free += changes.block[changes.blocks.order[first]].total
        first += 1
    index = changes.blocks.order[first] * BLOCK
    end = index + changes.block[changes.blocks.order[first]].filled
    while index < end and changes.entry[index].key <= begin:
        free += changes.entry[index].count
        index += 1
    since, until = first, begin + lasting
    fits, fewest = free >= procs, free
    for place in range(first, used):
        block = changes.blocks.order[place]
        end = block * BLOCK + changes.block[block].filled
        if place > first:
            index = block * BLOCK
            _bound(changes, block)
            if fits:
                if changes.entry[index].key > until:
                    return begin, since, place - 1, fewest
                least = free + changes.block[block].least
                passes = least >= procs
                if passes:
                    fewest = min(fewest, least)
            else:
                passes = free + changes.block[block].most < procs
            if passes:
                free += changes.block[block].total
                continue
        while index < end:
            # Two loops of one question each: the compiler would mix the questions of a single one.
            while index < end and not fits:
                free += changes.entry[index].count
                index += 1
                if free >= procs:
                    fits, fewest = True, free
                    since, begin = place, changes.entry[index - 1].key
                    until = begin + lasting
            while index < end and fits:
                if changes.entry[index].key >= until:
                    return begin, since, place, fewest
                free += changes.entry[index].count
                index += 1
                fits = free >= procs
                if fits:
                    fewest = min(fewest, free)
    return begin, since, used - 1, fewest


@part
def profile_until(profile: Profile, procs: int, limit: float) -> float:
    """Return until when ``procs`` are free from now on: −∞ if they aren't, ∞ beyond ``limit``."""
    changes, free = profile.changes, profile.present[0].free
    if free < procs:
        return -np.inf
    for place in range(changes.blocks.used[0]):
        block = changes.blocks.order[place]
        _bound(changes, block)
        if free + changes.block[block].least >= procs:
            free += changes.block[block].total
            continue
        for index in range(block * BLOCK, block * BLOCK + changes.block[block].filled):
            if changes.entry[index].key >= limit:
                return np.inf
            free += changes.entry[index].count
            if free < procs:
                return changes.entry[index].key
    return np.inf

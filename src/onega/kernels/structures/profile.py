"""The availability profile of conservative backfilling.

Steps of (from when, processors free), on the work clock. Reservations are made one by one in
queue order: each takes the earliest window in which it fits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import part, shift
from onega.kernels.structures.sorted_runs import BLOCK, Runs
from onega.kernels.types import Floats, Ints


class Profile(NamedTuple):
    """``since`` and ``free`` by step; ``size[0]`` steps; the last one lasts for ever."""

    since: Floats
    free: Ints
    size: Ints


@part
def profile_from(runs: Runs, free: int, now: float, room: int) -> Profile:
    """Build the profile from the expected ends of running jobs, with room for more jobs.

    Jobs that are past their estimates are expected to end now.
    """
    steps = 1 + 2 * room
    for place in range(runs.used[0]):
        steps += runs.block[runs.block[place].order].filled
    profile = Profile(np.empty(steps), np.empty(steps, np.int64), np.empty(1, np.int64))
    last = 0
    profile.since[0] = now
    profile.free[0] = free
    for place in range(runs.used[0]):
        block = runs.block[place].order
        for index in range(block * BLOCK, block * BLOCK + runs.block[block].filled):
            if runs.entry[index].key > now:
                last += 1
                profile.since[last] = runs.entry[index].key
                profile.free[last] = profile.free[last - 1] + runs.entry[index].count
            else:
                profile.free[0] += runs.entry[index].count
    profile.size[0] = last + 1
    return profile


@part
def profile_earliest(profile: Profile, procs: int, lasting: float) -> int:
    """Return the first step from which on ``procs`` are free for ``lasting``."""
    size = profile.size[0]
    step = 0
    while True:
        while profile.free[step] < procs:
            step += 1
        until = profile.since[step] + lasting
        other = step + 1
        while other < size and profile.since[other] < until and profile.free[other] >= procs:
            other += 1
        if other == size or profile.since[other] >= until:
            return step
        step = other + 1


@part
def profile_reserve(profile: Profile, step: int, procs: int, lasting: float) -> None:
    """Take ``procs`` out of the profile from a step on for ``lasting``."""
    size = profile.size[0]
    until = profile.since[step] + lasting
    stop = step + 1
    while stop < size and profile.since[stop] < until:
        stop += 1
    if stop == size or profile.since[stop] > until:
        shift(profile.since, stop + 1, stop, size - stop)
        shift(profile.free, stop + 1, stop, size - stop)
        profile.since[stop] = until
        profile.free[stop] = profile.free[stop - 1]
        profile.size[0] = size + 1
    for other in range(step, stop):
        profile.free[other] -= procs

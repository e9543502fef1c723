"""The availability profile of conservative backfilling against a list of claims."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from onega.kernels.structures.profile import (
    make_profile,
    profile_begin,
    profile_go_on,
    profile_reserve,
    profile_until,
)
from onega.kernels.structures.sorted_runs import BLOCK, make_runs, runs_add

MACHINE = 8
NOW = 10.0


@njit
def drive(runs, profile, free, asked, lasting, since):
    """Make the profile, let everybody reserve in turn; those alike who can begin together do."""
    profile_begin(profile, runs, free, NOW)
    i = 0
    while i < asked.size:
        alike = 1
        while (
            i + alike < asked.size
            and asked[i + alike] == asked[i]
            and lasting[i + alike] == lasting[i]
        ):
            alike += 1
        begin, count = profile_reserve(profile, asked[i], lasting[i], alike)
        since[i : i + count] = begin
        i += count


@njit
def fill(runs, ends, widths):
    for i in range(ends.size):
        runs_add(runs, ends[i], widths[i])


@njit
def look_later(profile, now, until):
    """How long each width is free from a later time on."""
    profile_go_on(profile, now)
    for i in range(until.size):
        until[i] = profile_until(profile, i + 1, np.inf)


def steps_of(profile):
    """Times and free processors from then on."""
    present, changes = profile.present[0], profile.changes
    times, free = [present["time"]], [present["free"]]
    for block in changes.blocks.order[: changes.blocks.used[0]]:
        size = changes.block["filled"][block]
        for entry in changes.entry[block * BLOCK : block * BLOCK + size]:
            times.append(entry["key"])
            free.append(free[-1] + entry["count"])
    return np.array(times), np.array(free)


def free_at(claims, time):
    return MACHINE - sum(width for begin, until, width in claims if begin <= time < until)


def earliest(claims, width, lasting):
    for begin in sorted({NOW, *(until for _, until, _ in claims if until > NOW)}):
        inside = [other for other, _, _ in claims if begin < other < begin + lasting]
        if all(free_at(claims, time) >= width for time in (begin, *inside)):
            return begin
    raise AssertionError


def play(running, asking):
    """`running`: (expected end, width), at most the machine; `asking`: (width, lasting)."""
    ends = np.array([end for end, _ in running], float)
    widths = np.array([width for _, width in running], int)
    asked = np.array([width for width, _ in asking], int)
    lasting = np.array([long for _, long in asking], float)
    since = np.empty(asked.size)
    # Whoever is past the estimate holds nothing that could be reserved: it is expected to end now.
    claims = [(NOW, end, width) for end, width in running]
    free = MACHINE - int(widths.sum())
    runs, profile = make_runs(16), make_profile(ends.size + asked.size)
    fill(runs, ends, widths)
    drive(runs, profile, free, asked, lasting, since)
    steps, left = steps_of(profile)
    for (width, long), begin in zip(asking, since):
        assert begin == earliest(claims, width, long)
        claims.append((begin, begin + long, width))
    assert (np.diff(steps) > 0).all()
    assert steps[0] == NOW
    assert left.tolist() == [free_at(claims, time) for time in steps]
    assert left[-1] == MACHINE
    later = NOW + 3.0
    until = np.empty(MACHINE)
    look_later(profile, later, until)
    for width in range(1, MACHINE + 1):
        short = [time for time in (later, *steps[steps > later]) if free_at(claims, time) < width]
        expected = short[0] if short else np.inf
        assert until[width - 1] == (-np.inf if expected == later else expected)


@st.composite
def crowds(draw):
    running, room = [], MACHINE
    for end, width in draw(st.lists(st.tuples(st.integers(5, 20), st.integers(1, 4)), max_size=6)):
        if width <= room:
            running.append((end, width))
            room -= width
    asking = draw(
        st.lists(st.tuples(st.integers(1, MACHINE), st.integers(1, 9)), min_size=1, max_size=25)
    )
    return running, asking


@settings(max_examples=200, deadline=None)
@given(crowds())
def test_reservations(crowd):
    play(*crowd)


def test_an_idle_machine():
    play([], [(8, 5), (4, 5), (4, 9), (8, 1), (1, 100)])


def test_a_hole_that_is_just_long_enough():
    # 10–15 is free beside the first reservation, which begins when the running job ends
    play([(15, 6)], [(8, 4), (2, 5), (2, 6), (2, 5)])


@pytest.mark.parametrize("alike", [1, 4])
def test_hundreds(alike):
    rng = np.random.default_rng(0)
    widths, lasting = rng.integers(1, 9, 400 // alike), rng.integers(1, 90, 400 // alike)
    asking = [(int(w), int(d)) for w, d in zip(widths, lasting) for _ in range(alike)]
    play([(12, 3), (14, 3), (9, 1)], asking)

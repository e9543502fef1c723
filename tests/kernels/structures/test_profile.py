"""The availability profile of conservative backfilling against a list of claims."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from onega.kernels.structures.profile import profile_earliest, profile_from, profile_reserve
from onega.kernels.structures.sorted_runs import make_runs, runs_add

MACHINE = 8
NOW = 10.0


@njit
def drive(runs, ends, widths, free, asked, lasting, since):
    """Fill runs, make the profile, let everybody reserve in turn; return the steps at the end."""
    for i in range(ends.size):
        runs_add(runs, ends[i], widths[i])
    profile = profile_from(runs, free, NOW, asked.size)
    for i in range(asked.size):
        step = profile_earliest(profile, asked[i], lasting[i])
        since[i] = profile.since[step]
        profile_reserve(profile, step, asked[i], lasting[i])
    size = profile.size[0]
    return profile.since[:size].copy(), profile.free[:size].copy()


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
    steps, left = drive(make_runs(16), ends, widths, free, asked, lasting, since)
    for (width, long), begin in zip(asking, since):
        assert begin == earliest(claims, width, long)
        claims.append((begin, begin + long, width))
    assert (np.diff(steps) > 0).all()
    assert steps[0] == NOW
    assert left.tolist() == [free_at(claims, time) for time in steps]
    assert left[-1] == MACHINE


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


def test_hundreds():
    rng = np.random.default_rng(0)
    asking = [(int(w), int(d)) for w, d in zip(rng.integers(1, 9, 150), rng.integers(1, 40, 150))]
    play([(12, 3), (14, 3), (9, 1)], asking)

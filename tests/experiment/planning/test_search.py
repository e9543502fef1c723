"""The boundary is found, whatever the range, in few looks."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from onega.experiment.planning.search import Boundary, find_boundary, look_further

PLACES = st.integers(1, 5000)


@given(PLACES, PLACES, PLACES, st.booleans())
def test_the_boundary_is_exact_in_either_direction(edge, start, other, rising):
    """True from ``edge`` on (upwards or downwards)."""
    low, high = 1, max(edge, start, other)
    looks = []

    def meets(place):
        assert low <= place <= high
        looks.append(place)
        return place >= edge if rising else place <= edge

    ends = {"worst": low, "best": high} if rising else {"worst": high, "best": low}
    found = find_boundary(meets, start, **ends)
    assert found.met == edge
    worst = ends["worst"]
    assert found.failed == (None if edge == worst else edge - 1 if rising else edge + 1)
    assert len(looks) == len(set(looks))
    assert len(looks) <= 2 * math.log2(high) + 6


@given(PLACES, PLACES)
def test_nothing_is_found_where_nothing_is(start, best):
    found = find_boundary(lambda place: False, start, worst=1, best=best)
    assert (found.met, found.failed) == (None, best)


def test_a_hopeless_place_ends_the_search():
    looks = []

    def never(place):
        looks.append(place)
        return False

    found = find_boundary(never, 10, worst=1, best=10**9, hopeless=lambda place: place >= 100)
    assert found.met is None
    assert 100 <= found.failed < 250
    assert len(looks) < 8


@given(st.integers(1000, 10**6))
def test_large_places_are_told_apart_to_a_part_of_their_size(edge):
    found = find_boundary(lambda place: place >= edge, 1000, worst=1, best=10**7, finest=0.01)
    assert found.met >= edge > found.failed
    assert found.met - found.failed <= max(1, 0.01 * found.met)


@given(st.sets(st.integers(1, 300)), st.integers(2, 299), st.booleans())
def test_places_that_meet_a_condition_beyond_a_boundary_are_found(scattered, edge, rising):
    good = {*scattered, edge} - {edge - 1 if rising else edge + 1}
    worst, failed = (1, edge - 1) if rising else (300, edge + 1)
    found = look_further(good.__contains__, Boundary(edge, failed), worst=worst, part=0.05)
    assert found.met in good
    beyond = (
        range(max(1, math.ceil(0.95 * found.met)), found.met)
        if rising
        else range(found.met + 1, min(300, math.floor(1.05 * found.met)) + 1)
    )
    assert not good.intersection(beyond)
    if found.failed is None:
        assert found.met == worst
    else:
        assert abs(found.failed - found.met) == 1
        assert found.failed not in good


def test_there_is_nothing_beyond_an_end():
    for end in (Boundary(5, None), Boundary(None, 5)):
        assert look_further(lambda place: True, end, worst=1, part=0.5) == end

"""The boundary is found, whatever the range, in few looks."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from onega.experiment.planning.search import find_boundary

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

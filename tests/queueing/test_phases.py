"""The states of a small machine: counted by hand, and rates that neither appear nor vanish."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onega.queueing.phases import build_phases, service_rates
from onega.queueing.saturated import departure_matrix, sparse, stationary
from onega.queueing.widths import Widths


def test_two_servers_two_widths_by_hand():
    phases = build_phases(Widths.of([0.5, 0.5]), 2, np.array([1.0, 3.0]))
    # (n₁, n₂) while no job waits.
    assert sorted(phases.free) == [(0, 0), (0, 1), (1, 0), (2, 0)]
    named = [(phases.free[i], h) for i, h in phases.blocked]
    # One narrow job and a wide one waiting; both of the others with any job waiting.
    assert sorted(named) == [((0, 1), 0), ((0, 1), 1), ((1, 0), 1), ((2, 0), 0), ((2, 0), 1)]
    place = {state: b for b, state in enumerate(named)}
    # A narrow job leaves (2, 0) and a wide one is first: it still doesn't fit.
    assert phases.local[place[(2, 0), 1], place[(1, 0), 1]] == 2.0
    # The wide job leaves, a wide one starts; the next drawn is the new first, whatever it is.
    from_wide = place[(0, 1), 1]
    assert phases.down[0][from_wide, place[(0, 1), 0]] == 1.5
    assert phases.down[0][from_wide, place[(0, 1), 1]] == 1.5
    # The wide job leaves and a narrow one starts; no job behind: one narrow job is left.
    assert phases.emptied[0][place[(0, 1), 0], phases.free.index((1, 0))] == 3.0
    assert phases.departures[place[(2, 0), 0]] == 2.0


@given(
    st.dictionaries(st.integers(1, 4), st.floats(0.1, 1), min_size=1, max_size=3),
    st.integers(4, 7),
    st.integers(0, 8),
)
@settings(max_examples=40, deadline=None)
def test_every_departure_leads_somewhere(weights, servers, behind):
    """From q behind the first: local + down by 1…q + emptied = all departures."""
    total = sum(weights.values())
    widths = Widths.of({k: w / total for k, w in weights.items()})
    rates = service_rates(widths, {int(k): 0.5 + 0.25 * int(k) for k in widths.values})
    phases = build_phases(widths, servers, rates)
    size, free = len(phases.blocked), len(phases.free)
    out = sparse(phases.local, (size, size)).sum(axis=1).A1
    for entries in phases.down[:behind]:
        out += sparse(entries, (size, size)).sum(axis=1).A1
    if behind < len(phases.emptied):
        out += sparse(phases.emptied[behind], (size, free)).sum(axis=1).A1
    assert out == pytest.approx(phases.departures, rel=1e-12)
    shares = stationary(departure_matrix(phases))
    assert shares.sum() == pytest.approx(1)
    assert shares.min() > -1e-12


def test_the_number_of_free_states():
    # Widths 1 and 2 on s servers: pairs (a, b) with a + 2b ≤ s.
    phases = build_phases(Widths.of([0.5, 0.5]), 9, np.ones(2))
    assert len(phases.free) == sum(9 - 2 * b + 1 for b in range(5))
    # One width: only counts.
    phases = build_phases(Widths.of({3: 1.0}), 10, np.ones(1))
    assert len(phases.free) == 4
    assert len(phases.blocked) == 1
    assert comb(4, 1) == 4

"""Throughput of a machine whose queue never empties, exactly, where run times are exponential.

Each width may have an exponential law of its own, and the speed may switch at random (two speeds:
an arrival at the low speed switches to the high one with probability p_a, a departure at the high
speed back to the low one with probability p_d). The saturated machine is a finite Markov chain on
`onega.queueing.phases`; its throughput is the stability boundary of the arrival rate.

With equal laws and one speed the throughput is μ/C of seed 000.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError
from onega.queueing.phases import Entries, Phases, build_phases, finite, service_rates
from onega.queueing.widths import Widths, WidthsLike

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = npt.NDArray[np.float64]


def markov_throughput(
    widths: WidthsLike, procs: int, mean_runtime: float | Mapping[int, float]
) -> float:
    """Jobs per second that a saturated FCFS machine completes; each width with its own E[S].

    Exact for exponential run times. The queue is stable for arrival rates below it.
    """
    law = Widths.of(widths).within(procs)
    phases = build_phases(law, procs, service_rates(law, mean_runtime))
    jumps = departure_matrix(phases)
    return float(np.dot(stationary(jumps), phases.departures))


def switched_throughput(
    widths: WidthsLike,
    procs: int,
    mean_work: float | Mapping[int, float],
    *,
    speeds: tuple[float, float],
    p_arrival: float,
    p_departure: float,
) -> float:
    """Largest stable arrival rate under random switching between two speeds (seed 001, II).

    Arrivals keep coming at rate λ while the queue is long, and each switches low → high with
    probability ``p_arrival``; so the throughput T(λ) of the saturated chain depends on λ, and the
    boundary is the λ with T(λ) = λ. T(λ) − λ changes its sign once: T is increasing and concave.

    Parameters
    ----------
    widths, procs, mean_work
        As in `markov_throughput`; run times are at speed 1.
    speeds
        The low and the high speed.
    p_arrival, p_departure
        Probabilities of switching to high at an arrival, to low at a departure.
    """
    from scipy.optimize import brentq

    low, high = (finite("speeds", speed) for speed in speeds)
    if low > high:
        raise QueueingError(f"speeds are (low, high); got ({low:g}, {high:g})")
    for name, p in (("p_arrival", p_arrival), ("p_departure", p_departure)):
        if not 0 <= p <= 1:
            raise QueueingError(f"{name} must lie between 0 and 1; got {p}")
    law = Widths.of(widths).within(procs)
    phases = build_phases(law, procs, service_rates(law, mean_work))
    jumps = departure_matrix(phases)
    unit = float(np.dot(stationary(jumps), phases.departures))
    if p_arrival == 0 or low == high:
        # From the high speed the chain falls to the low one for good (unless it never can).
        return unit * (high if p_arrival == 0 and p_departure == 0 else low)
    if p_departure == 0:
        return unit * high

    def excess(rate: float) -> float:
        return (
            _switched(jumps, phases.departures, (low, high), (rate * p_arrival, p_departure)) - rate
        )

    return float(brentq(excess, 1e-9 * unit * low, 1.01 * unit * high, xtol=1e-15, rtol=1e-14))


def departure_matrix(phases: Phases) -> csr_matrix:
    """Rates between blocked states at speed 1; a departure may lead back to the same state."""
    merged: Entries = {}
    for entries in (phases.local, *phases.down):
        for key, rate in entries.items():
            merged[key] = merged.get(key, 0.0) + rate
    return sparse(merged, (len(phases.blocked), len(phases.blocked)))


def sparse(entries: Entries, shape: tuple[int, int]) -> csr_matrix:
    """Make a sparse matrix of {(row, column): value}."""
    from scipy.sparse import csr_matrix

    if not entries:
        return csr_matrix(shape)
    rows, columns = zip(*entries)
    return csr_matrix((list(entries.values()), (rows, columns)), shape=shape)


def _switched(
    jumps: csr_matrix, departures: Floats, speeds: tuple[float, float], switch: tuple[float, float]
) -> float:
    from scipy.sparse import bmat, identity

    low, high = speeds
    up, down = switch
    size = departures.size
    doubled = bmat(
        [
            [low * jumps, up * identity(size)],
            [high * down * jumps, high * (1 - down) * jumps],
        ],
        format="csr",
    )
    shares = stationary(doubled)
    return float(np.dot(shares, np.concatenate([low * departures, high * departures])))


def stationary(rates: csr_matrix) -> Floats:
    """Solve π(R − diag(R·1)) = 0, Σπ = 1, for the one recurrent class of the chain."""
    from scipy.sparse import diags, vstack
    from scipy.sparse.linalg import spsolve

    size = rates.shape[0]
    if size == 1:
        return np.ones(1)
    outflow = np.asarray(rates.sum(axis=1)).ravel()
    balance = (rates - diags(outflow)).T.tocsr()
    # One equation is redundant; the sum takes its place. It must be that of a recurrent state:
    # the one reached most.
    keep = int(np.argmax(np.asarray(rates.sum(axis=0)).ravel()))
    system = vstack([balance[:keep], balance[keep + 1 :], np.ones((1, size))], format="csc")
    right = np.zeros(size)
    right[-1] = 1.0
    result: Floats = np.asarray(spsolve(system, right))
    return result

"""Throughput of a machine whose queue never empties, exactly.

For exponential run times each width may have an exponential law of its own, and the speed may
switch at random (two speeds: an arrival at the low speed switches to the high one with probability
p_a, a departure at the high speed back to the low one with probability p_d). The saturated machine
is a finite Markov chain on `onega.queueing.phases`; its throughput is the stability boundary of the
arrival rate. With equal laws and one speed the throughput is μ/C of Rumyantsev (2014).

C depends on the law of run times, not only on its mean, contrary to what Rumyantsev (2014)
conjectures. `law_constant` gives it for phase-type laws (the same chain, with phases) and for
constant run times: for widths 1 and 2, half each, on 2 servers it is 7/8 for exponential, 5/6 for
constant run times, and 0.964 for a hyperexponential law (mean 0.1 with probability 0.9, else 9.1).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from onega.core.errors import QueueingError
from onega.core.types import Floats
from onega.queueing.constant import check_servers
from onega.queueing.phases import (
    MOST_LAW_PHASES,
    Entries,
    Phases,
    build_law_phases,
    count_states,
    exponential_phases,
    finite,
    law_classes,
)
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.widths import Widths, WidthsLike

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


MOST_WIDTHS: Final = 3000
"""Different widths at most for constant run times."""


def markov_throughput(
    widths: WidthsLike, procs: int, mean_runtime: float | Mapping[int, float]
) -> float:
    """Jobs per second that a saturated FCFS machine completes; each width with its own E[S].

    Exact for exponential run times. The queue is stable for arrival rates below it.
    """
    return throughput(exponential_phases(widths, procs, mean_runtime))


def throughput(phases: Phases) -> float:
    """Jobs per second that leave a saturated machine."""
    size = len(phases.blocked)
    jumps = departure_matrix(phases) + sparse(phases.changes, (size, size))
    return float(np.dot(stationary(jumps), phases.departures))


def law_constant(widths: WidthsLike, procs: int, law: RuntimeLaw | str) -> float:
    """C for one law of run times, independent of the widths: E[S]·C seconds per job, exactly.

    Phase-type laws by the saturated chain, on small machines; constant run times at every size.
    The exponential law is `onega.queueing.constant.stability_constant`.
    """
    shape = RuntimeLaw.of(law)
    width = Widths.of(widths).within(procs)
    if shape.fixed:
        return fixed_constant(width, check_servers(width, procs))
    if shape.start is None:
        raise QueueingError(
            f"no exact C for the law {shape}: it is no phase-type law; measure it "
            "(onega.stability(…, method='saturation', law=…))"
        )
    return 1.0 / throughput(build_law_phases(width, procs, shape))


def has_exact_constant(widths: Widths, servers: int, law: RuntimeLaw) -> bool:
    """Tell whether `law_constant` can answer: not for every law, nor for every machine."""
    if law.fixed:
        return widths.values.size <= MOST_WIDTHS
    if law.start is None or law.start.size * widths.values.size > MOST_LAW_PHASES:
        return False
    return count_states(law_classes(widths, law), servers) <= MOST_LAW_PHASES


def fewest_servers_for_law(widths: Widths, load: float, law: RuntimeLaw) -> int | None:
    """Find the fewest servers s with load·C(s) < 1 for a law; None where C isn't known exactly.

    More servers never let a job start later, whatever the law, so C(s) falls with s.
    """

    def keeps_up(servers: int) -> bool:
        return load * law_constant(widths, servers, law) < 1

    low = max(widths.widest, math.floor(load * widths.mean)) - 1
    high = low + 1
    while has_exact_constant(widths, high, law):
        if keeps_up(high):
            break
        low, high = high, high + max(1, high // 8)
    else:
        return None
    return low + 1 + bisect_left(range(low + 1, high), x=True, key=keeps_up)


def fixed_constant(widths: Widths, servers: int) -> float:
    """C if all jobs run equally long, exactly: the saturated machine serves whole batches.

    All jobs that start together end together. A batch begins with the job h that didn't fit into
    the one before; then jobs are drawn as long as they fit. With u_n the probability that the sum
    of so many widths is n for some number of them, and V(r) = u_0 + … + u_r, a batch has V(s−h)
    jobs on average, and the next one begins with width k with probability
    p_k·(V(s−h) − V(s−h−k)). C = 1/(mean jobs of a batch) over the stationary law of h.
    """
    if widths.values.size > MOST_WIDTHS:
        raise QueueingError(
            f"{widths.values.size:,} different widths are too many for constant run times (at most "
            f"{MOST_WIDTHS:,}); measure it (method 'saturation')"
        )
    renewals = np.zeros(servers + 1)
    renewals[0] = 1.0
    for n in range(1, servers + 1):
        last = int(np.searchsorted(widths.values, n, side="right"))
        renewals[n] = np.dot(widths.probs[:last], renewals[n - widths.values[:last]])
    summed = np.cumsum(renewals)
    rest = servers - widths.values
    below = rest[:, None] - widths.values[None, :]
    reach = summed[rest][:, None] - np.where(below >= 0, summed[np.maximum(below, 0)], 0.0)
    onward = widths.probs[None, :] * reach
    size = widths.values.size
    system = np.vstack([(onward.T - np.eye(size))[1:], np.ones(size)])
    first = np.linalg.solve(system, np.append(np.zeros(size - 1), 1.0))
    return 1.0 / float(np.dot(first, summed[rest]))


def switched_throughput(
    widths: WidthsLike,
    procs: int,
    mean_work: float | Mapping[int, float],
    *,
    speeds: tuple[float, float],
    p_arrival: float,
    p_departure: float,
) -> float:
    """Largest stable arrival rate where two speeds switch at random.

    The rule is Rumyantsev et al. (2018), II.

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
    phases = exponential_phases(widths, procs, mean_work)
    unit = throughput(phases)
    if p_arrival == 0 or low == high:
        # From the high speed the chain falls to the low one for good (unless it never can).
        return unit * (high if p_arrival == 0 and p_departure == 0 else low)
    if p_departure == 0:
        return unit * high

    jumps = departure_matrix(phases)

    def excess(rate: float) -> float:
        switch = (rate * p_arrival, p_departure)
        return _switched(jumps, phases.departures, (low, high), switch) - rate

    return float(brentq(excess, 1e-9 * unit * low, 1.01 * unit * high, xtol=1e-15, rtol=1e-14))


def departure_matrix(phases: Phases) -> csr_matrix:
    """Rates between blocked states at speed 1; a departure may lead back to the same state."""
    merged: Entries = defaultdict(float)
    for entries in (phases.local, *phases.down):
        for key, rate in entries.items():
            merged[key] += rate
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

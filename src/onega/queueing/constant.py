"""The stability constant C of the FCFS multiserver-job queue, by four methods.

Rumyantsev (2014): jobs take N servers at once for an exponential time S, one law for all, and are
served first come, first served on s servers. The queue is stable if and only if λ·C·E[S] < 1 (3).
C = E[1/ν(s)], where ν(s) is how many jobs, drawn one after another, fit into s servers (4): a
saturated machine serves ν jobs at a time, and C is the mean time per job in units of E[S].

Exactly, at every size. With F_j = P(N₁+…+N_j ≤ s), C = Σ_j (F_j − F_{j+1})/j, whose generating
function over s is −(1−P(x))·log(1−P(x))/(1−x). Both factors T(x) = (1−P(x))/(1−x) = Σ P(N>n) xⁿ
and −log(1−P(x)) = Σ ℓ_n xⁿ have coefficients ≥ 0, so

    C(s) = Σ_{n=0}^{s−1} P(N > n)·ℓ_{s−n},    ℓ_n = Σ_j P(N₁+…+N_j = n)/j,

is a sum without cancellation, and one sequence ℓ serves all machine sizes. As ℓ_n ≈ 1/n, the
share of the machine that FCFS can't use is about (E[N²]/E[N] − 1)/(2s) for s far above the widths.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError, suggest
from onega.core.rng import Rng, generator
from onega.core.types import Floats
from onega.queueing.harmonic import harmonic_renewal
from onega.queueing.intervals import normal_quantile
from onega.queueing.widths import Widths, WidthsLike

METHODS: Final = ("exact", "partitions", "enumeration", "montecarlo")

MOST_PARTITIONS: Final = 2e8
"""Method ``partitions`` refuses more (half a second for 10⁸)."""

MOST_SEQUENCES: Final = 2e7
"""Method ``enumeration`` refuses more."""

MOST_DRAWN: Final = 2e10
"""Method ``montecarlo`` refuses to draw more jobs."""

MOST_CELLS: Final = 100_000_000
"""Largest grid of several resources."""

LARGEST: Final = 50_000_000
"""Largest machine."""


@dataclass(frozen=True)
class Constant:
    """A value of C, and how sure it is.

    Attributes
    ----------
    value
        C = E[1/ν(s)].
    method
        How it was found.
    low, high
        Confidence interval; both equal ``value`` for the exact methods.
    draws
        Sample size of ``montecarlo``; None otherwise.
    """

    value: float
    method: str
    low: float
    high: float
    draws: int | None = None


def stability_constant(
    widths: WidthsLike,
    procs: int,
    *,
    method: str = "exact",
    draws: int = 200_000,
    confidence: float = 0.95,
    rng: Rng = None,
) -> Constant:
    """C of Rumyantsev (2014), (4) for a machine of ``procs`` servers.

    Parameters
    ----------
    widths
        The distribution of the jobs' widths; see `Widths.of`.
    procs
        Servers; at least the widest job.
    method
        ``exact``; ``partitions``, (9) of the paper as printed (its (8) lacks 1/Σn);
        ``enumeration``, its (4) word by word, for tiny machines; ``montecarlo``, its (10).
    draws, confidence, rng
        For ``montecarlo``: how many phases are drawn, the interval's level, the randomness.
    """
    if method not in METHODS:
        raise QueueingError(f"unknown method {method!r}; {suggest(method, METHODS)}")
    law = Widths.of(widths).within(procs)
    servers = check_servers(law, procs)
    if method == "montecarlo":
        return _montecarlo(law, servers, draws, confidence, rng)
    if method == "partitions":
        value = _partitions(law, servers)
    elif method == "enumeration":
        value = _enumeration(law, servers)
    else:
        value = constant_at(law, servers, harmonic_renewal(law.values, law.probs, servers))
    return Constant(value, method, value, value)


def check_servers(widths: Widths, procs: float) -> int:
    """Refuse a number of servers that isn't a whole number from 1, or is below the widest job."""
    if not (isinstance(procs, int | np.integer) or float(procs).is_integer()) or procs < 1:
        raise QueueingError(f"the number of servers must be a whole number from 1; got {procs}")
    if procs > LARGEST:
        raise QueueingError(f"at most {LARGEST:,} servers are accepted; got {procs:,}")
    if widths.widest > procs:
        above = float(widths.probs[widths.values > procs].sum())
        raise QueueingError(
            f"jobs of width {widths.widest} can never start on {int(procs)} servers "
            f"({above:.3g} of all jobs are too wide); take at least {widths.widest} servers "
            "or leave those jobs out"
        )
    return int(procs)


def constant_at(widths: Widths, servers: int, harmonic: Floats) -> float:
    """C(s) = Σ P(N>n)·ℓ_{s−n}; ``harmonic`` holds ℓ at least up to ``servers``."""
    tails = widths.tails(min(widths.widest, servers))
    return float(np.dot(tails, harmonic[servers - tails.size + 1 : servers + 1][::-1]))


def constant_curve(widths: WidthsLike, procs: Sequence[int] | npt.NDArray[Any]) -> Floats:
    """C at several machine sizes, from one harmonic renewal sequence; NaN below the widest job."""
    law = Widths.of(widths)
    sizes = np.asarray(procs, dtype=np.int64)
    if sizes.size == 0 or sizes.min() < 1 or sizes.max() > LARGEST:
        raise QueueingError("machine sizes must be whole numbers from 1")
    harmonic = harmonic_renewal(law.values, law.probs, int(sizes.max()))
    return np.array(
        [constant_at(law, int(s), harmonic) if s >= law.widest else math.nan for s in sizes]
    )


def sensitivity(widths: WidthsLike, procs: int) -> Floats:
    """∂C/∂p_k up to a constant, −Σ_{m ≤ s−k} ℓ_m, for each width: how much a job of width k weighs.

    From the generating function: ∂C/∂p_k = [x^{s−k}] (1 + log(1−P))/(1−x). The influence of one
    job on an estimate of C, and so the estimate's confidence interval, follows from it.
    """
    law = Widths.of(widths).within(procs)
    servers = check_servers(law, procs)
    summed = np.cumsum(harmonic_renewal(law.values, law.probs, servers))
    return -summed[servers - law.values]


def fewest_servers(widths: WidthsLike, load: float) -> int:
    """Find the fewest servers s with load·C(s) < 1, where load = λ·E[S].

    More servers never hold fewer jobs, so C(s) falls with s and bisection finds the boundary.
    C(s) ≥ E[N]/s gives where to begin.
    """
    law = Widths.of(widths).trimmed()
    if not (math.isfinite(load) and load >= 0):
        raise QueueingError(f"the load λ·E[S] must be a number from 0; got {load}")
    low = max(law.widest, math.floor(load * law.mean))
    high = low + 2 * law.widest + math.ceil(0.05 * low)
    while True:
        if high > LARGEST:
            raise QueueingError(
                f"more than {LARGEST:,} servers would be needed for a load of {load:g} jobs"
            )
        harmonic = harmonic_renewal(law.values, law.probs, high)
        if load * constant_at(law, high, harmonic) < 1:
            break
        low, high = high, 2 * high
    low -= 1  # low may itself be the answer

    def keeps_up(servers: int) -> bool:
        return servers >= law.widest and load * constant_at(law, servers, harmonic) < 1

    return low + 1 + bisect_left(range(low + 1, high), x=True, key=keeps_up)


def multiresource_constant(
    needs: npt.ArrayLike, probs: npt.ArrayLike, capacity: Sequence[int]
) -> float:
    """C for jobs that need several resources at once; exact, for one exponential law of run times.

    ν is how many jobs, drawn one after another, fit into the capacity in every resource; the rest
    is as for one resource (see the module), with |n|·ℓ_n = |n|·p_n + Σ_k p_k |n−k| ℓ_{n−k}.

    Parameters
    ----------
    needs
        A row per class of jobs, a column per resource (processors, memory, GPUs), whole units.
    probs
        The classes' probabilities.
    capacity
        What the machine has of each resource.
    """
    from onega.kernels.queueing.harmonic import vector_constant

    demand = np.atleast_2d(np.asarray(needs))
    share = np.asarray(probs, dtype=np.float64)
    room = np.asarray(capacity)
    if demand.shape != (share.size, room.size):
        raise QueueingError(
            f"needs must have a row per class and a column per resource: {share.size} × "
            f"{room.size}; got {' × '.join(map(str, demand.shape))}"
        )
    for name, table in (("needs", demand), ("capacity", room)):
        if np.any(table.astype(float) % 1) or np.any(table < 0):
            raise QueueingError(f"{name} must be whole numbers from 0; scale the units")
    if np.any(demand.sum(axis=1) == 0):
        raise QueueingError("a class that needs nothing at all can't be limited; leave it out")
    if np.any(share < 0) or abs(math.fsum(share) - 1) > 1e-6:
        raise QueueingError(f"probabilities must sum to 1; they sum to {math.fsum(share):.9g}")
    never = np.any(demand > room, axis=1) & (share > 0)
    if never.any():
        raise QueueingError(
            f"class {int(np.flatnonzero(never)[0]) + 1} needs more than the machine has; "
            "it could never start"
        )
    cells = math.prod(int(c) + 1 for c in room)
    if cells > MOST_CELLS:
        raise QueueingError(
            f"{cells:,} combinations of resources are too many (at most {MOST_CELLS:,}); "
            "take coarser units, gigabytes for megabytes, say"
        )
    return float(
        vector_constant(demand.astype(np.int64), share / math.fsum(share), room.astype(np.int64))
    )


def _partitions(widths: Widths, servers: int) -> float:
    from onega.kernels.queueing.partitions import constant_by_partitions, count_partitions

    number = float(count_partitions(widths.values, servers))
    if number > MOST_PARTITIONS:
        raise QueueingError(
            f"{number:.3g} partitions of up to {servers} servers are too many for "
            f"method 'partitions' (at most {MOST_PARTITIONS:.0g}); take method 'exact'"
        )
    tails = widths.tails(servers + 1)
    return float(constant_by_partitions(widths.values, widths.probs, tails, servers))


def _enumeration(widths: Widths, servers: int) -> float:
    from onega.kernels.queueing.partitions import constant_by_enumeration

    number = float(widths.values.size) ** servers
    if number > MOST_SEQUENCES:
        raise QueueingError(
            f"{number:.3g} sequences of {servers} jobs are too many for method 'enumeration' "
            f"(at most {MOST_SEQUENCES:.0g}); take method 'exact'"
        )
    return float(constant_by_enumeration(widths.values, widths.probs, servers))


def _montecarlo(widths: Widths, servers: int, draws: int, confidence: float, rng: Rng) -> Constant:
    from onega.kernels.queueing.montecarlo import sample_reciprocals

    if draws < 2:
        raise QueueingError(f"Monte Carlo needs at least 2 draws; got {draws}")
    if draws * servers / widths.mean > MOST_DRAWN:
        raise QueueingError(
            f"{draws:,} draws that fill {servers:,} servers are too many jobs for Monte Carlo; "
            "take fewer draws, or method 'exact'"
        )
    reach = normal_quantile(confidence)
    cumulative = np.cumsum(widths.probs)
    sample = sample_reciprocals(widths.values, cumulative, servers, int(draws), generator(rng))
    value = float(sample.mean())
    half = reach * float(sample.std(ddof=1)) / math.sqrt(draws)
    return Constant(value, "montecarlo", value - half, value + half, int(draws))

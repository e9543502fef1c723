"""Waiting before the limit: the exact stationary FCFS multiserver-job queue of a small machine.

Poisson arrivals, exponential run times (each width may have its own mean). With q jobs behind the
first waiting one as the level and (n, h) of `onega.queueing.phases` as the phase, arrivals go up
one level and departures down any number: a chain of GI/M/1 type (Neuts). Its stationary vectors
are π_q = π_0·R^q, where R ≥ 0 is the least solution of

    λ·I + R·A_local + Σ_d R^{d+1}·A_d = 0,    R = λ·(−A_local − Σ_d R^d·A_d)⁻¹.

Iterating the second form from R = 0 is the same as cutting the queue at ever higher levels, so the
change of the answer in the last step bounds, with its rate of decay, what the cut costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import QueueingError
from onega.core.plotting import Plottable
from onega.core.types import Floats
from onega.queueing.phases import Phases, changed, exponential_phases, finite
from onega.queueing.saturated import sparse, throughput
from onega.queueing.widths import Widths, WidthsLike

MOST_PHASES: Final = 1500
"""R is a full matrix of this size at most."""

_ITERATIONS: Final = 100_000
_TOLERANCE: Final = 1e-14


@dataclass(frozen=True)
class Waiting(Plottable):
    """The answer of `waiting`.

    Attributes
    ----------
    procs, widths, arrival_rate, mean_runtime
        What was asked; the mean run time of each width.
    rho
        λ over the throughput of the saturated machine.
    mean_wait, mean_response
        Seconds between submission and start, and end.
    p_wait
        The probability that a job has to wait.
    mean_waiting, mean_jobs
        Mean number of jobs waiting, and waiting or running.
    mean_busy
        Mean number of busy servers.
    queue
        P(q jobs wait), q = 0, 1, …, until 1e-12 is left.
    error
        Estimated relative error of the mean number waiting (the cut of the queue).
    phases, iterations
        Size of R, and steps taken to find it.
    """

    FIGURES: ClassVar[str] = "waiting"

    procs: int
    widths: Widths
    arrival_rate: float
    mean_runtime: Mapping[int, float]
    rho: float
    mean_wait: float
    mean_response: float
    p_wait: float
    mean_waiting: float
    mean_jobs: float
    mean_busy: float
    queue: Floats
    error: float
    phases: int
    iterations: int

    def summary(self) -> dict[str, Any]:
        """Return the answer as a flat dictionary."""
        left_out = ("widths", "mean_runtime", "queue", "error", "phases", "iterations")
        flat = {name: value for name, value in vars(self).items() if name not in left_out}
        return flat | {"utilisation": self.mean_busy / self.procs, "error": self.error}

    def to_polars(self) -> pl.DataFrame:
        """One row per number of waiting jobs: its probability."""
        return pl.DataFrame({"waiting": np.arange(self.queue.size), "probability": self.queue})


def waiting(
    widths: WidthsLike,
    *,
    procs: int,
    arrival_rate: float,
    mean_runtime: float | Mapping[int, float],
) -> Waiting:
    """Mean wait, P(wait) and queue length of a small FCFS machine, exactly.

    Parameters
    ----------
    widths
        The distribution of the jobs' widths.
    procs
        Servers; the number of states grows quickly with servers and different widths.
    arrival_rate
        λ, jobs per second, below the stability boundary.
    mean_runtime
        E[S] in seconds of exponential run times, one for all or one per width.
    """
    lam = finite("arrival_rate", arrival_rate)
    phases = exponential_phases(widths, procs, mean_runtime)
    if len(phases.blocked) > MOST_PHASES:
        raise QueueingError(
            f"{phases.servers} servers with these widths have {len(phases.blocked):,} states with "
            f"waiting jobs, more than the {MOST_PHASES:,} that are solved exactly; simulate"
        )
    most = throughput(phases)
    if lam >= most:
        raise QueueingError(
            f"the queue isn't stable, so it has no mean wait: {lam:g} jobs arrive per second and "
            f"at most {most:g} are completed; take an arrival rate below that"
        )
    return _solve(phases, lam, lam / most)


def _solve(phases: Phases, lam: float, rho: float) -> Waiting:
    climb, before, steps = _rate_matrix(phases, lam)
    free, level0 = _boundary(phases, lam, climb)
    _, earlier0 = _boundary(phases, lam, before)
    number = _mean_waiting(level0, climb)
    # The steps converge geometrically; what is left of a geometric series from its last terms.
    change = abs(number - _mean_waiting(earlier0, before)) / max(number, 1e-300)
    decay = float(np.max(np.abs(np.linalg.eigvals(climb))))
    sizes = phases.widths.values.astype(np.float64)
    counts = np.array(phases.free, dtype=np.float64).reshape(len(phases.free), sizes.size)
    total = np.linalg.solve(np.eye(climb.shape[0]) - climb.T, level0)  # Σ_q π_q
    serving = free @ counts
    for b, (n, _) in enumerate(phases.blocked):
        serving = serving + total[b] * counts[n]
    tails = np.array([phases.widths.probs[too_wide(phases, n)].sum() for n in range(len(free))])
    return Waiting(
        procs=phases.servers,
        widths=phases.widths,
        arrival_rate=lam,
        mean_runtime=phases.mean_runtimes(),
        rho=rho,
        mean_wait=number / lam,
        mean_response=number / lam + float(serving.sum()) / lam,
        p_wait=float(total.sum() + np.dot(free, tails)),
        mean_waiting=number,
        mean_jobs=number + float(serving.sum()),
        mean_busy=float(serving @ sizes),
        queue=_queue_lengths(free, level0, climb),
        error=max(change * decay / (1 - decay), 1e-15 * steps),
        phases=climb.shape[0],
        iterations=steps,
    )


def too_wide(phases: Phases, n: int) -> npt.NDArray[np.bool_]:
    """Mark the widths that don't fit beside the jobs of the n-th free state."""
    used = int(np.dot(phases.free[n], phases.widths.values))
    return phases.widths.values + used > phases.servers


def _rate_matrix(phases: Phases, lam: float) -> tuple[Floats, Floats, int]:
    """R, the iterate before it, and how many steps it took."""
    size = len(phases.blocked)
    local = sparse(phases.local, (size, size)).toarray()
    local -= np.diag(phases.departures + lam)
    down = [sparse(entries, (size, size)).toarray() for entries in phases.down]
    rate = np.zeros((size, size))
    before = rate
    for step in range(1, _ITERATIONS + 1):
        # Horner: R·(A_1 + R·(A_2 + …)).
        inner = np.zeros((size, size))
        for matrix in reversed(down):
            inner = rate @ (inner + matrix)
        grown = lam * np.linalg.inv(-(local + inner))
        change = float(np.abs(grown - rate).sum(axis=1).max())
        before, rate = rate, grown
        if change < _TOLERANCE:
            return rate, before, step
    raise QueueingError("too near the stability boundary for an exact solution; simulate instead")


def _boundary(phases: Phases, lam: float, climb: Floats) -> tuple[Floats, Floats]:
    """Probabilities while no job waits, and while one waits: π_0 = x·P_block·R."""
    states, size = len(phases.free), len(phases.blocked)
    place = {n: i for i, n in enumerate(phases.free)}
    flow = np.zeros((states, states))
    block = np.zeros((states, size))
    for b, (i, h) in enumerate(phases.blocked):
        block[i, b] = phases.widths.probs[h]
    for i, n in enumerate(phases.free):
        fitting = ~too_wide(phases, i)
        for c in range(len(n)):
            if fitting[c]:
                flow[i, place[changed(n, c, 1)]] += lam * phases.widths.probs[c]
            if n[c]:
                flow[i, place[changed(n, c, -1)]] += n[c] * phases.rates[c]
        flow[i, i] -= lam + float(np.dot(n, phases.rates))
    emptied = np.zeros((size, states))
    for entries in reversed(phases.emptied):
        emptied = climb @ emptied + sparse(entries, (size, states)).toarray()
    first = block @ climb
    system = (flow + first @ emptied).T
    # The sum of everything takes the place of the (redundant) balance of the empty machine.
    weight = 1.0 + first @ np.linalg.solve(np.eye(size) - climb, np.ones(size))
    system[0] = weight
    right = np.zeros(states)
    right[0] = 1.0
    free: Floats = np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    return free, free @ first


def _mean_waiting(level0: Floats, climb: Floats) -> float:
    """Σ_q (q+1)·π_q·1 = π_0·(I − R)⁻²·1."""
    identity = np.eye(climb.shape[0])
    once = np.linalg.solve(identity - climb, np.ones(climb.shape[0]))
    return float(level0 @ np.linalg.solve(identity - climb, once))


def _queue_lengths(free: Floats, level0: Floats, climb: Floats) -> Floats:
    shares = [float(free.sum())]
    level = level0
    while 1 - math.fsum(shares) > 1e-12 and len(shares) < 100_000 and level.sum() > 1e-16:
        shares.append(float(level.sum()))
        level = level @ climb
    return np.array(shares)

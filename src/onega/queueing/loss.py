"""A machine without a queue: a job that doesn't fit at once is lost (Kaufman and Roberts).

Jobs of width k arrive at rate λ_k and hold k servers for a mean time E[S_k], of any law. With
a_k = λ_k·E[S_k], n·q(n) = Σ_k k·a_k·q(n−k), Σ q = 1, gives the number of busy servers; a job of
width k is lost with probability B_k = P(busy > s − k). For widths 1 it is Erlang's formula.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from onega.core.errors import QueueingError, suggest
from onega.core.plotting import Plottable
from onega.core.types import Floats
from onega.core.workload.workload import Workload
from onega.queueing.constant import check_servers
from onega.queueing.estimates import usable_jobs
from onega.queueing.limits.from_log import observed_rate
from onega.queueing.limits.limits import check_probability, check_rate
from onega.queueing.stability import machine_size
from onega.queueing.widths import Widths, WidthsLike, mean_runtimes

MEASURES: Final = ("jobs", "work", "widest", "all_busy")
"""What can be kept under ε: lost jobs, lost work, lost jobs of the widest kind, P(all busy)."""

_MOST: Final = 5_000_000


@dataclass(frozen=True)
class Loss(Plottable):
    """The answer of `loss`.

    Attributes
    ----------
    procs
        Servers.
    widths
        The distribution of the jobs' widths.
    offered
        a_k = λ_k·E[S_k] for each width: jobs that would run on average on an endless machine.
    blocking
        B_k for each width: the probability that such a job is lost.
    occupancy
        q(n), n = 0…procs.
    """

    FIGURES: ClassVar[str] = "loss"

    procs: int
    widths: Widths
    offered: Floats
    blocking: Floats
    occupancy: Floats

    @property
    def p_loss(self) -> float:
        """The share of jobs that are lost."""
        return float(np.dot(self.widths.probs, self.blocking))

    @property
    def work_loss(self) -> float:
        """The share of the offered processor seconds that are lost."""
        work = self.widths.values * self.offered
        return float(np.dot(work, self.blocking) / work.sum())

    @property
    def all_busy(self) -> float:
        """P(all servers are busy)."""
        return float(self.occupancy[-1])

    @property
    def mean_busy(self) -> float:
        """Mean number of busy servers, Σ k·a_k·(1 − B_k)."""
        return float(np.dot(self.widths.values * self.offered, 1 - self.blocking))

    def summary(self) -> dict[str, Any]:
        """Return the answer as a flat dictionary."""
        return {
            "procs": self.procs,
            "p_loss": self.p_loss,
            "p_loss_widest": float(self.blocking[-1]),
            "work_loss": self.work_loss,
            "all_busy": self.all_busy,
            "mean_busy": self.mean_busy,
            "utilisation": self.mean_busy / self.procs,
            "offered_load": float(np.dot(self.widths.values, self.offered)) / self.procs,
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per width: probability, offered load, blocking."""
        return pl.DataFrame(
            {
                "procs": self.widths.values,
                "probability": self.widths.probs,
                "offered": self.offered,
                "blocking": self.blocking,
            }
        )


def loss(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | Mapping[int, float] | None = None,
) -> Loss:
    """Compute how many jobs are lost on a machine without a queue.

    Parameters
    ----------
    source
        A log, or a distribution of widths.
    procs
        Servers; the log's machine by default.
    arrival_rate
        λ of all jobs, per second; from the log by default.
    mean_runtime
        E[S] in seconds, one for all or one per width; from the log, per width, by default.
    """
    servers = machine_size(source, procs)
    widths = Widths.of(source).within(servers)
    check_servers(widths, servers)
    offered = offered_loads(source, widths, arrival_rate, mean_runtime)
    occupancy = _occupancy(widths, offered, servers)
    above = np.cumsum(occupancy[::-1])  # above[k−1] = P(busy > s − k)
    return Loss(servers, widths, offered, np.minimum(above[widths.values - 1], 1.0), occupancy)


def fewest_servers_for_loss(
    source: WidthsLike,
    epsilon: float,
    *,
    arrival_rate: float | None = None,
    mean_runtime: float | Mapping[int, float] | None = None,
    measure: str = "jobs",
) -> int:
    """Find the fewest servers of a machine without a queue that keep a loss at or under ε.

    The recursion for q doesn't know s, so one run of it serves all sizes. Losses of wide jobs may
    rise by a hair where one more server lets narrow jobs in, so the answer is the size from which
    on the measure *stays* at or under ε.

    Parameters
    ----------
    epsilon
        The most that may be lost, between 0 and 1.
    measure
        ``jobs`` (share of jobs), ``work`` (share of processor seconds), ``widest`` (of the widest
        jobs), ``all_busy`` (P(no server is free)).
    """
    check_probability("epsilon", epsilon)
    if measure not in MEASURES:
        raise QueueingError(f"unknown measure {measure!r}; {suggest(measure, MEASURES)}")
    widths = Widths.of(source).trimmed()
    offered = offered_loads(source, widths, arrival_rate, mean_runtime)
    mean = float(np.dot(widths.values, offered))
    spread = math.sqrt(float(np.dot(widths.values.astype(float) ** 2, offered)))
    last = math.ceil(mean + 10 * spread) + 4 * widths.widest
    while last <= _MOST:
        values = _measures(widths, offered, last, measure)
        over = np.flatnonzero(values > epsilon)
        # Beyond mean + some deviations the measure only falls; a margin at the end shows it has.
        if over.size == 0 or over[-1] < values.size - widths.widest - 1:
            return widths.widest + (int(over[-1]) + 1 if over.size else 0)
        last *= 2
    raise QueueingError(f"more than {_MOST:,} servers would be needed for ε = {epsilon:g}")


def offered_loads(
    source: WidthsLike,
    widths: Widths,
    arrival_rate: float | None,
    mean_runtime: float | Mapping[int, float] | None,
) -> Floats:
    """a_k = λ·p_k·E[S_k] for each width; what isn't given is taken from the log."""
    if isinstance(source, Workload):
        arrival_rate = observed_rate(source) if arrival_rate is None else arrival_rate
        if mean_runtime is None:
            jobs = usable_jobs(source)
            place = np.searchsorted(widths.values, jobs.procs)
            totals = np.bincount(place, weights=jobs.runtimes, minlength=widths.values.size)
            counts = np.bincount(place, minlength=widths.values.size)
            mean_runtime = dict(zip(widths.values.tolist(), totals / counts, strict=True))
    if arrival_rate is None or mean_runtime is None:
        raise QueueingError("a loss system needs arrival_rate and mean_runtime (or a log)")
    means = mean_runtimes(widths, mean_runtime)
    return check_rate("arrival_rate", arrival_rate) * widths.probs * means


def _occupancy(widths: Widths, offered: Floats, servers: int) -> Floats:
    from onega.kernels.queueing.limits_states import group_states

    states: Floats = group_states(widths.values, widths.values * offered, servers + 1)
    return states


def _measures(widths: Widths, offered: Floats, last: int, measure: str) -> Floats:
    """Return one measure for every size from the widest job to ``last``."""
    states = _occupancy(widths, offered, last)
    summed = np.concatenate([[0.0], np.cumsum(states)])  # summed[n] = Σ_{i<n} q(i)
    sizes = np.arange(widths.widest, last + 1)
    total = np.maximum(summed[sizes + 1], 1e-300)
    lost: Floats
    if measure == "all_busy":
        lost = states[sizes] / total
        return lost
    if measure == "widest":
        lost = 1 - summed[sizes + 1 - widths.widest] / total
        return lost
    weight = widths.probs if measure == "jobs" else widths.values * offered
    passed = np.zeros(sizes.size)
    for k, w in zip(widths.values, weight / weight.sum()):
        passed += w * summed[sizes + 1 - k]
    lost = 1 - passed / total
    return lost

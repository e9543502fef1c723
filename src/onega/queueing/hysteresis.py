"""Hysteretic rate control of a small machine, exactly: mean power and number of jobs.

Poisson arrivals, exponential work (each width may have its own mean), first come, first served, and
a common rate that follows the number of jobs in the system N (`RateControl("queue")`; Rumyantsev et
al. 2018, III-A): after an arrival up from level l as long as N > k_high[l], after a departure down
as long as N ≤ k_low[l − 1]; one event may change it by several levels, where thresholds are equal
or few jobs apart. With the states of `onega.queueing.phases`, q jobs behind the first waiting
one, and the level, this is a Markov chain; a level only multiplies the rates of departures. Mean
power is E[busy·e(R) + idle·e₀(R)] ((11) there).

The queue is cut where what arrives there is below `_LOST` of all arrivals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from onega.core.errors import QueueingError
from onega.core.machine.cluster import Power, RateControl
from onega.core.types import Floats, Ints
from onega.queueing.phases import (
    Entries,
    Phases,
    changed,
    exponential_phases,
    finite,
)
from onega.queueing.saturated import throughput
from onega.queueing.waiting import too_wide
from onega.queueing.widths import Widths, WidthsLike

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_STATES: Final = 120_000
"""Largest chain that is solved: some seconds."""

_LOST: Final = 1e-13


@dataclass(frozen=True)
class Hysteresis:
    """The answer of `hysteresis`.

    Attributes
    ----------
    procs, widths, arrival_rate, mean_runtime
        What was asked; ``mean_runtime`` at rate 1, by width.
    rho
        λ over the throughput of the saturated machine at its highest rate.
    mean_jobs, mean_waiting
        Mean number of jobs in the system, and of those that wait.
    mean_wait, mean_response
        Seconds, by Little's law.
    mean_busy
        Mean number of busy servers.
    mean_rate, rate_changes
        Mean rate over time, and changes of the rate per second.
    time_at
        Share of the time at each rate.
    mean_power
        In the unit of ``power``; None without.
    lost
        Share of the arrivals that come where the queue is cut.
    states
        Size of the chain.
    """

    procs: int
    widths: Widths
    arrival_rate: float
    mean_runtime: Mapping[int, float]
    rates: tuple[float, ...]
    rho: float
    mean_jobs: float
    mean_waiting: float
    mean_wait: float
    mean_response: float
    mean_busy: float
    mean_rate: float
    rate_changes: float
    time_at: tuple[float, ...]
    mean_power: float | None
    lost: float
    states: int

    def summary(self) -> dict[str, Any]:
        """Return the answer as a flat dictionary."""
        left_out = ("widths", "mean_runtime", "time_at", "rates")
        flat = {name: value for name, value in vars(self).items() if name not in left_out}
        return flat | {"utilisation": self.mean_busy / self.procs, "time_at": list(self.time_at)}

    def to_polars(self) -> pl.DataFrame:
        """One row per rate: the share of the time."""
        return pl.DataFrame({"rate": self.rates, "share": self.time_at})


def hysteresis(
    widths: WidthsLike,
    *,
    procs: int,
    arrival_rate: float,
    mean_runtime: float | Mapping[int, float],
    rates: RateControl,
    power: Power | None = None,
) -> Hysteresis:
    """Mean power, number of jobs and waits of a small FCFS machine whose rate follows its queue.

    Parameters
    ----------
    widths
        The distribution of the jobs' widths.
    procs
        Servers; the number of states grows quickly with servers and different widths.
    arrival_rate
        λ, jobs per second, below what the highest rate can serve.
    mean_runtime
        Mean of the exponential work, in seconds at rate 1: one for all or one per width.
    rates
        ``RateControl("queue", …)``, or ``"none"`` for one rate.
    power
        Busy and idle power at each rate.
    """
    if rates.kind not in ("queue", "none"):
        raise QueueingError(
            f"the exact chain is for rate control by the queue; got {rates.kind!r}: take "
            'RateControl("queue", …) or simulate'
        )
    endless = [k for k in rates.k_high if not math.isfinite(k)]
    if endless:
        raise QueueingError(
            f"k_high of the exact chain is a number of jobs, got {endless[0]:g}; of rates that are "
            "never left upwards give only those up to there"
        )
    lam = finite("arrival_rate", arrival_rate)
    phases = exponential_phases(widths, procs, mean_runtime)
    speeds = rates.rates if rates.kind == "queue" else rates.rates[:1]
    most = speeds[-1] * throughput(phases)
    if lam >= most:
        raise QueueingError(
            f"the queue isn't stable at its highest rate: {lam:g} jobs arrive per second and at "
            f"most {most:g} are completed; take an arrival rate below that"
        )
    longest = 32 + int(max(rates.k_high, default=0))
    while True:
        chain = _Chain(phases, lam, speeds, rates, longest)
        share = _shares(chain.rates())
        lost = max(0.0, float(share[chain.level_of(longest)].sum()))
        if lost < _LOST:
            return _answer(chain, share, lam / most, lost, power)
        longest *= 2


def _shares(rates: csr_matrix) -> Floats:
    """Solve π(R − diag(R·1)) = 0, Σπ = 1, relative to the empty machine, which always recurs.

    Without a full row for the sum the matrix keeps its bands, and a long queue costs little.
    """
    from scipy.sparse import diags
    from scipy.sparse.linalg import spsolve

    balance = (rates - diags(np.asarray(rates.sum(axis=1)).ravel())).T.tocsc()
    relative = spsolve(balance[1:, 1:], -balance[1:, [0]].toarray().ravel())
    share = np.concatenate([[1.0], np.asarray(relative)])
    result: Floats = share / share.sum()
    return result


class _Chain:
    """States (level, free n) and then (q, level, blocked); what each is, and where it leads."""

    def __init__(
        self,
        phases: Phases,
        lam: float,
        speeds: tuple[float, ...],
        control: RateControl,
        longest: int,
    ) -> None:
        self.phases, self.lam, self.speeds, self.control = phases, lam, speeds, control
        self.longest, self.levels = longest, len(speeds)
        self.frees, self.blocks = len(phases.free), len(phases.blocked)
        self.states = self.levels * (self.frees + self.blocks * (longest + 1))
        if self.states > MOST_STATES:
            raise QueueingError(
                f"{phases.servers} servers with these widths and a queue of {longest} jobs have "
                f"{self.states:,} states, more than the {MOST_STATES:,} that are solved exactly; "
                "take fewer servers, widths or a lower arrival rate, or simulate"
            )
        counts = np.array(phases.free, dtype=np.int64).reshape(self.frees, -1)
        self.serving = counts.sum(axis=1)
        self.used = counts @ phases.widths.values
        self.inside = np.array([n for n, _ in phases.blocked], dtype=np.int64)

    def free_at(self, level: int | Ints, n: int | Ints) -> Any:  # noqa: ANN401
        """Return the number of a state in which no job waits."""
        return level * self.frees + n

    def blocked_at(self, q: int, level: int | Ints, b: int | Ints) -> Any:  # noqa: ANN401
        """Return the number of a state in which q jobs wait behind the first."""
        first = self.levels * self.frees
        return first + (q * self.levels + level) * self.blocks + b

    def level_of(self, q: int) -> slice:
        """Return all states with q jobs behind the first waiting one."""
        return slice(self.blocked_at(q, 0, 0), self.blocked_at(q + 1, 0, 0))

    def after_arrival(self, level: int, jobs: Ints) -> Ints:
        """Return the level after an arrival that makes so many jobs."""
        after = np.full(jobs.shape, level)
        for one in range(level, self.levels - 1):
            after[(after == one) & (jobs > self.control.k_high[one])] = one + 1
        return after

    def after_departure(self, level: int, jobs: Ints) -> Ints:
        """Return the level after a departure that leaves so many jobs."""
        after = np.full(jobs.shape, level)
        for one in range(level, 0, -1):
            after[(after == one) & (jobs <= self.control.k_low[one - 1])] = one - 1
        return after

    def rates(self) -> csr_matrix:
        """Return the rates from state to state."""
        from scipy.sparse import csr_matrix

        entries: list[tuple[Any, Any, Any]] = []
        for level in range(self.levels):
            self._from_free(level, entries)
            for q in range(self.longest + 1):
                self._from_blocked(level, q, entries)
        rows, columns, values = (
            np.concatenate([np.atleast_1d(entry[k]) for entry in entries]) for k in range(3)
        )
        shape = (self.states, self.states)
        self.changing = self.level()[rows] != self.level()[columns]
        self.rows, self.values = rows, values
        return csr_matrix((values, (rows, columns)), shape=shape)

    def _from_free(self, level: int, entries: list[tuple[Any, Any, Any]]) -> None:
        phases, speed = self.phases, self.speeds[level]
        place = {n: i for i, n in enumerate(phases.free)}
        number = {state: b for b, state in enumerate(phases.blocked)}
        up = self.after_arrival(level, self.serving + 1)
        down = self.after_departure(level, self.serving - 1)
        for i, n in enumerate(phases.free):
            fits = ~too_wide(phases, i)
            for c, p in enumerate(phases.widths.probs):
                if fits[c]:
                    to = self.free_at(up[i], place[changed(n, c, 1)])
                    entries.append((self.free_at(level, i), to, self.lam * p))
                elif p > 0:
                    to = self.blocked_at(0, up[i], number[i, c])
                    entries.append((self.free_at(level, i), to, self.lam * p))
                if n[c]:
                    to = self.free_at(down[i], place[changed(n, c, -1)])
                    rate = speed * n[c] * phases.rates[c]
                    entries.append((self.free_at(level, i), to, rate))

    def _from_blocked(self, level: int, q: int, entries: list[tuple[Any, Any, Any]]) -> None:
        phases, speed = self.phases, self.speeds[level]
        jobs = self.serving[self.inside] + 1 + q
        down = self.after_departure(level, jobs - 1)

        def leave(some: Entries, to: Any) -> None:  # noqa: ANN401
            if some:
                source, target = np.array(list(some)).T
                rate = speed * np.array(list(some.values()))
                entries.append((self.blocked_at(q, level, source), to(down[source], target), rate))

        leave(phases.local, lambda after, b: self.blocked_at(q, after, b))
        for drawn, some in enumerate(phases.down[:q], start=1):
            leave(some, lambda after, b, q=q - drawn: self.blocked_at(q, after, b))
        if q < len(phases.emptied):
            leave(phases.emptied[q], self.free_at)
        if q < self.longest:
            every = np.arange(self.blocks)
            up = self.after_arrival(level, jobs + 1)
            rate = np.full(self.blocks, self.lam)
            to = self.blocked_at(q + 1, up, every)
            entries.append((self.blocked_at(q, level, every), to, rate))

    def level(self) -> Ints:
        """Return the level of each state."""
        free = np.repeat(np.arange(self.levels), self.frees)
        blocked = np.repeat(np.arange(self.levels), self.blocks)
        return np.concatenate([free, np.tile(blocked, self.longest + 1)])

    def waiting(self) -> Ints:
        """Return how many wait in each state."""
        free = np.zeros(self.levels * self.frees, np.int64)
        blocked = np.repeat(np.arange(1, self.longest + 2), self.levels * self.blocks)
        return np.concatenate([free, blocked])

    def per_service(self, values: Ints) -> Ints:
        """Return for each state a number that depends on the jobs in service."""
        blocked = np.tile(values[self.inside], self.levels * (self.longest + 1))
        return np.concatenate([np.tile(values, self.levels), blocked])


def _answer(
    chain: _Chain, share: Floats, rho: float, lost: float, power: Power | None
) -> Hysteresis:
    phases, lam, level = chain.phases, chain.lam, chain.level()
    busy = chain.per_service(chain.used)
    waiting = float(share @ chain.waiting())
    jobs = waiting + float(share @ chain.per_service(chain.serving))
    mean_power = None
    if power is not None:
        at_busy, at_idle = (np.array(one)[level] for one in power.at(chain.levels))
        mean_power = float(share @ (busy * at_busy + (phases.servers - busy) * at_idle))
    time_at = np.bincount(level, share, chain.levels)
    changes = float((share[chain.rows] * chain.values)[chain.changing].sum())
    return Hysteresis(
        procs=phases.servers,
        widths=phases.widths,
        arrival_rate=lam,
        mean_runtime=phases.mean_runtimes(),
        rates=chain.speeds,
        rho=rho,
        mean_jobs=jobs,
        mean_waiting=waiting,
        mean_wait=waiting / lam,
        mean_response=jobs / lam,
        mean_busy=float(share @ busy),
        mean_rate=float(time_at @ np.array(chain.speeds)),
        rate_changes=changes,
        time_at=tuple(time_at.tolist()),
        mean_power=mean_power,
        lost=lost,
        states=chain.states,
    )

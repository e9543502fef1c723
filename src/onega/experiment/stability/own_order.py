"""How much of a machine first come, first served can use, with a log's jobs in their own order.

The log is put into a queue that never empties, one copy behind another, m times. Let y_m be when
the last job of the m-th copy starts. One more copy takes, in the long run, Γ seconds, and

    y_m / m  ≤  Γ  ≤  (y_m + S_max) / m,

S_max being the longest run time: the vector of times at which the servers get free is a monotone
function of that before, which moves along if all servers are later by the same time, and all of
them get free within S_max of the last start; so y_{k+m} lies between y_k + y_m and y_k + y_m +
S_max (Baccelli and Foss 1995; Fekete's lemma does the rest). The usable share is U = E/(s·Γ), with
E the processor seconds of the log. Nothing is drawn at random, and the bounds are certain. If a
copy starts all its jobs as the copy before did, only later, Γ is known exactly.

The order matters: users submit alike jobs in a row, which pack better (or worse) than a mixture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from onega.core.types import Floats, Ints
from onega.core.workload.workload import Workload
from onega.kernels.pool.recursion import Customers, concurrent, make_vector
from onega.queueing.constant import LARGEST
from onega.queueing.estimates import usable_jobs
from onega.queueing.intervals import factor_interval
from onega.queueing.verdict import Usable

BUDGET: Final = 500_000
"""Jobs simulated at most for one machine size (a fraction of a second); a log's jobs once at least.
Counted in jobs, not in seconds, so that the answer is the same on a slow computer."""

FAR: Final = 64
"""Machines are tried up to so many times the work that is asked for."""

PRECISION: Final = 0.001
"""Half the relative distance of the bounds that is aimed at."""


@dataclass(frozen=True, eq=False)
class OwnOrder:
    """Measures the usable share of machines of any size with the jobs of one log.

    Attributes
    ----------
    procs, runtimes, gaps
        The jobs in the order of submission, and the times between submissions.
    precision, budget
        When to stop adding copies: see `PRECISION` and `BUDGET`.
    """

    procs: Ints
    runtimes: Floats
    gaps: Floats
    precision: float = PRECISION
    budget: int = BUDGET
    known: dict[int, Usable] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, log: Workload, precision: float = PRECISION, budget: int = BUDGET) -> OwnOrder:
        """Take the usable jobs of a log."""
        jobs = usable_jobs(log)
        return cls(jobs.procs, jobs.runtimes, jobs.gaps, precision, budget)

    @property
    def work(self) -> float:
        """Processor seconds of the whole log."""
        return float(np.dot(self.procs, self.runtimes))

    def __call__(self, servers: int) -> Usable:
        """Measure a machine of so many servers; the same size is measured once."""
        if servers not in self.known:
            self.known[servers] = self._measure(servers)
        return self.known[servers]

    def _measure(self, servers: int) -> Usable:
        longest, size = float(self.runtimes.max()), self.procs.size
        # One copy takes at least its work, spread over the machine.
        copies = math.ceil(longest / (2 * self.precision * self.work / servers))
        copies = max(1, min(max(3, copies), self.budget // size))
        start = self._starts(servers, copies)
        last = float(start[-1])
        if _repeats(start, size, longest):
            share = min(1.0, self.work / (servers * (last - float(start[-1 - size]))))
            return Usable(share, share, share, "exactly", start.size, _how(copies))
        low = min(1.0, self.work * copies / (servers * (last + longest)))
        high = min(1.0, self.work * copies / (servers * last)) if last > 0 else 1.0
        share = min(high, max(low, self._busy(start, last) / (servers * last))) if last > 0 else low
        return Usable(share, low, high, "for certain", start.size, _how(copies))

    def _starts(self, servers: int, copies: int) -> Floats:
        """Start of every job of all copies."""
        count = copies * self.procs.size
        begin, busy = np.empty(count), np.empty(count, np.int64)
        jobs = Customers(
            np.zeros(count), np.tile(self.runtimes, copies), np.tile(self.procs, copies)
        )
        concurrent(jobs, make_vector(servers, count), begin, busy)
        return begin

    def _busy(self, start: Floats, last: float) -> float:
        """Processor seconds worked up to the last start."""
        copies = start.size // self.procs.size
        worked = np.minimum(np.tile(self.runtimes, copies), last - start)
        return float(np.dot(np.tile(self.procs, copies), worked))

    def fewest_servers(self, asked: float) -> int | None:
        """Find the fewest servers that certainly keep up with ``asked`` processors' worth of work.

        More servers never let a job start later under first come, first served, so what a machine
        can use grows with its size and bisection finds the boundary. None if even on a far larger
        machine the budget doesn't suffice to be certain.
        """
        low = max(int(self.procs.max()), math.floor(asked)) - 1
        high = low + 1
        step, most = max(1, low // 20), min(LARGEST, FAR * high)
        while not self._keeps_up(high, asked):
            low, high, step = high, high + step, 2 * step
            if high > most:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._keeps_up(middle, asked):
                high = middle
            else:
                low = middle
        return high

    def _keeps_up(self, servers: int, asked: float) -> bool:
        return self(servers).low * servers > asked

    def load_ratio_ci(
        self, servers: int, ratio: float, confidence: float
    ) -> tuple[float, float] | None:
        """Interval of offered load / usable share over other logs like this one.

        The logarithm of the ratio is, to first order, a mean over jobs of −T/E[T] + D/E[D], with T
        the gaps between submissions and D those between starts in the saturated machine; its
        interval comes from batch means. None for fewer than four jobs, or jobs of one instant.
        """
        if self.gaps.size < 4 or self.gaps.sum() <= 0:
            return None
        size = self.procs.size
        start = self._starts(servers, 2)[size:]
        between = np.diff(start)
        if between.mean() <= 0:
            return None
        influence = between / between.mean() - self.gaps / self.gaps.mean()
        return factor_interval(ratio, influence, confidence)


def _repeats(start: Floats, size: int, longest: float) -> bool:
    """Return True if the last copy starts its jobs as the one before did, all later by one time.

    If no job runs as long as a copy takes, jobs of one copy alone are in service when its last one
    starts; then the next copy finds what the last one found, and does the same.
    """
    if start.size < 3 * size:
        return False
    later = start[-size:] - start[-2 * size : -size]
    ends = start[-1 - np.arange(3) * size]
    shortest = float(min(ends[0] - ends[1], ends[1] - ends[2]))
    room = 1e-9 * float(start[-1])
    return longest + room < shortest and float(np.ptp(later)) <= room


def _how(copies: int) -> str:
    times = {1: "once", 2: "twice"}.get(copies, f"{copies:,} times")
    return f"the log's own jobs in their own order, put {times} into a queue that never empties"

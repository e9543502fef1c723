"""What first come, first served can use of machines of many sizes, measured once and kept.

Under first come, first served the processors that work, U(s)·s, never get fewer with more servers
(`onega.experiment.stability.own_order`). So the measured sizes on either side of a machine bound
what can be used of it, and between them U(s)·s is drawn straight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.types import Floats
from onega.experiment.stability.own_order import OwnOrder
from onega.queueing.verdict import Usable

SIZES: Final = 160
"""Sizes that are measured, fewer if the log is long."""

FEWEST_SIZES: Final = 32

WORK: Final = 16_000_000
"""Jobs simulated for all sizes together, about: some seconds."""


@dataclass(frozen=True, eq=False)
class UsableCurve:
    """Bounds of the usable share by machine size.

    Attributes
    ----------
    sizes
        The sizes that were measured, ascending.
    share, low, high
        Of each, as in `onega.queueing.verdict.Usable`.
    jobs
        Jobs simulated for all of them.
    """

    sizes: npt.NDArray[np.int64]
    share: Floats
    low: Floats
    high: Floats
    jobs: int

    @classmethod
    def measure(cls, jobs: OwnOrder, procs: int, asked: Sequence[float] = ()) -> UsableCurve:
        """Measure sizes from the widest job to eight times ``procs``.

        That one is among them, and so are those around the fewest servers that keep up with
        ``asked`` processors' worth of work, each of them.
        """
        widest = int(jobs.procs.max())
        here = max(procs, widest)
        number = int(np.clip(WORK // jobs(here).jobs, FEWEST_SIZES, SIZES))
        for work in asked:
            jobs.fewest_servers(work)
        spread = np.geomspace(widest, 8 * here, number).round().astype(np.int64)
        sizes = np.unique(np.append(spread, list(jobs.known)))
        found = [jobs(int(size)) for size in sizes]
        share, low, high = (
            np.array([getattr(one, name) for one in found]) for name in ("share", "low", "high")
        )
        # More servers never do less: a bound of one size holds for the larger, or smaller, ones.
        low = np.maximum.accumulate(low * sizes) / sizes
        high = np.minimum.accumulate((high * sizes)[::-1])[::-1] / sizes
        return cls(sizes, np.clip(share, low, high), low, high, sum(one.jobs for one in found))

    @classmethod
    def from_polars(cls, table: pl.DataFrame) -> UsableCurve:
        """Read what `to_polars` gave."""
        share, low, high = (table[name].to_numpy() for name in ("share", "low", "high"))
        return cls(table["procs"].to_numpy(), share, low, high, int(table["jobs"][0]))

    def to_polars(self) -> pl.DataFrame:
        """One row per size."""
        return pl.DataFrame(
            {"procs": self.sizes, "share": self.share, "low": self.low, "high": self.high}
        ).with_columns(jobs=pl.lit(self.jobs))

    def __call__(self, servers: int) -> Usable:
        """Return what is known of a machine of so many servers."""
        place = int(np.searchsorted(self.sizes, servers))
        how = "the log's own jobs in their own order, in a queue that never empties"
        if place < self.sizes.size and self.sizes[place] == servers:
            low, share, high = (float(one[place]) for one in (self.low, self.share, self.high))
        else:
            low = float(self.low[place - 1] * self.sizes[place - 1]) / servers if place else 0.0
            beyond = place == self.sizes.size
            high = 1.0 if beyond else float(self.high[place] * self.sizes[place]) / servers
            high = min(1.0, high)
            used = float(np.interp(servers, self.sizes, self.share * self.sizes))
            share = min(high, max(low, used / servers))
        sure = "exactly" if math.isclose(low, high, rel_tol=1e-12) else "for certain"
        return Usable(share, low, high, sure, self.jobs, how)

    def fewest_servers(self, asked: float) -> int | None:
        """Find the smallest measured machine that certainly keeps up; None if none of them does."""
        enough = np.flatnonzero(self.low * self.sizes > asked)
        return int(self.sizes[enough[0]]) if enough.size else None

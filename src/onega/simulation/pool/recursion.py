"""The modified Kiefer–Wolfowitz recursion: delays without a simulation (Rumyantsev 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import QueueingError, suggest
from onega.core.types import Floats, Ints
from onega.kernels.pool.recursion import Customers, concurrent, independent, make_vector, vectors

MOST_KEPT: Final = 250_000_000
"""Numbers of all vectors together, two gigabytes."""

Release = Literal["concurrent", "independent"]


@dataclass(frozen=True, slots=True, eq=False)
class Recursion:
    """What each customer finds on arrival.

    Attributes
    ----------
    delay
        D_i = W_{i,N_i}, in the unit of the gaps (Rumyantsev 2014, (2)).
    busy
        Servers with work left when customer i arrives: components of W_i above 0.
    vectors
        Row i is W_i, ascending: the work left on each server when customer i arrives. None unless
        they were asked for.
    """

    delay: Floats
    busy: Ints
    vectors: Floats | None = None

    def summary(self) -> dict[str, Any]:
        """Mean and largest delay, share of customers that wait, mean busy servers seen."""
        return {
            "customers": int(self.delay.size),
            "mean_delay": float(self.delay.mean()),
            "max_delay": float(self.delay.max()),
            "share_delayed": float((self.delay > 0).mean()),
            "mean_busy_seen": float(self.busy.mean()),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per customer: delay, busy."""
        return pl.DataFrame({"delay": self.delay, "busy": self.busy})


def workload_recursion(
    gaps: npt.ArrayLike,
    service: npt.ArrayLike,
    widths: npt.ArrayLike,
    *,
    servers: int,
    release: Release = "concurrent",
    keep_vectors: bool = False,
) -> Recursion:
    """Delays of customers that need several servers at once, first come, first served.

    W_{i+1} = R(W_{i,N_i} + S_i − T_i (N_i times), W_{i,N_i+1} − T_i, …, W_{i,s} − T_i)⁺ and D_i =
    W_{i,N_i} (Rumyantsev 2014, (1), (2); Kiefer and Wolfowitz 1955), R sorts upwards. The cost of a
    customer doesn't depend on the number of servers.

    Parameters
    ----------
    gaps
        T_i: time from arrival i to arrival i+1, not negative; the last one is not used.
    service
        S_i, not negative; for independent release a matrix with a column for each server, whose
        j-th entry is the work for the j-th least loaded server.
    widths
        N_i: servers that customer i occupies, 1 to ``servers``.
    servers
        s: how many there are.
    release
        ``"concurrent"``: a customer's servers are released together. ``"independent"``: each when
        its own work is done.
    keep_vectors
        Keep W_i of every customer, a number for each server; then the cost grows with them.

    Notes
    -----
    The R function ``Wld`` of hpcwld gives the same, but for a customer as wide as the machine it
    loses the last server's work; this one doesn't.
    """
    if release not in get_args(Release):
        raise QueueingError(
            f"unknown release {release!r}; {suggest(str(release), get_args(Release))}"
        )
    if servers < 1:
        raise QueueingError(f"servers must be at least 1, got {servers}")
    gap = np.ascontiguousarray(gaps, dtype=np.float64)
    work = np.ascontiguousarray(service, dtype=np.float64)
    width = np.ascontiguousarray(widths, dtype=np.int64)
    _check(gap, work, width, servers, release)
    if keep_vectors and gap.size * servers > MOST_KEPT:
        raise QueueingError(
            f"{gap.size:,} vectors of {servers:,} servers are more than {MOST_KEPT:,} numbers; "
            "take fewer customers or servers, or leave keep_vectors out"
        )
    arrival = np.concatenate([[0.0], np.cumsum(gap[:-1])])
    begin, busy = np.empty(gap.size), np.empty(gap.size, np.int64)
    customers = Customers(arrival, work.ravel(), width)
    if release == "concurrent":
        concurrent(customers, make_vector(servers, gap.size), begin, busy)
    else:
        independent(customers, make_vector(servers, int(width.sum())), begin, busy)
    kept = None
    if keep_vectors:
        kept = np.empty((gap.size, servers))
        vectors(customers, begin, 1 if release == "concurrent" else servers, kept)
    return Recursion(begin - arrival, busy, kept)


def _check(gap: Floats, work: Floats, width: Ints, servers: int, release: Release) -> None:
    shape = (gap.size,) if release == "concurrent" else (gap.size, servers)
    if gap.ndim != 1 or gap.size == 0 or width.shape != gap.shape or work.shape != shape:
        raise QueueingError(
            f"gaps, service and widths must belong together: for {release} release service has "
            f"shape {shape}, widths {gap.shape}; got {work.shape} and {width.shape}"
        )
    for name, wrong, accepted in (
        ("gaps", ~(gap >= 0) | ~np.isfinite(gap), "finite and not negative"),
        ("service", ~(work >= 0) | ~np.isfinite(work), "finite and not negative"),
        ("widths", (width < 1) | (width > servers), f"from 1 to {servers}"),
    ):
        rows = np.flatnonzero(wrong.reshape(gap.size, -1).any(axis=1))
        if rows.size:
            raise QueueingError(
                f"{name} must be {accepted}; customer {rows[0] + 1} isn't ({rows.size} in all)"
            )

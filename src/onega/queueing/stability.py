"""Is the machine stable, and how large must it be (seed 000)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import QueueingError
from onega.core.plotting import Plottable
from onega.core.rng import Rng
from onega.core.workload import Workload
from onega.queueing.constant import (
    Constant,
    check_servers,
    constant_curve,
    fewest_servers,
    stability_constant,
)
from onega.queueing.estimates import LogEstimates, estimate
from onega.queueing.widths import Widths, WidthsLike


@dataclass(frozen=True)
class Stability(Plottable):
    """The answer of `stability`.

    Attributes
    ----------
    procs
        Servers of the machine.
    widths
        The distribution of the jobs' widths.
    constant
        C and how it was found.
    arrival_rate
        λ, jobs per second; None if unknown.
    mean_runtime
        E[S], seconds; None if unknown.
    mean_work
        E[N·S], processor seconds per job; E[N]·E[S] where one law is assumed for all widths.
    min_procs
        The fewest servers that keep the queue stable; None if λ or E[S] is unknown, or if the
        method can't tell.
    estimates
        What the log said, with confidence intervals and assumption checks; None without a log.
    policy
        What was saturated: ``"fcfs"`` for the formulas.
    provenance
        How the answer was made, a line each.
    """

    FIGURES: ClassVar[str] = "queueing"

    procs: int
    widths: Widths
    constant: Constant
    arrival_rate: float | None = None
    mean_runtime: float | None = None
    mean_work: float | None = None
    min_procs: int | None = None
    estimates: LogEstimates | None = None
    policy: str = "fcfs"
    provenance: tuple[str, ...] = ()

    @property
    def C(self) -> float:
        """E[1/ν(s)], seed 000 (4)."""
        return self.constant.value

    @property
    def rho(self) -> float | None:
        """ρ = λ·C·E[S], seed 000 (3)."""
        if self.arrival_rate is None or self.mean_runtime is None:
            return None
        return self.arrival_rate * self.C * self.mean_runtime

    @property
    def stable(self) -> bool | None:
        """Whether ρ < 1; None if λ or E[S] is unknown."""
        return None if self.rho is None else self.rho < 1

    @property
    def max_arrival_rate(self) -> float | None:
        """1/(C·E[S]), jobs per second: what a saturated machine completes."""
        return None if self.mean_runtime is None else 1.0 / (self.C * self.mean_runtime)

    @property
    def utilisation_at_limit(self) -> float:
        """E[N]/(C·s): the share of processors that work while the queue never empties."""
        if self.mean_work is not None and self.mean_runtime is not None:
            return self.mean_work / (self.C * self.mean_runtime * self.procs)
        return self.widths.mean / (self.C * self.procs)

    @property
    def unused_share(self) -> float:
        """1 − utilisation at the limit: idle though jobs wait, because the next one doesn't fit."""
        return 1.0 - self.utilisation_at_limit

    def summary(self) -> dict[str, Any]:
        """Return the answer as a flat dictionary (the keys of ``onega stability --json``)."""
        result: dict[str, Any] = {
            "procs": self.procs,
            "C": self.C,
            "rho": self.rho,
            "stable": self.stable,
            "max_arrival_rate": self.max_arrival_rate,
            "min_procs": self.min_procs,
            "utilisation_at_limit": self.utilisation_at_limit,
            "unused_share": self.unused_share,
            "method": self.constant.method,
            "policy": self.policy,
            "arrival_rate": self.arrival_rate,
            "mean_runtime": self.mean_runtime,
            "mean_width": self.widths.mean,
            "widest": self.widths.widest,
        }
        if self.constant.low < self.constant.high:
            result |= {"C_low": self.constant.low, "C_high": self.constant.high}
        if self.estimates is not None:
            result |= _from_log(self.estimates)
        return result

    def to_polars(self) -> pl.DataFrame:
        """One row per width: its probability, and the share of the machine's work it brings."""
        work = self.widths.values * self.widths.probs
        return pl.DataFrame(
            {
                "procs": self.widths.values,
                "probability": self.widths.probs,
                "share_of_work": work / work.sum(),
            }
        )

    def curve(self, sizes: npt.ArrayLike | None = None) -> pl.DataFrame:
        """C, ρ and the utilisation at the limit for other machine sizes (formula, FCFS).

        ``sizes`` are about 200 sizes from the widest job to three times this machine by default.
        """
        if sizes is None:
            last = max(3 * self.procs, self.widths.widest + 10)
            sizes = np.unique(np.geomspace(self.widths.widest, last, 200).round().astype(np.int64))
        servers = np.asarray(sizes, dtype=np.int64)
        constant = constant_curve(self.widths, servers)
        load = math.nan
        if self.arrival_rate is not None and self.mean_runtime is not None:
            load = self.arrival_rate * self.mean_runtime
        return pl.DataFrame(
            {
                "procs": servers,
                "C": constant,
                "rho": load * constant,
                "utilisation_at_limit": self.widths.mean / (constant * servers),
            }
        )

    def sentences(self) -> list[str]:
        """Return the answer in words."""
        from onega.queueing.words import stability_sentences

        return stability_sentences(self)


def stability(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | None = None,
    method: str = "exact",
    draws: int = 200_000,
    confidence: float = 0.95,
    rng: Rng = None,
) -> Stability:
    """Ask whether a machine under FCFS keeps up with its jobs: ρ = λ·C·E[S] < 1 (seed 000 (3)).

    Parameters
    ----------
    source
        A log, or a distribution of widths (p_1, p_2, …; a mapping; a text as ``"1:0.5,4:0.5"``).
    procs
        Servers; the log's machine by default.
    arrival_rate, mean_runtime
        λ in jobs per second, E[S] in seconds; from the log by default.
    method
        ``exact``, ``partitions``, ``enumeration`` or ``montecarlo``; see
        `onega.queueing.constant.stability_constant`.
    draws, confidence, rng
        Sample size of ``montecarlo``, level of the intervals, randomness.

    Notes
    -----
    Proved for Poisson arrivals and one exponential law of run times for all widths; from a log,
    ``estimates.checks`` says how far that is from the data.
    """
    servers = machine_size(source, procs)
    for name, value in (("arrival_rate", arrival_rate), ("mean_runtime", mean_runtime)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise QueueingError(f"{name} must be a positive number; got {value}")
    widths = Widths.of(source).within(servers)
    check_servers(widths, servers)
    constant = stability_constant(
        widths, servers, method=method, draws=draws, confidence=confidence, rng=rng
    )
    estimates = None
    if isinstance(source, Workload) and (arrival_rate is None or mean_runtime is None):
        estimates = estimate(source, servers, confidence=confidence)
        arrival_rate = estimates.arrival_rate if arrival_rate is None else arrival_rate
        mean_runtime = estimates.mean_runtime if mean_runtime is None else mean_runtime
    fewest = None
    if arrival_rate is not None and mean_runtime is not None:
        fewest = fewest_servers(widths, arrival_rate * mean_runtime)
    return Stability(
        procs=servers,
        widths=widths,
        constant=constant,
        arrival_rate=arrival_rate,
        mean_runtime=mean_runtime,
        min_procs=fewest,
        estimates=estimates,
        provenance=(f"stability of {widths.name} on {servers} servers, method {method}",),
    )


def machine_size(source: WidthsLike, procs: int | None) -> int:
    """Return the machine's size: as given, else the log's."""
    if procs is not None:
        if isinstance(procs, bool) or not float(procs).is_integer() or procs < 1:
            raise QueueingError(f"procs must be a whole number from 1; got {procs}")
        return int(procs)
    if isinstance(source, Workload) and source.meta.procs is not None:
        return source.meta.procs
    raise QueueingError("how many servers? give procs= (--procs); the log doesn't say")


def _from_log(estimates: LogEstimates) -> dict[str, Any]:
    result: dict[str, Any] = {
        "jobs": estimates.jobs,
        "jobs_left_out": estimates.report.dropped,
        "confidence": estimates.confidence,
        "offered_load": estimates.offered_load,
    }
    for name in ("arrival_rate", "mean_runtime", "constant", "rho"):
        low, high = getattr(estimates, f"{name}_ci")
        key = "C" if name == "constant" else name
        result |= {f"{key}_ci_low": low, f"{key}_ci_high": high}
    for check in estimates.checks:
        result[f"{check.assumption}_holds"] = check.holds
        result |= {f"{check.assumption}_{name}": value for name, value in check.measures.items()}
    return result

"""Is the machine stable, and how large must it be (Rumyantsev 2014, and measurements)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import QueueingError
from onega.core.plotting import Plottable
from onega.core.rng import Rng
from onega.core.workload.workload import Workload
from onega.queueing.checks import NEEDED, Check
from onega.queueing.constant import (
    Constant,
    check_servers,
    constant_curve,
    fewest_servers,
    stability_constant,
)
from onega.queueing.estimates import LogEstimates, LogFacts, log_facts
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.saturated import fewest_servers_for_law, law_constant
from onega.queueing.verdict import Usable, Verdict, judge
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
        E[N·S], processor seconds per job; None for E[N]·E[S], widths and run times independent.
    window_load
        ω over the window in which the log shows its machine filled; None without one.
    min_procs
        The fewest servers for which the answer is yes; None if λ or E[S] is unknown, or if the
        method can't tell.
    formula_min_procs
        The fewest servers with ρ < 1 by the formula.
    estimates
        What the log said, with confidence intervals; None without a log, or with both rates given.
    checks
        The formula's assumptions and how far the log is from them; None without a log.
    usable
        The share of the machine that can be used, as measured; None if it wasn't.
    load_ratio_ci
        From a measurement of a log: confidence interval of offered load / usable share over other
        logs like this one.
    measure
        Measures the usable share of a machine of another size; None if nothing was measured.
    policy
        What was asked about: ``"fcfs"`` for the formulas.
    law
        The law of run times that C is for.
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
    window_load: float | None = None
    min_procs: int | None = None
    formula_min_procs: int | None = None
    estimates: LogEstimates | None = None
    checks: tuple[Check, ...] | None = None
    usable: Usable | None = None
    load_ratio_ci: tuple[float, float] | None = None
    measure: Callable[[int], Usable] | None = field(default=None, repr=False, compare=False)
    policy: str = "fcfs"
    law: str = "exponential"
    provenance: tuple[str, ...] = ()

    @property
    def C(self) -> float:
        """E[1/ν(s)] by the formula (Rumyantsev 2014, (4)); 1/(throughput·E[S]) if measured."""
        return self.constant.value

    @property
    def rho(self) -> float | None:
        """ρ = λ·C·E[S] of the formula (Rumyantsev 2014, (3))."""
        if self.arrival_rate is None or self.mean_runtime is None:
            return None
        return self.arrival_rate * self.C * self.mean_runtime

    @property
    def offered_load(self) -> float | None:
        """ω = λ·E[N·S]/s: what is asked for, as a share of the machine; None if unknown."""
        if self.arrival_rate is None or self.mean_runtime is None:
            return None
        return self.arrival_rate * self._work(self.mean_runtime) / self.procs

    @property
    def peak_load(self) -> float | None:
        """The larger of the offered loads of the whole log and of its window; None if unknown."""
        load = self.offered_load
        return load if load is None or self.window_load is None else max(load, self.window_load)

    @property
    def formula_holds(self) -> bool | None:
        """Whether the log passes the tests of what the formula needs; None without a log."""
        if self.checks is None:
            return None
        return all(check.holds for check in self.checks if check.assumption in NEEDED)

    @property
    def verdict(self) -> Verdict:
        """Yes, no or can't tell, and what decides; see `onega.queueing.verdict`."""
        return judge(self)

    @property
    def stable(self) -> bool | None:
        """Whether the machine keeps up; None: can't tell, `verdict` says what would."""
        return self.verdict.stable

    @property
    def max_arrival_rate(self) -> float | None:
        """Jobs per second that a saturated machine completes: measured, else 1/(C·E[S])."""
        if self.mean_runtime is None:
            return None
        if self.usable is not None:
            return self.usable.share * self.procs / self._work(self.mean_runtime)
        return 1.0 / (self.C * self.mean_runtime)

    @property
    def utilisation_at_limit(self) -> float:
        """The share of processors that work while the queue never empties: measured, else by C."""
        return self.formula_utilisation if self.usable is None else self.usable.share

    @property
    def formula_utilisation(self) -> float:
        """E[N]/(C·s): the usable share where run times don't depend on widths."""
        return min(1.0, self.widths.mean / (self.C * self.procs))

    def _work(self, mean_runtime: float) -> float:
        return self.widths.mean * mean_runtime if self.mean_work is None else self.mean_work

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
            "verdict": self.verdict.answer,
            "verdict_basis": self.verdict.basis,
            "verdict_words": self._headline(),
            "would_tell": self.verdict.would_tell,
            "offered_load": self.offered_load,
            "window_offered_load": self.window_load,
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
            "law": self.law,
        }
        result |= self._evidence()
        if self.constant.low < self.constant.high:
            result |= {"C_low": self.constant.low, "C_high": self.constant.high}
        if self.estimates is not None:
            result |= self.estimates.summary()
        for check in self.checks or ():
            result |= check.summary()
        return result

    def _headline(self) -> str | None:
        from onega.queueing.sentences import verdict_sentence

        return None if self.offered_load is None else verdict_sentence(self)

    def _evidence(self) -> dict[str, Any]:
        """Return what the formula says by itself, and what was measured."""
        by_formula = self.constant.method != "saturation"
        result: dict[str, Any] = {
            "formula_holds": self.formula_holds,
            "formula_rho": self.rho if by_formula else None,
            "formula_utilisation_at_limit": self.formula_utilisation if by_formula else None,
            "formula_min_procs": self.formula_min_procs,
            "saturation_utilisation": None,
        }
        if self.usable is not None:
            result |= {
                "saturation_utilisation": self.usable.share,
                "saturation_utilisation_low": self.usable.low,
                "saturation_utilisation_high": self.usable.high,
                "saturation_known": self.usable.sure,
                "saturation_jobs": self.usable.jobs,
            }
        if self.load_ratio_ci is not None and self.offered_load is not None:
            low, high = self.load_ratio_ci
            result |= {
                "load_ratio": self.offered_load / self.utilisation_at_limit,
                "load_ratio_ci_low": low,
                "load_ratio_ci_high": high,
            }
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

        ``sizes`` are about 200 sizes from the widest job to three times this machine by default
        (40 if each is measured: then the column ``measured`` is the usable share of the log's own
        jobs).
        """
        if sizes is None:
            last = max(3 * self.procs, self.widths.widest + 10)
            number = 200 if self.measure is None else 40
            spread = np.geomspace(self.widths.widest, last, number).round().astype(np.int64)
            sizes = np.unique(spread)
        servers = np.asarray(sizes, dtype=np.int64)
        constant = constant_curve(self.widths, servers)
        load = math.nan
        if self.arrival_rate is not None and self.mean_runtime is not None:
            load = self.arrival_rate * self.mean_runtime
        columns = {
            "procs": servers,
            "C": constant,
            "rho": load * constant,
            "utilisation_at_limit": self.widths.mean / (constant * servers),
        }
        if self.measure is not None:
            columns["measured"] = np.array([self.measure(int(s)).share for s in servers])
        return pl.DataFrame(columns)

    def sentences(self) -> list[str]:
        """Return the answer in words."""
        from onega.queueing.sentences import stability_sentences

        return stability_sentences(self)


def stability(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | None = None,
    method: str = "exact",
    law: RuntimeLaw | str = "exponential",
    draws: int = 200_000,
    confidence: float = 0.95,
    rng: Rng = None,
) -> Stability:
    """Ask a formula whether a machine under FCFS keeps up with its jobs: ρ = λ·C·E[S] < 1.

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
    law
        The law of run times; with a distribution of widths. For another one than ``exponential`` C
        comes from the saturated chain (small machines), see `onega.queueing.saturated`.
    draws, confidence, rng
        Sample size of ``montecarlo``, level of the intervals, randomness.

    Notes
    -----
    Proved by Rumyantsev (2014) for one exponential law of run times for all widths. The conjecture
    that it holds for every law is false: C depends on the law. From a log, ``checks`` says how far
    the data are from the assumptions; where they don't hold the answer is "can't tell", and
    `onega.stability` measures.
    """
    servers = machine_size(source, procs)
    facts = log_facts(source, servers, arrival_rate, mean_runtime, confidence)
    widths = Widths.of(source).within(servers)
    check_servers(widths, servers)
    shape = RuntimeLaw.of(law)
    if shape.exponential:
        constant = stability_constant(
            widths, servers, method=method, draws=draws, confidence=confidence, rng=rng
        )
    else:
        constant = _constant_of_law(source, widths, servers, shape, method)
    return stability_of(widths, servers, constant, facts, shape)


def stability_of(
    widths: Widths,
    servers: int,
    constant: Constant,
    facts: LogFacts,
    law: RuntimeLaw | str = "exponential",
) -> Stability:
    """Answer from C and from what is known of the jobs' rates."""
    shape = RuntimeLaw.of(law)

    def fewest(load: float) -> int | None:
        if shape.exponential:
            return fewest_servers(widths, load)
        return fewest_servers_for_law(widths.trimmed(), load, shape)

    found = Stability(
        procs=servers,
        widths=widths,
        constant=constant,
        **vars(facts),
        law=str(shape),
        provenance=(f"stability of {widths.name} on {servers} servers, method {constant.method}",),
    )
    offered, peak = found.offered_load, found.peak_load
    rate, mean = facts.arrival_rate, facts.mean_runtime
    if rate is None or mean is None or offered is None or peak is None:
        return found
    found = replace(found, formula_min_procs=fewest(rate * mean))
    if found.formula_holds is False:
        return found
    return replace(found, min_procs=fewest(rate * mean * peak / offered))


def _constant_of_law(
    source: WidthsLike, widths: Widths, servers: int, law: RuntimeLaw, method: str
) -> Constant:
    if isinstance(source, Workload):
        raise QueueingError("a log has run times of its own; a law goes with widths (--classes)")
    if method != "exact":
        raise QueueingError(
            f"method {method!r} is for exponential run times; for {law} take method 'exact' or "
            "'saturation'"
        )
    value = law_constant(widths, servers, law)
    return Constant(value, "batches" if law.fixed else "chain", value, value)


def machine_size(source: WidthsLike, procs: int | None) -> int:
    """Return the machine's size: as given, else the log's."""
    if procs is not None:
        if isinstance(procs, bool) or not float(procs).is_integer() or procs < 1:
            raise QueueingError(f"procs must be a whole number from 1; got {procs}")
        return int(procs)
    if isinstance(source, Workload) and source.meta.procs is not None:
        return source.meta.procs
    raise QueueingError("how many servers? give procs=; the log doesn't say")

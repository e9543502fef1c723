"""Requests of several servers, tasks that are cut off: M/M/∞ of Zayats et al. (2024).

Requests arrive at rate λ; each splits into θ tasks, Q(z) = E[z^θ]; each task has a server of its
own, runs an exponential time of rate μ and is cut off after a limit Z. A request is served if none
of its tasks is cut off.

Number of busy servers. Requests of all ages are independent, so it is a sum of independent groups:
G(z) = exp(λ Σ_j b_j (z^j − 1)), b_j = ∫ P(j tasks of a request are alive at age t) dt, and

    n·p_n = λ Σ_j j·b_j·p_{n−j}.

For exponential limits j·b_j = P(θ ≥ j)/(μ+ν): that is (22) of the paper, whose recursion is
(n+1)·p_{n+1} = λ/(μ+ν) Σ_k P(θ>k)·p_{n−k}. Any other law of limits goes through b_j by quadrature;
so does a limit that all tasks of a request share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import QueueingError
from onega.core.plotting import Plottable
from onega.core.types import Floats
from onega.core.workload.workload import Workload
from onega.queueing.limits.from_log import (
    LimitEstimates,
    limit_parameters,
    observed_limits,
    observed_rate,
)
from onega.queueing.limits.laws import EMPIRICAL, Exponential, LimitLaw, parse_limit
from onega.queueing.quadrature import survival_grid
from onega.queueing.widths import Widths, WidthsLike

TAIL: Final = 1e-15
"""States are listed until what is left has at most this probability (Chernoff's bound)."""

MOST_STATES: Final = 5_000_000
MOST_WORK: Final = 2e10


@dataclass(frozen=True)
class Limits(Plottable):
    """The answer of `limits`.

    Attributes
    ----------
    arrival_rate, service_rate
        λ and μ, per second.
    limit
        The law of Z.
    widths
        The distribution of θ.
    shared
        Whether one limit holds for all tasks of a request, instead of one drawn per task.
    target
        The P_serv that ``critical_limit`` is for.
    probabilities
        p_n, n = 0, 1, …: n servers are busy.
    tail_error
        Upper bound of the probability of more busy servers than are listed.
    mean_busy, var_busy
        Mean and variance of the number of busy servers.
    p_task, p_serv
        The probability that one task, and a whole request, is served.
    critical_limit
        The mean limit, in seconds, at which P_serv reaches ``target`` (the law's shape kept).
    estimates
        Where the parameters come from, if from a log.
    """

    FIGURES: ClassVar[str] = "limits"

    arrival_rate: float
    service_rate: float
    limit: LimitLaw
    widths: Widths
    shared: bool
    target: float
    probabilities: Floats
    tail_error: float
    mean_busy: float
    var_busy: float
    p_task: float
    p_serv: float
    critical_limit: float
    estimates: LimitEstimates | None = None

    @property
    def p_loss(self) -> float:
        """1 − P_serv: the share of requests of which a task is cut off."""
        return 1.0 - self.p_serv

    def quantile(self, probability: float) -> int:
        """Return the fewest servers that suffice with this probability: min n, P(N ≤ n) ≥ it."""
        check_probability("probability", probability)
        reached = np.cumsum(self.probabilities)
        return int(np.searchsorted(reached, min(probability, reached[-1])))

    def fewest_servers(self, epsilon: float) -> int:
        """Return the fewest servers c with P(c or more are wanted) ≤ ε: seldom all busy."""
        check_probability("epsilon", epsilon)
        above = np.cumsum(self.probabilities[::-1])[::-1]  # above[c] = P(N ≥ c)
        inside = np.flatnonzero(above <= epsilon)
        return int(inside[0]) if inside.size else int(self.probabilities.size)

    def pgf(self, z: float) -> float:
        """G(z) = Σ p_n zⁿ, Zayats et al. (2024), (13)."""
        return float(np.polynomial.polynomial.polyval(z, self.probabilities))

    def summary(self) -> dict[str, Any]:
        """Return the answer as a flat dictionary (the keys of ``onega limits --json``)."""
        result: dict[str, Any] = {
            "mean_busy": self.mean_busy,
            "var_busy": self.var_busy,
            "p_serv": self.p_serv,
            "p_loss": self.p_loss,
            "critical_limit": self.critical_limit,
            "target": self.target,
            "p_task": self.p_task,
            "p50_busy": self.quantile(0.5),
            "p95_busy": self.quantile(0.95),
            "p99_busy": self.quantile(0.99),
            "arrival_rate": self.arrival_rate,
            "service_rate": self.service_rate,
            "mean_limit": self.limit.mean,
            "limit": repr(self.limit),
            "widths": self.widths.name,
            "mean_width": self.widths.mean,
            "shared": self.shared,
            "tail_error": self.tail_error,
            "probabilities": self.probabilities.tolist(),
        }
        if self.estimates is not None:
            result |= self.estimates.summary()
        return result

    def to_polars(self) -> pl.DataFrame:
        """One row per number of busy servers: its probability, and that of so many or more."""
        return pl.DataFrame(
            {
                "busy": np.arange(self.probabilities.size),
                "probability": self.probabilities,
                "at_least": np.cumsum(self.probabilities[::-1])[::-1],
            }
        )

    def sentences(self) -> list[str]:
        """Return the answer in words."""
        from onega.queueing.sentences import limits_sentences

        return limits_sentences(self)


def limits(
    source: WidthsLike | None = None,
    *,
    arrival_rate: float | None = None,
    service_rate: float | None = None,
    limit_rate: float | None = None,
    widths: WidthsLike | None = None,
    limit: LimitLaw | str | None = None,
    shared: bool = False,
    target: float = 0.95,
) -> Limits:
    """Busy servers and lost requests where the dispatcher cuts tasks off (Zayats et al. 2024).

    Parameters
    ----------
    source
        A log, from which all that isn't given is estimated; or a distribution of widths.
    arrival_rate, service_rate
        λ and μ, per second.
    limit_rate
        ν of exponential limits, per second; 0 means no limit.
    widths
        The distribution of θ; see `onega.queueing.widths.Widths.of`.
    limit
        Another law of limits, instead of ``limit_rate``: see `onega.queueing.limits.laws`;
        ``"empirical"`` takes the estimates of the log.
    shared
        One limit for all tasks of a request instead of one drawn per task.
    target
        The P_serv for which the critical limit is wanted.

    Notes
    -----
    n̄ = λ·θ̄·E[min(X, Z)], for exponential limits λθ̄/(μ+ν) (34). P_serv = Q(p), p = P(X < Z) (37),
    for exponential limits p = μ/(μ+ν) (40). With a shared limit P_serv = E[Q(1 − e^{−μZ})].
    """
    check_probability("target", target)
    estimates = None
    if limit == EMPIRICAL:
        if not isinstance(source, Workload):
            raise QueueingError(f"limit law {limit!r} takes the estimates of a log; give a log")
        limit = observed_limits(source)
    if isinstance(source, Workload):
        if service_rate is None or (limit_rate is None and limit is None):
            estimates = limit_parameters(source)
            service_rate = estimates.service_rate if service_rate is None else service_rate
            if limit_rate is None and limit is None:
                limit_rate = estimates.limit_rate
        arrival_rate = observed_rate(source) if arrival_rate is None else arrival_rate
    chosen = widths if widths is not None else source
    if chosen is None or arrival_rate is None or service_rate is None:
        raise QueueingError(
            "limits need arrival_rate=, service_rate= and widths= (or a log to take them from)"
        )
    lam = check_rate("arrival_rate", arrival_rate)
    mu = check_rate("service_rate", service_rate)
    return _solve(lam, mu, _law(limit, limit_rate), Widths.of(chosen), shared, target, estimates)


def _solve(
    lam: float,
    mu: float,
    law: LimitLaw,
    widths: Widths,
    shared: bool,  # noqa: FBT001
    target: float,
    estimates: LimitEstimates | None,
) -> Limits:
    sizes, weights = group_weights(lam, mu, law, widths, shared=shared)
    states, tail = state_probabilities(sizes, weights)
    return Limits(
        arrival_rate=lam,
        service_rate=mu,
        limit=law,
        widths=widths,
        shared=shared,
        target=target,
        probabilities=states,
        tail_error=tail,
        # d log G/dz and its derivative at 1: mean = Σ c_j, variance = Σ j·c_j.
        mean_busy=float(weights.sum()),
        var_busy=float(np.dot(weights, sizes)),
        p_task=task_probability(mu, law),
        p_serv=request_probability(mu, law, widths, shared=shared),
        critical_limit=critical_limit(mu, law, widths, target, shared=shared),
        estimates=estimates,
    )


def group_weights(
    lam: float, mu: float, law: LimitLaw, widths: Widths, *, shared: bool
) -> tuple[npt.NDArray[np.int64], Floats]:
    """c_j = λ·j·b_j for j = 1…widest (see the module)."""
    sizes = np.arange(1, widths.widest + 1)
    if isinstance(law, Exponential) and (not shared or law.rate == 0):
        return sizes, lam / (mu + law.rate) * widths.tails()
    from onega.kernels.queueing.limits_states import thinned_groups

    t, weights = survival_grid(mu, law.atoms)
    if t.size * float(widths.widest) ** 2 > MOST_WORK:
        raise QueueingError(
            f"widths up to {widths.widest} are too many for this law of limits; "
            "take exponential limits, or narrower requests"
        )
    own, kept = np.exp(-mu * t), np.asarray(law.survival(t), dtype=np.float64)
    alive, outer = (own, weights * kept) if shared else (own * kept, weights)
    b = thinned_groups(widths.values, widths.probs, alive, outer)
    return sizes, lam * sizes * b[1:]


def state_probabilities(sizes: npt.NDArray[np.int64], weights: Floats) -> tuple[Floats, float]:
    """p_n by n·p_n = Σ c_j p_{n−j}, as far as needed, and a bound of what is left out.

    Chernoff: P(N ≥ M) ≤ G(e^h)·e^{−hM} for every h > 0, log G(e^h) = Σ (c_j/j)(e^{jh} − 1).
    """
    from scipy.optimize import minimize_scalar

    from onega.kernels.queueing.limits_states import group_states

    used = weights > 0
    sizes, weights = sizes[used], weights[used]
    if sizes.size == 0:
        return np.ones(1), 0.0

    def reach(log_h: float) -> float:
        h = math.exp(log_h)
        growth = float(np.dot(weights / sizes, np.expm1(np.minimum(sizes * h, 600.0))))
        return (growth - math.log(TAIL)) / h

    top = math.log(500.0 / float(sizes[-1]))
    found = minimize_scalar(reach, bounds=(top - 30, top), method="bounded")
    length = math.ceil(reach(float(found.x))) + 1
    if length > MOST_STATES or length * float(sizes.size) > MOST_WORK:
        raise QueueingError(
            f"about {weights.sum():.3g} busy servers are too many to list their probabilities"
        )
    states: Floats = group_states(sizes, weights, length)
    return states, TAIL


def task_probability(mu: float, law: LimitLaw) -> float:
    """P = P(X < Z) = ∫ μ·e^{−μt}·P(Z > t) dt, Zayats et al. (2024), (36)–(40)."""
    if isinstance(law, Exponential):
        return mu / (mu + law.rate)
    t, weights = survival_grid(mu, law.atoms)
    return min(1.0, float(np.dot(weights * mu * np.exp(-mu * t), law.survival(t))))


def request_probability(mu: float, law: LimitLaw, widths: Widths, *, shared: bool) -> float:
    """P_serv = Q(p) (37), (41); with a shared limit E[Q(F(Z))], F(t) = 1 − e^{−μt}.

    E[Q(F(Z))] = ∫ Q′(F(t))·μ·e^{−μt}·P(Z > t) dt. For exponential limits and θ = k it is
    Γ(k+1)Γ(1+ν/μ)/Γ(k+1+ν/μ).
    """
    if not shared:
        return min(1.0, widths.pgf(task_probability(mu, law)))
    if isinstance(law, Exponential):
        from scipy.special import gammaln

        k, r = widths.values, law.rate / mu
        total = float(
            np.dot(widths.probs, np.exp(gammaln(k + 1) + gammaln(1 + r) - gammaln(k + 1 + r)))
        )
        return min(1.0, total)
    t, weights = survival_grid(mu, law.atoms)
    done = -np.expm1(-mu * t)
    density = weights * mu * np.exp(-mu * t) * np.asarray(law.survival(t))
    slope = np.zeros_like(done)
    for k, p in zip(widths.values, widths.probs):
        slope += p * k * done ** (k - 1.0)
    return min(1.0, float(np.dot(density, slope)))


def critical_limit(
    mu: float, law: LimitLaw, widths: Widths, target: float, *, shared: bool = False
) -> float:
    """Find the mean limit z̄ at which P_serv = target, the shape of the law kept.

    Closed form x̄·P^{1/k}/(1 − P^{1/k}) for exponential limits and θ = k ((45) for k = 1); else
    the root. ``law`` may be without limit; then exponential limits are meant.
    """
    from scipy.optimize import brentq

    # All exponential laws have one shape: that of the service needs no scaling, which may overflow.
    exponential = isinstance(law, Exponential) or not math.isfinite(law.mean)
    shape: LimitLaw = Exponential(mu) if exponential else law
    if isinstance(shape, Exponential) and not shared and widths.values.size == 1:
        root = math.log(target) / widths.widest
        return math.exp(root) / -math.expm1(root) / mu
    unit = shape.scaled(1 / (mu * shape.mean))

    def excess(log_scale: float) -> float:
        scaled = unit.scaled(math.exp(log_scale))
        return request_probability(mu, scaled, widths, shared=shared) - target

    low, high = -30.0, 30.0
    if excess(high) < 0:
        raise QueueingError(f"no limit is long enough for P_serv = {target}; take a smaller target")
    if excess(low) > 0:
        return 0.0
    return math.exp(float(brentq(excess, low, high, xtol=1e-13, rtol=1e-14))) / mu


def check_rate(name: str, value: float) -> float:
    """Refuse a rate that isn't positive."""
    if not (math.isfinite(value) and value > 0):
        raise QueueingError(f"{name} must be a positive rate per second; got {value}")
    return float(value)


def check_probability(name: str, value: float) -> float:
    """Refuse a probability outside (0, 1)."""
    if not 0 < value < 1:
        raise QueueingError(f"{name} must lie between 0 and 1; got {value}")
    return float(value)


def _law(limit: LimitLaw | str | None, rate: float | None) -> LimitLaw:
    if limit is not None and rate is not None:
        raise QueueingError("give limit_rate= or limit=, not both")
    if isinstance(limit, str):
        return parse_limit(limit)
    if limit is not None:
        return limit
    if rate is None:
        raise QueueingError(
            "give limit_rate= (exponential limits; 0 for none) or a law (limit='gamma:2:1h')"
        )
    if not (math.isfinite(rate) and rate >= 0):
        raise QueueingError(f"limit_rate must be a rate per second from 0; got {rate}")
    return Exponential(float(rate))

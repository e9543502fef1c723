"""One door to the stability boundary: the formulas, or the saturated simulator."""

from __future__ import annotations

from collections.abc import Callable

from onega.core.errors import QueueingError, suggest
from onega.core.rng import Rng
from onega.queueing import stability as formulas
from onega.queueing.constant import METHODS as FORMULAS
from onega.queueing.stability import Stability
from onega.queueing.widths import WidthsLike

METHODS = (*FORMULAS, "saturation")


def stability(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | None = None,
    method: str = "exact",
    policy: str = "fcfs",
    precision: float = 0.01,
    draws: int = 200_000,
    confidence: float = 0.95,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> Stability:
    """Ask whether a machine keeps up with its jobs: ρ = λ·C·E[S] < 1 (seed 000 (3)).

    Parameters
    ----------
    source
        A log, or a distribution of widths (p_1, p_2, …; a mapping; a text as ``"1:0.5,4:0.5"``).
    procs
        Servers; the log's machine by default.
    arrival_rate, mean_runtime
        λ in jobs per second, E[S] in seconds; from the log by default.
    method
        ``exact``; ``partitions``, ``enumeration`` (small machines); ``montecarlo``; all four for
        FCFS and one exponential law of run times. ``saturation`` measures the throughput of the
        simulator under any policy, with the log's own pairs of width and run time.
    policy, precision
        For ``saturation``: the policy, and the relative half-width of the confidence interval.
    draws
        For ``montecarlo``: how many phases are drawn.
    confidence, rng
        Level of the intervals, randomness.
    progress
        For ``saturation``: called with the share that is done.

    See Also
    --------
    onega.queueing.stability.stability : the formulas and their domain.
    onega.experiment.saturation.saturated_throughput : the simulation.
    """
    if method not in METHODS:
        raise QueueingError(f"unknown method {method!r}; {suggest(method, METHODS)}")
    if method == "saturation":
        from onega.experiment.saturation import saturated_stability

        return saturated_stability(
            source,
            procs=procs,
            arrival_rate=arrival_rate,
            mean_runtime=mean_runtime,
            policy=policy,
            precision=precision,
            confidence=confidence,
            rng=rng,
            progress=progress,
        )
    if policy != "fcfs":
        raise QueueingError(
            f"the formula holds for FCFS only; for {policy!r} take method 'saturation'"
        )
    return formulas.stability(
        source,
        procs=procs,
        arrival_rate=arrival_rate,
        mean_runtime=mean_runtime,
        method=method,
        draws=draws,
        confidence=confidence,
        rng=rng,
    )

"""One door to the stability boundary: offered load, formulas, and measured saturation."""

from __future__ import annotations

from collections.abc import Callable

from onega.core.errors import QueueingError, suggest
from onega.core.rng import Rng
from onega.core.workload.workload import Workload
from onega.experiment.stability.measured import saturated_stability, with_own_order
from onega.experiment.stability.own_order import BUDGET, OwnOrder
from onega.experiment.stability.saturation import MOST_JOBS
from onega.queueing import stability as formulas
from onega.queueing.constant import METHODS as FORMULAS
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.saturated import has_exact_constant
from onega.queueing.stability import Stability, machine_size
from onega.queueing.widths import Widths, WidthsLike

METHODS = (*FORMULAS, "saturation")


def stability(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | None = None,
    law: RuntimeLaw | str | None = None,
    method: str = "exact",
    policy: str = "fcfs",
    precision: float = 0.01,
    draws: int = 200_000,
    confidence: float = 0.95,
    budget: int | None = None,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> Stability:
    """Ask whether a machine keeps up with its jobs: yes, no, or can't tell (and what would tell).

    The answer ``stable`` joins all that is known (`onega.queueing.verdict`): the offered load,
    which has to be below 1; the formula ρ = λ·C·E[S] < 1 of Rumyantsev (2014) where its assumptions
    hold, which is tested on a log; else the share of the machine that can be used, measured with
    the log's own jobs in a queue that never empties.

    Parameters
    ----------
    source
        A log, or a distribution of widths (p_1, p_2, …; a mapping; a text as ``"1:0.5,4:0.5"``).
    procs
        Servers; the log's machine by default.
    arrival_rate, mean_runtime
        λ in jobs per second, E[S] in seconds; from the log by default.
    law
        With a distribution of widths: the law of run times, ``"exponential"`` by default,
        ``"fixed"``, ``"erlang(4)"``, ``"hyperexponential(cv2=4)"``, …; see
        `onega.queueing.runtime_laws`. C is exact where it can be, else by saturation.
    method
        How C is found: ``exact``; ``partitions``, ``enumeration`` (small machines);
        ``montecarlo``; all four for FCFS and one exponential law of run times. ``saturation``
        measures the throughput of the simulator under any policy, with the log's own pairs of
        width and run time.
    policy, precision
        For ``saturation``: the policy, and the relative half-width of the confidence interval.
    draws
        For ``montecarlo``: how many phases are drawn.
    confidence, rng
        Level of the intervals, randomness.
    budget
        Jobs simulated at most (for each machine size that is tried); the answer says how exact it
        got. Counted in jobs, so that it is the same on every computer.
    progress
        For ``saturation``: called with the share that is done.

    See Also
    --------
    onega.queueing.stability.stability : the formulas and their domain.
    onega.experiment.stability.own_order : the measurement.
    """
    if method not in METHODS:
        raise QueueingError(f"unknown method {method!r}; {suggest(method, METHODS)}")
    if budget is not None and budget < 1:
        raise QueueingError(f"the budget is a number of jobs from 1; got {budget}")
    if law is not None and isinstance(source, Workload):
        raise QueueingError("a log has run times of its own; a law goes with widths (--classes)")
    shape = RuntimeLaw.of(law or "exponential")
    if method == "saturation" or (method == "exact" and not _exact(source, procs, shape)):
        return saturated_stability(
            source,
            procs=procs,
            arrival_rate=arrival_rate,
            mean_runtime=mean_runtime,
            law=shape,
            policy=policy,
            precision=precision,
            confidence=confidence,
            budget=budget or MOST_JOBS,
            rng=rng,
            progress=progress,
        )
    if policy != "fcfs":
        raise QueueingError(
            f"the formula holds for FCFS only; for {policy!r} take method 'saturation'"
        )
    found = formulas.stability(
        source,
        procs=procs,
        arrival_rate=arrival_rate,
        mean_runtime=mean_runtime,
        law=shape,
        method=method,
        draws=draws,
        confidence=confidence,
        rng=rng,
    )
    if isinstance(source, Workload) and not found.formula_holds:
        return with_own_order(found, OwnOrder.of(source, budget=budget or BUDGET), confidence)
    return found


def _exact(source: WidthsLike, procs: int | None, law: RuntimeLaw) -> bool:
    if law.exponential:
        return True
    servers = machine_size(source, procs)
    return has_exact_constant(Widths.of(source).within(servers), servers, law)

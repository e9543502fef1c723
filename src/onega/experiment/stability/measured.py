"""The stability of a machine as measured: `onega.stability` by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from onega.core.rng import Rng
from onega.core.workload.workload import Workload
from onega.experiment.stability.own_order import BUDGET, OwnOrder
from onega.experiment.stability.saturation import MOST_JOBS, Saturation, saturated_throughput
from onega.experiment.stability.usable_curve import UsableCurve
from onega.queueing.constant import Constant, check_servers
from onega.queueing.estimates import LogEstimates, log_facts
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.stability import Stability, machine_size
from onega.queueing.verdict import Usable
from onega.queueing.widths import Widths, WidthsLike


def saturated_stability(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | None = None,
    law: RuntimeLaw | str = "exponential",
    policy: str = "fcfs",
    precision: float = 0.01,
    confidence: float = 0.95,
    budget: int = MOST_JOBS,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> Stability:
    """Answer `onega.stability` by simulation; C is then 1/(throughput·E[S]).

    A log under first come, first served is run whole and in its own order, without any randomness;
    everything else by `saturated_throughput`.
    """
    servers = machine_size(source, procs)
    widths = Widths.of(source).within(servers)
    check_servers(widths, servers)
    facts = log_facts(source, servers, arrival_rate, mean_runtime, confidence)
    mean = 1.0 if facts.mean_runtime is None else facts.mean_runtime
    work = widths.mean * mean if facts.mean_work is None else facts.mean_work
    found = Stability(
        procs=servers,
        widths=widths,
        constant=Constant(math.nan, "saturation", math.nan, math.nan),
        **vars(facts),
        policy=policy,
        law="the log's own" if isinstance(source, Workload) else str(RuntimeLaw.of(law)),
    )
    if isinstance(source, Workload) and policy == "fcfs":
        found = with_own_order(
            found, OwnOrder.of(source, precision, min(budget, BUDGET)), confidence
        )
    else:
        measured = saturated_throughput(
            source,
            servers,
            policy,
            mean_runtime=None if isinstance(source, Workload) else mean,
            law=law,
            precision=precision,
            confidence=confidence,
            budget=budget,
            rng=rng,
            progress=progress,
        )
        assert measured.mean_work is not None
        usable = _usable(measured, measured.mean_work / servers)
        found = replace(found, usable=usable, provenance=(_note(measured, policy, servers),))
    assert found.usable is not None
    constant = _constant(found.usable, work / (servers * mean))
    if found.estimates is not None:
        found = replace(found, estimates=_widened(found.estimates, constant, found))
    return replace(found, constant=constant)


def with_own_order(
    found: Stability, measure: OwnOrder | UsableCurve, confidence: float = 0.95
) -> Stability:
    """Add to an answer what the log's own jobs in their own order can use under FCFS."""
    usable, load, peak = measure(found.procs), found.offered_load, found.peak_load
    ratio = None
    if isinstance(measure, OwnOrder) and found.estimates is not None and load is not None:
        ratio = measure.load_ratio_ci(found.procs, load / usable.share, confidence)
    return replace(
        found,
        usable=usable,
        measure=measure,
        load_ratio_ci=ratio,
        min_procs=None if peak is None else measure.fewest_servers(peak * found.procs),
        provenance=(*found.provenance, f"saturated fcfs on {found.procs} servers: {usable.how}"),
    )


def _usable(measured: Saturation, share: float) -> Usable:
    """Turn jobs per second into a share of the machine; nothing can use more than all of it."""
    value, low, high = (
        min(1.0, one * share) for one in (measured.rate, measured.low, measured.high)
    )
    stretches = f"{measured.replicates} stretches of {2 * measured.jobs:,} jobs"
    how = f"{stretches} in a queue that never empties"
    sure = f"with {100 * measured.confidence:.4g} % confidence"
    return Usable(value, low, high, sure, 3 * measured.jobs * measured.replicates, how)


def _constant(usable: Usable, load: float) -> Constant:
    """C = 1/(throughput·E[S]) = E[N·S]/(s·E[S]·U)."""
    values = (
        load / one if one > 0 else math.inf for one in (usable.share, usable.high, usable.low)
    )
    return Constant(next(values), "saturation", next(values), next(values), usable.jobs)


def _widened(estimates: LogEstimates, constant: Constant, found: Stability) -> LogEstimates:
    """Centre the intervals of C and ρ on what was measured.

    The log's own uncertainty is taken over from the formula; that of the simulation comes on top,
    independent of it: relative half-widths add in squares.
    """
    simulated = math.log(constant.high / constant.value)

    def around(value: float, interval: tuple[float, float]) -> tuple[float, float]:
        reach = math.exp(math.hypot(0.5 * math.log(interval[1] / interval[0]), simulated))
        return value / reach, value * reach

    load = estimates.arrival_rate * estimates.mean_runtime
    rho = around(load * constant.value, estimates.rho_ci)
    return replace(
        estimates,
        constant_ci=around(constant.value, estimates.constant_ci),
        rho_ci=rho if found.load_ratio_ci is None else found.load_ratio_ci,
    )


def _note(measured: Saturation, policy: str, servers: int) -> str:
    return (
        f"saturated {policy} on {servers} servers: {measured.replicates} replicates of "
        f"{measured.jobs} and {2 * measured.jobs} jobs, precision "
        f"{'reached' if measured.reached else 'not reached'}"
    )

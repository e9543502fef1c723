"""The stability boundary by simulation: throughput of a machine whose queue never empties.

The saturation rule (Baccelli and Foss, 1995): put n jobs into the queue at time 0 and let Y_n be
when the last of them starts; the boundary of the arrival rate is 1/γ, γ = lim Y_n/n. Proved where
more jobs never let others finish earlier in total (FCFS); for other orders it is the natural
definition, and what a machine with an endless queue completes.

Y_n has an end effect, the last jobs leave processors idle; in (Y_2n − Y_n)/n it cancels. Replicates
are added until the confidence interval is as narrow as wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import QueueingError
from onega.core.intervals import mean_interval
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.workload import Workload
from onega.queueing.constant import Constant, check_servers
from onega.queueing.estimates import LogEstimates, estimate
from onega.queueing.intervals import check_confidence
from onega.queueing.phases import finite, service_rates
from onega.queueing.stability import Stability, machine_size
from onega.queueing.widths import Widths, WidthsLike

Floats = npt.NDArray[np.float64]

FIRST: Final = 10
"""Replicates before the first look at the interval."""

MOST_JOBS: Final = 40_000_000
"""Jobs simulated at most; the interval is then as wide as it is."""


@runtime_checkable
class Samples(Protocol):
    """Anything that draws a workload: every `onega.models` model does."""

    def sample(self, n: int, *, rng: Rng = None) -> Workload:
        """Draw n jobs."""


Source = WidthsLike | Samples
Draw = Callable[[int, np.random.Generator], Workload]
Progress = Callable[[float], None]
Span = Callable[[int, np.random.Generator], tuple[float, float]]


@dataclass(frozen=True)
class Saturation:
    """A measured throughput.

    Attributes
    ----------
    rate, low, high
        Jobs per second that the saturated machine completes, and its confidence interval.
    confidence
        The interval's level.
    jobs, replicates
        n of the module's text, and how many pairs (Y_n, Y_2n) were simulated.
    reached
        Whether the interval is as narrow as was wanted.
    """

    rate: float
    low: float
    high: float
    confidence: float
    jobs: int
    replicates: int
    reached: bool

    def summary(self) -> dict[str, Any]:
        """Return the answer as a flat dictionary."""
        return {
            "rate": self.rate,
            "rate_low": self.low,
            "rate_high": self.high,
            "confidence": self.confidence,
            "jobs": self.jobs,
            "replicates": self.replicates,
            "reached": self.reached,
        }


def saturated_throughput(
    source: Source,
    procs: int,
    policy: Any = "fcfs",  # noqa: ANN401
    *,
    mean_runtime: float | Mapping[int, float] | None = None,
    precision: float = 0.01,
    confidence: float = 0.95,
    jobs: int | None = None,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Saturation:
    """Measure how many jobs per second a machine with an endless queue completes.

    Parameters
    ----------
    source
        A log (its jobs are drawn with replacement, each with its own width, run time and
        estimate); a model with ``sample(n, rng=)``; or a distribution of widths.
    procs, policy
        The machine and any policy of `onega.simulate`.
    mean_runtime
        With a distribution of widths: the mean of exponential run times, one or one per width;
        1 by default.
    precision, confidence
        Relative half-width that the confidence interval has to reach, and its level.
    jobs
        n of the saturation rule; by default the jobs that fit into the machine, twenty times over.
    rng
        Randomness; replicate k has a stream of its own.
    progress
        Called after every replicate with the share that is done, as far as can be told.
    """
    from onega.simulation.simulate import simulate

    draw = _drawer(source, mean_runtime)
    length = jobs or _length(draw, procs, rng)

    def span(n: int, stream: np.random.Generator) -> tuple[float, float]:
        both = draw(2 * n, stream)
        once = simulate(both.head(n), procs, policy)
        twice = simulate(both, procs, policy)
        return float(np.max(once.start)), float(np.max(twice.start))

    plan = _Plan(length, precision, confidence, progress)
    return _measure(span, plan, rng)


def saturated_resources(
    needs: npt.ArrayLike,
    probs: npt.ArrayLike,
    capacity: npt.ArrayLike,
    *,
    runtimes: Callable[[npt.NDArray[np.int64], np.random.Generator], Floats] | None = None,
    precision: float = 0.01,
    confidence: float = 0.95,
    jobs: int = 5000,
    rng: Rng = None,
) -> Saturation:
    """Measure the FCFS throughput of jobs that need several resources at once.

    Parameters
    ----------
    needs, probs, capacity
        As in `onega.queueing.constant.multiresource_constant`, which is exact for one exponential
        law of run times.
    runtimes
        A function of (classes of the jobs, generator) that draws their run times; exponential of
        mean 1 by default.
    """
    from onega.kernels.msj_vector import saturated_starts
    from onega.queueing.constant import multiresource_constant

    table = np.atleast_2d(np.asarray(needs, dtype=np.int64))
    share = np.asarray(probs, dtype=np.float64)
    room = np.asarray(capacity, dtype=np.int64)
    multiresource_constant(table, share, room.tolist())  # refuses what makes no sense

    def span(n: int, stream: np.random.Generator) -> tuple[float, float]:
        kind = stream.choice(share.size, 2 * n, p=share / share.sum())
        length = stream.exponential(1.0, 2 * n) if runtimes is None else runtimes(kind, stream)
        starts = saturated_starts(table[kind], np.asarray(length, dtype=np.float64), room)
        return float(starts[n - 1]), float(starts[-1])

    return _measure(span, _Plan(jobs, precision, confidence), rng)


def saturated_stability(
    source: WidthsLike,
    *,
    procs: int | None = None,
    arrival_rate: float | None = None,
    mean_runtime: float | None = None,
    policy: str = "fcfs",
    precision: float = 0.01,
    confidence: float = 0.95,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Stability:
    """Answer `onega.stability` by simulation; C is then 1/(throughput·E[S])."""
    servers = machine_size(source, procs)
    widths = Widths.of(source).within(servers)
    check_servers(widths, servers)
    estimates, scale, work = None, 1.0, None
    mean = 1.0 if mean_runtime is None else finite("mean_runtime", mean_runtime)
    if isinstance(source, Workload):
        estimates = estimate(source, servers, confidence=confidence)
        arrival_rate = estimates.arrival_rate if arrival_rate is None else arrival_rate
        # A given mean run time stretches the log's own ones.
        scale = 1.0 if mean_runtime is None else mean / estimates.mean_runtime
        work = scale * estimates.offered_load * servers / estimates.arrival_rate
        mean_runtime = mean = scale * estimates.mean_runtime
    measured = saturated_throughput(
        source,
        servers,
        policy,
        mean_runtime=None if isinstance(source, Workload) else mean,
        precision=precision,
        confidence=confidence,
        rng=rng,
        progress=progress,
    )
    return Stability(
        procs=servers,
        widths=widths,
        constant=_constant(measured, mean / scale),
        arrival_rate=arrival_rate,
        mean_runtime=mean_runtime,
        mean_work=work,
        estimates=None if estimates is None else _widened(estimates, measured, mean, arrival_rate),
        policy=policy,
        provenance=(_note(measured, policy, servers),),
    )


def _constant(measured: Saturation, mean: float) -> Constant:
    """C = 1/(throughput·E[S])."""
    return Constant(
        1 / (measured.rate * mean),
        "saturation",
        1 / (measured.high * mean),
        1 / (measured.low * mean),
        2 * measured.jobs * measured.replicates,
    )


def _widened(
    estimates: LogEstimates, measured: Saturation, mean: float, arrival_rate: float | None
) -> LogEstimates:
    """Centre the intervals of C and ρ on what was measured.

    The log's own uncertainty is taken over from the formula; that of the simulation comes on top,
    independent of it: relative half-widths add in squares.
    """
    constant = _constant(measured, estimates.mean_runtime)
    simulated = math.log(constant.high / constant.value)

    def around(value: float, interval: tuple[float, float]) -> tuple[float, float]:
        reach = math.exp(math.hypot(0.5 * math.log(interval[1] / interval[0]), simulated))
        return value / reach, value * reach

    rate = estimates.arrival_rate if arrival_rate is None else arrival_rate
    return replace(
        estimates,
        constant_ci=around(constant.value, estimates.constant_ci),
        rho_ci=around(rate * constant.value * mean, estimates.rho_ci),
    )


def _note(measured: Saturation, policy: str, servers: int) -> str:
    return (
        f"saturated {policy} on {servers} servers: {measured.replicates} replicates of "
        f"{measured.jobs} and {2 * measured.jobs} jobs, precision "
        f"{'reached' if measured.reached else 'not reached'}"
    )


@dataclass(frozen=True)
class _Plan:
    """How long a run is, how exact the answer has to be, and whom to tell how far it is."""

    jobs: int
    precision: float
    confidence: float
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if not 0 < self.precision < 1:
            raise QueueingError(
                f"precision must lie between 0 and 1, 0.01 say; got {self.precision}"
            )
        if self.jobs < 10:
            raise QueueingError(f"saturation needs runs of at least 10 jobs; got {self.jobs}")


def _measure(span: Span, plan: _Plan, rng: Rng) -> Saturation:
    """Add replicates of (Y_2n − Y_n)/n until the interval is narrow enough."""
    seed = seed_sequence(rng)
    n = plan.jobs
    gaps: list[float] = []
    wanted = FIRST
    most = max(FIRST, MOST_JOBS // (3 * n))
    while True:
        for k in range(len(gaps), wanted):
            once, twice = span(n, generator(child(seed, k)))
            gaps.append((twice - once) / n)
            if plan.progress is not None:
                plan.progress(len(gaps) / wanted)
        interval = mean_interval(gaps, level=plan.confidence)
        ratio = interval.half_width / interval.mean / plan.precision
        if ratio <= 1 or wanted >= most:
            break
        # The half-width falls with the root of the number; a little more, to get there at once.
        wanted = min(most, max(wanted + 5, math.ceil(1.1 * wanted * ratio**2)))
    high = 1 / interval.low if interval.low > 0 else math.inf
    return Saturation(
        1 / interval.mean, 1 / interval.high, high, plan.confidence, n, len(gaps), ratio <= 1
    )


def _drawer(source: Source, mean_runtime: float | Mapping[int, float] | None) -> Draw:
    if isinstance(source, Workload):
        return _from_log(source)
    if isinstance(source, Samples):
        model = source
        return lambda n, stream: _at_once(model.sample(n, rng=stream).table)
    law = Widths.of(source)
    means = 1.0 / service_rates(law, 1.0 if mean_runtime is None else mean_runtime)

    def draw(n: int, stream: np.random.Generator) -> Workload:
        kind = stream.choice(law.values.size, n, p=law.probs)
        runtime = stream.exponential(1.0, n) * means[kind]
        return Workload({"submit": np.zeros(n), "runtime": runtime, "procs": law.values[kind]})

    return draw


def _from_log(log: Workload) -> Draw:
    usable = log.table.filter((pl.col("procs") > 0) & (pl.col("runtime") > 0))
    if usable.height == 0:
        raise QueueingError("the log has no job with a positive width and run time")
    return lambda n, stream: _at_once(usable[stream.integers(0, usable.height, n)])


def _at_once(table: pl.DataFrame) -> Workload:
    """Put all jobs into the queue at time 0; they wait for nobody else."""
    ids = pl.int_range(1, table.height + 1, dtype=pl.Int64, eager=True).alias("job")
    return Workload(
        table.with_columns(
            ids,
            pl.lit(0.0).alias("submit"),
            pl.lit(None, dtype=pl.Int64).alias("after"),
            pl.lit(None, dtype=pl.Float64).alias("think"),
        )
    )


def _length(draw: Draw, procs: int, rng: Rng) -> int:
    """Twenty times the jobs that fit side by side."""
    widths = draw(1000, generator(child(rng, 2**31))).column("procs")
    return int(max(1000, 20 * procs / float(np.mean(widths))))

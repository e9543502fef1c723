"""The stability boundary by simulation: throughput of a machine whose queue never empties.

The saturation rule (Baccelli and Foss, 1995): put n jobs into the queue at time 0 and let Y_n be
when the last of them starts; the boundary of the arrival rate is 1/γ, γ = lim Y_n/n. Proved where
more jobs never let others finish earlier in total (FCFS); for other orders it is the natural
definition, and what a machine with an endless queue completes.

Y_n has an end effect, the last jobs leave processors idle; in Y_2n − Y_n it cancels. What is
measured is the work done per second, Σ work of the second n jobs / Σ (Y_2n − Y_n), a ratio of sums
over replicates: draws with much work also take long. Replicates are added until the confidence
interval is as narrow as wanted. A log's jobs are taken in their own order, n consecutive ones from
a random place on (users submit alike jobs in a row, which pack better or worse than a mixture); for
first come, first served the whole log is run instead, see `onega.experiment.stability.own_order`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import polars as pl

from onega.core.errors import QueueingError
from onega.core.intervals import mean_interval
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.types import Progress
from onega.core.workload.schema import renumbered
from onega.core.workload.workload import Workload
from onega.queueing.estimates import usable_jobs
from onega.queueing.intervals import check_confidence
from onega.queueing.phases import service_rates
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.widths import Widths, WidthsLike

FIRST: Final = 10
"""Replicates before the first look at the interval."""

MOST_JOBS: Final = 40_000_000
"""Jobs simulated at most; the interval is then as wide as it is."""

LONG: Final = 5000
"""Jobs of a log that wait at a time, if it has so many."""


@runtime_checkable
class Samples(Protocol):
    """Anything that draws a workload: every `onega.models` model does."""

    def sample(self, n: int, *, rng: Rng = None) -> Workload:
        """Draw n jobs."""


Source = WidthsLike | Samples
Draw = Callable[[int, np.random.Generator], Workload]
Span = Callable[[int, np.random.Generator], tuple[float, float]]
"""(Y_2n − Y_n, work or number of the second n jobs) of one replicate."""


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
    mean_work
        E[N·S] of what was simulated, processor seconds per job; None for a model.
    """

    rate: float
    low: float
    high: float
    confidence: float
    jobs: int
    replicates: int
    reached: bool
    mean_work: float | None = None

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
    law: RuntimeLaw | str = "exponential",
    precision: float = 0.01,
    confidence: float = 0.95,
    jobs: int | None = None,
    budget: int = MOST_JOBS,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Saturation:
    """Measure how many jobs per second a machine with an endless queue completes.

    Parameters
    ----------
    source
        A log (stretches of its jobs, each with its own width, run time and estimate); a model with
        ``sample(n, rng=)``; or a distribution of widths.
    procs, policy
        The machine and any policy of `onega.simulate`.
    mean_runtime
        With a distribution of widths: the mean of the run times, one or one per width; 1 by
        default.
    law
        With a distribution of widths: the law of run times; see
        `onega.queueing.runtime_laws.RuntimeLaw.parse`.
    precision, confidence
        Relative half-width that the confidence interval has to reach, and its level.
    jobs
        n of the saturation rule; by default the jobs that fit into the machine, twenty times over,
        and of a log up to `LONG` of its jobs: what backfilling can use grows with the queue.
    budget
        Jobs simulated at most, counted in jobs so that the answer doesn't depend on the computer;
        the interval is then as wide as it is.
    rng
        Randomness; replicate k has a stream of its own.
    progress
        Called after every replicate with the share that is done, as far as can be told.
    """
    from onega.simulation.simulate import simulate

    draw, mean_work = _drawer(source, mean_runtime, law)
    length = jobs or _length(source, draw, procs, rng)

    def span(n: int, stream: np.random.Generator) -> tuple[float, float]:
        both = draw(2 * n, stream)
        once = simulate(both.head(n), procs, policy)
        twice = simulate(both, procs, policy)
        took = float(np.max(twice.start)) - float(np.max(once.start))
        if mean_work is None:
            return took, float(n)
        return took, float(np.dot(both.column("procs")[n:], both.column("runtime")[n:]))

    plan = _Plan(length, precision, confidence, progress, budget)
    return _measure(span, plan, mean_work, rng)


@dataclass(frozen=True)
class _Plan:
    """How long a run is, how exact the answer has to be, and where progress is reported."""

    jobs: int
    precision: float
    confidence: float
    progress: Progress | None = None
    budget: int = MOST_JOBS

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if not 0 < self.precision < 1:
            raise QueueingError(
                f"precision must lie between 0 and 1, 0.01 say; got {self.precision}"
            )
        if self.jobs < 10:
            raise QueueingError(f"saturation needs runs of at least 10 jobs; got {self.jobs}")


def _measure(span: Span, plan: _Plan, mean_work: float | None, rng: Rng) -> Saturation:
    """Add replicates until the interval of the work done per second is narrow enough.

    ``mean_work`` is E[N·S], which turns that into jobs per second; None if it isn't known: spans
    then count jobs.
    """
    seed = seed_sequence(rng)
    n = plan.jobs
    spans: list[tuple[float, float]] = []
    wanted = FIRST
    most = max(FIRST, plan.budget // (3 * n))
    while True:
        for k in range(len(spans), wanted):
            spans.append(span(n, generator(child(seed, k))))
            if plan.progress is not None:
                plan.progress(len(spans) / wanted)
        took, work = np.array(spans).T
        # A ratio of sums; to first order a mean of these.
        speed = work.mean() / took.mean()
        interval = mean_interval(
            speed * (1 + work / work.mean() - took / took.mean()), confidence=plan.confidence
        )
        ratio = interval.half_width / interval.mean / plan.precision
        if ratio <= 1 or wanted >= most:
            break
        # The half-width falls with the root of the number; a little more, to get there at once.
        wanted = min(most, max(wanted + 5, math.ceil(1.1 * wanted * ratio**2)))
    each = 1.0 if mean_work is None else mean_work
    low, high = max(0.0, interval.low) / each, interval.high / each
    return Saturation(
        interval.mean / each, low, high, plan.confidence, n, len(spans), bool(ratio <= 1), mean_work
    )


def _drawer(
    source: Source, mean_runtime: float | Mapping[int, float] | None, law: RuntimeLaw | str
) -> tuple[Draw, float | None]:
    """Return a function that draws jobs, and their mean work if it is known."""
    if isinstance(source, Workload):
        jobs = usable_jobs(source)
        return _from_log(source), float(np.mean(jobs.procs * jobs.runtimes))
    if isinstance(source, Samples):
        model = source
        return lambda n, stream: _at_once(model.sample(n, rng=stream).table), None
    widths, shape = Widths.of(source), RuntimeLaw.of(law)
    means = 1.0 / service_rates(widths, 1.0 if mean_runtime is None else mean_runtime)

    def draw(n: int, stream: np.random.Generator) -> Workload:
        kind = stream.choice(widths.values.size, n, p=widths.probs)
        runtime = shape.draw(n, stream) * means[kind]
        return Workload({"submit": np.zeros(n), "runtime": runtime, "procs": widths.values[kind]})

    return draw, float(np.dot(widths.probs, widths.values * means))


def _from_log(log: Workload) -> Draw:
    """Draw stretches of consecutive jobs, from a random one on; after the last comes the first."""
    usable = log.sorted().table.filter((pl.col("procs") > 0) & (pl.col("runtime") > 0))
    if usable.height == 0:
        raise QueueingError("the log has no job with a positive width and run time")

    def draw(n: int, stream: np.random.Generator) -> Workload:
        first = int(stream.integers(usable.height))
        return _at_once(usable[np.arange(first, first + n) % usable.height])

    return draw


def _at_once(table: pl.DataFrame) -> Workload:
    """Put all jobs into the queue at time 0, without dependences between them."""
    return Workload(renumbered(table, "think").with_columns(submit=pl.lit(0.0)))


def _length(source: Source, draw: Draw, procs: int, rng: Rng) -> int:
    """Return n: twenty times the jobs that fit side by side; of a log up to `LONG`."""
    widths = draw(1000, generator(child(rng, 2**31))).column("procs")
    fitting = int(max(1000, 20 * procs / float(np.mean(widths))))
    return max(fitting, min(LONG, len(source))) if isinstance(source, Workload) else fitting

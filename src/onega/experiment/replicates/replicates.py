"""Replicates: the same question on many workloads, and how sure the answer is.

Replicate k draws one workload and runs every policy on it (common random numbers), so that policies
differ by what they do and not by the jobs they got. What is known after n replicates:

- **the mean over replicates** of any measure (a mean, a quantile, a share, a power), with Student's
  interval x̄ ± t·s/√n. It narrows as replicates are added, and says how well the *expected* value of
  the measure is known. For a quantile the measure is each replicate's own quantile, so the interval
  is for the expected quantile of a run of that length (its bias against an endless run's falls as
  one over the number of jobs), not for the quantile of all replicates' jobs together;
- **the percentile interval**: where the middle 95 % of the replicates are. It doesn't narrow. If
  replicates are resamples of one log, it is the bootstrap's confidence interval: how far the log's
  own value can be trusted, which more resamples can't improve. It is then a little wider than the
  middle 95 %, by as much as the log's weeks or users are few (`percentile_interval`);
- **differences between policies** are taken replicate by replicate and treated the same way. As the
  workload is common, they are much surer than the difference of two separate answers.

`Replicates.interval` and `Replicates.difference` give the percentile interval for resamples of a
log and Student's interval otherwise; ``kind=`` says which one is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Unpack

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.intervals import Interval, mean_interval
from onega.core.machine.cluster import Cluster
from onega.core.plotting import Plottable
from onega.core.policy import KeyFunction, Policy, Priority
from onega.core.renamed import renamed
from onega.core.rng import Rng
from onega.core.schedule.warmup import Warmup
from onega.core.types import Floats, Progress
from onega.experiment.planning.targets import Measure, Precision
from onega.experiment.replicates.draws import Resample, Source, make_draws
from onega.experiment.replicates.runs import (
    Case,
    Experiment,
    Replicate,
    SimulateOptions,
    machine_of,
)
from onega.experiment.workers.workers import Workers

PolicyLike = str | Policy | Priority | KeyFunction
Kind = Literal["student", "percentile"]

MEASURES: Final = ("mean(wait)", "p95(wait)", "mean(bounded_slowdown)", "utilisation")
"""What is measured if nothing else is asked for."""

FIRST: Final = 10
"""Replicates before the first look at whether they suffice."""


@dataclass(frozen=True, eq=False, repr=False)
class Replicates(Plottable):
    """Measures of many runs.

    Attributes
    ----------
    policies
        Names of what was tried, in the order given.
    measures
        What was measured.
    values
        values[replicate, policy, measure].
    removed
        By replicate: jobs left out as warm-up.
    warmup
        The rule, and whether it found where runs settle.
    level
        Of intervals.
    drawn_from
        If replicates are resamples of one log, how many weeks or users it has; else None.
    reached
        Whether the precision asked for was reached; None if none was.
    provenance
        How they came about, a line each.
    """

    FIGURES: ClassVar[str] = "replicates"

    policies: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: Floats
    removed: tuple[int, ...]
    warmup: Warmup
    level: float
    drawn_from: int | None
    reached: bool | None = None
    provenance: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<Replicates: {len(self)} of {', '.join(self.policies)}>"

    @property
    def resampled(self) -> bool:
        """Whether replicates are resamples of one log."""
        return self.drawn_from is not None

    @property
    def single(self) -> bool:
        """Whether it is one run of one log as it is: numbers without intervals (NaN)."""
        return len(self) == 1

    @property
    def kind(self) -> Kind:
        """The interval that is a confidence interval here: see the module's text."""
        return "percentile" if self.resampled else "student"

    def of(self, measure: str | Measure, policy: str | None = None) -> Floats:
        """Return the values of a measure, one per replicate, under a policy (the first)."""
        return self.values[:, self._policy(policy), self._measure(measure)]

    def interval(
        self, measure: str | Measure, policy: str | None = None, *, kind: Kind | None = None
    ) -> Interval:
        """Confidence interval of a measure under a policy (the first by default).

        ``kind="student"``: of its expected value, x̄ ± t·s/√n. ``kind="percentile"``: the middle
        share ``level`` of the replicates, widened for resamples of a log that has few weeks or
        users. By default the one that is right for the source. No measure is negative, and
        neither is an end of the interval.
        """
        return self.interval_of(self.of(measure, policy), kind).at_least(0.0)

    def difference(
        self,
        measure: str | Measure,
        policy: str,
        than: str | None = None,
        *,
        kind: Kind | None = None,
    ) -> Interval:
        """Confidence interval of ``policy − than`` (the first), paired replicate by replicate."""
        return self.interval_of(self.of(measure, policy) - self.of(measure, than), kind)

    def to_polars(self) -> pl.DataFrame:
        """One row per replicate and policy: replicate, policy, removed, measures."""
        count, cases, _ = self.values.shape
        columns: dict[str, Any] = {
            "replicate": np.repeat(np.arange(count), cases),
            "policy": list(self.policies) * count,
            "removed": np.repeat(self.removed, cases),
        }
        for place, measure in enumerate(self.measures):
            columns[measure.key] = self.values[:, :, place].ravel()
        return pl.DataFrame(columns)

    def table(self) -> pl.DataFrame:
        """One row per measure and policy: mean, low, high, and the difference from the first."""
        rows = []
        for measure in self.measures:
            for policy in self.policies:
                here = self.interval(measure, policy)
                apart = self.difference(measure, policy)
                first = policy == self.policies[0]
                rows.append(
                    (measure.key, policy, here.mean, here.low, here.high)
                    + ((None,) * 3 if first else (apart.mean, apart.low, apart.high))
                )
        names = ["measure", "policy", "mean", "low", "high"]
        names += ["difference", "difference_low", "difference_high"]
        types = [pl.String] * 2 + [pl.Float64] * 6
        made = pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row")
        return made.fill_nan(None) if self.single else made

    def summary(self) -> dict[str, Any]:
        """Return means and intervals; keys begin with the policy if there are several."""
        result: dict[str, Any] = {
            "replicates": len(self),
            "level": self.level,
            "interval": "none" if self.single else self.kind,
            "warmup": str(self.warmup),
            "warmup_jobs": float(np.mean(self.removed)),
            "settled": self.warmup.settled,
            "reached": self.reached,
        }
        for policy in self.policies:
            before = "" if len(self.policies) == 1 else f"{policy}_"
            for measure in self.measures:
                found = self.interval(measure, policy)
                result[f"{before}{measure.key}"] = found.mean
                result[f"{before}{measure.key}_low"] = found.low
                result[f"{before}{measure.key}_high"] = found.high
        return result

    def interval_of(self, values: Floats, kind: Kind | None = None) -> Interval:
        """Confidence interval of anything that has one value per replicate."""
        chosen = kind or self.kind
        if self.single:
            return Interval(float(values[0]), math.nan, math.nan, self.level, 1)
        if chosen == "student":
            return mean_interval(values, confidence=self.level)
        if chosen == "percentile":
            return percentile_interval(values, level=self.level, drawn_from=self.drawn_from)
        raise ExperimentError(
            f"unknown interval {kind!r}; {suggest(str(kind), ('student', 'percentile'))}"
        )

    def _policy(self, name: str | None) -> int:
        if name is None:
            return 0
        if name in self.policies:
            return self.policies.index(name)
        try:  # "easy" is written "fcfs+easy"
            return self.policies.index(str(Policy.parse(name)))
        except ValueError:
            known = suggest(name, self.policies)
            raise ExperimentError(f"{name!r} isn't among the policies; {known}") from None

    def _measure(self, name: str | Measure) -> int:
        wanted = Measure.parse(name)
        if wanted not in self.measures:
            known = ", ".join(map(str, self.measures))
            raise ExperimentError(f"{wanted} wasn't measured; accepted: {known}")
        return self.measures.index(wanted)


def percentile_interval(
    values: Floats, *, level: float = 0.95, drawn_from: int | None = None
) -> Interval:
    """Return the mean of the values and the range of their middle share ``level``.

    The ends are the α(n+1)-th and (1 − α)(n+1)-th of n ordered values, α = (1 − level)/2, between
    two values linearly: one more value from the same source falls between them with probability
    ``level`` (Davison and Hinkley 1997, §5.3.1). Fewer than 2/(1 − level) − 1 values, 39 at 95 %,
    can't tell that much: they give their whole range.

    Parameters
    ----------
    values
        One for each replicate.
    level
        Of the interval.
    drawn_from
        For bootstrap resamples: out of how many weeks or users, m. The middle share of resamples is
        too narrow when these are few, as the normal interval with the divisor m is against
        Student's. Hesterberg's expanded percentile interval (2015, The American Statistician 69,
        371-386) takes α' = Φ(√(m/(m−1))·t_α) in α's place, with Student's t of m − 1 degrees of
        freedom, which for a mean makes up for both.
    """
    if not 0 < level < 1:
        raise ExperimentError(f"the level is a probability between 0 and 1, got {level}")
    if values.size < 2:
        raise ExperimentError(f"an interval needs at least two replicates, got {values.size}")
    tail = (1 - level) / 2
    if drawn_from is not None and drawn_from > 1:
        from scipy.special import ndtr, stdtrit

        wider = math.sqrt(drawn_from / (drawn_from - 1))
        tail = float(ndtr(wider * stdtrit(drawn_from - 1, tail)))
    low, high = np.quantile(values, [tail, 1 - tail], method="weibull")
    return Interval(float(np.mean(values)), float(low), float(high), level, int(values.size))


@renamed(n="replicates", level="confidence")
def replicate(
    source: Source,
    cluster: Cluster | int | None = None,
    policy: PolicyLike | Sequence[PolicyLike] = "fcfs",
    *,
    replicates: int = 40,
    until: str | Iterable[str] | None = None,
    measures: Iterable[str | Measure] = MEASURES,
    resample: Resample = "weeks",
    jobs: int | None = None,
    warmup: str | float | Warmup | None = None,
    confidence: float = 0.95,
    rng: Rng = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
    **options: Unpack[SimulateOptions],
) -> Replicates:
    """Run one policy or several on many workloads, the same ones for each.

    Parameters
    ----------
    source
        A log (bootstrap resamples of it), a model with ``sample(n, rng=)`` (then give ``jobs``), or
        a function of a `numpy.random.Generator` that draws a workload.
    cluster, policy
        As `onega.simulate` takes them; several policies as a list. The machine is the source's own
        by default.
    replicates
        How many replicates; with ``until``, how many at most.
    until
        Stop when intervals are narrow enough: ``"ci(mean(wait)) < 5%"``, or several of these;
        under every policy. Student's intervals, as others don't narrow. Looking and going on makes
        them cover a little less than they say; at least 10 replicates are made before the first
        look.
    measures
        What to measure (see `onega.experiment.planning.targets`).
    resample
        For a log: by ``"weeks"`` or ``"users"``; ``"none"``: the log as it is, once, and no
        intervals.
    jobs
        For a model: jobs to a workload.
    warmup
        None: all jobs count, as in `onega.simulate`. ``"mser5"``: leave out as many jobs as MSER-5
        finds in the waits averaged over the first ten replicates, the most of all policies for
        each. A time such as ``"2d"``: leave out the jobs submitted before. Measures of the whole
        run (utilisation, power) take all of it. The result says what was left out.
    confidence
        Of intervals.
    rng
        Randomness; replicate k has streams of its own, the same however many workers there are.
    workers
        Threads on all cores by default; see `onega.experiment.workers.workers`.
    progress
        Called with the share that is done, as far as can be told.
    options
        ``knowledge``, ``ties`` and ``enforce_limits`` of `onega.simulate`.
    """
    draws = make_draws(source, resample=resample, jobs=jobs, rng=rng)
    most = 1 if draws.single else _checked_number(replicates)
    if draws.single and until is not None:
        raise ExperimentError("one run of the log as it is has no interval that could narrow")
    machine = machine_of(draws, cluster)
    rules = parse_policies(policy)
    precisions = parse_precisions(until)
    wanted = [Measure.parse(one) for one in measures]
    wanted += [one.measure for one in precisions]
    experiment = Experiment(
        draws,
        tuple(Case(str(rule), machine, rule) for rule in rules),
        tuple(dict.fromkeys(wanted)),
        Warmup.parse(warmup),
        options,
    ).deciding_warmup(most, workers)
    found, reached = _run_until(experiment, most, precisions, confidence, workers, progress)
    return collect(experiment, found, level=confidence, reached=reached)


def collect(
    experiment: Experiment,
    found: Sequence[Replicate],
    *,
    level: float,
    reached: bool | None = None,
) -> Replicates:
    """Put replicates together."""
    draws = experiment.draws
    return Replicates(
        policies=tuple(case.name for case in experiment.cases),
        measures=experiment.measures,
        values=np.stack([one.values for one in found]),
        removed=tuple(one.removed for one in found),
        warmup=experiment.warmup,
        level=level,
        drawn_from=draws.drawn_from,
        reached=reached,
        provenance=(f"{len(found)} replicates of {draws}",),
    )


def parse_policies(given: PolicyLike | Sequence[PolicyLike]) -> list[Policy]:
    """Read one policy or several."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return [Policy.parse(given)]
    return [Policy.parse(one) for one in given]


def parse_precisions(until: str | Iterable[str] | None) -> tuple[Precision, ...]:
    """Read the precisions of ``until``."""
    if until is None:
        return ()
    return tuple(Precision.parse(one) for one in ([until] if isinstance(until, str) else until))


def _checked_number(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ExperimentError(f"n is a number of replicates, at least 2; got {n!r}")
    return int(n)


def _run_until(
    experiment: Experiment,
    most: int,
    precisions: tuple[Precision, ...],
    level: float,
    workers: Workers | None,
    progress: Progress | None,
) -> tuple[list[Replicate], bool | None]:
    """Run all replicates, or as many as the precisions need, in rounds that data decide."""
    found: list[Replicate] = []
    wanted = min(most, FIRST) if precisions else most
    while True:
        tell = None if progress is None else _progress_from(progress, len(found), wanted)
        found += experiment.run(range(len(found), wanted), workers=workers, progress=tell)
        if not precisions:
            return found, None
        ratio = _worst_ratio(experiment, found, precisions, level)
        if ratio <= 1 or wanted >= most:
            return found, ratio <= 1
        # The half-width falls with the root of the number; a little more, to get there at once.
        more = most if math.isinf(ratio) else math.ceil(1.1 * wanted * ratio**2)
        wanted = min(most, max(wanted + 5, more))


def _progress_from(progress: Progress, before: int, wanted: int) -> Callable[[int], None]:
    return lambda done: progress((before + done) / wanted)


def _worst_ratio(
    experiment: Experiment,
    found: list[Replicate],
    precisions: tuple[Precision, ...],
    level: float,
) -> float:
    """Return the widest interval over what is wanted, over all precisions and policies."""
    values = np.stack([one.values for one in found])
    worst = 0.0
    for precision in precisions:
        place = experiment.measures.index(precision.measure)
        for case in range(len(experiment.cases)):
            interval = mean_interval(values[:, case, place], confidence=level)
            worst = max(worst, precision.ratio(interval.mean, interval.half_width))
    return worst

"""`compare_policies`: the same jobs under several policies, on the log and on others like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from onega.core.errors import ExperimentError
from onega.core.machine.cluster import Cluster
from onega.core.plotting import Plottable
from onega.core.renamed import renamed
from onega.core.rng import Rng, seed_sequence
from onega.core.schedule.common import comparable_jobs
from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats, Progress
from onega.core.workload.workload import Workload
from onega.experiment.planning.targets import Measure
from onega.experiment.replicates.draws import Resample, Source, make_draws
from onega.experiment.replicates.replicates import (
    MEASURES,
    PolicyLike,
    Replicates,
    parse_policies,
    replicate,
)
from onega.experiment.replicates.runs import Case, Experiment, SimulateOptions, machine_of, measured
from onega.experiment.workers.workers import Workers

OBSERVED = "observed"


@dataclass(frozen=True, eq=False, repr=False)
class PolicyComparison(Plottable):
    """Policies side by side.

    Attributes
    ----------
    replicates
        The runs on resamples of the log (or on draws of a model), with intervals.
    on_log
        on_log[policy, measure] on the log as it is; None if there is no log.
    observed
        What the log itself says of each measure, if it has waits; NaN where it can't say.
    """

    FIGURES: ClassVar[str] = "policies"

    replicates: Replicates
    on_log: Floats | None = None
    observed: Floats | None = None

    def __repr__(self) -> str:
        return f"<PolicyComparison: {', '.join(self.replicates.policies)}>"

    @property
    def provenance(self) -> tuple[str, ...]:
        """How it came about, a line each."""
        return self.replicates.provenance

    def sure(self, measure: str | Measure, policy: str, than: str | None = None) -> bool:
        """Whether the difference from another policy (the first) has the sign it seems to have.

        That is, whether the confidence interval of the paired difference leaves out zero; one run
        of the log as it is can't tell.
        """
        apart = self.replicates.difference(measure, policy, than)
        return not self.replicates.single and 0.0 not in apart

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and policy: on the log, over replicates, and the difference.

        A last row ``observed`` per measure holds what the log itself says, where it does.
        """
        found = self.replicates
        table = found.table()
        names = [None] * table.height if self.on_log is None else self.on_log.T.ravel()
        sure = [
            None if found.single or policy == found.policies[0] else self.sure(measure, policy)
            for measure in found.measures
            for policy in found.policies
        ]
        table = table.with_columns(
            pl.Series("on_log", names, dtype=pl.Float64), pl.Series("sure", sure, dtype=pl.Boolean)
        )
        order = ["measure", "policy", "on_log", "mean", "low", "high"]
        order += ["difference", "difference_low", "difference_high", "sure"]
        if self.observed is None:
            return table.select(order)
        seen = pl.DataFrame(
            {
                "measure": [measure.key for measure in found.measures],
                "policy": [OBSERVED] * len(found.measures),
                "on_log": pl.Series(self.observed, dtype=pl.Float64).fill_nan(None),
            }
        )
        joined = pl.concat([table, seen], how="diagonal")
        places = {measure.key: place for place, measure in enumerate(found.measures)}
        by_measure = pl.col("measure").replace_strict(places, return_dtype=pl.Int64)
        return joined.sort(by_measure, maintain_order=True).select(order)

    def summary(self) -> dict[str, Any]:
        """Return means, intervals, differences and values on the log in one flat dictionary."""
        result = self.replicates.summary()
        result["policies"] = list(self.replicates.policies)
        result["best"] = self.best()
        for row in self.to_polars().to_dicts():
            key = f"{row['policy']}_{row['measure']}"
            if row["on_log"] is not None:
                result[f"{key}_on_log"] = row["on_log"]
            if row["difference"] is not None:
                result[f"{key}_difference"] = row["difference"]
                result[f"{key}_difference_low"] = row["difference_low"]
                result[f"{key}_difference_high"] = row["difference_high"]
                result[f"{key}_sure"] = row["sure"]
        return result

    def best(self, measure: str | Measure | None = None) -> str:
        """Return the policy with the least of a measure (the first), on average over replicates.

        One under which no job has it (all wait for ever) is no better than any other.
        """
        found = self.replicates
        wanted = found.measures[0] if measure is None else measure
        means = [float(found.of(wanted, policy).mean()) for policy in found.policies]
        return found.policies[int(np.argmin(np.nan_to_num(means, nan=np.inf)))]


@renamed(n="replicates", level="confidence")
def compare_policies(
    source: Source,
    cluster: Cluster | int | None = None,
    policies: Sequence[PolicyLike] = ("fcfs", "easy", "spf+easy", "conservative"),
    *,
    replicates: int = 40,
    until: str | Iterable[str] | None = None,
    measures: Iterable[str | Measure] = MEASURES,
    resample: Resample = "weeks",
    jobs: int | None = None,
    warmup: str | float | None = None,
    confidence: float = 0.95,
    rng: Rng = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
    **options: Unpack[SimulateOptions],
) -> PolicyComparison:
    """Run policies on a log and on replicates of it, with intervals on their differences.

    Parameters
    ----------
    source, cluster, policies
        As for `onega.replicate`; differences are from the first policy.
    replicates, until, measures, resample, jobs, warmup, confidence, rng, workers, progress, options
        As for `onega.replicate`; ``resample="none"`` compares on the log alone, without intervals.
    """
    if isinstance(policies, str) or len(policies) < 2:
        raise ExperimentError(
            f"a comparison needs at least two policies, e.g. ['fcfs', 'easy']; got {policies!r}"
        )
    seed = seed_sequence(rng)
    found = replicate(
        source,
        cluster,
        policies,
        replicates=replicates,
        until=until,
        measures=measures,
        resample=resample,
        jobs=jobs,
        warmup=warmup,
        confidence=confidence,
        rng=seed,
        workers=workers,
        progress=progress,
        **options,
    )
    if not isinstance(source, Workload):
        return PolicyComparison(found)
    draws = make_draws(source, resample="none", rng=seed)
    machine = machine_of(draws, cluster)
    rules = parse_policies(policies)
    alone = Experiment(
        draws,
        tuple(Case(str(rule), machine, rule) for rule in rules),
        found.measures,
        found.warmup,
        options,
    )
    on_log = alone.run([0], workers=workers)[0]
    seen = _observed(source, machine, found.measures, on_log.removed)
    return PolicyComparison(found, on_log.values, seen)


def _observed(
    log: Workload, machine: Cluster, measures: Sequence[Measure], removed: int
) -> Floats | None:
    """Return what the log says of each measure, without the warm-up.

    None without waits, or if the log lacks some: the simulations are of all jobs, and a mean over
    others can't stand beside theirs. A log that doesn't say how large its machine was is taken
    to be of this one.
    """
    if not log.has("wait") or log.meta.procs not in (None, machine.procs):
        return None
    same, report = comparable_jobs(log, machine.procs)
    if report.dropped:
        return None
    schedule = Schedule.observed(same, machine)
    values = []
    for measure in measures:
        try:
            values += measured(schedule, [measure], min(removed, len(schedule) - 1))
        except ExperimentError:
            values.append(np.nan)
    return np.array(values)

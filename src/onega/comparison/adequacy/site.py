"""A site's own log against simulations of it: the everyday use of the measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from onega.comparison.adequacy.adequacy import SAME, Adequacy, adequacy
from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.plotting import Plottable
from onega.core.policy import MULTIFACTOR, Knowledge, Policy
from onega.core.rng import Rng, seed_sequence
from onega.core.schedule.common import comparable_jobs
from onega.core.schedule.schedule import Schedule
from onega.core.units import humanise_seconds, humanise_together, percent
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.simulation.simulate import simulate

UNKNOWN = (
    "reservations and dedicated time",
    "priorities, fair share and limits per user or queue",
    "nodes that were down, drained or kept for others",
    "partitions, memory, GPUs and licences",
    "jobs that the log leaves out",
)
"""What keeps a simulation of a site's log from its observed waits, where the machine that is given
is a plain number of processors. The simulator knows of most of it; a machine file can say it."""


def not_described(cluster: Cluster, policies: Sequence[str | Policy] = ()) -> tuple[str, ...]:
    """Return what these simulations don't take into account, because nothing says it."""
    orders = {Policy.parse(one).order for one in policies}
    told = {
        UNKNOWN[1]: cluster.queues or cluster.user_limits or MULTIFACTOR in orders,
        UNKNOWN[2]: cluster.failures,
        UNKNOWN[3]: cluster.partitions or cluster.nodes or cluster.resources,
    }
    return tuple(one for one in UNKNOWN if not told.get(one))


@dataclass(frozen=True, slots=True, eq=False)
class SiteAdequacy(Plottable):
    """Observed waits of one log against simulated ones, policy by policy. See `site_adequacy`."""

    FIGURES: ClassVar[str] = "adequacy"

    observed: Schedule
    results: Mapping[str, Adequacy]
    report: Report

    @property
    def best(self) -> str:
        """The policy whose schedule is nearest."""
        return min(self.results, key=lambda name: self.results[name].P)

    @property
    def not_described(self) -> tuple[str, ...]:
        """What the simulations don't take into account, as neither log nor machine says it."""
        model = self.results[self.best].model
        cluster = self.observed.cluster if model is None else model.cluster
        return not_described(cluster, list(self.results))

    def summary(self) -> dict[str, Any]:
        """Return the best policy's figures, and ``POLICY.figure`` for every policy."""
        flat: dict[str, Any] = {"policy": self.best, "policies": list(self.results)}
        flat |= self.results[self.best].summary()
        for name, result in self.results.items():
            one = result.summary()
            flat |= {f"{name}.{key}": one[key] for key in _EACH if key in one}
        flat["left_out"] = self.report.dropped
        flat["unknown_to_the_simulator"] = list(self.not_described)
        return flat

    def to_polars(self) -> pl.DataFrame:
        """Return one row per policy."""
        rows = [
            {"policy": name} | {key: one.summary()[key] for key in _EACH}
            for name, one in self.results.items()
        ]
        return pl.DataFrame(rows)

    def sentence(self) -> str:
        """Say plainly what the figures mean and what they can't."""
        result = self.results[self.best]
        figures = result.summary()
        model, real = figures["mean_wait_model"], figures["mean_wait_real"]
        off = f"{humanise_seconds(model)}, the observed one {humanise_seconds(real)}"
        if real > SAME:
            off = f"{model / real:.2f} times the observed one"
        if figures["skill_reason"]:
            worth = f"its skill is undefined: {figures['skill_reason']}"
        elif figures["skill"] > 0:
            explained = percent(figures["skill"])
            worth = f"it explains {explained} of what the mean of each width leaves open"
        else:
            worth = "that is no nearer than the mean wait of each width would be"
        near, plain = humanise_together(result.P, figures["baseline_P"])
        return (
            f"Nearest is {self.best}: P = {near} against {plain} for the mean wait of each width; "
            f"{worth}. Its mean wait is {off}. Not described, and so not simulated: "
            f"{'; '.join(self.not_described)}."
        )


_EACH = (
    "P",
    "different",
    "baseline_P",
    "skill",
    "worst10_share",
    "P_without_worst10",
    "median_difference",
    "mean_wait_real",
    "mean_wait_model",
    "p95_wait_real",
    "p95_wait_model",
    "ks_wait",
    "wait_correlation",
)


def site_adequacy(
    log: Workload,
    policies: Sequence[str | Policy],
    *,
    procs: int | None = None,
    cluster: Cluster | None = None,
    reference: float | None = None,
    knowledge: Knowledge | None = None,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> SiteAdequacy:
    """Compare a log's own waits with the waits that policies would have given.

    Parameters
    ----------
    log
        A log with waits. Jobs that never ran, and jobs wider than the machine, are left out of
        both sides and reported.
    policies
        ``"easy"``, ``"fcfs+conservative"``, ``"slurm"``, ….
    procs
        The machine; the log's by default.
    cluster
        The machine in detail, instead of ``procs``: nodes, partitions, queues, fair share.
    reference
        P_ideal of the real system, if it is known.
    knowledge
        What the simulated scheduler knows of run times.
    rng
        Seed of what is random on the machine, the same for every policy.
    """
    if not policies:
        raise SimulationError("at least one policy to simulate is needed, e.g. easy")
    if cluster is not None and procs not in (None, cluster.procs):
        raise SimulationError(f"the machine has {cluster.procs} processors, not {procs}")
    machine = cluster or _plain_machine(procs or log.meta.procs)
    usable, report = comparable_jobs(log, machine.procs)
    observed = Schedule.observed(usable, Cluster(machine.procs))
    results = {}
    seed = rng if machine.is_plain else seed_sequence(rng)
    for number, policy in enumerate(policies):
        model = simulate(usable, machine, policy, knowledge=knowledge, rng=seed)
        name = policy if isinstance(policy, str) else str(model.policy)
        results[name] = adequacy(observed, model, reference=reference)
        if progress is not None:
            progress((number + 1) / len(policies))
    return SiteAdequacy(observed, results, report)


def _plain_machine(procs: int | None) -> Cluster:
    if procs is None:
        raise SimulationError(
            "the log doesn't say how many processors the machine has; give procs= or cluster="
        )
    return Cluster(procs)

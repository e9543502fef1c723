"""How adequate workload models are: their jobs beside the log's, and what EASY makes of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onega.comparison.compare_models import ModelComparison, compare_models
from onega.core.intervals import Interval, mean_interval
from onega.core.machine.cluster import Cluster
from onega.core.rng import Rng, child, seed_sequence
from onega.core.workload.workload import Workload
from onega.models.base import WorkloadModel
from onega.simulation.simulate import simulate

SAMPLES: Final = 5
"""Samples of each model, as long as the log."""


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """Models against a log.

    Attributes
    ----------
    comparison
        Distances of the samples from the log.
    waits
        Model → mean wait, in seconds, of its samples under EASY, with Student's interval.
    log_wait
        The same of the log itself.
    own
        Whether the model was fitted here, because none was given.
    """

    comparison: ModelComparison
    waits: Mapping[str, Interval]
    log_wait: float
    own: bool = False


def judge_models(
    log: Workload, cluster: Cluster, models: Mapping[str, WorkloadModel], *, rng: Rng = None
) -> ModelAnswers:
    """Draw samples of each model, compare them with the log, and simulate them under EASY."""
    seed = seed_sequence(rng)
    waits = {}
    for place, (name, model) in enumerate(models.items()):
        samples = (
            model.sample(len(log), rng=child(seed, 1, place, k), cluster=cluster.procs)
            for k in range(SAMPLES)
        )
        waits[name] = mean_interval([_easy(sample, cluster) for sample in samples])
    comparison = compare_models(log, models, replicates=SAMPLES, rng=child(seed, 0))
    return ModelAnswers(comparison, waits, _easy(log, cluster))


def _easy(workload: Workload, cluster: Cluster) -> float:
    return float(simulate(workload, cluster.procs, "easy").summary()["mean_wait"])

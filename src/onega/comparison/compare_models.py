"""Several models against one log, over replicates: means and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import polars as pl
from numpy.random import SeedSequence

from onega.comparison.compare import Comparison, Side
from onega.comparison.privacy import excess_copying
from onega.comparison.samples import Bench, Measured, Samples, in_turn, measure
from onega.core.errors import ModelError, suggest
from onega.core.plotting import Plottable
from onega.core.renamed import renamed
from onega.core.rng import Rng, child, describe_seed, seed_sequence
from onega.core.types import Progress
from onega.core.workload.workload import Workload
from onega.models import MODELS


@dataclass(frozen=True, slots=True, eq=False)
class ModelComparison(Plottable):
    """What several models make of one log. See `compare_models`.

    Attributes
    ----------
    rows
        One row per model and replicate, with the keys of `Comparison.summary`.
    examples
        The first replicate of each model, for figures.
    seed
        The seed, as it can be given again.
    """

    FIGURES: ClassVar[str] = "compare"
    rows: pl.DataFrame
    examples: Mapping[str, Comparison]
    seed: str

    @property
    def provenance(self) -> tuple[str, ...]:
        """How the replicates were made."""
        return (f"{self.rows.height} samples, replicate k of model m at rng path (m, k)", self.seed)

    @property
    def models(self) -> tuple[str, ...]:
        """The models' names, in the order given."""
        return tuple(self.rows["model"].unique(maintain_order=True))

    def to_polars(self) -> pl.DataFrame:
        """Return one row per model and figure: mean, standard deviation, and the mean's interval.

        The interval holds the mean with 95 % confidence (Student's t over the replicates).
        ``median_abs`` is the median of the absolute value.
        """
        long = self.rows.unpivot(
            index=["model", "replicate"], variable_name="measure", value_name="value"
        ).filter(pl.col("value").is_not_nan() & pl.col("value").is_not_null())
        stats = long.group_by(["model", "measure"], maintain_order=True).agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").std().alias("sd"),
            pl.col("value").abs().median().alias("median_abs"),
            pl.len().alias("replicates"),
        )
        from scipy.stats import t

        half = [
            float(t.ppf(0.975, n - 1)) * sd / math.sqrt(n) if sd is not None else math.nan
            for n, sd in zip(stats["replicates"], stats["sd"], strict=True)
        ]
        width = pl.Series("half", half, dtype=pl.Float64)
        return stats.with_columns(
            (pl.col("mean") - width).alias("low"), (pl.col("mean") + width).alias("high")
        )

    def summary(self) -> dict[str, Any]:
        """Return ``{model}.{figure}`` → mean over the replicates, and ``.low``, ``.high``."""
        flat: dict[str, Any] = {}
        for row in self.to_polars().to_dicts():
            key = f"{row['model']}.{row['measure']}"
            flat[key] = row["mean"]
            flat[f"{key}.low"], flat[f"{key}.high"] = row["low"], row["high"]
            if row["measure"] == "d_sa":
                flat[f"{key}.median_abs"] = row["median_abs"]
        return flat


@renamed(log="workload", n="jobs")
def compare_models(
    workload: Workload,
    models: Sequence[str] | Mapping[str, Samples],
    *,
    replicates: int = 20,
    jobs: int | None = None,
    waits: bool = False,
    privacy: bool = False,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ModelComparison:
    """Fit models to a log, sample each several times, and compare every sample with the log.

    Parameters
    ----------
    workload
        What they are fitted to and compared with.
    models
        Names of `onega.models.MODELS`; or by name: models already fitted (anything with
        ``sample(n, rng=…)``), or lists of workloads that are samples already.
    replicates
        Samples of each model.
    jobs
        Jobs in a sample; as many as the log by default.
    waits, privacy
        As `compare` takes them. Privacy beside each model: ``copied_excess``, what a model fitted
        to a random half of the log repeats of that half beyond what it repeats of the other.
    progress
        Called with the share that is done.
    """
    if replicates < 1:
        raise ModelError(f"replicates must be at least 1, got {replicates}")
    seed = seed_sequence(rng)
    real = Side.of(workload, waits=waits)
    fitted = _fitted(workload, models, seed)
    size = real.procs.size if jobs is None else jobs
    bench = Bench(workload, real, fitted, size, seed, waits, copies=privacy)
    tasks = bench.tasks(replicates, {name: 1 + m for m, name in enumerate(fitted)})
    done = None if progress is None else lambda count: progress(count / len(tasks))
    found = in_turn(measure, tasks, shared=bench, progress=done)
    copied: dict[str, dict[str, float]] = {}
    if privacy and not isinstance(models, Mapping):
        for place, name in enumerate(fitted):
            stream = child(seed, 0, place)
            fit = partial(MODELS[name].fit, rng=stream)
            copied[name] = excess_copying(workload, fit, rng=stream)
    return comparison_of(found, seed, copied)


def comparison_of(
    found: Sequence[Measured], seed: SeedSequence, copied: Mapping[str, Mapping[str, float]]
) -> ModelComparison:
    """Put tasks' figures together; the first that failed raises its error."""
    for one in found:
        if one.error is not None:
            raise one.error
    rows = [
        {"model": name, "replicate": k, **one.figures, **copied.get(name, {})}
        for one in found
        for name, _, k in (one.task,)
    ]
    examples = {one.task.model: one.example for one in found if one.example is not None}
    return ModelComparison(
        pl.DataFrame(rows, infer_schema_length=None), examples, describe_seed(seed)
    )


def checked_names(names: Sequence[str]) -> None:
    """Refuse an empty list, and a name that no model has."""
    if not names:
        raise ModelError(f"at least one model is needed; accepted: {', '.join(MODELS)}")
    for name in names:
        if name not in MODELS:
            raise ModelError(f"no model {name!r}; {suggest(name, MODELS)}")


def _fitted(
    log: Workload, models: Sequence[str] | Mapping[str, Samples], seed: SeedSequence
) -> Mapping[str, Samples]:
    if isinstance(models, Mapping):
        return models
    checked_names(models)
    return {name: MODELS[name].fit(log, rng=child(seed, 0, i)) for i, name in enumerate(models)}

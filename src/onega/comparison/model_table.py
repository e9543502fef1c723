"""All models beside several logs: how like the log a scheduler, a clock and a reader find them.

The first question is what a scheduler makes of the samples: their mean wait over the log's own,
under EASY and FCFS on the same machine at the load that comes out. Over logs, a model's typical
factor is 2^(mean over logs of |log₂ ratio|): 1 is perfect, 1.2 is as bad as 1/1.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.random import SeedSequence

from onega.comparison.compare import Side
from onega.comparison.compare_models import ModelComparison, comparison_of
from onega.comparison.privacy import excess_copying
from onega.comparison.samples import Bench, Family, Run, Sampler, Samples, in_turn, measure
from onega.core.errors import ModelError, OnegaError
from onega.core.plotting import Plottable
from onega.core.rng import Rng, child, describe_seed, seed_sequence
from onega.core.types import Progress
from onega.core.workload.workload import Workload
from onega.models import MODELS

ITSELF: Final = "the half itself"
"""Row of the half that models are fitted to, beside the other one."""

RATIOS: Final = {
    "dispersion": ("dispersion_hour", "dispersion_day", "dispersion_week"),
    "weekly work": ("weekly_work_cv",),
    "cycles of sizes": ("night_runtime", "night_procs", "weekend_runtime", "weekend_procs"),
    "tails": ("p99_runtime", "p999_runtime", "p99_work"),
}
"""Figures that are judged by sample ÷ log, in groups."""

DISTANCES: Final = ("ks_procs", "ks_runtime", "ks_gap")
MEMORY: Final = ("rho1_procs", "rho1_runtime")
WAITS: Final = ("wait_easy_ratio", "wait_fcfs_ratio")


class Missing(NamedTuple):
    """A model that has no row for a log, and why."""

    workload: str
    model: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable(Plottable):
    """What models make of several logs. See `judge_models`.

    Attributes
    ----------
    whole
        Log → models fitted to it, beside it.
    halves
        Log → models fitted to its first half, beside its second half; `ITSELF` is the first half
        as it is. Empty if halves weren't asked for.
    missing
        What could not be fitted or sampled.
    seed
        The seed, as it can be given again.
    """

    FIGURES: ClassVar[str] = "model_table"
    whole: Mapping[str, ModelComparison]
    halves: Mapping[str, ModelComparison]
    missing: tuple[Missing, ...]
    seed: str

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all rows, in the order given."""
        every = (name for one in self.whole.values() for name in one.models)
        return tuple(dict.fromkeys(every))

    @property
    def provenance(self) -> tuple[str, ...]:
        """How the samples were made."""
        words = "sample k of a model at rng path (number of the model, k), the same for every log"
        return (words, self.seed)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per log, part, model and figure: mean, interval, the log's own."""
        parts = (("whole", self.whole), ("halves", self.halves))
        tables = [
            _long(comparison).select(pl.lit(name).alias("log"), pl.lit(part).alias("part"), "*")
            for part, comparisons in parts
            for name, comparison in comparisons.items()
        ]
        return pl.concat(tables)

    def typical(self, measure: str = WAITS[0], *, halves: bool = False) -> dict[str, float]:
        """Return each model's typical factor of a ratio over the logs; NaN where a log lacks it."""
        table = self.to_polars().filter(
            (pl.col("measure") == measure) & (pl.col("part") == ("halves" if halves else "whole"))
        )
        logs = len(self.halves if halves else self.whole)
        return {
            str(name): typical_factor(group["mean"].to_list()) if group.height == logs else math.nan
            for (name,), group in table.group_by("model", maintain_order=True)
        }

    def nearness(self) -> pl.DataFrame:
        """Return one row per model: its worst error over the logs in each group of figures.

        Of `RATIOS` max |mean sample ÷ log − 1|; ``ks`` the largest distance of width, run time and
        gap; ``rho1`` the largest difference from the log's; ``copied`` the largest excess of copied
        records, in shares of the log's unique ones.
        """
        rows: dict[str, dict[str, float]] = {}
        for row in self.to_polars().filter(pl.col("part") == "whole").to_dicts():
            here, name = rows.setdefault(row["model"], {}), row["measure"]
            for group, measures in RATIOS.items():
                if name in measures and row["log_value"]:
                    _worse(here, group, abs(row["mean"] / row["log_value"] - 1))
            if name in DISTANCES:
                _worse(here, "ks", row["mean"])
            elif name in MEMORY and row["log_value"] is not None:
                _worse(here, "rho1", abs(row["mean"] - row["log_value"]))
            elif name == "copied_excess":
                _worse(here, "copied", row["mean"])
        columns = [*RATIOS, "ks", "rho1", "copied"]
        schema = {"model": pl.String, **dict.fromkeys(columns, pl.Float64)}
        return pl.DataFrame([{"model": name, **row} for name, row in rows.items()], schema=schema)

    def summary(self) -> dict[str, Any]:
        """Return ``{log}.{model}.{figure}`` → mean, and each model's typical factors."""
        flat: dict[str, Any] = {"seed": self.seed, "logs": list(self.whole)}
        for halves in (False, True) if self.halves else (False,):
            for ratio in WAITS:
                for model, factor in self.typical(ratio, halves=halves).items():
                    flat[f"typical.{model}.{'halves.' * halves}{ratio}"] = factor
        for row in self.to_polars().to_dicts():
            part = "" if row["part"] == "whole" else "halves."
            key = f"{row['log']}.{row['model']}.{part}{row['measure']}"
            flat |= {key: row["mean"], f"{key}.low": row["low"], f"{key}.high": row["high"]}
        return flat


def typical_factor(ratios: Sequence[float]) -> float:
    """2^(mean |log₂ ratio|); NaN if there is none, or one isn't positive."""
    values = np.asarray(ratios, dtype=np.float64)
    if values.size == 0 or not np.all(values > 0):
        return math.nan
    return float(2 ** np.abs(np.log2(values)).mean())


def judge_models(
    workloads: Mapping[str, Workload],
    families: Mapping[str, Family],
    *,
    given: Mapping[str, Sequence[Workload]] | None = None,
    replicates: int = 10,
    halves: bool = False,
    rng: Rng = None,
    run: Run = in_turn,
    progress: Progress | None = None,
) -> ModelTable:
    """Fit models to logs, sample each several times, and set every sample beside its log.

    Parameters
    ----------
    workloads
        Logs by name.
    families
        Models by name: `onega.models.MODELS`, some of them, or anything with ``fit`` and
        ``sample``.
    given
        Samples that others have made, by name; compared with every log, on its machine.
    replicates
        Samples of each model.
    halves
        Also fit to the first half of each log's time, and compare with the second half.
    run
        How tasks are done. The result is the same for any: sample k of a model has its own rng
        path, whichever other models are judged.
    """
    if not workloads:
        raise ModelError("at least one log is needed")
    if replicates < 1:
        raise ModelError(f"replicates must be at least 1, got {replicates}")
    seed = seed_sequence(rng)
    trials = [_Trial(name, log, log, given or {}) for name, log in workloads.items()]
    if halves:
        trials += [_halved(name, log) for name, log in workloads.items()]
    judge = _Judge(families, replicates, seed, run, _Steps(progress, 2 * len(trials)))
    found = [judge.judge(one) for one in trials]
    count = len(workloads)
    return ModelTable(
        {trial.name: one for trial, one in zip(trials[:count], found, strict=False)},
        {trial.name: one for trial, one in zip(trials[count:], found[count:], strict=True)},
        tuple(judge.missing),
        describe_seed(seed),
    )


class _Trial(NamedTuple):
    """A log: what models are fitted to, and what their samples are compared with."""

    name: str
    learnt: Workload
    judged: Workload
    given: Mapping[str, Sequence[Workload]]

    @property
    def whole(self) -> bool:
        return self.learnt is self.judged


class _Steps:
    """Progress over stages of equal weight, each of several tasks."""

    def __init__(self, progress: Progress | None, stages: int) -> None:
        self._progress, self._stages, self._stage = progress, stages, 0

    def begin(self, tasks: int) -> Any:  # noqa: ANN401
        """Return what is called with the number of this stage's tasks that are done."""
        before, self._stage = self._stage, self._stage + 1

        def done(count: int) -> None:
            if self._progress is not None:
                self._progress((before + count / tasks) / self._stages)

        return done


class _Judge:
    """Fits and samples, one log after the other."""

    def __init__(
        self,
        families: Mapping[str, Family],
        replicates: int,
        seed: SeedSequence,
        run: Run,
        steps: _Steps,
    ) -> None:
        self.families, self.replicates, self.seed = families, replicates, seed
        self.run, self.steps = run, steps
        self.missing: list[Missing] = []

    def judge(self, trial: _Trial) -> ModelComparison:
        names = [*self.families, *trial.given]
        streams = {name: 1 + _number(name, names) for name in names}
        items = [(name, self.families[name], streams[name]) for name in self.families]
        shared = (trial.learnt, self.seed, trial.whole)
        fits = self.run(_fit, items, shared=shared, progress=self.steps.begin(len(items)))
        samples: dict[str, Samples] = {}
        copied: dict[str, dict[str, float]] = {}
        for (name, *_), one in zip(items, fits, strict=True):
            if isinstance(one, OnegaError):
                self.missing.append(Missing(trial.name, name, str(one)))
            else:
                samples[name], copied[name] = one
        samples |= trial.given
        real = Side.of(trial.judged, waits=True)
        size = trial.learnt.table.filter((pl.col("runtime") > 0) & (pl.col("procs") > 0)).height
        bench = Bench(trial.judged, real, samples, size, self.seed, waits=True, examples=False)
        tasks = bench.tasks(self.replicates, streams)
        found = self.run(measure, tasks, shared=bench, progress=self.steps.begin(len(tasks)))
        failed = {one.task.model: str(one.error) for one in found if one.error is not None}
        self.missing += [Missing(trial.name, name, why) for name, why in failed.items()]
        kept = [one for one in found if one.task.model not in failed]
        if not kept:
            raise ModelError(f"{trial.name}: no model could be judged ({self.missing[-1].why})")
        return comparison_of(kept, self.seed, copied)


def _fit(
    item: tuple[str, Family, int], shared: tuple[Workload, SeedSequence, bool]
) -> tuple[Sampler, dict[str, float]] | OnegaError:
    """Fit a model; and, if the log is judged by itself, measure what it copies."""
    _, family, stream = item
    workload, seed, whole = shared
    try:
        fitted = family.fit(workload, rng=child(seed, 0, stream))
    except OnegaError as error:
        return error
    if not whole:
        return fitted, {}
    other = child(seed, 0, stream, 1)
    try:
        copied = excess_copying(workload, lambda half: family.fit(half, rng=other), rng=other)
    except OnegaError:  # a log that is long enough, half of which isn't
        copied = {}
    return fitted, copied


def _number(name: str, names: Sequence[str]) -> int:
    """Return the number of a model's random numbers: its place among all models, or after them."""
    registered = list(MODELS)
    if name in registered:
        return registered.index(name)
    return len(registered) + [one for one in names if one not in registered].index(name)


def _halved(name: str, log: Workload) -> _Trial:
    submit = log.column("submit")
    middle = (float(submit.min()) + float(submit.max())) / 2
    first, second = log.window(t1=middle), log.window(t0=middle)
    return _Trial(name, first, second, {ITSELF: [first]})


def _long(comparison: ModelComparison) -> pl.DataFrame:
    """Return the figures of samples, with the log's own beside them where there is one."""
    table = comparison.to_polars()
    first = comparison.rows.row(0, named=True)
    own = table["measure"].str.replace("_synthetic$", "_real")
    values = [
        float(first[real]) if real != name and first.get(real) is not None else None
        for name, real in zip(table["measure"], own, strict=True)
    ]
    kept = table.with_columns(
        pl.Series("log_value", values, dtype=pl.Float64),
        pl.col("measure").str.replace("_synthetic$", ""),
    ).filter(~pl.col("measure").str.ends_with("_real"))
    return kept.select("model", "measure", "mean", "low", "high", "log_value", "replicates")


def _worse(row: dict[str, float], key: str, value: float) -> None:
    row[key] = max(row.get(key, 0.0), value)

"""How long users think their jobs will run (Song 2006, chapter 4).

The accuracy, run time / estimate (4.1), depends on the run time: the longer a job, the better it
was estimated. For every run-time class ⌊log₂ T⌋ a Beta law is matched by moments, then its
parameters are smoothed over the classes, log-linear in T. Where many jobs outlive their estimate
by more than a tenth (LANL) a Gamma law takes the Beta's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError, suggest
from onega.core.rng import Rng, generator
from onega.core.types import Floats
from onega.core.workload.distances import ks_distance
from onega.models.jobs.alignment import HOUR, Alignment
from onega.models.jobs.laws import fit_gamma
from onega.models.parts import Part

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.models.jobs.jobs import Jobs

HIGHEST_ACCURACY = 1.1
"""Jobs beyond it are left out of the Beta law (§4.2.1)."""

UPPER_BOUND = 60 * HOUR
"""Seconds; the thesis's bound of estimates (§4.3.2), for models of several logs."""

_LEAST_IN_CLASS = 20

JUDGED = 20_000
"""Jobs on which ``auto`` tries the models."""


class EstimateModel(Part):
    """Base: a family says `learn` (from pairs) and `draw`."""

    @classmethod
    def learn(cls, runtime: Floats, estimate: Floats, *, bound: float | None = None) -> Self:
        """Learn from run times and estimates, both positive, in seconds."""
        raise NotImplementedError

    def draw(self, runtime: Floats, rng: Generator) -> Floats:
        """Draw an estimate, in whole seconds, for each run time."""
        raise NotImplementedError

    @classmethod
    def fit(
        cls, *workloads: Workload, bound: float | None = None, learn_alignment: bool = False
    ) -> Self:
        """Learn from one or several logs (Table 4.9); jobs without estimate are left out.

        Parameters
        ----------
        bound
            Seconds; no estimate will be longer. By default the longest one seen.
        learn_alignment
            Learn the round values and their probability from the logs instead of taking Table 4.6
            and 0.8; of no use to models that keep the values themselves.
        """
        pairs = [_pairs(one) for one in workloads]
        runtime = np.concatenate([r for r, _ in pairs]) if pairs else np.empty(0)
        estimate = np.concatenate([e for _, e in pairs]) if pairs else np.empty(0)
        _check(cls.KIND, runtime)
        model = cls.learn(runtime, estimate, bound=bound)
        if learn_alignment and hasattr(model, "alignment"):
            return replace(model, alignment=Alignment.fit(estimate))  # type: ignore[type-var]
        return model

    def recover(self, workload: Workload, *, rng: Rng = None) -> Workload:
        """Fill the estimates that a log lacks (§4.4.2); those it has stay.

        The provenance counts them, and the log's report has a finding ``recovered_estimate`` with
        examples, so that they aren't taken for what users said.
        """
        import polars as pl

        from onega.core.workload.report import Finding, Report

        has = pl.col("runtime").is_not_null() & (pl.col("runtime") > 0)
        missing = (pl.col("estimate").is_null() & has).alias("missing")
        mask = workload.table.select(missing)["missing"].to_numpy()
        runtime = workload.table["runtime"].to_numpy()[mask]
        filled = workload.table["estimate"].to_numpy().copy()
        filled[mask] = self.draw(runtime, generator(rng))
        values = pl.Series("estimate", filled).fill_nan(None)
        note = f"recovered {runtime.size} missing estimates with the {self.KIND} model"
        result = workload.with_columns(values, note=note)
        why = f"the estimate was missing and was drawn from the {self.KIND} model"
        before = workload.table.filter(pl.Series(mask))
        found = Finding.of("recovered_estimate", "changed", why, before)
        report = result.meta.report + Report.of([found])
        return type(workload)(result.table, replace(result.meta, report=report))


@dataclass(frozen=True, eq=False)
class BetaEstimates(EstimateModel):
    """Beta accuracy with log₂ p = a₁ log₂ T + b₁ and log₂ log₂ q = a₂ log₂ T + b₂ (§4.3.2).

    Attributes
    ----------
    p_slope, p_level, q_slope, q_level
        a₁, b₁, a₂, b₂.
    highest
        The upper bound b of the accuracy (the lower bound a is 0).
    shortest, longest
        Seconds: run times outside are treated as these, because the lines are not meant beyond.
    bound
        Seconds: no estimate is longer.
    alignment
        To round values.
    """

    KIND: ClassVar[str] = "beta"
    p_slope: float
    p_level: float
    q_slope: float
    q_level: float
    highest: float = HIGHEST_ACCURACY
    shortest: float = 1.0
    longest: float = 2.0**19
    bound: float = UPPER_BOUND
    alignment: Alignment = field(default_factory=Alignment)

    @classmethod
    def learn(cls, runtime: Floats, estimate: Floats, *, bound: float | None = None) -> Self:
        """Match a Beta law per run-time class by moments, and fit the two lines to the classes.

        Every class counts once, as in the text; weighted by their jobs, a log with many jobs of one
        class would decide what is drawn for another log (Table 4.9).
        """
        where, p, q = beta_shapes(runtime, estimate)
        # log₂ log₂ q needs q > 1: classes whose accuracies pile up at both ends
        # have no part in q's line.
        proper = q > 1.02
        if proper.sum() < 2:
            raise ModelError(
                "beta: fewer than two run-time classes have accuracies that differ; "
                "Tsafrir's model may fit"
            )
        line_p = _line(where, np.log2(p))
        line_q = _line(where[proper], np.log2(np.log2(q[proper])))
        return cls(*line_p, *line_q, **_limits(runtime, estimate, bound))

    def shapes(self, runtime: Floats) -> tuple[Floats, Floats]:
        """p(T) and q(T)."""
        logs = np.log2(np.clip(runtime, self.shortest, self.longest))
        p = np.exp2(np.clip(self.p_slope * logs + self.p_level, -10, 10))
        q = np.exp2(np.exp2(np.clip(self.q_slope * logs + self.q_level, -10, 4)))
        return p, q

    def draw(self, runtime: Floats, rng: Generator) -> Floats:
        """Draw an accuracy, divide, align, bound."""
        p, q = self.shapes(runtime)
        accuracy = np.maximum(rng.beta(p, q) * self.highest, 1e-9)
        return _finish(runtime / accuracy, rng.random(runtime.size), self.alignment, self.bound)


@dataclass(frozen=True, eq=False)
class GammaEstimates(EstimateModel):
    """Gamma accuracy with log₂ γ and log₂ β linear in log₂ T, for logs like LANL (§4.3.2)."""

    KIND: ClassVar[str] = "gamma-estimates"
    shape_slope: float
    shape_level: float
    scale_slope: float
    scale_level: float
    shortest: float = 1.0
    longest: float = 2.0**19
    bound: float = UPPER_BOUND
    alignment: Alignment = field(default_factory=Alignment)

    @classmethod
    def learn(cls, runtime: Floats, estimate: Floats, *, bound: float | None = None) -> Self:
        """Fit a Gamma law per run-time class by maximum likelihood, then the two lines by jobs.

        Not by moments: LANL has accuracies up to 17 000, which alone would decide them.
        """
        accuracy = runtime / estimate
        classes = np.frexp(runtime)[1] - 1
        _, _, weight, where = _moments(accuracy, classes)
        if where.size < 2:
            raise ModelError("gamma: fewer than two run-time classes have accuracies that differ")
        laws = [fit_gamma(accuracy[classes == k - 0.5]) for k in where]
        shape, scale = (np.array(values) for values in zip(*laws, strict=True))
        lines = (*_line(where, np.log2(shape), weight), *_line(where, np.log2(scale), weight))
        return cls(*lines, **_limits(runtime, estimate, bound))

    def draw(self, runtime: Floats, rng: Generator) -> Floats:
        """Draw an accuracy, divide, align, bound."""
        logs = np.log2(np.clip(runtime, self.shortest, self.longest))
        shape = np.exp2(np.clip(self.shape_slope * logs + self.shape_level, -20, 20))
        scale = np.exp2(np.clip(self.scale_slope * logs + self.scale_level, -20, 20))
        accuracy = np.maximum(rng.gamma(shape, scale), 1e-9)
        return _finish(runtime / accuracy, rng.random(runtime.size), self.alignment, self.bound)


def fit_estimates(jobs: Jobs, name: str) -> EstimateModel | None:
    """Learn the estimate model of a given name (``"auto"``, ``"none"``, …) from a log's jobs."""
    from onega.models.estimates.tsafrir import TsafrirEstimates

    kinds: dict[str, type[EstimateModel]] = {
        "beta": BetaEstimates,
        "gamma": GammaEstimates,
        "tsafrir": TsafrirEstimates,
    }
    if name not in ("auto", "none", *kinds):
        raise ModelError(f"no estimates {name!r}; {suggest(name, ['auto', 'none', *kinds])}")
    if name == "none" or (name == "auto" and not jobs.has_estimates):
        return None
    known = jobs.estimate > 0
    runtime, estimate = jobs.runtime[known], jobs.estimate[known]
    _check(name, runtime)
    if name != "auto":
        return kinds[name].learn(runtime, estimate)
    found: list[tuple[float, int, EstimateModel]] = []
    for kind in kinds.values():
        try:
            model = kind.learn(runtime, estimate)
        except ModelError:  # accuracies without spread have no law
            continue
        found.append((misfit(model, runtime, estimate), len(found), model))
    return min(found)[2]


def misfit(model: EstimateModel, runtime: Floats, estimate: Floats) -> float:
    """KS distance of drawn estimates from the log's, plus that of the accuracies.

    Either alone can be had for nothing: popular values at random have the law of the estimates,
    an accuracy at random that of the accuracies. Of longer logs every k-th job is drawn for, some
    `JUDGED` of them; the draw is always the same one.
    """
    every = slice(None, None, max(1, runtime.size // JUDGED))
    drawn = model.draw(runtime[every], generator(0))
    accuracy = ks_distance(runtime / estimate, runtime[every] / drawn)
    return ks_distance(estimate, drawn) + accuracy


def beta_shapes(runtime: Floats, estimate: Floats) -> tuple[Floats, Floats, Floats]:
    """Match a Beta law to the accuracies of each class ⌊log₂ T⌋ by moments (§4.3.2, corrected).

    p = x̄ (x̄(1 − x̄)/s² − 1) and q = (1 − x̄)(x̄(1 − x̄)/s² − 1), with x the accuracy over
    `HIGHEST_ACCURACY`. Returns the middles of the classes (log₂ s), p and q.
    """
    accuracy = runtime / estimate
    kept = accuracy <= HIGHEST_ACCURACY
    classes = np.frexp(runtime[kept])[1] - 1
    mean, variance, _, where = _moments(accuracy[kept] / HIGHEST_ACCURACY, classes)
    common = mean * (1 - mean) / variance - 1
    good = (common > 0) & (mean > 0)
    return where[good], (mean * common)[good], ((1 - mean) * common)[good]


def _pairs(workload: Workload) -> tuple[Floats, Floats]:
    import polars as pl

    table = workload.table.filter((pl.col("runtime") > 0) & (pl.col("estimate") > 0))
    return table["runtime"].to_numpy(), table["estimate"].to_numpy()


def _check(kind: str, runtime: Floats) -> None:
    if runtime.size < 50:
        raise ModelError(
            f"{kind}: at least 50 jobs with a run time and an estimate are needed, "
            f"got {runtime.size}"
        )


def _moments(values: Floats, classes: Floats) -> Sequence[Floats]:
    """Mean, variance, number of jobs and class, for the classes with enough, differing jobs."""
    groups, place = np.unique(classes, return_inverse=True)
    count = np.bincount(place).astype(np.float64)
    mean = np.bincount(place, weights=values) / count
    square = np.bincount(place, weights=(values - mean[place]) ** 2)
    variance = square / np.maximum(count - 1, 1)
    good = (count >= _LEAST_IN_CLASS) & (variance > 1e-12)
    # A class stands at its middle on the logarithmic scale.
    return mean[good], variance[good], count[good], groups[good] + 0.5


def _limits(runtime: Floats, estimate: Floats, bound: float | None) -> dict[str, Any]:
    """Return the run times between which the lines are meant, and the longest estimate."""
    longest = float(estimate.max()) if bound is None else float(bound)
    return {"shortest": float(runtime.min()), "longest": float(runtime.max()), "bound": longest}


def _line(x: Floats, y: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """Least squares: slope and level."""
    centre = np.average(x, weights=weight)
    spread = np.average((x - centre) ** 2, weights=weight)
    slope = np.average((x - centre) * y, weights=weight) / spread if spread > 0 else 0.0
    return float(slope), float(np.average(y, weights=weight) - slope * centre)


def _finish(estimate: Floats, uniforms: Floats, alignment: Alignment, bound: float) -> Floats:
    bounded = np.minimum(estimate, bound)
    aligned = np.minimum(alignment.apply(bounded, uniforms), bound)
    whole: Floats = np.maximum(np.ceil(aligned), 1.0)
    return whole

"""Where replicates come from: resamples of a log, a model, or a function of one's own.

Workload k is a pure function of (source, seed, k): it can be made alone, on any worker, and is the
same for every policy and machine that is tried on it (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.random import Generator, SeedSequence

from onega.core.errors import ExperimentError, suggest
from onega.core.rng import Rng, child, describe_seed, generator, seed_sequence
from onega.core.workload.workload import Workload
from onega.experiment.replicates.resampling import By, refuse_too_short, resample, whole_weeks
from onega.experiment.stability.saturation import Samples

Source = Workload | Samples | Callable[[Generator], Workload]
"""A log (resampled), a model (sampled), or a function that draws a workload."""

Resample = Literal["weeks", "users", "none"]
RESAMPLES: Final = ("weeks", "users", "none")

_JOBS, _RUN = 0, 1
"""Streams of a replicate: one for its workload, one for what is random in the simulation."""

_AS_IT_IS = ", or take the log as it is (--resample none), without intervals"


@dataclass(frozen=True, eq=False, slots=True)
class Draws:
    """Workloads by number.

    Attributes
    ----------
    source
        A log, a model, or a function of a `numpy.random.Generator`.
    seed
        Of everything; replicate k has the children of number k.
    resample
        For a log: by ``"weeks"``, by ``"users"``, or ``"none"``: the log itself, once.
    jobs
        For a model: how many jobs a workload has.
    """

    source: Source
    seed: SeedSequence
    resample: Resample = "weeks"
    jobs: int | None = None

    def __post_init__(self) -> None:
        if self.resample not in RESAMPLES:
            raise ExperimentError(
                f"unknown way to resample {self.resample!r}; "
                f"{suggest(str(self.resample), RESAMPLES)}"
            )
        if isinstance(self.source, Workload):
            if self.jobs is not None:
                raise ExperimentError("jobs= is for models; a resample is as long as its log")
        elif isinstance(self.source, Samples):
            if self.jobs is None or self.jobs < 1:
                raise ExperimentError(
                    f"a model needs the number of jobs to draw, jobs=…; got {self.jobs}"
                )
        elif not callable(self.source):
            raise ExperimentError(
                "replicates come from a Workload, a model with sample(n, rng=), or a function of "
                f"a numpy Generator; got {type(self.source).__name__}"
            )

    @property
    def resampled(self) -> bool:
        """Whether replicates are bootstrap resamples of one log."""
        return isinstance(self.source, Workload) and self.resample != "none"

    @property
    def drawn_from(self) -> int | None:
        """How many weeks or users a log has to draw from; None if it isn't resampled."""
        if not (isinstance(self.source, Workload) and self.resampled):
            return None
        if self.resample == "weeks":
            return whole_weeks(self.source)
        return self.source.table["user"].drop_nulls().n_unique()

    @property
    def single(self) -> bool:
        """Whether there is only one workload, the log itself."""
        return isinstance(self.source, Workload) and self.resample == "none"

    @property
    def procs(self) -> int | None:
        """Processors of the machine that the source knows, if it does."""
        if isinstance(self.source, Workload):
            return self.source.meta.procs
        size = getattr(self.source, "machine", None)
        return size if isinstance(size, int) else None

    def workload(self, k: int, load: float = 1.0) -> Workload:
        """Return workload k, at ``load`` times the source's own load."""
        stream = child(self.seed, k, _JOBS)
        if isinstance(self.source, Workload):
            if self.resample == "none":
                return self.source if load == 1 else self.source.scale_load(load)
            refuse_too_short(self.source, _AS_IT_IS)
            by: By = "users" if self.resample == "users" else "weeks"
            return resample(self.source, by, rng=stream, load=load)
        if isinstance(self.source, Samples):
            return self._sampled(stream, load)
        drawn = self.source(generator(stream))
        return drawn if load == 1 else drawn.scale_load(load)

    def _sampled(self, stream: SeedSequence, load: float) -> Workload:
        from onega.models.base import WorkloadModel

        assert isinstance(self.source, Samples)
        assert self.jobs is not None
        drawn = self.source.sample(self.jobs, rng=stream)
        if load == 1 or not drawn.span:
            return drawn
        if not isinstance(self.source, WorkloadModel):
            return drawn.scale_load(load)
        # The same jobs again, coming at another rate: the model keeps its daily cycle.
        own = busy_processors(drawn) / self.source.machine
        return self.source.sample(self.jobs, rng=stream, load=load * own)

    def run_seed(self, k: int) -> SeedSequence:
        """Return the seed of what is random in simulations of workload k."""
        return child(self.seed, k, _RUN)

    def __str__(self) -> str:
        return f"{self._words()}, rng={describe_seed(self.seed)}"

    def _words(self) -> str:
        """Say where replicates come from."""
        if isinstance(self.source, Workload):
            name = self.source.meta.source or "a table"
            return name if self.resample == "none" else f"{name}, resampled by {self.resample}"
        if isinstance(self.source, Samples):
            name = getattr(self.source, "KIND", type(self.source).__name__)
            return f"model {name}, {self.jobs} jobs each"
        return f"function {getattr(self.source, '__name__', type(self.source).__name__)}"


def make_draws(
    source: Source, *, resample: Resample = "weeks", jobs: int | None = None, rng: Rng = None
) -> Draws:
    """Make workloads by number from whatever `onega.replicate` takes as a source."""
    return Draws(source, seed_sequence(rng), resample, jobs)


def busy_processors(workload: Workload) -> float:
    """Σ procs·runtime / span: how many processors the jobs keep busy while they come."""
    area = float(np.nansum(workload.column("procs") * workload.column("runtime")))
    return area / workload.span if workload.span > 0 else np.inf

"""Launch and completion overheads a_i and c_i (Baranov et al. 2019, III): measured, fitted, drawn.

w_i = a_i + b_i + c_i: a job's processing time is its launch, its own run time and its completion;
a and c vary from run to run.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import TypeAdapter, ValidationError

from onega.core.documents import first_problem, read_json
from onega.core.errors import SimulationError
from onega.core.files import write_text
from onega.core.machine.laws import Law
from onega.core.rng import Rng, generator
from onega.core.types import Floats
from onega.core.workload.workload import Workload
from onega.simulation.slurm.run import SlurmDelays


@dataclass(frozen=True, slots=True)
class OverheadLaw:
    """A gamma law of seconds with shape k = m²/v and scale θ = v/m; ``mean`` 0 stands for none.

    Fitted by the moments m and v, so that draws have the mean and the spread that were measured;
    what the clocks' difference makes negative counts as 0.
    """

    mean: float
    sd: float
    median: float
    count: int

    @classmethod
    def fit(cls, values: npt.ArrayLike) -> OverheadLaw:
        """Fit to measured seconds; NaN are left out."""
        sample = np.asarray(values, dtype=np.float64)
        sample = np.maximum(sample[np.isfinite(sample)], 0.0)
        if sample.size == 0:
            return cls.none()
        mean, sd = float(sample.mean()), float(sample.std())
        return cls(mean, sd, float(np.median(sample)), int(sample.size))

    @classmethod
    def none(cls) -> OverheadLaw:
        """No overhead."""
        return cls(0.0, 0.0, 0.0, 0)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw seconds."""
        return self.law.draw(count, rng)

    @property
    def law(self) -> Law:
        """The law itself."""
        if self.mean == 0.0 or self.sd == 0.0:
            return Law("fixed", self.mean)
        return Law("gamma", self.mean, (self.mean / self.sd) ** 2)


@dataclass(frozen=True, slots=True)
class Release:
    """How long nodes are kept after a job's end: ``base`` + ``per_node`` · width, seconds.

    ``per_node`` is what a node's report takes; the reports of jobs that end together queue up.
    """

    base: float = 0.0
    per_node: float = 0.0
    count: int = 0

    @classmethod
    def fit(cls, width: npt.ArrayLike, gap: npt.ArrayLike) -> Release:
        """Fit a line to the lower quartiles of the gaps in classes of width (powers of two).

        A gap is at least the release, and longer where nobody was ready or where the nodes of
        other jobs reported first.
        """
        widths, gaps = np.asarray(width, dtype=np.float64), np.asarray(gap, dtype=np.float64)
        if widths.size == 0:
            return cls()
        group = np.floor(np.log2(widths))
        kinds = np.unique(group)
        x = np.array([np.median(widths[group == k]) for k in kinds])
        y = np.array([np.quantile(gaps[group == k], 0.25) for k in kinds])
        weight = np.sqrt([np.count_nonzero(group == k) for k in kinds])
        if kinds.size == 1:
            return cls(float(y[0]), 0.0, int(widths.size))
        slope, base = np.polyfit(x, y, 1, w=weight)
        return cls(max(0.0, float(base)), max(0.0, float(slope)), int(widths.size))

    def seconds(self, width: npt.ArrayLike) -> Floats:
        """Return the release of jobs so wide."""
        return self.base + self.per_node * np.asarray(width, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Overheads:
    """Laws of a system's overheads, in seconds.

    A simulated machine takes those of launch and completion: ``Cluster(…, overheads=laws)``.

    Attributes
    ----------
    submission
        What a submission takes, until the job manager's own stamp; the next one waits for it.
    launch
        a: from the start that the job manager notes to the job's first instruction. In virtual
        nodes a job ends at the noted start plus its run time, so that it isn't in w.
    completion
        c: from the job's last instruction to the end that the job manager notes.
    release
        From then on until the job's nodes can be used again.
    """

    submission: OverheadLaw
    launch: OverheadLaw
    completion: OverheadLaw
    release: Release

    def apply(self, workload: Workload, *, rng: Rng = None) -> Workload:
        """Return the workload with run times as the job manager would note them: b + c.

        For models that know nothing else of overheads (EASY, conservative, …).
        """
        extra = self.completion.draw(len(workload), generator(rng))
        return workload.with_columns(
            (pl.col("runtime") + pl.Series(extra)).alias("runtime"),
            note=f"overheads added: {self.completion.mean:.3g} s on average",
        )

    def delays(self, workload: Workload, *, rng: Rng = None) -> SlurmDelays:
        """Draw what the model of Slurm takes: late submissions, late ends, releases."""
        draw, jobs = generator(rng), len(workload)
        return SlurmDelays(
            self.submission.draw(jobs, draw),
            self.completion.draw(jobs, draw),
            np.full(jobs, self.release.base),
            self.release.per_node * workload.column("procs"),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the laws as JSON."""
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Overheads:
        """Read what `save` wrote."""
        given = read_json(path, SimulationError)
        try:
            return TypeAdapter(cls).validate_python(given)
        except ValidationError as error:
            told = first_problem(error)
            raise SimulationError(f"{path} holds no laws of overheads: {told}") from None

    def summary(self) -> dict[str, float]:
        """Mean and median of each law; the release's line."""
        flat: dict[str, float] = {}
        for name in ("submission", "launch", "completion"):
            law: OverheadLaw = getattr(self, name)
            flat |= {f"{name}_mean": law.mean, f"{name}_median": law.median}
        line = self.release
        return flat | {"release_base": line.base, "release_per_node": line.per_node}

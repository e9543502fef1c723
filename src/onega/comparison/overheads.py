"""Launch and completion overheads a_i and c_i (seed 004, III): measured, fitted, drawn.

w_i = a_i + b_i + c_i: a job's processing time is its launch, its own run time and its completion;
a and c vary from run to run.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import SimulationError
from onega.core.rng import Rng, generator
from onega.core.schedule import Floats
from onega.core.workload import Workload

LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class OverheadLaw:
    """A lognormal law of seconds: ln x ~ N(μ, σ²); ``mean`` 0 stands for none at all.

    Fitted by moments of ln x, which are its maximum-likelihood estimates; values below a
    microsecond (the clock's resolution) count as one.
    """

    mu: float
    sigma: float
    mean: float
    count: int

    @classmethod
    def fit(cls, values: npt.ArrayLike) -> OverheadLaw:
        """Fit to measured seconds; NaN are left out."""
        sample = np.asarray(values, dtype=np.float64)
        sample = sample[np.isfinite(sample)]
        if sample.size == 0:
            return cls.none()
        logs = np.log(np.maximum(sample, LEAST))
        mean = float(np.maximum(sample, 0).mean())
        return cls(float(logs.mean()), float(logs.std()), mean, int(sample.size))

    @classmethod
    def none(cls) -> OverheadLaw:
        """No overhead."""
        return cls(-math.inf, 0.0, 0.0, 0)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw seconds."""
        if self.count == 0:
            return np.zeros(count)
        return np.asarray(rng.lognormal(self.mu, self.sigma, count))

    @property
    def median(self) -> float:
        """The law's median, seconds."""
        return math.exp(self.mu) if self.count else 0.0


@dataclass(frozen=True, slots=True)
class Overheads:
    """Laws of a system's overheads, in seconds.

    Attributes
    ----------
    submission
        From the instant in the stream to the job manager's own stamp.
    launch
        a: from the start that the job manager notes to the job's first instruction.
    completion
        c: from the job's last instruction to the end that the job manager notes.
    overrun
        a and c as far as they lengthen the processing time: (end − start) − run time. In virtual
        nodes a job ends at the noted start plus its run time, so that the launch isn't in it.
    """

    submission: OverheadLaw
    launch: OverheadLaw
    completion: OverheadLaw
    overrun: OverheadLaw

    def apply(self, workload: Workload, *, rng: Rng = None) -> Workload:
        """Return the workload with run times as the job manager would note them: b + overhead."""
        extra = self.overrun.draw(len(workload), generator(rng))
        return workload.with_columns(
            (pl.col("runtime") + pl.Series(extra)).alias("runtime"),
            note=f"overheads added: {self.overrun.mean:.3g} s on average",
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the laws as JSON."""
        Path(path).write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Overheads:
        """Read what `save` wrote."""
        try:
            given: dict[str, Any] = json.loads(Path(path).read_text())
            return cls(**{name: OverheadLaw(**law) for name, law in given.items()})
        except (ValueError, TypeError) as error:
            raise SimulationError(f"{path} holds no laws of overheads: {error}") from None

    def summary(self) -> dict[str, float]:
        """Mean and median of each law."""
        flat: dict[str, float] = {}
        for name in ("submission", "launch", "completion", "overrun"):
            law: OverheadLaw = getattr(self, name)
            flat |= {f"{name}_mean": law.mean, f"{name}_median": law.median}
        return flat

"""Every attribute from its own observed law: the thesis's PDM, the baseline of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import Observed


@dataclass(frozen=True, eq=False, kw_only=True)
class Independent(WorkloadModel):
    """Widths and run times drawn independently of each other and of the job before (§3.1, [14]).

    Attributes
    ----------
    procs
        The multinomial law of widths.
    runtime
        The observed law of run times, in at most a thousand equal shares.
    """

    KIND: ClassVar[str] = "independent"
    TITLE: ClassVar[str] = "observed laws, no memory"
    procs: Observed
    runtime: Observed

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator) -> dict[str, Any]:
        return {
            "procs": Observed.of(jobs.procs, most=None),
            "runtime": Observed.of(jobs.runtime),
        }

    def _draw(self, n: int, rng: Generator) -> Drawn:
        uniforms = rng.random((2, n))
        return Drawn(self.procs.draw(uniforms[0]), self.runtime.draw(uniforms[1]))

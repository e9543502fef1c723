"""What a plan varies, as whole numbers from worst to best: processors, or hundredths of a load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from onega.core.cluster import MOST_PROCS, Cluster
from onega.core.errors import ExperimentError
from onega.core.workload import Workload
from onega.experiment.draws import Draws, busy_processors
from onega.experiment.runs import Case

LOAD_STEP: Final = 0.01
"""Loads are told apart to this part of the source's own."""

FINEST: Final = 0.005
"""Sizes of large machines are told apart to this part of their size."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a source asks of a machine: its widest job, and the processors it keeps busy."""

    widest: int
    busy: float

    @property
    def smallest(self) -> int:
        """Return the fewest processors that can take the work at all."""
        return max(self.widest, math.ceil(self.busy))


def demand(draws: Draws, n: int) -> Demand:
    """Return the largest demand of a log, or of the first n workloads of anything else."""
    if isinstance(draws.source, Workload):
        return _demand(draws.source)
    each = [_demand(draws.workload(k)) for k in range(n)]
    return Demand(max(one.widest for one in each), float(np.mean([one.busy for one in each])))


def _demand(workload: Workload) -> Demand:
    if len(workload) == 0 or not workload.span > 0:
        raise ExperimentError(f"a plan needs jobs submitted at different times; got {workload!r}")
    return Demand(int(np.nanmax(workload.column("procs"))), busy_processors(workload))


@dataclass(frozen=True, slots=True)
class Axis:
    """The range of a search.

    Attributes
    ----------
    vary
        ``"procs"`` or ``"load"``.
    start, worst, best
        Places: where to begin, where targets are hardest to meet, where easiest.
    finest
        The part of a place's size to which places are told apart; neighbours at least.
    at_worst
        What to say if the targets are met even at the worst place.
    """

    vary: Literal["procs", "load"]
    start: int
    worst: int
    best: int
    finest: float
    at_worst: str

    def value(self, place: int) -> int | float:
        """Return what a place stands for."""
        return place if self.vary == "procs" else round(place * LOAD_STEP, 10)

    def case(self, first: Case, place: int) -> Case:
        """Return the case to run at a place."""
        if self.vary == "procs":
            return replace(first, cluster=replace(first.cluster, procs=place))
        return replace(first, load=float(self.value(place)))

    def name(self, value: float | str) -> str:
        """Name a place for a person."""
        return f"{value} processors" if self.vary == "procs" else f"{value:g} times the load"


def size_axis(draws: Draws, machine: Cluster, n: int, most: float | None) -> Axis:
    """Search processors, from what the work needs at least."""
    if machine.nodes or machine.partitions:
        raise ExperimentError(
            "the processors of a machine with nodes or partitions can't be varied; describe it by "
            "its number of processors, or compare machines with onega.trade_off"
        )
    need = demand(draws, n)
    best = MOST_PROCS if most is None else int(most)
    if best < need.smallest:
        raise ExperimentError(
            f"at most {best} processors are too few: the widest job takes {need.widest}, and the "
            f"work keeps {need.busy:.4g} busy"
        )
    why = "the widest job takes as many" if need.widest >= need.busy else "fewer can't do the work"
    return Axis("procs", machine.procs, need.smallest, best, FINEST, why)


def load_axis(draws: Draws, machine: Cluster, n: int, most: float | None) -> Axis:
    """Search factors of the load, up to the one at which all processors are always busy."""
    need = demand(draws, n)
    if need.widest > machine.procs:
        raise ExperimentError(
            f"the widest job takes {need.widest} processors, the machine has {machine.procs}"
        )
    full = machine.procs / need.busy
    top = full if most is None else float(most)
    if not (math.isfinite(top) and top >= LOAD_STEP):
        raise ExperimentError(f"the load to search up to is at least {LOAD_STEP}, got {most}")
    why = "all processors would always be busy" if most is None else "searched no further"
    return Axis("load", round(1 / LOAD_STEP), max(1, int(top / LOAD_STEP)), 1, 0.0, why)

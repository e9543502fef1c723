"""What a plan varies, as whole numbers from worst to best: processors, nodes, parts of a load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from onega.core.errors import ExperimentError
from onega.core.machine.cluster import MOST_PROCS, Cluster
from onega.core.workload.workload import Workload
from onega.experiment.planning.search import find_boundary
from onega.experiment.replicates.draws import Draws, busy_processors
from onega.experiment.replicates.runs import Case
from onega.simulation.machine.machine import find_misfits

UNITS: Final = {"procs": "processors", "nodes": "nodes", "load": "times the load"}
"""What is counted, in words."""

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


def demand(draws: Draws, n: int, load: float = 1.0) -> Demand:
    """Return the largest demand of a log, or of the first n workloads of anything else.

    ``load`` times the source's own load keeps so many times the processors busy.
    """
    if isinstance(draws.source, Workload):
        own = _demand(draws.source)
        return replace(own, busy=load * own.busy)
    each = [_demand(draws.workload(k)) for k in range(n)]
    busy = load * float(np.mean([one.busy for one in each]))
    return Demand(max(one.widest for one in each), busy)


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
        ``"procs"``, ``"nodes"`` or ``"load"``.
    start, worst, best
        Places: where to begin, where targets are hardest to meet, where easiest.
    finest
        The part of a place's size to which places are told apart; neighbours at least.
    at_worst
        What to say if the targets are met even at the worst place.
    group
        For nodes: which group of them, from 0.
    """

    vary: Literal["procs", "nodes", "load"]
    start: int
    worst: int
    best: int
    finest: float
    at_worst: str
    group: int = 0

    def value(self, place: int) -> int | float:
        """Return the number of processors or nodes, or the factor of the load, at a place."""
        return round(place * LOAD_STEP, 10) if self.vary == "load" else place

    def case(self, first: Case, place: int) -> Case:
        """Return the case to run at a place."""
        if self.vary == "procs":
            return replace(first, cluster=replace(first.cluster, procs=place))
        if self.vary == "nodes":
            return replace(first, cluster=with_nodes(first.cluster, self.group, place))
        return replace(first, load=float(self.value(place)))

    def name(self, value: float | str) -> str:
        """Name a place for a person."""
        return place_words(self.vary, value)


def place_words(vary: str, value: float | str) -> str:
    """Name a value of what is varied: ``128 processors``, ``1.2 times the load``, a policy."""
    if vary == "load":
        return f"{value:g} times the load"
    return f"{value} {UNITS[vary]}" if vary in UNITS else str(value)


def with_nodes(machine: Cluster, group: int, count: int) -> Cluster:
    """Return the machine with so many nodes in one of its groups."""
    nodes = list(machine.nodes)
    nodes[group] = replace(nodes[group], count=count)
    return replace(machine, procs=0, nodes=nodes)


def size_axis(first: Case, draws: Draws, n: int, most: float | None) -> Axis:
    """Search processors, from what the work needs at least."""
    machine = first.cluster
    if machine.nodes or machine.partitions:
        raise ExperimentError(
            "the processors of a machine with nodes or partitions can't be varied; vary its nodes "
            "(--vary nodes), or describe it by its number of processors"
        )
    need = demand(draws, n, first.load)
    best = MOST_PROCS if most is None else int(most)
    if best < need.smallest:
        raise ExperimentError(
            f"at most {best} processors are too few: the widest job takes {need.widest}, and the "
            f"work keeps {need.busy:.4g} busy"
        )
    why = "the widest job takes as many" if need.widest >= need.busy else "fewer can't do the work"
    return Axis("procs", machine.procs, need.smallest, best, FINEST, why)


def node_axis(first: Case, draws: Draws, n: int, most: float | None, group: int) -> Axis:
    """Search the nodes of one group, from what the work needs beside the other groups."""
    machine = first.cluster
    if machine.partitions:
        raise ExperimentError(
            "partitions name the nodes that they have, so the number of nodes can't be varied; "
            "leave the partitions out of the machine"
        )
    each = machine.nodes[group].procs
    others = machine.procs - each * machine.nodes[group].count
    need = demand(draws, n, first.load)
    least = max(1, math.ceil((need.smallest - others) / each))
    best = (MOST_PROCS - others) // each if most is None else int(most)
    if best < least:
        raise ExperimentError(
            f"at most {best} nodes are too few: the widest job takes {need.widest} processors, the "
            f"work keeps {need.busy:.4g} busy, and a node has {each}"
        )
    workload = draws.source if isinstance(draws.source, Workload) else draws.workload(0)
    worst = _fewest_that_fit(workload, machine, group, least)
    why = "fewer don't take every job" if worst > least else "fewer can't do the work"
    start = machine.nodes[group].count
    return Axis("nodes", start, min(worst, best), best, FINEST, why, group)


def _fewest_that_fit(workload: Workload, machine: Cluster, group: int, least: int) -> int:
    """Return the fewest nodes, from ``least`` on, on which every job fits.

    A job may need more nodes than its processors do: for its memory, or whole ones.
    """

    def fits(count: int) -> bool:
        return not find_misfits(workload, with_nodes(machine, group, count))

    own = machine.nodes[group].count
    if own <= least or fits(least) or not fits(own):
        return least  # what doesn't fit the machine as it is, the first run refuses by name
    found = find_boundary(fits, own, worst=least, best=own)
    return own if found.met is None else found.met


def load_axis(first: Case, draws: Draws, n: int, most: float | None) -> Axis:
    """Search factors of the load, up to the one at which all processors are always busy."""
    machine = first.cluster
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

"""What a plan varies, as whole numbers from worst to best: processors, nodes, parts of a load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from onega.core.errors import ExperimentError
from onega.core.machine.cluster import MOST_PROCS, Cluster
from onega.core.machine.nodes import MOST_NODES
from onega.core.workload.workload import Workload
from onega.experiment.planning.search import find_boundary
from onega.experiment.replicates.draws import Draws, busy_processors
from onega.experiment.replicates.runs import Case
from onega.simulation.machine.machine import find_misfits

UNITS: Final = {"procs": "processors", "nodes": "nodes", "load": "times the load"}
"""What is counted, in words."""

LOAD_STEP: Final = 0.01
"""Loads are told apart to this part of the source's own."""

FURTHEST: Final = 2.0
"""Up to how many times what keeps all processors busy loads are searched, if nothing is said."""

FINEST: Final = 0.005
"""Sizes of large machines are told apart to this part of their size."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a source asks of a machine: its widest job, and the processors it keeps busy.

    ``busy`` is infinite where all jobs come at once.
    """

    widest: int
    busy: float

    def with_times(self) -> Demand:
        """Return it, or refuse jobs that all come at once: they have no load."""
        if not math.isfinite(self.busy):
            raise ExperimentError("a plan needs jobs submitted at different times")
        return self

    def offered_load(self, case: Case) -> float:
        """Return the work that comes, as a part of what the machine does at its highest rate."""
        rate = max(case.cluster.rates.rates)
        return case.load * self.busy / (case.cluster.procs * rate)


def demand(draws: Draws, n: int) -> Demand:
    """Return the largest demand of a log, or of the first n workloads of anything else."""
    if isinstance(draws.source, Workload):
        return _demand(draws.source)
    each = [_demand(draws.workload(k)) for k in range(n)]
    return Demand(max(one.widest for one in each), float(np.mean([one.busy for one in each])))


def _demand(workload: Workload) -> Demand:
    widest = int(np.nanmax(workload.column("procs"))) if len(workload) else 0
    return Demand(widest, busy_processors(workload))


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

    def lasting(self, first: Case, need: Demand) -> int | None:
        """Return the worst place at which the offered load is below 1; None if there is none."""

        def lasts(place: int) -> bool:
            return need.offered_load(self.case(first, place)) < 1

        return find_boundary(lasts, self.start, worst=self.worst, best=self.best).met

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


def size_axis(first: Case, need: Demand, most: float | None) -> Axis:
    """Search processors, from those of the widest job on."""
    machine = first.cluster
    if machine.nodes or machine.partitions:
        raise ExperimentError(
            "the processors of a machine with nodes or partitions can't be varied; vary its nodes "
            "(--vary nodes), or describe it by its number of processors"
        )
    best = _end(MOST_PROCS, most)
    if best < need.widest:
        raise ExperimentError(
            f"at most {best} processors are too few: the widest job takes {need.widest}"
        )
    why = "the widest job takes as many"
    return Axis("procs", machine.procs, need.widest, best, FINEST, why)


def group_of(machine: Cluster, number: str) -> int:
    """Return which group of nodes is varied, from 0."""
    count = len(machine.nodes)
    if count == 0:
        raise ExperimentError(
            "the machine has no nodes to vary; describe them in its file ([[nodes]]), "
            "or vary its processors"
        )
    if not number and count > 1:
        names = ", ".join(f"nodes:{place}" for place in range(1, count + 1))
        raise ExperimentError(
            f"the machine has {count} groups of nodes; say with --vary which one: {names}"
        )
    place = int(number or 1) if (number or "1").isdigit() else 0
    if not 1 <= place <= count:
        raise ExperimentError(f"there is no group of nodes {number!r}; the machine has {count}")
    return place - 1


def node_axis(first: Case, draws: Draws, need: Demand, most: float | None, group: int) -> Axis:
    """Search the nodes of one group, from what the widest job needs beside the other groups."""
    machine = first.cluster
    if machine.partitions:
        raise ExperimentError(
            "partitions name the nodes that they have, so the number of nodes can't be varied; "
            "leave the partitions out of the machine"
        )
    each = machine.nodes[group].procs
    start = machine.nodes[group].count
    others = machine.procs - each * start
    least = max(1, math.ceil((need.widest - others) / each))
    possible = MOST_NODES - (sum(one.count for one in machine.nodes) - start)
    possible = min(possible, (MOST_PROCS - others) // each)
    best = _end(possible, most)
    if best < least:
        raise ExperimentError(
            f"at most {best} nodes are too few: the widest job takes {need.widest} processors, and "
            f"a node has {each}"
        )
    workload = draws.source if isinstance(draws.source, Workload) else draws.workload(0)
    worst = _fewest_that_fit(workload, machine, group, least)
    why = "fewer don't take every job" if worst > 1 else "a group has a node at least"
    return Axis("nodes", start, min(worst, best), best, FINEST, why, group)


def _end(possible: int, most: float | None) -> int:
    """Return where a search for a size ends: at what is possible, or before it if that is said."""
    return possible if most is None else int(min(possible, max(0.0, most)))


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


def load_axis(first: Case, need: Demand, most: float | None) -> Axis:
    """Search factors of the load, well beyond the one at which all processors are always busy."""
    machine = first.cluster
    if need.widest > machine.procs:
        raise ExperimentError(
            f"the widest job takes {need.widest} processors, the machine has {machine.procs}"
        )
    top = max(1.0, FURTHEST / need.offered_load(first)) if most is None else float(most)
    if not (math.isfinite(top) and top >= LOAD_STEP):
        raise ExperimentError(f"the load to search up to is at least {LOAD_STEP}, got {most}")
    worst = max(1, int(top / LOAD_STEP))
    return Axis("load", round(1 / LOAD_STEP), worst, 1, 0.0, "no more was tried")

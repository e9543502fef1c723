"""A table of events on a machine: nodes and jobs found, reservations placed, every row checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np

from onega.core.machine.events import OF_JOBS, Events
from onega.core.machine.nodes import numbers
from onega.core.workload.workload import Workload
from onega.kernels.machine import codes
from onega.simulation.machine.layout import Layout
from onega.simulation.machine.problem import Reservation
from onega.simulation.machine.shapes import row_of_job

CODES = {
    "cancel": codes.CANCEL,
    "interrupt": codes.INTERRUPT,
    "kill": codes.KILL,
    "fail": codes.FAIL,
    "return": codes.RETURN,
    "drain": codes.DRAIN,
}

Entry = tuple[float, int, int, int]
"""Time, code, row of a job (−1: none), node (−1: none)."""


def needs_nodes(events: Events) -> bool:
    """Tell whether events speak of nodes, so that processors have to be told apart."""
    node_words = {"fail", "return", "drain", "down", "up"}
    return bool(events.kinds & node_words) or events.table["node"].null_count() < len(events)


@dataclass(slots=True, eq=False)
class Resolved:
    """What a table of events comes down to.

    Attributes
    ----------
    entries
        Events of jobs and nodes, by time and row.
    reservations
        By begin and row.
    caps
        (time, watts): a cap on the power from then on.
    """

    entries: list[Entry] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    caps: list[tuple[float, float]] = field(default_factory=list)


def resolve(events: Events, workload: Workload, layout: Layout) -> Resolved:
    """Find the jobs and nodes that events speak of.

    Parameters
    ----------
    events
        The table.
    workload
        Jobs in the order of arrival.
    layout
        The machine.

    Raises
    ------
    SimulationError
        A row speaks of a job or node that isn't there, gives back what isn't down, or reserves
        more than there is.
    """
    return _Resolving(events, workload, layout).run()


class _Resolving:
    """One pass over the rows in the order of time, with the state of every node."""

    def __init__(self, events: Events, workload: Workload, layout: Layout) -> None:
        self.events, self.layout = events, layout
        capacity = layout.nodes.capacity
        self.down = np.zeros(len(capacity), bool)
        self.draining = np.zeros(len(capacity), bool)
        self.procs = capacity[:, 0].astype(np.int64)
        self.left = self.procs.copy()
        self.withheld: list[tuple[float, int, int]] = []
        self.result = Resolved()
        self.rows: dict[int, int] = {}
        if events.table["job"].null_count() < len(events):
            asked = events.table["job"].drop_nulls().unique()
            found = row_of_job(workload, asked).tolist()
            self.rows = dict(zip(asked.to_list(), found, strict=True))

    def run(self) -> Resolved:
        for row, values in self.events.in_order():
            word = values["event"]
            if word in OF_JOBS:
                self._job(row, values)
            elif word == "cap":
                self._cap(row, values)
            elif word == "reserve":
                self._reserve(row, values)
            elif word in ("down", "up"):
                self._processors(row, values)
            else:
                self._nodes(row, values)
        return self.result

    def _job(self, row: int, values: dict[str, Any]) -> None:
        place = self.rows[values["job"]]
        if place < 0:
            raise self.events.refuse(row, f"there is no job {values['job']} in the workload")
        self.result.entries.append((values["time"], CODES[values["event"]], place, -1))

    def _cap(self, row: int, values: dict[str, Any]) -> None:
        if self.layout.cluster.power is None:
            raise self.events.refuse(
                row, "a power cap needs to know what processors draw; give the cluster power"
            )
        self.result.caps.append((values["time"], values["watts"]))

    def _nodes(self, row: int, values: dict[str, Any]) -> None:
        for node in self._named(row, values):
            if values["event"] == "return" and not (self.down[node] or self.draining[node]):
                why = f"node {node + 1} is neither down nor draining: frees more than there is"
                raise self.events.refuse(row, why)
            self._note(values["time"], values["event"], node)

    def _processors(self, row: int, values: dict[str, Any]) -> None:
        """Take the highest-numbered nodes that are up, give back the lowest that are down."""
        fails = values["event"] == "down"
        order = np.flatnonzero(~self.down)[::-1] if fails else np.flatnonzero(self.down)
        total = np.cumsum(self.procs[order])
        wanted = values["procs"]
        count = int(np.searchsorted(total, wanted)) + 1
        if not total.size or wanted > total[-1]:
            there = int(total[-1]) if total.size else 0
            what = "up" if fails else "down"
            why = f"only {there} processors are {what}, not {wanted}"
            raise self.events.refuse(row, why if fails else f"{why}: frees more than there is")
        if total[count - 1] != wanted:
            why = f"{wanted} processors are no whole number of nodes; name nodes with fail"
            raise self.events.refuse(row, why)
        for node in order[:count]:
            self._note(values["time"], "fail" if fails else "return", int(node))

    def _note(self, time: float, word: str, node: int) -> None:
        self.down[node] = word == "fail" or (word == "drain" and self.down[node])
        self.draining[node] = word == "drain"
        self.result.entries.append((time, CODES[word], -1, node))

    def _reserve(self, row: int, values: dict[str, Any]) -> None:
        begin, end = values["time"], values["until"]
        while self.withheld and self.withheld[0][0] <= begin:
            _, node, amount = heappop(self.withheld)
            self.left[node] += amount
        for node, amount in list(self._reserved(row, values)):
            vector = self.layout.nodes.capacity[node] * 1.0
            vector[0] = amount
            self.left[node] -= amount
            heappush(self.withheld, (end, node, amount))
            self.result.reservations.append((begin, end, node, vector))

    def _reserved(self, row: int, values: dict[str, Any]) -> Iterator[tuple[int, int]]:
        """Yield the nodes that a reservation takes, with processors: whole ones unless pooled."""
        left = self.left
        if values["node"] is not None:
            for node in self._named(row, values):
                if left[node] < self.procs[node]:
                    why = f"node {node + 1} is reserved already at that time"
                    raise self.events.refuse(row, why)
                yield node, int(self.procs[node])
            return
        wanted = values["procs"]
        pooled = self.layout.nodes.pooled
        free = (left if pooled else np.where(left == self.procs, left, 0)).tolist()
        if wanted > sum(free):
            why = f"only {sum(free)} processors are left to reserve, not {wanted}"
            raise self.events.refuse(row, why)
        for node in reversed(range(len(free))):
            if wanted > 0 and free[node] > 0:
                amount = min(wanted, free[node]) if pooled else free[node]
                yield node, amount
                wanted -= amount

    def _named(self, row: int, values: dict[str, Any]) -> Iterator[int]:
        for number in numbers(values["node"]):
            if number > self.procs.size:
                why = f"there is no node {number}; the machine has {self.procs.size}"
                raise self.events.refuse(row, why)
            yield number - 1

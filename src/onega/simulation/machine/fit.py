"""What doesn't fit: jobs that no partition, node, limit or cap lets through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onega.core.errors import SimulationError
from onega.core.types import Array, Flags, Floats, Ints
from onega.core.units import humanise_bytes
from onega.core.workload.workload import Workload
from onega.kernels.machine.state import LIMITS
from onega.simulation.machine.caps import Capacity
from onega.simulation.machine.layout import POWER, Layout
from onega.simulation.machine.problem import Jobs
from onega.simulation.machine.shapes import Shapes

CALLED = {"procs": "processors", "gpus": "GPUs"}
"""What resources are called in sentences, where not by their names."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Jobs that can never run, and why.

    Attributes
    ----------
    rule
        ``"partition"``, ``"queue"``, ``"width"``, ``"node"``, ``"resource"``, ``"power"``,
        ``"limit"`` or ``"time"``.
    why
        One sentence.
    jobs
        Their ids.
    """

    rule: str
    why: str
    jobs: tuple[int, ...]

    def error(self, total: int) -> SimulationError:
        """Make the error that refuses the run."""
        return SimulationError(
            f"{len(self.jobs)} of {total} jobs can't be simulated: {self.why}", jobs=self.jobs
        )


def named(workload: Workload, rule: str, why: str, rows: Ints) -> Misfit:
    """Name the jobs of some rows."""
    return Misfit(rule, why, tuple(workload.table["job"].gather(rows).to_list()))


def fitting(
    workload: Workload,
    layout: Layout,
    shapes: Shapes,
    accounts: tuple[Jobs, Array],
    power: Capacity | None,
) -> tuple[Shapes, list[Misfit]]:
    """Keep the options that could run on an empty machine; say which jobs are left without any.

    Parameters
    ----------
    workload, layout, shapes
        Jobs, machine, options.
    accounts
        Jobs, with partitions (−1: none, and not asked) and limits, and the limits.
    power
        The power cap, if there is one.
    """
    jobs, limits = accounts
    partition, options = jobs["partition"], shapes.options
    most = np.array(layout.nodes.shared)
    if power is not None:
        most[-1] = power.most
    at = partition[shapes.job]
    room = _room(shapes.needs, layout).take(at * len(shapes.needs) + options["chunk"])
    on_nodes = np.asarray(room >= options["chunks"])
    shared = np.ones(at.size, bool)
    if power is not None:
        shared &= _fits_for_long(shapes, layout, power)
    for number, limit in enumerate(most):
        shared &= shapes.demand[:, number] <= limit
    keeps = on_nodes & shared
    if limits.size > 1:
        for name in LIMITS:
            keeps &= options["procs"] <= limits["procs"][jobs[name][shapes.job]]
    if keeps.all():
        return shapes, []
    misfits = [
        *_explain_nodes(workload, layout, partition, shapes, on_nodes),
        *_explain_shared(workload, layout, shapes, most, shared),
    ]
    # Jobs without any option stay as they are: the check that refuses them names them.
    hopeless = np.bincount(shapes.job, keeps, len(workload))[shapes.job] == 0
    return shapes.kept(keeps | hopeless), misfits


def _room(needs: Floats, layout: Layout) -> Floats:
    """Return how many chunks of each kind the empty partitions take (partitions × kinds).

    The number of chunks that a node takes is min_k ⌊capacity / need⌋; nodes add up. The last row is
    of jobs without a partition: there is no lack of room.
    """
    room = np.zeros((len(layout.partitions) + 1, len(needs)))
    room[-1] = np.inf
    for capacity, owner, count in zip(*layout.groups, strict=True):
        each = np.full(needs.shape, np.inf)
        np.divide(capacity, needs, out=each, where=needs > 0)
        room[owner] += np.floor(each).min(axis=1) * count
    return room


def _fits_for_long(shapes: Shapes, layout: Layout, cap: Capacity) -> Flags:
    """Tell which options the cap leaves enough power for as long as they are expected to take."""
    demand = shapes.demand[:, -1]
    expect = shapes.options["expect"] / max(layout.cluster.rates.rates)
    fits = np.zeros(demand.size, bool)
    end = cap.span[1] if getattr(layout.cluster.power_cap, "daily", False) else np.inf
    for level in np.unique(np.append(cap.watts, cap.first)).tolist():
        fits |= (demand <= level) & (expect <= cap.longest(level, end))
    return fits


def _explain_nodes(
    workload: Workload, layout: Layout, partition: Ints, shapes: Shapes, fits: Flags
) -> Iterator[Misfit]:
    """Say of jobs none of whose options fits their partition what there is too little of.

    Parameters
    ----------
    workload, layout, partition
        Jobs, machine, and the partition of each job (−1: none, and not asked).
    shapes, fits
        Options, and which of them fit.
    """
    options = shapes.options.take(shapes.first)
    unfit = np.flatnonzero((np.bincount(shapes.job, fits, len(workload)) == 0) & (partition >= 0))
    if unfit.size == 0:
        return
    capacity, owner, count = layout.groups
    procs, chunk = options["procs"], shapes.needs[options["chunk"]]
    for number, one in enumerate(layout.partitions):
        left = unfit[partition[unfit] == number]
        mine = owner == number
        size = int((capacity[mine, 0] * count[mine]).sum())
        where = "the machine" if len(layout.partitions) == 1 else f"partition {one.name}"
        wide = left[procs[left] > size]
        if wide.size:
            why = f"wider than {where} of {size} processors, with {_most(procs[wide], 'procs')}"
            yield named(workload, "width", why, wide)
        left = np.setdiff1d(left, wide)
        for k, name in enumerate(layout.resources):
            most = float(capacity[mine, k].max())
            over = left[chunk[left, k] > most]
            if over.size:
                why = (
                    f"they need {_most(chunk[over, k], name)} of {CALLED.get(name, name)} on one "
                    f"node, and the largest node of {where} has {_amount(most, name)}"
                )
                yield named(workload, "node", why, over)
            left = np.setdiff1d(left, over)
        if left.size:
            why = (
                f"the nodes of {where} don't have what they need, all together: the first needs "
                f"{options['chunks'][left[0]]:,} × "
                f"({_amounts(layout.resources, chunk[left[0]])}), a node has at most "
                f"({_amounts(layout.resources, capacity[mine].max(axis=0))}), nodes: "
                f"{count[mine].sum():,}"
            )
            yield named(workload, "node", why, left)


def _amount(value: float, resource: str) -> str:
    return humanise_bytes(value) if resource == "memory" else f"{value:,.12g}"


def _most(values: Ints | Floats, resource: str) -> str:
    """Write the largest of several amounts, said to be that if they differ."""
    up_to = "up to " if values.min() < values.max() else ""
    return f"{up_to}{_amount(float(values.max()), resource)}"


def _amounts(resources: tuple[str, ...], values: Floats) -> str:
    pairs = zip(resources, values.tolist(), strict=True)
    return ", ".join(f"{CALLED.get(name, name)} {_amount(value, name)}" for name, value in pairs)


def _explain_shared(
    workload: Workload, layout: Layout, shapes: Shapes, most: Floats, fits: Flags
) -> Iterator[Misfit]:
    """Say which machine-wide resource, or the power cap, is too small for which jobs."""
    unfit = np.flatnonzero(np.bincount(shapes.job, fits, len(workload)) == 0)
    for number, name in enumerate(layout.shared):
        least = np.full(len(workload), np.inf)
        np.minimum.at(least, shapes.job, shapes.demand[:, number])
        over = np.flatnonzero(least > most[number])
        if over.size and name == POWER:
            watts = layout.idle_watts + float(least[over[0]])
            why = (
                f"the power cap of {most[number] + layout.idle_watts:,.0f} W is below what the "
                f"machine draws with one of them alone ({watts:,.0f} W for the first)"
            )
            yield named(workload, "power", why, over)
        elif over.size:
            need = _most(least[over], name)
            why = f"they need {need} of {name}, and the machine has {_amount(most[number], name)}"
            yield named(workload, "resource", why, over)
        unfit = np.setdiff1d(unfit, over)
    if unfit.size:
        why = "the power cap is never high enough for as long as they are expected to take"
        yield named(workload, "power", why, unfit)

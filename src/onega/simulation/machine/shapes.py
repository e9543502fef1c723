"""Shapes that jobs may take: rigid or moldable, with what they need of every resource."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from onega.core.errors import SimulationError, suggest
from onega.core.machine.speedup import Speedup, widths_on_offer
from onega.core.policy import Policy
from onega.core.types import Array, Flags, Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.schema import DEMAND, demand_names
from onega.core.workload.tables import AMOUNT, TableLike, cast_column, frame_of, not_amounts
from onega.core.workload.workload import Workload
from onega.simulation.machine.layout import POWER, Layout
from onega.simulation.machine.problem import make_options

OPTIONS = "options of moldable jobs"
DEMANDS = "demands"
NODES = "nodes"
"""The demand that says how many nodes a job had."""

NO_JOB = np.iinfo(np.int64).min
"""Stands for an id that isn't given: no job has it."""

Offer = tuple[Ints, Floats, Floats, Ints]
"""Shapes that are on offer, job by job: width, run time, estimate; how many each job has."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Options, job by job, at least one each; ``count`` says how many.

    ``needs`` and ``demand`` are those of `onega.simulation.machine.problem.Problem`.
    """

    options: Array
    needs: Floats
    demand: Floats
    count: Ints

    @cached_property
    def job(self) -> Ints:
        """The job (row) of each option."""
        return np.arange(self.count.size).repeat(self.count)

    @cached_property
    def first(self) -> Ints:
        """Where each job's options begin."""
        return np.cumsum(self.count) - self.count

    def kept(self, some: Flags) -> Shapes:
        """Keep some of the options, at least one of each job."""
        count = np.add.reduceat(some, self.first, dtype=np.int64)
        return Shapes(self.options.compress(some), self.needs, self.demand[some], count)

    @property
    def longest(self) -> float:
        """The longest time that any job is expected to take, at rate 1."""
        return float(self.options["expect"].max(initial=0.0))


def make_shapes(
    workload: Workload,
    layout: Layout,
    policy: Policy,
    *,
    enforce_limits: bool,
    moldable: Speedup | TableLike | None,
    demands: TableLike | None,
    begun: Floats,
) -> tuple[Shapes, list[Finding]]:
    """Make the options of all jobs, job by job: of a law each job's own shape first.

    Parameters
    ----------
    workload
        Jobs in the order of arrival.
    layout, policy
        The machine; what the scheduler knows of run times.
    enforce_limits
        Cut work at the estimate.
    moldable, demands
        See `onega.simulate`.
    begun
        Since when a job runs already, which keeps its own shape (NaN: it doesn't).
    """
    findings: list[Finding] = []
    wanted = _wanted(workload, layout, demands, findings)
    nodes = None
    if moldable is None:
        procs, runtime, estimate = map(workload.column, ("procs", "runtime", "estimate"))
        each = np.ones(procs.size, np.int64)
        offer = procs.astype(np.int64), runtime, estimate, each
        nodes = _nodes(workload, layout, wanted, findings)
    else:
        fixed = np.isfinite(begun)
        if hasattr(moldable, "speedup"):
            offer = _by_law(workload, moldable, layout.cluster.procs, fixed)  # type: ignore[arg-type]
        else:
            offer = _by_table(workload, moldable, fixed, findings)
        wanted = {name: values.repeat(offer[-1]) for name, values in wanted.items()}
    procs, work, estimate, each = offer
    limited = np.zeros(procs.size, bool)
    if enforce_limits:
        limited = (estimate > 0) & (estimate < work)
        work = np.where(limited, estimate, work)
    expect = work
    if policy.knowledge != "runtime":  # of those that have no estimate the work is known
        expect = np.where(estimate > 0, estimate, work)
    chunks, chunk = _chunks(procs, wanted, layout, nodes)
    options, needs = make_options(
        chunk, procs=procs, chunks=chunks, work=work, expect=expect, limited=limited
    )
    return Shapes(options, needs, _demand(procs, wanted, layout), each), findings


def row_of_job(workload: Workload, ids: pl.Series) -> Ints:
    """Return the row of each id; −1 where there is no such job."""
    known, row = _ids_in_order(workload)
    asked = (ids.fill_null(NO_JOB) if ids.null_count() else ids).to_numpy()
    place = np.minimum(np.searchsorted(known, asked), known.size - 1)
    return np.where(known[place] == asked, row[place], -1)


def _ids_in_order(workload: Workload) -> tuple[Ints, Ints]:
    """Return all ids in order, and the row of each; refuse a log where one is given twice."""
    ids = workload.table["job"].to_numpy()
    row = np.argsort(ids, kind="stable")
    known = ids[row]
    again = np.flatnonzero(known[1:] == known[:-1])
    if again.size:
        raise SimulationError(
            "two jobs have one id, so it can't be referred to", jobs=[int(known[again[0]])]
        )
    return known, row


def _by_law(workload: Workload, law: Speedup, machine: int, fixed: Flags) -> Offer:
    """Offer each job that may be molded all widths beside its own: t(n) = t(p)·S(p)/S(n)."""
    widths = np.array(widths_on_offer(law, machine), dtype=np.int64)
    procs = workload.column("procs").astype(np.int64)
    mine, others = law.speedup(procs), law.speedup(widths)
    factor = np.hstack([np.ones((procs.size, 1)), mine[:, None] / others])
    width = np.hstack([procs[:, None], np.broadcast_to(widths, (procs.size, widths.size))])
    some = (width != procs[:, None]) & ~fixed[:, None]
    some[:, 0] = True
    runtime, estimate = (
        (workload.column(name)[:, None] * factor)[some] for name in ("runtime", "estimate")
    )
    return width[some], runtime, estimate, some.sum(axis=1)


def _by_table(
    workload: Workload, given: Speedup | TableLike, fixed: Flags, findings: list[Finding]
) -> Offer:
    """Take the options of a table; jobs that aren't in it keep their own shape."""
    frame = frame_of(given, ("job", "procs", "runtime"), OPTIONS)  # type: ignore[arg-type]
    ids = cast_column(frame["job"], pl.Int64, OPTIONS)
    procs = cast_column(frame["procs"], pl.Int64, OPTIONS)
    runtime = cast_column(frame["runtime"], pl.Float64, OPTIONS)
    estimate = pl.Series("estimate", [None] * frame.height, dtype=pl.Float64)
    if "estimate" in frame.columns:
        estimate = cast_column(frame["estimate"], pl.Float64, OPTIONS)
    for name, values in (("procs", procs), ("runtime", runtime)):
        wrong = (~((values > 0) & (values < np.inf))).fill_null(value=True).arg_true()
        if len(wrong):
            at = int(wrong[0])
            raise SimulationError(f"{OPTIONS}, row {at + 1}: {name} is above 0, got {values[at]}")
    job = row_of_job(workload, ids)
    findings.append(_strangers(OPTIONS, job))
    kept = (job >= 0) & ~fixed[job]
    rigid = np.setdiff1d(np.arange(len(workload)), job[kept])
    own = workload.column("estimate").astype(np.float64)
    row = np.concatenate([job[kept], rigid])
    order = np.argsort(row, kind="stable")
    width = np.concatenate([procs.to_numpy()[kept], workload.column("procs")[rigid]])[order]
    work = np.concatenate([runtime.to_numpy()[kept], workload.column("runtime")[rigid]])[order]
    asked = np.concatenate([estimate.to_numpy()[kept], own[rigid]])[order]
    each = np.bincount(row, minlength=len(workload))
    return width.astype(np.int64), work, asked.astype(np.float64), each


def _strangers(name: str, row: Ints) -> Finding:
    why = f"rows of the {name} speak of jobs that aren't in the workload"
    return Finding("unknown_job", "noted", int((row < 0).sum()), why)


def _wanted(
    workload: Workload,
    layout: Layout,
    demands: TableLike | None,
    findings: list[Finding],
) -> dict[str, Floats]:
    """Return what each job wants beside processors: memory per processor, other amounts in all."""
    known = [*layout.resources[1:], *(name for name in layout.shared if name != POWER)]
    wanted = _of_the_log(workload, known, findings)
    if "memory" in layout.resources:
        wanted["memory"] = _memory(workload)
    if demands is None:
        return wanted
    frame = frame_of(demands, ("job",), DEMANDS)
    row = row_of_job(workload, cast_column(frame["job"], pl.Int64, DEMANDS))
    findings.append(_strangers(DEMANDS, row))
    if np.bincount(row + 1)[1:].max(initial=0) > 1:
        raise SimulationError(f"{DEMANDS}: a job has two rows")
    for name in frame.columns:
        if name == "job":
            continue
        if name not in known:
            raise SimulationError(
                f"{DEMANDS}: the machine has no {name!r}; "
                f"{suggest(name, known) if known else 'it has processors only'}"
            )
        amount = cast_column(frame[name], pl.Float64, DEMANDS).to_numpy()
        wrong = np.flatnonzero(not_amounts(amount))
        if wrong.size:
            raise SimulationError(
                f"{DEMANDS}, row {wrong[0] + 1}: {name} is {AMOUNT}, got {amount[wrong[0]]:g}"
            )
        said = (row >= 0) & ~np.isnan(amount)
        values = np.array(wanted.get(name, np.zeros(len(workload))))
        values[row[said]] = amount[said]
        wanted[name] = values
    return wanted


def _of_the_log(workload: Workload, known: list[str], findings: list[Finding]) -> dict[str, Floats]:
    """Return what the log says that jobs need of what the machine has; note what it hasn't."""
    wanted: dict[str, Floats] = {}
    for name in demand_names(workload.table.columns):
        amount = np.nan_to_num(workload.column(DEMAND + name).astype(np.float64))
        if name in known:
            wanted[name] = amount
        elif name != NODES and ":" not in name:  # of GPUs of a type there are GPUs at least
            why = f"jobs need {name}, which the machine doesn't describe; it is left out of account"
            findings.append(Finding("not_described", "noted", int((amount > 0).sum()), why))
    return wanted


def _nodes(
    workload: Workload, layout: Layout, wanted: dict[str, Floats], findings: list[Finding]
) -> Ints | None:
    """Return how many nodes each job had, where it can have as many here; 0: it goes as it fits.

    A job keeps to its nodes if everything that it needs can be dealt out to them equally, and if
    there is a node here that has room for such a part.
    """
    if layout.nodes.pooled or DEMAND + NODES not in workload.table.columns:
        return None
    procs = workload.column("procs").astype(np.int64)
    count = np.nan_to_num(workload.column(DEMAND + NODES).astype(np.float64)).astype(np.int64)
    divides = (count > 0) & (_common(procs, wanted, layout) % np.maximum(count, 1) == 0)
    count = np.where(divides, count, 0)
    _, chunk = _chunks(procs, wanted, layout, count)
    room = np.zeros(procs.size, bool)
    for capacity in layout.groups[0]:
        room |= (chunk <= capacity).all(axis=1)
    why = "jobs had more on a node than any node here has; they are spread over as many as it takes"
    findings.append(Finding("nodes_too_small", "noted", int((divides & ~room).sum()), why))
    return np.where(room, count, 0)


def _memory(workload: Workload) -> Floats:
    """Return the memory per processor that jobs asked for, or that they used; 0: not known."""
    asked, used = workload.column("requested_memory"), workload.column("memory")
    given = np.where(np.isnan(asked), used, asked)
    return np.where(np.isnan(given), 0.0, given)


def _demand(procs: Ints, wanted: dict[str, Floats], layout: Layout) -> Floats:
    """Return what each option needs of every machine-wide resource."""
    demand = np.zeros((procs.size, len(layout.shared)))
    for number, name in enumerate(layout.shared):
        if name == POWER:
            demand[:, number] = layout.watts * procs
        elif name in wanted:
            demand[:, number] = wanted[name]
    return demand


def _common(procs: Ints, wanted: dict[str, Floats], layout: Layout) -> Ints:
    """Return c = gcd(processors, GPUs, …): as many as all whole amounts can be dealt out to."""
    common = procs
    for name in layout.resources[1:]:
        amount = wanted.get(name)
        if amount is None or name == "memory":
            continue
        counted = (amount > 0) & (amount == np.floor(amount))
        common = np.where(counted, np.gcd(common, amount.astype(np.int64)), common)
    return common


def _chunks(
    procs: Ints, wanted: dict[str, Floats], layout: Layout, nodes: Ints | None = None
) -> tuple[Ints, Floats]:
    """Cut jobs into equal chunks: as many as nodes, or as everything can be dealt out to.

    A chunk has 1/c of everything, its memory in whole bytes; c is the number of nodes where that
    is given (above 0), else `_common`.
    """
    chunks = _common(procs, wanted, layout)
    if nodes is not None and nodes.any():
        chunks = np.where(nodes > 0, nodes, chunks)
    if len(layout.resources) == 1 and chunks is procs:
        return chunks, np.broadcast_to(1.0, (procs.size, 1))
    chunk = np.ones((procs.size, len(layout.resources)))
    chunk[:, 1:] = 0.0
    if chunks is not procs:
        chunk[:, 0] = procs / chunks
    for number, name in enumerate(layout.resources):
        if name in wanted:
            amount = wanted[name]
            whole = name == "memory"
            chunk[:, number] = np.ceil(amount * chunk[:, 0]) if whole else amount / chunks
    return chunks, chunk

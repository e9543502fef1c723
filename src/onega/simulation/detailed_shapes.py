"""Shapes that jobs may take: rigid or moldable, with what they need of every resource."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import SimulationError, suggest
from onega.core.policy import Policy
from onega.core.report import Finding
from onega.core.speedup import Speedup, widths_on_offer
from onega.core.tables import TableLike, cast_column, frame_of
from onega.core.workload import Workload
from onega.kernels.easy import Columns
from onega.kernels.shapes import Offered, Own, Shaped, offer_shapes
from onega.simulation.detailed_layout import POWER, Layout
from onega.simulation.detailed_problem import Flags, Floats, Ints, Options
from onega.simulation.setup import make_jobs, rows

OPTIONS = "options of moldable jobs"
DEMANDS = "demands"
NO_JOB = np.iinfo(np.int64).min
"""Stands for an id that isn't given: no job has it."""

_Options = tuple[Ints, Ints, Floats, Floats]
"""Job, width, run time and estimate of every option."""


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """Options, the job (row) of each, and whether its work is cut at its estimate.

    They stand by job, and every job has at least one. ``count`` says how many each job has, where
    that is known already.
    """

    job: Ints
    options: Options
    limited: Flags
    count: Ints | None = None

    def kept(self, some: Flags) -> Shapes:
        """Keep some of the options."""
        old = self.options
        return Shapes(
            self.job[some],
            Options(*(getattr(old, name)[some] for name in old.__dataclass_fields__)),
            self.limited[some],
        )

    def first_and_count(self, jobs: int) -> tuple[Ints, Ints]:
        """Return where each job's options begin, and how many there are."""
        if self.job.size == jobs:
            return self.job, np.ones(jobs, np.int64)
        if self.count is not None:
            return np.cumsum(self.count) - self.count, self.count
        first = np.flatnonzero(np.append(True, self.job[1:] != self.job[:-1]))
        return first, np.diff(first, append=self.job.size)

    def of_jobs(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return for each option what its job has."""
        return values if self.job.size == len(values) else values[self.job]


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
    if moldable is None:

        def make() -> Shapes:
            jobs = make_jobs(workload, policy, enforce_limits=enforce_limits)
            return _cut(rows(workload), jobs.columns, wanted, layout, jobs.limited)

        name = f"shapes: {policy.knowledge}, limits={enforce_limits}, {layout.resources}"
        # Without demands they are the same for all runs of a workload.
        shapes = workload.once(name, make) if demands is None else make()
    else:
        (job, procs, runtime, estimate), count = _widths(
            workload, layout.cluster.procs, moldable, np.isfinite(begun), findings
        )
        limited, work = np.zeros(job.size, bool), runtime
        if enforce_limits:
            limited = (estimate > 0) & (estimate < runtime)
            work = np.where(limited, estimate, runtime)
        expect = work
        if policy.knowledge != "runtime":
            # Not a number is not above 0 either.
            every = estimate.min() > 0
            expect = estimate if every else np.where(estimate > 0, estimate, work)
        if job.size > len(workload):
            wanted = {name: values[job] for name, values in wanted.items()}
        columns = Columns(work, work, expect, procs)
        shapes = replace(_cut(job, columns, wanted, layout, limited), count=count)
    if layout.shared:
        options = shapes.options
        demand = _demand(options.procs, wanted, layout)
        shapes = replace(shapes, options=options.demanding(demand))
    return shapes, findings


def _cut(
    job: Ints, columns: Columns, wanted: dict[str, Floats], layout: Layout, limited: Flags
) -> Shapes:
    """Cut options into chunks; what they need of machine-wide resources isn't said yet."""
    _, work, expect, procs = columns
    chunks, chunk = _chunks(procs, wanted, layout)
    nothing = np.empty((procs.size, 0))
    return Shapes(job, Options(procs, work, expect, chunks, chunk, nothing), limited)


def row_of_job(workload: Workload, ids: pl.Series) -> Ints:
    """Return the row of each id; −1 where there is no such job."""
    known, row = workload.once("ids in order", lambda: _ids_in_order(workload))
    asked = ids.fill_null(NO_JOB).to_numpy()
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


def _widths(
    workload: Workload,
    machine: int,
    moldable: Speedup | TableLike,
    fixed: Flags,
    findings: list[Finding],
) -> tuple[_Options, Ints | None]:
    """Return job, width, run time and estimate (NaN: none) of every option, by job; how many."""
    if hasattr(moldable, "speedup"):
        procs, runtime, estimate = (
            np.array(workload.column(name), kind)
            for name, kind in (("procs", np.int64), ("runtime", float), ("estimate", float))
        )
        return _by_law(moldable, machine, fixed, (procs, runtime, estimate))  # type: ignore[arg-type]
    return _by_table(workload, moldable, fixed, findings), None


def _by_law(
    law: Speedup, machine: int, fixed: Flags, own: tuple[Ints, Floats, Floats]
) -> tuple[_Options, Ints]:
    """Offer each job that may be molded all widths beside its own: t(n) = t(p)·S(p)/S(n)."""
    widths = np.array(widths_on_offer(law, machine), dtype=np.int64)
    procs, runtime, estimate = own
    room = procs.size * (widths.size + 1)
    job, width = np.empty(room, np.int64), np.empty(room, np.int64)
    out = Shaped(job, width, np.empty(room), np.empty(room), np.empty(procs.size, np.int64))
    count = offer_shapes(
        Own(procs, runtime, estimate, law.speedup(procs), fixed),
        Offered(widths, law.speedup(widths)),
        out,
    )
    return (job[:count], width[:count], out.runtime[:count], out.estimate[:count]), out.each


def _by_table(
    workload: Workload, given: Speedup | TableLike, fixed: Flags, findings: list[Finding]
) -> _Options:
    """Take the options of a table; jobs that aren't in it keep their own shape."""
    frame = frame_of(given, ("job", "procs", "runtime"), OPTIONS)  # type: ignore[arg-type]
    ids = cast_column(frame["job"], pl.Int64, OPTIONS)
    procs = cast_column(frame["procs"], pl.Int64, OPTIONS)
    runtime = cast_column(frame["runtime"], pl.Float64, OPTIONS)
    estimate = pl.Series("estimate", [None] * frame.height, dtype=pl.Float64)
    if "estimate" in frame.columns:
        estimate = cast_column(frame["estimate"], pl.Float64, OPTIONS)
    for name, values in (("procs", procs), ("runtime", runtime)):
        wrong = (~(values > 0)).fill_null(value=True).arg_true()
        if len(wrong):
            row = int(wrong[0])
            raise SimulationError(f"{OPTIONS}, row {row + 1}: {name} is above 0, got {values[row]}")
    job = row_of_job(workload, ids)
    findings.append(_strangers(OPTIONS, job))
    kept = (job >= 0) & ~fixed[job]
    rigid = np.setdiff1d(np.arange(len(workload)), job[kept])
    own = workload.column("estimate").astype(np.float64)
    parts = (
        np.concatenate([job[kept], rigid]),
        np.concatenate([procs.to_numpy()[kept], workload.column("procs")[rigid]]).astype(np.int64),
        np.concatenate([runtime.to_numpy()[kept], workload.column("runtime")[rigid]]),
        np.concatenate([estimate.to_numpy()[kept], own[rigid]]).astype(np.float64),
    )
    order = np.argsort(parts[0], kind="stable")
    return parts[0][order], parts[1][order], parts[2][order], parts[3][order]


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
    wanted: dict[str, Floats] = {}
    if "memory" in layout.resources:
        wanted["memory"] = workload.once("memory", lambda: _memory(workload))
    if demands is None:
        return wanted
    frame = frame_of(demands, ("job",), DEMANDS)
    known = [*layout.resources[1:], *(name for name in layout.shared if name != POWER)]
    row = row_of_job(workload, cast_column(frame["job"], pl.Int64, DEMANDS))
    findings.append(_strangers(DEMANDS, row))
    if np.unique(row[row >= 0]).size < (row >= 0).sum():
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
        wrong = np.flatnonzero(amount < 0)
        if wrong.size:
            raise SimulationError(
                f"{DEMANDS}, row {wrong[0] + 1}: {name} is at least 0, got {amount[wrong[0]]:g}"
            )
        said = (row >= 0) & ~np.isnan(amount)
        values = np.array(wanted.get(name, np.zeros(len(workload))))
        values[row[said]] = amount[said]
        wanted[name] = values
    return wanted


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


def _chunks(procs: Ints, wanted: dict[str, Floats], layout: Layout) -> tuple[Ints, Floats]:
    """Cut jobs into equal chunks: as many as processors and whole amounts can be dealt out to.

    c = gcd(processors, GPUs, …); a chunk has 1/c of everything, its memory in whole bytes.
    """
    chunks = procs
    for name in layout.resources[1:]:
        amount = wanted.get(name)
        if amount is None or name == "memory":
            continue
        counted = (amount > 0) & (amount == np.floor(amount))
        chunks = np.where(counted, np.gcd(chunks, amount.astype(np.int64)), chunks)
    chunk = np.zeros((procs.size, len(layout.resources)))
    chunk[:, 0] = 1.0 if chunks is procs else procs / chunks
    for number, name in enumerate(layout.resources):
        if name in wanted:
            amount = wanted[name]
            whole = name == "memory"
            chunk[:, number] = np.ceil(amount * chunk[:, 0]) if whole else amount / chunks
    return chunks, chunk

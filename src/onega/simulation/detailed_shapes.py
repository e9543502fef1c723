"""Shapes that jobs may take: rigid or moldable, with what they need of every resource."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from onega.core.errors import SimulationError, suggest
from onega.core.policy import Policy
from onega.core.report import Finding
from onega.core.speedup import Speedup, widths_on_offer
from onega.core.tables import TableLike, cast_column, frame_of
from onega.core.workload import Workload
from onega.simulation.detailed_layout import POWER, Layout
from onega.simulation.detailed_problem import Flags, Floats, Ints, Options

OPTIONS = "options of moldable jobs"
DEMANDS = "demands"


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """Options, the job (row) of each, and whether its work is cut at its estimate."""

    job: Ints
    options: Options
    limited: Flags

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
        count = np.bincount(self.job, minlength=jobs)
        return np.cumsum(count) - count, count


def make_shapes(
    workload: Workload,
    layout: Layout,
    policy: Policy,
    *,
    enforce_limits: bool,
    moldable: Speedup | TableLike | None,
    demands: TableLike | None,
    fixed: Flags,
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
    fixed
        Jobs that keep their own shape: those that run already.
    """
    findings: list[Finding] = []
    job, procs, runtime, estimate = _widths(
        workload, layout.cluster.procs, moldable, fixed, findings
    )
    limited = (estimate > 0) & (estimate < runtime) if enforce_limits else np.zeros(job.size, bool)
    work = np.where(limited, estimate, runtime)
    expect = work
    if policy.knowledge != "runtime":
        expect = np.where(estimate > 0, estimate, work)
    wanted = _wanted(workload, layout, demands, findings)
    chunks, chunk = _chunks(procs, {name: values[job] for name, values in wanted.items()}, layout)
    demand = np.column_stack(
        [
            layout.watts * procs
            if name == POWER
            else wanted.get(name, np.zeros(len(workload)))[job]
            for name in layout.shared
        ]
        or [np.empty((job.size, 0))]
    )
    options = Options(procs, work, expect, chunks, chunk, demand)
    return Shapes(job, options, limited), findings


def _rows(workload: Workload) -> pl.DataFrame:
    """Return the row of each job by its id."""
    return pl.DataFrame({"job": workload.table["job"], "row": np.arange(len(workload))})


def row_of_job(workload: Workload, ids: pl.Series) -> Ints:
    """Return the row of each id; −1 where there is no such job."""
    table = workload.table["job"]
    if table.n_unique() < len(workload):
        twice = table.filter(table.is_duplicated())
        raise SimulationError("two jobs have one id, so it can't be referred to", jobs=[twice[0]])
    found = pl.DataFrame({"job": ids}).join(_rows(workload), on="job", how="left")
    return found["row"].fill_null(-1).to_numpy().astype(np.int64)


def _widths(
    workload: Workload,
    machine: int,
    moldable: Speedup | TableLike | None,
    fixed: Flags,
    findings: list[Finding],
) -> tuple[Ints, Ints, Floats, Floats]:
    """Return job, width, run time and estimate (NaN: none) of every option, by job."""
    jobs = np.arange(len(workload))
    procs = workload.column("procs").astype(np.int64)
    runtime = np.asarray(workload.column("runtime"), dtype=np.float64)
    estimate = np.asarray(workload.column("estimate"), dtype=np.float64)
    if moldable is None:
        return jobs, procs, runtime, estimate
    if hasattr(moldable, "speedup"):
        free = np.flatnonzero(~fixed)
        return _by_law(moldable, machine, free, (jobs, procs, runtime, estimate))  # type: ignore[arg-type]
    return _by_table(workload, moldable, fixed, findings)


def _by_law(
    law: Speedup, machine: int, free: Ints, own: tuple[Ints, Ints, Floats, Floats]
) -> tuple[Ints, Ints, Floats, Floats]:
    """Offer each job that may be molded all widths beside its own: t(n) = t(p)·S(p)/S(n)."""
    jobs, procs, runtime, estimate = own
    widths = np.array(widths_on_offer(law, machine), dtype=np.int64)
    job, width = np.repeat(free, widths.size), np.tile(widths, free.size)
    other = width != procs[job]
    job, width = job[other], width[other]
    factor = law.speedup(procs)[job] / law.speedup(width)
    parts = (
        np.concatenate([jobs, job]),
        np.concatenate([procs, width]),
        np.concatenate([runtime, runtime[job] * factor]),
        np.concatenate([estimate, estimate[job] * factor]),
    )
    order = np.argsort(parts[0], kind="stable")
    return parts[0][order], parts[1][order], parts[2][order], parts[3][order]


def _by_table(
    workload: Workload, given: Speedup | TableLike, fixed: Flags, findings: list[Finding]
) -> tuple[Ints, Ints, Floats, Floats]:
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
        given = workload.table.select(pl.coalesce("requested_memory", "memory"))
        wanted["memory"] = given.to_series().fill_null(0.0).to_numpy()
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


def _chunks(procs: Ints, wanted: dict[str, Floats], layout: Layout) -> tuple[Ints, Floats]:
    """Cut jobs into equal chunks: as many as processors and whole amounts can be dealt out to.

    c = gcd(processors, GPUs, …); a chunk has 1/c of everything, its memory in whole bytes.
    """
    chunks = np.array(procs)
    for name in layout.resources[1:]:
        amount = wanted.get(name)
        if amount is None or name == "memory":
            continue
        counted = (amount > 0) & (amount == np.floor(amount))
        chunks = np.where(counted, np.gcd(chunks, amount.astype(np.int64)), chunks)
    columns = [procs / chunks]
    for name in layout.resources[1:]:
        amount = wanted.get(name, np.zeros(procs.size))
        each = np.ceil(amount * (procs / chunks)) if name == "memory" else amount / chunks
        columns.append(each)
    return chunks, np.column_stack(columns)

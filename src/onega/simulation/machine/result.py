"""From what the detailed kernel found to a schedule."""

from __future__ import annotations

import numpy as np
import polars as pl

from onega.core.machine.cluster import Cluster
from onega.core.policy import Policy
from onega.core.schedule.history import Pieces, RateHistory
from onega.core.schedule.schedule import Schedule
from onega.core.types import Array, Floats, Ints
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.kernels.machine.codes import CHECKPOINT, LEAVE, TIMEOUT
from onega.simulation.machine.arrivals import Arrivals
from onega.simulation.machine.chronicle import RunChronicle
from onega.simulation.machine.problem import Outcome, Problem
from onega.simulation.pool.setup import in_rows


def make_schedule(
    workload: Workload,
    machine: Cluster,
    policy: Policy,
    run: tuple[Problem, Outcome, Ints | None],
    *,
    provenance: tuple[str, ...] = (),
    report: Report | None = None,
) -> Schedule:
    """Make the schedule of a detailed run.

    Parameters
    ----------
    workload
        All jobs of the run, those that it started with among them.
    machine, policy
        What it ran on.
    run
        Problem, outcome, and the workload's row of each of the problem's jobs (by arrival; None:
        they are the same).
    provenance, report
        How it came about; what was left out.

    Notes
    -----
    Jobs that waited for others get the submission that they had, moldable ones their width, so
    that the workload of the schedule is what was really run.
    """
    problem, outcome, by_arrival = run
    work, rates = _work(problem, outcome), _history(problem, outcome)
    return Schedule(
        _as_run(workload, problem, (outcome, work), by_arrival),
        machine,
        policy,
        in_rows(outcome.start, by_arrival),
        in_rows(outcome.end, by_arrival),
        in_rows(work, by_arrival),
        in_rows(outcome.state, by_arrival) == TIMEOUT,
        rates,
        _pieces(problem, outcome, by_arrival),
        provenance,
        report or Report(),
        RunChronicle(
            workload.table["job"],
            by_arrival,
            outcome,
            work,
            np.ascontiguousarray(problem.jobs["saved"]),
            rates,
            problem.checkpoint if problem.on_interrupt == CHECKPOINT else None,
        ),
    )


def _work(problem: Problem, outcome: Outcome) -> Floats:
    """Return the work of each job in the option that was taken, or in its first."""
    jobs, options = problem.jobs, problem.options
    if options.size == jobs.size:
        return np.ascontiguousarray(options["work"])
    return options["work"][np.where(outcome.option >= 0, outcome.option, jobs["first_option"])]


def _pieces(problem: Problem, outcome: Outcome, by_arrival: Ints | None) -> Pieces | None:
    """Return all stretches on processors, as they began; None if each job has at most one."""
    if not problem.reservations and (problem.events["code"] == LEAVE).all():
        return None  # nothing that interrupts a job
    job, start, end = outcome.attempts["job"], outcome.attempts["start"], outcome.attempts["end"]
    started = np.count_nonzero(np.isfinite(outcome.start))
    if job.size == started and np.array_equal(outcome.end[job], end):
        return None
    return Pieces(job if by_arrival is None else by_arrival[job], start, end)


def _as_run(
    workload: Workload, problem: Problem, run: tuple[Outcome, Floats], by_arrival: Ints | None
) -> Workload:
    """Give dependent jobs the submission, and moldable ones the shape, that they had in the run.

    ``run`` has what happened, and the work of each job in the option that was taken.
    """
    jobs, options = problem.jobs, problem.options
    followers = problem.followers
    if followers.size == 0 and options.size == jobs.size:
        return workload  # no job follows another, and each has one shape
    outcome, work = run
    followed = followers[np.isfinite(outcome.submit[followers])]
    molded = np.flatnonzero((jobs["options"] > 1) & (outcome.option >= 0))
    if followed.size + molded.size == 0:
        return workload
    taken = options.take(outcome.option[molded])
    changes = {
        "submit": (followed, outcome.submit[followed]),
        "procs": (molded, taken["procs"]),
        "runtime": (molded, work[molded] if molded.size < work.size else work),
        "estimate": (molded, taken["expect"]),
    }
    note = "submissions and shapes as they came out of the simulation"
    return _changed(workload, by_arrival, changes, note)


def as_shaped(arrivals: Arrivals, problem: Problem) -> Workload:
    """Give jobs for which a single shape is left that shape; the run tells those of the others."""
    single = np.flatnonzero((problem.jobs["options"] == 1) & (arrivals.done == 0))
    shape = problem.options.take(problem.jobs["first_option"][single])
    procs, runtime, estimate = (
        arrivals.jobs.column(name)[single] for name in ("procs", "runtime", "estimate")
    )
    own = np.where(shape["limited"], estimate, runtime)
    other = (shape["procs"] != procs) | (shape["work"] != own)
    if not other.any():
        return arrivals.workload
    known = other & np.isfinite(estimate)  # a job without an estimate gets none
    changes = {
        "procs": (single[other], shape["procs"][other]),
        "runtime": (single[other], shape["work"][other]),
        "estimate": (single[known], shape["expect"][known]),
    }
    return _changed(arrivals.workload, arrivals.by_arrival, changes, "shapes of moldable jobs")


def _changed(
    workload: Workload,
    by_arrival: Ints | None,
    changes: dict[str, tuple[Ints, Array]],
    note: str,
) -> Workload:
    """Give some jobs, by arrival, other values in some columns."""
    table = workload.table.clone()  # columns are replaced in it: far quicker than a query
    for name, (some, values) in changes.items():
        if some.size:
            column = values
            if some.size < len(workload) or by_arrival is not None:
                column = np.array(workload.column(name))
                column[some if by_arrival is None else by_arrival[some]] = values
            kind = table.schema[name]
            fresh = pl.Series(name, column, dtype=kind, nan_to_null=True)
            table.replace_column(table.get_column_index(name), fresh)
    return Workload(table, workload.meta.noting(note))


def _history(problem: Problem, outcome: Outcome) -> RateHistory:
    switches = outcome.switches
    if switches.size == 0:
        return RateHistory(np.array([problem.t0]), np.zeros(1, np.int64), problem.rates.rates)
    return RateHistory.joined(problem.t0, switches["time"], switches["level"], problem.rates.rates)

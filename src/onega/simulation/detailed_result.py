"""From what the detailed kernel found to a schedule."""

from __future__ import annotations

import numpy as np
import polars as pl

from onega.core.chronicle import EVENTS, STATES, Attempts, Chronicle, Parts
from onega.core.cluster import Cluster
from onega.core.history import Pieces, RateHistory
from onega.core.policy import Policy
from onega.core.report import Report
from onega.core.schedule import Schedule
from onega.core.workload import Workload
from onega.kernels.detailed_codes import CAPACITY, CHECKPOINT, REQUEUED, TIMEOUT, WOKEN
from onega.simulation.detailed_problem import Floats, Ints, Outcome, Problem


def make_schedule(
    workload: Workload,
    machine: Cluster,
    policy: Policy,
    run: tuple[Problem, Outcome, Ints],
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
        Problem, outcome, and the workload's row of each of the problem's jobs (by arrival).
    provenance, report
        How it came about; what was left out.

    Notes
    -----
    Jobs that waited for others get the submission that they had, moldable ones their width, so
    that the workload of the schedule is what was really run.
    """
    problem, outcome, row = run
    option = np.where(outcome.option >= 0, outcome.option, problem.jobs.first_option)
    by_row = np.argsort(row)
    state = _named("state", outcome.state[by_row], STATES)
    chronicle = Chronicle(
        state,
        np.isfinite(outcome.submit[by_row]),
        outcome.lost_work[by_row],
        _head_start(problem)[by_row],
        *_attempts(problem, outcome, row),
        _event_log(workload, outcome, row),
        Parts(
            outcome.part_kind,
            outcome.part_since,
            outcome.part_until,
            outcome.part_count,
            outcome.part_depth,
        ),
    )
    start, end = outcome.start[by_row], outcome.end[by_row]
    tries = chronicle.attempts
    one_stretch = tries.row.size == np.isfinite(start).sum() and np.all(tries.end == end[tries.row])
    order = np.lexsort((tries.start, tries.row))
    pieces = Pieces(tries.row[order], tries.start[order], tries.end[order])
    return Schedule(
        _as_run(workload, problem, outcome, row),
        machine,
        policy,
        start,
        end,
        problem.options.work[option][by_row],
        outcome.state[by_row] == TIMEOUT,
        _history(problem, outcome),
        None if one_stretch else pieces,
        provenance,
        report or Report(),
        chronicle,
    )


def _as_run(workload: Workload, problem: Problem, outcome: Outcome, row: Ints) -> Workload:
    """Give dependent jobs the submission, and moldable ones the shape, that they had in the run."""
    jobs, options = problem.jobs, problem.options
    followed = np.flatnonzero((jobs.after >= 0) & np.isfinite(outcome.submit))
    molded = np.flatnonzero((jobs.options > 1) & (outcome.option >= 0))
    if followed.size + molded.size == 0:
        return workload
    taken = outcome.option[molded]
    changes = {
        "submit": (followed, outcome.submit[followed]),
        "procs": (molded, options.procs[taken]),
        "runtime": (molded, options.work[taken]),
        "estimate": (molded, options.expect[taken]),
    }
    columns = []
    for name, (some, values) in changes.items():
        if some.size:
            column = np.array(workload.column(name))
            column[row[some]] = values
            series = pl.Series(name, column, dtype=workload.table.schema[name])
            columns.append(series.fill_nan(None) if column.dtype.kind == "f" else series)
    note = "submissions and shapes as they came out of the simulation"
    return Workload(workload.table.with_columns(columns), workload.meta.noting(note))


def _attempts(problem: Problem, outcome: Outcome, row: Ints) -> tuple[Attempts, Floats]:
    """Return the attempts, with when their work stopped and how much of it was saved."""
    job, start, end = outcome.attempt_job, outcome.attempt_start, outcome.attempt_end
    # Work that never began, began and stopped at the end of the attempt: none was done.
    begin = np.where(np.isnan(outcome.attempt_begin), end, outcome.attempt_begin)
    begin = np.maximum(begin, problem.t0)
    finished = (end == outcome.end[job]) & (outcome.state[job] <= TIMEOUT)
    history = _history(problem, outcome)
    clock = history.integral(history.rates, begin)
    done = history.integral(history.rates, end) - clock
    saved = np.zeros(job.size)
    if problem.on_interrupt == CHECKPOINT:
        whole = np.floor(done / problem.checkpoint) * problem.checkpoint
        saved = np.where(~finished & _requeued(outcome), whole, 0.0)
    before = np.bincount(job, saved, row.size) + _head_start(problem)
    left = problem.options.work[outcome.option[job]] - before[job]
    stop = np.where(finished, np.minimum(history.reaching(clock + left), end), end)
    saved = np.where(finished, left, saved)
    return Attempts(row[job], start, outcome.attempt_wake, begin, stop, end), saved


def _head_start(problem: Problem) -> Floats:
    """Work done before the run began, of jobs that ran already."""
    return np.where(np.isnan(problem.jobs.initial_start), 0.0, problem.jobs.initial_done)


def _requeued(outcome: Outcome) -> Ints:
    """Tell which attempts ended in the queue again."""
    again = outcome.log_event == REQUEUED
    pairs = set(zip(outcome.log_job[again], outcome.log_time[again], strict=True))
    ends = zip(outcome.attempt_job, outcome.attempt_end, strict=True)
    return np.fromiter((one in pairs for one in ends), bool, outcome.attempt_job.size)


def _event_log(workload: Workload, outcome: Outcome, row: Ints) -> pl.DataFrame:
    """Name events, jobs and nodes."""
    code, job, node = outcome.log_event, outcome.log_job, outcome.log_node
    has_job = (job >= 0) & (code != WOKEN)
    has_node = (node >= 0) & (code != CAPACITY)
    ids = workload.table["job"].to_numpy()[row]
    return pl.DataFrame(
        {
            "time": outcome.log_time,
            "event": _named("event", code, EVENTS),
            "job": ids[np.where(has_job, job, 0)],
            "node": node + 1,
        }
    ).with_columns(
        pl.when(pl.Series(has_job)).then("job"), pl.when(pl.Series(has_node)).then("node")
    )


def _named(name: str, codes: Ints, names: pl.Enum) -> pl.Series:
    """Make a column of names from their numbers, without a text for every row."""
    return pl.Series(name, names.categories, dtype=names).gather(codes)


def _history(problem: Problem, outcome: Outcome) -> RateHistory:
    return RateHistory.joined(
        problem.t0, outcome.switch_time, outcome.switch_level, problem.rates.rates
    )

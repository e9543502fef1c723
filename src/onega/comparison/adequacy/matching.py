"""Pairing the jobs of two schedules; other streams are refused (Baranov et al. 2019, VII)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from onega.core.errors import SimulationError
from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats, Ints
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why two schedules can't be compared: what differs, the first such job, how many."""

    what: str
    job: int | None
    count: int
    detail: str

    def __str__(self) -> str:
        first = "" if self.job is None else f"; the first is job {self.job}"
        return f"{self.what} differ{first}: {self.detail}"


@dataclass(frozen=True, slots=True, eq=False)
class Timings:
    """What became of the jobs in one schedule: wait q_i and residence time f_i, seconds."""

    wait: Floats
    residence: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """The jobs of one stream in the order of submission, with both schedules' timings."""

    job: Ints
    submit: Floats
    procs: Ints
    estimate: Floats
    real: Timings
    model: Timings
    meta: Meta

    def __len__(self) -> int:
        return int(self.job.size)

    @property
    def differences(self) -> Floats:
        """V_i − v_i, seconds."""
        return self.model.residence - self.real.residence

    @property
    def width_class(self) -> Ints:
        """⌊log₂ width⌋ of each job."""
        return np.floor(np.log2(np.maximum(self.procs, 1))).astype(np.int64)

    def to_polars(self) -> pl.DataFrame:
        """One row per job."""
        gaps = self.differences
        total = float(np.sum(gaps**2))
        return pl.DataFrame(
            {
                "job": self.job,
                "submit": self.submit,
                "procs": self.procs,
                "estimate": pl.Series(self.estimate).fill_nan(None),
                "wait_real": self.real.wait,
                "wait_model": self.model.wait,
                "residence_real": self.real.residence,
                "residence_model": self.model.residence,
                "difference": gaps,
                "share": gaps**2 / total if total > 0 else np.zeros(gaps.size),
            }
        )


def as_schedule(given: Schedule | Workload) -> Schedule:
    """Take a schedule as it is, and a log with waits as what was observed."""
    if isinstance(given, Schedule):
        return given
    if isinstance(given, Workload):
        return Schedule.observed(given)
    raise SimulationError(
        f"adequacy compares two schedules or logs with waits, got {type(given).__name__}"
    )


def pair_up(real: Schedule, model: Schedule, tolerance: float) -> Pairing | Mismatch:
    """Bring both into the order of submission and check n, r, p and e."""
    if len(real) != len(model):
        return _different_numbers(real, model)
    mine, theirs = _orders(real, model)
    job = real.workload.column("job")[mine]
    submits = [_clock(one, real)[rows] for one, rows in ((real, mine), (model, theirs))]
    estimates = [
        one.workload.column("estimate")[rows].astype(np.float64)
        for one, rows in ((real, mine), (model, theirs))
    ]
    procs = [one.workload.column("procs")[rows] for one, rows in ((real, mine), (model, theirs))]
    checks: tuple[tuple[str, list[Any], Callable[[Any, Any], Any]], ...] = (
        ("submit times", submits, lambda a, b: np.abs(a - b) <= tolerance),
        ("widths", procs, np.equal),
        ("requested times", estimates, lambda a, b: (a == b) | (np.isnan(a) & np.isnan(b))),
    )
    for what, (a, b), agree in checks:
        wrong = np.flatnonzero(~agree(a, b))
        if wrong.size:
            first = int(wrong[0])
            detail = f"{a[first]:.10g} in reality, {b[first]:.10g} in the model"
            more = f" ({wrong.size} of {job.size} jobs)" if wrong.size > 1 else ""
            return Mismatch(what, int(job[first]), int(wrong.size), detail + more)
    return Pairing(
        job,
        submits[0],
        procs[0],
        estimates[0],
        _timings(real, mine),
        _timings(model, theirs),
        real.workload.meta,
    )


def _clock(schedule: Schedule, real: Schedule) -> Floats:
    """Return submit times on the real stream's time axis, where both epochs are known."""
    submit = schedule.workload.column("submit")
    mine, other = real.workload.meta.epoch, schedule.workload.meta.epoch
    if mine is None or other is None or mine == other:
        return submit
    return submit + (other - mine)


def _timings(schedule: Schedule, rows: Ints) -> Timings:
    submit = schedule.workload.column("submit")[rows]
    return Timings(schedule.start[rows] - submit, schedule.end[rows] - submit)


def _orders(real: Schedule, model: Schedule) -> tuple[Ints, Ints]:
    """Return the rows of both in the order of submission, paired.

    By id where both sides have the same ones; else each side by submission, then id.
    """
    mine, theirs = (one.workload.column("job") for one in (real, model))
    first = np.lexsort((mine, real.workload.column("submit")))
    by_id, other_by_id = np.argsort(mine, kind="stable"), np.argsort(theirs, kind="stable")
    ids = mine[by_id]
    unique = ids.size < 2 or bool(np.all(np.diff(ids) > 0))
    if unique and np.array_equal(ids, theirs[other_by_id]):
        place = np.empty(ids.size, np.int64)
        place[by_id] = np.arange(ids.size)
        return first, other_by_id[place[first]]
    return first, np.lexsort((theirs, model.workload.column("submit")))


def _different_numbers(real: Schedule, model: Schedule) -> Mismatch:
    detail = f"{len(real)} in reality, {len(model)} in the model"
    mine, theirs = (one.workload.column("job") for one in (real, model))
    lone = np.setxor1d(mine, theirs)
    if lone.size == 0 or lone.size > abs(len(real) - len(model)):
        # The ids don't belong together: there is no telling which job is missing.
        return Mismatch("the numbers of jobs", None, abs(len(real) - len(model)), detail)
    rows = np.flatnonzero(np.isin(mine, lone)), np.flatnonzero(np.isin(theirs, lone))
    side, side_rows, where = (
        (real, rows[0], "reality") if rows[0].size else (model, rows[1], "the model")
    )
    first = side_rows[np.argmin(side.workload.column("submit")[side_rows])]
    job = int(side.workload.column("job")[first])
    return Mismatch("the numbers of jobs", job, int(lone.size), f"{detail}, only in {where}")

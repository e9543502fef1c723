"""What a run is given, and its jobs in the order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from onega.core.errors import SimulationError
from onega.core.machine.cluster import MOST_PROCS
from onega.core.machine.events import Events
from onega.core.machine.laws import Draws
from onega.core.machine.speedup import Speedup
from onega.core.machine.state import MachineState
from onega.core.types import Floats, Ints
from onega.core.workload.tables import TableLike
from onega.core.workload.workload import Workload
from onega.simulation.pool import setup


@dataclass(frozen=True, slots=True, eq=False)
class RunInputs:
    """What a run is given beside workload, machine and policy (see `onega.simulate`)."""

    events: Events | None = None
    dependencies: bool = False
    initial: MachineState | None = None
    moldable: Speedup | TableLike | None = None
    demands: TableLike | None = None
    patience: Draws | None = None

    @property
    def are_plain(self) -> bool:
        """Whether there are none."""
        given = (self.events, self.initial, self.moldable, self.demands, self.patience)
        return not self.dependencies and all(one is None for one in given)


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Jobs in the order of arrival.

    Attributes
    ----------
    workload
        All jobs as given, those of the initial state first.
    by_arrival
        The workload's row of each job by arrival; None: they are the same.
    jobs
        The workload by arrival.
    start, done
        By arrival: since when a job runs already (NaN: it doesn't), and work done.
    before
        How many of the workload's first rows are of the initial state.
    """

    workload: Workload
    by_arrival: Ints | None
    jobs: Workload
    start: Floats
    done: Floats
    before: int

    @classmethod
    def of(cls, workload: Workload, initial: MachineState | None) -> Arrivals:
        """Put the initial state's jobs before the others, and all into the order of arrival."""
        everything = workload
        start, done = np.full(len(workload), np.nan), np.zeros(len(workload))
        before = 0
        if initial is not None:
            before = len(initial.workload)
            _check_initial(workload, initial)
            table = pl.concat([initial.workload.table, workload.table], how="diagonal")
            note = f"{before} jobs of a state at {initial.time:g} s before the others"
            everything = Workload(table, workload.meta.noting(note))
            start = np.concatenate([initial.start, start])
            done = np.concatenate([initial.done, done])
        setup.check_jobs(everything, MOST_PROCS)
        row, jobs = everything.cached((_by_arrival,), lambda: _by_arrival(everything))
        if row is None or jobs is None:
            return cls(everything, None, everything, start, done, before)
        return cls(everything, row, jobs, start[row], done[row], before)

    def row_of(self, places: Ints) -> Ints:
        """Return the workload's rows of jobs by arrival."""
        return places if self.by_arrival is None else self.by_arrival[places]


def _by_arrival(workload: Workload) -> tuple[Ints, Workload] | tuple[None, None]:
    """Return the rows in the order of arrival and the jobs so; None if they are so."""
    row = setup.rows_by_arrival(workload)
    return (None, None) if row is None else (row, Workload(workload.table[row], workload.meta))


def _check_initial(workload: Workload, initial: MachineState) -> None:
    submit = workload.column("submit")
    early = np.flatnonzero(submit < initial.time)
    if early.size:
        raise SimulationError(
            f"jobs that come after a state at {initial.time:g} s can't be submitted before it; "
            "keep those with workload.select(pl.col('submit') >= time)",
            jobs=workload.table["job"].gather(early).to_list(),
        )

"""`sweep`: thousands of simulations over everything that `simulate` takes; `Sweep`: their table."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from onega.core.errors import FileError, OnegaError, OnegaWarning
from onega.core.plotting import Plottable
from onega.core.renamed import renamed
from onega.core.workload.workload import Workload
from onega.experiment.sweep.design import Design, Run
from onega.experiment.sweep.prepare import Prepared, prepare
from onega.experiment.sweep.record import (
    ABOUT,
    WHOLE,
    Record,
    make_and_store,
    make_record,
    to_table,
)
from onega.experiment.sweep.store import Store, is_busy, read_design, stored_rows
from onega.experiment.workers.workers import Running, Threads, Workers, run_each
from onega.models.base import WorkloadModel

SpecLike = str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a sweep is.

    Attributes
    ----------
    total
        Runs of the sweep.
    before
        Of these, there already when it began.
    done
        Finished since, those that can't be made included.
    failed
        Of these, those that can't be made.
    lost
        Neither finished nor stored: a worker died, the disk is full.
    seconds
        Since it began.
    """

    total: int
    before: int = 0
    done: int = 0
    failed: int = 0
    lost: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Runs per second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go; None as long as nothing is known."""
        if not self.done:
            return None
        return (self.total - self.before - self.done - self.lost) / self.rate


OnRun = Callable[[Tally], None]


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Plottable):
    """The runs of a sweep, in its folder; read when they are asked for.

    Attributes
    ----------
    folder
        Where the runs are.
    design
        What was to be run.
    problems
        Runs that the last call of `onega.sweep` couldn't finish or store, and why; the same call
        tries them again.
    """

    FIGURES: ClassVar[str] = "sweep"

    folder: Path
    design: Design
    problems: tuple[str, ...] = field(default=())

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Sweep:
        """Open a sweep's folder, finished or not."""
        place = Path(folder)
        return cls(place, read_design(place))

    def __len__(self) -> int:
        return len(self.design)

    def __repr__(self) -> str:
        return f"<Sweep: {len(self)} runs over {', '.join(self.varied)} in {self.folder}>"

    @property
    def varied(self) -> tuple[str, ...]:
        """The parameters that differ between runs: columns of the table."""
        return self.design.spec.varied

    @property
    def measures(self) -> tuple[str, ...]:
        """What was measured: columns of the table."""
        skipped = {"run", "error", *self.varied}
        return tuple(name for name in self.lazy().collect_schema() if name not in skipped)

    def lazy(self) -> pl.LazyFrame:
        """`to_polars` as a lazy frame."""
        return self.to_polars().lazy()

    def to_polars(self) -> pl.DataFrame:
        """Return the table of finished runs, by number.

        Columns: ``run``, what varies, the measures of `Schedule.summary`, and ``error``: why a run
        can't be made (its measures are null then). The same on any workers, and in whatever
        order.
        """
        design = self.design.to_polars()
        rows, _ = self._rows(design)
        own = [name for name in rows.columns if name not in {*ABOUT, "run", *self.varied}]
        whole = [name for name in own if name in WHOLE]
        measured = rows.select("key", *own, "error").with_columns(pl.col(whole).cast(pl.Int64))
        return design.join(measured, on="key", how="inner", maintain_order="left").drop("key")

    def timings(self) -> pl.DataFrame:
        """Return what each finished run took: run, seconds, worker, ended (Unix time)."""
        design = self.design.to_polars().select("run", "key")
        rows = self._rows(design)[0].select("key", "seconds", "worker", "ended")
        return design.join(rows, on="key", maintain_order="left").drop("key")

    def summary(self) -> dict[str, Any]:
        """How far it is: runs, done, failed, missing, damaged, and what they took."""
        design = self.design.to_polars().select("run", "key")
        rows, damaged = self._rows(design)
        table = design.join(rows.select("key", "error", "seconds", "ended"), on="key", how="left")
        done = table.filter(pl.col("seconds").is_not_null())
        ended = done["ended"]
        span = None if ended.is_empty() else float(ended.max()) - float(ended.min())  # type: ignore[arg-type]
        return {
            "folder": str(self.folder),
            "runs": len(self),
            "done": done.height,
            "failed": int(done["error"].is_not_null().sum()),
            "missing": len(self) - done.height,
            "damaged": damaged,
            "complete": done.height == len(self),
            "running": is_busy(self.folder),
            "varied": ", ".join(self.varied),
            "seconds_per_run": None if done.is_empty() else done["seconds"].median(),
            "core_seconds": float(done["seconds"].sum()),
            "span": span,
            "problems": len(self.problems),
            "onega": self.design.version,
        }

    def _rows(self, design: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """Return the stored runs that belong to a design, and how many can't be read.

        Runs without measures get null.
        """
        wanted, damaged = set(design["key"]), 0

        def whole() -> Iterator[tuple[str, str]]:
            nonlocal damaged
            for row in stored_rows(self.folder):
                if row.key is None or row.content is None:
                    damaged += 1
                elif row.key in wanted:
                    yield row.key, row.content

        return to_table(whole()), damaged


@renamed(progress="on_run")
def sweep(
    spec: SpecLike,
    folder: str | os.PathLike[str],
    *,
    workload: Workload | WorkloadModel | None = None,
    workers: Workers | None = None,
    replace_spec: bool = False,
    on_run: OnRun | None = None,
) -> Sweep:
    """Make the runs of a sweep that aren't there yet.

    Parameters
    ----------
    spec
        A TOML file, or a dictionary with the same content: what is fixed, what varies (see
        docs/sweeps.md).
    folder
        Where runs are stored, each when it is finished. The same call goes on where it stopped,
        whatever stopped it.
    workload
        The log or model, instead of a ``trace`` or ``model`` in the spec.
    workers
        `onega.Threads` (all cores, by default), `onega.Processes` or `onega.Dask`; the results are
        the same.
    replace_spec
        Go on in a folder with another spec: runs that both have are kept, others aren't shown.
    on_run
        Called with a `Tally` after every run.

    Returns
    -------
    Sweep
        All runs, those from before included; its ``problems`` say what couldn't be done.

    Raises
    ------
    ExperimentError
        The spec is wrong, or the folder belongs to something else. Nothing is written then.
    """
    plan = prepare(spec, workload)
    return run_prepared(plan, folder, workers=workers, replace_spec=replace_spec, on_run=on_run)


def run_prepared(
    plan: Prepared,
    folder: str | os.PathLike[str],
    *,
    workers: Workers | None = None,
    replace_spec: bool = False,
    on_run: OnRun | None = None,
) -> Sweep:
    """Make the runs of a sweep whose sources are read."""
    place = Path(folder)
    with Store.opened(place, plan.design, replace_spec=replace_spec) as store:
        driver = _Driver(plan, store, on_run)
        driver.work(workers)
    return Sweep(place, plan.design, tuple(driver.problems))


class _Driver:
    """Hands out missing runs, stores what comes back, and keeps count."""

    def __init__(self, plan: Prepared, store: Store, on_run: OnRun | None) -> None:
        self._plan, self._store, self._on_run = plan, store, on_run
        self._there = store.finished
        self._before = self._twins = self._done = self._failed = 0
        self._unwritten: list[tuple[Run, Record]] = []
        self._reason = ""
        self._began = time.perf_counter()
        self.problems: list[str] = []

    def work(self, workers: Workers | None) -> None:
        """Make all runs that aren't there."""
        missing = self._missing()
        self._name_damaged()
        self._tell()
        if not missing:
            return  # no worker has to be started
        running = self._start(missing, workers)
        # Closed here and not when it is collected: an exception would be swallowed there.
        with contextlib.closing(running):
            for place, record, error in running:
                run = missing[place]
                if error is None:
                    self._keep(run, record)
                else:
                    self.problems.append(f"run {run.number}: {_words(error)}")
                self._tell()
        self._write()
        self.problems += [
            f"run {run.number}: can't be stored: {self._reason}" for run, _ in self._unwritten
        ]

    def _name_damaged(self) -> None:
        """Say which stored runs can't be read; they are made again."""
        if not self._store.damaged:
            return
        numbers = {run.key: run.number for run in self._plan.design}
        known = sorted(numbers[key] for key in self._store.damaged if key in numbers)
        count = len(self._store.damaged)
        what = "1 stored run is" if count == 1 else f"{count} stored runs are"
        named = ", ".join(f"run {number}" for number in known[:5]) + ", …" * (len(known) > 5)
        warnings.warn(
            f"{self._store.folder}: {what} damaged{f' ({named})' if named else ''} and made again",
            OnegaWarning,
            stacklevel=2,
        )

    def _start(self, missing: list[Run], workers: Workers | None) -> Running:
        """Hand out runs; threads store what they made themselves."""
        sources = self._plan.sources
        if workers is None or isinstance(workers, Threads):
            return run_each(make_and_store, missing, shared=(sources, self._store), workers=workers)
        return run_each(make_record, missing, shared=sources, workers=workers)

    def _keep(self, run: Run, record: Record) -> None:
        """Count a finished run, stored if it isn't yet."""
        if record.stored:
            self._done += 1
            self._failed += record.failed
        else:
            self._unwritten.append((run, record))
        self._write()

    def _missing(self) -> list[Run]:
        """Return the runs to make, each once; those with the same jobs after one another."""
        wanted: dict[str, Run] = {}
        count = 0
        for run in self._plan.design:
            if run.key in self._there or run.key in wanted:
                count += run.key in self._there
            else:
                wanted[run.key] = run
        self._before = count
        self._twins = len(self._plan.design) - count - len(wanted)
        return sorted(wanted.values(), key=Run.workload_key)

    def _write(self) -> None:
        """Store what isn't yet; if the disk is full, keep it and try again with the next."""
        for run, record in list(self._unwritten):
            try:
                self._store.write(run, record.content)
            except FileError as error:
                if not self._reason:
                    warnings.warn(
                        f"a finished run can't be stored: {_words(error)}; the rest goes on, and "
                        "it is tried again",
                        OnegaWarning,
                        stacklevel=2,
                    )
                self._reason = _words(error)
                return
            self._unwritten.remove((run, record))
            self._done += 1
            self._failed += record.failed

    def _tell(self) -> None:
        if self._on_run is not None:
            self._on_run(
                Tally(
                    len(self._plan.design) - self._twins,
                    self._before,
                    self._done,
                    self._failed,
                    len(self.problems) + len(self._unwritten),
                    time.perf_counter() - self._began,
                )
            )


def _words(error: BaseException) -> str:
    """Say an error in one line."""
    if isinstance(error, OnegaError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__

"""`virtual`: a real Slurm runs a stream on virtual nodes (seed 004, IV and VIII)."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onega.comparison.adequacy import Adequacy, adequacy
from onega.comparison.overheads import OverheadLaw, Overheads, Release
from onega.comparison.virtual_collect import collect, finished, handovers
from onega.comparison.virtual_conf import scheduler_parameters
from onega.comparison.virtual_slurm import VirtualSlurm, end_leftovers
from onega.comparison.virtual_tools import find_programs, slurm_version
from onega.core.errors import SimulationError
from onega.core.plotting import Plottable
from onega.core.workload import Workload
from onega.traces.writing import write

MARK = "onega-virtual.json"
"""The file by which a folder of an earlier run is known."""

LEAD = 2.0
"""Real seconds between the machine's being up and the stream's first submission."""

STALL = 120.0
"""Real seconds without any end of a job, beyond the longest limit, before a run is given up."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class VirtualRun:
    """One run: the log it made, a row per job, and how clean it was."""

    log: Workload
    jobs: pl.DataFrame
    seconds: float
    stolen: float

    def quality(self) -> dict[str, float]:
        """Return figures that tell a disturbed run: lateness, overruns, stolen processor time."""
        late = self.jobs["submitted"] - self.jobs["due"]
        over = self.jobs["overrun"]
        return {
            "wall_seconds": self.seconds,
            "stolen_seconds": self.stolen,
            "submission_late_mean": float(late.mean()),  # type: ignore[arg-type]
            "submission_late_max": float(late.max()),  # type: ignore[arg-type]
            "overrun_median": float(over.median()),  # type: ignore[arg-type]
            "overrun_max": float(over.max()),  # type: ignore[arg-type]
            "cut_off": int((self.jobs["state"] != "COMPLETED").sum()),
            "by_backfill": int((self.jobs["by"] == "backfill").sum()),
        }


@dataclass(frozen=True, slots=True, eq=False)
class VirtualResult(Plottable):
    """What a real Slurm did with a stream, once or several times. See `virtual`."""

    FIGURES: ClassVar[str] = "adequacy"

    stream: Workload
    procs: int
    speed: float
    parameters: str
    version: str
    runs: tuple[VirtualRun, ...]
    pairs: tuple[Adequacy, ...]
    overheads: Overheads

    @property
    def ideal(self) -> float:
        """P_ideal: the median of P over all pairs of runs; NaN if there was one run only."""
        return float(np.median([pair.P for pair in self.pairs])) if self.pairs else math.nan

    @property
    def results(self) -> dict[str, Adequacy]:
        """Return the pairs by name, for figures."""
        names = itertools.combinations(range(1, len(self.runs) + 1), 2)
        return {f"runs {a} and {b}": p for (a, b), p in zip(names, self.pairs, strict=True)}

    @property
    def best(self) -> str:
        """Return the first pair's name, for figures."""
        return next(iter(self.results))

    def summary(self) -> dict[str, Any]:
        """Everything in one flat dictionary."""
        values = [pair.P for pair in self.pairs]
        flat: dict[str, Any] = {
            "jobs": len(self.stream),
            "procs": self.procs,
            "speed": self.speed,
            "scheduler_parameters": self.parameters,
            "slurm": self.version,
            "runs": len(self.runs),
            "P_ideal": self.ideal if values else None,
            "P_ideal_min": min(values, default=None),
            "P_ideal_max": max(values, default=None),
            "P_pairs": values,
            "P_undefined": next((p.reason for p in self.pairs if not p.defined), None),
            "prefixes": [
                {"jobs": row.jobs, "P": row.P, "different": row.different}
                for pair in self.pairs[:1]
                for row in pair.prefixes()
            ],
        }
        for number, run in enumerate(self.runs, start=1):
            wait = float(np.mean(run.log.column("wait")))
            flat[f"run{number}_mean_wait"] = wait
            flat |= {f"run{number}_{key}": value for key, value in run.quality().items()}
        return flat | {f"overhead_{key}": v for key, v in self.overheads.summary().items()}

    def to_polars(self) -> pl.DataFrame:
        """Return one row per run and job."""
        parts = [
            run.jobs.with_columns(pl.lit(number).alias("run"))
            for number, run in enumerate(self.runs, start=1)
        ]
        return pl.concat(parts)


def virtual(
    stream: Workload,
    folder: str | os.PathLike[str],
    *,
    procs: int,
    speed: float = 20.0,
    repeat: int = 1,
    settings: str = "stock",
    progress: Progress | None = None,
) -> VirtualResult:
    """Let a real Slurm schedule a stream on virtual processors, and collect what it did.

    Parameters
    ----------
    stream
        Jobs with submit times, widths, run times and requested times (the run time where one is
        missing). Slurm's limits are whole minutes: requested times are rounded up.
    folder
        Everything is written here and nowhere else: ``run-K.swf``, ``stream.swf``,
        ``overheads.json``, ``report.json`` and Slurm's own logs. A folder of an earlier run is
        cleared first; any other folder has to be empty.
    procs
        Virtual processors: nodes that only note that they are busy.
    speed
        Virtual seconds in a real one; 1 is the seed's real-time mode. Up to 20 is faithful; at 100
        a launch takes a few virtual seconds.
    repeat
        Runs of the same stream; two or more give the reference value P_ideal.
    settings
        ``"stock"``, ``"fine"``, a slurm.conf, or SchedulerParameters.
    progress
        Called with the share done.

    Raises
    ------
    SimulationError
        Slurm isn't installed (the message names the packages), a job can't run, a daemon died.
    """
    jobs = check_stream(stream, procs)
    if not (1 <= speed <= 200):
        raise SimulationError(f"the speed is between 1 and 200 (20 is faithful), got {speed:g}")
    if repeat < 1:
        raise SimulationError(f"repeat is a number of runs, at least 1; got {repeat}")
    find_programs()
    parameters = scheduler_parameters(settings)
    place = prepare_folder(Path(folder))
    runs: list[VirtualRun] = []
    for number in range(1, repeat + 1):

        def done(share: float, before: int = number - 1) -> None:
            if progress is not None:
                progress((before + share) / repeat)

        slurm = VirtualSlurm(place / f"run-{number}", procs, speed=speed, parameters=parameters)
        run = run_once(slurm, jobs, done)
        write(run.log, place / f"run-{number}.swf")
        runs.append(run)
    pairs = tuple(adequacy(a.log, b.log) for a, b in itertools.combinations(runs, 2))
    laws = fit_overheads(runs)
    result = VirtualResult(
        jobs, procs, speed, parameters, slurm_version(), tuple(runs), pairs, laws
    )
    write(jobs, place / "stream.swf")
    laws.save(place / "overheads.json")
    (place / "report.json").write_text(json.dumps(result.summary(), indent=2) + "\n")
    return result


def check_stream(stream: Workload, procs: int) -> Workload:
    """Refuse jobs that can't run; return the stream by submission, beginning at 0."""
    if len(stream) == 0:
        raise SimulationError("the stream has no jobs")
    table = stream.table
    for wrong, why in (
        (~(pl.col("runtime") > 0).fill_null(value=False), "have no positive run time"),
        (~(pl.col("procs") > 0).fill_null(value=False), "have no width"),
        (pl.col("procs") > procs, f"are wider than {procs} processors"),
    ):
        rows = table.filter(wrong)
        if rows.height:
            raise SimulationError(
                f"{rows.height} of {len(stream)} jobs {why}", jobs=rows["job"].to_list()
            )
    ordered = stream.sorted()
    first = float(ordered.column("submit")[0])
    moved = ordered.with_columns(
        pl.col("submit") - first,
        pl.lit(None, dtype=pl.Float64).alias("wait"),
        note="the stream begins at 0",
    )
    epoch = None if stream.meta.epoch is None else stream.meta.epoch + first
    return Workload(moved.table, replace(moved.meta, epoch=epoch, procs=procs, nodes=None))


def prepare_folder(folder: Path) -> Path:
    """Make the folder, or clear one of an earlier run (and whatever of it still runs)."""
    place = folder.resolve()
    mark = place / MARK
    if place.is_dir() and any(place.iterdir()):
        if not mark.is_file():
            raise SimulationError(
                f"{folder} has files that are not of an earlier run; choose an empty folder"
            )
        end_leftovers(place)
        for path in place.iterdir():
            if path.is_dir() and path.name.startswith("run-"):
                shutil.rmtree(path)
            elif path.name != MARK and path.suffix in (".swf", ".json"):
                path.unlink()
    place.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps({"made by": "onega virtual", "pid": os.getpid()}) + "\n")
    return place


def limit_minutes(estimate: float, runtime: float) -> int:
    """Return Slurm's limit: whole minutes, rounded up; the run time where nothing was requested."""
    seconds = estimate if estimate > 0 else runtime
    return max(1, math.ceil(seconds / 60))


def run_once(slurm: VirtualSlurm, jobs: Workload, progress: Progress) -> VirtualRun:
    """Start Slurm, submit the stream at its instants, wait for the last end, take it down."""
    began, steal = time.monotonic(), _stolen()
    with slurm:
        zero = math.ceil(slurm.now() + LEAD * slurm.speed)
        _submit_all(slurm, jobs, zero, progress)
        _wait_for_ends(slurm, jobs, progress)
    rows = collect(slurm.folder)
    slurm.tidy()
    log, table = _as_log(jobs, rows, zero, slurm)
    return VirtualRun(log, table, time.monotonic() - began, _stolen() - steal)


def _submit_all(slurm: VirtualSlurm, jobs: Workload, zero: float, progress: Progress) -> None:
    columns = [jobs.column(name) for name in ("job", "submit", "procs", "runtime")]
    estimates = jobs.column("estimate").astype(np.float64)
    for number, (job, submit, width, runtime) in enumerate(zip(*columns, strict=True)):
        wait = slurm.real_seconds_until(zero + submit)
        while wait > 0:
            time.sleep(min(wait, 1.0))
            if wait > 1:
                slurm.check_alive()
            wait = slurm.real_seconds_until(zero + submit)
        limit = limit_minutes(float(estimates[number]), float(runtime))
        slurm.submit(int(width), float(runtime), limit, str(int(job)))
        progress(0.9 * (number + 1) / len(jobs))


def _wait_for_ends(slurm: VirtualSlurm, jobs: Workload, progress: Progress) -> None:
    longest = float(np.nanmax(np.fmax(jobs.column("estimate"), jobs.column("runtime"))))
    patience = STALL + 2 * longest / slurm.speed
    seen, since = -1, time.monotonic()
    while (done := finished(slurm.folder)) < len(jobs):
        if done > seen:
            seen, since = done, time.monotonic()
        slurm.check_alive()
        if time.monotonic() - since > patience:
            raise SimulationError(
                f"no job has ended for {patience:.0f} s; {done} of {len(jobs)} are done; "
                f"see {slurm.folder / 'slurmctld.log'}"
            )
        progress(0.9 + 0.1 * done / len(jobs))
        time.sleep(0.2)


def _as_log(
    jobs: Workload, rows: pl.DataFrame, zero: float, slurm: VirtualSlurm
) -> tuple[Workload, pl.DataFrame]:
    """Join what Slurm noted to the stream; times from the stream's beginning."""
    times = ("submitted", "start", "end", "launched")
    mine = jobs.table.select("job", due="submit", asked="runtime")
    table = mine.join(
        rows.with_columns(pl.col(name) - zero for name in times), left_on="job", right_on="name"
    )
    noted_end = (table["start"] + zero).floor() - zero + table["asked"]
    last = pl.select(pl.max_horizontal(noted_end, table["launched"].fill_null(-math.inf)))
    table = table.with_columns(
        overrun=pl.col("end") - pl.col("start") - pl.col("asked"),
        launch=pl.col("launched") - pl.col("start"),
        completion=pl.col("end") - last.to_series(),
    )
    # By the clocks' difference a start may seem to come milliseconds before the submission.
    began = pl.max_horizontal("start", "due")
    found = table.select(
        "job",
        wait=began - pl.col("due"),
        runtime=pl.col("end") - began,
        state=pl.col("state"),
    )
    words = {"COMPLETED": "completed", "TIMEOUT": "timeout", "CANCELLED": "cancelled"}
    log = jobs.table.drop("wait", "runtime", "status").join(found, on="job", maintain_order="left")
    log = log.with_columns(status=pl.col("state").replace_strict(words, default="failed")).drop(
        "state"
    )
    note = f"run by a real Slurm on {slurm.procs} virtual processors at {slurm.speed:g}x"
    meta = jobs.meta.noting(note, source=f"Slurm, {slurm.folder.name}")
    return Workload(log, meta), table


def fit_overheads(runs: Sequence[VirtualRun]) -> Overheads:
    """Fit the laws of overheads to what was measured in all runs together."""
    joined = pl.concat([run.jobs for run in runs]).filter(pl.col("state") == "COMPLETED")
    gaps = [handovers(run.jobs) for run in runs]
    return Overheads(
        OverheadLaw.fit((joined["submitted"] - joined["due"]).to_numpy()),
        OverheadLaw.fit(joined["launch"].to_numpy()),
        OverheadLaw.fit(joined["completion"].to_numpy()),
        Release.fit(*np.concatenate(gaps).T),
    )


def _stolen() -> float:
    """Return the processor seconds that the host has taken from this machine so far."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(first[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0

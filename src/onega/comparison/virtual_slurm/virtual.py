"""`virtual`: a real Slurm runs a stream on virtual nodes (Baranov et al. 2019, IV and VIII)."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.comparison.adequacy.adequacy import adequacy
from onega.comparison.adequacy.overheads import NONE, fit_law, fit_release
from onega.comparison.virtual_slurm.collect import collect, manager_times
from onega.comparison.virtual_slurm.conf import scheduler_parameters
from onega.comparison.virtual_slurm.drive import RULES, Action, Drive, plan_actions
from onega.comparison.virtual_slurm.jump import JumpingDrive
from onega.comparison.virtual_slurm.result import STATUS, VirtualResult, VirtualRun
from onega.comparison.virtual_slurm.slurm import VirtualSlurm
from onega.comparison.virtual_slurm.tools import (
    end_leftovers,
    find_compiler,
    find_programs,
    slurm_version,
)
from onega.core.errors import SimulationError
from onega.core.files import write_text
from onega.core.machine.checks import word
from onega.core.machine.events import Events
from onega.core.machine.overheads import Overheads
from onega.core.renamed import renamed
from onega.core.types import Progress
from onega.core.workload.tables import TableLike
from onega.core.workload.workload import Workload
from onega.simulation.slurm.run import SLEEPS
from onega.traces.writing import write

MARK = "onega-virtual.json"
"""The file by which a folder of an earlier run is known."""

LEAD = 2.0
"""Real seconds between the machine's being up and the stream's first submission."""

CLOCKS = ("steady", "jumping")

ATTEMPTS = 3
"""Times that a run is made if the machine loses jobs on the way."""


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What every run of one call does."""

    jobs: Workload
    procs: int
    speed: float
    parameters: str
    actions: list[Action]
    rule: str
    jumping: bool = False


@renamed(stream="workload")
def virtual(
    workload: Workload,
    folder: str | os.PathLike[str],
    *,
    procs: int,
    speed: float = 20.0,
    repeat: int = 1,
    settings: str = "stock",
    clock: str = CLOCKS[0],
    events: Events | TableLike | None = None,
    interruption: str = RULES[0],
    progress: Progress | None = None,
) -> VirtualResult:
    """Let a real Slurm schedule a stream on virtual processors, and collect what it did.

    Parameters
    ----------
    workload
        Jobs with submit times, widths, run times and requested times (the run time where one is
        missing). Slurm's limits are whole minutes: requested times are rounded up.
    folder
        Everything is written here and nowhere else: ``run-K.swf``, ``run-K-events``,
        ``stream.swf``, ``overheads.json``, ``report.json`` and Slurm's own logs. A folder of an
        earlier run is cleared first; any other folder has to be empty.
    procs
        Virtual processors: nodes that only note that they are busy.
    speed
        Virtual seconds in a real one; 1 is the paper's real-time mode. Up to 20 is faithful; at 100
        a launch takes a few virtual seconds.
    repeat
        Runs of the same stream; two or more give the reference value P_ideal, over all pairs.
    settings
        ``"stock"``, ``"fine"``, a slurm.conf, or SchedulerParameters.
    clock
        ``"steady"``: always as fast; ``"jumping"``: over the time in which nothing can happen, the
        clock jumps, so that a low load takes little real time. Without events.
    events
        What happens to jobs and nodes, a table as `simulate` takes it: ``cancel`` (deleted while
        it waits), ``kill``, ``interrupt``, ``fail``, ``return``, ``drain``, ``down``, ``up``. Each
        processor is a node, numbered from 1.
    interruption
        What becomes of a job that is interrupted or whose node fails: ``"requeue"`` or ``"lost"``.
    progress
        Called with the share done.

    Raises
    ------
    SimulationError
        Slurm isn't installed (the message names the packages), a job can't run, a daemon died.
    """
    jobs = check_stream(workload, procs)
    if not (1 <= speed <= 200):
        raise SimulationError(f"the speed is between 1 and 200 (20 is faithful), got {speed:g}")
    if repeat < 1:
        raise SimulationError(f"repeat is a number of runs, at least 1; got {repeat}")
    word("interruption", interruption, RULES)
    word("clock", clock, CLOCKS)
    if clock != CLOCKS[0] and (events is not None or speed == 1):
        raise SimulationError("a jumping clock goes with a speed above 1 and without events")
    first = float(np.min(workload.column("submit")))
    given = None if events is None else Events.of(events)
    actions = [] if given is None else plan_actions(given, jobs, procs)
    actions = [replace(one, time=max(one.time - first, 0.0)) for one in actions]
    happened = (
        None if given is None else Events.of(given.table.with_columns(pl.col("time") - first))
    )
    find_programs()
    if clock == CLOCKS[1]:
        find_compiler()
    parameters = scheduler_parameters(settings)
    plan = _Plan(jobs, procs, speed, parameters, actions, interruption, clock == CLOCKS[1])
    place = prepare_folder(Path(folder))
    runs: list[VirtualRun] = []
    for number in range(1, repeat + 1):

        def done(share: float, before: int = number - 1) -> None:
            if progress is not None:
                progress((before + share) / repeat)

        run = _run_whole(place / f"run-{number}", plan, done)
        write(run.log, place / f"run-{number}.swf")
        run.events(happened).write(place / f"run-{number}-events")
        runs.append(run)
    pairs = tuple(adequacy(a.log, b.log) for a, b in itertools.combinations(runs, 2))
    laws = fit_overheads(runs)
    result = VirtualResult(
        jobs, procs, speed, parameters, slurm_version(), tuple(runs), pairs, laws
    )
    write(jobs, place / "stream.swf")
    laws.save(place / "overheads.json", about=_origin(result))
    write_text(place / "report.json", json.dumps(result.summary(), indent=2) + "\n")
    return result


def check_stream(stream: Workload, procs: int) -> Workload:
    """Refuse jobs that can't run; return the stream by submission, undated, beginning at 0."""
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
    # The virtual machine's clock shows another date, by which Slurm rounds its plans.
    return Workload(moved.table, replace(moved.meta, epoch=None, procs=procs, nodes=None))


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
    write_text(mark, json.dumps({"made by": "onega virtual", "pid": os.getpid()}) + "\n")
    return place


def _run_whole(folder: Path, plan: _Plan, progress: Progress) -> VirtualRun:
    """Make a run, and make it again if the machine lost jobs that no event cancels."""
    for attempt in range(1, ATTEMPTS + 1):
        slurm = VirtualSlurm(
            folder,
            plan.procs,
            speed=plan.speed,
            parameters=plan.parameters,
            jumping=plan.jumping,
        )
        run = replace(_run_once(slurm, plan, progress), attempts=attempt)
        lost = _lost(run, plan)
        if not lost:
            return run
        if attempt < ATTEMPTS:
            shutil.rmtree(folder)
    raise SimulationError(
        f"Slurm lost {len(lost)} of {len(plan.jobs)} jobs, {ATTEMPTS} times over: the machine is "
        f"too busy for {plan.speed:g} x; try a lower speed",
        jobs=lost,
    )


def _run_once(slurm: VirtualSlurm, plan: _Plan, progress: Progress) -> VirtualRun:
    """Start Slurm, do everything at its instant, wait for the last end, take it down."""
    began, steal = time.monotonic(), _stolen()
    with slurm:
        kind = JumpingDrive if plan.jumping else Drive
        drive = kind(slurm, plan.jobs, plan.actions, rule=plan.rule)
        zero = math.ceil(slurm.now() + LEAD * slurm.speed)
        beat = _measure_beat(slurm.speed)
        drive.run(zero, progress)
        cycle = slurm.mean_cycle()
    rows = collect(slurm.folder)
    slurm.tidy()
    log, table = _as_log(plan.jobs, rows, zero, slurm)
    noted = manager_times(slurm.folder)
    manager = None if noted is None else (noted[0] - zero, noted[1] - zero)
    return VirtualRun(
        log,
        table,
        time.monotonic() - began,
        _stolen() - steal,
        manager=manager,
        beat=beat,
        cycle=cycle + beat / SLEEPS,
    )


def _measure_beat(speed: float) -> float:
    """Return by how many virtual seconds the sleeps of a beat of slurmctld's loop end too late.

    slurmctld doesn't note its beats; but they are sleeps like those here, on the same machine.
    """
    asked = 1 / SLEEPS / speed
    count = math.ceil(LEAD / 2 / asked)
    began = time.monotonic()
    for _ in range(count):
        time.sleep(asked)
    return max(0.0, (time.monotonic() - began) / count - asked) * speed * SLEEPS


def _lost(run: VirtualRun, plan: _Plan) -> list[int]:
    """Return jobs that neither ended nor were touched by an event."""
    if any(one.nodes for one in plan.actions):
        return []
    accounted = {one.job for one in plan.actions}
    accounted |= set(run.jobs.filter(pl.col("state").is_in(list(STATUS)))["job"].to_list())
    return [job for job in plan.jobs.column("job").tolist() if job not in accounted]


def _as_log(
    jobs: Workload, rows: pl.DataFrame, zero: float, slurm: VirtualSlurm
) -> tuple[Workload, pl.DataFrame]:
    """Join what Slurm noted to the stream; times from the stream's beginning."""
    times = ("submitted", "start", "end", "released", "launched")
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
    # By the clocks' difference a start may seem to come milliseconds before the submission; on a
    # busy machine a short job may even seem to be over by then.
    began = pl.max_horizontal("start", "due")
    ran = pl.col("by").is_not_null()
    found = table.select(
        "job",
        wait=pl.when(ran).then(began).otherwise("end") - pl.col("due"),
        runtime=pl.when(ran).then(pl.max_horizontal(pl.col("end") - began, 0.0)),
        status=pl.col("state").replace_strict(STATUS, default="failed"),
    )
    log = jobs.table.drop("wait", "runtime", "status").join(
        found, on="job", how="left", maintain_order="left"
    )
    # Whom an event cancelled before it was submitted, Slurm has never heard of.
    log = log.with_columns(pl.col("status").fill_null("cancelled"))
    note = f"run by a real Slurm on {slurm.procs} virtual processors at {slurm.speed:g}x"
    meta = jobs.meta.noting(note, source=f"Slurm, {slurm.folder.name}")
    return Workload(log, meta), table


def fit_overheads(runs: Sequence[VirtualRun]) -> Overheads:
    """Fit the laws of overheads to what was measured in all runs together.

    The launch is none: on virtual nodes a job ends at the noted start plus its run time.
    """
    joined = pl.concat([run.jobs for run in runs]).filter(pl.col("state") == "COMPLETED")
    release, report = fit_release(joined["nodes"], joined["released"] - joined["end"])
    return Overheads(
        NONE,
        fit_law(joined["completion"].to_numpy()),
        submission=fit_law(np.concatenate([submission_times(run.jobs) for run in runs])),
        release=release,
        report=report,
        beat=float(np.mean([run.beat for run in runs])),
        cycle=float(np.mean([run.cycle for run in runs])),
    )


def _origin(result: VirtualResult) -> str:
    return (
        f"measured by onega virtual: {result.version} on {result.procs} virtual processors at "
        f"{result.speed:g} x, {len(result.runs)} runs of {len(result.stream)} jobs"
    )


def submission_times(jobs: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return what each submission took: from its instant, or the end of the one before it."""
    ordered = jobs.sort("submitted")
    began = pl.max_horizontal("due", pl.col("submitted").shift(1))
    return ordered.select((pl.col("submitted") - began).fill_null(0.0)).to_series().to_numpy()


def _stolen() -> float:
    """Return the processor seconds that the host has taken from this machine so far."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(first[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0

"""``onega simulate``: a log through a scheduler on a machine."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import (
    FigurePage,
    emit,
    progress,
    remark,
    remark_report,
)
from onega.cli.options import (
    JsonOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    WindowOption,
    figures_option,
    flag,
    option,
)
from onega.cli.scheduling.experiment_options import KnowledgeOption, LimitsOption
from onega.cli.scheduling.simulate.files import BATSIM_JOBS, FORMATS, result_files
from onega.cli.scheduling.simulate.inputs import InputOptions
from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster
from onega.core.errors import SimulationError, suggest
from onega.core.policy import MULTIFACTOR, SLURM, TIES, Policy

if TYPE_CHECKING:
    from onega.core.machine.cluster import Cluster
    from onega.core.schedule.schedule import Schedule
    from onega.core.schedule.window import Window
    from onega.core.workload.workload import Workload


def simulate(
    trace: TraceArgument,
    *,
    policy: Annotated[
        str,
        option(
            "--policy",
            "P",
            "ORDER[+BACKFILL]: fcfs, easy, conservative, spf+easy, …; or slurm[:fine|:FILE.conf].",
        ),
    ] = "fcfs",
    knowledge: KnowledgeOption = None,
    enforce_limits: LimitsOption = False,
    ties: Annotated[
        str, option("--ties", "T", "Order at one instant: instant, or event as pyss does.")
    ] = "instant",
    machine: MachineFlags,
    given: InputOptions,
    window: WindowOption = "log",
    seed: SeedOption = None,
    out: Annotated[
        Path | None, option("--out", "DIR", "Write jobs, system and summary files there.")
    ] = None,
    format: Annotated[
        str | None, option("--format", "F", "Of the files: csv (default), parquet or batsim.")
    ] = None,
    figures: Annotated[Path | None, figures_option("simulate")] = None,
    strict: Annotated[
        bool, flag("--strict", "Refuse a log with jobs that can't be simulated.")
    ] = False,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Run a log through a scheduler on a machine: waits, utilisation, energy.

    The same jobs at the same times, under another policy, on another machine, or with a clock that
    slows down when there is little to do.
    """
    from onega.cli.scheduling.simulate.screen import print_summary
    from onega.core.schedule.window import Window

    file_format = _checked_format(format, out)
    rule = Policy.parse(policy).knowing(knowledge)  # type: ignore[arg-type]
    if ties not in TIES:
        raise SimulationError(f"unknown ties {ties!r}; {suggest(ties, TIES)}")
    inputs = given.read()
    log = reading.read(trace)
    cluster = build_cluster(machine, log.meta.procs)
    jobs, left_out = _simulable(log, strict=strict)
    asked = Window.of(window, jobs)  # refused before anything is run
    how = {"policy": rule, "ties": ties, "rng": seed, **inputs}
    names = _file_names(cluster, rule, file_format, detailed=bool(inputs))
    files = contextlib.nullcontext(None) if out is None else result_files(out, names)
    with files as save:
        schedule = _run(jobs, cluster, enforce_limits=enforce_limits, **how)
        numbers = _numbers(schedule, asked, left_out)
        if save is not None:
            save(schedule, numbers)
    remark_report(schedule.report)
    if out is not None:
        remark(f"{', '.join(names[:-1])} and {names[-1]} are in {out}")
    page = FigurePage(figures, "simulate", repr(schedule)[1:-1], schedule)
    drawn = schedule.cluster.overheads is not None
    emit(numbers, lambda _: print_summary(numbers, drawn=drawn), json=json, figures=page)


def _file_names(machine: Cluster, rule: Policy, format: str, *, detailed: bool) -> tuple[str, ...]:
    """Return the files of a run; one on a detailed machine has a log of events as well."""
    detailed |= rule.order == MULTIFACTOR or (not machine.is_plain and rule.order != SLURM)
    tables = ("jobs", "system", "events") if detailed else ("jobs", "system")
    if format == "batsim":
        return (BATSIM_JOBS, *(f"{table}.csv" for table in tables[1:]), "summary.json")
    return (*(f"{table}.{format}" for table in tables), "summary.json")


def _checked_format(format: str | None, out: Path | None) -> str:
    if format is None:
        return "csv"
    if format not in FORMATS:
        raise SimulationError(f"unknown format {format!r}; {suggest(format, FORMATS)}")
    if out is None:
        raise SimulationError("--format is of the files that --out DIR writes; give --out too")
    return format


def _simulable(log: Workload, *, strict: bool) -> tuple[Workload, int]:
    """Leave out jobs without width or run time, and say how many in one line; or refuse."""
    import polars as pl

    from onega.traces.cleaning import simulable

    lacking = {"missing_width": "width", "missing_runtime": "run time"}
    jobs, report = simulable(log)
    if not report.dropped:
        return log, 0
    why = ", ".join(f"{found.count} without a positive {lacking[found.rule]}" for found in report)
    many = f"{report.dropped} of {len(log)} jobs"
    if strict:
        kept = jobs.table["job"]
        named = log.table.filter(~pl.col("job").is_in(kept.implode()))["job"].to_list()
        raise SimulationError(f"{many} can't be simulated: {why}; --strict refuses", jobs=named)
    remark(f"left out {many} that can't be simulated: {why}")
    return jobs, report.dropped


def _run(jobs: Workload, machine: Cluster, *, enforce_limits: bool, **how: Any) -> Schedule:  # noqa: ANN401
    from onega.simulation.simulate import simulate as run

    with progress(f"simulating {how['policy']}", total=1.0) as tell:
        return run(jobs, machine, enforce_limits=enforce_limits, progress=tell, **how)


def _numbers(schedule: Schedule, window: Window, left_out: int) -> dict[str, Any]:
    """Return the flat object that ``--json`` prints and ``summary.json`` holds."""
    from onega.experiment.run_summary import run_summary

    return {
        **run_summary(schedule, window, left_out=left_out),
        **_waits_as_logged(schedule),
        "source": schedule.workload.meta.source,
        "provenance": "; ".join((*schedule.workload.meta.provenance, *schedule.provenance)),
    }


def _waits_as_logged(schedule: Schedule) -> dict[str, int]:
    """Count the jobs whose wait the log has, and those of them that wait exactly as long here."""
    logged, here = schedule.workload.table["wait"], schedule.jobs["wait"]
    return {
        "logged_waits": len(logged) - logged.null_count(),
        "equal_waits": int((logged == here).sum()),
    }

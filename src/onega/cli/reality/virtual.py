"""``onega virtual``: a real Slurm on virtual nodes."""

from __future__ import annotations

import signal
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

from onega.cli.console import emit, emit_table, progress, remark, remark_report, say
from onega.cli.options import (
    FromOption,
    JsonOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    names_in,
    option,
)

if TYPE_CHECKING:
    from onega.comparison.adequacy.experiment import ModelTable
    from onega.comparison.virtual_slurm.result import VirtualResult
    from onega.core.workload.workload import Workload


def virtual(
    *,
    trace: TraceArgument,
    procs: Annotated[int, option("--procs", "C", "Virtual processors.", min=1)],
    output: Annotated[Path, option("-o --out", "DIR", "Everything is written here.")],
    speed: Annotated[
        float, option("--speed", "X", "Virtual seconds in a real one; 1: real time.")
    ] = 20.0,
    repeat: Annotated[int, option("--repeat", "N", "Runs; two or more give P_ideal.", min=1)] = 1,
    settings: Annotated[
        str,
        option(
            "--settings", "S", "stock, fine, a slurm.conf, or SchedulerParameters (bf_interval=…)."
        ),
    ] = "stock",
    clock: Annotated[
        str,
        option("--clock", "C", "steady, or jumping: over the time in which nothing can happen."),
    ] = "steady",
    jobs: Annotated[int | None, option("-n --jobs", "N", "Only the first N jobs.", min=1)] = None,
    sample: Annotated[
        int | None,
        option("--sample", "N", "Draw N jobs with the log's statistics instead.", min=50),
    ] = None,
    shrink: Annotated[
        float, option("--shrink", "F", "With --sample: divide all times by F.")
    ] = 1.0,
    load: Annotated[float | None, option("--load", "L", "With --sample: offered load.")] = None,
    events: Annotated[
        Path | None,
        option(
            "--events",
            "FILE",
            "Table of events: cancel, kill, fail, return, drain, ….",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    interruption: Annotated[
        str, option("--interruption", "RULE", "Of interrupted jobs: requeue or lost.")
    ] = "requeue",
    models: Annotated[
        str | None,
        option("--models", "P,Q,…", "Simulate too, under these: easy,conservative,slurm."),
    ] = None,
    seed: SeedOption = None,
    format: FromOption = None,
    json: JsonOption = False,
) -> None:
    """Let a real Slurm schedule a stream on virtual nodes, and note what it does.

    Needs Debian's packages slurmctld, slurmd, slurm-client, munge and faketime; no root, no
    services. All of it runs on loopback and is gone afterwards.
    """
    from onega.comparison.virtual_slurm.virtual import virtual as run
    from onega.traces.tables.named import read_events

    signal.signal(signal.SIGTERM, _terminated)
    log = ReadOptions(format).read(trace)
    stream = log if jobs is None else log.sorted().head(jobs)
    if sample is not None:
        stream = _draw(stream, sample, procs=procs, shrink=shrink, load=load, seed=seed)
    table_of_events = None if events is None else read_events(events)
    with progress("running", total=1.0) as done:
        result = run(
            stream,
            output,
            procs=procs,
            speed=speed,
            repeat=repeat,
            settings=settings,
            clock=clock,
            events=table_of_events,
            interruption=interruption,
            progress=done,
        )
    table = None
    if models is not None:
        from onega.comparison.adequacy.experiment import RealRuns, compare_with_models
        from onega.core.files import write_table

        table = compare_with_models(RealRuns.of(result), names_in(models), rng=seed)
        write_table(table.rows, output / "models.csv")
    screen = partial(_screen, title=trace.name, models=table)
    emit(result, screen, json=json, more=None if table is None else table.summary())
    remark(f"runs, stream, overheads and report in {output}")


def _draw(
    log: Workload,
    jobs: int,
    *,
    procs: int,
    shrink: float,
    load: float | None,
    seed: int | None,
) -> Workload:
    from onega.comparison.adequacy.experiment import make_stream
    from onega.traces.cleaning import clean

    cleaned, report = clean(log)
    remark_report(report)
    return make_stream(cleaned, jobs, procs=procs, shrink=shrink, load=load, rng=seed)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """Leave through every ``finally``, so that the virtual machine is taken down."""
    sys.exit(128 + number)


def _screen(result: VirtualResult, title: str, models: ModelTable | None) -> None:
    _emit_runs(result, title)
    if models is not None:
        _emit_models(models)


def _emit_runs(result: VirtualResult, title: str) -> None:
    figures = result.summary()
    rows = []
    for number in range(1, len(result.runs) + 1):
        keys = ("mean_wait", "by_backfill", "overrun_median", "cut_off", "wall_seconds")
        rows.append((f"run {number}", *(figures[f"run{number}_{key}"] for key in keys)))
    heads = (
        "",
        "mean\nwait, s",
        "started by\nbackfill",
        "overrun\nmedian, s",
        "cut off",
        "took, s",
    )
    emit_table(f"{title}: {result.version} on {result.procs} virtual processors", rows, heads)
    if not result.pairs:
        return
    if figures["P_undefined"]:
        remark(f"P_ideal is undefined: {figures['P_undefined']}")
        return
    keys = ("jobs", "P", "P_min", "P_max", "different")
    prefixes = [tuple(row[key] for key in keys) for row in result.prefixes()]
    several = len(result.pairs) > 1
    title = f"All {len(result.pairs)} pairs of runs" if several else "Runs 1 and 2"
    columns = ("first jobs", "P, s\nmean", "least", "most", "different\nwaits, mean")
    emit_table(title, prefixes, columns)
    values = f", {figures['P_ideal_min']:.4g} to {figures['P_ideal_max']:.4g} s" if several else ""
    many = f"mean of {len(result.pairs)} pairs{values}" if several else "one pair"
    say(f"P_ideal = {result.ideal:.4g} s ({many})")


def _emit_models(table: ModelTable) -> None:
    rows = [
        tuple(
            row[key] for key in ("model", "overheads", "P", "P_min", "P_max", "P_own", "mean_wait")
        )
        for row in table.rows.iter_rows(named=True)
    ]
    heads = ("model", "overheads", "P, s", "least", "most", "among its\ndraws", "mean\nwait, s")
    emit_table("Models against the real runs", rows, heads)

"""``onega compare-policies``: one log under several policies, with intervals."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from onega.cli.console import FigurePage, emit, emit_table, progress, say
from onega.cli.options import (
    JsonOption,
    OverheadsOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    figures_option,
    option,
)
from onega.cli.scheduling.experiment_options import (
    ClusterOption,
    KnowledgeOption,
    LimitsOption,
    ReplicateOptions,
    WorkerOptions,
    listed,
)
from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster
from onega.core.units import quantity

if TYPE_CHECKING:
    from onega.experiment.replicates.policies import PolicyComparison


def compare_policies(
    trace: TraceArgument,
    *,
    policies: Annotated[
        str,
        option(
            "--policies", "P,P,…", "Policies of onega simulate; differences are from the first."
        ),
    ] = "fcfs,easy,spf+easy,conservative",
    procs: ProcsOption = None,
    measure: Annotated[
        list[str] | None,
        option(
            "--measure",
            "M",
            "mean(wait), p95(wait), share(wait>1h), utilisation, …; may be repeated.",
        ),
    ] = None,
    knowledge: KnowledgeOption = None,
    enforce_limits: LimitsOption = False,
    cluster: ClusterOption = None,
    overheads: OverheadsOption = None,
    replicating: ReplicateOptions,
    until: Annotated[
        str | None,
        option(
            "--until",
            "PRECISION",
            'Stop when the mean over replicates is known: "ci(mean(wait)) < 5%".',
            "Replicates",
        ),
    ] = None,
    level: Annotated[float, option("--level", "P", "Of intervals.")] = 0.95,
    working: WorkerOptions,
    seed: SeedOption = None,
    figures: Annotated[Path | None, figures_option("compare-policies")] = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Run a log under several policies, and on resamples of it: what differs for sure.

    With --resample none the log alone, which takes one run a policy and has no intervals.
    Every policy gets the same jobs, so that differences are the policies'.
    """
    from onega.experiment.replicates import policies as module
    from onega.experiment.replicates.replicates import MEASURES

    names = listed("--policies", policies)
    read = replicating.read(trace, reading)
    flags = MachineFlags(procs=procs, cluster=cluster, overheads=overheads)
    machine = build_cluster(flags, read.log.meta.procs)
    options: dict[str, Any] = {"knowledge": knowledge, "enforce_limits": enforce_limits}
    with progress("comparing", total=1.0) as tell:
        result = module.compare_policies(
            read.source,
            machine,
            names,
            replicates=replicating.replicates,
            until=until,
            measures=measure or MEASURES,
            resample=replicating.resample,  # type: ignore[arg-type]
            jobs=read.jobs,
            warmup=replicating.warmup,
            confidence=level,
            rng=seed,
            workers=working.chosen(),
            progress=tell,
            **options,
        )
    emit(
        result,
        partial(_screen, procs=machine.procs),
        json=json,
        more={"procs": machine.procs},
        figures=FigurePage(figures, "compare-policies", "Policies compared", result),
    )


def _screen(result: PolicyComparison, procs: int) -> None:
    """Print a table for each measure: the log's own figures apart from those of replicates."""
    found = result.replicates
    percent = f"{100 * found.level:g} %"
    table = result.to_polars()
    for measure in found.measures:
        part = table.filter(table["measure"] == measure.key).to_dicts()
        numbers = [row[key] for row in part for key in ("on_log", "mean") if row[key] is not None]
        size, unit = measure.readable([float(np.median(numbers))])
        rows = [_row(row, size) for row in part]
        over, first = "resample" if found.resampled else "sample", found.policies[0]
        columns: tuple[str, ...] = ("", "log\nitself", f"{over}\nmean", f"\n{percent}")
        columns += (f"{over} mean\nminus {first} ({percent})",)
        if found.single:
            rows = [(row[0], row[1], row[4]) for row in rows]
            columns = ("", "on the log", f"minus {first}")
        title = f"{measure.words}{f', {unit}' if unit else ''}"
        emit_table(title, rows, columns)
    say(_key(result, procs, percent), *notes(result))


def _key(result: PolicyComparison, procs: int, percent: str) -> str:
    """Say what the columns are."""
    found = result.replicates
    if found.single:
        return (
            f"{procs} processors. One run each, of the log as it is: nothing is known of how sure "
            "a difference is."
        )
    if found.resampled:
        kind = f"{len(found)} resamples and their middle {percent}: how far one log can be trusted"
    else:
        kind = f"{len(found)} samples and Student's {percent} interval of their mean"
    return (
        f"{procs} processors. The first column is the log itself, all others are {kind}. "
        "*: the difference's interval leaves out zero."
    )


def _row(row: dict[str, Any], size: float) -> tuple[str, ...]:
    # A difference beyond the fourth digit of the figures themselves is none.
    whole = max(abs(row[key] or 0.0) for key in ("on_log", "mean")) / size
    finest = max(0, 3 - math.floor(math.log10(whole))) if whole > 0 else 15

    def cell(key: str) -> str:
        value = row[key]
        return "" if value is None else quantity(round(value / size, finest) + 0.0)

    ends = f"{cell('low')}..{cell('high')}" if row["low"] is not None else ""
    apart = ""
    if row["difference"] is not None:
        apart = cell("difference")
        if row["difference_low"] is not None:
            apart += f" ({cell('difference_low')}..{cell('difference_high')})"
            apart += "*" if row["sure"] else " "
    return row["policy"], cell("on_log"), cell("mean"), ends, apart


def notes(result: PolicyComparison) -> list[str]:
    """Say what was left out as warm-up, and whether a precision was reached."""
    found = result.replicates
    lines = []
    if found.warmup.rule != "none":
        mean = sum(found.removed) / len(found.removed)
        lines.append(f"Warm-up ({found.warmup}): {mean:.0f} jobs of each run were left out.")
    if not found.warmup.settled:
        lines.append("The runs never settle: they are too short, or the machine can't keep up.")
    if found.reached is not None:
        words = "reached" if found.reached else "NOT reached"
        lines.append(f"The precision asked for was {words} with {len(found)} replicates.")
    return lines

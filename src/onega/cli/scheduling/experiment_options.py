"""Options and steps that commands of many runs share: where replicates come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from onega.cli.console import remark
from onega.cli.options import ReadOptions
from onega.core.errors import ExperimentError

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.experiment.replicates.draws import Source
    from onega.experiment.workers.workers import Workers

_REPLICATES = "Replicates"

ReplicatesOption = Annotated[
    int,
    typer.Option(
        "-n",
        "--replicates",
        metavar="N",
        min=1,
        help="Workloads to run everything on (at most).",
        rich_help_panel=_REPLICATES,
    ),
]
ResampleOption = Annotated[
    str,
    typer.Option(
        "--resample",
        metavar="BY",
        help="weeks, users, or none: the log as it is, once.",
        rich_help_panel=_REPLICATES,
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL.json",
        help="Draw workloads from a model that onega fit wrote, instead of resampling the log.",
        rich_help_panel=_REPLICATES,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        help="With --model: jobs to a workload; as many as the log has by default.",
        rich_help_panel=_REPLICATES,
    ),
]
WarmupOption = Annotated[
    str | None,
    typer.Option(
        "--warmup",
        metavar="RULE",
        help="Leave out the beginning of runs: mser5, or a time such as 2d.",
        rich_help_panel=_REPLICATES,
    ),
]
KnowledgeOption = Annotated[
    str | None,
    typer.Option(
        "--knowledge",
        metavar="K",
        help="What scheduler and rate control know: estimate or runtime.",
    ),
]
LimitsOption = Annotated[
    bool, typer.Option("--enforce-limits", help="End jobs at their estimates.")
]


ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Threads; as many as cores."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Processes instead of threads."),
]
DaskOption = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786."),
]


def chosen_workers(threads: int | None, processes: int | None, dask: str | None) -> Workers:
    """Return who does the runs: threads unless something else is said."""
    if sum(one is not None for one in (threads, processes, dask)) > 1:
        raise ExperimentError("give one of --threads, --workers and --dask")
    if processes is not None:
        from onega.experiment.workers.processes import Processes

        return Processes(processes)
    if dask is not None:
        from onega.experiment.workers.dask import Dask

        return Dask(dask)
    from onega.experiment.workers.workers import Threads

    return Threads(threads)


class Replicated(NamedTuple):
    """The log that was read, and where replicates come from."""

    log: Workload
    source: Source
    jobs: int | None


def read_source(
    trace: Path, reading: ReadOptions, *, model: Path | None, jobs: int | None
) -> Replicated:
    """Read the log, leave out what can't be simulated (and say so), and the model if one is named.

    The result's source is the log, to be resampled, or the model, to be sampled.
    """
    from onega.traces.cleaning import simulable

    log = reading.read(trace)
    usable, report = simulable(log)
    if report.dropped:
        remark(
            f"left out {report.dropped} of {len(log)} jobs that can't be simulated: "
            "no positive width or run time"
        )
    if model is None:
        if jobs is not None:
            raise ExperimentError("--jobs is for --model; a resample is as long as its log")
        return Replicated(usable, usable, None)
    from onega.models.base import load

    return Replicated(usable, load(model), jobs or len(usable))


def listed(flag: str, text: str) -> list[str]:
    """Split a list that commas separate; nothing is an error."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise ExperimentError(f"{flag} takes names separated by commas, got {text!r}")
    return words

"""Options and steps that commands of many runs share: where replicates come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from onega.cli.console import remark
from onega.cli.options import ReadOptions, flag, names_in, option
from onega.core.errors import ExperimentError

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.experiment.replicates.draws import Source
    from onega.experiment.workers.workers import Workers

_REPLICATES = "Replicates"

KnowledgeOption = Annotated[
    str | None,
    option("--knowledge", "K", "What scheduler and rate control know: estimate or runtime."),
]
LimitsOption = Annotated[bool, flag("--enforce-limits", "End jobs at their estimates.")]
ClusterOption = Annotated[Path | None, option("--cluster", "FILE.toml", "The machine from a file.")]


ThreadsOption = Annotated[int | None, option("--threads", "N", "Threads; as many as cores.", min=1)]
WorkersOption = Annotated[
    int | None, option("--workers", "N", "Processes instead of threads.", min=1)
]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What does the runs: threads unless something else is given."""

    threads: ThreadsOption = None
    workers: WorkersOption = None
    dask: Annotated[
        str | None, option("--dask", "ADDRESS", "A Dask scheduler: tcp://host:8786.")
    ] = None

    def chosen(self) -> Workers:
        """Return the workers; refuse two kinds of them."""
        if sum(one is not None for one in (self.threads, self.workers, self.dask)) > 1:
            raise ExperimentError("give one of --threads, --workers and --dask")
        if self.workers is not None:
            from onega.experiment.workers.processes import Processes

            return Processes(self.workers)
        if self.dask is not None:
            from onega.experiment.workers.dask import Dask

            return Dask(self.dask)
        from onega.experiment.workers.workers import Threads

        return Threads(self.threads)


class Replicated(NamedTuple):
    """The log that was read, and where replicates come from."""

    log: Workload
    source: Source
    jobs: int | None


@dataclass(frozen=True, slots=True)
class ReplicateOptions:
    """How many workloads there are, and where they come from."""

    replicates: Annotated[
        int,
        option(
            "-n --replicates", "N", "Workloads to run everything on (at most).", _REPLICATES, min=1
        ),
    ] = 40
    resample: Annotated[
        str,
        option("--resample", "BY", "weeks, users, or none: the log as it is, once.", _REPLICATES),
    ] = "weeks"
    model: Annotated[
        Path | None,
        option(
            "--model",
            "MODEL.json",
            "Draw workloads from a model that onega fit wrote, instead of resampling the log.",
            _REPLICATES,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        option(
            "--jobs",
            "N",
            "With --model: jobs to a workload; as many as the log has by default.",
            _REPLICATES,
            min=1,
        ),
    ] = None
    warmup: Annotated[
        str | None,
        option(
            "--warmup",
            "RULE",
            "Leave out the beginning of runs: mser5, or a time such as 2d.",
            _REPLICATES,
        ),
    ] = None

    def read(self, trace: Path, reading: ReadOptions) -> Replicated:
        """Read the log, leave out what can't be simulated (and say so), and the model if any.

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
        if self.model is None:
            if self.jobs is not None:
                raise ExperimentError("--jobs is for --model; a resample is as long as its log")
            return Replicated(usable, usable, None)
        from onega.models.base import load

        return Replicated(usable, load(self.model), self.jobs or len(usable))


def listed(flag: str, text: str) -> list[str]:
    """Split a list that commas separate; nothing is an error."""
    words = names_in(text)
    if not words:
        raise ExperimentError(f"{flag} takes names separated by commas, got {text!r}")
    return words

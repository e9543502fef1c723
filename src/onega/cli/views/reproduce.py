"""``onega reproduce``: tables and figures of the papers again, ours beside the printed values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from onega.cli.console import emit, emit_table, progress, remark, say
from onega.cli.options import (
    ColumnOption,
    FromOption,
    JsonOption,
    MapOption,
    ProcsOption,
    ReadOptions,
    argument,
    flag,
    folder_that_can_be,
    names_in,
    option,
)
from onega.cli.scheduling.experiment_options import (
    ThreadsOption,
    WorkerOptions,
    WorkersOption,
    listed,
)
from onega.core.errors import ModelError, SimulationError

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.reproduce.result import PrintedTable, Reproduction

LogsArgument = Annotated[list[Path] | None, argument("TRACE", "Job logs, see --help.")]
LogArgument = Annotated[Path | None, argument("TRACE", "A job log (SWF, sacct, PBS, CSV, …).")]
OutputOption = Annotated[Path | None, option("--output -o", "FILE", "Write a page: .html, or .md.")]
SeedOption = Annotated[int, option("--seed", "N", "Of random draws.", min=0)]

HELP = (
    "Make the tables and figures of five research documents again, beside the printed values; "
    "and the table over all workload models."
)


def song(
    *,
    traces: LogsArgument = None,
    output: OutputOption = None,
    replicates: Annotated[
        int, option("--replicates", "N", "Samples behind each mean of random draws.", min=1)
    ] = 20,
    all_models: Annotated[
        bool, flag("--all-models", "Compare all models, not only the thesis's three.")
    ] = False,
    seed: SeedOption = 1,
    json: JsonOption = False,
) -> None:
    """Tables and figures of B. Song's thesis (Song 2006) on the logs given.

    The thesis's logs are known by the archive's file names (KTH-SP2-…, SDSC-SP2-…, LANL-CM5-…,
    CTC-SP2-…, SDSC-Par-1995-… and -1996-…). Any other log will do: nothing is printed for it.
    """
    from onega.reproduce.song.song import reproduce_song

    logs = [ReadOptions().read(path) for path in traces or ()]
    with progress("drawing samples", total=1.0) as done:
        made = reproduce_song(
            logs, replicates=replicates, seed=seed, all_models=all_models, progress=done
        )
    _emit(made, output, json=json)


def rumyantsev_2014(
    *,
    trace: LogArgument = None,
    output: OutputOption = None,
    procs: ProcsOption = None,
    format: FromOption = None,
    seed: SeedOption = 1,
    json: JsonOption = False,
) -> None:
    """Stability constant by every method beside hpcwld's; with a log ρ and delays.

    The formulas of Rumyantsev (2014).
    """
    from onega.reproduce.rumyantsev_2014 import reproduce_rumyantsev_2014

    log = _optional(trace, format, procs)
    _emit(reproduce_rumyantsev_2014(log, seed=seed), output, json=json)


def rumyantsev_2018(
    *,
    trace: LogArgument = None,
    output: OutputOption = None,
    procs: ProcsOption = None,
    format: FromOption = None,
    seed: SeedOption = 1,
    json: JsonOption = False,
) -> None:
    """Run a clock that slows down with the remaining work: Rumyantsev et al. (2018).

    TRACE is hpcwld's dataset HPC_KRC2 as CSV (interarrival, service, cores_used), or any log.
    """
    from onega.reproduce.rumyantsev_2018 import reproduce_rumyantsev_2018

    log = _optional(trace, format, procs)
    if log is None:
        raise SimulationError(
            "reproduce rumyantsev-2018 needs a log: krc2.csv.gz (hpcwld's HPC_KRC2), or any other"
        )
    with progress("simulating", total=1.0) as done:
        made = reproduce_rumyantsev_2018(log, seed=seed, progress=done)
    _emit(made, output, json=json)


def limits(
    *,
    trace: LogArgument = None,
    output: OutputOption = None,
    format: FromOption = None,
    json: JsonOption = False,
) -> None:
    """Make the examples of tasks that are cut off (Zayats et al. 2024); no log is needed."""
    from onega.reproduce.limits import reproduce_limits

    _emit(reproduce_limits(_optional(trace, format, None)), output, json=json)


def adequacy(
    *,
    runs: Annotated[
        list[Path] | None,
        argument("RUN RUN… | DIR", "Logs of one stream, or a folder of them."),
    ] = None,
    output: OutputOption = None,
    procs: ProcsOption = None,
    models: Annotated[
        str, option("--models", "P,Q,…", "Policies to simulate beside it; '' for none.")
    ] = "fcfs,easy,conservative,slurm",
    slurm: Annotated[
        str | None,
        option(
            "--slurm",
            "SETTINGS",
            "Of the scheduler that made the runs, for the model slurm: stock, fine, a "
            "slurm.conf or SchedulerParameters; those that DIR notes by default.",
        ),
    ] = None,
    overheads: Annotated[
        str | None,
        option(
            "--overheads",
            "FILE|LAWS",
            "Of the models beside DIR, e.g. those of other runs; DIR's own by default.",
        ),
    ] = None,
    draws: Annotated[
        int, option("--draws", "N", "Simulations with overheads of each model.", min=1)
    ] = 20,
    seed: SeedOption = 1,
    tolerance: Annotated[
        float, option("--tolerance", "SECONDS", "Submit times may differ by so much.", min=0)
    ] = 0.0,
    same_within: Annotated[
        float, option("--same-within", "SECONDS", "Waits so near count as the same.", min=0)
    ] = 1e-6,
    format: FromOption = None,
    map_file: MapOption = None,
    column: ColumnOption = None,
    json: JsonOption = False,
) -> None:
    """Table I of Baranov et al. (2019): how far a system is from itself, and models from it.

    DIR is what `onega virtual STREAM --procs N --repeat 2 -o DIR` wrote (run-1.swf, run-2.swf, …):
    its stream is simulated without and with its overheads, and stands beside all its runs.
    """
    from onega.core.machine.overheads import Overheads
    from onega.core.slurm.parameters import SlurmParameters
    from onega.reproduce.adequacy import real_runs_in, reproduce_adequacy, runs_in

    paths, real = list(runs or ()), None
    settings = None if slurm is None else SlurmParameters.parse(slurm)
    laws = None if overheads is None else Overheads.parse(overheads)
    if len(paths) == 1 and paths[0].is_dir():
        folder, paths = paths[0], list(runs_in(paths[0]))
        real = real_runs_in(folder, laws) if settings is None else None
    if laws is not None and real is None:
        raise SimulationError(
            "--overheads goes with the whole folder that `onega virtual` wrote, without --slurm"
        )
    if len(paths) < 2:
        raise SimulationError(
            "reproduce adequacy needs two runs of one stream: two logs with waits, or the folder "
            "that `onega virtual STREAM --procs N --repeat 2 -o DIR` wrote"
        )
    reading = ReadOptions(format, map_file, column)
    logs = [reading.read(path) for path in paths]
    names = names_in(models)
    with progress("simulating", total=1.0) as done:
        made = reproduce_adequacy(
            logs,
            procs=procs,
            policies=names,
            tolerance=tolerance,
            same_within=same_within,
            slurm=settings,
            real=real,
            draws=draws,
            rng=seed,
            progress=done,
        )
    _emit(made, output, json=json)


def models(
    *,
    traces: LogsArgument = None,
    models: Annotated[str, option("--models", "A,B,…", "Models to judge; 'all'.")] = "all",
    seeds: Annotated[int, option("--seeds", "N", "Samples of each model.", min=1)] = 10,
    halves: Annotated[
        bool, flag("--halves", "Also fit to the first half, judge by the second.")
    ] = False,
    trace: Annotated[
        list[str] | None,
        option(
            "--trace",
            "NAME=FILE[,FILE]",
            "A further row: synthetic jobs of a published generator, for one log.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output -o",
            "DIR",
            "Write models.csv, models.md, models.html; or one page: .html, .md.",
        ),
    ] = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    seed: SeedOption = 1,
    json: JsonOption = False,
) -> None:
    """Judge all workload models by logs: waits under EASY and FCFS, bursts, cycles, copies.

    Each model is fitted to each log and sampled; the log's own weeks, drawn anew, are the floor.
    """
    from onega.reproduce.models import reproduce_models, write_models

    if not traces:
        raise ModelError("reproduce models needs at least one log")
    if output is not None and output.suffix not in (".html", ".md"):
        folder_that_can_be(output)
    rows = dict(_rows(trace or ()))
    logs = [ReadOptions().read(path) for path in traces]
    published = {name: [ReadOptions().read(one) for one in files] for name, files in rows.items()}
    with progress("judging models", total=1.0) as done:
        made, table = reproduce_models(
            logs,
            models=None if models == "all" else listed("--models", models),
            traces=published,
            replicates=seeds,
            halves=halves,
            seed=seed,
            workers=WorkerOptions(threads, workers).chosen(),
            progress=done,
        )
    page = output if output is not None and output.suffix in (".html", ".md") else None
    _emit(made, page, json=json)
    if output is not None and page is None:
        remark("written: " + ", ".join(str(one) for one in write_models(made, table, output)))


def _rows(given: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for text in given:
        name, _, files = text.partition("=")
        if not (name and files):
            raise ModelError(f"--trace takes NAME=FILE or NAME=FILE,FILE, got {text!r}")
        yield name, files.split(",")


def _optional(path: Path | None, format: str | None, procs: int | None) -> Workload | None:
    return None if path is None else ReadOptions(format).read(path, procs=procs)


def _emit(made: Reproduction, output: Path | None, *, json: bool) -> None:
    """Give the result, and write the page if one is wanted."""
    emit(made, _screen, json=json)
    if output is None:
        return
    from onega.pages import FORMATS, write_document

    endings = {ending: name for name, ending in FORMATS.items()}
    if output.suffix not in endings:
        raise SimulationError(f"-o {output}: a page ends in {' or '.join(endings)}")
    path = write_document(made.document(), output, endings[output.suffix])
    remark(f"the page is {path} ({len(made.figures())} figures)")


def _screen(made: Reproduction) -> None:
    for table in made.tables():
        _emit_table(table)
    say(*(f"Not made: {one.label}: {one.why}" for one in made.absent), f"\n{made.verdict()}")


def _emit_table(table: PrintedTable) -> None:
    rows: Sequence[Sequence[str]] = [
        (name, *(f"{v.words()} / {v.printed_words()}" if v.printed is not None else v.words()
                 for v in values))
        for name, values in table.rows
    ]  # fmt: skip
    printed = any(value.printed is not None for _, values in table.rows for value in values)
    title = f"{table.label}: {table.title}{' (ours / printed)' if printed else ''}"
    emit_table(title, rows, table.columns)
    say(*(f"  • {note}" for note in table.notes))


COMMANDS = {
    "song": song,
    "rumyantsev-2014": rumyantsev_2014,
    "rumyantsev-2018": rumyantsev_2018,
    "limits": limits,
    "adequacy": adequacy,
    "models": models,
}

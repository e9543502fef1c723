"""``onega convert``: a log from one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from onega.cli.console import emit, fail, remark, remark_report
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    argument,
    flag,
    option,
)
from onega.core.errors import suggest

if TYPE_CHECKING:
    from onega.core.workload.report import Report
    from onega.core.workload.workload import Workload


def convert(
    source: Annotated[Path, argument("IN", "The log to read.")],
    target: Annotated[
        Path,
        argument("OUT", "The file to write: .swf, .csv, .parquet, .json (+ .gz)."),
    ],
    *,
    clean: Annotated[
        bool, flag("--clean", "Take out what can't be simulated, and say what.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        option("--keep", "RULE", "A cleaning rule not to apply: too_wide, …"),
    ] = None,
    flurries: Annotated[
        bool, flag("--flurries", "With --clean: also drop floods of one user's jobs.")
    ] = False,
    jitter: Annotated[
        bool,
        flag("--jitter", "With --clean: spread equal submit times (needs --seed)."),
    ] = False,
    anonymise: Annotated[
        bool,
        flag("--anonymise", "Replace users, groups and all other names."),
    ] = False,
    key: Annotated[
        Path | None,
        option(
            "--key",
            "FILE",
            "With --anonymise: the same pseudonyms each time; made if it isn't there.",
        ),
    ] = None,
    shift_times: Annotated[
        bool, flag("--shift-times", "With --anonymise: move the log by secret weeks.")
    ] = False,
    keep_names: Annotated[
        list[str] | None,
        option("--keep-names", "COLUMN", "With --anonymise: queue, partition, …"),
    ] = None,
    unfinished: Annotated[
        bool, flag("--unfinished", "Write the jobs that still ran or waited instead.")
    ] = False,
    to_format: Annotated[
        str | None, option("--to", "FORMAT", "swf, csv, parquet or batsim.")
    ] = None,
    reading: ReadOptions,
    procs: ProcsOption = None,
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Read a log of any known format and write it in another.

    Everything that was changed or left out is said on stderr, a line a rule.
    """
    from onega.traces.cleaning import RULES
    from onega.traces.writing import write

    if not clean and (keep or flurries or jitter):
        fail("--keep, --flurries and --jitter are for --clean")
    if jitter and seed is None:
        fail("--jitter draws at random and needs --seed")
    if not anonymise and (key is not None or shift_times or keep_names):
        fail("--key, --shift-times and --keep-names are for --anonymise")
    unknown = next((name for name in keep or () if name not in RULES), None)
    if unknown is not None:
        fail(f"no cleaning rule {unknown!r}; {suggest(unknown, RULES)}")
    log = reading.read(source, procs=procs, rows="unfinished" if unfinished else "finished")
    reports = {"read": log.meta.report}
    jobs_in = len(log)
    if clean:
        log, reports["clean"] = _cleaned(
            source, log, keep or [], flurries=flurries, jitter=jitter, seed=seed
        )
    if anonymise:
        log = _anonymised(log, key, keep_names or [], shift_times=shift_times)
    reports["write"] = write(log, target, to_format)
    remark_report(reports["write"], target)
    written = f"{target}: {len(log)} of {jobs_in} jobs written"
    numbers = _summary(source, target, jobs_in, log, reports)
    emit(numbers, lambda _: remark(written), json=json)


def _anonymised(log: Workload, key: Path | None, keep: list[str], *, shift_times: bool) -> Workload:
    from onega.traces.anonymising import anonymise, key_from

    secret = None
    if key is not None:
        secret, fresh = key_from(key)
        if fresh:
            remark(f"{key}: a new key; keep it secret, and apart from the log")
    hidden = anonymise(log, key=secret, shift_times=shift_times, keep=keep)
    remark(hidden.meta.provenance[-1])
    return hidden


def _cleaned(
    source: Path, log: Workload, keep: list[str], *, flurries: bool, jitter: bool, seed: int | None
) -> tuple[Workload, Report]:
    from onega.traces.cleaning import clean

    cleaned, report = clean(log, skip=keep, flurries=flurries, jitter=jitter, rng=seed)
    remark_report(report, source)
    return cleaned, report


def _summary(
    source: Path, target: Path, jobs_in: int, log: Workload, reports: dict[str, Report]
) -> dict[str, object]:
    """One flat object: what came in and went out, and how many rows each rule touched."""
    found = {
        f"{stage}_{rule}": count
        for stage, report in reports.items()
        for rule, count in report.summary().items()
    }
    return {
        "input": str(source),
        "output": str(target),
        "format": log.meta.format,
        "jobs_in": jobs_in,
        "jobs": len(log),
        "dropped": sum(report.dropped for report in reports.values()),
        "changed": sum(report.changed for report in reports.values()),
        "procs": log.meta.procs,
        "epoch": log.meta.epoch,
        "timezone": log.meta.timezone,
        **found,
    }

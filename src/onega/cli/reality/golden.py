"""``onega golden``: a schedule job by job, for other simulators to be held against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import emit, fail, remark
from onega.cli.options import (
    FromOption,
    JsonOption,
    MapOption,
    ProcsOption,
    ReadOptions,
    TraceArgument,
    file_that_can_be,
    option,
)

if TYPE_CHECKING:
    from onega.comparison.golden import GoldenDifference
    from onega.core.policy import Policy
    from onega.core.schedule.schedule import Schedule
    from onega.core.workload.workload import Workload


def golden(
    trace: TraceArgument,
    *,
    policy: Annotated[
        str, option("--policy", "P", "fcfs, easy, conservative; or another of simulate, not slurm.")
    ] = "easy",
    procs: ProcsOption = None,
    knowledge: Annotated[
        str | None, option("--knowledge", "K", "What the scheduler knows: estimate or runtime.")
    ] = None,
    ties: Annotated[
        str, option("--ties", "T", "Order at one instant: instant, or event as pyss does.")
    ] = "instant",
    out: Annotated[
        Path | None,
        option(
            "-o --out",
            "FILE",
            "The file to write; standard output without.",
            callback=file_that_can_be,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        option("--check", "FILE", "Hold another program's rows 'job start end' against ours."),
    ] = None,
    json: JsonOption = False,
    from_format: FromOption = None,
    map_file: MapOption = None,
) -> None:
    """Write a log's schedule job by job, with its rules and a checksum; or check another's.

    docs/golden.md defines every rule of fcfs, easy and conservative, so that two simulators can be
    held against one another. With --check the exit code is 1 if any job differs.
    """
    from onega.comparison.golden import golden as make_golden
    from onega.comparison.golden import golden_policy, hold_against, other_rules, read_golden
    from onega.core.files import write_text
    from onega.traces.files import whole

    if check is not None and out is not None:
        fail("--check compares and writes nothing; leave --out out")
    rule = golden_policy(policy)
    log = ReadOptions(from_format, map_file).read(trace, procs=procs)
    schedule, left_out = _schedule(log, rule, knowledge=knowledge, ties=ties)
    made = make_golden(schedule, ties=ties, left_out=left_out)
    numbers = {
        "log": made.facts["log"],
        "procs": schedule.cluster.procs,
        "policy": made.facts["policy"],
        "knowledge": made.facts["knowledge"],
        "ties": ties,
        "jobs": len(schedule),
        "left_out": left_out,
        "sha256": made.sha256,
    }
    if check is not None:
        lines = whole(check).decode("utf-8-sig", "replace").splitlines()
        facts, rows = read_golden(lines, str(check))
        if told := other_rules(made.facts, facts):
            remark(f"{check} was made by other rules: {told}")
        found = hold_against(schedule, rows)
        emit({**numbers, **found.summary()}, lambda _: print(_sentence(found)), json=json)
        raise typer.Exit(0 if found.same else 1)
    if out is not None:
        write_text(out, made.text)
        remark(f"{out}: {len(schedule)} jobs, sha256 of the rows {made.sha256}")
    text = made.text if out is None else ""
    emit(numbers, lambda _: print(text, end=""), json=json)


def _schedule(log: Workload, policy: Policy, **how: Any) -> tuple[Schedule, int]:  # noqa: ANN401
    """Simulate the log's jobs; tells how many of them can't be."""
    from onega.simulation.simulate import simulate
    from onega.traces.cleaning import simulable

    if log.meta.procs is None:
        fail("the log doesn't say how large the machine is; give --procs")
    jobs, report = simulable(log)
    if report.dropped:
        remark(f"left out {report.dropped} of {len(log)} jobs without a width or a run time")
    return simulate(jobs, log.meta.procs, policy, **how), report.dropped


def _sentence(found: GoldenDifference) -> str:
    """Say in words how far another schedule is from ours."""
    words = f"{found.equal} of {found.jobs} jobs have the same start and end"
    if found.differs is not None:
        words += (
            f"; the first that differs is job {found.differs}: "
            f"it starts at {found.golden_start:.15g} here, at {found.other_start:.15g} there"
        )
    for jobs, where in ((found.only_golden, "here"), (found.only_other, "there")):
        if jobs:
            named = ", ".join(map(str, jobs[:5])) + (", …" if len(jobs) > 5 else "")
            words += f"; {len(jobs)} jobs are only {where}: {named}"
    return words

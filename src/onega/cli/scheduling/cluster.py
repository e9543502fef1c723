"""``onega cluster``: describe a machine, and see whether a log fits it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import emit, out, remark, remark_report
from onega.cli.options import (
    JsonOption,
    ReadOptions,
    TraceArgument,
    argument,
    option,
)
from onega.core.errors import MachineError, SimulationError, name_some
from onega.core.units import count_of, humanise_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onega.core.machine.cluster import Cluster
    from onega.core.workload.report import Finding
    from onega.core.workload.workload import Workload
    from onega.simulation.machine.fit import Misfit

HELP = "Describe a machine in a file."

DOES_NOT_FIT = 2


def init(
    file: Annotated[Path, argument("[FILE]", "Where to write; cluster.toml by default.")] = Path(
        "cluster.toml"
    ),
    *,
    json: JsonOption = False,
) -> None:
    """Write a commented description of a machine, everything but its processors switched off.

    A file that is there already is left as it is.
    """
    from onega.core.files import write_text
    from onega.core.machine.settings.template import make_template

    if os.path.lexists(file):
        raise SimulationError(f"{file} is there already; it is left as it is")
    write_text(file, make_template())
    emit({"path": str(file)}, lambda made: print(made["path"]), json=json)
    remark(f"edit it, then: onega cluster check {file} TRACE")


def check(
    file: Annotated[Path, argument("FILE", "A cluster file.")],
    trace: TraceArgument,
    *,
    demands: Annotated[
        Path | None,
        option("--demands", "FILE", "What jobs need: job, gpus, licences, …"),
    ] = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Say which jobs of a log don't fit a machine, and why.

    Jobs wider than their partition, of a partition or queue that isn't described, with more memory
    than any node has, beyond a limit, or that a power cap never lets start. Exits with code 2 if
    there are any. On stderr: what only the log or only the machine knows, queues and users say.
    """
    from onega.core.machine.settings.making import make_cluster, with_size
    from onega.core.machine.settings.reading import read_settings
    from onega.core.workload.report import Report
    from onega.simulation.machine.machine import fit
    from onega.traces.cleaning import simulable
    from onega.traces.tables.named import read_table

    settings = read_settings(file)
    wants = None if demands is None else read_table(demands)
    log = reading.read(trace)
    try:
        machine = make_cluster(with_size(settings, log.meta.procs, "write procs = N"))
    except SimulationError as error:
        raise MachineError(f"{file}: {error}") from None
    jobs, report = simulable(log)
    remark_report(report, trace)
    found, notes = fit(jobs, machine, demands=wants)
    notes += Report.of([_unlimited_memory(jobs, machine)])
    remark_report(notes)
    numbers = {**_numbers(machine, len(jobs), found), "notes": [str(one) for one in notes]}
    emit(numbers, partial(_screen, found=found, room=_room(machine)), json=json)
    if found:
        raise typer.Exit(DOES_NOT_FIT)


def _numbers(machine: Cluster, jobs: int, found: Sequence[Misfit]) -> dict[str, Any]:
    return {
        "fits": not found,
        "jobs": jobs,
        "procs": machine.procs,
        "unfit_jobs": len({job for one in found for job in one.jobs}),
        "misfits": [
            {"rule": one.rule, "why": one.why, "count": len(one.jobs), "jobs": list(one.jobs)}
            for one in found
        ],
    }


def _unlimited_memory(jobs: Workload, machine: Cluster) -> Finding:
    """Note the jobs whose memory isn't looked at, as the machine's nodes have none described."""
    from onega.core.workload.report import Finding

    asked = 0
    if all(group.memory is None for group in machine.nodes):
        needs = jobs.table["requested_memory"].fill_null(jobs.table["memory"])
        asked = int((needs > 0).sum())
    why = "jobs need memory, which the machine doesn't describe; it is left out of account"
    return Finding("no_memory", "noted", asked, why)


def _room(machine: Cluster) -> str:
    """Say what the jobs were held against."""
    words = f"{machine.procs:,} processors"
    if not machine.nodes:
        return words
    words += f" on {count_of(sum(group.count for group in machine.nodes), 'node')}"
    memory = sorted({float(group.memory) for group in machine.nodes if group.memory is not None})
    if memory:
        least, most = humanise_bytes(memory[0]), humanise_bytes(memory[-1])
        words += f" with {least if least == most else f'{least} to {most}'} of memory each"
    return words


def _screen(numbers: dict[str, Any], found: Sequence[Misfit], room: str) -> None:
    console, jobs = out(), numbers["jobs"]
    if not found:
        console.print(f"all {jobs:,} jobs fit {room}", soft_wrap=True)
        return
    for one in found:
        many = f"{len(one.jobs):,} of {jobs:,} jobs"
        console.print(f"{many}: {one.why}{name_some(one.jobs)}", soft_wrap=True, markup=False)


COMMANDS = {"init": init, "check": check}

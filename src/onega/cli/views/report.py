"""``onega report``: one page that a head of a computing centre can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from onega.cli.console import emit, progress, remark, remark_report
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    TraceArgument,
    WindowOption,
    argument,
    file_that_can_be,
    names_in,
    option,
)
from onega.core.errors import ExperimentError, MachineError, SimulationError, suggest

if TYPE_CHECKING:
    from onega.core.machine.cluster import Cluster, Power
    from onega.core.workload.workload import Workload
    from onega.report.site import SiteReport

FORMATS = ("html", "md")


def report(
    *,
    trace: TraceArgument,
    models: Annotated[
        list[Path] | None,
        argument("MODEL", "Models of the workload, made by onega fit."),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output -o", "FILE", "Where to; report.html by default.", callback=file_that_can_be
        ),
    ] = None,
    format: Annotated[
        str | None,
        option("--format", "F", "html or md; md without -o goes to the screen."),
    ] = None,
    procs: ProcsOption = None,
    cluster: Annotated[
        Path | None,
        option("--cluster", "TOML", "The machine: nodes, queues, power, …, as simulate has it."),
    ] = None,
    node_watts: Annotated[
        str | None,
        option("--node-watts", "BUSY,IDLE", "Watts of a node at the full clock."),
    ] = None,
    nodes: Annotated[
        int | None, option("--nodes", "N", "Nodes, if the log doesn't say.", min=1)
    ] = None,
    window: WindowOption = "log",
    policies: Annotated[
        str | None,
        option(
            "--policies",
            "P,Q,…",
            "Policies to compare; fcfs,easy,spf+easy,conservative, and multifactor+easy if the "
            "cluster file has its weights.",
        ),
    ] = None,
    present: Annotated[
        str | None,
        option(
            "--present",
            "P",
            "Which of them stands for today's rule; by default the one nearest to the observed "
            "waits, easy where it is about as near.",
        ),
    ] = None,
    replicates: Annotated[
        int, option("--replicates", "N", "Resamples of the log behind each interval.", min=2)
    ] = 20,
    seed: Annotated[int, option("--seed", "N", "Of everything random.", min=0)] = 1,
    reading: ReadOptions,
    json: JsonOption = False,
) -> None:
    """Write a report: the load, which users make it, when; how full; what other settings give.

    One self-contained page that works offline, with interactive figures: stability, policies and
    energy with intervals, and how adequate the simulator and the models given are.
    """
    from onega.core.policy import Policy
    from onega.models import load
    from onega.report import site_report

    kind = _format(format, output)
    if json and kind == "md" and output is None:
        raise ExperimentError("--json and Markdown can't share the screen; give -o FILE.md")
    names = None if policies is None else names_in(policies)
    for name in names or ():
        Policy.parse(name)  # refuse a misspelt one before reading
    watts = None if node_watts is None else _watts(node_watts)
    given = {path.stem: load(path) for path in models or ()}
    log = reading.read(trace, procs=procs)
    machine, power = _machine(cluster, procs, log)
    if nodes is not None:
        log = log.with_machine(procs or log.meta.procs or nodes, nodes)
    with progress("asking the log", total=1.0) as done:
        made = site_report(
            log,
            given,
            cluster=machine,
            power=power,
            node_watts=watts,
            window=window,
            policies=names,
            present=present,
            replicates=replicates,
            rng=seed,
            on_step=lambda _what, share: done(share),
        )
    remark_report(made.answers.cleaning, trace)
    _write(made, output, kind)
    emit(made, json=json)


def _format(format: str | None, output: Path | None) -> str:
    """Return the format that was asked for, by name or by the file's ending."""
    if format is not None and format not in FORMATS:
        raise ExperimentError(f"--format {format}: {suggest(format, FORMATS)}")
    ending = "" if output is None else output.suffix.removeprefix(".")
    if format is None:
        return "md" if ending in ("md", "markdown") else "html"
    return format


def _watts(text: str) -> tuple[float, float]:
    """Read the watts of a busy and of an idle node."""
    try:
        busy, idle = (float(part) for part in text.split(","))
    except ValueError:
        busy, idle = -1.0, -1.0
    if not busy >= idle >= 0:
        raise ExperimentError(
            f"--node-watts takes the watts of a busy and of an idle node, such as 500,180; "
            f"got {text!r}"
        )
    return busy, idle


def _machine(
    path: Path | None, procs: int | None, log: Workload
) -> tuple[Cluster | int | None, Power | None]:
    """Return the machine and its power as the file says; None: what the log says."""
    if path is None:
        return procs, None
    from onega.core.machine.cluster import Power
    from onega.core.machine.settings.making import make_cluster, with_size
    from onega.core.machine.settings.reading import read_settings

    settings = read_settings(path)
    if procs is not None:
        settings["procs"] = procs
    power = Power(**settings["power"]) if "power" in settings else None
    if power is not None and "rate_control" not in settings:
        # Watts at two clocks are for the clocks that are compared: the machine's own is the full.
        settings["power"] = {"busy": power.busy[-1], "idle": power.idle[-1]}
    try:
        sized = with_size(settings, log.meta.procs, "write procs = N, or give --procs N")
        return make_cluster(sized), power
    except SimulationError as error:
        raise MachineError(f"{path}: {error}") from None


def _write(made: SiteReport, output: Path | None, kind: str) -> None:
    from onega.pages import to_markdown, write_document

    document = made.document()
    if output is None and kind == "md":
        print(to_markdown(document), end="")
        return
    path = write_document(document, output or Path("report.html"), kind)
    figures, size = len(list(document.pictures())), path.stat().st_size
    if kind == "md":
        remark(f"the report is {path} (text, {size / 1e3:.0f} kB; its figures are in HTML only)")
    else:
        remark(f"the report is {path} ({figures} figures, {size / 1e6:.1f} MB, works offline)")

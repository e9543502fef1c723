"""``onega adequacy``: how far a model's schedule is from the real one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from onega.cli.console import (
    FigurePage,
    draw_all,
    emit,
    emit_table,
    progress,
    remark,
    remark_report,
    say,
)
from onega.cli.options import (
    JsonOption,
    OverheadsOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    argument,
    figures_option,
    names_in,
    option,
)
from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster
from onega.core.errors import SimulationError, suggest

if TYPE_CHECKING:
    from onega.comparison.adequacy.adequacy import Adequacy
    from onega.comparison.adequacy.events import EventLog
    from onega.comparison.adequacy.site import SiteAdequacy
    from onega.core.machine.cluster import Cluster
    from onega.core.policy import Knowledge
    from onega.core.schedule.schedule import Schedule
    from onega.core.workload.workload import Workload


def adequacy(
    *,
    real: TraceArgument,
    model: Annotated[
        Path | None,
        argument("[MODEL]", "The model's answer to the same stream: a log."),
    ] = None,
    simulate: Annotated[
        str | None,
        option("--simulate", "P,Q,…", "Simulate the log instead: easy, slurm:fine, …."),
    ] = None,
    procs: ProcsOption = None,
    cluster: Annotated[
        Path | None,
        option(
            "--cluster",
            "FILE.toml",
            "For --simulate: the machine, with its nodes, queues and fair share.",
        ),
    ] = None,
    overheads: OverheadsOption = None,
    seed: SeedOption = None,
    reference: Annotated[
        float | None,
        option("--reference", "SECONDS", "P_ideal: up to here a model is adequate.", min=0),
    ] = None,
    tolerance: Annotated[
        float,
        option("--tolerance", "SECONDS", "Submit times may differ by so much.", min=0),
    ] = 0.0,
    same_within: Annotated[
        float,
        option("--same-within", "SECONDS", "Waits so near count as the same.", min=0),
    ] = 1e-6,
    knowledge: Annotated[
        str | None,
        option("--knowledge", "WHAT", "For --simulate: estimate or runtime."),
    ] = None,
    events: Annotated[
        Path | None,
        option("--events", "DIR", "Write both event logs to DIR/real, /model."),
    ] = None,
    figures: Annotated[Path | None, figures_option("adequacy")] = None,
    reading: ReadOptions,
    json: JsonOption = False,
) -> None:
    """Measure how far a model's schedule is from the real one: P, in seconds.

    Both sides are logs with waits of one and the same stream (or folders with event logs). With
    --simulate, the second side is a simulation of the first: how good is a simulator here? Exit
    code 1: the sides aren't one stream, so that P isn't defined, or P is above --reference.
    """
    if (model is None) == (simulate is None):
        raise SimulationError("give either a second log (MODEL) or --simulate POLICY,…")
    if knowledge not in (None, "estimate", "runtime"):
        raise SimulationError(
            f"--knowledge {knowledge}: {suggest(str(knowledge), ('estimate', 'runtime'))}"
        )
    for flag, given in (("--cluster", cluster), ("--overheads", overheads)):
        if given is not None and simulate is None:
            raise SimulationError(f"{flag} is for --simulate; two logs are compared as they are")
    log = _side(real, procs, reading)
    if simulate is not None:
        if not hasattr(log, "table"):
            raise SimulationError("--simulate takes a log, not a folder of event logs")
        known = cast("Knowledge | None", knowledge)
        flags = MachineFlags(procs=procs, cluster=cluster, overheads=overheads)
        machine = build_cluster(flags, log.meta.procs)
        site = _simulate(log, simulate, machine, reference=reference, knowledge=known, rng=seed)
        best, others, log = site.results[site.best], site, site.observed
    else:
        assert model is not None
        best, others = _compare(log, _side(model, procs, reading), reference, tolerance), None
    best = replace(best, same_within=same_within)
    page = FigurePage(figures, "adequacy", " and ".join(best.names), partial(_figures, best))
    if others is None:
        title = f"{real.name} and {model.name if model else ''}"
        emit(best, partial(_screen, title=title), json=json, figures=page)
    else:
        emit(others, partial(_site_screen, title=real.name), json=json, figures=page)
    if events is not None:
        _write_events(events, log, best)
    if not best.defined or best.adequate is False:
        raise typer.Exit(1)


def _side(path: Path, procs: int | None, reading: ReadOptions) -> Any:  # noqa: ANN401
    """Read a log, or put the schedule of a folder with event logs together."""
    if path.is_dir():
        from onega.comparison.adequacy.events import EventLog

        return EventLog.read(path).schedule()
    return reading.read(path, procs=procs)


def _compare(
    real: Workload | Schedule,
    model: Workload | Schedule,
    reference: float | None,
    tolerance: float,
) -> Adequacy:
    from onega.comparison.adequacy.adequacy import adequacy as measure

    result = measure(real, model, reference=reference, tolerance=tolerance)
    remark_report(result.report)
    return result


def _simulate(
    log: Workload,
    policies: str,
    machine: Cluster,
    *,
    reference: float | None,
    knowledge: Knowledge | None,
    rng: int | None,
) -> SiteAdequacy:
    from onega.comparison.adequacy.site import site_adequacy

    with progress("simulating", total=1.0) as done:
        site = site_adequacy(
            log,
            names_in(policies),
            cluster=machine,
            reference=reference,
            knowledge=knowledge,
            rng=rng,
            progress=done,
        )
    remark_report(site.report)
    return site


def _screen(result: Adequacy, title: str) -> None:
    if not result.defined:
        say(f"{title}: the measure is undefined: {result.reason}")
        return
    prefixes = [(p.jobs, p.P, p.different) for p in result.prefixes()]
    emit_table(title, prefixes, ("first jobs", "P, seconds", "different waits"))
    figures = result.summary()
    emit_table(
        "Beside it",
        [
            ("P, the whole stream", result.P),
            ("P of the mean wait of each width", figures["baseline_P"]),
            ("P without the ten worst jobs", figures["P_without_worst10"]),
            ("share of the ten worst in P²", f"{figures['worst10_share']:.1%}"),
            ("median difference of a job", figures["median_difference"]),
            ("mean wait, real", figures["mean_wait_real"]),
            ("mean wait, model", figures["mean_wait_model"]),
            ("KS distance of the waits", figures["ks_wait"]),
            ("P_ideal", result.reference),
        ],
        ("", "seconds"),
    )
    if result.adequate is not None:
        verdict = "no further from the real system than it is from itself"
        if not result.adequate:
            verdict = "further from the real system than the reference allows"
        say(f"P = {result.P:.6g} s against P_ideal = {result.reference:.6g} s: {verdict}.")


def _site_screen(site: SiteAdequacy, title: str) -> None:
    columns = ("P", "P_without_worst10", "mean_wait_model", "p95_wait_model")
    heads = ("policy", "P, s", "P without\n10 worst, s", "mean\nwait, s", "p95\nwait, s", "skill")
    first = site.results[site.best].summary()
    rows: list[tuple[Any, ...]] = [
        ("observed", None, None, round(first["mean_wait_real"]), round(first["p95_wait_real"]), "")
    ]
    for row in site.to_polars().to_dicts():
        figures = (None if math.isnan(row[key]) else round(row[key]) for key in columns)
        skill = "undefined" if math.isnan(row["skill"]) else f"{row['skill']:.2f}"
        rows.append((row["policy"], *figures, skill))
    baseline = first["baseline_P"]
    shown = None if math.isnan(baseline) else round(baseline)
    own = "undefined" if first["skill_reason"] else "0.00"
    rows.append(("mean of each width", shown, None, None, None, own))
    emit_table(f"{title} on {site.observed.cluster.procs} processors", rows, heads)
    say(site.sentence())


def _write_events(folder: Path, log: Any, result: Adequacy) -> None:  # noqa: ANN401
    from onega.comparison.adequacy.events import EventLog

    sides: dict[str, EventLog] = {"real": EventLog.of(log)}
    if result.model is not None:
        sides["model"] = EventLog.of(result.model)
    for name, one in sides.items():
        one.write(folder / name)
    remark(f"event logs in {', '.join(str(folder / name) for name in sides)}")


def _figures(result: Adequacy) -> Mapping[str, Any]:
    if not result.defined:
        remark("no figures: the measure is undefined")
        return {}
    return draw_all(result)

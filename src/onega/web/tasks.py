"""What the workers do: read a log, simulate it, plan, fit a model, sample from one.

Each task gets the folder of its item, writes its files there and returns the numbers to show.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import polars as pl

from onega.core.errors import ModelError, TraceError
from onega.core.files import write_table, write_text
from onega.core.json_safe import json_safe
from onega.core.workload.clock import local_zone
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from onega.core.schedule.schedule import Schedule
    from onega.core.workload.report import Report

Tell = Callable[..., None]
Request = dict[str, Any]

JOBS: Final = "jobs.parquet"
LAW: Final = "law.parquet"
USABLE: Final = "usable.parquet"
NICE: Final = 10
"""How far behind the workers the warming up stands."""
WEEKS: Final = 2 * 7 * 86400.0
"""Seconds that a log has to span to be resampled by weeks."""


def read_log(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Read an upload, keep its jobs, describe it."""
    from onega.traces.files import Limits, blocks
    from onega.traces.reading import read

    tell(0.05, "reading")
    upload = folder / "upload"
    limits = Limits(**request["limits"])
    for _ in blocks(upload, limits):
        pass  # unpacked once before anything is made of it: a bomb is refused at once
    log = read(
        upload,
        request.get("format"),
        columns=request.get("columns") or None,
        timezone=request.get("timezone"),
        limits=limits,
    )
    if len(log) == 0:
        raise TraceError("holds no jobs; a job log has at least one")
    if len(log) > request["most_jobs"]:
        raise TraceError(
            f"holds {len(log):,} jobs, and the page takes {request['most_jobs']:,}; "
            "use the command `onega` for larger logs"
        )
    name = request["name"]
    # The reader knows the file's place on this machine; outside only its name matters.
    notes = (f"uploaded as {name} ({log.meta.format})",)
    log = Workload(log.table, replace(log.meta, source=name, provenance=notes))
    if request.get("procs"):
        log = log.with_machine(request["procs"], log.meta.nodes)
    return _keep(folder, log, tell)


def sample_log(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Draw jobs from a model: one that was fitted here, or one with published parameters."""
    from onega.models import MODELS
    from onega.models.base import load as load_model

    tell(0.05, "drawing jobs")
    if request.get("model_folder"):
        model = load_model(Path(request["model_folder"]) / "model.json")
    else:
        model = MODELS[request["model"]]()
    drawn = model.sample(
        request["jobs"], rng=request["seed"], load=request.get("load"), cluster=request.get("procs")
    )
    log = Workload(drawn.table, replace(drawn.meta, source=request["name"]))
    result = _keep(folder, log, tell)
    if request.get("log_folder"):
        from onega.comparison.compare import compare

        tell(0.9, "comparing with the log")
        result["likeness"] = compare(_log(Path(request["log_folder"])), log).summary()
    return result


def _keep(folder: Path, log: Workload, tell: Tell) -> dict[str, Any]:
    """Write a log's jobs, describe it, draw it; return what the page shows first."""
    from onega.figures.describe import draw_all
    from onega.traces.description import describe
    from onega.traces.description.sentences import opening, sentences
    from onega.traces.writing import write

    tell(0.3, "writing")
    write(log, folder / JOBS)
    tell(0.4, "describing")
    description = describe(log)
    summary = description.summary()
    write_text(folder / "description.json", json.dumps(json_safe(summary), ensure_ascii=False))
    tell(0.7, "drawing")
    figures, left_out = draw_all(description)
    return {
        "jobs": len(log),
        "procs": log.meta.procs,
        "widest": description.load.widest,
        "span": log.span,
        "format": log.meta.format,
        "estimates": log.has("estimate"),
        "waits": log.has("wait"),
        "opening": opening(description),
        "sentences": list(sentences(description)),
        "warnings": list(description.warnings),
        "shares": {} if description.shares is None else description.shares.summary(),
        "report": _findings(log.meta.report),
        "figures": _write_figures(folder, figures),
        "left_out": left_out,
        "law": _law(folder, log),
    }


def _law(folder: Path, log: Workload) -> dict[str, Any] | None:
    """Return what the sliders need of a log: arrivals, run times; None if it can't say.

    The widths, of which there may be hundreds of thousands, go to a file; what first come, first
    served can use of machines of other sizes to another.
    """
    from onega.core.errors import QueueingError
    from onega.experiment.stability.own_order import OwnOrder
    from onega.experiment.stability.usable_curve import UsableCurve
    from onega.queueing.stability import stability
    from onega.queueing.widths import Widths

    try:
        widths = Widths.from_workload(log)
        found = stability(log, procs=max(log.meta.procs or 0, widths.widest))
    except QueueingError:
        return None
    write_table(pl.DataFrame({"width": widths.values, "prob": widths.probs}), folder / LAW)
    loads = [load for load in (found.offered_load, found.peak_load) if load is not None]
    asked = [load * found.procs for load in loads]
    curve = UsableCurve.measure(OwnOrder.of(log, precision=0.005), found.procs, asked)
    write_table(curve.to_polars(), folder / USABLE)
    return {
        "arrival_rate": found.arrival_rate,
        "mean_runtime": found.mean_runtime,
        "mean_work": found.mean_work,
        "window_procs": found.window_load and found.window_load * found.procs,
        "checks": [asdict(check) for check in found.checks or ()],
    }


def simulate_run(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Run a log's jobs through a scheduler, or take the schedule that the log tells of."""
    from onega.experiment.run_summary import run_summary
    from onega.web.drawing import draw_run, write_pieces

    tell(0.02, "reading the log")
    log = _log(Path(request["log_folder"]))
    schedule, report = _schedule(log, request, tell)
    tell(0.8, "measuring")
    write_table(schedule.jobs, folder / JOBS)
    write_table(schedule.system, folder / "system.parquet")
    tell(0.88, "placing jobs on processors")
    write_pieces(schedule, folder / "pieces.parquet")
    tell(0.95, "drawing")
    figures = _write_figures(folder, draw_run(schedule))
    return {
        **run_summary(schedule, request.get("window") or "log", left_out=report.dropped),
        "report": _findings(report),
        "figures": figures,
        "begin": float(schedule.workload.column("submit").min()),
        "end": float(np.nanmax(schedule.end)),
        "epoch": log.meta.epoch,
        "timezone": browser_zone(log.meta),
        "log_name": log.meta.source,
        "provenance": [*schedule.workload.meta.provenance, *schedule.provenance],
    }


def browser_zone(meta: Meta) -> str:
    """Return the machine's time zone as browsers take it: a name, or an offset such as +01:00."""
    zone, name, _ = local_zone(meta)
    if meta.timezone == name or zone is UTC:
        return name
    return name.removeprefix("UTC") or "UTC"


def _schedule(log: Workload, request: Request, tell: Tell) -> tuple[Schedule, Report]:
    from onega.core.schedule.common import comparable_jobs
    from onega.core.schedule.schedule import Schedule
    from onega.simulation.simulate import simulate
    from onega.traces.cleaning import simulable
    from onega.web.machine import machine_of

    if request["policy"] == "observed":
        # The same jobs as simulated runs have, so that both can stand side by side.
        jobs, report = comparable_jobs(log, request.get("procs") or log.meta.procs)
        return Schedule.observed(jobs, request.get("procs") or log.meta.procs), report
    jobs, report = simulable(log)
    tell(0.1, "simulating (the first run of a kind compiles)")
    schedule = simulate(
        jobs,
        machine_of(request, log.meta.procs),
        request["policy"],
        knowledge=request.get("knowledge"),
        ties=request["ties"],
        enforce_limits=request["enforce_limits"],
        rng=request["seed"],
        progress=lambda share: tell(0.1 + 0.7 * share),
    )
    return schedule, report


def fit_model(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Learn a model from a log."""
    from onega.models import MODELS

    tell(0.05, "reading the log")
    log = _log(Path(request["log_folder"]))
    tell(0.1, "fitting")
    family = MODELS[request["model"]]
    model = family.fit(log, rng=request["seed"])
    model.save(folder / "model.json")
    return {"title": family.TITLE, "learnt": model.learnt, "summary": model.summary()}


def make_plan(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Find the machine, the policy or the load with which a target is met."""
    from onega.experiment.planning.planning import plan
    from onega.traces.cleaning import simulable

    tell(0.02, "reading the log")
    jobs, report = simulable(_log(Path(request["log_folder"])))
    tell(0.05, "simulating")
    varied = request["vary"] == "policy"
    # A short log can't be put together anew from its weeks: it decides alone.
    resample: Literal["weeks", "none"] = "weeks" if jobs.span >= WEEKS else "none"
    result = plan(
        jobs,
        request["target"],
        vary=request["vary"],
        cluster=request.get("procs"),
        policy=None if varied else request["policy"],
        rng=request["seed"],
        resample=resample,
        # How many it will take isn't known: the bar nears its end ever more slowly.
        on_run=lambda runs: tell(0.05 + 0.85 * runs / (runs + 200), f"{runs} simulations"),
    )
    tell(0.95, "drawing")
    return {
        "summary": result.summary(),
        "sentences": list(result.sentences()),
        "report": _findings(report),
        "figures": _write_figures(folder, {"curve": result.plot("curve")}),
    }


def check_machine(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Make the machine that a request describes, to see whether it can be made."""
    from onega.web.machine import machine_of

    machine_of(request, request["log_procs"])
    return {}


def warm_up(folder: Path, request: Request, tell: Tell) -> dict[str, Any]:
    """Compile, once for this machine, what visitors will ask for; what is there is only loaded."""
    from onega.core.machine.cluster import Cluster
    from onega.core.machine.nodes import NodeGroup
    from onega.figures.describe import draw_all
    from onega.models.published.lublin import Lublin
    from onega.simulation.simulate import simulate
    from onega.traces.description import describe
    from onega.web.drawing import draw_run

    if hasattr(os, "nice"):
        os.nice(NICE)  # in a process of its own, behind the tasks of visitors
    log = Lublin().sample(200, rng=1, cluster=64)
    draw_all(describe(log))
    for policy in ("fcfs", "easy"):
        draw_run(simulate(log, 64, policy))
    for policy in ("conservative", "spf+easy", "wfp3+easy", "slurm"):
        simulate(log, 64, policy).summary()
    simulate(log, Cluster(nodes=[NodeGroup(8, 8)]), "easy").summary()
    return {}


def _log(folder: Path) -> Workload:
    from onega.traces.reading import read

    try:
        return read(folder / JOBS, "parquet")
    except TraceError:
        raise ModelError("the log isn't there any more; it may have been deleted") from None


def _findings(report: Report) -> list[str]:
    return [str(finding) for finding in report]


def _write_figures(folder: Path, figures: dict[str, go.Figure]) -> dict[str, str]:
    """Write figures as Plotly's JSON; return their names and titles."""
    (folder / "figures").mkdir(exist_ok=True)
    for name, figure in figures.items():
        write_text(folder / "figures" / f"{name}.json", figure.to_json())
    return {name: figure.layout.title.text or name for name, figure in figures.items()}


TASKS: Final[dict[str, Callable[[Path, Request, Tell], dict[str, Any]]]] = {
    "read": read_log,
    "sample": sample_log,
    "simulate": simulate_run,
    "fit": fit_model,
    "plan": make_plan,
    "machine": check_machine,
    "warm": warm_up,
}
"""Every task by its name."""

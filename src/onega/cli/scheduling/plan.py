"""``onega plan``: how large, which policy, how much more load, which thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import FigurePage, emit, emit_table, progress, say
from onega.cli.options import (
    JsonOption,
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
    Replicated,
    ReplicateOptions,
    WorkerOptions,
    listed,
)
from onega.cli.scheduling.plan_energy import EnergyFlags, grid_of, print_trade_off
from onega.core.errors import ExperimentError, suggest

if TYPE_CHECKING:
    from onega.core.machine.cluster import Cluster
    from onega.experiment.planning.pareto import TradeOff
    from onega.experiment.planning.planning import Plan

VARIES = ("procs", "nodes", "policy", "load", "energy")


def plan(
    trace: TraceArgument,
    *,
    target: Annotated[
        list[str] | None,
        option("--target", "T", 'What has to hold: "p95(wait)<1h"; may be repeated.'),
    ] = None,
    vary: Annotated[
        str | None,
        option(
            "--vary",
            "WHAT",
            "procs, nodes, policy, load or energy: what is looked for; the nodes of a machine "
            "that has them, else processors. nodes:2 is their second group.",
        ),
    ] = None,
    load: Annotated[
        float, option("--load", "X", "Times the log's load that has to be taken, e.g. 1.15.")
    ] = 1.0,
    procs: ProcsOption = None,
    policy: Annotated[
        str | None,
        option("--policy", "P[,P…]", "The policy (easy), or those to choose from."),
    ] = None,
    confidence: Annotated[
        float, option("--confidence", "P", "With which targets are to be met.")
    ] = 0.95,
    most: Annotated[
        float | None, option("--most", "N", "Processors, nodes or times the load to look up to.")
    ] = None,
    knowledge: KnowledgeOption = None,
    enforce_limits: LimitsOption = False,
    cluster: ClusterOption = None,
    replicating: ReplicateOptions,
    energy: EnergyFlags,
    working: WorkerOptions,
    seed: SeedOption = None,
    figures: Annotated[Path | None, figures_option("plan")] = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Find the smallest machine, the policy, the largest load or the cheapest clock.

    The answer holds with the confidence asked for, over resamples of the log or draws from a model.
    Exit code 1: the targets can't be met (the nearest is named).
    """
    vary = vary or _looked_for(cluster)
    if vary.partition(":")[0] not in VARIES:
        raise ExperimentError(f"can't vary {vary!r}; {suggest(vary, VARIES)}")
    energy.check(vary)
    if vary == "energy" and load != 1:
        raise ExperimentError("--load is for --vary procs, nodes or policy; got --vary energy")
    if vary != "energy" and not target:
        raise ExperimentError('give what has to hold, e.g. --target "p95(wait)<1h"')
    read = replicating.read(trace, reading)
    how: dict[str, Any] = {
        "replicates": replicating.replicates,
        "confidence": confidence,
        "resample": replicating.resample,
        "jobs": read.jobs,
        "warmup": replicating.warmup,
        "rng": seed,
        "workers": working.chosen(),
        "knowledge": knowledge,
        "enforce_limits": enforce_limits,
    }
    machine = _machine(procs, cluster, read, vary)
    names = None if policy is None else listed("--policy", policy)
    result: Plan | TradeOff
    if vary == "energy":
        assert machine is not None
        axes = {"cost": energy.cost, "objective": energy.pain, "target": target or None}
        result = _trade_off(read, grid_of(energy, machine.procs), names, axes | how)
    else:
        assert target
        what: dict[str, Any] = {"vary": vary, "load": load, "most": most}
        what |= {"cluster": machine, "policy": names}
        result = _plan(read, target, what | how)
    page = FigurePage(figures, "plan", "Plan", result)
    emit(result, _screen, json=json, figures=page)
    if result.met is False:
        raise typer.Exit(1)


def _looked_for(file: Path | None) -> str:
    """Return what is looked for if nothing is said: nodes where the machine's file has them."""
    from onega.core.machine.settings.reading import read_settings

    return "nodes" if file is not None and read_settings(file).get("nodes") else "procs"


def _machine(procs: int | None, file: Path | None, read: Replicated, vary: str) -> Cluster | None:
    """Return the machine; None where its size is what is looked for and nothing is known of it."""
    from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster

    size = read.log.meta.procs
    if vary == "procs" and procs is None and file is None and size is None:
        return None
    return build_cluster(MachineFlags(procs=procs, cluster=file), size)


def _plan(read: Replicated, target: list[str], how: dict[str, Any]) -> Plan:
    from onega.experiment.planning.planning import plan as solve

    with progress(f"varying {how['vary']}") as tell:
        return solve(read.source, target, on_run=tell, **how)


def _trade_off(
    read: Replicated,
    machines: dict[str, Cluster],
    names: list[str] | None,
    how: dict[str, Any],
) -> TradeOff:
    from onega.experiment.planning.pareto import trade_off

    if names is not None and len(names) > 1:
        raise ExperimentError("--vary energy takes one policy")
    with progress("varying the clock", total=1.0) as tell:
        return trade_off(read.source, machines, names[0] if names else "easy", progress=tell, **how)


def _screen(result: Plan | TradeOff) -> None:
    from onega.experiment.planning.pareto import TradeOff

    if isinstance(result, TradeOff):
        print_trade_off(result)
        return
    heads = {"procs": "processors", "nodes": "nodes", "load": "times the load", "policy": "policy"}
    columns = [heads[result.vary]]
    columns += ["offered load", "replicates", *(str(target.measure) for target in result.targets)]
    rows = []
    for trial in result.trials:
        offered = None if trial.offered_load is None else f"{trial.offered_load:.3g}"
        row: list[Any] = [str(trial.at), offered, trial.replicates]
        for place, target in enumerate(result.targets):
            show = target.measure.show
            ends = f" ({show(trial.lows[place])} to {show(trial.highs[place])})"
            row.append(show(trial.means[place]) + ("" if result.rule == "value" else ends))
        row += [None if result.rule == "value" else f"{100 * trial.joint:.3g} %", trial.met]
        rows.append(row)
    emit_table(f"Places tried for {result.target}", rows, [*columns, "holds in", "met"])
    say(*result.sentences())

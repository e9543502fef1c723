"""``onega closed-loop``: simulate users who see the queue, beside users who don't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import emit, emit_table, progress, remark_report
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    seconds_of,
)
from onega.cli.scheduling.experiment_options import listed

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

PolicyOption = Annotated[str, typer.Option("--policy", metavar="P", help="fcfs, easy, spf+easy, …")]
BaselineOption = Annotated[
    str, typer.Option("--baseline", metavar="P", help="Policy under which users know the queue.")
]
PopulationOption = Annotated[
    float, typer.Option("--population", metavar="X", help="How many times the log's users.")
]
WithinOption = Annotated[
    str,
    typer.Option(
        "--within",
        metavar="TIME",
        help="A job that comes so soon after a result waited for it: 8h, 1d, 7d.",
    ),
]
SizesOption = Annotated[
    bool, typer.Option("--sizes", help="Run times and widths react to the queue too.")
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups", metavar="G,…", help="Only reactions of sizes like WR-,OP- (onega feedback)."
    ),
]
DiscouragementOption = Annotated[
    float,
    typer.Option(
        "--discouragement", metavar="P", help="0 to 1: users give up when the queue is longer."
    ),
]
_SHOWN = ("jobs", "mean_wait", "p95_wait", "mean_bounded_slowdown", "utilisation")


def closed_loop(
    *,
    trace: TraceArgument,
    policy: PolicyOption = "easy",
    baseline: BaselineOption = "easy",
    procs: ProcsOption = None,
    within: WithinOption = "1d",
    population: PopulationOption = 1.0,
    sizes: SizesOption = False,
    groups: GroupsOption = None,
    discouragement: DiscouragementOption = 0.0,
    seed: SeedOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Simulate a log's users on a machine: as they came (open), and waiting for results (closed).

    ``--procs`` and ``--policy`` are the machine to simulate; users are used to the log's own
    machine under ``--baseline``. Where both are the same the log comes out, job by job.
    """
    from onega.core.rng import seed_sequence
    from onega.experiment.users import closed_loop as module
    from onega.experiment.users.reactive_users import ReactiveUsers

    known = seconds_of("--within", within)
    log = reading.read(trace)
    entropy = seed_sequence(seed)
    chosen = None if groups is None else listed("--groups", groups)
    with progress("closed loop"):
        users = ReactiveUsers.fit(log, None, baseline, within=known, groups=chosen)
        machine = procs or users.baseline.cluster.procs
        options: dict[str, Any] = {"rng": entropy, "population": population}
        opened = module.closed_loop(users, machine, policy, reactions=(), **options)
        closed = module.closed_loop(
            users,
            machine,
            policy,
            reactions=("thinks", "sizes") if sizes else ("thinks",),
            discouragement=discouragement,
            **options,
        )
    remark_report(closed.report)
    both = {"open": _measures(opened), "closed": _measures(closed)}
    flat = {f"{name}_{key}": value for name, one in both.items() for key, value in one.items()}
    numbers = {"procs": machine, "policy": policy, **users.summary(), **flat}
    title = f"{policy} on {machine} processors"
    emit(numbers, lambda _: _beside(title, both["open"], both["closed"]), json=json)


def _beside(title: str, opened: dict[str, Any], closed: dict[str, Any]) -> None:
    rows = [(key, opened[key], closed[key]) for key in opened]
    emit_table(title, rows, ("measure", "open loop", "closed loop"))


def _measures(schedule: Schedule) -> dict[str, Any]:
    summary = schedule.summary()
    fair = schedule.fairness("user").summary()
    days = schedule.workload.span / 86400
    return {
        **{key: summary[key] for key in _SHOWN},
        "jobs_per_day": len(schedule) / days if days else None,
        "jain_mean_wait": fair["jain_mean_wait"],
        "jain_share_of_area": fair["jain_share_of_area"],
    }

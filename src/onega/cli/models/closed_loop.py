"""``onega closed-loop``: simulate users who see the queue, beside users who don't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import emit, emit_table, progress, remark, remark_report
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    flag,
    option,
    seconds_of,
)
from onega.cli.scheduling.experiment_options import listed

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

_SHOWN = ("jobs", "mean_wait", "p95_wait", "mean_bounded_slowdown", "utilisation")


def closed_loop(
    *,
    trace: TraceArgument,
    policy: Annotated[str, option("--policy", "P", "fcfs, easy, spf+easy, …")] = "easy",
    baseline: Annotated[
        str, option("--baseline", "P", "Policy under which users know the queue.")
    ] = "easy",
    procs: ProcsOption = None,
    within: Annotated[
        str,
        option(
            "--within", "TIME", "A job that comes so soon after a result waited for it: 8h, 1d, 7d."
        ),
    ] = "1d",
    population: Annotated[
        float, option("--population", "X", "How many times the log's users.")
    ] = 1.0,
    sizes: Annotated[bool, flag("--sizes", "Run times and widths react to the queue too.")] = False,
    groups: Annotated[
        str | None,
        option("--groups", "G,…", "Only reactions of sizes like WR-,OP- (onega feedback)."),
    ] = None,
    discouragement: Annotated[
        float,
        option("--discouragement", "P", "0 to 1: users give up when the queue is longer."),
    ] = 0.0,
    seed: SeedOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Simulate a log's users on a machine: as they came (open), and waiting for results (closed).

    ``--procs`` and ``--policy`` are the machine to simulate; users are used to the log's own
    machine (where it doesn't say: of the same size) under ``--baseline``. Where both are the same
    the log comes out, job by job.
    """
    from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster
    from onega.core.rng import seed_sequence
    from onega.experiment.users import closed_loop as module
    from onega.experiment.users.reactive_users import ReactiveUsers

    known = seconds_of("--within", within)
    log = reading.read(trace)
    machine = build_cluster(MachineFlags(procs=procs), log.meta.procs).procs
    if log.meta.procs is None:
        remark(f"the log doesn't say how large its machine is; taken: {machine:,} processors too")
    entropy = seed_sequence(seed)
    chosen = None if groups is None else listed("--groups", groups)
    with progress("closed loop"):
        own = log.meta.procs or machine
        users = ReactiveUsers.fit(log, own, baseline, within=known, groups=chosen)
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
    rows = [(key, value, both["closed"][key]) for key, value in both["open"].items()]
    heads = ("measure", "open loop", "closed loop")
    emit(numbers, lambda _: emit_table(title, rows, heads), json=json)


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

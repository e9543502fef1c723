"""``onega demo``: the main questions, answered on jobs that come with Onega's own models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from onega.cli.console import emit_json, emit_table, out, remark
from onega.cli.options import JsonOption
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from onega.core.schedule import Schedule
    from onega.core.workload import Workload
    from onega.queueing.stability import Stability
    from onega.traces.description import Description

JOBS: Final = 5000
PROCS: Final = 128
LOAD: Final = 0.55
SEED: Final = 1
SLOW: Final = 0.8
K_LOW: Final = 1e5
K_HIGH: Final = 3e5
BUSY: Final = (150.0, 250.0)
IDLE: Final = (80.0, 90.0)
"""Watts of a processor at the slow and at the full clock: round numbers for the demonstration."""

JOULES_PER_KWH: Final = 3.6e6

MEASURES: Final = {
    "mean_wait": "mean wait",
    "p95_wait": "95 % wait at most",
    "mean_response": "mean wait + run",
    "mean_bounded_slowdown": "bounded slowdown",
    "utilisation": "busy processors",
    "energy": "energy",
}

TRY: Final = (
    "onega describe YOUR_LOG",
    "onega simulate YOUR_LOG --policy easy --figures figures",
    "onega stability YOUR_LOG",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    *,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the report is written.")
    ] = Path("onega-demo"),
    json: JsonOption = False,
) -> None:
    """Show what Onega does, on 5,000 jobs made by its own model; half a minute at most.

    Describes the jobs, runs them first come, first served, with EASY backfilling, and with a clock
    that slows down when there is little to do; asks whether the machine is stable; writes a report.
    """
    log = make_jobs()
    description, schedules, stable = answer(log, json=json)
    if json:
        emit_json(_flat(schedules, stable))
    else:
        _print(description, schedules, stable)
    path = _write_report(folder, description, schedules, stable)
    remark(f"the report is {path}")
    if not json:
        out().print("\nOn a log of your own (Slurm, PBS, SWF, CSV):")
        for line in TRY:
            out().print(f"  {line}", markup=False)


def make_jobs() -> Workload:
    """Draw the demonstration's jobs: always the same."""
    from onega.core.workload import Workload
    from onega.models.lublin import Lublin

    drawn = Lublin().sample(JOBS, rng=SEED, load=LOAD, machine=PROCS)
    return Workload(drawn.table, replace(drawn.meta, source="Lublin and Feitelson's model"))


def answer(
    log: Workload, *, json: bool = False
) -> tuple[Description, dict[str, Schedule], Stability]:
    """Describe, simulate three ways, ask for stability."""
    import onega

    description = onega.describe(log)
    if not json:
        remark("simulating; the first time this compiles, later runs take seconds")
    full = onega.Cluster(PROCS, power=onega.Power(BUSY[1], IDLE[1]))
    control = onega.RateControl("workload", rates=(SLOW, 1.0), k_low=K_LOW, k_high=K_HIGH)
    slower = onega.Cluster(PROCS, control, onega.Power(BUSY, IDLE))
    schedules = {
        "fcfs": onega.simulate(log, full, "fcfs"),
        "easy": onega.simulate(log, full, "easy"),
        "easy, slow clock at low load": onega.simulate(log, slower, "easy"),
    }
    return description, schedules, onega.stability(log, procs=PROCS)


def _print(description: Description, schedules: dict[str, Schedule], stable: Stability) -> None:
    from onega.cli.describe_screen import print_description

    print_description(description, brief=True)
    out().print()
    emit_table(f"Three ways to run them on {PROCS} processors", *_table(schedules))
    out().print(f"\n{_verdict(schedules)}", markup=False)
    out().print("\nWould first come, first served keep up?", style="bold")
    for sentence in stable.sentences()[:2]:
        out().print(f"  • {sentence}", markup=False)
    out().print(
        "  • The formula takes run times as independent of widths; here wide jobs run longer, so "
        "the true margin is smaller (`onega stability` tells, `--method saturation` measures it).",
        markup=False,
    )


def _table(schedules: dict[str, Schedule]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    found = [schedule.summary() for schedule in schedules.values()]
    rows = [(label, *(_cell(name, one[name]) for one in found)) for name, label in MEASURES.items()]
    return rows, ("", *schedules)


def _cell(name: str, value: float) -> str:
    if name == "energy":
        return f"{value / JOULES_PER_KWH:,.0f} kWh"
    if name == "utilisation":
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if "slowdown" in name else humanise_seconds(value)


def _verdict(schedules: dict[str, Schedule]) -> str:
    """Say in a sentence what the three runs tell."""
    fcfs, easy, slow = (schedule.summary() for schedule in schedules.values())
    saved = 1 - slow["energy"] / easy["energy"]
    longer = slow["mean_response"] - easy["mean_response"]
    return (
        f"Backfilling cuts the mean wait by {1 - easy['mean_wait'] / fcfs['mean_wait']:.0%}. "
        f"A clock at {SLOW:.0%} while there is little work saves {saved:.0%} of the energy; "
        f"a job is done {humanise_seconds(longer)} later on average."
    )


def _flat(schedules: dict[str, Schedule], stable: Stability) -> dict[str, Any]:
    """Return one flat object: the measures of each run, and the stability."""
    short = ("fcfs", "easy", "easy_slow")
    runs = {
        f"{name}_{measure}": schedule.summary()[measure]
        for name, schedule in zip(short, schedules.values(), strict=True)
        for measure in MEASURES
    }
    return {"jobs": JOBS, "procs": PROCS, **runs, "rho": stable.rho, "stable": stable.stable}


def _write_report(
    folder: Path, description: Description, schedules: dict[str, Schedule], stable: Stability
) -> Path:
    from onega.figures.export import write_html
    from onega.figures.schedule import compare_schedules

    _, easy, slow = schedules.values()
    figures = {
        "results": _draw_table(schedules),
        "waits": compare_schedules(schedules),
        "slow-clock": slow.plot("workload"),
        "power": slow.plot("power"),
        "gantt": easy.plot("gantt", jobs=300),
        "stability": stable.plot("utilisation"),
        "daily": description.plot("daily"),
        "runtimes": description.plot("runtimes"),
    }
    title = f"Onega: {JOBS:,} jobs of {description.source} on {PROCS} processors"
    return write_html(figures, folder / "report.html", title=title)


def _draw_table(schedules: dict[str, Schedule]) -> Figure:
    from onega.figures.theme import table

    rows, columns = _table(schedules)
    return table(rows, columns, title="Three ways to run the same jobs", note=_verdict(schedules))

"""A simulation on the screen: each number with its unit and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from onega.cli.console import out, show
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.core.intervals import Interval

JOULES_PER_KWH = 3.6e6

Row = tuple[str, str, str]


def print_summary(numbers: Mapping[str, Any], interval: Interval | None) -> None:
    """Print a title and a table of measures."""
    console = out()
    known = {"estimate": "the users' estimates", "runtime": "the run times"}
    knows = f", the scheduler knows {known[numbers['knowledge']]}" if numbers["knowledge"] else ""
    jobs = "1 job" if numbers["jobs"] == 1 else f"{show(numbers['jobs'])} jobs"
    title = f"{numbers['policy']} on {show(numbers['procs'])} processors, {jobs}"
    console.print(f"[bold]{escape(title)}[/bold]{escape(knows)}", soft_wrap=True)
    table = Table(header_style="bold")
    table.add_column("measure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what it means", style="dim")
    told = (_waits(numbers, interval), _machine(numbers), _mishaps(numbers), _energy(numbers))
    for row in (one for rows in told for one in rows):
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)


def _waits(numbers: Mapping[str, Any], interval: Interval | None) -> Iterator[Row]:
    time = {name: humanise_seconds(value) for name, value in numbers.items() if _is_time(name)}
    told = "from submission to start"
    if interval is not None:
        low, high = (humanise_seconds(max(0.0, end)) for end in (interval.low, interval.high))
        told = f"{low} to {high} at {interval.level:.0%}, by batch means"
    yield "mean wait", time["mean_wait"], told
    yield "median wait", time["median_wait"], "half of the jobs waited no longer"
    yield "95 % wait", time["p95_wait"], "one job in twenty waited longer"
    yield "longest wait", time["max_wait"], ""
    yield "mean response", time["mean_response"], "from submission to completion"
    bounded = _slowdown(numbers["mean_bounded_slowdown"])
    yield "bounded slowdown", bounded, "mean of response / max(service, 10 s)"


def _is_time(name: str) -> bool:
    return name.endswith(("_wait", "_response")) or name == "makespan"


def _machine(numbers: Mapping[str, Any]) -> Iterator[Row]:
    span = humanise_seconds(numbers["makespan"])
    yield "utilisation", _percent(numbers["utilisation"]), f"busy processors, over {span}"
    wasted = "capacity idle while somebody waited"
    yield "wasted", _percent(numbers["wasted_share"]), wasted
    inside = (
        f"{numbers['mean_jobs_running']:.3g} running, {numbers['mean_jobs_waiting']:.3g} waiting"
    )
    yield "jobs in system", f"{numbers['mean_jobs_in_system']:,.3g}", inside
    if numbers["rate_changes"] or abs(numbers["mean_rate"] - 1) > 1e-9:
        changes = f"of service; {show(numbers['rate_changes'])} changes"
        yield "mean rate", f"{numbers['mean_rate']:.4g}", changes
    if numbers["limited_jobs"]:
        yield "ended at limit", show(numbers["limited_jobs"]), "jobs that reached their estimates"


def _mishaps(numbers: Mapping[str, Any]) -> Iterator[Row]:
    """Tell what went wrong on a detailed machine; what didn't happen isn't mentioned."""
    if numbers.get("node_failures"):
        down = f"{_percent(numbers['down_share'])} of all processors' time is down"
        yield "node failures", show(numbers["node_failures"]), down
    if numbers.get("interruptions"):
        lost = numbers["lost_work"] / (numbers["procs"] * numbers["makespan"])
        share = f"of jobs; work done in vain is {_percent(lost)} of the machine's time"
        yield "interruptions", show(numbers["interruptions"]), share
    for state, meaning in (
        ("cancelled", "left without having started"),
        ("killed", "ended by an event"),
        ("lost", "interrupted, and not requeued"),
        ("dropped", "what they depend on didn't end well"),
        ("unstarted", "still waited at the end"),
    ):
        if numbers.get(f"{state}_jobs"):
            yield f"jobs {state}", show(numbers[f"{state}_jobs"]), meaning


def _energy(numbers: Mapping[str, Any]) -> Iterator[Row]:
    if numbers["energy"] is None:
        return
    used = numbers["energy"] / JOULES_PER_KWH
    idle = numbers["idle_energy"] / numbers["energy"] if numbers["energy"] else 0.0
    yield "energy", f"{used:,.4g} kWh", f"{_percent(idle)} of it by idle processors"
    yield "mean power", f"{numbers['mean_power']:,.4g} W", "of all processors together"


def _slowdown(value: float) -> str:
    """Write four digits, and no power of ten for large ones."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

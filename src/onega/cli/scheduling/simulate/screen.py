"""A simulation on the screen: each number with its unit and what it means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from onega.cli.console import out, show
from onega.core.schedule.window import Window
from onega.core.units import (
    count_of,
    humanise_energy,
    humanise_power,
    humanise_seconds,
    quantity,
)

Row = tuple[str, str, str]


def print_summary(numbers: Mapping[str, Any], *, drawn: bool = False) -> None:
    """Print a title and a table of measures; ``drawn``: with one draw of overheads."""
    console = out()
    known = {"estimate": "the users' estimates", "runtime": "the run times"}
    knows = f", the scheduler knows {known[numbers['knowledge']]}" if numbers["knowledge"] else ""
    jobs = "1 job" if numbers["jobs"] == 1 else f"{show(numbers['jobs'])} jobs"
    title = f"{numbers['policy']} on {show(numbers['procs'])} processors, {jobs}"
    more = "; one draw of the overheads (--seed takes another)" if drawn else ""
    console.print(f"[bold]{escape(title)}[/bold]{escape(knows + more)}", soft_wrap=True)
    for warning in (numbers["size_warning"], numbers["unstarted_warning"]):
        if warning:
            console.print(f"[yellow]![/yellow] {escape(warning)}")
    console.print(escape(_window_words(numbers)))
    table = Table(header_style="bold")
    table.add_column("measure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what it means", style="dim", overflow="fold")
    told = (_waits(numbers), _machine(numbers), _mishaps(numbers), _energy(numbers))
    for row in (one for rows in told for one in rows):
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
    for warning in numbers["warnings"]:
        console.print(f"[yellow]![/yellow] {escape(warning)}")


def _window_words(numbers: Mapping[str, Any]) -> str:
    """Say over what time the machine is measured, and over which jobs the waits."""
    window = Window(numbers["window_start"], numbers["window_end"], numbers["window"])
    said = f"The machine over time: {numbers['window_words']}, {window.meaning}."
    started = numbers.get("started_jobs", numbers["jobs"])
    some = " that started" if started < numbers["jobs"] else ""
    if window.kind == "given":
        many = count_of(numbers["window_jobs"], "job")
        which = f" Waits are of the {many} submitted then" + (f", of those{some}" if some else "")
    elif some:
        which = f" Waits are of the {count_of(started, 'job')}{some}"
    else:
        which = "" if window.kind == "whole" else " Waits are of all jobs"
    return f"{said}{which}." if which else said


def _waits(numbers: Mapping[str, Any]) -> Iterator[Row]:
    # Means over jobs are over all of them, unless some were asked for (docs/measures.md).
    part = "window_" if numbers["window"] == "given" else ""
    told = "from submission to start"
    if numbers["mean_wait_low"] is not None and not part:
        low, high = (humanise_seconds(numbers[f"mean_wait_{end}"]) for end in ("low", "high"))
        told = f"{low} to {high} at 95 %, by batch means"
    waits = {
        name: humanise_seconds(numbers[f"{part}{name}"])
        for name in ("mean_wait", "median_wait", "p95_wait", "max_wait", "mean_response")
    }
    yield "mean wait", waits["mean_wait"], told
    yield "median wait", waits["median_wait"], "half of the jobs waited no longer"
    p95, most = numbers[f"{part}p95_wait"], numbers[f"{part}max_wait"]
    longer = "one job in twenty waited longer" if p95 else "fewer than one job in twenty waited"
    yield "95 % wait", waits["p95_wait"], "no job waited longer" if p95 == most else longer
    yield "longest wait", waits["max_wait"], ""
    yield "mean response", waits["mean_response"], "from submission to completion"
    bounded = quantity(numbers[f"{part}mean_bounded_slowdown"], 4)
    yield "bounded slowdown", bounded, "mean of response / max(service, 10 s)"
    if numbers["logged_waits"]:
        equal = f"of {show(numbers['logged_waits'])} logged waits are the same here"
        yield "as in the log", show(numbers["equal_waits"]), equal


def _machine(numbers: Mapping[str, Any]) -> Iterator[Row]:
    whole = ""
    if numbers["window"] != "whole":
        span = humanise_seconds(numbers["makespan"])
        whole = f"; {_percent(numbers['utilisation'])} over the whole {span}"
    busy = _percent(numbers["window_utilisation"])
    yield "utilisation", busy, f"busy processors{whole}"
    down = ", without processors that were down" if numbers.get("node_failures") else ""
    wasted = f"capacity idle while jobs waited{down}"
    yield "wasted", _percent(numbers["window_wasted_share"]), wasted
    inside = (
        f"{quantity(numbers['window_mean_jobs_running'])} running, "
        f"{quantity(numbers['window_mean_jobs_waiting'])} waiting"
    )
    yield "jobs in system", quantity(numbers["window_mean_jobs_in_system"]), inside
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
        whole = numbers["procs"] * numbers["makespan"]
        lost = numbers["lost_work"] / whole if whole > 0 else float("nan")
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
    used = numbers["window_energy"]
    if used is None:
        return
    idle = numbers["window_idle_energy"] / used if used else 0.0
    whole = numbers["energy"]
    beside = "" if numbers["window"] == "whole" else f"; {humanise_energy(whole)} in the whole run"
    yield "energy", humanise_energy(used), f"{_percent(idle)} of it by idle processors{beside}"
    power = humanise_power(numbers["window_mean_power"])
    yield "mean power", power, "of all processors together"


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"

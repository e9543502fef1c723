"""A description in words: what a head of operations would ask first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from onega.core.units import count_of, humanise_seconds, overfull, percent

if TYPE_CHECKING:
    from onega.traces.description.cycles import Cycles
    from onega.traces.description.description import Description
    from onega.traces.description.estimates import Estimates
    from onega.traces.description.marginals import Marginal

DAY = 86400.0
MIN_DAYS = 7
"""Days from which a log says something about the hours of the day."""
MIN_WEEKS = 4
"""Weeks from which a log says something about weekdays."""


def opening(description: Description) -> str:
    """Say in a sentence how many jobs of how many users ran on what machine, and when."""
    load = description.load
    parts = [count_of(load.jobs, "job")]
    if load.users is not None:
        parts.append(f"by {count_of(load.users, 'user')}")
    if load.procs is not None:
        parts.append(f"on {count_of(load.procs, 'processor')}")
    text = " ".join(parts)
    if load.start is not None and load.end is not None:
        text += f", {_dates(load.start, load.end)} ({load.timezone})"
    elif load.span > 0:
        text += f", submitted over {humanise_seconds(load.span)}"
    return text + "."


def sentences(description: Description) -> Iterator[str]:
    """Say what a head of operations would ask first."""
    yield from _about_load(description)
    runtime, shape = description.runtime, description.shape
    if description.wait is not None and description.wait.count > 1:
        yield _about_waits(description.wait)
    if runtime is not None and runtime.count > 1:
        yield (
            f"Half of the jobs ran {humanise_seconds(runtime.median)} or less, the mean is "
            f"{humanise_seconds(runtime.mean)}, the longest {humanise_seconds(runtime.maximum)}."
        )
    if shape is not None:
        yield (
            f"{percent(shape.serial)} of the jobs use one processor, "
            f"{percent(shape.power_of_two)} a power of two; the widest has "
            f"{description.load.widest:,}."
        )
    yield from _about_people(description)
    lost = description.load.jobs - description.load.usable
    if lost:
        yield (
            f"{count_of(lost, 'job')} without a positive width and run time "
            f"({share(lost / description.load.jobs)}) are left out where both are needed."
        )


def _about_load(description: Description) -> Iterator[str]:
    load = description.load
    if description.size_warning is not None:
        yield description.size_warning
    if load.procs is None:
        held = ""
        if load.most_held is not None:
            held = f" (its jobs held up to {load.most_held:,} processors at once)"
        yield (
            f"The log doesn't say how large the machine is{held}: with --procs N its load is shown."
        )
    offered = load.window_offered_load
    if offered is None:
        return
    text = f"Users asked for {percent(offered)} of the machine's capacity"
    if (busy := load.window_utilisation) is not None:
        text += f"; it was {percent(busy)} busy{overfull(busy)}"
    yield f"{text}, {load.window_words} ({load.window.meaning})."
    if offered > 1 and description.size_warning is None:
        yield (
            "That is more than it has: either the machine's size is wrong, or, while jobs come "
            "like that, queues must grow."
        )


def _about_waits(wait: Marginal) -> str:
    """Say how long most jobs waited; where few waited at all, how many did."""
    if not wait.maximum:
        return "No job waited."
    longest = humanise_seconds(wait.maximum)
    if not wait.p95:
        return f"{share(1 - wait.mode_share)} of the jobs waited at all, the longest {longest}."
    half = f"waited {humanise_seconds(wait.median)} or less" if wait.median else "didn't wait"
    return f"Half of the jobs {half}; one in twenty waited more than {humanise_seconds(wait.p95)}."


def longer_than_asked(estimates: Estimates) -> str:
    """Say how many jobs ran longer than asked for, and by how much at most."""
    if estimates.most_over is None:
        return "none ran longer than asked for"
    most = humanise_seconds(estimates.most_over)
    return f"{share(estimates.over_jobs)} ran longer than asked for, by {most} at most"


def _about_people(description: Description) -> Iterator[str]:
    estimates, users, cycles = description.estimates, description.users, description.cycles
    if estimates is not None and estimates.median_accuracy is not None:
        yield (
            f"The median job ran {percent(estimates.median_accuracy)} of the time its user asked "
            f"for; {longer_than_asked(estimates)}."
        )
    if users is not None and users.users > 1:
        area = users.active_area_share
        used = "" if area is None else f" and used {percent(area)} of the processor time"
        yield (
            f"The {len(users.active)} most active users submitted "
            f"{percent(users.active_job_share)} of the jobs{used}."
        )
    yield from _about_shares(description)
    if cycles is not None and description.load.span >= MIN_DAYS * DAY:
        yield _about_time(cycles, weekly=description.load.span >= MIN_WEEKS * 7 * DAY)


def _about_shares(description: Description) -> Iterator[str]:
    """Say which users make half of the load, what GPUs are used, which jobs aren't counted."""
    tables = {} if description.shares is None else description.shares.tables()
    for by, noun in (("user", "user"), ("account", "account")):
        rows = tables.get(by, ())
        half = next((n for n, row in enumerate(rows, 1) if (row.cumulative or 0) >= 0.5), None)
        if half is None or len(rows) < 2:
            continue
        called = (f"{noun} {row.name}" if row.name.isdigit() else row.name for row in rows)
        some = ", ".join(
            f"{name}: {share(row.hour_share)}" for name, row in zip(called, rows[: min(half, 3)])
        )
        used = rows[half - 1].cumulative
        verb = "used" if by == "user" else "had"
        yield (
            f"{count_of(half, noun)} of {len(rows):,} {verb} {share(used)} of the processor hours"
            f" ({some}{', …' if half > 3 else ''})."
        )
    gpus = [] if description.demands is None else description.demands.demands
    for one in gpus:
        if one.resource == "gpus":
            yield (
                f"{share(one.job_share)} of the jobs use GPUs, up to {one.largest:,.0f} each: "
                f"{one.hours:,.0f} GPU hours."
            )
    if description.unfinished:
        said = ", ".join(f"{jobs:,} {state}" for state, jobs in description.unfinished.items())
        yield f"Jobs that hadn't finished when the log was taken are not counted here: {said}."


def _about_time(cycles: Cycles, *, weekly: bool) -> str:
    busy = max(cycles.hours, key=lambda slot: slot.jobs)
    calm = min(cycles.hours, key=lambda slot: slot.jobs)
    days = f" and on {max(cycles.weekdays, key=lambda slot: slot.jobs).label}s" if weekly else ""
    note = (
        " UTC, as the log names no time zone" if cycles.timezone_from.startswith("nothing") else ""
    )
    return (
        f"Most jobs come at {busy.label} ({count_of(busy.jobs, 'job')}){days}, "
        f"fewest at {calm.label} ({calm.jobs:,}){note}."
    )


def _dates(start: datetime, end: datetime) -> str:
    """Write two dates, or of one date the times."""
    first, last = (f"{moment.day} {moment:%B %Y}" for moment in (start, end))
    return f"{first} to {last}" if first != last else f"{first}, {start:%H:%M} to {end:%H:%M}"


def share(value: float | None) -> str:
    """Write a share in percent; a tiny one isn't shown as nothing."""
    if value is None:
        return "–"
    return "< 0.1 %" if 0 < value < 0.0005 else f"{100 * value:.1f} %"

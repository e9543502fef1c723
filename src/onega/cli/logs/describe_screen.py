"""A description on the screen: what matters in short sentences, then the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from onega.cli.console import emit_table, out
from onega.core.units import humanise_seconds, quantity
from onega.traces.description.sentences import opening, sentences, share
from onega.traces.description.shares import SHOWN

if TYPE_CHECKING:
    from onega.traces.description import Description
    from onega.traces.description.marginals import Marginal
    from onega.traces.description.shares import Share

HOUR = 3600.0


def print_description(description: Description, *, brief: bool = False) -> None:
    """Print the first screen, then (unless ``brief``) the details."""
    console = out()
    console.print(f"[bold]{escape(description.source or 'A log')}[/bold]", soft_wrap=True)
    console.print(escape(opening(description)), soft_wrap=True)
    console.print()
    for sentence in sentences(description):
        console.print(f"  • {escape(sentence)}", soft_wrap=True)
    for warning in description.warnings:
        console.print(f"  [yellow]![/yellow] {escape(warning)}", soft_wrap=True)
    if brief:
        return
    console.print()
    for details in (
        _distributions,
        _shape,
        _temporal,
        _estimates,
        _users,
        _shares,
        _demands,
        _cycles,
    ):
        details(description)
    if description.missing:
        console.print("[italic]Not measured[/italic]")
    for name, why in description.missing.items():
        console.print(f"  • {escape(name)}: {escape(why)}", soft_wrap=True)


def _distributions(description: Description) -> None:
    columns = [one for name in _HEADS if (one := getattr(description, name)) is not None]
    if not columns:
        return
    rows: list[list[str]] = [
        [label, *(_amount(value(one), one.unit) for one in columns)] for label, value in _LINES
    ]
    rows.append(["mode share", *(f"{one.mode_share:.1%}" for one in columns)])
    rows.append(["CV", *(_number(one.cv) for one in columns)])
    rows.append(["known for", *(f"{one.count:,}" for one in columns)])
    emit_table("Distributions", rows, ("", *(_HEADS[one.name] for one in columns)))


_HEADS = {
    "runtime": "run time",
    "width": "width",
    "gap": "gap",
    "estimate": "estimate",
    "area": "proc·h",
    "wait": "wait",
}
"""Attributes and the heads of their columns."""


def _decile(tenths: int) -> tuple[str, Callable[[Marginal], float | None]]:
    return f"{10 * tenths} %", lambda one: one.deciles[tenths - 1]


_LINES: tuple[tuple[str, Callable[[Marginal], float | None]], ...] = (
    ("mean", lambda one: one.mean),
    ("std dev", lambda one: one.std),
    ("smallest", lambda one: one.minimum),
    _decile(1),
    _decile(2),
    ("25 %", lambda one: one.quartiles[0]),
    _decile(3),
    _decile(4),
    ("median", lambda one: one.median),
    _decile(6),
    _decile(7),
    ("75 %", lambda one: one.quartiles[2]),
    _decile(8),
    _decile(9),
    ("95 %", lambda one: one.p95),
    ("99 %", lambda one: one.p99),
    ("largest", lambda one: one.maximum),
    ("SIQR", lambda one: one.siqr),
    ("mode", lambda one: one.mode),
)
"""Rows of the table of distributions."""


def _shape(description: Description) -> None:
    shape, tail = description.shape, description.tail
    rows: list[tuple[str, str]] = []
    if shape is not None:
        rows += [
            ("serial jobs", share(shape.serial)),
            ("widths that are a power of two", share(shape.power_of_two)),
            ("correlation of width and run time", _number(shape.corr)),
            ("the same, distributional", _number(shape.distributional_corr)),
        ]
    if tail is not None:
        fit = "a fair fit" if tail.fits else "a poor fit"
        rows += [
            ("tail index of run times (Hill)", f"{tail.alpha:.2f} ± {tail.error:.2f}"),
            ("  from the longest jobs", f"{tail.k:,} ({humanise_seconds(tail.threshold)} or more)"),
            ("  distance from a power law", f"{tail.distance:.3f}, {fit}"),
        ]
    if rows:
        emit_table("Shape of the jobs", rows, ("measure", "value"))


def _temporal(description: Description) -> None:
    temporal = description.temporal
    if temporal is None:
        return
    rows = [
        ("neighbours with the same width", share(temporal.same_width)),
        ("autocorrelation ρ₁ of widths", _number(temporal.rho1_width)),
        ("autocorrelation ρ₁ of run times", _number(temporal.rho1_runtime)),
        ("states of the width chain", str(temporal.width_states)),
        ("states of the run-time chain", str(temporal.runtime_states)),
        ("cor₀ of the chains", _number(temporal.cor0)),
        ("cor₁ of their changes", _number(temporal.cor1)),
    ]
    emit_table("Relations in time", rows, ("measure", "value"))
    emit_table(
        "Jobs of one width in a row",
        [(f"{r.width:,}", r.jobs, _number(r.observed), _number(r.independent))
         for r in temporal.runs],
        ("width", "jobs", "mean run", "if independent"),
    )  # fmt: skip


def _estimates(description: Description) -> None:
    section = description.estimates
    if section is None:
        return
    rows = [
        ("jobs with an estimate", share(section.known)),
        ("largest estimate", f"{quantity(section.maximum / HOUR, 4)} h"),
        ("mean accuracy (run time / estimate)", _number(section.mean_accuracy)),
        ("ran longer than estimated: jobs", share(section.over_jobs)),
        ("ran longer than estimated: area", share(section.over_area)),
        ("ran longer than estimated: at most", _amount(section.most_over, "s")),
        ("more than 10 % longer: jobs", share(section.far_over_jobs)),
        ("more than 10 % longer: area", share(section.far_over_area)),
        ("different estimates", f"{section.distinct:,}"),
        (f"the {len(section.frequent)} most frequent together", share(section.frequent_share)),
    ]
    emit_table("Estimates", rows, ("measure", "value"))
    emit_table(
        "Most frequent estimates",
        [(humanise_seconds(one.estimate), one.jobs, share(one.share)) for one in section.frequent],
        ("estimate", "jobs", "share"),
    )


def _users(description: Description) -> None:
    section = description.users
    if section is None:
        return
    emit_table(
        "Users by number of submissions",
        [
            (f"{one.low:,} to {one.high - 1:,}" if one.high else f"{one.low:,} or more",
             one.users, share(one.share))
            for one in section.submissions
        ],
        ("submissions", "users", "share"),
    )  # fmt: skip
    emit_table(
        "Most active users",
        [
            (one.name, one.jobs, share(one.job_share), share(one.area_share),
             _number(one.mean_width), humanise_seconds(one.mean_runtime))
            for one in section.active
        ],
        ("user", "jobs", "share", "of area", "mean width", "mean run time"),
    )  # fmt: skip


def _shares(description: Description) -> None:
    for by, rows in {} if description.shares is None else description.shares.tables().items():
        print_shares(rows, by, most=len(rows) if by == "month" else SHOWN)


def print_shares(
    rows: Sequence[Share], by: str, *, order: str = "hours", most: int | None = None
) -> None:
    """Print jobs and processor hours by user, account, …; the first ``most``, then the rest."""
    shown, rest = rows[:most], rows[len(rows[:most]) :]
    lines = [
        (row.name, row.jobs, share(row.job_share), _hours(row.hours), share(row.hour_share),
         share(row.cumulative))
        for row in shown
    ]  # fmt: skip
    if rest:
        jobs, hours = sum(row.jobs for row in rest), sum(row.hours for row in rest)
        parts = [sum(row.job_share for row in rest), sum(row.hour_share or 0 for row in rest)]
        lines.append((f"{len(rest):,} more", jobs, share(parts[0]), _hours(hours),
                      share(parts[1]), share(1.0)))  # fmt: skip
    first = "in order" if by == "month" else f"most {'jobs' if order == 'jobs' else 'hours'} first"
    emit_table(
        f"By {by}, {first}",
        lines,
        (by, "jobs", "of jobs", "processor hours", "of hours", "cumulative"),
    )


def _demands(description: Description) -> None:
    section = description.demands
    if section is None:
        return
    rows = [
        (f"{one.resource}, GiB" if one.resource == "memory" else one.resource, one.jobs,
         share(one.job_share), _number(one.mean), f"{one.largest:,.4g}", _hours(one.hours))
        for one in section.demands
    ]  # fmt: skip
    heads = ("resource", "jobs", "of jobs", "mean of a job", "largest", "hours")
    emit_table("What jobs need beside processors", rows, heads)


def _cycles(description: Description) -> None:
    section = description.cycles
    if section is None:
        return
    for title, slots in (("Hours of the day", section.hours), ("Days", section.weekdays)):
        emit_table(
            f"{title}, {section.timezone} time",
            [(s.label, s.jobs, humanise_seconds(s.mean_runtime), _number(s.mean_width))
             for s in slots],
            ("submitted", "jobs", "mean run time", "mean width"),
        )  # fmt: skip


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _hours(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _amount(value: float | None, unit: str) -> str:
    """Write a value: times for people, areas in processor-hours, counts plain."""
    if value is None:
        return "–"
    if unit == "s":
        return humanise_seconds(value)
    if unit == "processor-s":
        value /= HOUR
    return quantity(value)

"""The first sections of a report: the load, which users make it, when it comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onega.core.errors import TraceError
from onega.core.units import humanise_seconds, quantity
from onega.pages import Block, Fact, Facts, Paragraph, Picture, Section, Table
from onega.queueing.sentences import percent
from onega.report.answers import Answers
from onega.traces.description.sentences import longer_than_asked, opening, share
from onega.traces.description.shares import SHOWN

MONTHS: Final = 24
"""Months that are tabulated, the last ones."""


def load_section(answers: Answers) -> Section:
    """Say what the load is: how much, how wide, how long."""
    description = answers.description
    blocks: list[Block] = [
        Paragraph(opening(description)),
        Facts(tuple(_load_facts(answers))),
    ]
    seen = "observed" if answers.observed else "as EASY would have run them"
    blocks.append(
        Picture(
            "machine-over-time",
            answers.history.plot("utilisation"),
            meaning=f"Busy processors over the whole time, {seen}.",
        )
    )
    blocks += _pictures(
        answers,
        {
            "runtimes": "Two or three hills mean two or three kinds of work: tests, production, "
            "jobs that run into the time limit.",
            "widths": "How many processors jobs take; users like powers of two.",
            "accuracy": "Estimates are what backfilling plans with: far below 1 means that jobs "
            "end long before the scheduler expects it.",
        },
    )
    return Section("load", "What the load is", tuple(blocks))


def _load_facts(answers: Answers) -> Iterator[Fact]:
    load, description = answers.description.load, answers.description
    if load.window_offered_load is not None:
        yield Fact(
            "Asked for",
            percent(load.window_offered_load),
            f"of the machine's processor time, {load.window_words} ({load.window.meaning})"
            f"{_of_all(answers)}. Above 100 % queues must grow.",
        )
    hours, days = load.area / 3600, load.span / 86400
    daily = ""
    if days >= 1:
        daily = (
            f": {quantity(hours / days)} processor-hours and "
            f"{quantity(load.usable / days)} jobs a day"
        )
    yield Fact(
        "Work, in processor-hours", f"{hours:,.0f}", f"in {load.usable:,} jobs that ran{daily}."
    )
    if description.runtime is not None:
        yield Fact(
            "Run time",
            humanise_seconds(description.runtime.median),
            f"is the median; the mean is {humanise_seconds(description.runtime.mean)}, the "
            f"longest job took {humanise_seconds(description.runtime.maximum)}.",
        )
    if description.width is not None and description.shape is not None:
        yield Fact(
            "Width, in processors",
            quantity(description.width.median),
            f"is the median; the mean is {quantity(description.width.mean)}, the widest job took "
            f"{load.widest:,}. {percent(description.shape.serial)} of the jobs take one processor, "
            f"{percent(description.shape.power_of_two)} a power of two.",
        )
    estimates = description.estimates
    if estimates is not None and estimates.median_accuracy is not None:
        yield Fact(
            "Estimates",
            percent(estimates.median_accuracy),
            "of the time that its user asked for is what the median job ran; "
            f"{longer_than_asked(estimates)}.",
        )


def _of_all(answers: Answers) -> str:
    """Say what is asked for over the whole log, if that is another number."""
    load = answers.description.load
    if load.offered_load is None or load.window.kind == "whole":
        return ""
    over_all = percent(load.offered_load)
    if over_all == percent(load.window_offered_load):
        return ""
    return f"; over the whole log, first to last submission, it is {over_all}"


def people_section(answers: Answers) -> Section:
    """Say which users, accounts and queues make the load."""
    users = answers.description.users
    if users is None:
        why = answers.description.missing.get("users", "the log doesn't say who submitted a job")
        unknown = Paragraph(f"Users are not known: {why}.")
        return Section("people", "Who makes it", (unknown, *_share_tables(answers)))
    blocks: list[Block] = [Facts(tuple(_people_facts(answers))), *_share_tables(answers)]
    blocks.append(_active_users(answers))
    blocks += _pictures(
        answers,
        {"submissions": "Most people submit little; a few submit nearly everything."},
    )
    if answers.grouping is not None:
        blocks.append(_groups_table(answers))
        blocks.append(
            Picture(
                "groups",
                answers.grouping.plot("shares"),
                meaning="Users grouped by the kind of jobs they submit (width and run time).",
            )
        )
    return Section("people", "Who makes it", tuple(blocks))


def _people_facts(answers: Answers) -> Iterator[Fact]:
    users = answers.description.users
    assert users is not None
    yield Fact("Users", f"{users.users:,}", "submitted at least one job.")
    if users.active_area_share is not None:
        yield Fact(
            f"The {len(users.active)} most active",
            percent(users.active_area_share),
            f"of the processor time is theirs, and {percent(users.active_job_share)} of the jobs.",
        )


def _share_tables(answers: Answers) -> Iterator[Table]:
    """Tabulate jobs and processor hours by user, account, queue, partition, state and month."""
    found = answers.description.shares
    for by, rows in {} if found is None else found.tables().items():
        if len(rows) < 2:
            continue
        shown = rows[-MONTHS:] if by == "month" else rows[:SHOWN]
        lines = tuple(
            (
                row.name,
                f"{row.jobs:,}",
                share(row.job_share),
                f"{row.hours:,.0f}",
                share(row.hour_share),
                share(row.cumulative),
            )
            for row in shown
        )
        note = "Processor hours: run time × processors. Cumulative: of the hours, down to this row."
        if len(rows) > len(shown):
            which = "last" if by == "month" else "first"
            note = f"The {which} {len(shown)} of {len(rows):,}. {note}"
        columns = (by, "jobs", "of all jobs", "processor hours", "of all hours", "cumulative")
        yield Table(f"By {by}", columns, lines, note)


def _active_users(answers: Answers) -> Table:
    users = answers.description.users
    assert users is not None
    rows = tuple(
        (
            row.name,
            f"{row.jobs:,}",
            share(row.job_share),
            share(row.area_share),
            "–" if row.mean_width is None else f"{row.mean_width:.1f}",
            humanise_seconds(row.mean_runtime),
        )
        for row in users.active
    )
    columns = ("user", "jobs", "of all jobs", "of processor time", "mean width, processors",
               "mean run time")  # fmt: skip
    return Table("The users with the most jobs", columns, rows)


def _groups_table(answers: Answers) -> Table:
    assert answers.grouping is not None
    rows = tuple(
        (
            f"group {row['group']}",
            f"{row['users']:,}",
            percent(row["share_of_jobs"]),
            percent(row["share_of_area"]),
            f"{row['median_procs']:g}",
            humanise_seconds(row["median_runtime"]),
            percent(row["serial"]),
        )
        for row in answers.grouping.to_polars().to_dicts()
    )
    columns = ("", "users", "of all jobs", "of processor time", "median width", "median run time",
               "on one processor")  # fmt: skip
    note = (
        "Groups found from what people submit, not from accounts or projects (after Song). "
        "The group with the most processor time first."
    )
    return Table("Users in groups alike", columns, rows, note)


def time_section(answers: Answers) -> Section:
    """Say when the load comes, and how long people wait."""
    blocks: list[Block] = []
    if not answers.observed:
        blocks.append(
            Paragraph(
                "The log doesn't say how long jobs waited; the queue below is the one that EASY "
                "backfilling would have had."
            )
        )
    blocks += _busy_hours(answers)
    found = _pictures(
        answers,
        {
            "daily": "When people work, and what they leave for the night.",
            "weekly": "Working days and weekends.",
        },
    )
    blocks += found
    if not found:
        why = answers.description.missing.get("cycles", "the log has no dates")
        blocks.append(Paragraph(f"Hours and weekdays aren't known: {why}."))
    blocks.append(
        Picture("queue", answers.history.plot("queue"), meaning="How long the queue was, in jobs.")
    )
    return Section("time", "When it comes", tuple(blocks))


def _busy_hours(answers: Answers) -> list[Block]:
    cycles = answers.description.cycles
    if cycles is None:
        return []
    facts = []
    for label, slots in (("hour", cycles.hours), ("day", cycles.weekdays)):
        busy, calm = (pick(slots, key=lambda slot: slot.jobs) for pick in (max, min))
        facts.append(
            Fact(
                f"Busiest {label}",
                busy.label,
                f"{busy.jobs:,} jobs were submitted then ({cycles.timezone} time), and "
                f"{calm.jobs:,} at the calmest, {calm.label}.",
            )
        )
    return [Facts(tuple(facts))]


def _pictures(answers: Answers, meanings: dict[str, str]) -> list[Picture]:
    """Draw those figures of the description that this log can give."""
    found = []
    for kind, meaning in meanings.items():
        try:
            figure = answers.description.plot(kind)
        except TraceError:
            continue
        found.append(Picture(kind, figure, meaning=meaning))
    return found

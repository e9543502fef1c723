"""What each policy and energy setting would give, with intervals."""

from __future__ import annotations

from collections.abc import Iterator

from onega.core.intervals import Interval
from onega.core.schedule import Schedule
from onega.core.units import humanise_seconds
from onega.figures.report import settings_figure
from onega.figures.schedule import compare_schedules
from onega.pages import Block, Fact, Facts, Paragraph, Picture, Section, Table
from onega.queueing.words import percent
from onega.report.answers import Answers
from onega.report.settings import SLOW, Settings

TITLE = "What other settings would give"


def settings_section(answers: Answers) -> Section:
    """Compare policies, then clocks."""
    found = answers.settings
    if found is None:
        why = answers.missing.get("settings", "unknown")
        return Section("settings", TITLE, (Paragraph(f"Not simulated: {why}."),))
    blocks: list[Block] = [
        Paragraph(
            f"The same jobs on the same {answers.cluster.procs:,} processors under other rules. "
            f"Every figure is of the log itself; the range behind it is that of "
            f"{found.replicated}: it says how far the figure depends on the jobs that happened "
            "to come."
        ),
        Facts(tuple(policy_facts(found))),
        _policy_table(answers, found),
        Picture(
            "policies",
            settings_figure(
                {name: found.interval("mean(wait)", name) for name in found.policies},
                found.replicated,
            ),
            meaning="Points are means over them, lines their range.",
        ),
        Picture(
            "waits",
            compare_schedules(_histories(answers, found)),
            meaning="Read: the share of jobs that wait no longer than so long.",
        ),
    ]
    if len(found.clocks) > 1:
        blocks += list(_clock_blocks(answers, found))
    return Section("settings", TITLE, tuple(blocks))


def policy_facts(found: Settings) -> Iterator[Fact]:
    """Say which policy is best, and what backfilling brings."""
    best = found.best
    wait = found.interval("mean(wait)", best)
    yield Fact(
        "Shortest mean wait",
        best,
        f"{humanise_seconds(found.value('mean(wait)', best))} on this log; "
        f"{_range(wait)} over replicates of it.",
    )
    base = found.clocks[0]
    if base != best:
        apart = found.difference("mean(wait)", best, base)
        sure = "" if 0.0 not in apart else " That may be chance: the range includes 0."
        yield Fact(
            f"Against {base}",
            f"{humanise_seconds(-apart.mean)} less",
            f"mean wait, on average over replicates ({humanise_seconds(-apart.high)} to "
            f"{humanise_seconds(-apart.low)}).{sure}",
        )


def _policy_table(answers: Answers, found: Settings) -> Table:
    rows = []
    if answers.observed:
        rows.append(_observed_row(answers))
    for name in found.policies:
        cells = [name]
        for measure in ("mean(wait)", "p95(wait)", "mean(bounded_slowdown)"):
            value, spread = found.value(measure, name), found.interval(measure, name)
            cells.append(_with_range(measure, value, spread))
        cells.append(percent(found.value("utilisation", name)))
        rows.append(tuple(cells))
    columns = ("policy", "mean wait", "95 % wait at most", "bounded slowdown", "busy")
    note = (
        "Bounded slowdown: time from submission to completion over run time, of at least 10 s, "
        "averaged over jobs; 1 is perfect. Replicates break up crowds that last for several weeks: "
        "a range may lie below the log's own figure. The simulated machine knows nothing of "
        "priorities, reservations and nodes that were down; the next section says what that means."
    )
    return Table("Policies", columns, tuple(rows), note)


def _observed_row(answers: Answers) -> tuple[str, ...]:
    summary = answers.history.summary()
    return (
        "observed",
        humanise_seconds(summary["mean_wait"]),
        humanise_seconds(summary["p95_wait"]),
        _ratio(summary["mean_bounded_slowdown"]),
        percent(summary["utilisation"]),
    )


def _with_range(measure: str, value: float, spread: Interval) -> str:
    if measure == "mean(bounded_slowdown)":
        return f"{_ratio(value)} ({_ratio(spread.low)} to {_ratio(spread.high)})"
    return f"{humanise_seconds(value)} ({_range(spread)})"


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _range(spread: Interval) -> str:
    return f"{humanise_seconds(spread.low)} to {humanise_seconds(spread.high)}"


def _histories(answers: Answers, found: Settings) -> dict[str, Schedule]:
    seen = {"observed": answers.history} if answers.observed else {}
    return {**seen, **{name: found.on_log[name] for name in found.policies}}


def _clock_blocks(answers: Answers, found: Settings) -> Iterator[Block]:
    yield Paragraph(_clock_words(answers, found))
    yield Facts(tuple(clock_facts(found)))
    yield _clock_table(found)
    last = found.clocks[1]
    yield Picture(
        "power",
        found.on_log[last].plot("power"),
        meaning=f"Power of the machine over time: {last}.",
    )


def clock_facts(found: Settings) -> Iterator[Fact]:
    """Say what slower clocks save and cost."""
    for name in found.clocks[1:]:
        saved, later = found.saved(name), found.later(name)
        yield Fact(
            f"Energy saved: {name.split(', ', 1)[-1]}",
            percent(saved.mean),
            f"({100 * saved.low:.0f} to {100 * saved.high:.0f} % over replicates); a job is done "
            f"{humanise_seconds(later.mean)} later on average ({_range(later)}).",
        )


def _clock_words(answers: Answers, found: Settings) -> str:
    source = (
        "The watts are assumed (250 W busy and 90 W idle at the full clock, 150 W and 80 W at the "
        "slow one, per processor), good for comparing settings with each other, not for a bill; "
        "give your own in a `--cluster` file."
        if found.assumed_power
        else "The watts are those of the `--cluster` file."
    )
    if answers.cluster.rates.kind != "none":
        return f"Energy: the machine's own rate control against the full clock. {source}"
    low, high = (humanise_seconds(one) for one in found.thresholds)
    return (
        f"Energy: what a clock at {SLOW:.0%} of the full one would save. “At low load” means: the "
        f"clock goes down when the remaining run time of all jobs in the system together sinks to "
        f"{low}, and up again when it passes {high} (half of its mean, and its mean). {source}"
    )


def _clock_table(found: Settings) -> Table:
    rows = []
    for name in found.clocks:
        summary = found.on_log[name].summary()
        saved = "–" if name == found.clocks[0] else _share_range(found.saved(name))
        rows.append(
            (
                f"{name}, full clock" if name == found.clocks[0] else name,
                f"{summary['energy'] / 3.6e9:,.1f} MWh",
                f"{summary['mean_power'] / 1000:,.1f} kW",
                saved,
                humanise_seconds(summary["mean_wait"]),
                humanise_seconds(summary["mean_response"]),
            )
        )
    columns = ("setting", "energy", "mean power", "saved", "mean wait", "mean wait + run")
    return Table("Clocks", columns, tuple(rows))


def _share_range(saved: Interval) -> str:
    return f"{percent(saved.mean)} ({100 * saved.low:.0f}–{100 * saved.high:.0f})"

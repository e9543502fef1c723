"""What each policy and energy setting would give, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onega.core.intervals import Interval
from onega.core.policy import Policy
from onega.core.schedule.schedule import Schedule
from onega.core.units import humanise_energy, humanise_power, humanise_seconds, overfull
from onega.figures.report import settings_figure
from onega.figures.schedule import compare_schedules
from onega.pages import Block, Fact, Facts, Notes, Paragraph, Picture, Section, Table
from onega.queueing.sentences import percent
from onega.report.answers import Answers
from onega.report.machine import PARTS, as_told, described_parts, uses_weights
from onega.report.sections.gain import against_observed, policy_facts
from onega.report.settings import BY_WEIGHTS, SLOW, Settings

TITLE = "What other settings would give"


def settings_section(answers: Answers) -> Section:
    """Compare policies, then clocks."""
    found = answers.settings
    if found is None:
        why = answers.missing.get("settings", "unknown")
        return Section("settings", TITLE, (Paragraph(f"Not simulated: {why}."),))
    blocks: list[Block] = [
        Paragraph(_baseline_words(answers, found)),
        *_machine_notes(answers, found),
        Facts(tuple(policy_facts(answers, found))),
        _log_table(answers, found),
        _replicates_table(found),
        Notes(tuple(f"`{name}`: {_words(name)}." for name in found.policies)),
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


def _words(name: str) -> str:
    return Policy.parse(name).words


def _machine_notes(answers: Answers, found: Settings) -> Iterator[Notes]:
    """Say what of the machine's description is simulated, and what of it isn't used."""
    parts = described_parts(answers.cluster)
    if not parts:
        return
    weighed = answers.cluster.queues or answers.cluster.multifactor
    weightless = bool(weighed) and not uses_weights(found.policies)
    used = [one for one in parts if not (weightless and one == PARTS["multifactor"])]
    lines = []
    if used:
        lines.append(f"Simulated on the machine as described, with {_listed(used)}.")
    if weightless:
        lines.append(
            "None of these rules orders jobs by priority: multifactor weights and the factors of "
            f"queues aren't used; `{BY_WEIGHTS}` among --policies would use them."
        )
    if as_told(answers.cluster, answers.log) != answers.cluster:
        lines.append(
            "The log doesn't say which users its jobs are of, so that fair share and limits per "
            "user aren't simulated."
        )
    if found.lost:
        lines.append(
            f"Samples of a model don't tell their jobs' {_listed(found.lost)}: what "
            "the machine has for those counts on this log only, not over the samples; jobs of "
            "samples that don't fit the machine are left out of them."
        )
    yield Notes(tuple(lines))


def _listed(words: Sequence[str]) -> str:
    """Join words by commas, the last one by "and"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _baseline_words(answers: Answers, found: Settings) -> str:
    """Say what is compared with what, and why not with what was observed."""
    said = (
        f"The same jobs on the same {answers.cluster.procs:,} processors under other rules. "
        f"Changes are against the simulation of `{found.present}` ({_words(found.present)}), which "
        f"stands for the present rule, {answers.present.why}"
    )
    times = against_observed(answers)
    if times is None:
        return f"{said}; the log doesn't say how long jobs really waited."
    return (
        f"{said}: its mean wait is {times:.2g} times the observed one, so that a difference "
        "between a simulation and what was observed is mostly the simulator's, and none is "
        "counted as a gain."
    )


def _log_table(answers: Answers, found: Settings) -> Table:
    rows = []
    if answers.observed:
        rows.append(_observed_row(answers))
    for name in found.policies:
        cells = [_marked(found, name)]
        cells += [humanise_seconds(found.value(one, name)) for one in ("mean(wait)", "p95(wait)")]
        cells.append(_ratio(found.value("mean(bounded_slowdown)", name)))
        cells.append(percent(found.machine(name)["utilisation"]))
        rows.append(tuple(cells))
    columns = ("rule", "mean wait", "one in 20 waits more than", "bounded slowdown", "busy")
    note = (
        "Bounded slowdown: time from submission to completion over run time, of at least 10 s, "
        "averaged over jobs; 1 is perfect. All figures are of this log's jobs, none is a mean over "
        "resamples."
    )
    return Table("Rules, on this log", columns, tuple(rows), note)


def _replicates_table(found: Settings) -> Table:
    rows = []
    for name in found.policies:
        wait = found.interval("mean(wait)", name)
        cells = [_marked(found, name), humanise_seconds(wait.mean), _range(wait)]
        if name == found.present:
            cells += ["–", "–"]
        else:
            gain = found.shorter(name)
            cells += [f"{_signed(-gain.mean)}", f"{_signed(-gain.high)} to {_signed(-gain.low)}"]
        rows.append(tuple(cells))
    columns = ("rule", "mean wait", "its range", f"change from {found.present}", "its range")
    note = (
        "All figures are of the replicates, none is of the log itself: they say how far an answer "
        "depends on the jobs that happened to come. Resampled weeks break up crowds that last for "
        "several weeks, so that these waits may be shorter than the log's. A change whose range "
        f"includes 0 may be chance.{found.why_replicated}"
    )
    return Table(f"Rules, over {found.replicated}", columns, tuple(rows), note)


def _marked(found: Settings, name: str) -> str:
    return f"{name} (present)" if name == found.present else name


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−' if seconds < 0 else ''}{humanise_seconds(abs(seconds))}"


def _observed_row(answers: Answers) -> tuple[str, ...]:
    summary = answers.measured
    busy = summary["window_utilisation"]
    return (
        "observed",
        humanise_seconds(summary["mean_wait"]),
        humanise_seconds(summary["p95_wait"]),
        _ratio(summary["mean_bounded_slowdown"]),
        percent(busy) + overfull(busy),
    )


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _range(spread: Interval) -> str:
    return f"{humanise_seconds(spread.low)} to {humanise_seconds(spread.high)}".replace("-", "−")


def _histories(answers: Answers, found: Settings) -> dict[str, Schedule]:
    seen = {"observed": answers.history} if answers.observed else {}
    return {**seen, **{name: found.on_log[name] for name in found.policies}}


def _clock_blocks(answers: Answers, found: Settings) -> Iterator[Block]:
    yield Paragraph(_clock_words(answers, found))
    yield Facts(tuple(clock_facts(found)))
    yield from _clock_tables(found)
    last = found.clocks[1]
    yield Picture(
        "power",
        found.on_log[last].plot("power"),
        meaning=f"Power of the machine over time: {last}.",
    )


def clock_facts(found: Settings) -> Iterator[Fact]:
    """Say what slower clocks save and cost."""
    assumed = " The watts are assumed." if found.assumed_power else ""
    for name in found.clocks[1:]:
        saved, later = found.saved(name), found.later(name)
        low, high = _two_shares(saved)
        yield Fact(
            f"Energy saved: {name.split(', ', 1)[-1]}",
            percent(saved.mean),
            f"on average over {found.replicated} ({low} to {high}); a job is done "
            f"{humanise_seconds(later.mean)} later ({_range(later)}).{assumed}",
        )


def _clock_words(answers: Answers, found: Settings) -> str:
    source = (
        f"The watts are {found.power_words}. They are good for comparing settings with each other, "
        "not for a bill."
        if found.assumed_power
        else f"The watts are {found.power_words or 'those of the machine as described'}."
    )
    if answers.cluster.rates.kind != "none":
        return f"Energy: the machine's own rate control against the full clock. {source}"
    low, high = (humanise_seconds(one) for one in found.thresholds)
    return (
        f"Energy: what a clock at {percent(SLOW)} of the full one would save. “At low load” means: "
        f"the clock goes down when the remaining run time of all jobs in the system together sinks "
        f"to {low}, and up again when it passes {high} (half of its mean, and its mean). {source}"
    )


def _clock_tables(found: Settings) -> Iterator[Table]:
    """Make a table of clocks on the log itself, and one over the replicates."""
    rows = []
    full = found.machine(found.present)
    for name in found.clocks:
        summary = found.on_log[name].summary() | found.machine(name)
        first = name == found.present
        same_work = full["effective_load"] / summary["effective_load"]
        rows.append(
            (
                f"{name}, full clock" if first else name,
                humanise_energy(summary["energy"] * same_work),
                "–" if first else percent(found.saved_on_log(name)),
                humanise_power(summary["mean_power"]),
                humanise_seconds(summary["mean_wait"]),
                humanise_seconds(summary["mean_response"]),
            )
        )
    columns = (
        "setting",
        "energy for the same work",
        "saved",
        "mean power",
        "mean wait",
        "mean wait + run",
    )
    note = (
        "Energy and mean power are over the log's window, not its ends. Energy is for the work "
        "that the full clock does there, as a slower clock puts work off beyond the window's end."
    )
    yield Table("Clocks, on this log", columns, tuple(rows), note)
    changes = []
    for name in found.clocks[1:]:
        saved, later = found.saved(name), found.later(name)
        cells = (percent(saved.mean), " to ".join(_two_shares(saved)))
        changes.append((name, *cells, humanise_seconds(later.mean), _range(later)))
    heads = ("setting", "saved", "its range", "jobs done later by", "its range")
    yield Table(f"Clocks, over {found.replicated}", heads, tuple(changes))


def _two_shares(spread: Interval) -> tuple[str, str]:
    """Write both ends of a range of shares, to the digit that tells them apart."""
    digits = 0 if spread.high - spread.low > 0.03 else 1
    low, high = (f"{100 * end:z.{digits}f}".replace("-", "−") for end in (spread.low, spread.high))
    return low, f"{high} %"

"""How stable and how full the machine is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onega.core.units import humanise_seconds, overfull
from onega.pages import Block, Fact, Facts, Notes, Paragraph, Picture, Section, Table
from onega.queueing.sentences import percent, verdict_sentence
from onega.report.answers import Answers
from onega.report.machine import described_parts

if TYPE_CHECKING:
    from onega.queueing.stability import Stability

NAMES = {"fcfs": "First come, first served", "easy": "EASY backfilling"}


def capacity_section(answers: Answers) -> Section:
    """Say whether the machine keeps up, how much of it can be used, and how large it has to be."""
    if answers.stability is None:
        why = answers.missing.get("stability", "unknown")
        return Section("capacity", "How stable and how full", (Paragraph(f"Not known: {why}."),))
    words = (
        "A job that needs many processors at once leaves some idle while it waits for them, so "
        "a machine can be too small although it is never full. The queue stays finite if what "
        "is asked for is less than what can be used."
    )
    if described_parts(answers.cluster):
        words += (
            f" This section takes the machine as {answers.cluster.procs:,} equal processors; left "
            f"out of it: {', '.join(described_parts(answers.cluster))}."
        )
    blocks: list[Block] = [
        Paragraph(words),
        Facts(tuple(_facts(answers))),
    ]
    if answers.saturation:
        blocks.append(_usable_table(answers))
    blocks.append(Notes(tuple(_sentences(answers))))
    blocks.append(
        Picture(
            "usable",
            answers.stability.plot("utilisation"),
            meaning="The larger a machine against its jobs, the more of it can be used. Where the "
            "line of what is asked for lies above, the queue would grow without end.",
        )
    )
    if answers.stability.verdict.basis == "formula" and answers.stability.rho is not None:
        blocks.append(
            Picture(
                "rho",
                answers.stability.plot("rho"),
                meaning="Left of the dotted line the queue would grow without end under first "
                "come, first served, by the formula, whose assumptions these jobs pass.",
            )
        )
    return Section("capacity", "How stable and how full", tuple(blocks))


def keeps_up_fact(found: Stability) -> Fact:
    """Say first whether the machine keeps up, and why."""
    answer, _, reason = verdict_sentence(found, brief=True).partition(": ")
    label = "Does first come, first served keep up?"
    return Fact(label, answer, f"{reason[:1].upper()}{reason[1:]}{_once_filled(found)}")


def _once_filled(found: Stability) -> str:
    """Say over what the share asked for is taken, if the filled machine was asked for another."""
    load, peak = found.offered_load, found.window_load
    told = found.verdict.basis == "window"
    if told or load is None or peak is None or percent(load) == percent(peak):
        return ""
    return f" That is over the whole log; from when the machine had filled it is {percent(peak)}."


def _facts(answers: Answers) -> Iterator[Fact]:
    found = answers.stability
    assert found is not None
    if found.offered_load is not None:
        yield keeps_up_fact(found)
    if found.min_procs is not None:
        yield Fact(
            "Fewest processors",
            f"{found.min_procs:,}",
            "keep the queue finite under first come, first served; the machine has "
            f"{found.procs:,}.",
        )
    if found.offered_load is not None and "easy" in answers.saturation:
        yield _room_left(found, answers.saturation["easy"].utilisation_at_limit)


def _room_left(found: Stability, limit: float) -> Fact:
    load = found.peak_load
    assert load is not None
    asked, usable = f"{100 * load:.1f} %", f"{100 * limit:.1f} %"
    over = "over the whole log" if load == found.offered_load else "once the machine had filled"
    if load >= limit:
        meaning = f"EASY can use {usable} of the machine, and {asked} is asked for {over}."
        return Fact("Room left under EASY", "None", meaning)
    return Fact(
        "Room left under EASY",
        percent(limit / load - 1),
        f"more work of the same kind could come before the queue never empties: EASY can use "
        f"{usable} of the machine, {asked} is asked for {over}.",
    )


def _usable_table(answers: Answers) -> Table:
    assert answers.stability is not None
    found = answers.stability
    rows = [
        (f"{NAMES[policy]}, measured", _interval(one), _every(one.max_arrival_rate))
        for policy, one in answers.saturation.items()
    ]
    if found.formula_holds:
        share = percent(found.formula_utilisation)
        rows.insert(0, ("First come, first served, by the formula", share,
                        _every(found.max_arrival_rate)))  # fmt: skip
    note = (
        "Measured: the log's own jobs, in their own order, in a queue that never empties; between "
        "the bounds in brackets for certain, for EASY with 95 % confidence. Nothing can use more "
        "than the whole machine: bounds end there."
    )
    columns = ("", "of the machine can be used", "keeps up with a job every")
    return Table("How much of the machine can be used", columns, tuple(rows), note)


def _interval(one: Stability) -> str:
    usable = one.usable
    if usable is None or usable.low == usable.high:
        return f"{100 * one.utilisation_at_limit:.1f} %"
    low, high = 100 * usable.low, 100 * usable.high
    return f"{100 * usable.share:.1f} % ({low:.1f} to {high:.1f} %)"


def _every(rate: float | None) -> str:
    return "–" if rate is None else humanise_seconds(1 / rate)


def _sentences(answers: Answers) -> Iterator[str]:
    assert answers.stability is not None
    said = answers.stability.sentences()
    differs = [one.strip().removeprefix("• ") for one in said if one.startswith("  •")]
    for sentence in (one for one in said if not one.startswith("  •")):
        yield f"{sentence} {' '.join(differs)}" if sentence.endswith(":") else sentence
    how = "was" if answers.observed else "would have been, under EASY,"
    share = answers.measured["window_utilisation"]
    yield f"The machine {how} {percent(share)} busy{overfull(share)}, {answers.over}."

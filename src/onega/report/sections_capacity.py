"""How stable and how full the machine is."""

from __future__ import annotations

from collections.abc import Iterator

from onega.core.units import humanise_seconds
from onega.pages import Block, Fact, Facts, Notes, Paragraph, Picture, Section, Table
from onega.queueing.words import percent
from onega.report.answers import PRECISION, Answers

NAMES = {"fcfs": "First come, first served", "easy": "EASY backfilling"}


def capacity_section(answers: Answers) -> Section:
    """Say whether the machine keeps up, how much of it can be used, and how large it has to be."""
    if answers.stability is None:
        why = answers.missing.get("stability", "unknown")
        return Section("capacity", "How stable and how full", (Paragraph(f"Not known: {why}."),))
    blocks: list[Block] = [
        Paragraph(
            "A job that needs many processors at once leaves some idle while it waits for them, so "
            "a machine can be too small although it is never full. Queueing theory says where the "
            "limit is (seed 000): the queue stays finite if ρ is below 1."
        ),
        Facts(tuple(_facts(answers))),
    ]
    if answers.saturation:
        blocks.append(_usable_table(answers))
    blocks.append(Notes(tuple(_sentences(answers))))
    blocks += [
        Picture(
            "rho",
            answers.stability.plot("rho"),
            meaning="Left of the dotted line the queue would grow without end under first come, "
            "first served.",
        ),
        Picture(
            "usable",
            answers.stability.plot("utilisation"),
            meaning="The larger a machine against its jobs, the more of it can be used.",
        ),
    ]
    return Section("capacity", "How stable and how full", tuple(blocks))


def _facts(answers: Answers) -> Iterator[Fact]:
    found = answers.stability
    assert found is not None
    load = answers.description.load
    if found.rho is not None:
        spread = ""
        if found.estimates is not None and found.estimates.rho_ci[0] == found.estimates.rho_ci[0]:
            low, high = found.estimates.rho_ci
            spread = f" With 95 % confidence it lies between {low:.2f} and {high:.2f}."
        yield Fact(
            "ρ, first come, first served",
            f"{found.rho:.2f}",
            ("Below 1: the queue stays finite." if found.stable else
             "Not below 1: the queue grows without end.") + spread,
        )  # fmt: skip
    if found.min_procs is not None:
        yield Fact(
            "Fewest processors",
            f"{found.min_procs:,}",
            f"keep this queue finite by the formula; the machine has {found.procs:,}.",
        )
    if load.offered_load is not None and "easy" in answers.saturation:
        limit = answers.saturation["easy"].utilisation_at_limit
        yield Fact(
            "Room left under EASY",
            percent(max(0.0, limit / load.offered_load - 1)),
            f"more work of the same kind could come before the queue never empties: EASY can use "
            f"{percent(limit)} of the machine, {percent(load.offered_load)} are asked for.",
        )


def _usable_table(answers: Answers) -> Table:
    assert answers.stability is not None
    rows = [
        (
            "First come, first served, by the formula",
            percent(answers.stability.utilisation_at_limit),
            _every(answers.stability.max_arrival_rate),
        )
    ]
    rows += [
        (f"{NAMES[policy]}, measured", percent(one.utilisation_at_limit),
         _every(one.max_arrival_rate))
        for policy, one in answers.saturation.items()
    ]  # fmt: skip
    note = (
        "Measured: the log's own jobs, drawn one after another into a queue that never empties, "
        f"to within {percent(PRECISION)}. The formula takes run times as independent of widths."
    )
    columns = ("", "of the machine can be used", "keeps up with a job every")
    return Table("How much of the machine can be used", columns, tuple(rows), note)


def _every(rate: float | None) -> str:
    return "–" if rate is None else humanise_seconds(1 / rate)


def _sentences(answers: Answers) -> Iterator[str]:
    assert answers.stability is not None
    for sentence in answers.stability.sentences():
        yield sentence.strip().removeprefix("• ")
    summary = answers.history.summary()
    how = "was" if answers.observed else "would have been, under EASY,"
    yield (
        f"The machine {how} {percent(summary['utilisation'])} busy from the first submission to "
        "the last completion."
    )

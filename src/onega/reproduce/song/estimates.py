"""Chapter 4 of Song (2006): estimated run times and a model of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from onega.core.rng import child, generator
from onega.core.types import Floats
from onega.core.units import clock_words
from onega.core.workload.distances import ks_distance
from onega.models import Alignment, TsafrirEstimates
from onega.models.estimates.estimates import (
    BetaEstimates,
    EstimateModel,
    GammaEstimates,
    beta_shapes,
)
from onega.reproduce.result import Chapter, PrintedFigure, PrintedTable, Value
from onega.reproduce.song import printed
from onega.reproduce.song.logs import SongLog, drawn_for, printed_table
from onega.reproduce.song.notes import notes_for

BOUND: Final = 60 * 3600.0
"""The thesis's upper bound of estimates, seconds."""

HOUR: Final = 3600.0
BETA: Final = ("KTH", "SP2", "CTC")


class Pairs(NamedTuple):
    """Run times, estimates and widths of the jobs that have all three."""

    runtime: Floats
    estimate: Floats
    procs: Floats


def pairs_of(log: SongLog) -> Pairs | None:
    """Return a log's pairs; None if too few jobs have an estimate for a model."""
    known = log.jobs.table.filter(pl.col("estimate") > 0)
    if known.height < 100:
        return None
    names = ("runtime", "estimate", "procs")
    return Pairs(*(known[name].cast(pl.Float64).to_numpy() for name in names))


def estimates_chapter(logs: tuple[SongLog, ...], *, replicates: int, seed: int) -> Chapter:
    """Tables 4.1–4.9 and Figures 4.1–4.6, as far as the logs have estimates."""
    found = {log.name: pairs for log in logs if (pairs := pairs_of(log)) is not None}
    having = tuple(log for log in logs if log.name in found)
    items: list[PrintedTable | PrintedFigure] = [completeness(logs)]
    if having:
        items += [exceeding(having, found)]
        items += [one for one in (aligned_together(found),) if one is not None]
        items += [aligned(log) for log in having]
        items += [alignment_rule(), longest(having, found)]
        models = {log.name: fit_model(log, found[log.name]) for log in having}
        items.append(drawn_estimates(having, found, models, (replicates, seed)))
        items += [one for one in (trained(having, found, (replicates, seed)),) if one is not None]
        items += _figures(having, found, models, seed)
    return Chapter("Estimated run times", tuple(items))


def fit_model(log: SongLog, pairs: Pairs) -> BetaEstimates | GammaEstimates:
    """Fit Beta laws, or Gamma laws where accuracies go far beyond 1 (LANL)."""
    far_over = float(np.mean(pairs.runtime / pairs.estimate > 1.1))
    if log.name == "LANL" or (not log.known and far_over > 0.05):
        return GammaEstimates.fit(log.jobs)
    return BetaEstimates.fit(log.jobs, bound=BOUND if log.known else None)


def completeness(logs: Sequence[SongLog]) -> PrintedTable:
    """Table 4.1: which logs have estimates."""
    rows = []
    for log in logs:
        section = log.description.estimates
        known = 0.0 if section is None else section.known
        words = "no" if known == 0 else "yes" if known > 0.99 else "partially"
        beside = printed.HAS_ESTIMATES.get(log.name)
        rows.append((log.name, (Value(words, beside), Value(100 * known, digits=1))))
    columns = ("log", "estimates", "jobs with one, %")
    return printed_table("Table 4.1", "which logs have estimates", columns, rows, logs)


def exceeding(logs: Sequence[SongLog], found: dict[str, Pairs]) -> PrintedTable:
    """Table 4.2: jobs that outlive their estimate."""
    rows = []
    for log in logs:
        pairs = found[log.name]
        accuracy, area = pairs.runtime / pairs.estimate, pairs.runtime * pairs.procs
        beside = printed.EXCEEDING.get(log.name, (None,) * 4)
        values = []
        for place, limit in ((0, 1.0), (2, 1.1)):
            over = accuracy > limit
            shares = (over.mean(), area[over].sum() / area.sum())
            values += [Value(100 * float(share), beside[place + k], 1)
                       for k, share in enumerate(shares)]  # fmt: skip
        rows.append((log.name, tuple(values)))
    columns = ("log", "> 1: jobs, %", "> 1: area, %", "> 1.1: jobs, %", "> 1.1: area, %")
    return printed_table("Table 4.2", "jobs that outlive their estimate", columns, rows, logs)


def aligned_together(found: dict[str, Pairs]) -> PrintedTable | None:
    """Table 4.3: round estimates in KTH, SP2 and CTC together; needs all three."""
    if not {"KTH", "SP2", "CTC"} <= set(found):
        return None
    together = np.concatenate([found[name].estimate for name in BETA])
    rows = tuple(
        (clock_words(seconds), (Value(100 * float(np.mean(together == seconds)), share, 1),))
        for seconds, share in printed.ALIGNED_TOGETHER.items()
    )
    columns = ("estimate", "share of jobs, %")
    return PrintedTable("Table 4.3", "round estimates of KTH, SP2 and CTC", columns, rows)


def aligned(log: SongLog) -> PrintedTable:
    """Tables 4.4 and 4.5: the most frequent estimates of one log."""
    section = log.description.estimates
    assert section is not None
    beside = printed.ALIGNED.get(log.name, {})
    ours = {round(row.estimate): 100 * row.share for row in section.frequent}
    wanted = sorted(beside) if beside else sorted(ours)
    rows = [(clock_words(s), (Value(ours.get(s), beside.get(s), 1),)) for s in wanted]
    total = Value(100 * section.frequent_share, printed.ALIGNED_TOTAL.get(log.name), 1)
    rows.append(("the twenty most frequent together", (total,)))
    label = f"Table {printed.ALIGNED_TABLE.get(log.name, '4.4')}"
    notes = notes_for(label, (log.name,))
    columns = ("estimate", "share of jobs, %")
    title = f"round estimates of {log.name}"
    return PrintedTable(f"{label}, {log.name}", title, columns, tuple(rows), notes)


def alignment_rule() -> PrintedTable:
    """Table 4.6: to what multiples drawn estimates are moved; the model's own parameters."""
    rule = Alignment()
    ours = {int(a): int(b) // 60 for a, b in zip(rule.begins, rule.units, strict=True)}
    rows = tuple(
        (f"from {clock_words(begin)}", (Value(ours.get(begin), minutes, 0),))
        for begin, minutes in printed.UNITS.items()
    )
    columns = ("estimate", "multiples of, minutes")
    return PrintedTable("Table 4.6", "alignment of drawn estimates", columns, rows)


def longest(logs: Sequence[SongLog], found: dict[str, Pairs]) -> PrintedTable:
    """Table 4.7: the longest estimate."""
    rows = [
        (
            log.name,
            (Value(float(found[log.name].estimate.max()) / HOUR, printed.LONGEST.get(log.name)),),
        )
        for log in logs
    ]
    return printed_table("Table 4.7", "the longest estimate", ("log", "hours"), rows, logs)


def score(model: EstimateModel, pairs: Pairs, replicates: int, seed: int) -> tuple[Floats, Floats]:
    """Draw estimates for a log's own run times: KS distance and d_SA (%) of every replicate."""
    ks, area = [], []
    for k in range(replicates):
        drawn = model.draw(pairs.runtime, generator(child(seed, k)))
        ks.append(ks_distance(pairs.estimate, drawn))
        area.append(100 * (pairs.procs @ drawn / (pairs.procs @ pairs.estimate) - 1))
    return np.array(ks), np.array(area)


def _scored(scores: tuple[Floats, Floats], ks: float | None, area: float | None) -> list[Value]:
    return [
        Value(
            float(values.mean()),
            beside,
            digits,
            float(values.std(ddof=1)) if values.size > 1 else None,
        )
        for values, beside, digits in zip(scores, (ks, area), (2, 1), strict=True)
    ]


def drawn_estimates(
    logs: Sequence[SongLog],
    found: dict[str, Pairs],
    models: dict[str, BetaEstimates | GammaEstimates],
    draws: tuple[int, int],
) -> PrintedTable:
    """Table 4.8 (LANL: §4.4.2): drawn estimates beside the log's, and Tsafrir's model."""
    rows = []
    for log in logs:
        pairs = found[log.name]
        beside = printed.ESTIMATES.get(log.name, (None, None))
        mine = _scored(score(models[log.name], pairs, *draws), *beside)
        other = _scored(score(TsafrirEstimates.fit(log.jobs), pairs, *draws), None, None)
        rows.append((f"{log.name} ({models[log.name].KIND})", (*mine, *other)))
    columns = ("log (law)", "KS", "d_SA, %", "KS, Tsafrir's", "d_SA, %, Tsafrir's")
    title = "estimates drawn for the log's own run times (LANL: §4.4.2)"
    return printed_table("Table 4.8", title, columns, rows, logs)


def trained(
    logs: Sequence[SongLog], found: dict[str, Pairs], draws: tuple[int, int]
) -> PrintedTable | None:
    """Table 4.9: trained on some logs, drawn for others; needs at least two of its three."""
    targets = tuple(name for name in printed.TARGETS if name in found)
    if len(targets) < 2:
        return None
    by_name = {log.name: log for log in logs}
    rows = []
    for names, (all_ks, all_area) in printed.TRAINED.items():
        if not set(names) <= set(targets):
            continue
        model = BetaEstimates.fit(*(by_name[name].jobs for name in names), bound=BOUND)
        values: list[Value] = []
        for target in targets:
            place = printed.TARGETS.index(target)
            scores = score(model, found[target], *draws)
            values += _scored(scores, all_ks[place], all_area[place])
        rows.append((", ".join(names), tuple(values)))
    columns = [f"{target}: {what}" for target in targets for what in ("KS", "d_SA, %")]
    title = "trained on some logs, drawn for others"
    made = printed_table("Table 4.9", title, ("trained on", *columns), rows, logs)
    errors = [abs(v.ours - v.printed) for _, values in rows for v in values[1::2]]  # type: ignore[operator]
    mean = f"The {len(errors)} values of d_SA are {np.mean(errors):.1f} points off on average."
    return replace(made, notes=(mean, *made.notes))


def _figures(
    logs: Sequence[SongLog],
    found: dict[str, Pairs],
    models: dict[str, BetaEstimates | GammaEstimates],
    seed: int,
) -> list[PrintedFigure]:
    from onega.figures import papers as draw

    items = []
    for log in drawn_for(logs, BETA):
        plot = partial(log.description.plot, "accuracy")
        items.append(PrintedFigure(f"Figure 4.1, {log.name}", "accuracy by run time", plot))
    for log in drawn_for(logs, ("KTH", "LANL")):
        pairs, model = found[log.name], models[log.name]
        drawn = model.draw(pairs.runtime, generator(child(seed, 0)))
        curves = {"the log": pairs.estimate, "the model": drawn}
        label = f"Figure 4.{5 if isinstance(model, BetaEstimates) else 6}, {log.name}"
        title = "estimates, drawn and aligned"
        items.append(PrintedFigure(label, title, partial(draw.time_cdfs, curves, title)))
        if not isinstance(model, BetaEstimates):
            continue
        accuracy = {name: pairs.runtime / one for name, one in curves.items()}
        where, p, q = beta_shapes(pairs.runtime, pairs.estimate)
        items += [
            PrintedFigure(
                f"Figure 4.2, {log.name}", "accuracies", partial(draw.accuracies, accuracy)
            ),
            PrintedFigure(
                f"Figure 4.3, {log.name}",
                "estimates before they are aligned",
                partial(draw.time_cdfs, unaligned(model, pairs, seed), "before alignment"),
            ),
            PrintedFigure(
                f"Figure 4.4, {log.name}",
                "shape of the Beta law by run time",
                partial(draw.beta_shapes, np.exp2(where), p, q, model.shapes),
            ),
        ]
    return sorted(items, key=lambda item: item.label)


def unaligned(model: BetaEstimates, pairs: Pairs, seed: int) -> dict[str, Floats]:
    """Draw estimates that are not moved to round values."""
    plain = replace(model, alignment=replace(model.alignment, probability=0.0))
    return {
        "the log": pairs.estimate,
        "the model": plain.draw(pairs.runtime, generator(child(seed, 0))),
    }

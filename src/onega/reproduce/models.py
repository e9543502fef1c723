"""The table over all models: how like the log a scheduler finds their samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from onega.comparison.compare_models import checked_names
from onega.comparison.model_table import (
    ITSELF,
    WAITS,
    ModelTable,
    judge_models,
    typical_factor,
)
from onega.core.errors import ModelError
from onega.core.files import write_text
from onega.core.rng import Rng
from onega.core.types import Progress
from onega.core.workload.workload import Workload
from onega.experiment.replicates.resampling import resample
from onega.experiment.workers.workers import Workers, run_all
from onega.models import MODELS
from onega.pages import write_document
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Reproduction, Value

if TYPE_CHECKING:
    from onega.comparison.samples import Family

WEEKS: Final = "weeks drawn anew"
"""Row of the week bootstrap: the log's own weeks, the floor for what fits no other year."""

FIGURES: Final = {
    "ks_procs": ("KS width", 3),
    "ks_runtime": ("KS run time", 3),
    "ks_gap": ("KS gap", 3),
    "rho1_procs": ("ρ₁ width", 2),
    "rho1_runtime": ("ρ₁ run time", 2),
    "utilisation_easy": ("utilisation", 3),
    "dispersion_hour": ("dispersion, hour", 1),
    "dispersion_day": ("day", 1),
    "dispersion_week": ("week", 1),
    "weekly_work_cv": ("CV of weekly work", 3),
    "night_runtime": ("night/day, run time", 2),
    "night_procs": ("width", 2),
    "weekend_runtime": ("weekend, run time", 2),
    "weekend_procs": ("width", 2),
    "p99_runtime": ("q99 run time, s", 0),
    "p99_work": ("q99 work, s", 0),
    "copied_seen": ("copied, seen half", 3),
    "copied_unseen": ("unseen half", 3),
}
"""Columns of each log's own table, and their digits."""

NOTES: Final = (
    "Mean of the samples' mean waits over the log's own, on the log's machine at the load that "
    "comes out; in brackets the 95 % interval of the mean (Student).",
    "Typical: 2^(mean over logs of |log₂ ratio|).",
)
NEARNESS: Final = {
    "dispersion": "dispersion",
    "weekly work": "CV of weekly work",
    "cycles of sizes": "night and weekend",
    "tails": "tails",
    "ks": "KS",
    "rho1": "ρ₁",
    "copied": "copied",
}
CSV: Final = "models.csv"


@dataclass(frozen=True, eq=False)
class WeekBootstrap:
    """The log's own weeks, drawn anew: `onega.resample` as if it were a model."""

    workload: Workload

    @classmethod
    def fit(cls, workload: Workload, *, rng: Rng = None) -> Self:
        """Keep the log."""
        return cls(workload)

    def sample(self, n: int, *, rng: Rng = None) -> Workload:
        """Draw as many weeks as the log has; ``n`` isn't looked at."""
        return resample(self.workload, "weeks", rng=rng)


def _log_name(source: str | None) -> str:
    """Return a file's name without its endings and the archive's version: ``KTH-SP2``."""
    file = (source or "the log").replace("\\", "/").rsplit("/", 1)[-1]
    return re.sub(r"(-\d{4}-\d[\d.]*)?(-cln)?(\.[a-z]\w*)*$", "", file) or file


def families_of(names: Sequence[str] | None = None) -> dict[str, Family]:
    """Return models by name, all by default, and the week bootstrap below them."""
    chosen = list(MODELS) if names is None else list(names)
    checked_names(chosen)
    return {**{name: MODELS[name] for name in chosen}, WEEKS: WeekBootstrap}


def reproduce_models(
    logs: Sequence[Workload],
    *,
    models: Sequence[str] | None = None,
    traces: Mapping[str, Sequence[Workload]] | None = None,
    replicates: int = 10,
    halves: bool = False,
    seed: int = 1,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> tuple[Reproduction, ModelTable]:
    """Judge models by logs: tables and figures, and all figures behind them.

    Parameters
    ----------
    logs
        Tables call them by their files.
    models
        Names of `onega.models.MODELS`; all by default.
    traces
        Samples of published generators, by name: further rows. They belong to one log.
    replicates
        Samples of each model.
    halves
        Also fit to the first half of each log, judge by the second.
    workers
        Where the samples are drawn and simulated; the result doesn't depend on it.
    """
    if traces and len(logs) != 1:
        raise ModelError(
            f"traces are samples of one log, got {len(logs)} logs: give the one that they model"
        )
    names = [_log_name(log.meta.source) for log in logs]
    if len(set(names)) < len(names):
        raise ModelError(f"two logs have one name, of {', '.join(names)}; rename a file")
    named = dict(zip(names, logs, strict=True))
    table = judge_models(
        named, families_of(models), given=traces, replicates=replicates, halves=halves, rng=seed,
        run=partial(run_all, workers=workers), progress=progress,
    )  # fmt: skip
    return _reproduction(table, replicates), table


def write_models(made: Reproduction, table: ModelTable, folder: Path) -> tuple[Path, ...]:
    """Write models.csv (every figure), models.md and models.html into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    page = made.document()
    return (
        write_text(folder / CSV, table.to_polars().write_csv()),
        write_document(page, folder / "models.md", "md"),
        write_document(page, folder / "models.html", "html"),
    )


def _reproduction(table: ModelTable, replicates: int) -> Reproduction:
    found = _by_key(table, halves=False)
    waits = (
        PrintedFigure("Figure 1", "waits of samples over the logs' own", table.plot),
        _waits(table, "Table 1", WAITS[0], "EASY's mean wait on samples over the log's own"),
        _waits(table, "Table 2", WAITS[1], "FCFS's mean wait on samples over the log's own"),
    )
    near = [_nearness(table)]
    near += [_of_log(found, table, log, 4 + k) for k, log in enumerate(table.whole)]
    chapters = [Chapter("Waits", waits), Chapter("What samples are like", tuple(near))]
    if table.halves:
        first = 4 + len(table.whole)
        words = "fitted to the first half, over the second half's own"
        halves = (
            _waits(table, f"Table {first}", WAITS[0], f"EASY's mean wait, {words}", halves=True),
            _waits(table, f"Table {first + 1}", WAITS[1], f"FCFS's, {words}", halves=True),
        )
        chapters.append(Chapter("From one half to the other", halves))
    return Reproduction(
        name="models",
        title="Models judged by their logs",
        logs=tuple(table.whole),
        chapters=tuple(chapters),
        absent=tuple(Absent(f"{one.model} on {one.workload}", one.why) for one in table.missing),
        provenance=table.provenance,
        about=f"{replicates} samples of each model, fitted to {', '.join(table.whole)}.",
    )


Found = dict[tuple[str, str, str], dict[str, float]]


def _by_key(table: ModelTable, *, halves: bool) -> Found:
    part = "halves" if halves else "whole"
    rows = table.to_polars().to_dicts()
    return {(r["log"], r["model"], r["measure"]): r for r in rows if r["part"] == part}


def _waits(
    table: ModelTable, label: str, measure: str, title: str, *, halves: bool = False
) -> PrintedTable:
    found = _by_key(table, halves=halves)
    logs = list(table.halves if halves else table.whole)
    columns: tuple[str, ...] = ("model", *logs, "typical")
    notes: tuple[str, ...] = NOTES
    rows = []
    for name, factor in table.typical(measure, halves=halves).items():
        here = [found.get((log, name, measure)) for log in logs]
        values = [*map(_ratio, here), Value(factor, digits=_digits(factor))]
        if halves:
            own = [found[log, ITSELF, measure]["mean"] for log in logs]
            known = [row["mean"] / one for row, one in zip(here, own, strict=True) if row]
            values.append(Value(typical_factor(known) if len(known) == len(logs) else None))
        rows.append((name, tuple(values)))
    if halves:
        columns += ("by its own half",)
        notes += (
            f"“{ITSELF}” is what a model knows at best: how far the two halves of the log differ. "
            "The last column is the typical factor over the first half's own waits.",
        )
    return PrintedTable(label, title, columns, tuple(rows), notes)


def _ratio(row: dict[str, float] | None) -> Value:
    if row is None:
        return Value(None)
    interval = (max(row["low"], 0.0), row["high"]) if row["replicates"] > 1 else None
    return Value(row["mean"], digits=_digits(row["mean"]), interval=interval)


def _digits(ratio: float) -> int:
    """Return how many digits of a ratio say something: three of large ones."""
    return 2 if ratio < 10 else int(ratio < 100)


def _nearness(table: ModelTable) -> PrintedTable:
    rows = [
        (str(row["model"]), tuple(Value(row[key], digits=3) for key in NEARNESS))
        for row in table.nearness().to_dicts()
    ]
    notes = (
        "Dispersion (hour, day, week), weekly work, night and weekend (run time, width) and tails "
        "(q99, q99.9 of run times, q99 of work): |mean of samples ÷ log − 1|. KS: of width, run "
        "time and gap. ρ₁: difference of the first autocorrelation of widths or run times. Copied: "
        "share of unique records of the half that was learnt, less that of the other half.",
    )
    columns = ("model", *NEARNESS.values())
    return PrintedTable("Table 3", "the worst log's error", columns, tuple(rows), notes)


def _of_log(found: Found, table: ModelTable, log: str, number: int) -> PrintedTable:
    comparison = table.whole[log]
    own = {m: row["log_value"] for (one, _, m), row in found.items() if one == log}
    rows = [("the log", tuple(Value(own.get(m), digits=d) for m, (_, d) in FIGURES.items()))]
    for name in comparison.models:
        cells = ((found.get((log, name, m)), d) for m, (_, d) in FIGURES.items())
        values = (Value(None if row is None else row["mean"], digits=d) for row, d in cells)
        rows.append((name, tuple(values)))
    columns = ("model", *(words for words, _ in FIGURES.values()))
    return PrintedTable(f"Table {number}", log, columns, tuple(rows))

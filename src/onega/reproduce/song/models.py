"""Tables 3.5–3.7 and Figure 3.5 of Song (2006): what the chains make of a log, and all models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from onega.comparison.compare_models import ModelComparison, compare_models
from onega.core.rng import child
from onega.core.types import Progress
from onega.models import MODELS
from onega.models.jobs.vlmc import prediction_scores
from onega.reproduce.result import Chapter, PrintedFigure, PrintedTable, Value
from onega.reproduce.song import printed
from onega.reproduce.song.logs import SongLog, drawn_for, printed_table
from onega.reproduce.song.notes import notes_for

MARKOV: Final = "markov"
COUNTED: Final = "markov, matrix=counted (the thesis's)"
INDEPENDENT: Final = "independent (the thesis's PDM)"
LUBLIN: Final = "lublin, fitted"

THESIS_MODELS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    COUNTED: ("markov", {"matrix": "counted"}),
    MARKOV: ("markov", {}),
    INDEPENDENT: ("independent", {}),
    LUBLIN: ("lublin", {}),
}
ALL_MODELS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    MARKOV: ("markov", {}),
    COUNTED: ("markov", {"matrix": "counted"}),
    "markov, within=observed": ("markov", {"within": "observed"}),
    "markov, coupling=runtime-from-width": ("markov", {"coupling": "runtime-from-width"}),
    "markov-pair, within=observed": ("markov-pair", {"within": "observed"}),
    "markov-pair": ("markov-pair", {}),
    INDEPENDENT: ("independent", {}),
    "vlmc": ("vlmc", {}),
    LUBLIN: ("lublin", {}),
    "jann": ("jann", {}),
    "downey": ("downey", {}),
    "feitelson96": ("feitelson96", {}),
    "cirne": ("cirne", {}),
    "neural": ("neural", {}),
    "svr": ("svr", {}),
}
"""Label → family and options of its `fit`."""


def models_chapter(
    logs: tuple[SongLog, ...],
    *,
    replicates: int,
    seed: int,
    every: bool = False,
    progress: Progress | None = None,
) -> Chapter:
    """Fit, draw ``replicates`` samples as long as the log, compare; ``every``: all models."""
    variants = ALL_MODELS if every else THESIS_MODELS
    found: dict[str, ModelComparison] = {}
    for place, log in enumerate(logs):

        def tell(share: float, before: int = place) -> None:
            if progress is not None:
                progress((before + share) / len(logs))

        found[log.name] = _compare(log, variants, replicates, seed, tell)
    drawn = {name: _by_model(result.rows) for name, result in found.items()}
    tables = [static(drawn, logs, replicates), correlation(drawn, logs), memory(drawn, logs)]
    items: list[PrintedTable | PrintedFigure] = [*tables]
    items += [
        PrintedFigure(
            f"Figure 3.5, {log.name}",
            "distributions, the log and the chains",
            partial(found[log.name].examples[MARKOV].plot, "cdf"),
        )
        for log in drawn_for(logs, ("KTH",))
    ]
    if every:
        items += [all_models(drawn[log.name], log, replicates) for log in logs]
        items.append(predictions(logs))
    return Chapter("Markov chains", tuple(items))


def _compare(
    log: SongLog,
    variants: Mapping[str, tuple[str, dict[str, Any]]],
    replicates: int,
    seed: int,
    progress: Progress,
) -> ModelComparison:
    fitted = {
        label: MODELS[kind].fit(log.jobs, rng=child(seed, 9), **options)
        for label, (kind, options) in variants.items()
    }
    return compare_models(log.jobs, fitted, replicates=replicates, rng=seed, progress=progress)


_Drawn = dict[str, pl.DataFrame]


def _by_model(rows: pl.DataFrame) -> _Drawn:
    return {str(key[0]): group for key, group in rows.group_by("model", maintain_order=True)}


def _mean(
    rows: pl.DataFrame, key: str, beside: float | None, digits: int = 2, scale: float = 1.0
) -> Value:
    values = scale * rows[key].to_numpy()
    spread = float(values.std(ddof=1)) if values.size > 1 else None
    return Value(float(values.mean()), beside, digits, spread)


CHAINS: Final = ((COUNTED, "counted"), (MARKOV, "inferred"))
"""The chain of the thesis, which the printed figures belong to, and the model's default."""


def static(drawn: dict[str, _Drawn], logs: Sequence[SongLog], replicates: int) -> PrintedTable:
    """Table 3.5: KS distances and the difference in area."""
    rows = []
    for log in logs:
        for chain, label in CHAINS:
            model = drawn[log.name][chain]
            beside = _beside(printed.STATIC, log, chain, 3)
            values = (
                _mean(model, "ks_procs", beside[0]),
                _mean(model, "ks_runtime", beside[1]),
                _mean(model, "d_sa", beside[2], 1, 100),
            )
            rows.append((f"{log.name}, {label}", values))
    title = f"the chains beside the log, mean ± standard deviation of {replicates} samples"
    columns = ("log, matrix", "KS width", "KS run time", "d_SA, %")
    return printed_table("Table 3.5", title, columns, rows, logs)


def correlation(drawn: dict[str, _Drawn], logs: Sequence[SongLog]) -> PrintedTable:
    """Table 3.6: correlation of width and run time."""
    rows = []
    for log in logs:
        for chain, label in CHAINS:
            mine, beside = drawn[log.name], _beside(printed.CORRELATION, log, chain, 3)
            values = (
                Value(float(mine[chain]["corr_real"][0]), beside[0]),
                _mean(mine[chain], "corr_synthetic", beside[1]),
                _mean(mine[LUBLIN], "corr_synthetic", beside[2]),
            )
            rows.append((f"{log.name}, {label}", values))
    columns = ("log, matrix", "the log", "markov", "lublin, fitted")
    return printed_table("Table 3.6", "correlation of width and run time", columns, rows, logs)


def memory(drawn: dict[str, _Drawn], logs: Sequence[SongLog]) -> PrintedTable:
    """Table 3.7: ρ₁ of widths and of run times."""
    rows = []
    for log in logs:
        for chain, label in CHAINS:
            mine, beside = drawn[log.name], _beside(printed.RHO1, log, chain, 6)
            values: list[Value] = []
            for place, key in ((0, "rho1_procs"), (3, "rho1_runtime")):
                values += [
                    Value(float(mine[chain][f"{key}_real"][0]), beside[place]),
                    _mean(mine[chain], f"{key}_synthetic", beside[place + 1]),
                    _mean(mine[INDEPENDENT], f"{key}_synthetic", beside[place + 2]),
                ]
            rows.append((f"{log.name}, {label}", tuple(values)))
    columns = ("log, matrix", "width: log", "width: markov", "width: independent",
               "run time: log", "run time: markov", "run time: independent")  # fmt: skip
    return printed_table("Table 3.7", "autocorrelation ρ₁", columns, rows, logs)


def _beside(
    table: Mapping[str, tuple[float | None, ...]], log: SongLog, chain: str, size: int
) -> tuple[float | None, ...]:
    """Return what is printed for a log, of the chain that it is printed of."""
    return table.get(log.name, (None,) * size) if chain == COUNTED else (None,) * size


def all_models(mine: _Drawn, log: SongLog, replicates: int) -> PrintedTable:
    """All families on one log: not in the thesis, in its measures."""
    keys = ("corr", "rho1_procs", "rho1_runtime", "same_procs")
    real = [Value(float(mine[MARKOV][f"{key}_real"][0])) for key in keys]
    rows = [("the log", (*(Value(None) for _ in range(4)), *real, Value(None)))]
    for label, rows_of in mine.items():
        values = [Value(float(rows_of[key].to_numpy().mean()), digits=3)
                  for key in ("ks_procs", "ks_runtime", "ks_gap")]  # fmt: skip
        area = 100 * rows_of["d_sa"].to_numpy()
        values.append(Value(float(area.mean()), digits=1))
        values += [Value(float(rows_of[f"{key}_synthetic"].to_numpy().mean())) for key in keys]
        values.append(Value(float(np.median(np.abs(area))), digits=1))
        rows.append((label, tuple(values)))
    columns = ("model", "KS width", "KS run time", "KS gap", "d_SA, %", "corr", "ρ₁ width",
               "ρ₁ run time", "equal neighbours", "median abs d_SA, %")  # fmt: skip
    title = f"all models on {log.name}, means over {replicates} samples"
    label = "Beside 3.5–3.7"
    return PrintedTable(
        f"{label}, {log.name}", title, columns, tuple(rows), notes_for(label, (log.name,))
    )


def predictions(logs: Sequence[SongLog]) -> PrintedTable:
    """Predict the class of the next job in the log's second half (§7.2's question)."""
    order = ("vlmc", "first_order", "same_as_last")
    rows = [
        (f"{log.name}, {attribute}", tuple(Value(100 * scores[key], digits=1) for key in order))
        for log in logs
        for attribute, scores in prediction_scores(log.jobs).items()
    ]
    columns = ("log and attribute", "vlmc", "first-order chain", "same as last")
    title = "the class of the next job, right predictions in the log's second half, %"
    return printed_table("Beside 7.2", title, columns, rows, logs)

"""``onega compare``: a log beside synthetic jobs, or beside several models' jobs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import FigurePage, emit, emit_table, progress, remark, say
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    argument,
    figures_option,
    flag,
    names_in,
    option,
)
from onega.core.errors import ModelError

if TYPE_CHECKING:
    from onega.comparison.compare import Comparison
    from onega.comparison.compare_models import ModelComparison
    from onega.core.workload.workload import Workload

_COLUMNS = {
    "ks_procs": "KS\nwidth",
    "ks_runtime": "KS\ntime",
    "ks_gap": "KS\ngap",
    "d_sa": "d_SA",
    "corr_synthetic": "corr",
    "rho1_procs_synthetic": "ρ₁\nwidth",
    "rho1_runtime_synthetic": "ρ₁\ntime",
    "same_procs_synthetic": "same\nwidth",
}
_RHYTHM = {
    "dispersion_hour_synthetic": "disp.\nhour",
    "dispersion_day_synthetic": "disp.\nday",
    "dispersion_week_synthetic": "disp.\nweek",
    "weekly_work_cv_synthetic": "CV of\nweeks",
    "night_runtime_synthetic": "night\ntime",
    "night_procs_synthetic": "night\nwidth",
    "weekend_runtime_synthetic": "weekend\ntime",
    "weekend_procs_synthetic": "weekend\nwidth",
    "p99_runtime_synthetic": "q99 of\ntime",
}
_MEASURED = {
    "wait_easy_synthetic": "EASY\nwait, s",
    "wait_easy_ratio": "over\nlog's",
    "wait_fcfs_synthetic": "FCFS\nwait, s",
    "wait_fcfs_ratio": "over\nlog's",
    "utilisation_easy_synthetic": "utili-\nsation",
    "privacy_repeated": "records\nback",
    "copied_excess": "copied\nexcess",
}
"""What --waits and --privacy add."""


def compare(
    *,
    real: TraceArgument,
    synthetic: Annotated[
        Path | None, argument("[SYNTHETIC]", "The jobs to compare with it.")
    ] = None,
    models: Annotated[
        str | None,
        option("--models", "A,B,…", "Fit these models and compare their jobs; 'all'."),
    ] = None,
    replicates: Annotated[int, option("--replicates", "N", "Samples of each model.", min=1)] = 20,
    jobs: Annotated[
        int | None,
        option("-n --jobs", "JOBS", "Jobs in a sample (the log's).", min=3),
    ] = None,
    seed: SeedOption = None,
    procs: ProcsOption = None,
    reading: ReadOptions,
    figures: Annotated[Path | None, figures_option("compare")] = None,
    waits: Annotated[
        bool, flag("--waits", "Also mean waits and utilisation, FCFS and EASY.")
    ] = False,
    privacy: Annotated[
        bool,
        flag("--privacy", "Also what of the log's unique records comes back."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare a log with synthetic jobs: laws, area, memory, bursts, weeks, cycles of sizes.

    --from, --map, --column and --timezone say how REAL is read.
    """
    if (synthetic is None) == (models is None):
        raise ModelError("give either a second log (SYNTHETIC) or --models A,B,…")
    log = reading.read(real, procs=procs)
    result: Comparison | ModelComparison
    if synthetic is not None:
        from onega.comparison.compare import compare as compare_two

        result = compare_two(
            log, ReadOptions().read(synthetic, procs=procs), waits=waits, privacy=privacy
        )
        screen = partial(_print_two, result, f"{real.name} beside {synthetic.name}")
    else:
        extra = {"waits": waits, "privacy": privacy}
        result = _compare_models(log, str(models), (replicates, jobs, seed), **extra)
        screen = partial(_print_models, log, result)
    page = FigurePage(figures, "compare", real.name, result)
    emit(result, lambda _: screen(), json=json, figures=page)


def _print_two(result: Comparison, title: str) -> None:
    from onega.comparison.compare_words import FIGURES

    say(*result.sentences(), style="bold")
    rows = [
        (key, real, made, f"{FIGURES[key].name}: {FIGURES[key].meaning}")
        for key, real, made in result.to_polars().rows()
    ]
    emit_table(title, rows, ("measure", "real", "synthetic", "what it is"))


def _compare_models(
    log: Workload, names: str, draws: tuple[int, int | None, int | None], **extra: bool
) -> ModelComparison:
    from onega.comparison.compare_models import compare_models
    from onega.models import MODELS

    chosen = list(MODELS) if names == "all" else names_in(names)
    replicates, jobs, seed = draws
    with progress("sampling", total=1.0) as done:
        return compare_models(
            log, chosen, replicates=replicates, jobs=jobs, rng=seed, progress=done, **extra
        )


def _print_models(log: Workload, result: ModelComparison) -> None:
    table = {(r["model"], r["measure"]): r for r in result.to_polars().to_dicts()}
    count = int(table[result.models[0], "d_sa"]["replicates"])
    samples = f"{count} sample{'s' * (count > 1)}"
    title = f"{log.meta.source or 'the log'}: mean ± half a 95 % interval over {samples}"
    for columns in (_COLUMNS, _RHYTHM, _MEASURED):
        known = {key: words for key, words in columns.items() if (result.models[0], key) in table}
        if known:
            emit_table(title, _rows(table, result.models, known), ("model", *known.values()))
        title = ""
    remark(f"seed: {result.seed}")


def _rows(
    table: dict[tuple[str, str], Any], models: tuple[str, ...], columns: dict[str, str]
) -> list[list[str]]:
    own = [key.replace("_synthetic", "_real") if "_synthetic" in key else "" for key in columns]
    rows = [["the log", *(_mean(table, models[0], key) for key in own)]]
    for name in models:
        rows.append([name, *(_mean(table, name, key) for key in columns)])
        if table[name, "d_sa"]["replicates"] > 1:
            rows.append(["  ±", *(_half(table, name, key) for key in columns)])
    return rows


def _mean(table: dict[tuple[str, str], Any], name: str, key: str) -> str:
    row = table.get((name, key))
    if row is None:
        return "–"
    return f"{row['mean']:+.1%}" if key == "d_sa" else f"{row['mean']:,.{_digits(key)}f}"


def _digits(key: str) -> int:
    """Three digits of distances and shares, two of correlations and ratios, one of dispersions."""
    if key.startswith(("ks_", "weekly_", "utilisation_", "privacy_", "copied_")):
        return 3
    if key.startswith(("p99", "wait_")) and not key.endswith("_ratio"):
        return 0
    return 1 if key.startswith("dispersion_") else 2


def _half(table: dict[tuple[str, str], Any], name: str, key: str) -> str:
    row = table.get((name, key))
    if row is None or key.startswith("copied_"):  # measured once, on one half of the log
        return ""
    half = row["high"] - row["mean"]
    return f"{half:.1%}" if key == "d_sa" else f"{half:,.{_digits(key)}f}"

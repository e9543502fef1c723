"""``onega sweep``: thousands of simulations over everything that ``simulate`` takes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import (
    FigurePage,
    emit,
    emit_table,
    remark,
    remark_report,
)
from onega.cli.options import JsonOption, argument, figures_option, flag, option
from onega.cli.scheduling.experiment_options import WorkerOptions
from onega.cli.scheduling.run_progress import runs_progress
from onega.core.errors import ExperimentError
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.experiment.sweep.prepare import Estimate, Prepared
    from onega.experiment.sweep.sweep import Sweep
    from onega.experiment.workers.workers import Workers

SMALL = 30
"""Runs that are printed one by one."""

MEASURES = ("mean_wait", "p95_wait", "mean_bounded_slowdown", "utilisation", "energy")
"""What is printed of them."""

SHOWN = 5
"""Problems that are named one by one."""


def sweep(
    spec: Annotated[
        Path | None,
        argument("SPEC.toml", "What is fixed, what varies (docs/sweeps.md)."),
    ] = None,
    *,
    out: Annotated[Path | None, option("--out -o", "DIR", "Where finished runs are kept.")] = None,
    dry_run: Annotated[
        bool, flag("--dry-run", "Say how many runs, and how long; write nothing.")
    ] = False,
    status: Annotated[Path | None, option("--status", "DIR", "Say how far a sweep is.")] = None,
    working: WorkerOptions,
    replace_spec: Annotated[
        bool,
        flag("--replace-spec", "Go on in DIR with a changed spec; keep common runs."),
    ] = False,
    table: Annotated[
        Path | None,
        option("--table", "FILE", "Write all runs to FILE.csv or .parquet."),
    ] = None,
    figures: Annotated[Path | None, figures_option("sweep")] = None,
    json: JsonOption = False,
) -> None:
    """Run many simulations: grids, lists and random designs over policy, machine, load, seed.

    Every finished run is kept in DIR at once. Whatever stops a sweep, the same command goes on.
    """
    if status is not None:
        if spec is not None or out is not None or dry_run:
            raise ExperimentError("--status DIR stands alone; it reads DIR and runs nothing")
        from onega.experiment.sweep.sweep import Sweep

        _finish(Sweep.load(status), table, figures, json=json)
        return
    if spec is None:
        raise ExperimentError("what is to be swept? give SPEC.toml, or --status DIR")
    if out is None and not dry_run:
        raise ExperimentError("where shall the runs be kept? give -o DIR, or --dry-run")
    workers = working.chosen()
    _check_table(table)
    plan = _prepared(spec)
    if dry_run:
        _emit_estimate(_estimate(plan, out), workers, json=json)
        return
    assert out is not None
    found = _run(plan, out, workers, replace_spec=replace_spec, silent=json)
    for problem in found.problems[:SHOWN]:
        remark(problem)
    if len(found.problems) > SHOWN:
        remark(f"and {len(found.problems) - SHOWN} more")
    _finish(found, table, figures, json=json)
    if found.problems:
        remark("the same command tries the missing runs again")
        raise typer.Exit(1)


def _prepared(spec: Path) -> Prepared:
    """Read the spec and what it names; say what was left out and what can't be run."""
    from onega.experiment.sweep.prepare import prepare

    plan = prepare(spec)
    for path, report in plan.reports.items():
        remark_report(report, path)
    if plan.impossible:
        many = "run" if len(plan.impossible) == 1 else "runs"
        remark(f"{len(plan.impossible)} {many} can't be made, e.g.: {plan.impossible[0]}")
    return plan


def _estimate(plan: Prepared, out: Path | None) -> Estimate:
    from onega.experiment.sweep.prepare import estimate
    from onega.experiment.sweep.store import stored_keys

    return estimate(plan, finished=() if out is None else stored_keys(out))


def _emit_estimate(found: Estimate, workers: Workers, *, json: bool) -> None:
    """Tell what a sweep would cost on these workers; on a Dask cluster, in core time."""
    from onega.experiment.workers.dask import Dask
    from onega.experiment.workers.workers import cores

    count = (
        None
        if isinstance(workers, Dask)
        else min(getattr(workers, "count", None) or cores(), cores())
    )
    seconds = None if count is None else found.core_seconds / count
    numbers = {
        "runs": found.runs,
        "missing": found.missing,
        "seconds_per_run": found.seconds_per_run,
        "core_seconds": found.core_seconds,
        "workers": str(workers),
        "seconds": seconds,
    }
    rows: list[tuple[str, Any]] = [("runs", found.runs), ("to be made", found.missing)]
    rows.append(("one run takes", f"{humanise_seconds(found.seconds_per_run)} (pilot runs)"))
    rows.append(("on one core", humanise_seconds(found.core_seconds)))
    if count != 1:
        share = "divide by its cores" if seconds is None else humanise_seconds(seconds)
        rows.append((f"on {workers}", share))
    title, heads = "Dry run: nothing was written", ("what", "how much")
    emit(numbers, lambda _: emit_table(title, rows, heads), json=json)


def _run(plan: Prepared, out: Path, workers: Workers, *, replace_spec: bool, silent: bool) -> Sweep:
    from onega.experiment.sweep.sweep import run_prepared

    with runs_progress("sweeping", silent=silent) as tell:
        return run_prepared(plan, out, workers=workers, replace_spec=replace_spec, on_run=tell)


def _finish(found: Sweep, table: Path | None, figures: Path | None, *, json: bool) -> None:
    """Tell how far the sweep is; write table and figures if asked for."""
    if table is not None:
        _write_table(found, table)
    page = FigurePage(figures, "sweep", repr(found)[1:-1], found)
    emit(found, partial(_screen, advise=table is None), json=json, figures=page)


def _screen(found: Sweep, *, advise: bool) -> None:
    numbers = found.summary()
    took = numbers["seconds_per_run"]
    rows = [
        ("runs", numbers["runs"]),
        ("done", numbers["done"]),
        ("of these, can't be made", numbers["failed"]),
        ("missing", numbers["missing"]),
        ("varied", numbers["varied"]),
        ("one run took", None if took is None else humanise_seconds(took)),
        ("running now", numbers["running"]),
    ]
    emit_table(f"Sweep in {found.folder}", rows, ("what", "how much"))
    if 0 < numbers["done"] <= SMALL:
        _emit_runs(found)
    if advise and numbers["done"]:
        remark(
            f"all runs in one table: --table FILE.csv, or onega.Sweep.load({str(found.folder)!r})"
        )


def _emit_runs(found: Sweep) -> None:
    """Print the runs of a small sweep: what varies, and a few measures."""
    frame = found.to_polars()
    names = [name for name in MEASURES if name in frame.columns and frame[name].count()]
    if "unstarted_jobs" in frame.columns and frame["unstarted_jobs"].sum():
        names.insert(0, "unstarted_jobs")  # they count in no mean
    shown = frame.select("run", *found.varied, *names)
    rows = [
        [cell if name == "run" else _cell(name, cell) for name, cell in row.items()]
        for row in shown.to_dicts()
    ]
    heads = [name.rpartition(".")[2].replace("_", " ") for name in shown.columns]
    emit_table("Runs", rows, heads)


def _cell(name: str, value: Any) -> Any:  # noqa: ANN401
    if value is None:
        return None
    if name in ("mean_wait", "p95_wait"):
        return humanise_seconds(value)
    if name == "utilisation":
        return f"{100 * value:.1f} %"
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _check_table(path: Path | None) -> None:
    if path is not None and path.suffix not in (".csv", ".parquet"):
        raise ExperimentError(f"{path}: a table ends in .csv or .parquet")


def _write_table(found: Sweep, path: Path) -> None:
    """Write all runs; lists of numbers become texts in CSV."""
    import polars as pl

    from onega.core.files import write_table

    _check_table(path)
    frame = found.to_polars()
    shown = frame
    if path.suffix == ".csv":
        lists = [name for name, kind in frame.schema.items() if kind == pl.List]
        shown = frame.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join(" "))
    write_table(shown, path)
    remark(f"{frame.height} runs in {path}")

"""``onega stability``: does the machine keep up with its jobs, and how large must it be."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onega.cli.console import FigurePage, emit, emit_table, progress, remark_report, say
from onega.cli.options import (
    JsonOption,
    ReadOptions,
    SeedOption,
    argument,
    figures_option,
    flag,
    in_flags,
    option,
    seconds_of,
)
from onega.core.errors import QueueingError
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.queueing.stability import Stability
    from onega.queueing.waiting import Waiting
    from onega.queueing.widths import WidthsLike


def stability(
    *,
    trace: Annotated[Path | None, argument("[TRACE]", "A log of jobs.", show_default=False)] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help='Widths instead of a log: "0.5,0.3,0.2" (p_1, p_2, p_3), "1:0.5,4:0.5", '
            '"geometric:0.3", "uniform:16".'
        ),
    ] = None,
    procs: Annotated[
        int | None, typer.Option(help="Servers; the log's machine by default.")
    ] = None,
    arrival_rate: Annotated[
        float | None, typer.Option(help="Jobs per second; from the log by default.")
    ] = None,
    mean_runtime: Annotated[
        str | None, typer.Option(help="Mean run time: 90, 15m, 1h; from the log by default.")
    ] = None,
    law: Annotated[
        str | None,
        option(
            "--law",
            "LAW",
            "With --classes: the law of run times: exponential (the default), fixed, erlang(4), "
            "hyperexponential(0.9:0.1, 0.1:9.1), hyperexponential(cv2=4), lognormal(sigma=1), …",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="exact, partitions, enumeration, montecarlo or saturation.")
    ] = "exact",
    policy: Annotated[
        str, option("--policy", "P", "For saturation: the policy to simulate.")
    ] = "fcfs",
    precision: Annotated[
        float, option("--precision", "E", "For saturation: relative half-width to reach.")
    ] = 0.01,
    waiting: Annotated[
        bool, flag("--waiting", "Also the exact mean wait (small machines).")
    ] = False,
    draws: Annotated[int, typer.Option(help="For montecarlo: sample size.")] = 200_000,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    budget: Annotated[
        int | None,
        option(
            "--budget",
            "JOBS",
            "Jobs simulated at most where the answer is measured; it says how exact it got.",
            min=1,
        ),
    ] = None,
    seed: SeedOption = None,
    reading: ReadOptions,
    figures: Annotated[Path | None, figures_option("stability")] = None,
    json: JsonOption = False,
) -> None:
    """Tell whether the machine keeps up with its jobs, and how large it must be.

    FCFS keeps processors idle while the first waiting job doesn't fit; this says how many, and
    whether what is left suffices for what is asked for. Yes, no or can't tell; “no” exits with 1.
    A log that isn't what the formula assumes is measured: its own jobs in a queue that never
    empties.
    """
    from onega.experiment.stability.stability import stability as solve
    from onega.traces.description.cautions import run_size_warning

    if (trace is None) == (classes is None):
        raise QueueingError('give a log or --classes "p1,p2,…", one of the two')
    log = None if trace is None else reading.read(trace)
    source: WidthsLike = classes or "" if log is None else log
    with progress("saturating", 1.0) as show, in_flags("procs", "arrival_rate", "mean_runtime"):
        result = solve(
            source,
            procs=procs,
            arrival_rate=arrival_rate,
            mean_runtime=(
                None if mean_runtime is None else seconds_of("--mean-runtime", mean_runtime)
            ),
            law=law,
            method=method,
            policy=policy,
            precision=precision,
            draws=draws,
            confidence=confidence,
            budget=budget,
            rng=seed,
            progress=show if method == "saturation" else None,
        )
    if result.estimates is not None:
        remark_report(result.estimates.report)
    extra = _waiting(result) if waiting else None
    more = {} if extra is None else _waiting_keys(extra)
    wrong = None
    if log is not None:
        wrong = more["size_warning"] = run_size_warning(log, result.procs)
    emit(
        result,
        partial(_screen, extra=extra, wrong=wrong),
        json=json,
        more=more,
        figures=FigurePage(figures, "stability", "Stability", partial(_figures, result)),
    )
    if result.stable is False:
        raise typer.Exit(1)


def _screen(result: Stability, extra: Waiting | None, wrong: str | None) -> None:
    """Print what is wrong with the machine's size, the answer, the table, and the reasons."""
    first, *others = result.sentences()
    if wrong is not None:
        say(f"! {wrong}", style="yellow")
    say(first, style="bold")
    emit_table("Stability", _rows(result), ("measure", "value"))
    say(*others)
    if extra is not None:
        say(_waiting_words(extra))


def _rows(result: Stability) -> list[tuple[str, object]]:
    constant, usable = result.constant, result.usable
    interval = ""
    if constant.low < constant.high:
        interval = f" ({constant.low:.6g} to {constant.high:.6g})"
    rows: list[tuple[str, object]] = [("servers", result.procs), ("policy", result.policy)]
    if result.offered_load is not None:
        rows += [
            ("keeps up", result.verdict.answer),
            ("decided by", result.verdict.basis),
            ("asked for, % of the machine", _percent(result.offered_load)),
        ]
    rows.append(("can be used, % of the machine", _percent(result.utilisation_at_limit)))
    if usable is not None and usable.low < usable.high:
        rows.append((f"  {usable.sure}", f"{_percent(usable.low)} to {_percent(usable.high)}"))
    if result.min_procs is not None:
        rows.append(("fewest servers that keep up", result.min_procs))
    if result.arrival_rate is not None:
        rows.append(("jobs per hour that arrive", 3600 * result.arrival_rate))
    if result.max_arrival_rate is not None:
        rows.append(("jobs per hour at most", 3600 * result.max_arrival_rate))
    if result.mean_runtime is not None:
        rows.append(("mean run time", humanise_seconds(result.mean_runtime)))
    rows += [
        ("mean width, processors", result.widths.mean),
        ("widest job, processors", result.widths.widest),
        (f"C, {constant.method}, run times {result.law}", f"{constant.value:.10g}{interval}"),
    ]
    if result.rho is not None and constant.method != "saturation":
        tested = {True: "it holds", False: "it doesn't hold here", None: "as given"}
        rows.append((f"ρ = λ·C·E[S] of the formula ({tested[result.formula_holds]})", result.rho))
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _waiting(result: Stability) -> Waiting:
    from onega.queueing.waiting import waiting as solve

    if result.arrival_rate is None or result.mean_runtime is None:
        raise QueueingError("--waiting needs --arrival-rate and --mean-runtime")
    return solve(
        result.widths,
        procs=result.procs,
        arrival_rate=result.arrival_rate,
        mean_runtime=result.mean_runtime,
    )


def _waiting_keys(solved: Waiting) -> dict[str, object]:
    kept = ("mean_wait", "mean_response", "p_wait", "mean_waiting", "mean_jobs", "utilisation")
    return {key: value for key, value in solved.summary().items() if key in kept}


def _waiting_words(solved: Waiting) -> str:
    return (
        f"{solved.p_wait:.0%} of the jobs wait; all wait {humanise_seconds(solved.mean_wait)} on "
        f"average, and {solved.mean_waiting:.3g} jobs are waiting at a time (exact, exponential "
        "run times)."
    )


def _figures(result: Stability) -> dict[str, Any]:
    kinds = [kind for kind in result.figure_kinds() if kind != "rho" or result.rho is not None]
    return {kind: result.plot(kind) for kind in kinds}

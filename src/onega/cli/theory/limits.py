"""``onega limits``: busy servers, and requests lost because the dispatcher cuts tasks off."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import FigurePage, draw_all, emit, emit_table, remark_report, say
from onega.cli.options import (
    JsonOption,
    ReadOptions,
    SeedOption,
    argument,
    figures_option,
    flag,
    in_flags,
    option,
)
from onega.core.units import humanise_seconds, quantity

if TYPE_CHECKING:
    from onega.queueing.limits.limits import Limits
    from onega.queueing.loss import Loss


def limits(
    *,
    trace: Annotated[
        Path | None,
        argument("[TRACE]", "A log to take from what isn't given.", show_default=False),
    ] = None,
    arrival_rate: Annotated[
        float | None, option("--arrival-rate", "L", "Requests per second, λ.")
    ] = None,
    service_rate: Annotated[
        float | None, option("--service-rate", "M", "Tasks that a server ends per second, μ.")
    ] = None,
    limit_rate: Annotated[
        float | None,
        option("--limit-rate", "N", "Cut-offs per second and task, ν; 0 for no limit."),
    ] = None,
    widths: Annotated[
        str | None,
        option(
            "--widths",
            "SPEC",
            "Tasks of a request: fixed:4, geometric:0.3, poisson:2.5, uniform:16, "
            "list:1:0.5,2:0.5, or a log's file name.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        option(
            "--limit",
            "LAW",
            "Another law of limits: deterministic:1h, gamma:2:1h, weibull:1.5:1h, or empirical: "
            "the log's estimates.",
        ),
    ] = None,
    shared: Annotated[bool, flag("--shared", "One limit for all tasks of a request.")] = False,
    target: Annotated[
        float, option("--target", "P", "Share to be served, for the critical limit.")
    ] = 0.95,
    epsilon: Annotated[
        float | None,
        option("--epsilon", "E", "Also: the fewest servers so that P(all busy) ≤ E."),
    ] = None,
    procs: Annotated[
        int | None,
        option("--procs", "C", "Also: losses on a machine of C servers without a queue."),
    ] = None,
    check: Annotated[
        bool, flag("--check", "Also simulate the system, beside the formulas.")
    ] = False,
    seed: SeedOption = None,
    reading: ReadOptions,
    figures: Annotated[Path | None, figures_option("limits")] = None,
    json: JsonOption = False,
) -> None:
    """Tell how many servers are busy and how many requests are lost to the dispatcher's limit.

    Requests arrive at rate λ and split into tasks, one server each; a task ends at rate μ and is
    cut off at rate ν. A request is lost if one of its tasks is cut off.
    """
    from onega.queueing.limits.limits import limits as solve

    log = None if trace is None else reading.read(trace)
    with in_flags("arrival_rate", "service_rate", "limit_rate", "widths", "limit"):
        result = solve(
            log,
            arrival_rate=arrival_rate,
            service_rate=service_rate,
            limit_rate=limit_rate,
            widths=_widths(widths, reading),
            limit=limit,
            shared=shared,
            target=target,
        )
    if result.estimates is not None:
        remark_report(result.estimates.report)
    extra: dict[str, Any] = {}
    finite = None
    if epsilon is not None:
        extra |= _sizing(result, epsilon)
    if procs is not None:
        finite = _finite(result, procs)
        extra |= {f"finite_{key}": value for key, value in finite.summary().items()}
    if check:
        extra |= _simulated(result, seed)
    emit(
        result,
        partial(_screen, extra=extra, finite=finite),
        json=json,
        more=extra,
        figures=FigurePage(
            figures, "limits", "Limits and losses", partial(_figures, result, finite)
        ),
    )


def _widths(text: str | None, reading: ReadOptions) -> Any:  # noqa: ANN401
    """Take a spec, or the widths of a log if it names a file."""
    if text is None:
        return None
    if Path(text).is_file():
        return ReadOptions(reading.from_format).read(text)
    return text


def _mean_service(result: Limits) -> float:
    return result.mean_busy / (result.arrival_rate * result.widths.mean)


def _sizing(result: Limits, epsilon: float) -> dict[str, Any]:
    from onega.queueing.loss import fewest_servers_for_loss

    return {
        "epsilon": epsilon,
        "fewest_servers": result.fewest_servers(epsilon),
        "fewest_servers_loss": fewest_servers_for_loss(
            result.widths,
            epsilon,
            arrival_rate=result.arrival_rate,
            mean_runtime=_mean_service(result),
        ),
    }


def _finite(result: Limits, procs: int) -> Loss:
    from onega.queueing.loss import loss

    return loss(
        result.widths,
        procs=procs,
        arrival_rate=result.arrival_rate,
        mean_runtime=_mean_service(result),
    )


def _simulated(result: Limits, seed: int | None) -> dict[str, Any]:
    from onega.queueing.limits.simulation import simulate_limits

    measured = simulate_limits(result, rng=seed)
    answer: dict[str, Any] = {}
    for name in ("mean_busy", "var_busy", "p_serv"):
        interval = measured[name].interval()
        answer |= {
            f"simulated_{name}": interval.mean,
            f"simulated_{name}_low": interval.low,
            f"simulated_{name}_high": interval.high,
        }
    return answer


def _screen(result: Limits, extra: dict[str, Any], finite: Loss | None) -> None:
    def beside(name: str) -> str:
        if f"simulated_{name}" not in extra:
            return ""
        low, high = extra[f"simulated_{name}_low"], extra[f"simulated_{name}_high"]
        return f"  (simulated {quantity(low, 6)} to {quantity(high, 6)})"

    sentences = result.sentences()
    if result.estimates is not None:  # what happened comes before what a model says
        say(sentences.pop(0), style="bold")
    rows: list[tuple[str, object]] = [
        ("arrival rate, per second", result.arrival_rate),
        ("mean service time", humanise_seconds(1 / result.service_rate)),
        ("mean limit", humanise_seconds(result.limit.mean)),
        ("widths", f"{result.widths.name}, mean {result.widths.mean:.4g}"),
        ("mean busy servers", f"{quantity(result.mean_busy, 6)}{beside('mean_busy')}"),
        ("variance of busy servers", f"{quantity(result.var_busy, 6)}{beside('var_busy')}"),
        ("a task is served", result.p_task),
        ("a request is served", f"{result.p_serv:.6g}{beside('p_serv')}"),
        ("a request is lost", result.p_loss),
        (f"critical mean limit for {result.target:g}", humanise_seconds(result.critical_limit)),
    ]
    if "epsilon" in extra:
        rows.append(
            (f"fewest servers, P(all busy) ≤ {extra['epsilon']:g}", extra["fewest_servers"])
        )
        rows.append(
            (f"fewest servers, no queue, loss ≤ {extra['epsilon']:g}", extra["fewest_servers_loss"])
        )
    emit_table("Limits", rows, ("measure", "value"))
    say(*sentences)
    if finite is not None:
        say(
            f"On {finite.procs:,} servers without a queue {100 * finite.p_loss:.3g} % of the jobs "
            f"would be lost, {100 * finite.blocking[-1]:.3g} % of the widest."
        )


def _figures(result: Limits, finite: Loss | None) -> dict[str, Any]:
    return {**draw_all(result), **({} if finite is None else draw_all(finite))}

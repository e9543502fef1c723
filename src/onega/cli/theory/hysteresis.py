"""``onega hysteresis``: exact power and jobs of a machine whose rate follows its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from onega.cli.console import emit, emit_table
from onega.cli.options import JsonOption, option, seconds_of
from onega.core.errors import QueueingError
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.queueing.hysteresis import Hysteresis


def hysteresis(
    *,
    procs: Annotated[int, option("--procs", "C", "Servers.")],
    arrival_rate: Annotated[float, option("--arrival-rate", "L", "Jobs per second.")],
    mean_runtime: Annotated[
        str, option("--mean-runtime", "S", "Mean run time at rate 1: 90, 15m, 1h.")
    ],
    rates: Annotated[str, option("--rates", "R[,R…]", "Rates, increasing.")],
    classes: Annotated[
        str,
        typer.Option(
            help='Widths of jobs: "1" (all serial), "0.5,0.3,0.2" (p_1, p_2, p_3), "1:0.5,4:0.5", '
            '"uniform:4".'
        ),
    ] = "1",
    k_low: Annotated[
        str | None, option("--k-low", "K[,K…]", "Jobs in the system at which to slow down.")
    ] = None,
    k_high: Annotated[
        str | None, option("--k-high", "K[,K…]", "Jobs above which to speed up.")
    ] = None,
    power_busy: Annotated[
        str | None, option("--power-busy", "W[,W…]", "Watts of a busy processor at each rate.")
    ] = None,
    power_idle: Annotated[
        str | None, option("--power-idle", "W[,W…]", "Watts of an idle processor at each rate.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Tell mean power, jobs and waits of a small machine whose rate follows its queue, exactly.

    Poisson arrivals, exponential run times, first come, first served: a Markov chain. The same as
    simulate --rate-control queue on such a stream, without its noise.
    """
    from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster
    from onega.queueing.hysteresis import hysteresis as solve

    several = "," in rates
    for name, given in (("--k-low", k_low), ("--k-high", k_high)):
        if several and given is None:
            raise QueueingError(f"several --rates need {name}: jobs at which the rate changes")
        if not several and given is not None:
            raise QueueingError(f"{name} is for several --rates, e.g. 0.8,1.0; got {rates}")
    flags = MachineFlags(
        procs=procs,
        rate_control="queue" if several else None,
        rates=rates if several else None,
        rate_low=None if several else _number("--rates", rates),
        k_low=k_low,
        k_high=k_high,
        power_busy=power_busy,
        power_idle=power_idle,
    )
    cluster = build_cluster(flags, None)
    result = solve(
        classes,
        procs=procs,
        arrival_rate=arrival_rate,
        mean_runtime=seconds_of("--mean-runtime", mean_runtime),
        rates=cluster.rates,
        power=cluster.power,
    )
    emit(result, _screen, json=json)


def _number(flag: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise QueueingError(f"{flag} takes numbers like 1 or 0.8,1.0; got {text!r}") from None


def _screen(result: Hysteresis) -> None:
    shares = ", ".join(
        f"{share:.1%} at {rate:g}" for rate, share in zip(result.rates, result.time_at, strict=True)
    )
    rows: list[tuple[str, object]] = [
        ("jobs in the system", f"{result.mean_jobs:.6g}"),
        ("jobs that wait", f"{result.mean_waiting:.6g}"),
        ("mean wait", humanise_seconds(result.mean_wait)),
        ("mean response", humanise_seconds(result.mean_response)),
        ("busy servers", f"{result.mean_busy:.6g} of {result.procs}"),
        ("time", shares),
        ("changes of the rate per hour", f"{3600 * result.rate_changes:.6g}"),
        ("load at the highest rate", f"{result.rho:.3f}"),
    ]
    if result.mean_power is not None:
        rows.insert(0, ("mean power, W", f"{result.mean_power:.6g}"))
    emit_table("Rate by the queue", rows, ("measure", "value"))

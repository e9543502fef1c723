"""``onega hysteresis``: exact power and jobs of a machine whose rate follows its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from onega.cli.console import emit, emit_table
from onega.cli.options import JsonOption, seconds_of
from onega.core.errors import QueueingError
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.queueing.hysteresis import Hysteresis

ClassesOption = Annotated[
    str,
    typer.Option(
        help='Widths of jobs: "1" (all serial), "0.5,0.3,0.2" (p_1, p_2, p_3), "1:0.5,4:0.5", '
        '"uniform:4".'
    ),
]
ProcsOption = Annotated[int, typer.Option(metavar="C", help="Servers.")]
ArrivalRateOption = Annotated[float, typer.Option(metavar="L", help="Jobs per second.")]
MeanRuntimeOption = Annotated[
    str, typer.Option(metavar="S", help="Mean run time at rate 1: 90, 15m, 1h.")
]
RatesOption = Annotated[str, typer.Option(metavar="R[,R…]", help="Rates, increasing.")]
LowOption = Annotated[
    str | None, typer.Option(metavar="K[,K…]", help="Jobs in the system at which to slow down.")
]
HighOption = Annotated[
    str | None, typer.Option(metavar="K[,K…]", help="Jobs above which to speed up.")
]
BusyOption = Annotated[
    str | None, typer.Option(metavar="W[,W…]", help="Watts of a busy processor at each rate.")
]
IdleOption = Annotated[
    str | None, typer.Option(metavar="W[,W…]", help="Watts of an idle processor at each rate.")
]


def hysteresis(
    procs: ProcsOption,
    arrival_rate: ArrivalRateOption,
    mean_runtime: MeanRuntimeOption,
    rates: RatesOption,
    classes: ClassesOption = "1",
    k_low: LowOption = None,
    k_high: HighOption = None,
    power_busy: BusyOption = None,
    power_idle: IdleOption = None,
    json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Tell mean power, jobs and waits of a small machine whose rate follows its queue, exactly.

    Poisson arrivals, exponential run times, first come, first served: a Markov chain. The same as
    simulate --rate-control queue on such a stream, without its noise.
    """
    from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster
    from onega.queueing.hysteresis import hysteresis as solve

    kind = "queue" if "," in rates else None
    one_rate = None if kind else rates
    flags = MachineFlags(
        procs=procs,
        rate_control=kind,
        rates=rates if kind else None,
        rate_low=None if one_rate is None else _number("--rates", one_rate),
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


def _screen(result: Hysteresis) -> None:
    emit_table("Rate by the queue", _rows(result), ("measure", "value"))


def _number(flag: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise QueueingError(f"{flag} takes numbers like 1 or 0.8,1.0; got {text!r}") from None


def _rows(result: Hysteresis) -> list[tuple[str, object]]:
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
    return rows

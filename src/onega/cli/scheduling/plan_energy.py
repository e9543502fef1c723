"""The part of ``onega plan`` that trades energy against waiting."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from onega.cli.console import emit_table, say
from onega.cli.options import flag_of, option
from onega.cli.scheduling.experiment_options import listed
from onega.core.errors import ExperimentError, SimulationError
from onega.core.units import duration

if TYPE_CHECKING:
    from onega.core.machine.cluster import Cluster
    from onega.core.machine.sleep import Sleep
    from onega.experiment.planning.pareto import TradeOff

MOST_MACHINES = 2000
"""More is a slip of the step, or work for ``onega sweep``."""


_PANEL = "Energy against waiting (--vary energy)"


@dataclass(frozen=True, slots=True)
class EnergyFlags:
    """What was said on the command line of ``--vary energy``; None where nothing was."""

    rates: Annotated[
        str | None, option("--rates", "R,R[;R,R…]", "Low and high rate; several sets.", _PANEL)
    ] = None
    rate_control: Annotated[str, option("--rate-control", "KIND", "workload or queue.", _PANEL)] = (
        "workload"
    )
    k: Annotated[
        str | None,
        option("--k", "K,…", "One threshold both ways: a list, or FROM:TO:STEP.", _PANEL),
    ] = None
    k_low: Annotated[
        str | None, option("--k-low", "K,…", "Where to slow down; with --k-high.", _PANEL)
    ] = None
    k_high: Annotated[str | None, option("--k-high", "K,…", "Above which to speed up.", _PANEL)] = (
        None
    )
    power_busy: Annotated[
        str | None, option("--power-busy", "W,W[;…]", "Busy watts at each rate.", _PANEL)
    ] = None
    power_idle: Annotated[
        str | None, option("--power-idle", "W,W[;…]", "Idle watts at each rate.", _PANEL)
    ] = None
    sleep_after: Annotated[
        str | None,
        option("--sleep-after", "T,…", "Idle processors sleep after: never,10m,1h.", _PANEL),
    ] = None
    sleep_power: Annotated[
        float | None, option("--sleep-power", "W", "Of a processor asleep.", _PANEL)
    ] = None
    wake_delay: Annotated[
        str | None, option("--wake-delay", "T", "From being needed to ready: 90s.", _PANEL)
    ] = None
    wake_power: Annotated[float | None, option("--wake-power", "W", "While waking up.", _PANEL)] = (
        None
    )
    cost: Annotated[
        str, option("--cost", "M", "What to save: window_mean_power, energy, ….", _PANEL)
    ] = "window_mean_power"
    pain: Annotated[
        str, option("--pain", "M", "At whose expense: mean(wait), mean_workload, …", _PANEL)
    ] = "mean(wait)"

    def check(self, vary: str) -> None:
        """Refuse flags that would have no effect, and a question that lacks something."""
        names = [one.name for one in fields(self) if one.default is None]
        given = [flag_of(name) for name in names if getattr(self, name) is not None]
        if vary != "energy":
            if given:
                raise ExperimentError(f"{given[0]} is for --vary energy; got --vary {vary}")
            return
        if self.power_busy is None or (self.rates is None and self.sleep_after is None):
            raise ExperimentError(
                "--vary energy needs --power-busy, and --rates or --sleep-after (or both)"
            )
        thresholds = [one is not None for one in (self.k, self.k_low, self.k_high)]
        if thresholds not in ([self.rates is not None, False, False], [False, True, True]):
            raise ExperimentError(
                "--rates need thresholds: --k for one both ways, or --k-low and --k-high"
            )
        asleep = [flag_of(name) for name in _SLEEP if getattr(self, name) is not None]
        if self.sleep_after is None and asleep:
            raise ExperimentError(f"{asleep[0]} needs --sleep-after")
        if self.sleep_after is not None and len(asleep) < len(_SLEEP):
            raise ExperimentError(f"--sleep-after needs {', '.join(map(flag_of, _SLEEP))}")


_SLEEP = ("sleep_power", "wake_delay", "wake_power")


def grid_of(flags: EnergyFlags, procs: int) -> dict[str, Cluster]:
    """Make the machines to compare."""
    from onega.core.machine.cluster import Power
    from onega.experiment.planning.pareto import energy_machines

    rates = None if flags.rates is None else _sets("--rates", flags.rates)
    count = 1 if rates is None else len(rates)
    busy = _each("--power-busy", _sets("--power-busy", flags.power_busy or ""), count)
    idle = _each("--power-idle", _sets("--power-idle", flags.power_idle or "0"), count)
    lows = flags.k or flags.k_low
    try:
        made = energy_machines(
            procs,
            rates=rates,
            power=[Power(*one) for one in zip(busy, idle, strict=True)],
            k_low=() if lows is None else _numbers("--k" if flags.k else "--k-low", lows),
            k_high=None if flags.k_high is None else _numbers("--k-high", flags.k_high),
            sleep=_naps(flags),
            kind=flags.rate_control,
        )
    except SimulationError as error:
        raise ExperimentError(str(error)) from None
    if len(made) > MOST_MACHINES:
        raise ExperimentError(
            f"{len(made)} machines are too many here (at most {MOST_MACHINES}); use onega sweep"
        )
    return made


def _naps(flags: EnergyFlags) -> dict[str, Sleep | None] | None:
    """Read ``never,10m,1h``: what idle processors do, by name."""
    if flags.sleep_after is None:
        return None
    from onega.core.machine.sleep import Sleep, SleepState

    assert flags.sleep_power is not None
    assert flags.wake_delay is not None
    assert flags.wake_power is not None
    naps: dict[str, Sleep | None] = {}
    for word in listed("--sleep-after", flags.sleep_after):
        naps[word] = None
        if word == "never":
            continue
        try:
            timeout, delay = duration(word), duration(flags.wake_delay)
        except ValueError as error:
            raise ExperimentError(f"--sleep-after, --wake-delay: {error}, or never") from None
        naps[word] = Sleep(SleepState(timeout, flags.sleep_power, delay, flags.wake_power))
    return naps


def _sets(flag: str, text: str) -> list[tuple[float, ...]]:
    return [tuple(_numbers(flag, part)) for part in text.split(";")]


def _each(flag: str, sets: list[tuple[float, ...]], count: int) -> list[tuple[float, ...]]:
    """One set for each set of rates; a single one serves all."""
    if len(sets) not in (1, count):
        raise ExperimentError(
            f"{flag} needs one set of numbers, or one for each of the {count} sets of rates; "
            f"got {len(sets)}"
        )
    return sets * count if len(sets) == 1 else sets


def _numbers(flag: str, text: str) -> list[float]:
    """Read ``1,2,3`` or ``FROM:TO:STEP``, ends included."""
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        first, last, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise ExperimentError(
            f"{flag} takes numbers separated by commas, or FROM:TO:STEP; got {text!r}"
        ) from None
    if not (step > 0 and last >= first and (last - first) / step < MOST_MACHINES):
        raise ExperimentError(
            f"{flag}: FROM:TO:STEP goes up in at most {MOST_MACHINES} steps; got {text!r}"
        )
    return [float(value) for value in np.arange(first, last + step / 2, step)]


def print_trade_off(result: TradeOff) -> None:
    """Print the front and the choices."""
    table = result.to_polars()
    front = result.front()
    rows: list[tuple[Any, ...]] = []
    for row in table.to_dicts():
        if row["machine"] not in front and not row["choice"]:
            continue
        cells: list[Any] = [row["machine"]]
        for measure in (result.cost, result.objective):
            key = f"{measure.key}_change"
            ends = f"{100 * row[f'{key}_low']:+.1f}..{100 * row[f'{key}_high']:+.1f}"
            cells += [measure.show(row[measure.key]), f"{100 * row[key]:+.1f} % ({ends})"]
        rows.append((*cells, row["met"], row["choice"]))
    columns = ["machine"]
    for measure in (result.cost, result.objective):
        columns += [measure.words, f"change ({100 * result.confidence:g} %)"]
    title = f"The front: {len(front)} of {len(result.names)} machines"
    emit_table(title, rows, [*columns, "met", "choice"])
    say(*sentences(result))


def sentences(result: TradeOff) -> list[str]:
    """Say what was chosen and why."""
    table = {row["machine"]: row for row in result.to_polars().to_dicts()}
    first = result.names[0]
    lines = []
    for what, name in result.choices().items():
        changes = (
            f"{100 * table[name][f'{one.key}_change']:+.1f} % {one.words}"
            for one in (result.cost, result.objective)
        )
        lines.append(f"{what}: {name} ({', '.join(changes)} against {first}).")
    if result.met is False:
        wanted = " and ".join(map(str, result.targets))
        lines.append(f"{wanted} is met by none; the nearest is {result.best()}.")
    lines.append(f"{result.runs} simulations.")
    return lines

"""The part of ``onega plan`` that trades energy against waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onega.cli.console import emit_table, out
from onega.core.errors import ExperimentError, SimulationError

if TYPE_CHECKING:
    from onega.core.cluster import Cluster
    from onega.experiment.pareto import TradeOff

MOST_MACHINES = 2000
"""More is a slip of the step, or work for ``onega sweep``."""


@dataclass(frozen=True, slots=True)
class EnergyFlags:
    """What was said on the command line; None where nothing was."""

    rates: str | None = None
    rate_control: str = "workload"
    k: str | None = None
    k_low: str | None = None
    k_high: str | None = None
    power_busy: str | None = None
    power_idle: str | None = None

    def check(self, vary: str) -> None:
        """Refuse flags that would have no effect, and a question that lacks something."""
        given = {
            f"--{name.replace('_', '-')}": getattr(self, name)
            for name in self.__slots__
            if name != "rate_control"
        }
        if vary != "energy":
            extra = [flag for flag, value in given.items() if value is not None]
            if extra:
                raise ExperimentError(f"{extra[0]} is for --vary energy; got --vary {vary}")
            return
        missing = [flag for flag in ("--rates", "--power-busy") if given[flag] is None]
        if missing:
            raise ExperimentError(f"--vary energy needs {' and '.join(missing)}")
        if (self.k is None) == (self.k_low is None or self.k_high is None):
            raise ExperimentError(
                "--vary energy needs thresholds: --k for one both ways, or --k-low and --k-high"
            )


def grid_of(flags: EnergyFlags, procs: int) -> dict[str, Cluster]:
    """Make the machines to compare."""
    from onega.core.cluster import Power
    from onega.experiment.pareto import energy_machines

    assert flags.rates is not None
    assert flags.power_busy is not None
    rates = _sets("--rates", flags.rates)
    busy = _sets("--power-busy", flags.power_busy)
    idle = _sets("--power-idle", flags.power_idle or "0")
    powers = [_each("--power-busy", busy, len(rates)), _each("--power-idle", idle, len(rates))]
    try:
        power = [Power(*one) for one in zip(*powers, strict=True)]
    except SimulationError as error:
        raise ExperimentError(str(error)) from None
    made = energy_machines(
        procs,
        rates=rates,
        power=power,
        k_low=_numbers("--k" if flags.k else "--k-low", flags.k or flags.k_low or ""),
        k_high=None if flags.k_high is None else _numbers("--k-high", flags.k_high),
        kind=flags.rate_control,
    )
    if len(made) > MOST_MACHINES:
        raise ExperimentError(
            f"{len(made)} machines are too many here (at most {MOST_MACHINES}); use onega sweep"
        )
    return made


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


def speak_trade_off(result: TradeOff) -> None:
    """Print the front and the choices."""
    table = result.to_polars()
    front = result.front()
    rows: list[tuple[Any, ...]] = []
    for row in table.to_dicts():
        if row["machine"] not in front and not row["choice"]:
            continue
        cells: list[Any] = [row["machine"]]
        for measure in (result.cost, result.pain):
            key = measure.key
            ends = f"{measure.show(row[f'{key}_low'])} … {measure.show(row[f'{key}_high'])}"
            cells += [measure.show(row[key]), ends, f"{100 * row[f'{key}_change']:+.1f} %"]
        rows.append((*cells, row["met"], row["choice"]))
    columns = ["machine"]
    for measure in (result.cost, result.pain):
        columns += [measure.words, f"{100 * result.confidence:g} %", "change"]
    title = f"The front: {len(front)} of {len(result.names)} machines"
    emit_table(title, rows, [*columns, "met", "choice"])
    for sentence in sentences(result):
        out().print(sentence, markup=False)


def sentences(result: TradeOff) -> list[str]:
    """Say what was chosen and why."""
    table = {row["machine"]: row for row in result.to_polars().to_dicts()}
    first = result.names[0]
    lines = []
    for what, name in result.choices().items():
        changes = (
            f"{100 * table[name][f'{one.key}_change']:+.1f} % {one.words}"
            for one in (result.cost, result.pain)
        )
        lines.append(f"{what}: {name} ({', '.join(changes)} against {first}).")
    if result.met is False:
        wanted = " and ".join(map(str, result.targets))
        lines.append(f"{wanted} is met by none; the nearest is {result.best()}.")
    lines.append(f"{result.runs} simulations.")
    return lines

"""A machine described in a TOML file: processors, rates and their control, power.

::

    procs = 80

    [rate_control]            # the arguments of onega.RateControl
    kind = "workload"
    rates = [2.0, 2.66]
    k_low = 1e5
    k_high = 3e5

    [power]                   # the arguments of onega.Power, watts per processor
    busy = [0.034, 0.041]
    idle = [0.014, 0.018]

A key that isn't known is refused, so that a misspelt one doesn't go unnoticed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from onega.core.cluster import Cluster, Power, RateControl
from onega.core.errors import SimulationError, suggest

Numbers = float | list[float]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RateControlTable(_Table):
    """The table ``[rate_control]``."""

    kind: str | None = None
    rates: Numbers | None = None
    k_low: Numbers | None = None
    k_high: Numbers | None = None
    p_low: float | None = None
    p_high: float | None = None


class PowerTable(_Table):
    """The table ``[power]``."""

    busy: Numbers
    idle: Numbers | None = None


class ClusterFile(_Table):
    """The whole file; every part may be absent."""

    procs: int | None = None
    rate_control: RateControlTable | None = None
    power: PowerTable | None = None


def read_cluster(path: str | os.PathLike[str]) -> Cluster:
    """Read a machine from a TOML file; ``procs`` has to be there."""
    settings = read_settings(path)
    if "procs" not in settings:
        raise SimulationError(f"{path}: how many processors? write procs = N")
    try:
        return make_cluster(settings)
    except SimulationError as error:
        raise SimulationError(f"{path}: {error}") from None


def make_cluster(settings: Mapping[str, Any]) -> Cluster:
    """Make the machine that settings describe, as `read_settings` returns them, with procs."""
    power = settings.get("power")
    return Cluster(
        settings["procs"],
        RateControl(**settings.get("rate_control", {})),
        None if power is None else Power(**power),
    )


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a file says, as a dictionary of the keys that are there."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SimulationError(f"{path}: not a TOML file: {error}") from None
    try:
        return check_settings(data)
    except SimulationError as error:
        raise SimulationError(f"{path}: {error}") from None


def check_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are there; refuse a key that isn't known, or of another type."""
    try:
        return ClusterFile.model_validate(data).model_dump(exclude_none=True)
    except ValidationError as error:
        raise SimulationError(_explain(error)) from None


def setting_names(table: type[BaseModel] = ClusterFile) -> Iterator[str]:
    """Yield the dotted name of every key that a file may have: ``power.busy`` and so on."""
    for name, field in table.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not inner:
            yield name
        for kind in inner:
            yield from (f"{name}.{below}" for below in setting_names(kind))


def _explain(error: ValidationError) -> str:
    """Say what is wrong with the first key at fault."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if part not in ("float", "list[float]")]
    if first["type"] != "extra_forbidden":
        return f"{'.'.join(place)}: {first['msg'].lower()}, got {first['input']!r}"
    tables: dict[str, type[_Table]] = {"rate_control": RateControlTable, "power": PowerTable}
    table = tables[place[0]] if len(place) > 1 else ClusterFile
    where = f" in [{place[0]}]" if len(place) > 1 else ""
    return f"unknown key {place[-1]!r}{where}; {suggest(place[-1], table.model_fields)}"

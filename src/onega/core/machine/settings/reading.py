"""A machine described in a TOML file.

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

and so on for every part of `onega.Cluster`; ``onega cluster init`` writes a file with all of them.
A key that isn't known is refused, so that a misspelt one doesn't go unnoticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from onega.core.documents import read_toml
from onega.core.errors import MachineError, SimulationError, suggest
from onega.core.files import StrPath
from onega.core.machine.cluster import Cluster
from onega.core.machine.settings.description import ClusterSettings, table_of
from onega.core.machine.settings.lines import Place, line_of
from onega.core.machine.settings.making import make_cluster, parts_of
from onega.core.validation import Fault, fault_words, first_fault


def read_cluster(path: StrPath) -> Cluster:
    """Read a machine from a TOML file; it has to say how many processors there are."""
    settings = read_settings(path)
    if not settings.keys() & {"procs", "nodes", "partitions"}:
        raise MachineError(f"{path}: how many processors? write procs = N")
    try:
        return make_cluster(settings)
    except SimulationError as error:
        raise MachineError(f"{path}: {error}") from None


def read_settings(path: StrPath) -> dict[str, Any]:
    """Read what a file says, as a dictionary of the keys that are there."""
    data = read_toml(path, MachineError)
    try:
        settings = _validated(data)
        _check_parts(settings)
    except _WrongSettingError as error:
        text = Path(path).read_text(encoding="utf-8")
        line = line_of(text, error.place, error.message)
        where = path if line is None else f"{path}, line {line}"
        raise MachineError(f"{where}: {error.message}") from None
    return settings


def check_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are there; refuse a key that isn't known, or of another type."""
    try:
        return _validated(data)
    except _WrongSettingError as error:
        raise MachineError(error.message) from None


class _WrongSettingError(Exception):
    """A setting is wrong, and ``place`` says which; it doesn't leave this module."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


def _validated(data: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return ClusterSettings.model_validate(data).model_dump(exclude_none=True)
    except ValidationError as error:
        fault = first_fault(error)
        raise _WrongSettingError(_explain(fault), fault["loc"]) from None


def _explain(fault: Fault) -> str:
    """Say what is wrong with a key, and where it stands."""
    table: type[BaseModel] = ClusterSettings
    place: list[str] = []
    for part in fault["loc"]:
        if isinstance(part, int):
            if place:
                place[-1] += f" {part + 1}"
        elif part in table.model_fields:
            place.append(part)
            table = table_of(table.model_fields[part])[0] or table
    if fault["type"] == "extra_forbidden":
        where = f" in [{'.'.join(place)}]" if place else ""
        key = str(fault["loc"][-1])
        return f"unknown key {key!r}{where}; {suggest(key, table.model_fields)}"
    hint = f"; write [[{place[0]}]]" if fault["type"] == "list_type" and place else ""
    return f"{'.'.join(place)}: {fault_words(fault)}{hint}"


def _check_parts(settings: Mapping[str, Any]) -> None:
    """Refuse a part that is wrong by itself, and say where it stands."""
    for place, make in parts_of(settings):
        try:
            make()
        except SimulationError as error:
            raise _WrongSettingError(str(error), place) from None

"""The keys that a sweep may set or vary: what `onega.simulate` takes, by name."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)

from onega.core.errors import ExperimentError, suggest
from onega.core.machine.laws import Law
from onega.core.machine.settings.description import ClusterSettings, Procs, setting_names
from onega.core.machine.settings.reading import check_settings
from onega.core.machine.speedup import parse_speedup
from onega.core.policy import Knowledge, Policy, Priority, Ties
from onega.core.validation import fault_words, first_fault
from onega.experiment.replicates.draws import Resample

CASE: Final = "case"
CLUSTER: Final = "cluster."


def _policy(value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401
    if not (isinstance(value, str | Policy | Priority) or callable(value)):
        raise ValueError(f"must be a policy or its name, got {value!r}")
    Policy.parse(value, folder=info.context)
    return value


File = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Factor = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class RunKeys(BaseModel):
    """Keys of a run; those of a cluster file come beside them, as ``cluster.…``."""

    model_config = ConfigDict(strict=True)

    trace: File
    model: File
    jobs: Count
    load: Factor
    load_factor: Factor
    resample: Resample
    seed: Annotated[int, Field(ge=0)]
    policy: Annotated[Any, AfterValidator(_policy)]
    knowledge: Knowledge
    ties: Ties
    enforce_limits: bool
    dependencies: bool
    patience: Annotated[str, AfterValidator(Law.parse)]
    moldable: Annotated[str, AfterValidator(parse_speedup)]
    events: File
    demands: File
    procs: Procs
    cluster: File
    overheads: File


OF_WORKLOAD: Final = ("trace", "model", "jobs", "load", "load_factor", "resample", "seed")
"""Keys that decide which jobs come."""

OF_SIMULATE: Final = ("policy", "knowledge", "ties", "enforce_limits", "dependencies", "patience")
"""Keys that `onega.simulate` takes as they are."""

TABLES: Final = ("events", "demands")
"""Keys that name a file with a table that `onega.simulate` takes."""

_INDEXED: Final = re.compile(r"(cluster\.[^0-9]+?)\.\d+(\..+)?")


@cache
def known_keys() -> tuple[str, ...]:
    """Return every key that a sweep may set."""
    machine = (f"{CLUSTER}{name}" for name in setting_names() if name != "procs")
    return (*RunKeys.model_fields, *machine)


def is_known(key: str) -> bool:
    """Tell whether a sweep may set a key: also one entry of a list, ``cluster.….rates.1``."""
    found = _INDEXED.fullmatch(key)
    return key in known_keys() or (found is not None and found[1] in known_keys())


def _is_number(name: str) -> bool:
    """Tell whether a part of a key is the place of an entry in a list."""
    return re.fullmatch(r"[0-9]{1,6}", name) is not None


def is_table(key: str, value: Mapping[str, Any]) -> bool:
    """Tell whether a key has others below it, and its value is a table of them."""
    numbered = all(_is_number(name) for name in value)
    below = any(one.startswith(f"{key}.") for one in known_keys())
    return below or (is_known(key) and (numbered or key not in known_keys()))


def nearest_key(given: str) -> str:
    """Say which key was probably meant: by its whole name, or by its last part."""
    last = given.rpartition(".")[2]
    same = [key for key in known_keys() if key.rpartition(".")[2] == last and key != given]
    if same:
        return f"did you mean {same[0]!r}?"
    return suggest(given, known_keys())


def check_value(key: str, value: Any, folder: Path = Path()) -> None:  # noqa: ANN401
    """Refuse a wrong value with a ValueError that says what is accepted.

    Of the machine's settings each by itself; what belongs together is checked later, and so is an
    entry of a list. Relative paths start in ``folder``.
    """
    if key not in known_keys():
        return
    model = ClusterSettings if key.startswith(CLUSTER) else RunKeys
    try:
        model.model_validate(nested({key.removeprefix(CLUSTER): value}), context=folder)
    except ValidationError as error:
        fault = first_fault(error)
        if fault["type"] != "missing":
            raise ValueError(fault_words(fault)) from None


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into tables: ``{"power.busy": 1}`` → ``{"power": {"busy": 1}}``."""
    result: dict[str, Any] = {}
    for key, value in settings.items():
        *tables, last = key.split(".")
        place = result
        for name in tables:
            place = place.setdefault(name, {})
        place[last] = value
    return result


def machine_settings(base: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a run's ``procs`` and ``cluster.…`` keys over the settings of a cluster file."""
    own = {
        key.removeprefix(CLUSTER): value
        for key, value in parameters.items()
        if key.startswith(CLUSTER)
    }
    if "procs" in parameters:
        own["procs"] = parameters["procs"]
    entries = {key: own.pop(key) for key in list(own) if _INDEXED.fullmatch(f"{CLUSTER}{key}")}
    settings = _merged(base, nested(own))
    if entries:
        settings = copy.deepcopy(settings)
        for key, value in entries.items():
            _set_entry(settings, key, value)
    return check_settings(settings)


def _set_entry(settings: Any, key: str, value: Any) -> None:  # noqa: ANN401
    """Set one entry of a list, or a key of it: ``sleep.states.0.timeout``."""
    *parts, last = key.split(".")
    place = settings
    try:
        for name in parts:
            place = place[int(name) if _is_number(name) else name]
        # An entry has to be there, a key of it may be new.
        if _is_number(last):
            place[int(last)]
        place[int(last) if _is_number(last) else last] = value
    except (KeyError, IndexError, TypeError):
        raise ExperimentError(
            f"{CLUSTER}{key}: there is no such entry; lists are counted from 0"
        ) from None


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merged(result[key], value) if both else value
    return result

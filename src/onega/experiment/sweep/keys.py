"""The keys that a sweep may set or vary: what `onega.simulate` takes, by name."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from onega.core.errors import ExperimentError, suggest
from onega.core.machine.laws import Law
from onega.core.machine.settings.reading import check_settings, setting_names
from onega.core.machine.settings.tables import ClusterFile
from onega.core.machine.speedup import parse_speedup
from onega.core.policy import TIES, Policy, Priority
from onega.experiment.replicates.draws import RESAMPLES

CASE: Final = "case"
CLUSTER: Final = "cluster."


def _number(low: float, *, whole: bool) -> Callable[[Any], None]:
    kind = "a whole number" if whole else "a number"

    def check(value: Any) -> None:  # noqa: ANN401
        accepted = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, accepted) or not math.isfinite(value):
            raise ValueError(f"must be {kind}, got {value!r}")
        if value < low or (not whole and value == low):
            least = f"at least {low:g}" if whole else f"above {low:g}"
            raise ValueError(f"must be {kind} {least}, got {value!r}")

    return check


def _word(*accepted: str) -> Callable[[Any], None]:
    def check(value: Any) -> None:  # noqa: ANN401
        if value not in accepted:
            raise ValueError(f"unknown {value!r}; {suggest(str(value), accepted)}")

    return check


def _path(value: Any) -> None:  # noqa: ANN401
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be the path of a file, got {value!r}")


def _policy(value: Any) -> None:  # noqa: ANN401
    if not (isinstance(value, str | Policy | Priority) or callable(value)):
        raise ValueError(f"must be a policy or its name, got {value!r}")
    Policy.parse(value)


def _truth(value: Any) -> None:  # noqa: ANN401
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {value!r}")


def _law(value: Any) -> None:  # noqa: ANN401
    if not isinstance(value, str):
        raise ValueError(f"must be a law of durations, e.g. 'exponential(mean=1h)', got {value!r}")
    Law.parse(value)


def _speedup(value: Any) -> None:  # noqa: ANN401
    if not isinstance(value, str):
        raise ValueError(f"must be a speed-up law, e.g. 'amdahl(0.05)', got {value!r}")
    parse_speedup(value)


CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "trace": _path,
    "model": _path,
    "jobs": _number(1, whole=True),
    "load": _number(0, whole=False),
    "load_factor": _number(0, whole=False),
    "resample": _word(*RESAMPLES),
    "seed": _number(0, whole=True),
    "policy": _policy,
    "knowledge": _word("estimate", "runtime"),
    "ties": _word(*TIES),
    "enforce_limits": _truth,
    "dependencies": _truth,
    "patience": _law,
    "moldable": _speedup,
    "events": _path,
    "demands": _path,
    "procs": _number(1, whole=True),
    "cluster": _path,
    "overheads": _path,
}
"""Key → what refuses a wrong value. Keys of a cluster file come beside them, as ``cluster.…``."""

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
    return (*CHECKS, *machine)


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


def check_value(key: str, value: Any) -> None:  # noqa: ANN401
    """Refuse a wrong value with a ValueError that says what is accepted."""
    if key in CHECKS:
        CHECKS[key](value)
    elif key in known_keys():  # an entry of a list is checked with the whole machine
        _check_setting(key.removeprefix(CLUSTER), value)


def _check_setting(name: str, value: Any) -> None:  # noqa: ANN401
    """Check the type of one key of a cluster file; what belongs together is checked later."""
    from pydantic import ValidationError

    try:
        ClusterFile.model_validate(nested({name: value}))
    except ValidationError as error:
        for one in error.errors():
            if one["type"] != "missing":
                raise ValueError(f"{one['msg'].lower()}, got {value!r}") from None


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

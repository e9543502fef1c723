"""What a sweep file says: what is fixed, what varies and how (see docs/sweeps.md).

::

    measures = ["p99(wait)"]                 # beside those of every summary

    [fixed]                                  # the same in every run
    trace = "KTH-SP2.swf.gz"

    [vary]                                   # a grid: every combination
    policy = ["fcfs", "easy", "spf+easy"]
    procs = {from = 80, to = 120, step = 10}
    cluster.power.idle = [50.0, 100.0]       # any key of a cluster file

    [[cases]]                                # settings that belong together
    name = "slow at night"
    cluster.rate_control = {kind = "queue", rates = [1.0, 1.5], k_low = 2, k_high = 10}

    [random]                                 # drawn, the same draws for every combination above
    runs = 50
    seed = 1
    load = {from = 0.5, to = 1.1}

The number of runs is grid × cases × random runs. Paths are relative to the file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from onega.core.documents import read_toml
from onega.core.errors import ExperimentError
from onega.core.policy import Policy
from onega.experiment.planning.targets import Measure
from onega.experiment.sweep.keys import CASE, check_value, is_known, is_table, nearest_key
from onega.experiment.sweep.policies import name_policies
from onega.experiment.sweep.tables import RandomTable, Range, SpecFile, Values, validated


@dataclass(frozen=True, slots=True)
class RandomDesign:
    """Draws of some keys: each a range, or values of which one is chosen."""

    runs: int
    seed: int
    method: str
    keys: Mapping[str, Range | Values]


@dataclass(frozen=True, slots=True)
class Spec:
    """A sweep file, checked and with dotted keys.

    Attributes
    ----------
    fixed
        Key → value.
    grid
        Key → values.
    cases
        Settings that belong together, each with its name under the key ``case``.
    random
        What is drawn, if anything.
    measures, read, note
        As in the file.
    folder
        Where relative paths start.
    policies
        Name → policy, for every name that ``policy`` takes.
    """

    fixed: Mapping[str, Any]
    grid: Mapping[str, Values]
    cases: tuple[Mapping[str, Any], ...]
    random: RandomDesign | None
    measures: tuple[str, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    folder: Path = Path()
    policies: Mapping[str, Policy] = field(default_factory=dict)

    @property
    def varied(self) -> tuple[str, ...]:
        """The keys that differ between runs, in the order of the file."""
        names = list(self.grid)
        for case in self.cases:
            names += case
        if self.random is not None:
            names += self.random.keys
        return tuple(dict.fromkeys(names))

    def values(self, key: str) -> Iterator[Any]:
        """Yield the values that a key takes; of a random range its ends."""
        if key in self.fixed:
            yield self.fixed[key]
        yield from self.grid.get(key, ())
        yield from (case[key] for case in self.cases if key in case)
        if self.random is not None and key in self.random.keys:
            drawn = self.random.keys[key]
            yield from (drawn.low, drawn.high) if isinstance(drawn, Range) else drawn

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as a file would say it, with dotted keys: `read_spec` takes it back."""
        result: dict[str, Any] = {
            "note": self.note,
            "measures": list(self.measures),
            "read": dict(self.read),
            "fixed": dict(self.fixed),
            "vary": {key: list(values) for key, values in self.grid.items()},
            "cases": [_without_case(case) for case in self.cases],
        }
        if self.random is not None:
            result["random"] = {
                "runs": self.random.runs,
                "seed": self.random.seed,
                "method": self.random.method,
                **{
                    key: one.model_dump(by_alias=True, exclude_none=True)
                    if isinstance(one, Range)
                    else list(one)
                    for key, one in self.random.keys.items()
                },
            }
        return {key: value for key, value in result.items() if value not in (None, [], {})}


def read_spec(
    source: str | os.PathLike[str] | Mapping[str, Any], *, named: Collection[str] = ()
) -> Spec:
    """Read a sweep file, or a dictionary with the same content.

    ``named`` are names of policies that are taken as they are: of objects that aren't there.

    Raises
    ------
    ExperimentError
        Something in it is wrong; the message names the key.
    """
    if isinstance(source, Mapping):
        return _spec(source, Path(), "", named)
    path = Path(source)
    data = read_toml(path, ExperimentError)
    return _spec(data, path.parent, f"{path}: ")


def _spec(data: Mapping[str, Any], folder: Path, where: str, named: Collection[str] = ()) -> Spec:
    try:
        return _checked(validated(SpecFile, data, ""), folder, named)
    except ExperimentError as error:
        raise ExperimentError(f"{where}{error}") from None


def _checked(file: SpecFile, folder: Path, named: Collection[str]) -> Spec:
    fixed = dict(_flat("fixed", file.fixed))
    grid = {key: _listed(f"vary.{key}", value) for key, value in _flat("vary", file.vary)}
    cases = tuple(_case(number, table) for number, table in enumerate(file.cases, 1))
    random = None if file.random is None else _random(file.random)
    spec = Spec(
        fixed,
        grid,
        cases,
        random,
        tuple(file.measures),
        file.read.model_dump(exclude_none=True),
        file.note,
        folder,
    )
    _check_measures(file.measures)
    _check_names(cases)
    _check_once(spec)
    for part, keys in (("fixed", fixed), ("vary", grid), ("random", random.keys if random else ())):
        for key in keys:
            _check_values(part, key, spec, named)
    for case in cases:
        for key in _without_case(case):
            if key != "name":
                _check_values(f"cases ({case[CASE]})", key, spec, named)
    if not spec.varied:
        raise ExperimentError("nothing varies; write [vary], [[cases]] or [random]")
    return spec if named else name_policies(spec)


def _check_values(part: str, key: str, spec: Spec, named: Collection[str]) -> None:
    for value in spec.values(key):
        if key == "policy" and isinstance(value, str) and value in named:
            continue
        try:
            check_value(key, value, spec.folder)
        except ValueError as error:
            raise ExperimentError(f"{part}.{key}: {error}") from None


def _flat(part: str, table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with their values, however the file wrote them."""
    for name, value in table.items():
        key = f"{before}{name}"
        inner = isinstance(value, Mapping) and not {"from", "to"} & set(value)
        if inner and is_table(key, value):
            yield from _flat(part, value, f"{key}.")
        elif is_known(key):
            yield key, value
        else:
            raise ExperimentError(f"unknown key {key!r} in {part}; {nearest_key(key)}")


def _listed(key: str, value: Any) -> Values:  # noqa: ANN401
    """Return the values of a grid's key."""
    if isinstance(value, Mapping):
        one: Range = validated(Range, value, key)
        try:
            return one.values()
        except ValueError as error:
            raise ExperimentError(f"{key}: {error}") from None
    if not isinstance(value, list | tuple):
        _refuse_single(key, value)
    if not value:
        raise ExperimentError(f"{key} is empty; give at least one value")
    repeated = [one for place, one in enumerate(value) if one in value[:place]]
    if repeated:
        raise ExperimentError(f"{key} has {repeated[0]!r} twice; every run would be made twice")
    return tuple(value)


def _refuse_single(key: str, value: Any) -> NoReturn:  # noqa: ANN401
    part, _, name = key.partition(".")
    raise ExperimentError(
        f"{key} needs a list of values or {{from = …, to = …}}, got {value!r}; "
        f"one value for all runs goes into [fixed] as {name} = {value!r}"
        if part == "vary"
        else f"{key} needs a list of values or {{from = …, to = …}}, got {value!r}"
    )


def _case(number: int, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case's settings, with its name under ``case``."""
    name = table.get("name", f"case {number}")
    if not isinstance(name, str) or not name:
        raise ExperimentError(f"cases: a name is a text, got {name!r}")
    settings = {key: value for key, value in table.items() if key != "name"}
    found = dict(_flat(f"cases ({name})", settings))
    if not found:
        raise ExperimentError(f"cases ({name}) sets nothing")
    return {CASE: name, **found}


def _without_case(case: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": case[CASE], **{key: case[key] for key in case if key != CASE}}


def _random(table: RandomTable) -> RandomDesign:
    given = dict(table.model_extra or {})
    keys: dict[str, Range | Values] = {}
    for key, value in _flat("random", given):
        if isinstance(value, Mapping):
            one: Range = validated(Range, value, f"random.{key}")
            try:
                one.drawn(0.5)
            except ValueError as error:
                raise ExperimentError(f"random.{key}: {error}") from None
            keys[key] = one
        else:
            keys[key] = _listed(f"random.{key}", value)
    if not keys:
        raise ExperimentError("random draws nothing; add a key, e.g. load = {from = 0.5, to = 1}")
    return RandomDesign(table.runs, table.seed, table.method, keys)


def _check_measures(measures: list[str]) -> None:
    for text in measures:
        try:
            Measure.parse(text)
        except ExperimentError as error:
            raise ExperimentError(f"measures: {error}") from None


def _check_names(cases: tuple[Mapping[str, Any], ...]) -> None:
    names = [case[CASE] for case in cases]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ExperimentError(f"cases: the name {name!r} is used twice")


def _check_once(spec: Spec) -> None:
    """Refuse a key that is set in two places."""
    parts: dict[str, set[str]] = {
        "[fixed]": set(spec.fixed),
        "[vary]": set(spec.grid),
        "[[cases]]": {key for case in spec.cases for key in case},
        "[random]": set(spec.random.keys) if spec.random else set(),
    }
    seen: dict[str, str] = {}
    for part, keys in parts.items():
        for key in sorted(keys):
            if key in seen:
                raise ExperimentError(f"{key} stands in {seen[key]} and in {part}; keep one")
            seen[key] = part

"""The settings of a machine that the page's forms show.

Which they are is said here; their labels, units, bounds and examples are the description's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, TypeAdapter

from onega.core.machine.cluster import CONTROLS, NEEDED
from onega.core.machine.settings.description import described
from onega.web.schemas import DemoRequest

_KIND: Final = "rate_control.kind"
_SEVERAL: Final = tuple(kind for kind, needs in NEEDED.items() if needs)
"""Rules that switch between rates."""


class FormField(NamedTuple):
    """A field: the place of what it holds in a request (``rate_control.rates.0``), and its words.

    ``kinds`` are the rules of rate control with which it is shown, all if there are none;
    ``examples`` a value for each, or one under an empty name.
    """

    name: str
    label: str
    hint: str
    kinds: tuple[str, ...]
    least: float | None
    most: float | None
    choices: dict[str, str]
    examples: dict[str, Any]


def _field(setting: str, place: int | None = None, hint: str = "") -> FormField:
    """Return the field of a setting, or of one entry of its list."""
    found = described(setting)
    extra = found.json_schema_extra if isinstance(found.json_schema_extra, dict) else {}
    unit = str(extra.get("unit", ""))
    key = setting.rpartition(".")[2]
    number = next(_numbers(TypeAdapter[Any](found.annotation or Any).json_schema()), {})
    kinds = tuple(kind for kind, needs in NEEDED.items() if key in needs)
    return FormField(
        setting if place is None else f"{setting}.{place}",
        found.title or key,
        ", ".join(filter(None, (unit, hint))),
        _SEVERAL if place else kinds,
        number.get("minimum"),
        number.get("maximum"),
        {str(kind): words for kind, words in CONTROLS.items()} if setting == _KIND else {},
        _examples(setting, place),
    )


def _numbers(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a schema says of numbers, also of those in lists."""
    if schema.get("type") in ("integer", "number"):
        yield schema
    for inner in (*schema.get("anyOf", ()), schema.get("items")):
        if inner:
            yield from _numbers(inner)


def _examples(setting: str, place: int | None) -> dict[str, Any]:
    """Return an example for each rule of rate control; of other tables the last one."""
    given = described(setting).examples or [None]
    if place is not None:
        given = [one[place] if isinstance(one, list) else one for one in given]
    if not setting.startswith("rate_control."):
        return {"": given[-1]}
    rows = zip(described(_KIND).examples or (), given, strict=True)
    return {kind: value for kind, value in rows if value is not None}


class Number(NamedTuple):
    """Bounds and the default of a number in a request."""

    least: float | None
    most: float | None
    default: Any


def _requested(request: type[BaseModel], name: str) -> Number:
    found = request.model_json_schema()["properties"][name]
    return Number(found.get("minimum"), found.get("maximum"), found.get("default"))


DEMO: Final = {name: _requested(DemoRequest, name) for name in ("jobs", "procs")}
PROCS: Final = _field("procs")
RATES: Final = (
    _field(_KIND),
    _field("rate_control.rates", 0, "lower, or the only one"),
    _field("rate_control.rates", 1, "higher"),
    *(_field(f"rate_control.{name}") for name in ("k_low", "k_high", "p_low", "p_high")),
)
POWER: Final = tuple(
    _field(f"power.{name}", place, f"at the {rate} rate")
    for name in ("busy", "idle")
    for place, rate in enumerate(("lower", "higher"))
)

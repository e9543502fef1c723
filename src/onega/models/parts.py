"""Parameters that a person can read: frozen dataclasses to JSON and back.

A part (an arrival process, a law, an estimate model, a whole workload model) is a frozen dataclass
with a ``KIND``. Its fields are numbers, words, arrays, other parts, or tuples of these; nothing
else is needed to write it down and to read it again, so a new family writes no code for it.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any, ClassVar, Self, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from onega.core.chains import Floats, Ints
from onega.core.errors import ModelError, suggest

_KINDS: dict[str, type[Part]] = {}


class Part:
    """Base of everything that is saved; subclasses are frozen dataclasses with a ``KIND``."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**options)
        if "KIND" in cls.__dict__:
            _KINDS[cls.KIND] = cls

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain numbers, words, lists and dictionaries."""
        values = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.KIND, "version": self.VERSION, **values}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build the part from `to_dict`'s answer; unknown, missing and bad values are refused."""
        values = dict(data)
        values.pop("kind", None)
        version = values.pop("version", 1)
        if version != cls.VERSION:
            raise ModelError(
                f"{cls.KIND}: version {version} isn't known, this Onega reads {cls.VERSION}"
            )
        hints = get_type_hints(cls)
        names = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        for name in values:
            if name not in names:
                raise ModelError(f"{cls.KIND}: no parameter {name!r}; {suggest(name, names)}")
        try:
            return cls(**{name: _typed(value, hints[name]) for name, value in values.items()})
        except (TypeError, ValueError, KeyError) as error:
            raise ModelError(f"{cls.KIND}: {error}") from None


def part_from_dict(data: dict[str, Any]) -> Part:
    """Build whichever part a dictionary with a ``kind`` describes."""
    # They register themselves when imported.
    from onega.models import (  # noqa: F401
        arrivals,
        chainpart,
        contexts,
        cycles,
        estimates,
        laws,
        pairs,
        tsafrir,
        users_groups,
    )

    kind = data.get("kind")
    if kind not in _KINDS:
        raise ModelError(f"no part of kind {kind!r}; {suggest(str(kind), sorted(_KINDS))}")
    return _KINDS[kind].from_dict(data)


def frozen_array(values: Any, dtype: type, *, shape: tuple[int | None, ...]) -> Any:  # noqa: ANN401
    """Return a read-only array of the given type and shape (None: any length)."""
    array: npt.NDArray[Any] = np.array(values, dtype=dtype)
    if array.size == 0 and len(shape) != array.ndim:
        array = array.reshape([size or 0 for size in shape])
    fits = array.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ModelError(f"an array of shape {shape} is needed, got {array.shape}")
    array.setflags(write=False)
    return array


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Part):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ModelError(f"a parameter is {value}; the model can't be saved")
    return value


def _typed(value: Any, hint: Any) -> Any:  # noqa: ANN401
    """Turn a JSON value into what a field's type asks for."""
    if isinstance(value, dict):
        return part_from_dict(value)
    if hint in (Floats, Ints):
        return np.asarray(value, dtype=np.float64 if hint == Floats else np.int64)
    if isinstance(value, list):
        inner = get_args(hint)[0] if get_args(hint) else None
        return tuple(_typed(item, inner) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def write_json(data: dict[str, Any]) -> str:
    """Write JSON for people: objects indented, lists of numbers on one line, tables row by row."""
    return _json(data, "") + "\n"


def _json(value: Any, indent: str) -> str:  # noqa: ANN401
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        items = (f"{deeper}{json.dumps(k)}: {_json(v, deeper)}" for k, v in value.items())
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
        return "[\n" + ",\n".join(deeper + _json(v, deeper) for v in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)

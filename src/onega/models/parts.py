"""Parameters that a person can read: frozen dataclasses to JSON and back.

A part (an arrival process, a law, an estimate model, a whole workload model) is a frozen dataclass
with a ``KIND``. Its fields are numbers, words, arrays, other parts, or tuples of these; nothing
else is needed to write it down and to read it again, so a new family writes no code for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from pydantic import AllowInfNan, PlainValidator, Strict, TypeAdapter, ValidationError

from onega.core.errors import ModelError, suggest
from onega.core.types import Floats, Ints

_KINDS: dict[str, type[Part]] = {}

Shapes = Mapping[str, tuple[int | str | None, ...]]
"""Shapes of a part's arrays: lengths, or None for any. A word stands for a length that is the same
wherever the word is; the first array that has it says which."""

BAD_PARAMETERS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What numbers that don't go together make of a formula: a file was edited, or damaged."""


class Part:
    """Base of everything that is saved; subclasses are frozen dataclasses with a ``KIND``."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    SHAPES: ClassVar[Shapes] = {}

    def __post_init__(self) -> None:
        lengths: dict[Any, int] = {}
        for name, shape in self.SHAPES.items():
            wanted = tuple(lengths.get(one) if isinstance(one, str) else one for one in shape)
            dtype = _dtypes(type(self))[name]  # type: ignore[arg-type]
            array = frozen_array(getattr(self, name), dtype, shape=wanted)
            object.__setattr__(self, name, array)
            lengths.update(zip(shape, array.shape, strict=True))
        self._check()

    def _check(self) -> None:
        """Refuse parameters that make no sense; parts say how."""

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
        accepted = _accepted(cls)  # type: ignore[arg-type]
        for name in values:
            if name not in accepted:
                raise ModelError(f"{cls.KIND}: no parameter {name!r}; {suggest(name, accepted)}")
        typed = {}
        for name, value in values.items():
            try:
                typed[name] = accepted[name].validate_python(value)
            except ValidationError as error:
                raise ModelError(f"{cls.KIND}: {name}{_told(error)}") from None
        try:
            return cls(**typed)
        except ModelError as error:
            raise ModelError(f"{cls.KIND}: {error}") from None
        except BAD_PARAMETERS as error:
            raise ModelError(f"{cls.KIND}: these parameters don't go together: {error}") from None


def part_from_dict(data: dict[str, Any]) -> Part:
    """Build whichever part a dictionary with a ``kind`` describes."""
    # They register themselves when imported.
    from onega.models.arrivals import arrivals, cycles  # noqa: F401
    from onega.models.estimates import estimates, tsafrir  # noqa: F401
    from onega.models.jobs import chainpart, contexts, laws, pairs, size_cycle  # noqa: F401
    from onega.models.site import campaigns  # noqa: F401
    from onega.models.users import groups  # noqa: F401

    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
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


@cache
def _dtypes(part: Any) -> dict[str, type]:  # noqa: ANN401
    """Return the types of a part's arrays."""
    hints = get_type_hints(part)
    return {name: np.int64 if hint == Ints else np.float64 for name, hint in hints.items()}


@cache
def _accepted(part: Any) -> dict[str, TypeAdapter[Any]]:  # noqa: ANN401
    """Return what each parameter of a part may be."""
    hints = get_type_hints(part)
    return {f.name: TypeAdapter(_schema(hints[f.name])) for f in fields(part)}


def _schema(hint: Any) -> Any:  # noqa: ANN401
    """Return what pydantic takes for a field's type: numbers are numbers, not texts or truths."""
    if hint in (Floats, Ints):
        return Annotated[Any, PlainValidator(partial(_array, whole=hint == Ints))]
    if isinstance(hint, type) and issubclass(hint, Part):
        return Annotated[Any, PlainValidator(partial(_inner_part, wanted=hint))]
    if hint is float:
        return Annotated[float, Strict(), AllowInfNan(allow_inf_nan=False)]
    if hint in (int, bool, str):
        return Annotated[hint, Strict()]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(_schema(one) for one in inner)]  # noqa: UP007
    if origin is tuple:
        return tuple[tuple(one if one is Ellipsis else _schema(one) for one in inner)]  # type: ignore[misc]
    return hint


def _array(value: object, *, whole: bool) -> npt.NDArray[Any]:
    """Return an array of numbers: finite ones, or whole ones."""
    if not isinstance(value, list):
        raise ValueError("a list of numbers is needed")
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        raise ValueError("a list of numbers, or lists of equally many, is needed") from None
    if array.size == 0:
        return array.astype(np.int64 if whole else np.float64)
    if array.dtype.kind not in ("i" if whole else "if"):
        raise ValueError(f"{'whole ' * whole}numbers of 64 bits are needed")
    if not np.isfinite(array).all():
        raise ValueError("finite numbers are needed")
    return array.astype(np.int64 if whole else np.float64)


def _inner_part(value: object, *, wanted: type[Part]) -> Part:
    if not isinstance(value, dict):
        raise ValueError("a table with a kind is needed")
    found = part_from_dict(value)
    if not isinstance(found, wanted):
        raise ValueError(f"a part of kind {found.KIND!r} has no place here")
    return found


def _told(error: ValidationError) -> str:
    """Say what is wrong first, and where."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = "".join(f"[{one}]" for one in first["loc"] if isinstance(one, int))
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


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

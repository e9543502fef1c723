"""Arrays by address: a large state as one structure of numbers and addresses.

A function that takes fifty arrays takes 350 values, and numba compiles and passes them all. The
detailed machine keeps its counters and the addresses of its arrays in one structure instead, passes
that structure's own address from function to function, and makes views where it needs them. A view
costs nothing and counts no references; whoever makes the structure keeps the arrays alive.

A structure is like numba's record, but its type has a short name: numba writes the type's name,
with every field of a record, into each function's and each call's symbol.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_builtin, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import intrinsic, models, register_model
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

F = TypeVar("F", bound=Callable[..., Any])


def callee(function: F) -> F:
    """Compile a function that only kernels call, once, without putting it into its callers.

    Compilation then grows with the number of functions, not with the number of calls. numba would
    compile it anew for each literal number that it is called with; here literals are numbers.
    """
    return _compiled(function, forceinline=False)


def small(function: F) -> F:
    """Compile a function that is put into its callers: where a call costs more than its work."""
    return _compiled(function, forceinline=True)


def _compiled(function: F, *, forceinline: bool) -> F:
    options = {
        "nogil": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "forceinline": forceinline,
    }
    compiled = numba.njit(**options)(function)
    compiler = compiled._compiler
    fold = compiler.fold_argument_types

    def fold_plainly(given: Any, named: Any) -> Any:  # noqa: ANN401
        signature, folded = fold(given, named)
        return signature, tuple(types.unliteral(one) for one in folded)

    compiler.fold_argument_types = fold_plainly
    return compiled


class Structure(types.Type):  # type: ignore[misc]
    """A pointer to numbers of a dtype, by name."""

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        super().__init__(name=name)

    def field(self, name: str) -> tuple[Any, int]:
        """Return a field's type and its offset in bytes."""
        assert self.dtype.fields is not None
        kind, offset = self.dtype.fields[name][:2]
        return from_dtype(kind), offset


@register_model(Structure)
class _StructureModel(models.OpaqueModel):  # type: ignore[misc]
    """Nothing but a pointer."""


@infer_getattr
class _StructureFields(AttributeTemplate):  # type: ignore[misc]
    key = Structure

    def generic_resolve(self, structure: Structure, name: str) -> Any:  # noqa: ANN401
        known = structure.dtype.fields
        return structure.field(name)[0] if known is not None and name in known else None


def _field_pointer(context: Any, builder: Any, structure: Any, value: Any, name: str) -> Any:  # noqa: ANN401
    kind, offset = structure.field(name)
    to = context.get_data_type(kind).as_pointer()
    return cgutils.pointer_add(builder, value, context.get_constant(types.intp, offset), to)


@lower_getattr_generic(Structure)
def _get_field(context: Any, builder: Any, structure: Any, value: Any, name: str) -> Any:  # noqa: ANN401
    return builder.load(_field_pointer(context, builder, structure, value, name))


@lower_setattr_generic(Structure)
def _set_field(context: Any, builder: Any, signature: Any, values: Any, name: str) -> None:  # noqa: ANN401
    at = _field_pointer(context, builder, signature.args[0], values[0], name)
    builder.store(values[1], at)


def structure(name: str, dtype: np.dtype[Any]) -> Any:  # noqa: ANN401
    """Return a function from an address to the structure there; all fields are i8 or f8."""
    kind = Structure(name, dtype)

    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:  # noqa: ANN401
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            return builder.inttoptr(arguments[0], context.get_value_type(kind))

        return kind(types.int64), code

    return at


def _make_view(context: Any, builder: Any, array: Any, address: Any, length: Any) -> Any:  # noqa: ANN401
    word = context.get_value_type(types.intp)
    size = context.get_abi_sizeof(context.get_data_type(array.dtype))
    if isinstance(array.dtype, types.Record):
        size = array.dtype.size
    made = context.make_array(array)(context, builder)
    arrayobj.populate_array(
        made,
        data=builder.inttoptr(address, made.data.type),
        shape=cgutils.pack_array(builder, [length]),
        strides=cgutils.pack_array(builder, [word(size)]),
        itemsize=word(size),
        meminfo=None,
    )
    return made._getvalue()


def sized_viewer(dtype: npt.DTypeLike) -> Any:  # noqa: ANN401
    """Return a function from (address, size) to a view as an array of ``dtype``."""
    array = types.Array(from_dtype(np.dtype(dtype)), 1, "C")

    @intrinsic
    def view(typing_context: Any, address: Any, length: Any) -> Any:  # noqa: ANN401
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            return _make_view(context, builder, array, arguments[0], arguments[1])

        return array(types.int64, types.int64), code

    return view


class Vector(types.Type):  # type: ignore[misc]
    """A pointer to numbers or structures that stand one after another.

    Unlike an array it is one value, and an index is an offset: no sizes, nothing from the end.
    """

    def __init__(self, name: str, element: Any, itemsize: int) -> None:  # noqa: ANN401
        self.element = element
        self.itemsize = itemsize
        super().__init__(name=f"Vector({name})")


@register_model(Vector)
class _VectorModel(models.OpaqueModel):  # type: ignore[misc]
    """Nothing but a pointer."""


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ANN401
        if isinstance(args[0], Vector) and isinstance(args[1], types.Integer):
            return signature(args[0].element, args[0], types.intp)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ANN401
        if isinstance(args[0], Vector) and isinstance(args[1], types.Integer):
            return signature(types.void, args[0], types.intp, args[0].element)
        return None


def _item_pointer(builder: Any, vector: Vector, start: Any, index: Any) -> Any:  # noqa: ANN401
    return cgutils.pointer_add(builder, start, builder.mul(index, index.type(vector.itemsize)))


@lower_builtin(operator.getitem, Vector, types.intp)
def _get_item(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:  # noqa: ANN401
    vector = sig.args[0]
    at = _item_pointer(builder, vector, *arguments)
    if isinstance(vector.element, Structure):
        return builder.bitcast(at, context.get_value_type(vector.element))
    return builder.load(builder.bitcast(at, context.get_data_type(vector.element).as_pointer()))


@lower_builtin(operator.setitem, Vector, types.intp, types.Any)
def _set_item(context: Any, builder: Any, sig: Any, arguments: Any) -> None:  # noqa: ANN401
    vector = sig.args[0]
    at = _item_pointer(builder, vector, *arguments[:2])
    if isinstance(vector.element, Structure):
        one = context.get_constant(types.intp, 1)
        size = context.get_constant(types.intp, vector.itemsize)
        cgutils.raw_memcpy(builder, at, arguments[2], one, size)
        return
    builder.store(
        arguments[2], builder.bitcast(at, context.get_data_type(vector.element).as_pointer())
    )


def viewer(name: str, dtype: npt.DTypeLike) -> Any:  # noqa: ANN401
    """Return a function from an address to a `Vector` of ``dtype``; a structure's has this name."""
    kind = np.dtype(dtype)
    element = Structure(name, kind) if kind.fields is not None else from_dtype(kind)
    vector = Vector(name, element, kind.itemsize)

    @intrinsic
    def view(typing_context: Any, address: Any) -> Any:  # noqa: ANN401
        def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:  # noqa: ANN401
            return builder.inttoptr(arguments[0], context.get_value_type(vector))

        return vector(types.int64), code

    return view


@intrinsic
def move(typing_context: Any, vector: Any, target: Any, source: Any, count: Any) -> Any:  # noqa: ANN401
    """Move ``count`` items from index ``source`` to ``target``; they may overlap."""

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:  # noqa: ANN401
        to, origin = (_item_pointer(builder, vector, arguments[0], at) for at in arguments[1:3])
        size = context.get_constant(types.intp, vector.itemsize)
        cgutils.raw_memmove(builder, to, origin, arguments[3], size)
        return context.get_dummy_value()

    return types.void(vector, types.intp, types.intp, types.intp), code


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:  # noqa: ANN401
    """Return the number of the lowest set bit of a word that isn't 0."""

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 1))

    return types.int64(types.int64), code


@intrinsic
def count_bits(typing_context: Any, word: Any) -> Any:  # noqa: ANN401
    """Return how many bits of a word are set."""

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), code


floats = viewer("Float", np.float64)
ints = viewer("Int", np.int64)
flags = viewer("Flag", np.uint8)

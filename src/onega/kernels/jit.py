"""The only module that knows numba: decorators, where compiled code is kept, and what numba lacks.

Kernels are compiled without the GIL and without fast-math, and kept on disk. numba notices a change
only in the file of the kernel itself, so they are kept in a folder that is named after the sources
of *all* kernels: nothing stale is ever used. Where nothing can be written, or what was written is
damaged, kernels are compiled all the same, and a line says so (`compile_events`).

With ``NUMBA_DISABLE_JIT=1`` everything here is the identity, or the same in numpy: kernels run as
Python, under a debugger.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import operator
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import cgutils, event
from numba.core.errors import NumbaError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
)

from onega.kernels import compile_events

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not numba.config.DISABLE_JIT
"""False with ``NUMBA_DISABLE_JIT=1``: kernels are Python."""

HERE = Path(__file__).resolve().parent
ALL = {"nogil": True, "error_model": "numpy"}
INNER = ALL | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def sources_stamp(folder: Path) -> str:
    """Return a digest of all sources in a folder, and of the settings that change compiled code."""
    digest = hashlib.sha256(repr(numba.config.BOUNDSCHECK).encode())
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> str | None:
    """Return where compiled kernels are kept on this machine; None if nowhere is writable.

    That is in ``NUMBA_CACHE_DIR``, if it is set; else beside the kernels, or in the user's cache.
    """
    given = numba.config.CACHE_DIR
    for root in [given] if given else [HERE / "__pycache__", Path("~/.cache/onega").expanduser()]:
        folder = Path(root) / f"kernels-{sources_stamp(HERE)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        for other in folder.parent.glob("kernels-*") if not given else ():
            if other != folder:  # of sources that are no more
                shutil.rmtree(other, ignore_errors=True)
        return str(folder)
    return None


CACHE = cache_folder() if COMPILED else None


class _Compiling(event.Listener):  # type: ignore[misc]
    """Tells the listeners; a kernel that is found in the cache makes no such event."""

    def on_start(self, event: object) -> None:
        compile_events.compiling()

    def on_end(self, event: object) -> None:
        compile_events.compiled()


event.register("numba:compile", _Compiling())


def kernel(function: F) -> F:
    """Compile a function of numbers and arrays that Python calls; kept on disk if possible."""
    if CACHE is None:
        return numba.njit(**ALL)(function)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, CACHE
    try:
        dispatcher = numba.njit(cache=True, **ALL)(function)
    finally:
        numba.config.CACHE_DIR = before
    get = dispatcher.compile

    def compile_anyway(signature: object) -> object:
        """Find or compile it; what goes wrong with the files is only told."""
        try:
            return get(signature)
        except NumbaError:
            raise
        except Exception as error:  # a damaged file raises whatever unpickling comes upon
            what = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            compile_events.tell_trouble(what, str(CACHE))
            shutil.rmtree(str(CACHE), ignore_errors=True)
            return get(signature)  # finds no files now, or what couldn't be written

    dispatcher.compile = compile_anyway
    return dispatcher


def part(function: F) -> F:
    """Compile a function into those that call it: a small one, or one that takes many arrays.

    numba passes an array as seven values: a call costs more than many a function's work.
    """
    return numba.njit(forceinline=True, **INNER)(function)


def compiled(function: F) -> F:
    """Compile a function that kernels call with one state (`by_reference`), where it is called."""
    return numba.njit(**INNER)(function)


@intrinsic
def _shift(typing_context: Any, array: Any, target: Any, source: Any, count: Any) -> Any:  # noqa: ANN401
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        whole = context.make_array(array)(context, builder, arguments[0])
        to, origin, number = (
            builder.mul(context.cast(builder, value, given, types.intp), whole.itemsize)
            for value, given in zip(arguments[1:], signature.args[1:], strict=True)
        )
        places = (cgutils.pointer_add(builder, whole.data, place) for place in (to, origin))
        cgutils.raw_memmove(builder, *places, number, number.type(1))
        return context.get_dummy_value()

    return types.void(array, target, source, count), code


def shift(array: Any, target: int, source: int, count: int) -> None:  # noqa: ANN401
    """Move ``count`` elements of a contiguous array from index ``source`` to ``target``.

    They may overlap: C's memmove, which a loop over overlapping elements can't keep up with.
    """
    array[target : target + count] = array[source : source + count].copy()


class _Rows(types.Array):  # type: ignore[misc]
    """An array of a state. Its indices are never negative: numba needn't ask whether they are."""


register_model(_Rows)(models.ArrayModel)


def _without_sign(context: Any, builder: Any, signature: Any, arguments: Any, what: Any) -> Any:  # noqa: ANN401
    array, index, *value = signature.args
    index = (
        types.UniTuple(types.uintp, index.count)
        if isinstance(index, types.BaseTuple)
        else types.uintp
    )
    unsigned = signature.replace(args=(array, index, *value))
    return context.get_function(what, unsigned)(builder, arguments)


for _index in (types.intp, types.UniTuple(types.intp, 2)):
    lower_builtin(operator.getitem, _Rows, _index)(partial(_without_sign, what=operator.getitem))
    lower_builtin(operator.setitem, _Rows, _index, types.Any)(
        partial(_without_sign, what=operator.setitem)
    )


class _Reference(types.Type):  # type: ignore[misc]
    """A pointer to a NamedTuple of arrays and of further such NamedTuples."""

    def __init__(self, to: Any) -> None:  # noqa: ANN401
        self.to = self.key = to
        super().__init__(f"Reference({to.instance_class.__name__})")  # short: it is in all symbols

    key = None


@register_model(_Reference)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:  # noqa: ANN401
        super().__init__(manager, kind, manager[kind.to].get_data_type().as_pointer())


@infer_getattr
class _ReferenceAttribute(AttributeTemplate):  # type: ignore[misc]
    key = _Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:  # noqa: ANN401
        member = reference.to.types[reference.to.fields.index(name)]
        if isinstance(member, types.BaseNamedTuple):
            return _Reference(member)
        return _Rows(member.dtype, member.ndim, member.layout, aligned=member.aligned)


@lower_getattr_generic(_Reference)
def _member(context: Any, builder: Any, reference: Any, pointer: Any, name: str) -> Any:  # noqa: ANN401
    place = reference.to.fields.index(name)
    member, at = reference.to.types[place], cgutils.gep_inbounds(builder, pointer, 0, place)
    if isinstance(member, types.BaseNamedTuple):
        return at
    view = cgutils.create_struct_proxy(member)(context, builder, builder.load(at))
    view.meminfo = cgutils.get_null_value(view.meminfo.type)  # the caller of the kernel owns it
    return view._getvalue()


@intrinsic
def _by_reference(typing_context: Any, state: Any) -> Any:  # noqa: ANN401
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return cgutils.alloca_once_value(builder, arguments[0])

    return _Reference(state)(state), code


def by_reference(state: Any) -> Any:  # noqa: ANN401
    """Return the same state as one pointer, with the same attributes, for the rest of a kernel.

    numba passes a NamedTuple of arrays as seven values for each array, and counts references (two
    atomic additions) whenever an array is taken out of it. Both cost more than most functions do.
    """
    return state


if COMPILED:
    shift, by_reference = _shift, _by_reference


KEY = types.float64(types.float64, types.float64, types.float64, types.float64)
"""A user's priority: of now, submission, estimate and processors."""

NO_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4)(lambda *_: math.nan)
"""Stands where a user's function would: built-in orders have none."""


def key_function(function: Callable[..., float]) -> Any:  # noqa: ANN401
    """Compile a user's function to a pointer of the signature `KEY`; what it raises becomes NaN.

    Raises
    ------
    Exception
        Whatever numba says if it can't compile it.
    """
    inner = numba.njit(nogil=True)(function)
    if COMPILED:
        inner.compile(KEY.args)

    def guarded(now: float, submit: float, estimate: float, procs: float) -> float:
        value: float = math.nan
        try:
            value = 1.0 * inner(now, submit, estimate, procs)  # float() refuses a bool here
        except Exception:
            value = math.nan
        return value

    if not COMPILED:
        return guarded
    whole = numba.cfunc(KEY)(guarded)
    pointer = whole.ctypes
    pointer.owner = whole  # the code lives as long as its pointer
    return pointer

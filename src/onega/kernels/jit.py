"""The only module that knows numba: decorators, the cache, and what numba lacks.

Kernels are compiled without the GIL and without fast-math, and cached on disk. numba finds out that
a cached kernel is stale from its own file only; a kernel that calls a helper of another file would
go on using the old helper. Our cache is therefore stamped with the sources of all kernel modules
that a kernel uses. Where nothing can be written, or what was written is damaged, kernels are
compiled without it, and a line says so (`compile_events`).

With ``NUMBA_DISABLE_JIT=1`` everything here is the identity, or the same in numpy: kernels run as
Python, under a debugger.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.experimental.function_type  # teaches numba to pass functions by their address
from numba import types
from numba.core import caching, cgutils, event
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
)

from onega.kernels import compile_events as news

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not numba.config.DISABLE_JIT
"""False with ``NUMBA_DISABLE_JIT=1``: kernels are Python."""

_HERE = Path(__file__).resolve().parent
_IMPORT = re.compile(r"^from onega\.kernels((?:\.\w+)*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def _imported(source: str) -> list[Path]:
    """Return the files of the kernel modules that a source imports, or imports names from."""
    found = []
    for place, listed, rest in _IMPORT.findall(source):
        home = _HERE.joinpath(*place.split("."))
        names = re.findall(r"\w+", listed or rest)
        files = [home.with_suffix(".py"), *(home / f"{name}.py" for name in names)]
        found += [file for file in files if file.is_file()]
    return found


@cache
def sources_stamp(module: Path) -> str:
    """Return a digest of a kernel module's file and of all kernel modules that it uses."""
    sources: dict[Path, str] = {}
    wanted = [module]
    while wanted:
        file = wanted.pop()
        if file not in sources:
            sources[file] = file.read_text("utf-8")
            wanted += _imported(sources[file])
    joined = "".join(sources[file] for file in sorted(sources))
    return hashlib.sha256(joined.encode()).hexdigest()


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, with our stamp; what goes wrong with it is only told."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = sources_stamp(Path(function.__code__.co_filename).resolve())
        self._cache_file = caching.IndexDataCacheFile(
            self._cache_path, self._impl.filename_base, stamp
        )

    def load_overload(self, sig: object, target_context: object) -> Any:  # noqa: ANN401
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged file raises whatever unpickling comes upon
            news.tell_trouble(f"can't be read ({_short(error)})", self.cache_path)
            self._put_right()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # no room, no right to write, a path that has gone
            news.tell_trouble(f"can't be written ({_short(error)})", self.cache_path)

    def _put_right(self) -> None:
        """Forget what is damaged, so that it is written anew."""
        try:
            self.flush()
        except OSError as error:
            news.tell_trouble(f"can't be written ({_short(error)})", self.cache_path)


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:120]


class _Compiling(event.Listener):  # type: ignore[misc]
    """Tells those who wait; a kernel that is found in the cache makes no such event."""

    def on_start(self, event: object) -> None:
        news.compiling()

    def on_end(self, event: object) -> None:
        news.compiled()


event.register("numba:compile", _Compiling())


def kernel(function: F) -> F:
    """Compile a function of numbers and arrays that Python calls; cached if possible."""
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    if COMPILED:
        # numba's RuntimeError: "no locator available", there is nowhere to write.
        with contextlib.suppress(RuntimeError, OSError):
            compiled._cache = _Cache(function)
    return compiled


def part(function: F) -> F:
    """Compile a function that only kernels call: no wrapper for Python, no cache of its own.

    A wrapper would unpack every array of every argument, which costs more than the function; and
    an array is passed as seven values, so that a call costs more than many a function's work.
    """
    options = {
        "nogil": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "forceinline": True,
        "error_model": "numpy",
    }
    return numba.njit(**options)(function)


def compiled(function: F) -> F:
    """Compile a function that kernels call with one state (`by_reference`), where it is called."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    return numba.njit(nogil=True, **options)(function)


def inlined(function: F) -> F:
    """Put a function's statements where it is called: for long ones called from one place.

    Compiling a function costs about as much as its arguments have arrays, so a part of a loop that
    takes the whole state is cheaper inside the loop.
    """
    return numba.njit(nogil=True, inline="always")(function)


@intrinsic
def _unowned(typing_context: Any, array: Any) -> Any:  # noqa: ANN401
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        view = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), code


@intrinsic
def _shift(typing_context: Any, array: Any, target: Any, source: Any, count: Any) -> Any:  # noqa: ANN401
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        of_type = signature.args[0]
        whole = context.make_array(of_type)(context, builder, arguments[0])
        size = context.get_abi_sizeof(context.get_data_type(of_type.dtype))
        if isinstance(of_type.dtype, types.Record):
            size = of_type.dtype.size
        start, end, number = (
            context.cast(builder, value, given, types.intp)
            for value, given in zip(arguments[1:], signature.args[1:], strict=True)
        )
        to = cgutils.pointer_add(builder, whole.data, builder.mul(start, start.type(size)))
        origin = cgutils.pointer_add(builder, whole.data, builder.mul(end, end.type(size)))
        cgutils.raw_memmove(builder, to, origin, number, number.type(size))
        return context.get_dummy_value()

    return types.void(array, target, source, count), code


def unowned(array: Any) -> Any:  # noqa: ANN401
    """Return a view of an array that numba doesn't count references to.

    Taking an array out of a tuple counts a reference, atomically; in a loop that passes tuples of
    arrays around, that costs more than the work. The caller keeps the arrays alive.
    """
    return array


def shift(array: Any, target: int, source: int, count: int) -> None:  # noqa: ANN401
    """Move ``count`` elements of a contiguous array from index ``source`` to ``target``.

    They may overlap: C's memmove, which a loop over overlapping elements can't keep up with.
    """
    array[target : target + count] = array[source : source + count].copy()


class _Reference(types.Type):  # type: ignore[misc]
    """A pointer to a NamedTuple of arrays and of further such NamedTuples."""

    def __init__(self, to: Any) -> None:  # noqa: ANN401
        self.to = to
        super().__init__(f"Reference({to.instance_class.__name__})")  # short: it is in all symbols

    @property
    def key(self) -> Any:  # noqa: ANN401
        return self.to


@register_model(_Reference)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:  # noqa: ANN401
        super().__init__(manager, kind, manager[kind.to].get_data_type().as_pointer())


@infer_getattr
class _ReferenceAttribute(AttributeTemplate):  # type: ignore[misc]
    key = _Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:  # noqa: ANN401
        member = reference.to.types[reference.to.fields.index(name)]
        return _Reference(member) if isinstance(member, types.NamedTuple) else member


@lower_getattr_generic(_Reference)
def _member(context: Any, builder: Any, reference: Any, pointer: Any, name: str) -> Any:  # noqa: ANN401
    place = reference.to.fields.index(name)
    member, at = reference.to.types[place], cgutils.gep_inbounds(builder, pointer, 0, place)
    if isinstance(member, types.NamedTuple):
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
    Not all fields of a NamedTuple may be of one type: numba has another layout for those.
    """
    return state


if COMPILED:
    unowned, shift, by_reference = _unowned, _shift, _by_reference

KEY = types.float64(types.float64, types.float64, types.float64, types.float64)
"""A user's priority: of now, submission, estimate and processors."""

_KEY_TYPE = types.FunctionType(KEY)
_Native = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4)
_nothing = _Native(lambda now, submit, estimate, procs: math.nan)
_nothing_at = ctypes.cast(_nothing, ctypes.c_void_p).value or 1


class _NoFunction(types.WrapperAddressProtocol):  # type: ignore[misc]
    """Stands where a user's function would: built-in orders have none."""

    def __wrapper_address__(self) -> int:
        return _nothing_at

    def signature(self) -> Any:  # noqa: ANN401
        return KEY


NO_FUNCTION = _NoFunction()


@typeof_impl.register(_NoFunction)
def _typeof_no_function(value: _NoFunction, context: object) -> Any:  # noqa: ANN401
    """Tell numba the type, which it would make anew at every call of a kernel."""
    return _KEY_TYPE


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

    return numba.cfunc(KEY)(guarded) if COMPILED else guarded


def cache_folder() -> str | None:
    """Return where compiled kernels are kept on this machine; None if nowhere is writable."""

    def probe() -> None:
        return None

    probe.__code__ = probe.__code__.replace(co_filename=str(_HERE / "jit.py"))
    try:
        return str(caching.FunctionCache(probe).cache_path)
    except (RuntimeError, OSError):
        return None

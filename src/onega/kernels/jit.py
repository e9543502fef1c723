"""The one decorator of all kernels: compiled, cached on disk, without the GIL.

numba finds out that a cached kernel is stale from its own file only; a kernel that calls a helper
of another file would go on using the old helper. Our cache is therefore stamped with the sources
of all kernel modules that a kernel uses. A read-only installation without a writable cache
directory still works: it compiles in every process.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import caching, cgutils, event
from numba.extending import intrinsic

from onega.kernels import news

F = TypeVar("F", bound=Callable[..., Any])

_HERE = Path(__file__).resolve().parent

# numba 0.60 spells it with an underscore.
_implementation: Any = getattr(caching, "CacheImpl", None) or caching._CacheImpl


_IMPORT = re.compile(r"^from onega\.kernels\.(\w+) import", re.MULTILINE)


@cache
def sources_stamp(module: str) -> str:
    """Return a digest of a kernel module and of all kernel modules that it uses."""
    sources: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        if name not in sources:
            sources[name] = (_HERE / f"{name}.py").read_text("utf-8")
            wanted += _IMPORT.findall(sources[name])
    joined = "".join(sources[name] for name in sorted(sources))
    return hashlib.sha256(joined.encode()).hexdigest()


def _stamped(locator: type) -> type:
    """Derive a cache locator that serves only our kernels and stamps them with their sources."""

    class Stamped(locator):  # type: ignore[misc]
        def get_source_stamp(self) -> object:
            return sources_stamp(Path(self._py_file).stem)

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:  # noqa: ANN401
            if Path(py_file).parent != _HERE:
                return None
            return super().from_function(py_func, py_file)

    return Stamped


def _install_locators() -> None:
    locators = _implementation._locator_classes
    if not any(locator.__name__ == "Stamped" for locator in locators):
        _implementation._locator_classes = [_stamped(one) for one in locators] + locators


_install_locators()


class _Compiling(event.Listener):  # type: ignore[misc]
    """Tells whoever waits; a kernel that is found in the cache makes no such event."""

    def on_start(self, event: object) -> None:
        news.compiling()

    def on_end(self, event: object) -> None:
        """Nobody asked when it ends."""


event.register("numba:compile", _Compiling())


def kernel(function: F) -> F:
    """Compile a function of numbers and arrays: no GIL, no fast-math, cached if possible."""
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba: "no locator available": nowhere to write
        return numba.njit(nogil=True)(function)


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


def inlined(function: F) -> F:
    """Put a function's statements where it is called: for long ones called from one place.

    Compiling a function costs about as much as its arguments have arrays, so a part of a loop that
    takes the whole state is cheaper inside the loop.
    """
    return numba.njit(nogil=True, inline="always")(function)


@intrinsic
def unowned(typing_context: Any, array: Any) -> Any:  # noqa: ANN401
    """Return a view of an array that numba doesn't count references to.

    Taking an array out of a tuple counts a reference, atomically; in a loop that passes tuples of
    arrays around, that costs more than the work. The caller keeps the arrays alive.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        view = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), code


@intrinsic
def shift(typing_context: Any, array: Any, target: Any, source: Any, count: Any) -> Any:  # noqa: ANN401
    """Move ``count`` elements of a contiguous array from index ``source`` to ``target``.

    They may overlap: C's memmove, which a loop over overlapping elements can't keep up with.
    """

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


def cache_folder() -> str | None:
    """Return where compiled kernels are kept on this machine; None if nowhere is writable."""

    def probe() -> None:
        return None

    probe.__code__ = probe.__code__.replace(co_filename=str(_HERE / "jit.py"))
    try:
        return str(caching.FunctionCache(probe).cache_path)
    except RuntimeError:
        return None

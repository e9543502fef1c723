"""Arrays by address: a large state as one record of numbers and addresses.

A function that takes fifty arrays takes 350 values, and numba compiles and passes them all. The
detailed machine keeps its counters and the addresses of its arrays in one record instead, passes
the record's own address from function to function, and makes views where it needs them. A view
costs nothing and counts no references; whoever makes the record keeps the arrays alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

F = TypeVar("F", bound=Callable[..., Any])

UNKNOWN_SIZE = 1 << 40


def callee(function: F) -> F:
    """Compile a function that only kernels call, once, without putting it into its callers.

    Compilation then grows with the number of functions, not with the number of calls.
    """
    options = {
        "nogil": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
    }
    return numba.njit(**options)(function)


def sized_viewer(dtype: npt.DTypeLike) -> Any:  # noqa: ANN401
    """Return a function from (address, size) to a view as an array of ``dtype``."""
    element = from_dtype(np.dtype(dtype))
    array = types.Array(element, 1, "C")
    size = np.dtype(dtype).itemsize

    @intrinsic
    def view(typing_context: Any, address: Any, length: Any) -> Any:  # noqa: ANN401
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            word = context.get_value_type(types.intp)
            made = context.make_array(array)(context, builder)
            arrayobj.populate_array(
                made,
                data=builder.inttoptr(arguments[0], made.data.type),
                shape=cgutils.pack_array(builder, [arguments[1]]),
                strides=cgutils.pack_array(builder, [word(size)]),
                itemsize=word(size),
                meminfo=None,
            )
            return made._getvalue()

        return array(types.int64, types.int64), code

    return view


def viewer(dtype: npt.DTypeLike) -> Any:  # noqa: ANN401
    """Return a function from an address to a view as an array of ``dtype``, of unknown size."""
    sized = sized_viewer(dtype)

    def view(address: int) -> npt.NDArray[Any]:
        return sized(address, UNKNOWN_SIZE)

    return callee(view)


floats = viewer(np.float64)
ints = viewer(np.int64)
flags = viewer(np.uint8)

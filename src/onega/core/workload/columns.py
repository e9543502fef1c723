"""Columns as kernels take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def fixed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column contiguous and read-only, a view if possible.

    Whole numbers come as int64, all others as float64: a kernel is compiled for every kind of array
    that it is given, so there is one kind of each.
    """
    dtype = np.int64 if values.dtype.kind in "iu" else np.float64
    found = np.ascontiguousarray(values, dtype).view()
    found.setflags(write=False)
    return found

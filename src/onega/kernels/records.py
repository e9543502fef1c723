"""Records: what kernels keep their state in, the same compiled and as plain Python.

Arrays have dtypes of `numpy.record`: ``jobs[3].start = now`` means the same with the compiler and
with ``NUMBA_DISABLE_JIT=1``. In both cases ``jobs[3]`` is a reference, ``a[i] = b[j]`` a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.kernels.types import Records

ROWS = 4096
"""Records that are filled together, field by field, while they are in the cache: half the time."""

WHOLE, REAL = "i8", "f8"
"""The kinds of fields."""


def record(**fields: str) -> np.dtype[np.void]:
    """Return the dtype of records with these fields, by name: ``record(key=REAL, count=WHOLE)``.

    A name that numpy's scalars have themselves (``size``, ``data``, ``take`` …) would be read as
    theirs without the compiler, in silence; it is refused.
    """
    taken = sorted(set(fields) & set(dir(np.record)))
    if taken:
        raise ValueError(f"numpy's records have attributes of these names already: {taken}")
    plain = np.dtype(list(fields.items()), align=True)
    return np.dtype((np.record, plain))


def to_records(kind: np.dtype[np.void], count: int, **columns: Any) -> Records:  # noqa: ANN401
    """Make so many records of columns, or of one value for all; fields that aren't given are 0."""
    records = np.zeros(count, kind)
    for first in range(0, count, ROWS):
        some = slice(first, first + ROWS)
        for name, values in columns.items():
            records[name][some] = values[some] if np.ndim(values) else values
    return records

"""Arrays that a kernel finds by their addresses: the record that has these, and who keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onega.kernels import detailed_state as layout

Array = npt.NDArray[Any]

PLACES = {
    name: (place, layout.STATE[place].kind == "f")
    for place, name in enumerate(layout.STATE.names or ())
}
"""Where each field of the state stands, and whether it is no whole number; all are 8 bytes wide."""

ADDRESSES = {
    name.removesuffix("_at"): place for name, (place, _) in PLACES.items() if name.endswith("_at")
}
"""Where each array's address stands."""

PIECE = 1 << 16
"""Bytes of a piece of memory that small arrays share."""

FLOAT, INT, FLAG = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint8)


class Views(dict[str, Array]):
    """Arrays by name; those that only the kernel uses are made when somebody asks for them."""

    def __init__(self) -> None:
        super().__init__()
        self.rooms: dict[str, tuple[int, np.dtype[Any], Array, int]] = {}

    def __missing__(self, name: str) -> Array:
        count, dtype, piece, first = self.rooms[name]
        self[name] = view = np.ndarray((count,), dtype, piece, first)
        return view


class Addressed:
    """Arrays of a run by name, and ``state``, the record with their addresses.

    An array without entries has no address: nobody reads it.
    """

    def __init__(self) -> None:
        self._whole = np.zeros(len(PLACES), INT)
        self._real = self._whole.view(FLOAT)
        self.state: Array = np.ndarray((1,), layout.STATE, self._whole)
        self.address: int = self._whole.ctypes.data
        """Where the kernel finds the state."""
        self.arrays = Views()
        self._known: dict[int, int] = {}
        self._piece, self._piece_at, self._used = np.empty(0, FLAG), 0, 0

    def bind(self, name: str, values: npt.ArrayLike, dtype: np.dtype[Any] = FLOAT) -> Array:
        """Keep an array and note its address; it is copied only if its layout asks for it."""
        array = np.ascontiguousarray(values, dtype)
        self.arrays[name] = array
        if array.size:
            at = self._known.get(id(array))  # many columns of a log are one: nothing for anybody
            if at is None:
                self._known[id(array)] = at = array.ctypes.data
            self._whole[ADDRESSES[name]] = at
        return array

    def room(self, name: str, count: int, dtype: np.dtype[Any] = FLOAT) -> None:
        """Make an array of zeros. They lie together: one by one they take far more time."""
        size = (count * dtype.itemsize + 7) & ~7
        first = self._used
        if first + size > self._piece.size:
            self._piece = np.zeros(max(size, PIECE), FLAG)
            self._piece_at, first = self._piece.ctypes.data, 0
        self._used = first + size
        self.arrays.rooms[name] = count, dtype, self._piece, first
        self._whole[ADDRESSES[name]] = self._piece_at + first

    def empty(self, name: str, count: int, dtype: np.dtype[Any]) -> Array:
        """Make an array without any values yet, in memory of its own."""
        array = np.empty(count, dtype)
        self._whole[ADDRESSES[name]] = array.ctypes.data
        self.arrays[name] = array
        return array

    def set(self, **values: float) -> None:
        """Set fields of the state."""
        for name, value in values.items():
            place, real = PLACES[name]
            (self._real if real else self._whole)[place] = value

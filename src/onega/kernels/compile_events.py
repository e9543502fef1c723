"""What waiting users should hear of the compiler (without importing it)."""

from __future__ import annotations

import warnings
from collections.abc import Callable

listeners: list[Callable[[], None]] = []
"""Called each time that a function begins to be compiled."""

afterwards: list[Callable[[], None]] = []
"""Called each time that a function has been compiled, those that it calls before itself."""

troubles: list[Callable[[str], None]] = []
"""Called with a line if compiled functions can't be kept; without any listener it is a warning."""

_told: list[str] = []


def compiling() -> None:
    """Tell all listeners."""
    for listener in listeners:
        listener()


def compiled() -> None:
    """Tell those who want to know how long it took."""
    for listener in afterwards:
        listener()


def tell_trouble(what: str, folder: str) -> None:
    """Say, once, what went wrong with compiled kernels in a folder."""
    if _told:
        return
    _told.append(folder)
    line = (
        f"the cache of compiled kernels can't be used ({what}); they are compiled anew, which "
        f"takes longer; to clear it, remove the folder {folder}, or set NUMBA_CACHE_DIR"
    )
    for listener in troubles:
        listener(line)
    if not troubles:
        warnings.warn(line, RuntimeWarning, stacklevel=2)

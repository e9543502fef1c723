"""That kernels are being compiled, for whoever waits (without importing the compiler)."""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[], None]] = []
"""Called each time that a function begins to be compiled."""


def compiling() -> None:
    """Tell all listeners."""
    for listener in listeners:
        listener()

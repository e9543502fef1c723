"""What the page may use, where it keeps its files, and which requests it answers."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onega.traces.files import Limits

MIB: Final = 1 << 20
GIB: Final = 1 << 30

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names under which this machine talks to itself."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the page is run.

    Attributes
    ----------
    state
        Folder of uploads and results.
    token
        What every request has to bring; None: nothing.
    hosts
        Names that a request's ``Host`` may have; None: any (then a token is needed).
    workers
        Processes that read, simulate and fit.
    upload
        Bytes of an uploaded file at most.
    text
        Bytes of its text, decompressed, at most.
    ratio
        Times that a compressed file may grow.
    jobs
        Jobs of one log at most.
    memory
        Bytes of data of one worker process at most.
    seconds
        Seconds of one task at most, but for what the compiler takes.
    compiling
        Seconds of the compiler in one task at most.
    queue
        Tasks that may wait at a time.
    store
        Bytes of all logs and results together, above which nothing new is taken.
    connections
        Connections that are open at a time at most.
    header
        Seconds in which a connection has to say what it wants.
    stall
        Seconds without a byte of a request's body, or of an answer, at most.
    """

    state: Path
    token: str | None = None
    hosts: frozenset[str] | None = LOOPBACK
    workers: int = 2
    upload: int = 200 * MIB
    text: int = 2 * GIB
    ratio: float = 200.0
    jobs: int = 5_000_000
    memory: int = 4 * GIB
    seconds: float = 600.0
    compiling: float = 3600.0
    queue: int = 1000
    store: int = 20 * GIB
    connections: int = 200
    header: float = 10.0
    stall: float = 60.0

    def reading(self) -> Limits:
        """Return the limits of the reader."""
        return Limits(size=self.text, ratio=self.ratio, ratio_from=64 * MIB)


def default_state() -> Path:
    """Return the user's own folder for data of programs, by the system's custom."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "onega"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "onega"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "onega"

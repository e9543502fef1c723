"""Putting the clock of a virtual machine forward, for all of its processes at once."""

from __future__ import annotations

import mmap
import subprocess
from pathlib import Path
from typing import Final

from onega.comparison.virtual_slurm.tools import find_compiler
from onega.core.errors import SimulationError

SOURCE: Final = Path(__file__).with_suffix(".c")
"""The library that adds the jumps to what libfaketime says; why, and how, is told in it."""


class Jumps:
    """How far the clock has been put forward: a number that every process has in its memory.

    (libfaketime can read its offset from a file, too, whenever a process asks for the time. That
    makes every look at the clock dear, and what Slurm does on a fast clock visibly slower.)

    Attributes
    ----------
    seconds
        Whole virtual seconds so far.
    library
        What every process has to preload, before libfaketime.
    environment
        What tells the library where the number stands.
    """

    def __init__(self, folder: Path) -> None:
        self.seconds = 0
        self.library = folder / "clock.so"
        self.environment = {"ONEGA_CLOCK": str(folder / "clock")}
        command = [find_compiler(), "-shared", "-fPIC", "-O2", str(SOURCE), "-o", str(self.library)]
        done = subprocess.run([*command, "-ldl"], capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise SimulationError(f"the library of the jumping clock wasn't compiled: {last}")
        with (folder / "clock").open("wb+") as file:
            file.write(bytes(8))
            file.flush()
            self._shared = memoryview(mmap.mmap(file.fileno(), 8)).cast("q")

    def add(self, seconds: int) -> None:
        """Put the clock forward."""
        self.seconds += seconds
        self._shared[0] = self.seconds

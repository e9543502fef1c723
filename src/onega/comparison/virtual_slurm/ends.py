"""Telling the jobs of a virtual Slurm that they are over, each at its instant.

A job doesn't sleep: it writes when it is to end (the start that Slurm noted plus its run time) and
waits on a named pipe until it hears a word. A sleep would have to start a program first, which is
a second of a fast clock, and wouldn't notice when the clock jumps.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final, Self

from onega.comparison.virtual_slurm.slurm import VirtualSlurm

LOOK: Final = 0.01
"""Real seconds between two looks at what jobs and Slurm have written."""


class Tail:
    """The lines that a file has got since the last look."""

    def __init__(self, path: Path) -> None:
        self.path, self.read = path, 0

    def lines(self) -> list[bytes]:
        """Return them, whole lines only."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.read)
                whole = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self.read += len(whole[0]) + len(whole[1])
        return whole[0].split(b"\n") if whole[1] else []


class Ends:
    """A context: inside it, a thread tells running jobs of their ends, whatever else is done.

    Attributes
    ----------
    due
        Slurm's number of each job that listens → its end (virtual Unix seconds), its name. A job
        that runs again after an interruption listens anew.
    """

    def __init__(self, slurm: VirtualSlurm) -> None:
        self.slurm = slurm
        self.due: dict[int, tuple[float, str]] = {}
        self._written = Tail(slurm.ends)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ends of jobs", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            pause = self._look()

    def _look(self) -> float:
        """Hear of new ends, tell those that have come; return the real seconds to the next look."""
        for line in self._written.lines():
            told = line.decode().split()
            self.due[int(told[0])] = (int(told[1]) / 1e6, told[2])
        now, soonest = self.slurm.now(), LOOK
        for number, (end, name) in list(self.due.items()):
            if end > now:
                soonest = min(soonest, (end - now) / self.slurm.speed)
            else:
                self._tell(name)
                del self.due[number]
        return soonest

    def _tell(self, name: str) -> None:
        """Write a word into a job's pipe; a job that Slurm has ended itself no longer listens."""
        with contextlib.suppress(OSError):
            pipe = os.open(self.slurm.pipe(name), os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(pipe, b"\n")
            finally:
                os.close(pipe)

"""Driving a virtual Slurm on a clock that jumps over the time in which nothing can happen.

The "model time" of Baranov et al. 2019, IV: when nothing can happen until T, the clock goes to just
before T. What can happen: a submission, the end of a running job (both known to the driver), and
what Slurm makes of the last of these, for which it gets time at the ordinary speed. Sleeps that
have begun don't notice a jump, so jobs don't sleep: each waits for a word on a named pipe, and the
driver says it at the start that Slurm noted plus the run time.
"""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onega.comparison.virtual_slurm.drive import Action, Drive
from onega.comparison.virtual_slurm.slurm import VirtualSlurm
from onega.core.slurm.parameters import SlurmParameters
from onega.core.types import Progress
from onega.core.workload.workload import Workload

AHEAD: Final = 2.0
"""Virtual seconds before the next event at which a jump ends: every loop has begun a new sleep."""

QUIET: Final = 3.0
"""Virtual seconds that a job's nodes need at most until they are free, at the faithful speeds."""

WORTHWHILE: Final = 2.0
"""A jump of fewer virtual seconds isn't made."""

LOOK: Final = 0.01
"""Real seconds between two looks at what Slurm has written."""

_STARTED: Final = re.compile(rb"(?:sched: Allocate|_start_job: Started) JobId=(\d+) ")
_ENDED: Final = re.compile(rb"_job_complete: JobId=(\d+) done")


@dataclass(slots=True)
class _Running:
    """A job that Slurm has started: when it is to end, and the pipe on which it waits for that."""

    end: float = math.inf
    pipe: int | None = None


class _Tail:
    """The lines that a file has got since the last look."""

    def __init__(self, path: Path) -> None:
        self.path, self.read = path, 0

    def lines(self) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                file.seek(self.read)
                whole = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self.read += len(whole[0]) + len(whole[1])
        return whole[0].split(b"\n") if whole[1] else []


class JumpingDrive(Drive):
    """One run of a stream on a clock that jumps; nothing happens to it but submissions."""

    def __init__(
        self, slurm: VirtualSlurm, jobs: Workload, actions: list[Action], *, rule: str
    ) -> None:
        super().__init__(slurm, jobs, actions, rule=rule)
        self._running: dict[int, _Running] = {}
        self._runtimes: dict[int, float] = {}
        self._happened = slurm.now()
        self._log, self._starts = _Tail(slurm.folder / "slurmctld.log"), _Tail(slurm.starts)
        told = {"schedulerparameters": slurm.conf.parameters}
        self._rules = SlurmParameters.of(told)

    def run(self, zero: float, progress: Progress) -> None:
        """Do everything at its instant, ``zero`` being the stream's beginning; wait for the end."""
        steps = [(zero + when, row) for when, row in self._steps() if isinstance(row, int)]
        submitted = over = 0
        looked = time.monotonic()
        while over < len(steps):
            over += self._listen()
            coming = steps[submitted][0] if submitted < len(steps) else math.inf
            due = min([coming, *(one.end for one in self._running.values())])
            now = self.slurm.now()
            if coming <= now:
                self._submit(steps[submitted][1])
                submitted += 1
                self._happened = self.slurm.now()
                progress(0.9 * submitted / len(steps))
            elif due <= now:
                self._say_ends(now)
            elif due - now > AHEAD + WORTHWHILE and self._settled(submitted - over, now):
                self.slurm.jump(due - AHEAD - now)
            else:
                time.sleep(min((due - now) / self.slurm.speed, LOOK))
            if time.monotonic() - looked > 1.0:
                looked = time.monotonic()
                self.slurm.check_alive()
                self._care()
        self._wait_for_ends(progress)

    def _submit(self, row: int) -> None:
        job = int(self.jobs.column("job")[row])
        os.mkfifo(self.slurm.pipe(job), 0o600)
        super()._submit(row)
        self._runtimes[self._numbers[job]] = float(self.jobs.column("runtime")[row])

    def _settled(self, present: int, now: float) -> bool:
        """Tell whether Slurm has done all that follows from what happened last."""
        if any(math.isinf(one.end) for one in self._running.values()):
            return False
        patience = QUIET + self._rules.batch_sched_delay
        if present > len(self._running):
            # Jobs wait: the next passes and cycles may start them.
            patience = QUIET + self._rules.sched_interval + 2 * self._rules.bf_interval
        return now - self._happened > patience

    def _say_ends(self, now: float) -> None:
        """Let jobs end whose time has come; one that doesn't listen yet hears of it soon."""
        for one in self._running.values():
            if one.end <= now and one.pipe is not None:
                os.write(one.pipe, b"\n")
                os.close(one.pipe)
                one.pipe, one.end = None, math.inf
                self._happened = now

    def _listen(self) -> int:
        """Hear of starts and ends; return how many jobs have ended since the last time."""
        ended = 0
        for line in self._log.lines():
            if found := _STARTED.search(line):
                self._running[int(found[1])] = _Running()
            elif found := _ENDED.search(line):
                ended += self._running.pop(int(found[1]), None) is not None
            else:
                continue
            self._happened = self.slurm.now()
        for line in self._starts.lines():
            number, start, job = (int(word) for word in line.split())
            one = self._running.setdefault(number, _Running())
            one.pipe = os.open(self.slurm.pipe(job), os.O_WRONLY)
            one.end = start + self._runtimes[number]
        return ended

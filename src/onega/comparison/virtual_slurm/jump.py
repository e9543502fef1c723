"""Driving a virtual Slurm on a clock that jumps over the time in which nothing can happen.

The "model time" of Baranov et al. 2019, IV: when nothing can happen until T, the clock goes to just
before T. What can happen: a submission, the end of a running job (both known to the driver), and
what Slurm makes of the last of these, for which it gets time at the ordinary speed.
"""

from __future__ import annotations

import math
import re
import time
from typing import Final

from onega.comparison.virtual_slurm.drive import RULES, Action, Drive
from onega.comparison.virtual_slurm.ends import LOOK, Tail
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

_STARTED: Final = re.compile(rb"(?:sched: Allocate|_start_job: Started) JobId=(\d+) ")
_ENDED: Final = re.compile(rb"_job_complete: JobId=(\d+) done")


class JumpingDrive(Drive):
    """One run of a stream on a clock that jumps; nothing happens to it but submissions."""

    def __init__(
        self, slurm: VirtualSlurm, jobs: Workload, actions: list[Action], *, rule: str = RULES[0]
    ) -> None:
        super().__init__(slurm, jobs, actions, rule=rule)
        self._running: set[int] = set()
        self._present = 0
        self._happened = slurm.now()
        self._log = Tail(slurm.folder / "slurmctld.log")
        self._rules = SlurmParameters.of({"schedulerparameters": slurm.conf.parameters})

    def _submit(self, row: int) -> None:
        super()._submit(row)
        self._present += 1
        self._happened = self.slurm.now()

    def _wait_for_ends(self, progress: Progress) -> None:
        self._wait_until(math.inf)
        super()._wait_for_ends(progress)

    def _wait_until(self, instant: float) -> None:
        """Wait for an instant, or, if that is ∞, until no job is left; jump where that is safe."""
        looked = time.monotonic()
        while (now := self.slurm.now()) < instant and (self._present or instant < math.inf):
            self._listen()
            due = min([instant, *(end for end, _ in list(self.ends.due.values()))])
            if due - now > AHEAD + WORTHWHILE and self._settled(now):
                self.slurm.jump(math.floor(due - AHEAD - now))
            else:
                time.sleep(max(0.0, min((due - now) / self.slurm.speed, LOOK)))
            if time.monotonic() - looked > 1.0:
                looked = time.monotonic()
                self.slurm.check_alive()
                self._care()

    def _settled(self, now: float) -> bool:
        """Tell whether Slurm has done all that follows from what happened last."""
        if not self._running <= self.ends.due.keys():
            return False  # a job doesn't listen yet, or was told of its end
        waiting = self._present > len(self._running)
        patience = QUIET + self._rules.batch_sched_delay
        if waiting:
            # The next passes and cycles may start them.
            patience = QUIET + self._rules.sched_interval + 2 * self._rules.bf_interval
        if now - self._happened <= patience:
            return False
        # On a busy machine a cycle may take longer than that to come: see that one did.
        return not waiting or self.slurm.last_cycle() > self._happened

    def _listen(self) -> None:
        """Hear of starts and ends."""
        for line in self._log.lines():
            if found := _STARTED.search(line):
                self._running.add(int(found[1]))
            elif found := _ENDED.search(line):
                self._running.discard(int(found[1]))
                self._present -= 1
            else:
                continue
            self._happened = self.slurm.now()

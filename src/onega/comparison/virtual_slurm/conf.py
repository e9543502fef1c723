"""The slurm.conf of a virtual machine: loopback only, one node per processor, scaled budgets."""

from __future__ import annotations

import getpass
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onega.core.errors import SimulationError
from onega.core.files import write_text
from onega.core.slurm.conf import read_slurm_conf
from onega.core.slurm.parameters import NAMED

SETTINGS: Final = NAMED
"""Named SchedulerParameters: what an untouched Slurm does; looking every second, a week ahead."""

MOST_JOBS: Final = 200_000
"""Jobs that a virtual Slurm holds."""

NODE_MEMORY: Final = 6 << 20
"""Bytes that the daemon of one virtual node takes."""


@dataclass(frozen=True, slots=True)
class VirtualConf:
    """What goes into a slurm.conf.

    Attributes
    ----------
    folder
        Everything that Slurm writes is below it.
    procs
        Virtual processors; each is a node of its own, because Slurm's backfilling plans in whole
        nodes.
    speed
        Virtual seconds in a real one.
    parameters
        SchedulerParameters.
    port
        First of the ``procs`` + 1 ports on loopback; known when the machine starts.
    spool
        Where the nodes' sockets and scripts are; ``folder/spool`` if None.
    """

    folder: Path
    procs: int
    speed: float
    parameters: str
    port: int = 0
    spool: Path | None = None

    @property
    def node_names(self) -> list[str]:
        """v001, v002, …."""
        width = len(str(self.procs))
        return [f"v{number:0{width}d}" for number in range(1, self.procs + 1)]

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.folder / "slurm.conf"

    @property
    def longest_socket(self) -> int:
        """Characters in the path of the socket that a job's step makes on its node."""
        name = self.node_names[-1]
        place = (self.spool or self.folder / "spool") / name / f"{name}_{MOST_JOBS}.4294967291"
        return len(str(place))

    def scaled_parameters(self) -> str:
        """Return SchedulerParameters with the budgets of computing time in virtual seconds.

        They guard the machine that slurmctld runs on, but it reads them on the fast clock.
        """
        factor = math.ceil(self.speed)
        budgets = (
            f"bf_max_time={min(3600, 30 * factor)},max_sched_time={min(3600, 2 * factor)},"
            f"bf_yield_interval={min(10_000_000, 2_000_000 * factor)}"
        )
        given = {part.partition("=")[0] for part in self.parameters.split(",")}
        kept = [one for one in budgets.split(",") if one.partition("=")[0] not in given]
        return ",".join([part for part in (self.parameters, *kept) if part])

    def write(self) -> None:
        """Write the file."""
        write_text(self.path, self.text())

    def text(self) -> str:
        """Return the file's text."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            raise SimulationError(
                "this process runs under a number without a user name; Slurm needs a name"
            ) from None
        factor = math.ceil(self.speed)
        first, last = self.node_names[0], self.node_names[-1]
        here = self.folder
        return f"""\
# A virtual machine: {self.procs} processors that note that they are busy; {self.speed:g} x time.
ClusterName=virtual
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={self.port}
SlurmdPort={self.port + 1}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={here}/munge/socket
CredType=cred/munge
StateSaveLocation={here}/state
SlurmdSpoolDir={self.spool or here / "spool"}/%n
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/spool/%n.pid
SlurmctldLogFile={here}/slurmctld.log
SlurmdLogFile={here}/log/slurmd.%n.log
SlurmctldDebug=verbose
# Notes when the nodes of a job that has ended are idle again.
DebugFlags=TraceJobs
SlurmdDebug=error
MailProg=/bin/true
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={here}/jobcomp.log
# A node that an event took down stays down; one that was only slow comes back by itself.
ReturnToService=1
# Virtual nodes are never asked whether they are alive.
SlurmdTimeout=0
InactiveLimit=0
# Read on the fast clock, hence times the speed.
SlurmctldTimeout={120 * factor}
MessageTimeout={20 * factor}
BatchStartTimeout={60 * factor}
TCPTimeout={5 * factor}
KillWait={max(30, 5 * factor)}
MinJobAge=300
# A job may be late by what its launch took; it isn't cut off for that.
OverTimeLimit=1
MaxJobCount={MOST_JOBS}
TreeWidth=256
CompleteWait=0
EnforcePartLimits=NO
# A job whose launch failed is launched again.
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters={self.scaled_parameters()}
PriorityType=priority/basic
SelectType=select/linear
SlurmdParameters=config_overrides
NodeName={_range(first, last)} NodeHostname=localhost NodeAddr=127.0.0.1 \
Port={_ports(self.port + 1, self.procs)} CPUs=1 RealMemory=100 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""


def scheduler_parameters(settings: str) -> str:
    """Return SchedulerParameters from a name of `SETTINGS`, a slurm.conf, or the text itself."""
    if settings in SETTINGS:
        return SETTINGS[settings]
    path = Path(settings)
    if path.is_file():
        return read_slurm_conf(path).get("schedulerparameters", "")
    words = [word.strip() for word in settings.split(",")]
    if not all(word and word.replace("_", "").split("=")[0].isalnum() for word in words):
        raise SimulationError(
            f"settings {settings!r} are neither {' nor '.join(SETTINGS)}, nor a slurm.conf, "
            "nor SchedulerParameters such as bf_interval=30,bf_resolution=60"
        )
    return ",".join(words)


def _range(first: str, last: str) -> str:
    return first if first == last else f"v[{first[1:]}-{last[1:]}]"


def _ports(first: int, count: int) -> str:
    return str(first) if count == 1 else f"[{first}-{first + count - 1}]"

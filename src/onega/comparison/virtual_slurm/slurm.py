"""A real Slurm on loopback with virtual processors, on a clock that may run fast."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Self, cast

from onega.comparison.virtual_slurm import keeper as virtual_keeper
from onega.comparison.virtual_slurm.clock import Jumps
from onega.comparison.virtual_slurm.conf import NODE_MEMORY, VirtualConf
from onega.comparison.virtual_slurm.ports import Ports
from onega.comparison.virtual_slurm.tools import find_programs
from onega.core.errors import SimulationError

SCRIPT = """#!/bin/bash
exec 3<>{pipe}
echo $SLURM_JOB_ID $EPOCHREALTIME >> {launches}
s=$(SLURM_TIME_FORMAT=%s {squeue} -hj $SLURM_JOB_ID -o %S)
echo $SLURM_JOB_ID $(( ${{s:-${{EPOCHREALTIME%.*}}}} * 1000000 + {micros} )) {name} >> {ends}
read -r -u 3
exit 0
"""
"""A job that is busy until it is told that it is over. It notes when it really began, and when it
is to end: so long after the start that Slurm itself noted, so that the launch, tens of milliseconds
of real time and seconds of a fast clock, isn't added to every job."""

SOCKET_PATH_LIMIT = 100
"""Characters that munge's socket may have."""

SOCKET_PATH = 107
"""Characters that the kernel allows in the path of a socket."""

PATIENCE = 30.0
"""Real seconds for which a request that Slurm didn't hear is made again."""

PASSING = ("authentication", "contact", "timed out", "Socket", "Zero Bytes", "temporarily")
"""Words of errors that pass."""

_HOLDER = """
import json, os, signal, time
time.time()
keys = ("LD_PRELOAD", "FAKETIME", "FAKETIME_SHARED")
print(json.dumps([os.getpid(), {key: os.environ[key] for key in keys}]), flush=True)
signal.pause()
"""


_Done = subprocess.CompletedProcess[str]


class VirtualSlurm:
    """A context: inside it, a Slurm with idle virtual processors is up.

    Nothing is written outside ``folder``, everything listens on 127.0.0.1, and all processes are
    gone when the context is left, or when this process ends in any other way.
    """

    def __init__(
        self,
        folder: Path,
        procs: int,
        *,
        speed: float = 20.0,
        parameters: str = "",
        jumping: bool = False,
    ) -> None:
        self.folder = folder.resolve()
        self.procs, self.speed, self.jumping = procs, speed, jumping
        self._jumps: Jumps | None = None
        self.programs = find_programs()
        self._check()
        self.conf = VirtualConf(self.folder, procs, speed, parameters)
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C",
            "TZ": "UTC",
            "HOME": str(self.folder),
            "SLURM_CONF": str(self.conf.path),
        }
        self._keeper: subprocess.Popen[bytes] | None = None
        self._ports: Ports | None = None
        self._real0 = self._virtual0 = 0.0

    def _check(self) -> None:
        if len(str(self.folder / "munge" / "socket")) > SOCKET_PATH_LIMIT:
            raise SimulationError(
                f"{self.folder} is too long a path: a socket's holds {SOCKET_PATH_LIMIT} characters"
            )
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        with contextlib.suppress(OSError, StopIteration):
            lines = Path("/proc/meminfo").read_text().splitlines()
            free = next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
        if self.procs * NODE_MEMORY > free:
            raise SimulationError(
                f"{self.procs} virtual processors need {self.procs * NODE_MEMORY >> 20} MiB of "
                f"memory; {free >> 20} MiB are available"
            )

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        for name in ("", "state", "spool", "log", "munge", "pipes"):
            (self.folder / name).mkdir(mode=0o755, parents=True, exist_ok=True)
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", str(virtual_keeper.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )
        self._ports = Ports(self.procs + 1)
        self.conf = replace(self.conf, port=self._ports.first)
        self._shorten()
        self._start_munge()
        self.conf.write()
        self._start_clock()
        self._spawn("slurmctld", "-D", "-c", "-f", str(self.conf.path))
        self._wait(lambda: "is UP" in self.run("scontrol", "ping"), 60, "slurmctld")
        for name in self.conf.node_names:
            (self.folder / "spool" / name).mkdir(exist_ok=True)
            step = self.programs["slurmstepd"]
            arguments = ("-D", "-N", name, "-f", str(self.conf.path), "-d", step)
            self._spawn("slurmd", *arguments, name=f"slurmd.{name}")
        self._wait(self._all_idle, 180, f"{self.procs} idle nodes", every=0.2)

    def _shorten(self) -> None:
        """Give the nodes' sockets a short name if their folder's is too long for one.

        Else no step could make its socket: the launch fails, and Slurm holds the job back.
        """
        if self.conf.longest_socket <= SOCKET_PATH:
            return
        link = Path(tempfile.gettempdir()) / f"onega-slurm-{secrets.token_hex(4)}"
        self._ask(do="unlink", paths=[str(link)])
        link.symlink_to(self.folder / "spool")
        self.conf = replace(self.conf, spool=link)

    def _start_munge(self) -> None:
        """Start munged with a key of its own; it stays on the real clock."""
        place = self.folder / "munge"
        key = place / "key"
        key.unlink(missing_ok=True)
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
            file.write(os.urandom(128))
        files = {"key-file": key, "socket": place / "socket", "pid-file": place / "pid"}
        files |= {"log-file": place / "log", "seed-file": place / "seed"}
        options = [f"--{name}={path}" for name, path in files.items()]
        self._spawn("munged", "-F", *options, "--num-threads=8", "--force")
        ask = [self.programs["munge"], "-n", "-S", str(place / "socket")]
        self._wait(lambda: not subprocess.run(ask, capture_output=True).returncode, 20, "munged")

    def _start_clock(self) -> None:
        """Make the common fast clock: a holder process keeps its beginning in shared memory."""
        if self.speed != 1:
            log = self.folder / "log" / "clock.out"
            self._spawn(
                "faketime", "-f", f"+0 x{self.speed:g}", sys.executable, "-I", "-c", _HOLDER,
                name="clock",
            )  # fmt: skip
            self._wait(lambda: log.is_file() and log.read_bytes().endswith(b"\n"), 20, "the clock")
            self._holder, shared = json.loads(log.read_text().splitlines()[-1])
            self.environment |= shared | {"FAKETIME_DONT_RESET": "1"}
            if self.jumping:
                self._jumps = Jumps(self.folder)
                preload = f"{self._jumps.library}:{self.environment['LD_PRELOAD']}"
                self.environment |= self._jumps.environment | {"LD_PRELOAD": preload}
            names = [name.lstrip("/") for name in shared["FAKETIME_SHARED"].split()]
            paths = [f"/dev/shm/{name}" for name in names]
            paths += [f"/dev/shm/sem.{name}" for name in names]
            self._ask(do="unlink", paths=paths)
        # The quickest of several looks tells best how the two clocks stand to each other.
        quickest = math.inf
        for _ in range(9):
            before = time.time()
            looked = self._run("date", "+%s.%N")
            after = time.time()
            if looked.stderr:
                raise SimulationError(f"the fast clock doesn't work: {looked.stderr.strip()}")
            if after - before < quickest:
                quickest = after - before
                self._virtual0, self._real0 = float(looked.stdout), (before + after) / 2

    def now(self) -> float:
        """Return the time on the virtual machine's clock (Unix seconds)."""
        return self._virtual0 + (time.time() - self._real0) * self.speed

    def jump(self, seconds: int) -> None:
        """Put a jumping clock forward by so many virtual seconds, for all processes at once."""
        assert self._jumps is not None
        self._jumps.add(seconds)
        self._virtual0 += seconds

    @property
    def ends(self) -> Path:
        """Where jobs write when they are to end."""
        return self.folder / "ends"

    def pipe(self, name: str) -> Path:
        """Return the pipe on which a job waits for its end."""
        return self.folder / "pipes" / name

    def real_seconds_until(self, virtual: float) -> float:
        """Return how long to sleep until an instant of the virtual clock."""
        return (virtual - self.now()) / self.speed

    def submit(
        self, width: int, seconds: float, limit: int, name: str, *, requeue: bool = True
    ) -> int:
        """Submit a job; return Slurm's number for it.

        On a fast clock Slurm's and munge's own retries last only milliseconds, so that a machine
        with other work looks dead for a moment: then it is asked again.
        """
        os.mkfifo(self.pipe(name), 0o600)
        script = SCRIPT.format(
            launches=self.folder / "launches",
            squeue=self.programs["squeue"],
            micros=round(seconds * 1e6),
            ends=self.ends,
            pipe=self.pipe(name),
            name=name,
        )
        options = ["-N", str(width), "-t", str(limit), "-J", name, "-o", "/dev/null", "--chdir=/"]
        options.append("--requeue" if requeue else "--no-requeue")
        deadline = time.monotonic() + PATIENCE
        while True:
            done = self._run("sbatch", "--parsable", *options, given=script)
            if not done.returncode:
                return int(done.stdout.split(";")[0])
            self.check_alive()
            said = done.stderr.strip()
            if time.monotonic() > deadline or not any(word in said for word in PASSING):
                raise SimulationError(f"Slurm refused job {name}: {said}")
            time.sleep(0.2)
            # Perhaps only the answer was lost.
            heard = self.tell("squeue", "-h", "-n", name, "-o", "%A").split()
            if heard:
                return int(heard[0])

    def set_nodes(self, nodes: Sequence[int], state: str) -> None:
        """Set the state of nodes, numbered from 1: ``DOWN``, ``DRAIN`` or ``RESUME``."""
        names = ",".join(self.conf.node_names[number - 1] for number in nodes)
        self.tell("scontrol", "update", f"NodeName={names}", f"State={state}", "Reason=event")

    def nodes_out(self) -> list[int]:
        """Return the numbers of the nodes that are down or drained."""
        said = self.tell("sinfo", "-h", "-N", "-t", "down,drained,draining,fail", "-o", "%N")
        return sorted({int(name.lstrip("v")) for name in said.split()})

    def jobs_left(self) -> bool:
        """Tell whether any job waits or runs."""
        return bool(self.tell("squeue", "-h", "-t", "PD,R,CF,S,RQ", "-o", "%A").strip())

    def last_cycle(self) -> float:
        """Return the second in which a backfill cycle last began (Unix); 0 if there was none."""
        return self._told_of_cycles(r"Last cycle when:[^\n]*\((\d+)\)")

    def mean_cycle(self) -> float:
        """Return how many virtual seconds a backfill cycle has taken on average; 0 if none was."""
        return 1e-6 * self._told_of_cycles(r"Mean cycle:\s*(\d+)")

    def _told_of_cycles(self, pattern: str) -> float:
        _, _, said = self.tell("sdiag").partition("Backfilling stats")
        found = re.search(pattern, said)
        return float(found[1]) if found else 0.0

    def run(self, program: str, *arguments: str) -> str:
        """Run one of Slurm's programs on the virtual clock; return what it prints."""
        return self._run(program, *arguments).stdout

    def tell(self, program: str, *arguments: str) -> str:
        """Run a program as `run` does, and again while it fails for reasons that pass."""
        deadline = time.monotonic() + PATIENCE
        while True:
            done = self._run(program, *arguments)
            passing = done.returncode and any(word in done.stderr for word in PASSING)
            if not passing or time.monotonic() > deadline:
                return done.stdout
            self.check_alive()
            time.sleep(0.2)

    def _run(self, program: str, *arguments: str, given: str | None = None) -> _Done:
        return subprocess.run(
            [self.programs.get(program, program), *arguments],
            input=given,
            text=True,
            capture_output=True,
            env=self.environment,
            check=False,
        )

    def check_alive(self) -> None:
        """Refuse to go on if a daemon has ended."""
        dead = self._ask(do="status")["dead"]
        if dead:
            name = "slurmctld" if "slurmctld" in dead else dead[0]
            raise SimulationError(
                f"{name} ended in the middle of the run; its last words are in "
                f"{self.folder / 'log' / name}.out and {self.folder / 'slurmctld.log'}"
            )

    def stop(self) -> None:
        """End all jobs and daemons; safe to call twice."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        with contextlib.suppress(OSError, ValueError, SimulationError):
            self._end_jobs(keeper)
            if self.speed != 1 and hasattr(self, "_holder"):
                # The holder first: its wrapper then removes the shared memory itself.
                _talk(keeper, do="kill", pid=self._holder)
            _talk(keeper, do="end")
        for stream in (keeper.stdin, keeper.stdout):
            with contextlib.suppress(OSError):
                cast("IO[bytes]", stream).close()
        keeper.wait()
        if self._ports is not None:
            self._ports.release()

    def _end_jobs(self, keeper: subprocess.Popen[bytes]) -> None:
        """Cancel what runs: a step outlives its slurmd, and slurmctld ends them best."""
        status = _talk(keeper, do="status")
        if "slurmctld" in status["dead"] or not self.conf.path.is_file():
            return
        self.run("scancel", "--full", "-u", str(os.geteuid()))
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and _talk(keeper, do="status")["steps"]:
            time.sleep(0.1)

    def tidy(self) -> None:
        """Remove what only the daemons needed; the logs and the configuration stay."""
        for name in ("state", "spool", "munge", "pipes"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for path in (*(self.folder / "log").glob("slurmd.*"), *self.folder.glob("clock*")):
            path.unlink()

    def _all_idle(self) -> bool:
        return self.run("sinfo", "-h", "-o", "%T %D").split() == ["idle", str(self.procs)]

    def _spawn(self, program: str, *arguments: str, name: str | None = None) -> int:
        called = name or program
        reply = self._ask(
            do="spawn",
            name=called,
            argv=[self.programs[program], *arguments],
            env=self.environment,
            log=str(self.folder / "log" / f"{called}.out"),
        )
        return int(reply["pid"])

    def _ask(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        if self._keeper is None:
            raise SimulationError("the virtual Slurm isn't running")
        return _talk(self._keeper, **request)

    def _wait(
        self, ready: Callable[[], bool], seconds: float, what: str, every: float = 0.1
    ) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            self.check_alive()
            if time.monotonic() > deadline:
                raise SimulationError(
                    f"gave up on {what} after {seconds:g} s; see {self.folder / 'log'}"
                )
            time.sleep(every)


def _talk(keeper: subprocess.Popen[bytes], **request: Any) -> dict[str, Any]:  # noqa: ANN401
    stdin, stdout = cast("IO[bytes]", keeper.stdin), cast("IO[bytes]", keeper.stdout)
    try:
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        line = stdout.readline()
    except BrokenPipeError:
        line = b""
    if not line:
        raise SimulationError("the process that keeps the virtual Slurm has ended")
    reply: dict[str, Any] = json.loads(line)
    return reply

"""The keeper: a small process that starts the daemons and ends them, whatever happens to us.

It stands between the driver (the ``onega`` process) and everything that a virtual Slurm consists
of. It is a sub-reaper, so that the job steps, which detach themselves, stay its descendants; it
ends processes only by the ids of its own descendants. When its standard input closes, because the
driver has ended, in whatever way, it tears everything down and leaves. If the keeper itself is
killed, the kernel kills the daemons (PR_SET_PDEATHSIG).

Only the standard library, and run by the path of this file: it has to work without anything else.

Requests are lines of JSON on standard input, each answered by one line on standard output::

    {"do": "spawn", "name": …, "argv": […], "env": {…}, "log": PATH}  → {"pid": …}
    {"do": "status"}                   → {"dead": [names], "steps": number of job steps}
    {"do": "unlink", "paths": […]}     → {}       remove these at the end, if they are still there
    {"do": "kill", "pid": …}           → {}       a descendant that isn't a daemon
    {"do": "end"}                      → {"killed": [names], "left": 0}
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

PATIENCE = 8.0
"""Seconds that daemons get between the request to end and the order."""


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def parents() -> dict[int, tuple[int, str]]:
    """Return (parent, state) of every process on the machine."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        found[int(name)] = (int(parent), state)
    return found


def descendants(root: int) -> list[int]:
    """Return the living descendants of a process, children before grandchildren."""
    table = parents()
    children: dict[int, list[int]] = {}
    for pid, (parent, state) in table.items():
        if state != "Z":
            children.setdefault(parent, []).append(pid)
    found, wanted = [], [root]
    while wanted:
        below = children.get(wanted.pop(0), [])
        found += below
        wanted += below
    return found


def _called(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read()
    except OSError:
        return ""


class Keeper:
    """Starts daemons, knows which of them have ended, ends the rest."""

    def __init__(self) -> None:
        self.started: dict[int, str] = {}
        self.ended: dict[int, str] = {}
        self.handles: list[subprocess.Popen[bytes]] = []
        self.paths: list[str] = []

    def reap(self) -> None:
        """Collect every child that has ended, ours or adopted."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.started:
                self.ended[pid] = self.started.pop(pid)

    def spawn(self, name: str, argv: list[str], env: dict[str, str], log: str) -> int:
        """Start a daemon in a session of its own."""
        with open(log, "ab") as out:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=env,
                cwd="/",
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self.handles.append(process)
        self.started[process.pid] = name
        return process.pid

    def signal_one(self, pid: int) -> None:
        """Ask one descendant to end."""
        if pid in descendants(os.getpid()):
            os.kill(pid, signal.SIGTERM)

    def end(self, patience: float = PATIENCE) -> list[str]:
        """End the daemons in the order slurmd, slurmctld, the rest; then whatever is left."""
        killed = []
        for group in ("slurmd.", "slurmctld", ""):
            pids = [pid for pid, name in self.started.items() if name.startswith(group)]
            for pid in pids:
                self._send(pid, signal.SIGTERM)
            late = self._wait_for(pids, patience)
            killed += [self.started[pid] for pid in late if pid in self.started]
            for pid in late:
                self._send(pid, signal.SIGKILL)
            self._wait_for(late, 2.0)
        for _ in range(50):
            rest = descendants(os.getpid())
            if not rest:
                break
            for pid in rest:
                self._send(pid, signal.SIGKILL)
            time.sleep(0.05)
            self.reap()
        for path in self.paths:
            if os.path.lexists(path):
                os.unlink(path)
        return killed

    def _wait_for(self, pids: list[int], patience: float) -> list[int]:
        """Return those that are still there when patience ends."""
        deadline = time.monotonic() + patience
        while True:
            self.reap()
            left = [pid for pid in pids if pid in self.started]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.02)

    def _send(self, pid: int, what: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what a request says."""
        what = request.pop("do")
        if what == "spawn":
            return {"pid": self.spawn(**request)}
        if what == "unlink":
            self.paths += request["paths"]
        elif what == "kill":
            self.signal_one(request["pid"])
        elif what == "end":
            killed = self.end()
            return {"killed": killed, "left": len(descendants(os.getpid()))}
        elif what == "status":
            self.reap()
            steps = sum(_called(pid).startswith("slurmstepd") for pid in descendants(os.getpid()))
            return {"dead": sorted(self.ended.values()), "steps": steps}
        return {}


def main() -> None:
    """Serve requests until the driver goes away."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    keeper = Keeper()
    pending = b""
    try:
        while True:
            ready, _, _ = select.select([0], [], [], 0.5)
            keeper.reap()
            if not ready:
                continue
            read = os.read(0, 1 << 16)
            if not read:
                break
            pending += read
            while b"\n" in pending:
                line, _, pending = pending.partition(b"\n")
                reply = keeper.answer(json.loads(line))
                os.write(1, json.dumps(reply).encode() + b"\n")
    except BrokenPipeError:
        pass
    finally:
        keeper.end(patience=1.0)


if __name__ == "__main__":
    main()

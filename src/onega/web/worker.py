"""A process that does one task after another, within its memory: ``python -m onega.web.worker``.

Tasks come as lines of JSON on standard input: ``{"task", "folder", "request"}``. Lines on standard
output say ``{"progress", "stage"}``, ``{"compiling", "stage"}`` when the compiler begins and ends,
and at the end ``{"result"}`` or ``{"error"}``. A process that dies says nothing more: whatever
started it tells the reader. Standard input ends when that one dies, and then this process ends too,
whatever it is doing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import IO, Any

from onega.core.errors import OnegaError, TraceError
from onega.core.json_safe import json_safe
from onega.kernels import compile_events

POLITE = 5
"""How far behind the page's own process a worker stands when both want the processor."""

QUIET = 0.1
"""Seconds between two words about progress."""

COMPILING = "compiling for this machine; the next runs of this kind won't"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL = "the disk of the page's folder is full; delete what isn't needed any more"


def main() -> None:
    """Do tasks until standard input ends."""
    speaking = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not get between our lines
    _limit_memory(int(sys.argv[1]))
    if hasattr(os, "nice"):
        os.nice(POLITE)  # the page's own process goes before those that compute
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    while True:
        order = json.loads(orders.get())
        teller = Teller(speaking)
        compile_events.listeners[:] = [teller.compiling]
        compile_events.afterwards[:] = [teller.compiled]
        teller.say(_answer(order, teller))


def _listen(orders: queue.SimpleQueue[str]) -> None:
    """Pass orders on; leave at once when the process that gives them is gone."""
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


class Teller:
    """Says how far a task is, and when it waits for the compiler instead of working."""

    def __init__(self, speaking: IO[str]) -> None:
        self.speaking = speaking
        self.said = 0.0
        self.stage = ""
        self.depth = 0
        self.lock = threading.Lock()

    def __call__(self, progress: float, stage: str | None = None) -> None:
        """Tell the share that is done, and what is being done where that changed."""
        now = time.monotonic()
        if stage is not None or now - self.said >= QUIET:
            self.said = now
            self.stage = stage or self.stage
            self.say({"progress": progress, "stage": stage})

    def compiling(self) -> None:
        """Tell that the compiler begins; functions that a function calls are part of it."""
        self._compiler(1)

    def compiled(self) -> None:
        """Tell that the compiler is done with all that it began."""
        self._compiler(-1)

    def _compiler(self, step: int) -> None:
        with self.lock:
            before, self.depth = self.depth, self.depth + step
        if 0 in (before, self.depth):
            busy = self.depth > 0
            self.say({"compiling": busy, "stage": COMPILING if busy else self.stage})

    def say(self, words: dict[str, Any]) -> None:
        """Write one line."""
        print(json.dumps(words), file=self.speaking, flush=True)


def _answer(order: dict[str, Any], tell: Teller) -> dict[str, Any]:
    from onega.web import tasks

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = tasks.TASKS[order["task"]](Path(order["folder"]), order["request"], tell)
    except MemoryError:
        return {"error": "not enough memory for this task within the page's limit"}
    except Exception as error:
        return {"error": _words(error, order)}
    return {"result": json_safe(result)}


def _words(error: Exception, order: dict[str, Any]) -> str:
    """Say what went wrong, without the places of files on this machine."""
    if getattr(error, "errno", None) in NO_ROOM:
        return FULL
    if isinstance(error, TraceError):
        name = str(order["request"].get("name", "the log"))
        return str(TraceError(error.message, path=name, line=error.line, field=error.field))
    if isinstance(error, OnegaError | ValueError):
        return " ".join(str(error).split()).replace(f"{order['folder']}{os.sep}", "")
    if isinstance(error, OSError):
        return f"can't read or write: {error.strerror or type(error).__name__}"
    # A mistake of ours: the reader learns that it is one, the log on stderr where.
    import traceback

    traceback.print_exception(error)
    return f"an error inside Onega ({type(error).__name__}); please report it"


def _limit_memory(size: int) -> None:
    """Bound this process's data, where the system can.

    Data, not address space: threads and compilers reserve far more addresses than they use.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        bound = size if most == resource.RLIM_INFINITY else min(size, most)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))


if __name__ == "__main__":
    main()

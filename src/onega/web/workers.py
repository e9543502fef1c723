"""Worker processes: each does one task at a time, and one that misbehaves is ended and replaced."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from onega.core.units import humanise_seconds
from onega.web.settings import MIB, Settings

TASKS_OF_ONE: Final = 200
"""A process is replaced after so many tasks, so that nothing piles up in it."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """Something to do: its name, where its files are, what was asked, and what hears of it."""

    name: str
    folder: Path
    request: Message
    tell: Callable[[Message], None]
    cancelled: threading.Event = field(default_factory=threading.Event)


class Busy(Exception):
    """Too many tasks are waiting already."""


class Workers:
    """A number of worker processes, started when there is something to do.

    Each has pipes of its own, so that its death concerns its task alone. The processes of a pool
    share pipes and their locks: one that is killed while it sends a result holds up all others.
    """

    def __init__(self, settings: Settings, *, tasks: int = TASKS_OF_ONE) -> None:
        """Take settings; a process is replaced after so many ``tasks``."""
        self.settings = settings
        self.tasks = tasks
        self._queue: queue.Queue[Task | None] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def waiting(self) -> int:
        """Tasks that no process works on yet."""
        return self._queue.qsize()

    def submit(self, task: Task, *, again: bool = False) -> None:
        """Put a task at the end of the queue; one that was there before is always taken."""
        if self._closing.is_set() or (self.waiting >= self.settings.queue and not again):
            raise Busy(f"{self.waiting} tasks are waiting already; try again in a while")
        self._queue.put(task)
        with self._lock:
            if len(self._threads) < self.settings.workers:
                number = len(self._threads)
                thread = threading.Thread(target=self._serve, name=f"worker-{number}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self) -> None:
        """End all processes; what they were doing is to be begun again."""
        self._closing.set()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout=5)

    def _serve(self) -> None:
        process: _Process | None = None
        try:
            while not self._closing.is_set():
                task = self._queue.get()
                if task is None or self._closing.is_set():
                    return
                if task.cancelled.is_set():
                    continue
                try:
                    if process is None or not process.usable:
                        process = _Process(self.settings, self.tasks)
                    process.run(task, self._closing)
                except Exception as error:
                    # A full disk, no more processes: the next task may fare better.
                    if process is not None:
                        process.broken = True  # it may still be at this task
                    reason = getattr(error, "strerror", None) or type(error).__name__
                    with contextlib.suppress(Exception):
                        task.tell({"error": f"this can't be done now: {reason}"})
                if process is not None and not process.usable:
                    process.end()
        finally:
            if process is not None:
                process.end()


class _Process:
    """One process of `onega.web.worker`."""

    def __init__(self, settings: Settings, tasks: int) -> None:
        self.settings = settings
        self.tasks_left = tasks
        self.broken = False
        # One thread for linear algebra, two for tables: several workers share the machine.
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}
        with (settings.state / "workers.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "onega.web.worker", str(settings.memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | threads,
                start_new_session=True,  # Ctrl-C is for the page; it ends its workers itself
            )
        self.heard: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """Put what the process says into a queue, where it can be waited for with patience."""
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # closed at the end
            for line in self.process.stdout:
                self.heard.put(line)
        self.heard.put(None)

    @property
    def usable(self) -> bool:
        return not self.broken and self.tasks_left > 0 and self.process.poll() is None

    def run(self, task: Task, closing: threading.Event) -> None:
        """Do a task and tell how it went; a process that had to be ended isn't usable after."""
        self.tasks_left -= 1
        order = {"task": task.name, "folder": str(task.folder), "request": task.request}
        task.tell({"progress": 0.0, "stage": "starting"})
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
            for words in self._lines(task, closing):
                task.tell(words)
                if "result" in words or "error" in words:
                    return
        except BrokenPipeError:
            pass
        except TimeoutError:
            self.broken = True
            limit = humanise_seconds(self.settings.seconds)
            task.tell({"error": f"stopped after {limit}, the page's limit for one task; use the "
                                "command `onega` for longer ones"})  # fmt: skip
            return
        self.broken = True
        if not task.cancelled.is_set() and not closing.is_set():
            task.tell({"error": self._last_words()})

    def _lines(self, task: Task, closing: threading.Event) -> Iterator[Message]:
        """Yield what the process says, until it ends or time is up.

        The compiler's time isn't the task's: on a slow machine it may take minutes, and a task that
        is ended in the middle of it would never get further the next time.
        """
        left = {False: self.settings.seconds, True: self.settings.compiling}
        compiling = False
        looked = time.monotonic()
        while not (task.cancelled.is_set() or closing.is_set()):
            now = time.monotonic()
            left[compiling] -= now - looked
            looked = now
            if left[compiling] < 0:
                raise TimeoutError
            try:
                line = self.heard.get(timeout=0.1)
            except queue.Empty:
                continue
            if line is None:
                return
            words = json.loads(line)
            compiling = words.get("compiling", compiling)
            yield words

    def _last_words(self) -> str:
        limit = f"{self.settings.memory / 1024 / MIB:.3g} GB"
        return (
            f"the task ended without an answer: most likely it needed more than the {limit} of "
            "memory that the page allows; use the command `onega` for larger logs"
        )

    def end(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

"""Tasks on processes of this machine, for code that holds Python's lock; a death is survived."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Any

from onega.core.errors import ExperimentError, OnegaWarning
from onega.experiment.workers.workers import (
    AHEAD,
    Finished,
    Function,
    Running,
    WorkerDied,
    call,
    checked_count,
    finished,
    next_done,
    watch,
)

Numbered = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes of this machine; ``count`` is the number of cores by default.

    What is shared is sent to each process once, when it starts. If one dies (killed, out of
    memory), new ones are started and the tasks in flight are done again one by one; a task whose
    process dies again is given up as the cause. Processes end with the one that started them, even
    by ``kill -9``.

    A script that uses them needs the usual guard, because they import it:
    ``if __name__ == "__main__":``.
    """

    count: int | None = None

    def __post_init__(self) -> None:
        checked_count(self.count, "processes")

    def __str__(self) -> str:
        count = checked_count(self.count, "processes")
        return "1 process" if count == 1 else f"{count} processes"

    def run(self, function: Function, items: Iterable[Any], shared: Any) -> Running:  # noqa: ANN401
        """Yield tasks as they finish; closing the iterator stops the work."""
        count = checked_count(self.count, "processes")
        numbered = iter(enumerate(items))
        suspects: deque[Numbered] = deque()
        while True:
            alone = bool(suspects)
            source = _each(suspects) if alone else numbered
            pool = _Pool(1 if alone else count, function, shared)
            try:
                yield from pool.work(source, 1 if alone else AHEAD * count)
            finally:
                pool.close()
            if not pool.broken:
                if not alone:
                    return
                continue
            if not pool.ready:
                raise ExperimentError(
                    "worker processes die as soon as they start; in a script, call this below "
                    "'if __name__ == \"__main__\":', or use threads"
                )
            suspects.extendleft(reversed(pool.unsent))
            if alone and pool.lost:
                (place, _) = pool.lost[0]
                yield Finished(place, None, WorkerDied("the process that did it died, twice"))
                continue
            suspects.extend(pool.lost)
            warnings.warn(
                f"a worker process died; {len(pool.lost)} tasks in flight are done again",
                OnegaWarning,
                stacklevel=2,
            )


def _each(pairs: deque[Numbered]) -> Iterator[Numbered]:
    while pairs:
        yield pairs.popleft()


class _Pool:
    """One set of processes, until it has nothing to do or one of them dies."""

    def __init__(self, count: int, function: Function, shared: Any) -> None:  # noqa: ANN401
        # Neither Polars nor numba's threads survive a fork.
        context = multiprocessing.get_context("spawn")
        self._stop, self._ready = context.Event(), context.Event()
        self._pool = ProcessPoolExecutor(
            count, context, initializer=_begin, initargs=(function, shared, self._stop, self._ready)
        )
        self.lost: list[Numbered] = []
        """In flight when a process died."""
        self.unsent: list[Numbered] = []
        """Taken from the items, but not handed out any more."""

    @property
    def ready(self) -> bool:
        """Whether any process was ready to work."""
        return self._ready.is_set()

    @property
    def broken(self) -> bool:
        """Whether a process died."""
        return bool(self.lost or self.unsent)

    def work(self, numbered: Iterator[Numbered], ahead: int) -> Generator[Finished, None, None]:
        """Hand out items and yield them as they finish, until all are or a process dies."""
        done: SimpleQueue[Future[Any]] = SimpleQueue()
        flying: dict[Future[Any], Numbered] = {}
        for _ in range(ahead):
            self._hand_out(numbered, flying, done)
        while flying:
            future = next_done(done)
            pair = flying.pop(future)
            if isinstance(future.exception(), BrokenProcessPool):
                self.lost.append(pair)
                continue
            self._hand_out(numbered, flying, done)
            yield finished(pair[0], future.result)

    def _hand_out(
        self,
        numbered: Iterator[Numbered],
        flying: dict[Future[Any], Numbered],
        done: SimpleQueue[Future[Any]],
    ) -> None:
        pair = None if self.broken else next(numbered, None)
        if pair is None:
            return
        try:
            future = self._pool.submit(_task, pair[1])
        except BrokenProcessPool:
            self.unsent.append(pair)
            return
        flying[future] = pair
        future.add_done_callback(done.put)

    def close(self) -> None:
        """Let running tasks leave at their next heartbeat, and the processes with them."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


_function: Function
_shared: Any = None


def _begin(function: Function, shared: Any, stop: Any, ready: Any) -> None:  # noqa: ANN401
    """Prepare a new process: keep the function and what is shared, watch for the end."""
    global _function, _shared
    _function, _shared = function, shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    watch(stop)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    ready.set()


def _leave_with_parent() -> None:
    """End with the process that started this one: nothing else would ever end it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _task(item: Any) -> Any:  # noqa: ANN401
    return call(_function, item, _shared)

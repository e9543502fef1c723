"""Many independent tasks, on threads, processes or a Dask cluster: the same answers anywhere.

::

    for place, value, error in run_each(function, items):     # as they finish
        …
    values = run_all(function, items)                          # in the order of the items

Threads are the default: the kernels release Python's lock, so that threads use all cores and share
the workload. `Processes` and `Dask` get what is large (``shared``) once per worker, not with every
task. A task must be a pure function of its item (and of what is shared): where and in which order
tasks run is then invisible in the results.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from onega.core.errors import ExperimentError

Function = Callable[..., Any]
OnDone = Callable[[int], None]
T = TypeVar("T")

AHEAD: Final = 2
"""Tasks that are handed out per worker: one runs, one waits, so that no worker is ever idle."""


NOTICE: Final = 0.1
"""Seconds in which Ctrl-C is noticed."""


class Finished(NamedTuple):
    """One task that is over: its place among the items, and its value or what went wrong."""

    place: int
    value: Any
    error: Exception | None


Running = Generator[Finished, None, None]
"""Tasks under way: an iterator over those that finish; closing it stops the rest."""


class Workers(Protocol):
    """Anything that runs tasks: `Threads`, `Processes`, `Dask`."""

    def run(self, function: Function, items: Iterable[Any], shared: Any) -> Running:  # noqa: ANN401
        """Yield tasks as they finish; closing the iterator stops the work."""
        ...


class Stopped(BaseException):
    """Raised inside a task by `heartbeat` when its result isn't wanted any more."""


class WorkerDied(RuntimeError):
    """A task can't be done because the worker that runs it dies."""


class Stop(Protocol):
    """Something that says whether tasks have been given up: an event."""

    def is_set(self) -> bool:
        """Whether tasks have been given up."""
        ...


_here = threading.local()


def watch(stop: Stop) -> None:
    """Make `heartbeat` in this thread look at ``stop``."""
    _here.stop = stop


def heartbeat(share: float = 0.0) -> None:
    """Leave a task that has been given up: pass it as ``progress`` to `onega.simulate`.

    Without it, Ctrl-C has to wait until the tasks that run have come to their ends.
    """
    stop: Stop | None = getattr(_here, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped


def cores() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def checked_count(count: int | None, what: str) -> int:
    """Return a number of workers: as many as there are cores if None."""
    if count is None:
        return cores()
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ExperimentError(f"the number of {what} is at least 1, got {count!r}")
    return count


def call(function: Function, item: Any, shared: Any) -> Any:  # noqa: ANN401
    """Do one task: ``function(item)``, or ``function(item, shared)`` if something is shared."""
    return function(item) if shared is None else function(item, shared)


def flow(submit: Callable[[Any], Any], items: Iterable[Any], ahead: int) -> Iterator[Finished]:
    """Hand out items, ``ahead`` at a time, and yield them as they finish.

    ``submit`` returns a future with ``add_done_callback`` and ``result``. Items may come from a
    generator; no more of them are taken than are handed out.
    """
    done: SimpleQueue[Any] = SimpleQueue()
    places: dict[int, tuple[int, Any]] = {}
    numbered = enumerate(items)

    def hand_out(count: int) -> None:
        for place, item in islice(numbered, count):
            future = submit(item)
            places[id(future)] = (place, future)  # kept, so that the id stays its own
            future.add_done_callback(done.put)

    hand_out(ahead)
    while places:
        future = next_done(done)
        place, _ = places.pop(id(future))
        hand_out(1)
        yield finished(place, future.result)


def next_done(queue: SimpleQueue[T]) -> T:
    """Wait for the next item of a queue, in a way that Ctrl-C interrupts.

    Polars has a handler for it after which the system takes up waiting again (SA_RESTART), and
    Python, which wakes up only between two waits, would never notice.
    """
    while True:
        try:
            return queue.get(timeout=NOTICE)
        except Empty:
            continue


def finished(place: int, result: Callable[[], Any]) -> Finished:
    """Ask for a result, and keep what is raised instead of raising it."""
    try:
        return Finished(place, result(), None)
    except Exception as error:
        return Finished(place, None, error)


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process; ``count`` is the number of cores by default."""

    count: int | None = None

    def __post_init__(self) -> None:
        checked_count(self.count, "threads")

    def __str__(self) -> str:
        count = checked_count(self.count, "threads")
        return "1 thread" if count == 1 else f"{count} threads"

    def run(self, function: Function, items: Iterable[Any], shared: Any) -> Running:  # noqa: ANN401
        """Yield tasks as they finish; closing the iterator stops the work."""
        count = checked_count(self.count, "threads")
        stop = threading.Event()

        def task(item: Any) -> Any:  # noqa: ANN401
            watch(stop)
            heartbeat()
            return call(function, item, shared)

        pool = ThreadPoolExecutor(count, thread_name_prefix="onega")
        try:
            yield from flow(lambda item: pool.submit(task, item), items, AHEAD * count)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def run_each(
    function: Function,
    items: Iterable[Any],
    *,
    shared: Any = None,  # noqa: ANN401
    workers: Workers | None = None,
) -> Running:
    """Do a task for every item; yield (place, value, error) as they finish.

    A task that raises doesn't stop the others. Closing the iterator (leaving the loop, an
    exception in it, Ctrl-C) gives up the tasks that haven't begun, and those that run at their
    next `heartbeat`.

    Parameters
    ----------
    function
        Called as ``function(item)``, or ``function(item, shared)`` if something is shared. For
        processes and Dask it must be a function of a module.
    items
        Any iterable; taken as workers become free.
    shared
        Something large that every task reads: sent once per worker.
    workers
        `Threads`, `Processes` or `Dask`; threads on all cores if None.
    """
    return (workers or Threads()).run(function, items, shared)


def run_all(
    function: Function,
    items: Iterable[Any],
    *,
    shared: Any = None,  # noqa: ANN401
    workers: Workers | None = None,
    progress: OnDone | None = None,
) -> list[Any]:
    """Do a task for every item; return the values in the order of the items.

    The first task that fails ends it all, with its own exception. ``progress`` is called with the
    number of tasks that are done.
    """
    values: dict[int, Any] = {}
    running = run_each(function, items, shared=shared, workers=workers)
    for place, value, error in running:
        if error is not None:
            running.close()
            raise error
        values[place] = value
        if progress is not None:
            progress(len(values))
    return [values[place] for place in range(len(values))]

"""Tasks on a Dask cluster: other machines, the same answers; workers may come and go."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from onega import __version__
from onega.core.errors import ExperimentError, OnegaWarning
from onega.experiment.workers.workers import Finished, Function, Running, WorkerDied, flow

AHEAD: Final = 4
"""Tasks that are handed out per thread of the cluster; the network has a way of its own."""

FEWEST: Final = 64
"""Tasks that are handed out at least, because more workers may join."""

LOOK: Final = 2.0
"""Seconds between looks at which workers are there."""


@dataclass(frozen=True, slots=True)
class Dask:
    """The workers of a Dask cluster (``pip install 'onega[dask]'``).

    What is shared goes to every worker once, to those that join later too. If a worker dies, its
    tasks are done by the others.

    Parameters
    ----------
    address
        Of the scheduler, ``tcp://host:8786``, or the path of its scheduler file.
    timeout
        Seconds to wait for the scheduler's answer.
    """

    address: str
    timeout: float = 30.0

    def __str__(self) -> str:
        return f"Dask at {self.address}"

    def run(self, function: Function, items: Iterable[Any], shared: Any) -> Running:  # noqa: ANN401
        """Yield tasks as they finish; closing the iterator stops the work."""
        client = self._client()
        try:
            threads = _meet(client)
            watch = _Watch(client, threads)
            with _shared_plugin(client, function, shared) as name:
                for task in flow(
                    lambda item: _submit(client, name, item),
                    items,
                    max(FEWEST, AHEAD * sum(threads.values())),
                ):
                    watch.look()
                    yield _named(task)
        finally:
            client.close()  # cancels what is still in flight

    def _client(self) -> Any:  # noqa: ANN401
        try:
            from distributed import Client
        except ImportError:
            raise ExperimentError("Dask isn't installed here; pip install 'onega[dask]'") from None
        where = {"scheduler_file" if os.path.isfile(self.address) else "address": self.address}
        try:
            return Client(**where, timeout=self.timeout, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ExperimentError(
                f"no Dask scheduler answers at {self.address} "
                f"({str(error).splitlines()[0] or type(error).__name__}); "
                "start one with 'dask scheduler' and give its address, tcp://host:8786"
            ) from None


@contextlib.contextmanager
def _shared_plugin(client: Any, function: Function, shared: Any) -> Iterator[str]:  # noqa: ANN401
    """Give every worker what it needs for all tasks, and take it away again."""
    from onega.experiment.workers.dask_plugin import SharedPlugin, abandoned

    for name in client.run_on_scheduler(abandoned):
        client.unregister_worker_plugin(name)
    plugin = SharedPlugin(client.id, function, shared)
    client.register_plugin(plugin)
    try:
        yield plugin.name
    finally:
        client.unregister_worker_plugin(plugin.name)


def _submit(client: Any, name: str, item: Any) -> Any:  # noqa: ANN401
    from onega.experiment.workers.dask_plugin import run_task

    return client.submit(run_task, name, item, pure=False)


def _meet(client: Any) -> dict[str, int]:  # noqa: ANN401
    """Wait for a worker, check that all have this version, and return their threads."""
    if not client.nthreads():
        _say("the Dask cluster has no worker yet; waiting for one")
        client.wait_for_workers(1)
    try:
        found = client.run(_version)
    except Exception as error:
        raise ExperimentError(
            f"a Dask worker can't import onega ({error}); install onega {__version__} there"
        ) from None
    for worker, version in found.items():
        if version != __version__:
            raise ExperimentError(
                f"the Dask worker at {worker} has onega {version}, this is {__version__}; "
                "results would differ without a word: install the same version"
            )
    threads: dict[str, int] = client.nthreads()
    return threads


class _Watch:
    """Warns of workers that went away, looking not too often."""

    def __init__(self, client: Any, threads: dict[str, int]) -> None:  # noqa: ANN401
        self._client = client
        self._known = set(threads)
        self._looked = time.monotonic()

    def look(self) -> None:
        """Warn of workers that are gone, if the last look was `LOOK` seconds ago."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        here = set(self._client.nthreads())
        for worker in sorted(self._known - here):
            _say(f"the Dask worker at {worker} is gone; others do its tasks")
        self._known = here


def _say(what: str) -> None:
    warnings.warn(what, OnegaWarning, stacklevel=3)


def _named(task: Finished) -> Finished:
    """Turn Dask's errors for a task whose workers died into `WorkerDied`."""
    from distributed import CancelledError, KilledWorker

    if not isinstance(task.error, KilledWorker | CancelledError):
        return task
    lines = str(task.error).splitlines()
    return task._replace(error=WorkerDied(lines[0] if lines else "its workers died"))


def _version() -> str:
    """Run on a worker: which onega is there."""
    from onega import __version__

    return __version__

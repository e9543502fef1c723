"""What a Dask worker keeps for a whole series of tasks: the function and what they share.

A plugin, because Dask sends it to each worker exactly once, also to those that join later, and
keeps it for those that come after all others have died. Data that is only scattered is moved and
dropped as Dask's memory manager sees fit.
"""

from __future__ import annotations

from typing import Any, Final

from distributed import WorkerPlugin

from onega.experiment.workers.workers import Function, call

PREFIX: Final = "onega|"

_kept: dict[str, tuple[Function, Any]] = {}


class SharedPlugin(WorkerPlugin):  # type: ignore[misc]
    """A function and what its tasks share, under a name that tells the client."""

    def __init__(self, client: str, function: Function, shared: Any) -> None:  # noqa: ANN401
        self.name = f"{PREFIX}{client}"
        self.content = (function, shared)

    def setup(self, worker: Any) -> None:  # noqa: ANN401
        """Keep the content in the worker's process."""
        _kept[self.name] = self.content

    def teardown(self, worker: Any) -> None:  # noqa: ANN401
        """Forget the content."""
        _kept.pop(self.name, None)


def run_task(name: str, item: Any) -> Any:  # noqa: ANN401
    """Do one task on a worker."""
    function, shared = _kept[name]
    return call(function, item, shared)


def abandoned(dask_scheduler: Any) -> list[str]:  # noqa: ANN401
    """Run on the scheduler: names of plugins whose clients are gone (killed, say)."""
    names = [name for name in dask_scheduler.worker_plugins if name.startswith(PREFIX)]
    return [name for name in names if name.removeprefix(PREFIX) not in dask_scheduler.clients]

"""The desk: takes orders, gives them to the workers, and puts what they say into the store."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final

from onega.core.errors import OnegaError
from onega.web.settings import Settings
from onega.web.store import Item, Kind, Store
from onega.web.window import Picture
from onega.web.workers import Busy, Task, Words, Workers

PICTURES: Final = 8
"""Runs whose tables are kept in memory."""


class NotReadyError(OnegaError):
    """An item isn't done, so that nothing can be made of it."""


class Desk:
    """The store, the workers and what stands between them."""

    def __init__(self, settings: Settings, *, writing: bool = True) -> None:
        self.settings = settings
        self.store = Store(settings.state, writing=writing)
        self.workers = Workers(settings)
        self._tasks: dict[str, Task] = {}
        self._pictures: OrderedDict[str, Picture] = OrderedDict()
        self._lock = Lock()

    def close(self) -> None:
        """End the workers, free the folder."""
        self.workers.close()
        self.store.close()

    def warm_up(self) -> None:
        """Let the workers load what the first visitor needs, in the background."""
        for _ in range(self.settings.workers):
            self.workers.submit(Task("warm", self.settings.state, {}, lambda words: None))

    def order(self, task: str, item: Item, more: Mapping[str, Any]) -> Item:
        """Have a task done for an item that was made for it; ``more`` isn't kept with it."""
        began: list[float] = []

        def tell(words: Words) -> None:
            began.append(time.monotonic())
            taken = began[-1] - began[0]
            if "error" in words or "result" in words:
                self._tasks.pop(item.id, None)
            if "error" in words:
                self.store.change(item, status="failed", error=words["error"], seconds=taken)
            elif "result" in words:
                self.store.change(
                    item,
                    status="done",
                    progress=1.0,
                    stage="",
                    result=words["result"],
                    seconds=taken,
                )
            else:
                stage = {} if words["stage"] is None else {"stage": words["stage"]}
                self.store.change(
                    item, save=False, status="running", progress=words["progress"], **stage
                )

        folder = self.store.folder(item)
        work = Task(task, folder, {**item.request, "name": item.name, **more}, tell)
        self._tasks[item.id] = work
        try:
            self.workers.submit(work)
        except Busy:
            self.remove(item.kind, item.id)
            raise
        return self.store.get(item.kind, item.id)

    def remove(self, kind: Kind, id: str) -> None:
        """Delete an item; what is being done for it stops."""
        self.store.delete(kind, id)
        task = self._tasks.pop(id, None)
        with self._lock:
            self._pictures.pop(id, None)
        if task is not None:
            task.cancelled.set()

    def done(self, kind: Kind, id: str) -> Item:
        """Return an item that is done; refuse one that isn't."""
        item = self.store.get(kind, id)
        if item.status == "failed":
            raise NotReadyError(f"{item.name} failed: {item.error}")
        if item.status != "done":
            raise NotReadyError(f"{item.name} isn't ready yet; ask again when its status is done")
        return item

    def file(self, item: Item, *parts: str) -> Path:
        """Return a file of an item; the parts are names of ours, never of a request."""
        return self.store.folder(item).joinpath(*parts)

    def picture(self, run: Item) -> Picture:
        """Return a run's tables, from memory if they were looked at lately."""
        with self._lock:
            if run.id not in self._pictures:
                assert run.result is not None
                self._pictures[run.id] = Picture(self.store.folder(run), int(run.result["procs"]))
            self._pictures.move_to_end(run.id)
            while len(self._pictures) > PICTURES:
                self._pictures.popitem(last=False)
            return self._pictures[run.id]

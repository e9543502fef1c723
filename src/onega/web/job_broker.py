"""The job broker: takes orders, gives them to workers, puts what they say into the store."""

from __future__ import annotations

import contextlib
import queue
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final

import anyio

from onega.core.errors import OnegaError, OnegaWarning, SimulationError
from onega.web.machine import machine_of
from onega.web.schemas import ID
from onega.web.settings import GIB, Settings
from onega.web.store import UPLOAD, Item, Kind, MissingError, Store
from onega.web.window import Picture
from onega.web.workers import Busy, Message, Task, Workers

PICTURES: Final = 8
"""Runs whose tables are kept in memory."""
PICTURED_JOBS: Final = 2_000_000
"""Jobs of all these runs together, but for the one that is looked at: some 130 bytes for each."""
WRITTEN_OUT: Final = 2
CHECK_SECONDS: Final = 20.0
CHECK_PATIENCE: Final = 180.0
CHECKS: Final = 8
"""Machines that may wait to be checked."""
INTERRUPTED: Final = "stopped when the page was closed; start it again"


class NotReadyError(OnegaError):
    """An item isn't done, so that nothing can be made of it."""


class JobBroker:
    """The store, the workers and what stands between them."""

    def __init__(self, settings: Settings, *, writing: bool = True) -> None:
        self.settings = settings
        self.store = Store(settings.state, writing=writing, most=settings.store)
        self.workers = Workers(settings)
        one = replace(settings, workers=1)
        # That process isn't needed afterwards: its successors find what it compiled on disk.
        self._warming = Workers(one, tasks=1)
        self._checking = Workers(
            replace(one, seconds=CHECK_SECONDS, memory=min(GIB, settings.memory), queue=CHECKS)
        )
        self._tasks: dict[str, Task] = {}
        self._pictures: OrderedDict[str, tuple[int, Picture]] = OrderedDict()
        self._lock = Lock()

    def close(self) -> None:
        """End the workers, free the folder."""
        for workers in (self.workers, self._warming, self._checking):
            workers.close()
        self.store.close()

    @cached_property
    def writing_out(self) -> anyio.CapacityLimiter:
        """How many logs are written out at a time; others wait, without holding a thread."""
        return anyio.CapacityLimiter(WRITTEN_OUT)

    def warm_up(self) -> None:
        """Have compiled what visitors will need, in the background, behind everything else."""
        self._warming.submit(Task("warm", self.settings.state, {}, lambda message: None))

    def resume(self) -> None:
        """Take up again what was waiting or under way when the page was closed."""
        for item in self.store.all():
            if item.status != "waiting":
                continue
            if item.task == "read" and not self.file(item, UPLOAD).exists():
                self.store.delete(item.kind, item.id)  # it never came in whole
                continue
            try:
                self.order(item, again=True)
            except (MissingError, KeyError) as error:
                why = str(error) if isinstance(error, MissingError) else INTERRUPTED
                self.store.finish(item, status="failed", error=why)

    def place(self, task: str, kind: Kind, name: str, request: Mapping[str, Any]) -> Item:
        """Make an item and have its task done."""
        return self.order(self.store.create(kind, name, request, task=task))

    def order(self, item: Item, *, again: bool = False) -> Item:
        """Have the task of an item done; ``again``: it was ordered before."""
        began: list[float] = []

        def tell(message: Message) -> None:
            began.append(time.monotonic())
            taken = began[-1] - began[0]
            if "error" in message or "result" in message:
                self._tasks.pop(item.id, None)
            if "error" in message:
                self.store.finish(item, status="failed", error=message["error"], seconds=taken)
            elif "result" in message:
                done: dict[str, Any] = {"status": "done", "progress": 1.0, "stage": ""}
                self.store.finish(item, **done, result=message["result"], seconds=taken)
            else:
                said = {name: message.get(name) for name in ("progress", "stage")}
                known = {name: value for name, value in said.items() if value is not None}
                self.store.change(item, status="running", **known)

        request = {**item.request, "name": item.name, **self._more(item)}
        work = Task(item.task, self.store.folder(item), request, tell)
        self._tasks[item.id] = work
        try:
            self.workers.submit(work, again=again)
        except Busy:
            self.remove(item.kind, item.id)
            raise
        return self.store.get(item.kind, item.id)

    def _more(self, item: Item) -> dict[str, Any]:
        """Return what a task needs beside what was asked: limits, and where other items are."""
        if item.task == "read":
            limits = asdict(self.settings.reading())
            return {"limits": limits, "most_jobs": self.settings.jobs}
        if item.task != "sample":
            source = self.store.get("logs", item.request["log"])
            return {"log_folder": str(self.store.folder(source))}
        if not re.fullmatch(ID, item.request["model"]):
            return {}  # a model with published parameters
        model = self.store.get("models", item.request["model"])
        more = {"model_folder": str(self.store.folder(model))}
        learnt_from = {one.id: one for one in self.store.list("logs")}.get(model.request["log"])
        if learnt_from is not None:
            more["log_folder"] = str(self.store.folder(learnt_from))
        return more

    def check_machine(self, request: Mapping[str, Any], log_procs: int | None) -> None:
        """Refuse a machine that can't be.

        One that is described in a text is looked at by a process of its own, with its limits.
        """
        if not request.get("cluster"):
            with contextlib.suppress(OnegaWarning):  # what is odd isn't refused
                machine_of(request, log_procs)
            return
        answers: queue.SimpleQueue[Message] = queue.SimpleQueue()
        asked = {**request, "log_procs": log_procs}
        self._checking.submit(Task("machine", self.settings.state, asked, answers.put))
        message: Message = {}
        while not message.keys() & {"result", "error"}:
            try:
                message = answers.get(timeout=CHECK_PATIENCE)
            except queue.Empty:
                raise Busy("the machine can't be checked now; try again in a while") from None
        if "error" in message:
            raise SimulationError(message["error"])

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
                made = Picture(self.store.folder(run), int(run.numbers["procs"]))
                self._pictures[run.id] = int(run.numbers["jobs"]), made
            self._pictures.move_to_end(run.id)
            while len(self._pictures) > PICTURES or (
                len(self._pictures) > 1
                and sum(jobs for jobs, _ in self._pictures.values()) > PICTURED_JOBS
            ):
                self._pictures.popitem(last=False)
            return self._pictures[run.id][1]

"""Uploads and results on disk: items with random names, each in a folder of its own.

::

    STATE/logs/<id>/    item.json, jobs.parquet, description.json, figures/
    STATE/runs/<id>/    item.json, jobs.parquet, system.parquet, pieces.parquet, figures/
    STATE/models/<id>/  item.json, model.json
    STATE/plans/<id>/   item.json, figures/

What comes from outside is only ever looked up among the items that are known: no part of a request
becomes part of a path.
"""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from onega.core.errors import OnegaError
from onega.core.plain import plain
from onega.traces.files import atomic_writer

Kind = Literal["logs", "runs", "models", "plans"]
Status = Literal["waiting", "running", "done", "failed"]

KINDS: Final[tuple[Kind, ...]] = ("logs", "runs", "models", "plans")
INTERRUPTED: Final = "stopped when the page was closed; start it again"


class MissingError(OnegaError):
    """There is no such item."""


@dataclass(frozen=True, slots=True)
class Item:
    """A log, a run, a model or a plan: what was asked, how far it is, what came out.

    Attributes
    ----------
    id, kind, name
        Random id, what it is, what people call it.
    created, seconds
        Unix time of its making; seconds that the work took.
    status, progress, stage, error
        How far it is, from 0 to 1; what is being done; why it failed.
    request, result
        What was asked; the numbers that came out.
    """

    id: str
    kind: Kind
    name: str
    created: float
    request: Mapping[str, Any] = field(default_factory=dict)
    status: Status = "waiting"
    progress: float = 0.0
    stage: str = ""
    error: str | None = None
    seconds: float | None = None
    result: Mapping[str, Any] | None = None


class Store:
    """All items, in memory and on disk; safe to use from several threads."""

    def __init__(self, state: Path, *, writing: bool = True) -> None:
        """Open a state folder; ``writing=False`` leaves everything in it as it is."""
        self.state = state
        self._lock = threading.RLock()
        self._items: dict[Kind, dict[str, Item]] = {kind: {} for kind in KINDS}
        self._handle = _claim(state) if writing else None
        for kind in KINDS:
            self._load(kind, writing=writing)

    def _load(self, kind: Kind, *, writing: bool) -> None:
        found = []
        for folder in (self.state / kind).glob("[0-9a-f]" * 16):
            path = folder / "item.json"
            if writing and not path.exists():
                shutil.rmtree(folder, ignore_errors=True)  # half deleted, or half made
            try:
                found.append(Item(**json.loads(path.read_text(encoding="utf-8"))))
            except (OSError, ValueError, TypeError):
                continue  # not ours, or cut short: it stays on disk, out of sight
        for item in sorted(found, key=lambda one: one.created):
            self._items[kind][item.id] = item
            if writing and item.status in ("waiting", "running"):
                self.change(item, status="failed", error=INTERRUPTED)

    def close(self) -> None:
        """Let another page have the folder."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def create(self, kind: Kind, name: str, request: Mapping[str, Any]) -> Item:
        """Make an item and its folder."""
        item = Item(secrets.token_hex(8), kind, tidy(name), time.time(), dict(request))
        with self._lock:
            self._folder(item).mkdir(parents=True)
            self._items[kind][item.id] = item
            self._save(item)
        return item

    def get(self, kind: Kind, id: str) -> Item:
        """Return an item as it is now."""
        try:
            return self._items[kind][id]
        except KeyError:
            raise MissingError(
                f"there is no {kind[:-1]} {id[:40]!r}; it may have been deleted"
            ) from None

    def list(self, kind: Kind) -> list[Item]:
        """Return all items of a kind, the newest first."""
        with self._lock:
            return list(self._items[kind].values())[::-1]

    def folder(self, item: Item) -> Path:
        """Return the folder of an item that is known."""
        return self._folder(self.get(item.kind, item.id))

    def change(self, item: Item, *, save: bool = True, **changes: Any) -> Item | None:  # noqa: ANN401
        """Change an item; ``save=False`` in memory only. None if it has been deleted meanwhile."""
        with self._lock:
            current = self._items[item.kind].get(item.id)
            if current is None:
                return None
            changed = replace(current, **changes)
            self._items[item.kind][item.id] = changed
            if save:
                self._save(changed)
        return changed

    def delete(self, kind: Kind, id: str) -> None:
        """Forget an item and remove its folder."""
        with self._lock:
            item = self.get(kind, id)
            del self._items[kind][id]
        shutil.rmtree(self._folder(item), ignore_errors=True)

    def _folder(self, item: Item) -> Path:
        return self.state / item.kind / item.id

    def _save(self, item: Item) -> None:
        text = json.dumps(plain(asdict(item)), ensure_ascii=False)
        with atomic_writer(self._folder(item) / "item.json") as out:
            out.write(text.encode())


def tidy(name: str) -> str:
    """Make a name that can be shown: printable, on one line, not long."""
    shown = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(shown.split())[:120] or "unnamed"


def _claim(state: Path) -> Any:  # noqa: ANN401
    """Make the folder and lock it, so that two pages don't write into each other's results."""
    try:
        # Logs name users: the folder is its owner's alone.
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (state / "lock").open("w")
    except OSError as error:
        raise OnegaError(
            f"{state}: can't be used for results ({error.strerror}); give --state DIR"
        ) from None
    try:
        import fcntl
    except ImportError:  # not a Unix: no lock
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise OnegaError(
            f"{state}: is used by another page that runs already; stop it or give --state DIR"
        ) from None
    return handle

"""Uploads and results on disk: items with random names, each in a folder of its own.

::

    STATE/logs/<id>/    item.json, jobs.parquet, law.parquet, description.json, figures/
    STATE/runs/<id>/    item.json, jobs.parquet, system.parquet, pieces.parquet, figures/
    STATE/models/<id>/  item.json, model.json
    STATE/plans/<id>/   item.json, figures/

What comes from outside is only ever looked up among the items that are known: no part of a request
becomes part of a path. An item is on disk before it is shown; one that isn't done is taken
up again when the folder is opened the next time.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from onega.core.errors import OnegaError
from onega.core.files import write_text
from onega.core.json_safe import json_safe
from onega.web.settings import GIB

Kind = Literal["logs", "runs", "models", "plans"]
Status = Literal["waiting", "running", "done", "failed"]

KINDS: Final[tuple[Kind, ...]] = ("logs", "runs", "models", "plans")
UPLOAD: Final = "upload"
"""An uploaded file, until it is read; while it comes in, its name ends in ``.part``."""
OURS: Final = {*KINDS, "lock", "workers.log"}
"""What a state folder holds."""


class MissingError(OnegaError):
    """There is no such item."""


class FullError(OnegaError):
    """There is no room for another item."""


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
    task, request, result
        What has to be done for it; what was asked; the numbers that came out.
    size
        Bytes of its files.
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
    task: str = ""
    size: int = 0

    @property
    def numbers(self) -> Mapping[str, Any]:
        """The result of an item that is done; nothing of another."""
        return self.result or {}


class Store:
    """All items, in memory and on disk; safe to use from several threads."""

    def __init__(self, state: Path, *, writing: bool = True, most: int = 20 * GIB) -> None:
        """Open a state folder; ``writing=False`` leaves everything in it as it is.

        ``most`` bytes are kept in it; see `create`.
        """
        self.state = state
        self.most = most
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
                item = Item(**json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):
                continue  # not ours, or cut short: it stays on disk, out of sight
            if writing:
                _remove(folder.rglob(".*.part"))  # of a writer that was killed
            if item.status == "running":
                item = replace(item, status="waiting", progress=0.0, stage="")
            found.append(replace(item, size=_size(folder)))
        for item in sorted(found, key=lambda one: one.created):
            self._items[kind][item.id] = item

    def close(self) -> None:
        """Let another page have the folder."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    @property
    def used(self) -> int:
        """Bytes of all items."""
        with self._lock:
            return sum(item.size for items in self._items.values() for item in items.values())

    def create(
        self, kind: Kind, name: str, request: Mapping[str, Any], *, task: str = "", size: int = 0
    ) -> Item:
        """Make an item and its folder; ``size`` bytes are counted as used until it is finished.

        Raises
        ------
        FullError
            If all items together are as large as they may be, or the disk is full.
        """
        id, asked = secrets.token_hex(8), dict(request)
        item = Item(id, kind, tidy(name), time.time(), asked, task=task, size=size)
        if self.used + size > self.most:
            raise FullError(
                f"logs and results take {_gigabytes(self.used)} of the {_gigabytes(self.most)} "
                "that the page may keep; delete some, the oldest say: they are listed at /storage"
            )
        try:
            self._folder(item).mkdir(parents=True)
            self._save(item)
        except (OSError, OnegaError) as error:
            shutil.rmtree(self._folder(item), ignore_errors=True)
            raise _no_room(error) from None
        with self._lock:
            self._items[kind][item.id] = item
        return item

    def get(self, kind: Kind, id: str) -> Item:
        """Return an item as it is now."""
        try:
            return self._items[kind][id]
        except KeyError:
            raise MissingError(
                f"there is no {kind[:-1]} {id[:40]!r}; it may have been deleted"
            ) from None

    def list(self, kind: Kind, *, log: str | None = None) -> list[Item]:
        """Return all items of a kind, the newest first; of one log, if it is named."""
        with self._lock:
            found = list(self._items[kind].values())[::-1]
        return [item for item in found if log is None or item.request.get("log") == log]

    def all(self) -> tuple[Item, ...]:
        """Return all items, the oldest first."""
        found = (item for kind in KINDS for item in self.list(kind))
        return tuple(sorted(found, key=lambda item: item.created))

    def folder(self, item: Item) -> Path:
        """Return the folder of an item that is known."""
        return self._folder(self.get(item.kind, item.id))

    def change(self, item: Item, **changes: Any) -> None:  # noqa: ANN401
        """Change an item in memory; one that has been deleted meanwhile stays so."""
        with self._lock:
            current = self._items[item.kind].get(item.id)
            if current is not None:
                self._items[item.kind][item.id] = replace(current, **changes)

    def finish(self, item: Item, **changes: Any) -> None:  # noqa: ANN401
        """Change an item for good: what it doesn't need any more goes, the rest is kept.

        On a full disk the folder still says that the work is to be done; so it is done again when
        the page is started the next time.
        """
        folder = self._folder(item)
        if changes["status"] == "failed":
            _remove(path for path in _listed(folder) if path.name != "item.json")
        _remove(folder.glob(f"{UPLOAD}*"))
        _remove(folder.rglob(".*.part"))
        with self._lock:
            current = self._items[item.kind].get(item.id)
            if current is None:
                return
            changed = replace(current, size=_size(folder), **changes)
            with contextlib.suppress(OSError, OnegaError):
                self._save(changed)
            self._items[item.kind][item.id] = changed

    def delete(self, kind: Kind, id: str) -> None:
        """Forget an item and remove its folder."""
        with self._lock:
            item = self.get(kind, id)
            del self._items[kind][id]
        shutil.rmtree(self._folder(item), ignore_errors=True)

    def _folder(self, item: Item) -> Path:
        return self.state / item.kind / item.id

    def _save(self, item: Item) -> None:
        text = json.dumps(json_safe(asdict(item)), ensure_ascii=False)
        write_text(self._folder(item) / "item.json", text)


def tidy(name: str) -> str:
    """Make a name that can be shown: printable, on one line, not long."""
    shown = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(shown.split())[:120] or "unnamed"


def _gigabytes(size: int) -> str:
    return f"{size / GIB:.3g} GB"


def _no_room(error: Exception) -> FullError:
    """Say that nothing can be kept, without the places of files on this machine."""
    number = getattr(error, "errno", None)
    reason = os.strerror(number) if number else "no reason given"
    return FullError(
        f"nothing can be written to the page's folder ({reason}); delete what isn't needed any "
        "more, the oldest say: it is listed at /storage"
    )


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _remove(paths: Any) -> None:  # noqa: ANN401
    """Remove files and folders, as far as that can be done."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder, but for the item's own few."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += 0 if path.name == "item.json" else path.stat().st_size
    return total


def _claim(state: Path) -> Any:  # noqa: ANN401
    """Make the folder and lock it, so that two pages don't write into each other's results."""
    try:
        # Logs name users: the folder is its owner's alone, also one that was made by hand.
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (state / "lock").open("w")
        for kind in KINDS:
            (state / kind).mkdir(exist_ok=True)
        for folder in (state, *(state / kind for kind in KINDS)):
            # A folder that holds other things too isn't ours to close.
            if folder != state or {path.name for path in state.iterdir()} <= OURS:
                with contextlib.suppress(OSError):  # a file system without modes
                    folder.chmod(0o700)
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

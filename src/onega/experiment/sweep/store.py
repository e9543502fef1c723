"""A folder of finished runs that survives anything.

::

    DIR/sweep.json     what is swept: the spec, digests of the files it reads, the version
    DIR/runs.sqlite    finished runs, under the digest of all that each depends on
    DIR/lock           held while a sweep is at work here

A run is there whole or not at all: ``kill -9`` at any moment loses the runs in flight and nothing
else. Commits aren't forced onto the disk one by one (that would cost more than many a run): after a
power cut the last ones may be missing. What is damaged is found, named and made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from onega import __version__
from onega.core.documents import first_problem, read_json
from onega.core.errors import ExperimentError, FileError
from onega.core.files import write_text
from onega.experiment.sweep.database import NAME, Database, Row, is_sound, rebuild, rows
from onega.experiment.sweep.design import Design, Run, canonical
from onega.experiment.sweep.old_files import old_files, read_old, remove_old
from onega.experiment.sweep.policies import ABOUT
from onega.experiment.sweep.spec import read_spec

MANIFEST: Final = "sweep.json"
FORMAT: Final = 1

_AGAIN: Final = "sweep with --replace-spec (replace_spec=True) to write it anew: runs are kept"


class Store:
    """The folder of one sweep, open for writing by this process alone.

    Attributes
    ----------
    finished
        Keys of the runs that were there when it was opened.
    damaged
        Stored runs that couldn't be read: their keys, None where even that is unknown. They are
        gone from the store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.finished: set[str] = set()
        self.damaged: list[str | None] = []
        self._database: Database | None = None
        self._lock = threading.Lock()

    @classmethod
    @contextlib.contextmanager
    def opened(cls, folder: Path, design: Design, *, replace_spec: bool) -> Iterator[Store]:
        """Open a folder for a sweep: a new or empty one, or one that belongs to it.

        Raises
        ------
        ExperimentError
            The folder holds something else, or another sweep, and ``replace_spec`` isn't set.
        """
        _refuse_strangers(folder)
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = _locked(folder)
        except BaseException:
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        store = cls(folder)
        try:
            store._claim(design, replace_spec=replace_spec)
            store._open()
            yield store
        finally:
            if store._database is not None:
                store._database.close()
            os.close(lock)

    def _claim(self, design: Design, *, replace_spec: bool) -> None:
        """Write the manifest, unless it is there and says the same."""
        if (self.folder / MANIFEST).exists() and not replace_spec:
            before = read_design(self.folder)
            if before.digest() == design.digest():
                return
            raise ExperimentError(
                f"{self.folder} holds another sweep: {difference(before, design)}; give "
                "another folder, or replace the spec (--replace-spec, replace_spec=True): runs "
                "that both have are kept"
            )
        write_text(self.folder / MANIFEST, _manifest(design))

    def _open(self) -> None:
        """Take in files of earlier versions, leave out what is damaged, see what is there."""
        path = self.folder / NAME
        for row in stored_rows(self.folder):
            if row.key is not None and row.content is not None:
                self.finished.add(row.key)
            else:
                self.damaged.append(row.key)
        if not is_sound(path) and not self.damaged:
            self.damaged.append(None)
        if self.damaged:
            rebuild(path)
        if any(old_files(self.folder)):
            old = (read_old(one) for one in old_files(self.folder))
            self._opened().insert((row.key, row.content) for row in old if row.key and row.content)
            remove_old(self.folder)
        if path.with_name(f"{NAME}-wal").exists():
            # A process that was killed left its last runs beside the file: closing takes them in.
            self._opened()

    def write(self, run: Run, content: str) -> None:
        """Store a finished run; FileError if the disk is full, say."""
        self._opened().insert([(run.key, content)])

    def _opened(self) -> Database:
        """Return the database, opened when the first run is stored."""
        with self._lock:
            if self._database is None:
                self._database = Database(self.folder / NAME)
            return self._database


def stored_rows(folder: Path) -> Iterator[Row]:
    """Yield the runs of a folder, each once, those of earlier versions included."""
    seen: set[str] = set()
    bad: list[Row] = []
    for source in (rows(folder / NAME), map(read_old, old_files(folder))):
        for row in source:
            if row.key is None or row.content is None:
                bad.append(row)
            elif row.key not in seen:
                seen.add(row.key)
                yield row
    yield from (row for row in bad if row.key not in seen)


def stored_keys(folder: Path) -> set[str]:
    """Return the keys of runs that are there whole."""
    return {row.key for row in stored_rows(folder) if row.key and row.content}


def _locked(folder: Path) -> int:
    """Take the folder's lock; it is freed with the process, however that ends."""
    import fcntl

    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(lock, 32).decode("ascii", "replace").strip()
        os.close(lock)
        raise ExperimentError(
            f"another process ({owner or 'unknown'}) is sweeping in {folder}; wait for it, "
            "or give another folder"
        ) from None
    try:
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
    except OSError as error:
        (folder / "lock").unlink()
        os.close(lock)
        why = f"can't be written: {error.strerror}"
        raise FileError(why, path=folder, errno=error.errno) from None
    return lock


def is_busy(folder: Path) -> bool:
    """Tell whether a sweep is at work in a folder right now."""
    import fcntl

    try:
        lock = os.open(folder / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _refuse_strangers(folder: Path) -> None:
    """Refuse a folder with files that aren't a sweep's: nothing is ever written among them."""
    if folder.exists() and not folder.is_dir():
        raise ExperimentError(f"{folder} is a file; a sweep needs a folder")
    if not folder.exists() or (folder / MANIFEST).exists():
        return
    others = [path.name for path in folder.iterdir() if path.name != "lock"]
    if others:
        raise ExperimentError(
            f"{folder} isn't empty and isn't a sweep (it holds {sorted(others)[0]!r}); "
            "give a new or an empty folder"
        )


def _manifest(design: Design) -> str:
    content = {
        "onega_sweep": FORMAT,
        "onega": design.version,
        "runs": len(design),
        "varied": list(design.spec.varied),
        "contents": dict(design.contents),
        "spec": design.spec.to_dict(),
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


class Manifest(BaseModel):
    """What is read of a sweep's manifest; the specification is checked as one from a file is."""

    onega: str
    contents: dict[str, str]
    spec: dict[str, Any]


def read_design(folder: Path) -> Design:
    """Read what is swept in a folder."""
    path = folder / MANIFEST
    try:
        data = read_json(path, ExperimentError)
    except FileNotFoundError:
        raise ExperimentError(f"{folder} isn't a sweep: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise ExperimentError(f"{folder} is a file, not the folder of a sweep") from None
    except ExperimentError as error:
        raise ExperimentError(f"not a sweep's manifest: {error}; {_AGAIN}") from None
    if not isinstance(data, dict) or data.get("onega_sweep") != FORMAT:
        raise ExperimentError(f"{path}: not a sweep's manifest of version {FORMAT}; {_AGAIN}")
    try:
        manifest = Manifest.model_validate(data)
        named = {key.removeprefix(ABOUT) for key in manifest.contents if key.startswith(ABOUT)}
        return Design(read_spec(manifest.spec, named=named), manifest.contents, manifest.onega)
    except ValidationError as error:
        fault = first_problem(error)
        raise ExperimentError(f"{path}: a damaged manifest: {fault}; {_AGAIN}") from None
    except ExperimentError as error:
        raise ExperimentError(f"{path}: a damaged manifest: {error}; {_AGAIN}") from None


def difference(before: Design, after: Design) -> str:
    """Say what makes two sweeps different: the first thing found."""
    if before.version != after.version:
        return f"it was made by onega {before.version}, this is {__version__}"
    old, new = _flat(before.spec.to_dict()), _flat(after.spec.to_dict())
    for key in dict.fromkeys([*new, *old]):
        if old.get(key) != new.get(key):
            return f"{key} {_told('was', old.get(key))}, now {_told('is', new.get(key))}"
    for path in {**after.contents, **before.contents}:
        if before.contents.get(path) != after.contents.get(path):
            return f"{path.removeprefix(ABOUT) or 'the workload'} holds something else than it did"
    return "its parts are in another order"


def _flat(spec: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for part, value in spec.items():
        if isinstance(value, Mapping) and part != "read":
            result.update({f"{part}.{key}": one for key, one in value.items()})
        elif part != "note":
            result[part] = value
    return result


def _told(verb: str, value: Any) -> str:  # noqa: ANN401
    if value is None:
        return f"{verb}n't there"
    text = canonical(value)
    return f"{verb} {text if len(text) <= 60 else f'{text[:59]}…'}"

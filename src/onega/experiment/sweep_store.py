"""A folder of finished runs that survives anything: one small Parquet file each.

::

    DIR/sweep.json             what is swept: the spec, digests of the files it reads, the version
    DIR/runs/a/abcd….parquet   one finished run, under the digest of all it depends on
    DIR/lock                   held while somebody works here

A file is written beside its place and renamed, so that it is there whole or not at all: ``kill -9``
at any moment loses the runs in flight and nothing else. Files aren't forced onto the disk one by
one (that would cost more than many a run); after a power cut, those that are damaged are found and
made again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from onega import __version__
from onega.core.errors import ExperimentError
from onega.experiment.parquet_row import MAGIC
from onega.experiment.sweep_design import Design, Run, canonical
from onega.experiment.sweep_spec import read_spec

MANIFEST: Final = "sweep.json"
FORMAT: Final = 1


class Store:
    """The folder of one sweep, open for writing: nobody else works there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = _locked(folder)
        self._made: set[str] = set()

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
            store = cls(folder)
        except BaseException:
            if made:
                folder.rmdir()
            raise
        try:
            store._claim(design, replace_spec=replace_spec)
            yield store
        finally:
            os.close(store._lock)

    def _claim(self, design: Design, *, replace_spec: bool) -> None:
        """Write the manifest, unless it is there and says the same."""
        if (self.folder / MANIFEST).exists():
            before = read_design(self.folder)
            if before.digest() == design.digest():
                self._tidy()
                return
            if not replace_spec:
                raise ExperimentError(
                    f"{self.folder} holds another sweep: {difference(before, design)}; give "
                    "another folder, or replace the spec (--replace-spec, replace_spec=True): runs "
                    "that both have are kept"
                )
        place_file(self.folder / MANIFEST, _manifest(design).encode())
        self._tidy()

    def _tidy(self) -> None:
        """Remove what a killed process left half-written."""
        for part in self.folder.glob("runs/*/.*.part"):
            part.unlink(missing_ok=True)

    def finished(self) -> set[str]:
        """Return the keys of runs that are there; files that are damaged are removed."""
        for path in run_files(self.folder):
            if not is_whole(path):
                path.unlink()
        return stored_keys(self.folder)

    def write(self, run: Run, content: bytes) -> None:
        """Store the file of a finished run; OSError if the disk is full, say.

        There are 16 sub-folders, because there may be a million runs. Texts, not paths: objects
        take longer than the disk.
        """
        folder = os.path.join(self.folder, "runs", run.key[:1])
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)
            self._made.add(folder)
        place_file(os.path.join(folder, f"{run.key}.parquet"), content)


def run_files(folder: Path) -> Iterator[Path]:
    """Yield the files of finished runs, in any order."""
    return folder.glob("runs/*/*.parquet")


def stored_keys(folder: Path) -> set[str]:
    """Return the keys of runs that are there whole."""
    return {path.stem for path in run_files(folder) if is_whole(path)}


def is_whole(path: Path) -> bool:
    """Tell whether a Parquet file begins and ends as one."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            return False  # as after a power cut: the file has its length, but not its content
        file.seek(-4, os.SEEK_END)
        return file.read(4) == MAGIC


def place_file(path: str | Path, content: bytes) -> None:
    """Write a file beside its place and rename it: there whole, or not at all."""
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(beside).unlink(missing_ok=True)
        raise


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
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def is_busy(folder: Path) -> bool:
    """Tell whether somebody works in a sweep's folder right now."""
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
    told = {
        "onega_sweep": FORMAT,
        "onega": design.version,
        "runs": len(design),
        "varied": list(design.spec.varied),
        "contents": dict(design.contents),
        "spec": design.spec.to_dict(),
    }
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def read_design(folder: Path) -> Design:
    """Read what is swept in a folder."""
    path = folder / MANIFEST
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExperimentError(f"{folder} isn't a sweep: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise ExperimentError(f"{folder} is a file, not the folder of a sweep") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path}: not a sweep's manifest: {error}") from None
    if not isinstance(told, dict) or told.get("onega_sweep") != FORMAT:
        raise ExperimentError(f"{path}: not a sweep's manifest of version {FORMAT}")
    spec = read_spec(told["spec"])
    return Design(spec, told["contents"], told["onega"])


def difference(before: Design, after: Design) -> str:
    """Say what makes two sweeps different: the first thing found."""
    if before.version != after.version:
        return f"it was made by onega {before.version}, this is {__version__}"
    old, new = _flat(before.spec.to_dict()), _flat(after.spec.to_dict())
    for key in dict.fromkeys([*new, *old]):
        if old.get(key) != new.get(key):
            return f"{key} {_was(old.get(key))}, now {_is(new.get(key))}"
    for path in after.contents:
        if before.contents.get(path) != after.contents[path]:
            return f"{path or 'the workload'} holds something else than it did"
    return "its parts are in another order"


def _flat(told: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for part, value in told.items():
        if isinstance(value, Mapping) and part != "read":
            result.update({f"{part}.{key}": one for key, one in value.items()})
        elif part != "note":
            result[part] = value
    return result


def _was(value: Any) -> str:  # noqa: ANN401
    return "wasn't there" if value is None else f"was {_short(value)}"


def _is(value: Any) -> str:  # noqa: ANN401
    return "isn't there" if value is None else f"is {_short(value)}"


def _short(value: Any, most: int = 60) -> str:  # noqa: ANN401
    text = canonical(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"

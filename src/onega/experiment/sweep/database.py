"""Finished runs in one SQLite file, each with a checksum.

SQLite finds most damage to a file, but not a changed digit inside of a row: the digest does. What
can't be read is left out and counted; `rebuild` makes a new file of the rest.

On a disk of this machine the file has a write-ahead log (WAL) beside it while a sweep is at work: a
commit costs some microseconds, ``kill -9`` loses nothing that was stored, and others may read
meanwhile. On a file system of a network the log wouldn't be seen alike by all hosts (SQLite,
"Write-Ahead Logging", §1): there a rollback journal does the same, slower.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from onega.core.errors import ExperimentError, FileError

NAME: Final = "runs.sqlite"

_NETWORK: Final = ("9p", "afs", "beegfs", "ceph", "cifs", "fuse.", "gfs", "gluster", "gpfs",
                   "lustre", "nfs", "ocfs", "orangefs", "panfs", "smb", "virtiofs")  # fmt: skip
"""How the names of file systems begin that other hosts may write to."""

_PATIENCE: Final = 60.0
"""Seconds to wait for another process that reads."""


_REFUSALS: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
                    sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
                    sqlite3.SQLITE_PROTOCOL)  # fmt: skip
"""Errors that say nothing of the file's content."""


_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file raises; the second if SQLite's message quotes it."""


_LEAST: Final = 64
"""Bytes that a row takes at least."""


class Row(NamedTuple):
    """A stored run; without content it is damaged, without a key it can't be told which one."""

    key: str | None
    content: str | None = None


class Database:
    """The file of finished runs, open for writing; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it; FileError if it can't be written."""
        self.path = path
        self._lock = threading.Lock()
        self._db = _connect(path)
        try:
            with _refused(path):
                self._db.execute(f"PRAGMA journal_mode = {_journal(path)}")
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._db.execute("CREATE TABLE IF NOT EXISTS runs (key, content, digest)")
        except BaseException:
            self._db.close()
            raise

    def insert(self, rows: Iterable[tuple[str, str]]) -> None:
        """Store runs by key, all or none of them: there when this returns."""
        encoded = ((key.encode(), text.encode(), _digest(key, text)) for key, text in rows)
        with self._lock, _refused(self.path), self._db:  # commits, or rolls back
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO runs VALUES (?, ?, ?)", encoded)

    def close(self) -> None:
        """Close the file and take the log in, so that one file can be copied and read anywhere."""
        with contextlib.suppress(sqlite3.Error):  # another process reads: the log stays beside it
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()


def rows(path: Path) -> Iterator[Row]:
    """Yield the stored runs of a file, damaged ones without their content.

    Where pages are damaged, rows are asked for one by one; a file that SQLite can't make sense of
    at all is one damaged row.
    """
    if not path.exists():
        return
    with contextlib.closing(_connect(path, "ro")) as db:
        try:
            yield from _scan(db, path.stat().st_size)
        except _UNREADABLE as error:
            _raise_refusal(error, path)
            yield Row(None)


def _scan(db: sqlite3.Connection, size: int) -> Iterator[Row]:
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
    if not tables:
        return  # killed before the first run
    # A damaged number may be any: there are no more rows than the file has room for.
    last, most = 0, size // _LEAST
    try:
        for count, row in enumerate(db.execute("SELECT rowid, * FROM runs")):
            if count > most:
                raise sqlite3.DatabaseError("pages that lead in a circle")
            last = row[0]
            yield _checked(*row[1:])
        return
    except _UNREADABLE:
        (top,) = db.execute("SELECT max(rowid) FROM runs").fetchone()
    for number in range(last + 1, min(top or 0, last + most) + 1):
        try:
            row = db.execute("SELECT * FROM runs WHERE rowid = ?", (number,)).fetchone()
        except _UNREADABLE:
            row = None
        yield Row(None) if row is None else _checked(*row)


def is_sound(path: Path) -> bool:
    """Tell whether SQLite finds the structure of a file in order; a missing one is."""
    if not path.exists():
        return True
    try:
        with contextlib.closing(_connect(path, "ro")) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == (b"ok",))
    except _UNREADABLE as error:
        _raise_refusal(error, path)
        return False


def rebuild(path: Path) -> None:
    """Put a new file with all that can be read in the place of a damaged one."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    _remove_logs(fresh)
    new = Database(fresh)
    try:
        new.insert((row.key, row.content) for row in rows(path) if row.key and row.content)
    finally:
        new.close()
    # A log of the old file must not be taken for one of the new: it goes first.
    _remove_logs(path)
    fresh.replace(path)


def _remove_logs(path: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _connect(path: Path, mode: str = "rwc") -> sqlite3.Connection:
    """Open a file; texts come as bytes, because damaged ones may not be texts."""
    try:
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
    except sqlite3.OperationalError as error:
        raise FileError(f"can't be opened: {error}", path=path) from None
    db.text_factory = bytes
    db.execute("PRAGMA cell_size_check = ON")
    db.execute("PRAGMA trusted_schema = OFF")
    return db


def _checked(key: object = None, content: object = None, digest: object = None, *_: object) -> Row:
    """Return a run, with its content if its digest is right."""
    try:
        named = key.decode() if isinstance(key, bytes) else None
        text = content.decode() if isinstance(content, bytes) else None
    except UnicodeDecodeError:
        return Row(None)
    if named is None or text is None or digest != _digest(named, text):
        return Row(named)
    return Row(named, text)


def _digest(key: str, content: str) -> bytes:
    """Digest a row; eight bytes are enough to notice damage."""
    return hashlib.blake2b(f"{key}\n{content}".encode(), digest_size=8).digest()


@contextlib.contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Turn what SQLite can't write (a full disk, say) into one line."""
    try:
        yield
    except sqlite3.Error as error:
        raise FileError(f"can't be written: {error}", path=path) from None


def _raise_refusal(error: Exception, path: Path) -> None:
    """Raise if the system, not the file's content, is why a file can't be read."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _REFUSALS:
        raise ExperimentError(f"{path}: can't be read: {error}") from None


def _journal(path: Path) -> str:
    """Choose how a commit survives a kill: by a log where only this machine writes."""
    kind = file_system(path)
    return "TRUNCATE" if kind.startswith(_NETWORK) else "WAL"


def file_system(path: Path) -> str:
    """Return the kind of file system that a path is on; empty if the system doesn't say."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place, best, kind = os.path.realpath(path), -1, ""
    for line in lines:
        _, root, found, *_ = line.split(" ")
        root = root.replace("\\040", " ")
        inside = place == root or place.startswith(root.rstrip("/") + "/")
        if inside and len(root) >= best:
            best, kind = len(root), found
    return kind

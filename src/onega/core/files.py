"""Files that are there whole or not at all: everything that Onega writes goes through here.

What is written goes beside its place, onto the disk, and is then renamed. If anything fails on the
way (a full disk, Ctrl-C, an error in what is being written), the file that stood there before still
stands, nothing is left beside it, and a `FileError` says why in one line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from onega.core.errors import FileError

if TYPE_CHECKING:
    import polars as pl

StrPath = str | os.PathLike[str]


@contextlib.contextmanager
def atomic_writer(path: StrPath) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when it is complete.

    A file that is replaced keeps its permissions, a link stays a link. A device or a pipe
    (``/dev/stdout``) is written directly. The folder has to be there.

    Raises
    ------
    FileError
        It can't be written: the folder isn't there, the disk is full, …
    """
    with atomic_writers(path) as (out,):
        yield out


@contextlib.contextmanager
def atomic_writers(*paths: StrPath) -> Iterator[tuple[IO[bytes], ...]]:
    """Open files that belong together: none appears before all are complete, on the disk."""
    place = paths[0] if len(paths) == 1 else Path(paths[0]).parent
    parts: list[_Part] = []
    try:
        for path in paths:
            with _refused(path):
                parts.append(_Part(path))
        with _refused(place, others=True):
            yield tuple(part.raw for part in parts)
        for part in parts:
            with _refused(part.path):
                part.finish()
        for part in parts:
            with _refused(part.path):
                part.show()
    finally:
        for part in parts:
            part.discard()


class _Part:
    """A file that is being written: under another name beside its place until `show`."""

    def __init__(self, path: StrPath) -> None:
        self.path, self.target = path, Path(path)
        self.beside: Path | None = None
        if self.target.is_dir():
            raise FileError("is a directory; give a file name to write", path=path)
        if self.target.exists() and not self.target.is_file():
            self.raw: IO[bytes] = self.target.open("wb")
            return
        self.target = self.target.resolve() if self.target.is_symlink() else self.target
        name = f".{self.target.name[:100]}.{os.getpid()}-{secrets.token_hex(4)}.part"
        self.beside = self.target.with_name(name)
        self.raw = self.beside.open("xb")
        if self.target.exists():
            os.chmod(self.beside, stat.S_IMODE(self.target.stat().st_mode))

    def finish(self) -> None:
        """Flush all of it to the disk, or fail."""
        self.raw.flush()
        if self.beside is not None:
            os.fsync(self.raw.fileno())
        self.raw.close()

    def show(self) -> None:
        """Move the file to its place."""
        if self.beside is not None:
            self.beside.replace(self.target)

    def discard(self) -> None:
        """Remove a file that wasn't moved to its place; errors don't matter any more."""
        with contextlib.suppress(OSError):
            self.raw.close()
        if self.beside is not None:
            with contextlib.suppress(OSError):
                self.beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _refused(path: StrPath, *, others: bool = False) -> Iterator[None]:
    """Turn what the system refuses into a `FileError` with the file's name.

    With ``others``, other files may be opened meanwhile: an error that names its file isn't of
    ours. A pipe whose reader has ended (``| head``) is no error of the file either.
    """
    try:
        yield
    except Exception as error:
        found = _refusal(error)
        if found is None or (others and getattr(error, "filename", None) is not None):
            raise
        if found[0] == errno.EPIPE:
            raise BrokenPipeError(*found) from None
        raise FileError(f"can't be written: {found[1]}", path=path, errno=found[0]) from None


def _refusal(error: Exception) -> tuple[int | None, str] | None:
    """Return the system's error number and message; None if the error isn't the system's.

    Libraries that write by themselves (Polars) raise errors of their own, or an `OSError` without
    its number: they quote the system's words, with ``(os error 28)`` behind.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno, error.strerror or str(error)
    if quoted := re.search(r"\(os error (\d+)\)", str(error)):
        return int(quoted[1]), os.strerror(int(quoted[1]))
    return (None, str(error)) if isinstance(error, OSError) else None


def write_text(path: StrPath, text: str) -> Path:
    """Write a text in UTF-8, whole or not at all."""
    content = text.encode()
    with atomic_writer(path) as out:
        out.write(content)
    return Path(path)


def write_table(table: pl.DataFrame, path: StrPath) -> Path:
    """Write a table, whole or not at all: as Parquet if the name ends so, else as CSV."""
    with atomic_writer(path) as out:
        write_table_into(out, table, Path(path).suffix.removeprefix("."))
    return Path(path)


def write_table_into(out: IO[bytes], table: pl.DataFrame, format: str) -> None:
    """Write a table into an open file: ``"parquet"``, or anything else for CSV."""
    if format == "parquet":
        table.write_parquet(out)
    else:
        table.write_csv(out)

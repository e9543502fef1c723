"""Fetching a log: resumed where it broke off, checked, and there only when it is whole."""

from __future__ import annotations

import http.client
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from onega import __version__
from onega.core.errors import FileError, TraceError
from onega.core.files import StrPath, write_text
from onega.traces.archive.catalogue import BASE_URL, ArchiveLog, find
from onega.traces.files import Limits
from onega.traces.reading import read

OnBytes = Callable[[int, int | None], None]
"""Called with the bytes there are so far and the bytes there will be, if the server says."""

ATTEMPTS: Final = 3
TIMEOUT: Final = 60.0
_PIECE: Final = 1 << 16


def cache_directory() -> Path:
    """Return where fetched logs are kept: ``ONEGA_CACHE``, or the system's place for caches."""
    if "ONEGA_CACHE" in os.environ:
        return Path(os.environ["ONEGA_CACHE"]) / "archive"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "onega" / "archive"


def fetch(
    name: str,
    *,
    base_url: str | None = None,
    cache: StrPath | None = None,
    progress: OnBytes | None = None,
) -> Path:
    """Fetch a log of the catalogue, unless it is there already, and return where it is.

    What arrived before an interruption is kept and continued from. A file gets its name only when
    it has the size that the server announced, can be read to its end as SWF, and has the number
    of jobs that the catalogue knows.

    Parameters
    ----------
    name
        As in the catalogue: ``"KTH-SP2"``.
    base_url
        Another place that is laid out like the archive; the archive itself if None.
    cache
        The directory to keep it in; see `cache_directory`.
    progress
        Called now and then with the bytes so far and in all.
    """
    log = find(name)
    folder = Path(cache) if cache is not None else cache_directory()
    target = folder / log.file
    if target.is_file():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"can't be made: {error.strerror}", path=folder) from None
    url = (base_url or BASE_URL).rstrip("/") + "/" + log.path
    part = _Part(target.with_name(f".{target.name}.part"))
    _receive(url, part, progress or (lambda done, total: None))
    try:
        _check(log, part.path)
    except TraceError as error:
        part.discard()
        raise TraceError(
            f"what {url} gave is not the log: {error.message}; it was thrown away", path=target
        ) from None
    part.path.replace(target)
    part.notes.unlink(missing_ok=True)
    return target


class _Part:
    """The bytes that have arrived, and what the server said of the file they are part of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes = path.with_suffix(".json")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def version(self) -> str | None:
        """Return the entity tag or date of the file that the bytes belong to."""
        try:
            version = json.loads(self.notes.read_text())["version"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return version if isinstance(version, str) else None

    def begin(self, version: str | None) -> None:
        write_text(self.path, "")
        write_text(self.notes, json.dumps({"version": version}))

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.notes.unlink(missing_ok=True)


def _receive(url: str, part: _Part, progress: OnBytes) -> None:
    """Ask until all bytes are there; each attempt goes on where the last one stopped."""
    problem = "nothing arrived"
    for _ in range(ATTEMPTS):
        try:
            total = _ask(url, part, progress)
        except HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.discard()
                problem = "the server's file is shorter than what was here; begun anew"
                continue
            raise TraceError(f"the server answers {error.code} {error.reason}", path=url) from None
        except (URLError, OSError, http.client.HTTPException) as error:
            problem = f"the connection broke ({getattr(error, 'reason', None) or error})"
            continue
        if total is None or part.size() == total:
            return
        if part.size() > total:
            part.discard()
            problem = f"more than the {total} bytes announced arrived"
        else:
            problem = f"{part.size()} of {total} bytes arrived"
    kept = part.size()
    again = f"; {kept} bytes are kept, run it again to go on" if kept else ""
    raise TraceError(f"can't be fetched: {problem}{again}", path=url)


def _ask(url: str, part: _Part, progress: OnBytes) -> int | None:
    """Make one request; return how many bytes the whole file has, if the server says."""
    have, version = part.size(), part.version()
    headers = {"User-Agent": f"onega/{__version__}", "Accept-Encoding": "identity"}
    if have and version is not None:
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    try:
        request = Request(url, headers=headers)
    except ValueError as error:
        raise TraceError(f"is not an address: {error}", path=url) from None
    if request.type not in ("http", "https"):
        raise TraceError(f"is not an address of http or https: {request.type}", path=url)
    with urlopen(request, timeout=TIMEOUT) as answer:
        total = _total(answer, have)
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            part.begin(answer.headers.get("ETag") or answer.headers.get("Last-Modified"))
        with part.path.open("ab") as out:
            _copy(answer, out, total, progress)
    return total


def _total(answer: Any, have: int) -> int | None:  # noqa: ANN401
    """Return the size of the whole file from an answer's headers; refuse a wrong continuation."""
    if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
        span, _, total = str(answer.headers.get("Content-Range", "")).partition("/")
        if not span.startswith(f"bytes {have}-"):
            raise http.client.HTTPException(f"asked to go on at byte {have}, got {span!r}")
        return int(total) if total.isdigit() else None
    length = answer.headers.get("Content-Length")
    return int(length) if length is not None and length.isdigit() else None


def _copy(answer: Any, out: IO[bytes], total: int | None, progress: OnBytes) -> None:  # noqa: ANN401
    done = out.tell()
    while piece := answer.read(_PIECE):
        try:
            out.write(piece)
            out.flush()
        except OSError as error:
            raise FileError(f"can't be written: {error.strerror}", path=out.name) from None
        done += len(piece)
        progress(done, total)


def _check(log: ArchiveLog, path: Path) -> None:
    """Read the file to its end: damaged data, other formats and other counts are refused."""
    jobs = len(read(path, "swf", limits=Limits(size=8 << 30)))
    if log.records is not None and jobs != log.records:
        raise TraceError(f"it has {jobs} jobs where the catalogue says {log.records}")

"""`onega.read`: find out what a file is, and read it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from onega.core.errors import TraceError, suggest
from onega.core.workload import Workload
from onega.traces.files import DEFAULT_LIMITS, Limits, sample


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of log that can be read.

    ``recognise`` looks at the first bytes of the text; formats are asked in the order of
    `FORMATS`, so the more particular ones come first.
    """

    name: str
    what: str
    recognise: Callable[[bytes], bool]
    read: Callable[..., Workload]


def _looks_like_swf(start: bytes) -> bool:
    """Recognise comments led by ``;``, or a first line of at least five numbers."""
    for line in start.split(b"\n", 200)[:200]:
        body = line.strip()
        if not body:
            continue
        if body.startswith(b";"):
            return True
        return _is_number_row(body)
    return False


def _is_number_row(body: bytes) -> bool:
    words = body.partition(b";")[0].split()
    if len(words) < 5 or b"," in body or b"|" in body:
        return False
    return all(word[:1] in b"+-.0123456789" for word in words[:5])


def _read_swf(path: str | os.PathLike[str], limits: Limits, **options: Any) -> Workload:  # noqa: ANN401
    from onega.traces.swf.reader import read_swf

    return read_swf(path, limits=limits)


FORMATS: Final = (Format("swf", "Standard Workload Format", _looks_like_swf, _read_swf),)


def read(
    path: str | os.PathLike[str], format: str | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> Workload:
    """Read a log of jobs.

    Parameters
    ----------
    path
        The file; may be compressed (gzip, xz, bzip2, zstd: found by content, not by name).
    format
        ``"swf"``, …; found from the content if None.
    limits
        How much the file may ask of this machine.

    Returns
    -------
    Workload
        What was changed or left out is in ``workload.meta.report``.

    Raises
    ------
    TraceError
        If the file can't be read; the message names the file, the line and the field.
    """
    by_name = {one.name: one for one in FORMATS}
    if format is not None and format not in by_name:
        raise TraceError(f"unknown format {format!r}; {suggest(format, by_name)}")
    start = sample(path, limits)
    if format is not None:
        return by_name[format].read(path, limits)
    for one in FORMATS:
        if one.recognise(start):
            return one.read(path, limits)
    raise TraceError(
        f"is not a job log that I know; accepted: {', '.join(by_name)} "
        "(say which with format= or --from)",
        path=path,
    )

"""The logs that can be fetched by name.

The archive is kept by Dror Feitelson at the Hebrew University; cite it, and the people named in a
log's header, when you use a log. File names carry a version; ``-cln`` is the cleaned version that
the archive recommends.

Where the figures come from is said for each log: ``header`` means that the file itself was read
and agrees with its header; ``page`` that they stand on the log's page in the archive; ``papers``
that they are as widely cited. What isn't known for certain is None.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from onega.core.errors import TraceError, suggest

BASE_URL: Final = "https://www.cs.huji.ac.il/labs/parallel/workload/"


@dataclass(frozen=True, slots=True)
class ArchiveLog:
    """One log.

    Attributes
    ----------
    name
        What it is called here, without version.
    folder, file
        Its place below the archive's address.
    machine
        What it ran on.
    procs
        Processors.
    jobs
        Jobs in the original log, before the archive cleaned it.
    records
        Jobs in this very file; checked after fetching.
    figures
        Where the figures come from: ``header``, ``page``, ``papers``.
    """

    name: str
    folder: str
    file: str
    machine: str
    procs: int | None = None
    jobs: int | None = None
    records: int | None = None
    figures: str | None = None

    @property
    def path(self) -> str:
        """Place below the archive's address."""
        return f"{self.folder}/{self.file}"

    @property
    def url(self) -> str:
        """Address in the archive."""
        return BASE_URL + self.path


def _catalogue() -> Iterator[ArchiveLog]:
    """Read catalogue.csv; an empty field isn't known."""
    text = files(__package__).joinpath("catalogue.csv").read_text(encoding="utf-8")
    for *names, procs, jobs, records, figures in list(csv.reader(text.splitlines()))[1:]:
        numbers = (int(one) if one else None for one in (procs, jobs, records))
        yield ArchiveLog(*names, *numbers, figures=figures or None)  # type: ignore[misc,arg-type]


CATALOGUE: Final = tuple(_catalogue())
"""In order of age."""


def find(name: str) -> ArchiveLog:
    """Find a log by its name or its file's, in any case.

    Raises
    ------
    TraceError
        If there is none; the message names the nearest.
    """
    wanted = name.lower()
    for log in CATALOGUE:
        names = (log.name, log.file, log.file.removesuffix(".gz"), log.file.removesuffix(".swf.gz"))
        if wanted in (one.lower() for one in names):
            return log
    raise TraceError(
        f"no log {name!r} in the catalogue; {suggest(name, [x.name for x in CATALOGUE])}"
    )

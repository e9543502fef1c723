"""Every error that Onega raises on purpose.

::

    OnegaError
    ├── FileError         a file can't be written: its path
    ├── TraceError        a log can't be read: path, line and field
    ├── ModelError        a workload model can't be fitted, loaded or sampled
    ├── SimulationError   a simulation can't be run: the jobs or the argument at fault
    │   ├── MachineError      a machine, or a part of one, can't be as it is described
    │   ├── PolicyError       a policy isn't known, or can't be had here
    │   ├── TableError        a table beside a log (events, demands, options) has a wrong row
    │   └── ScheduleError     a schedule doesn't have what is asked of it
    ├── QueueingError     a formula was asked outside its domain
    ├── ExperimentError   a sweep or plan can't be run
    ├── MissingError      the page has nothing by that name
    ├── NotReadyError     the page has it, but it isn't done
    └── FullError         the page has no room for more

All but `FileError`, `TraceError` and the page's three are also `ValueError`, because a value was
wrong. A message says what was given, what is accepted and what to do; the command prints it on one
line and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import partial
from os import PathLike


class OnegaWarning(UserWarning):
    """Something given is allowed, but is probably not what was meant, or has no effect here."""


class OnegaError(Exception):
    """The root of all errors that Onega raises on purpose.

    It reads as one line: what a damaged file says is escaped, so that it can't break it.
    """

    def __str__(self) -> str:
        """Return the message on one line."""
        return printable(super().__str__())


class FileError(OnegaError):
    """A file can't be written; what stood there before still stands.

    Parameters
    ----------
    message
        What is wrong.
    path
        The file.
    errno
        The system's number for it (``errno.ENOSPC``, say), if the system refused.
    """

    def __init__(
        self, message: str, *, path: str | PathLike[str], errno: int | None = None
    ) -> None:
        self.message, self.path, self.errno = message, str(path), errno
        super().__init__(f"{self.path}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(FileError, path=self.path, errno=self.errno), (self.message,)


class TraceError(OnegaError):
    """A log can't be read or written.

    Parameters
    ----------
    message
        What is wrong and what is accepted.
    path, line, field
        Where: the file, the line in it (from 1) and the name of the field, as far as known.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        self.field = field
        named = (self.path, line and f"line {line}", field and f"field {field}")
        place = ", ".join(part for part in named if part)
        super().__init__(f"{place}: {message}" if place else message)

    def __reduce__(self) -> tuple[object, ...]:
        place = partial(TraceError, path=self.path, line=self.line, field=self.field)
        return place, (self.message,)


class ModelError(OnegaError, ValueError):
    """A workload model can't be fitted, loaded or sampled."""


class SimulationError(OnegaError, ValueError):
    """A simulation can't be run.

    Parameters
    ----------
    message
        What is wrong and what is accepted.
    jobs
        The ids of the jobs at fault, if jobs are.
    """

    def __init__(self, message: str, *, jobs: Sequence[int] = ()) -> None:
        self.message = message
        self.jobs = tuple(int(job) for job in jobs)
        super().__init__(message + name_some(self.jobs))

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), jobs=self.jobs), (self.message,)


class MachineError(SimulationError):
    """A machine, or a part of one, can't be as it is described: in a file, or in Python."""


class PolicyError(SimulationError):
    """A policy isn't known, its parameters are wrong, or it can't be had on such a machine."""


class TableError(SimulationError):
    """A table beside a log (events, demands, options of moldable jobs) lacks something."""


class ScheduleError(SimulationError):
    """A schedule, observed or simulated, doesn't have what is asked of it."""


class QueueingError(OnegaError, ValueError):
    """A formula was asked outside its domain."""


class ExperimentError(OnegaError, ValueError):
    """A sweep, a set of replicates or a plan can't be run."""


def printable(text: str) -> str:
    """Escape what doesn't print, so that a damaged file's own words can't break a line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def name_some(jobs: Sequence[int]) -> str:
    """Name the first five jobs of a list: `` (jobs 3, 5, 8, 9, 10 and 12 more)``."""
    if not jobs:
        return ""
    named = ", ".join(str(job) for job in jobs[:5])
    rest = len(jobs) - 5
    noun = "job" if len(jobs) == 1 else "jobs"
    return f" ({noun} {named}{f' and {rest} more' if rest > 0 else ''})"


def suggest(given: str, accepted: Iterable[str]) -> str:
    """Say which of the accepted words is nearest to a misspelt one, and list them all."""
    words = list(accepted)
    near = difflib.get_close_matches(given[:100], words, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}accepted: {', '.join(words)}"

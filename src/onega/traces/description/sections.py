"""What the sections of a description have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from onega.core.errors import TraceError
from onega.core.types import Floats
from onega.core.workload.workload import Workload

Summary = dict[str, Any]


class Lacking(Exception):
    """A section can't be made of this log; the text says why. Caught by `describe`."""


@dataclass(frozen=True, eq=False)
class Jobs:
    """The columns of a log as arrays, in the order of submission; what is unknown is NaN.

    Attributes
    ----------
    workload
        The log, sorted by submission.
    submit, runtime, width
        Seconds, seconds, processors.
    """

    workload: Workload
    submit: Floats
    runtime: Floats
    width: Floats

    @classmethod
    def of(cls, workload: Workload) -> Jobs:
        """Take the columns; a log without jobs is refused."""
        if not len(workload):
            raise TraceError(
                "the log has no jobs, so there is nothing to describe; "
                "check that the right file was given and that cleaning left something",
                path=workload.meta.source,
            )
        log = workload.sorted()
        return cls(log, *(floats(log, name) for name in ("submit", "runtime", "procs")))

    @property
    def size(self) -> int:
        """The number of jobs."""
        return self.submit.size

    @cached_property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Jobs whose width and run time are both known and positive.

        "Zero values are neglected as they are very rare" (Song 2006, §5.2.1).
        """
        return (self.runtime > 0) & (self.width > 0)

    @cached_property
    def area(self) -> Floats:
        """Squashed area, run time × width, in processor-seconds (Song 2006, §2.1)."""
        return self.runtime * self.width

    def pairs(self, needed: int = 1) -> tuple[Floats, Floats]:
        """Return widths and run times of the usable jobs; raise `Lacking` if there are too few."""
        width, runtime = self.width[self.usable], self.runtime[self.usable]
        if width.size < needed:
            raise Lacking(
                f"needs at least {needed} jobs with a positive width and run time, "
                f"the log has {width.size}"
            )
        return width, runtime


def floats(workload: Workload, name: str) -> Floats:
    """One column as floats, unknown values NaN."""
    return np.asarray(workload.column(name), dtype=np.float64)


def defined(value: float) -> float | None:
    """Return the number, or None if it isn't finite: a correlation with a constant, say."""
    return float(value) if math.isfinite(value) else None


def prefixed(prefix: str, items: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Summary:
    """Put a word before every key."""
    pairs = items.items() if isinstance(items, Mapping) else items
    return {f"{prefix}_{key}": value for key, value in pairs}

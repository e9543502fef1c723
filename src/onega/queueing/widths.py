"""How many servers a job takes: a distribution on the whole numbers from 1."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError, suggest
from onega.core.types import Floats, Ints
from onega.core.units import LARGEST, LONGEST, SMALLEST
from onega.core.workload.workload import Workload

SPECS: Final = (
    "fixed:4",
    "geometric:0.3",
    "poisson:2.5",
    "uniform:16",
    "list:1:0.5,2:0.5",
    "0.5,0.5",
)
"""One example of each text form that `Widths.parse` reads."""

_SUM_TOLERANCE: Final = 1e-6
"""Probabilities typed by hand may be off by so much; they are then scaled to a sum of one."""

NEGLIGIBLE: Final = 1e-9
"""So much of an infinite law may lie beyond a machine."""

_CUT: Final = 1e-18
"""Infinite laws are cut where the tail is below this."""


@dataclass(frozen=True, eq=False)
class Widths:
    """A distribution of the number of servers that a job (or request) takes.

    Attributes
    ----------
    values
        The different widths, ascending, from 1.
    probs
        Their probabilities; they sum to one.
    name
        How it was given: ``"fixed:4"``, ``"log KTH-SP2"``.
    cut
        Probability beyond the largest value; positive for infinite laws only.
    """

    values: Ints
    probs: Floats
    name: str = "list"
    cut: float = field(default=0.0)

    def __post_init__(self) -> None:
        """Check, sort, drop widths that never occur, freeze."""
        values = np.asarray(self.values)
        probs = np.asarray(self.probs, dtype=np.float64)
        _check(values, probs)
        order = np.argsort(values, kind="stable")
        values, probs = values[order].astype(np.int64), probs[order]
        if np.any(np.diff(values) == 0):
            twice = int(values[:-1][np.diff(values) == 0][0])
            raise QueueingError(f"width {twice} is given twice; give each width once")
        keep = probs > 0
        values, probs = values[keep], probs[keep] / math.fsum(probs)
        values.setflags(write=False)
        probs.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "probs", probs)

    @classmethod
    def of(cls, source: WidthsLike) -> Widths:
        """Make a distribution from widths, a log, probabilities or a text.

        Parameters
        ----------
        source
            Widths; a workload (its jobs' widths); a mapping width → probability; a sequence
            p_1, p_2, …; or a text, see `parse`.
        """
        if isinstance(source, Widths):
            return source
        if isinstance(source, Workload):
            return cls.from_workload(source)
        if isinstance(source, str):
            return cls.parse(source)
        if isinstance(source, Mapping):
            return cls(np.array(list(source.keys())), np.array(list(source.values()), np.float64))
        probs = np.asarray(source, dtype=np.float64)
        if probs.ndim != 1 or probs.size == 0:
            raise QueueingError("widths must be p_1, p_2, …: a list of at least one probability")
        return cls(np.arange(1, probs.size + 1), probs)

    @classmethod
    def from_workload(cls, workload: Workload) -> Widths:
        """Relative frequencies of the widths of jobs with a positive width and run time."""
        procs, runtime = workload.column("procs"), workload.column("runtime")
        usable = procs[(procs > 0) & (runtime > 0)]
        if usable.size == 0:
            raise QueueingError("the log has no job with a positive width and run time")
        values, counts = np.unique(usable.astype(np.int64), return_counts=True)
        return cls(values, counts / counts.sum(), f"log {workload.meta.source or ''}".strip())

    @classmethod
    def parse(cls, text: str) -> Widths:
        """Read a distribution from its text form.

        ``fixed:4`` (always 4), ``geometric:0.3`` (P(k) = (1−α)α^(k−1), Zayats et al. (2024), (27)),
        ``poisson:2.5`` (Poisson of parameter 2.5 given that it isn't 0), ``uniform:16`` (1…16),
        ``uniform:8-16``, ``list:1:0.5,2:0.5``, ``1:0.5,2:0.5``, or ``0.5,0.3,0.2`` (p_1, p_2, p_3).
        """
        compact = "".join(text.split())
        head, _, rest = compact.partition(":")
        kind = head.lower()
        if kind in _KINDS:
            return _KINDS[kind](rest, compact)
        if kind == "list":
            return _listed(rest, compact)
        if re.match(r"^[\d.]", compact):
            return _listed(compact, compact)
        raise QueueingError(
            f"widths {text!r} not understood; {suggest(kind, (*_KINDS, 'list'))}; "
            f"for example {', '.join(SPECS)}"
        )

    @property
    def mean(self) -> float:
        """E[N]."""
        return float(np.dot(self.probs, self.values))

    @property
    def widest(self) -> int:
        """The largest width that occurs."""
        return int(self.values[-1])

    def pgf(self, z: float) -> float:
        """Q(z) = Σ p_k z^k (Zayats et al. 2024, (18)), 0 ≤ z ≤ 1."""
        return float(np.dot(self.probs, np.power(float(z), self.values)))

    def within(self, servers: float) -> Widths:
        """Return the law as a machine of so many servers sees it.

        Infinite laws (geometric, Poisson) always reach beyond the machine; if that has a
        probability up to 1e-9 it is cut off. Anything else is returned as it is.
        """
        above = float(self.probs[self.values > servers].sum())
        if self.cut == 0 or above == 0 or above > NEGLIGIBLE:
            return self
        keep = self.values <= servers
        return Widths(self.values[keep], self.probs[keep] / (1 - above), self.name, above)

    def trimmed(self) -> Widths:
        """Return an infinite law without the last 1e-9 of it, others as they are.

        For sizing: no machine has to be as wide as what never comes.
        """
        if self.cut == 0:
            return self
        above = np.append(np.cumsum(self.probs[::-1])[::-1][1:], 0.0)  # P(N > value)
        return self.within(int(self.values[np.argmax(above <= NEGLIGIBLE)]))

    def tails(self, length: int | None = None) -> Floats:
        """P(N > n) for n = 0, 1, …; up to the widest job, or ``length`` of them.

        Summed from the far end, so that small tails keep their digits.
        """
        size = self.widest if length is None else length
        dense = np.zeros(max(size, self.widest) + 1)
        dense[self.values] = self.probs
        above: Floats = np.cumsum(dense[::-1])[::-1]
        return np.append(above[1:], np.zeros(max(0, size - above.size + 1)))[:size]


def mean_runtimes(widths: Widths, given: float | Mapping[int, float]) -> Floats:
    """Return E[S] of each width, in seconds, from one for all or one per width."""
    if isinstance(given, Mapping):
        missing = [int(k) for k in widths.values if int(k) not in given]
        if missing:
            raise QueueingError(f"mean_runtime has no value for width {missing[0]}")
        means = np.array([float(given[int(k)]) for k in widths.values])
    else:
        means = np.full(widths.values.size, float(given))
    if not np.all((means >= SMALLEST) & (means <= LONGEST)):
        raise QueueingError(
            f"mean_runtime must be a positive number of seconds, from {SMALLEST:g} to "
            f"{LONGEST:g}; got {given}"
        )
    return means


WidthsLike = (
    Widths | Workload | Mapping[int, float] | Sequence[float] | npt.NDArray[np.float64] | str
)


def _check(values: npt.NDArray[np.generic], probs: Floats) -> None:
    if values.size == 0 or values.shape != probs.shape:
        raise QueueingError("widths need at least one width, and a probability for each")
    numbers = values.astype(np.float64)
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 1) or np.any(numbers % 1):
        wrong = next(float(v) for v in numbers if not (math.isfinite(v) and v >= 1 and v % 1 == 0))
        raise QueueingError(f"a width is a whole number from 1; got {wrong:g}")
    if numbers.max() > LARGEST:
        raise QueueingError(f"a width is at most {LARGEST:g}; got {numbers.max():g}")
    if not np.all(np.isfinite(probs)) or np.any(probs < 0):
        wrong = next(float(p) for p in probs if not (math.isfinite(p) and p >= 0))
        raise QueueingError(f"a probability is a number from 0 to 1; got {wrong:g}")
    total = math.fsum(probs)
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise QueueingError(
            f"the probabilities of the widths must sum to 1; they sum to {total:.9g}"
        )


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise QueueingError(
            f"{text!r} in widths {whole!r} is not a number; for example {', '.join(SPECS)}"
        ) from None


def _listed(text: str, whole: str) -> Widths:
    parts = text.split(",") if text else []
    if parts and all(":" in part for part in parts):
        pairs = [part.split(":", 1) for part in parts]
        values = np.array([_number(k, whole) for k, _ in pairs])
        return Widths(values, np.array([_number(p, whole) for _, p in pairs]), whole)
    if not parts or any(":" in part for part in parts):
        raise QueueingError(f"widths {whole!r} not understood; for example {', '.join(SPECS)}")
    probs = np.array([_number(part, whole) for part in parts])
    return Widths(np.arange(1, probs.size + 1), probs, whole)


def _fixed(rest: str, whole: str) -> Widths:
    return Widths(np.array([_number(rest, whole)]), np.array([1.0]), whole)


def _geometric(rest: str, whole: str) -> Widths:
    alpha = _number(rest, whole)
    if not 0 < alpha < 1:
        raise QueueingError(f"geometric widths take a parameter between 0 and 1; got {alpha:g}")
    size = max(1, math.ceil(math.log(_CUT) / math.log(alpha)))
    if size > 10_000_000:
        raise QueueingError(f"geometric:{alpha:g} reaches too far; take a parameter below 0.999995")
    values = np.arange(1, size + 1)
    probs: Floats = (1 - alpha) * np.power(alpha, values - 1.0)
    return Widths(values, probs, whole, alpha**size)


def _poisson(rest: str, whole: str) -> Widths:
    from scipy.stats import poisson

    rate = _number(rest, whole)
    if not 0 < rate <= 1e6:
        raise QueueingError(f"Poisson widths take a positive parameter up to 1e6; got {rate:g}")
    size = math.ceil(rate + 12 * math.sqrt(rate)) + 60  # P(N > size) < 1e-18 at every rate
    values = np.arange(1, size + 1)
    probs: Floats = np.exp(poisson.logpmf(values, rate) - math.log(-math.expm1(-rate)))
    return Widths(values, probs, whole, max(float(poisson.sf(size, rate)), 1e-300))


def _uniform(rest: str, whole: str) -> Widths:
    low, dash, high = rest.partition("-")
    first, last = (_number(low, whole), _number(high, whole)) if dash else (1, _number(low, whole))
    if not 1 <= first <= last <= 10_000_000:
        raise QueueingError(
            f"uniform widths are given as uniform:16 or uniform:8-16; got {whole!r}"
        )
    values = np.arange(int(first), int(last) + 1)
    return Widths(values, np.full(values.size, 1.0 / values.size, np.float64), whole)


_KINDS: Final = {
    "fixed": _fixed,
    "geometric": _geometric,
    "poisson": _poisson,
    "uniform": _uniform,
}

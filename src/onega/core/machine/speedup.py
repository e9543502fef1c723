"""Speed-up laws of moldable jobs: how much quicker a job is on n processors than on one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onega.core.errors import MachineError
from onega.core.machine.checks import number, whole
from onega.core.types import Floats


@dataclass(frozen=True, slots=True)
class AmdahlSpeedup:
    """Amdahl's law: S(n) = 1 / (s + (1 − s) / n) with the serial share s.

    Parameters
    ----------
    serial
        The share of the work that runs on one processor, from 0 to 1.
    widths
        Widths on offer beside the job's own; by default the powers of two up to the machine.
    """

    serial: float
    widths: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not 0 <= number("serial share", self.serial) <= 1:
            raise MachineError(f"a serial share is from 0 to 1, got {self.serial}")
        object.__setattr__(self, "widths", _checked(self.widths))

    def speedup(self, procs: npt.ArrayLike) -> Floats:
        """Return S(n)."""
        n = np.asarray(procs, dtype=np.float64)
        return np.asarray(1.0 / (self.serial + (1.0 - self.serial) / n))


@dataclass(frozen=True, slots=True)
class DowneySpeedup:
    """Downey's law (A parallel workload model and its implications, 1997).

    Parameters
    ----------
    parallelism
        A, the average parallelism: the most speed-up there is; at least 1.
    sigma
        σ, the coefficient of variation of parallelism: 0 is ideal up to A.
    widths
        Widths on offer beside the job's own; by default the powers of two up to the machine.

    Notes
    -----
    σ ≤ 1: S = An / (A + σ(n − 1)/2) up to A; An / (σ(A − ½) + n(1 − σ/2)) up to 2A − 1; then A.
    σ ≥ 1: S = nA(σ + 1) / (σ(n + A − 1) + A) up to A + Aσ − σ; then A.
    """

    parallelism: float
    sigma: float
    widths: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if number("parallelism", self.parallelism) < 1:
            raise MachineError(f"an average parallelism is at least 1, got {self.parallelism}")
        number("sigma", self.sigma)
        object.__setattr__(self, "widths", _checked(self.widths))

    def speedup(self, procs: npt.ArrayLike) -> Floats:
        """Return S(n)."""
        n = np.asarray(procs, dtype=np.float64)
        a, s = self.parallelism, self.sigma
        if s >= 1:
            rising = n * a * (s + 1) / (s * (n + a - 1) + a)
            return np.where(n <= a + a * s - s, rising, a)
        low = a * n / (a + s * (n - 1) / 2)
        high = a * n / (s * (a - 0.5) + n * (1 - s / 2))
        return np.where(n <= a, low, np.where(n <= 2 * a - 1, high, a))


Speedup = AmdahlSpeedup | DowneySpeedup


_TEXT = re.compile(r"\s*(amdahl|downey)\s*\(([^()=]*?)(?:,\s*most\s*=\s*([0-9]{1,9})\s*)?\)\s*")


def parse_speedup(text: str) -> Speedup:
    """Read a law from a text: ``amdahl(serial)`` or ``downey(parallelism, sigma)``.

    ``most=N`` behind them offers the powers of two up to N only: ``amdahl(0.05, most=16)``.
    """
    found = _TEXT.fullmatch(text)
    widths = _powers(whole("most", int(found[3]))) if found and found[3] else None
    try:
        values = [float(one) for one in found[2].split(",")] if found else []
    except ValueError:
        values = []
    if found and found[1] == "amdahl" and len(values) == 1:
        return AmdahlSpeedup(values[0], widths)
    if found and found[1] == "downey" and len(values) == 2:
        return DowneySpeedup(values[0], values[1], widths)
    raise MachineError(
        f"not a speed-up law: {text!r}; accepted: amdahl(0.05), by the serial share, or "
        "downey(16, 1), by parallelism and sigma, each with most=N if no job is to be wider (or a "
        "file with job, procs, runtime)"
    )


def widths_on_offer(law: Speedup, procs: int) -> list[int]:
    """Return the widths that a law offers on a machine of so many processors."""
    if law.widths is not None:
        return sorted({width for width in law.widths if width <= procs})
    return _powers(procs)


def _powers(most: int) -> list[int]:
    return [1 << power for power in range(most.bit_length())]


def _checked(widths: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if widths is None else tuple(whole("a width", width) for width in widths)

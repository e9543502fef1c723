"""How long the dispatcher lets a task run: the law of the limit Z."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError, suggest
from onega.core.machine.laws import SHAPES
from onega.core.types import Floats
from onega.core.units import LONGEST, SMALLEST, duration

LAWS: Final = (
    "none",
    "exponential:1h",
    "deterministic:1h",
    "gamma:2:1h",
    "weibull:1.5:1h",
)
"""One example of each text form: name, shape where there is one, mean."""

EMPIRICAL: Final = "empirical"
"""The law that takes a log's own estimates."""


@runtime_checkable
class LimitLaw(Protocol):
    """What a law of limits must offer; a user's own class with these is accepted too."""

    @property
    def mean(self) -> float:
        """E[Z], seconds; may be infinite."""

    @property
    def atoms(self) -> Floats:
        """Instants at which P(Z = t) > 0, ascending; empty for a continuous law."""

    def survival(self, t: Floats) -> Floats:
        """P(Z > t)."""

    def scaled(self, factor: float) -> LimitLaw:
        """Return the law of factor·Z."""

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw limits."""


class _Continuous:
    """A law without atoms."""

    @property
    def atoms(self) -> Floats:
        """None: no instant has a positive probability."""
        return np.empty(0)


@dataclass(frozen=True)
class Exponential(_Continuous):
    """c(z) = ν·e^{−νz} (Zayats et al. 2024, (6)); ν = 0 means no limit."""

    rate: float

    @property
    def mean(self) -> float:
        """1/ν."""
        return math.inf if self.rate == 0 else 1 / self.rate

    def survival(self, t: Floats) -> Floats:
        """e^{−νt}."""
        result: Floats = np.exp(-self.rate * t)
        return result

    def scaled(self, factor: float) -> Exponential:
        """Rate ν/factor."""
        return Exponential(self.rate / factor)

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw limits; infinite ones if there is no limit."""
        return np.full(size, np.inf) if self.rate == 0 else rng.exponential(1 / self.rate, size)


@dataclass(frozen=True)
class _Shaped(_Continuous):
    """A law of a given shape and mean."""

    shape: float
    mean: float

    def scaled(self, factor: float) -> Self:
        """Mean times factor."""
        return replace(self, mean=self.mean * factor)


class Gamma(_Shaped):
    """Gamma law of a given shape and mean."""

    def survival(self, t: Floats) -> Floats:
        """Γ(k, kt/mean)/Γ(k)."""
        from scipy.special import gammaincc

        result: Floats = gammaincc(self.shape, self.shape * t / self.mean)
        return result

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw limits."""
        return rng.gamma(self.shape, self.mean / self.shape, size)


class Weibull(_Shaped):
    """Weibull law of a given shape and mean."""

    @property
    def scale(self) -> float:
        """Mean/Γ(1 + 1/shape)."""
        return self.mean / math.gamma(1 + 1 / self.shape)

    def survival(self, t: Floats) -> Floats:
        """e^{−(t/scale)^shape}."""
        result: Floats = np.exp(-((t / self.scale) ** self.shape))
        return result

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw limits."""
        result: Floats = self.scale * rng.weibull(self.shape, size)
        return result


class Empirical:
    """Limits as they were observed, each as likely as it was frequent; one value: deterministic."""

    def __init__(self, values: npt.ArrayLike) -> None:
        """Take observed limits, in seconds."""
        observed = np.asarray(values, dtype=np.float64).ravel()
        if observed.size == 0 or not np.all(np.isfinite(observed)) or np.any(observed <= 0):
            raise QueueingError("observed limits must be at least one positive number of seconds")
        self.atoms, counts = np.unique(observed, return_counts=True)
        self.weights: Floats = counts / observed.size
        self._above: Floats = np.append(np.cumsum(self.weights[::-1])[::-1], 0.0)

    def __repr__(self) -> str:
        """Name the number of values and the mean."""
        return f"Empirical({self.atoms.size} different limits, mean {self.mean:g})"

    @property
    def mean(self) -> float:
        """The observed mean."""
        return float(np.dot(self.weights, self.atoms))

    def survival(self, t: Floats) -> Floats:
        """Return the share of limits above t."""
        return self._above[np.searchsorted(self.atoms, t, side="right")]

    def scaled(self, factor: float) -> Empirical:
        """All limits times factor."""
        law = Empirical(self.atoms * factor)
        law.weights, law._above = self.weights, self._above
        return law

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw limits."""
        return rng.choice(self.atoms, size, p=self.weights)


def name_of(law: LimitLaw) -> str:
    """Say in words what kind of limits a law gives."""
    if isinstance(law, Empirical):
        return "equal limits" if law.atoms.size == 1 else "the limits that were observed,"
    shaped = isinstance(law, Exponential | Gamma | Weibull)
    return f"{type(law).__name__.lower()} limits" if shaped else "limits"


def deterministic(seconds: float) -> Empirical:
    """Return the law of a limit that is the same for all."""
    return Empirical([seconds])


def parse_limit(text: str) -> LimitLaw:
    """Read ``none``, ``exponential:MEAN``, ``deterministic:VALUE``, ``gamma:SHAPE:MEAN`` or
    ``weibull:SHAPE:MEAN``; times as ``90``, ``15m``, ``1h``.
    """  # noqa: D205
    name, *rest = "".join(text.split()).lower().split(":")
    makers: dict[str, tuple[int, Callable[..., LimitLaw]]] = {
        "none": (0, lambda: Exponential(0.0)),
        "exponential": (1, lambda mean: Exponential(1 / mean)),
        "deterministic": (1, deterministic),
        "gamma": (2, Gamma),
        "weibull": (2, Weibull),
    }
    if name not in makers:
        raise QueueingError(f"limit law {text!r} not known; {suggest(name, (*makers, EMPIRICAL))}")
    wanted, make = makers[name]
    if len(rest) != wanted:
        raise QueueingError(f"limit law {text!r} not understood; for example {', '.join(LAWS)}")
    try:
        numbers = [float(part) for part in rest[:-1]] + [duration(part) for part in rest[-1:]]
    except ValueError as error:
        raise QueueingError(f"limit law {text!r}: {error}") from None
    if any(not (math.isfinite(number) and number > 0) for number in numbers):
        raise QueueingError(f"limit law {text!r} needs positive numbers")
    least, most = SHAPES.get(name, (0.0, math.inf))
    if len(numbers) == 2 and not least <= numbers[0] <= most:
        raise QueueingError(f"limit law {text!r} needs a shape from {least:g} to {most:g}")
    if numbers and not SMALLEST <= numbers[-1] <= LONGEST:
        raise QueueingError(
            f"limit law {text!r} needs a time from {SMALLEST:g} to {LONGEST:g} seconds"
        )
    return make(*numbers)

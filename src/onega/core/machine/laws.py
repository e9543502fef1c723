"""Laws of a duration: time to failure and to repair, overheads, patience.

Text form: a kind and its parameters, ``"weibull(shape=0.7, mean=30d)"``, or just a duration.

========================================================================  ==========================
``exponential(mean=)``                                                    mean m
``weibull(shape=, mean=)`` or ``(shape=, scale=)``                        scale λ = m / Γ(1 + 1/k)
``gamma(shape=, mean=)``, ``(shape=, scale=)`` or ``(mean=, sd=)``        k = m²/v, θ = v/m
``lognormal(sigma=, mean=)``, ``(sigma=, median=)`` or ``(mean=, sd=)``   mean = median·exp(σ²/2)
``fixed(mean=)``, or a plain duration such as ``"90s"``                   always m
========================================================================  ==========================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator, SeedSequence

from onega.core.errors import MachineError, suggest
from onega.core.machine.checks import as_float
from onega.core.rng import child, generator
from onega.core.types import Floats
from onega.core.units import LONGEST, duration

KINDS: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    "exponential": (frozenset({"mean"}),),
    "weibull": (frozenset({"shape", "mean"}), frozenset({"shape", "scale"})),
    "gamma": (
        frozenset({"shape", "mean"}),
        frozenset({"shape", "scale"}),
        frozenset({"mean", "sd"}),
    ),
    "lognormal": (
        frozenset({"sigma", "mean"}),
        frozenset({"sigma", "median"}),
        frozenset({"mean", "sd"}),
    ),
    "fixed": (frozenset({"mean"}),),
}
"""Each kind of law with the sets of parameters that determine it."""

PLAIN_NUMBERS: Final = frozenset({"shape", "sigma"})
"""Parameters that aren't durations."""


SHAPES: Final = {"weibull": (0.01, 1e6), "gamma": (1e-6, 1e9), "lognormal": (1e-9, 30.0)}
"""Shapes of which the moments are still numbers: Γ(1 + 1/k), exp(σ²/2)."""


SPREADS: Final = {"gamma": (1e9**-0.5, 1e3), "lognormal": (1e-9, 1e150)}
"""Standard deviation over mean, where that is given instead of a shape."""


@runtime_checkable
class Draws(Protocol):
    """Anything that draws durations in seconds."""

    def draw(self, count: int, rng: Generator) -> Floats:
        """Draw ``count`` of them."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law of non-negative durations, by its mean and a shape.

    Attributes
    ----------
    kind
        ``"exponential"``, ``"weibull"``, ``"gamma"``, ``"lognormal"`` or ``"fixed"``.
    mean
        Seconds.
    shape
        Weibull's or gamma's shape k, the lognormal's σ; 1 for the others, which have none.
    """

    kind: str
    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise MachineError(f"unknown law {self.kind!r}; {suggest(str(self.kind), KINDS)}")
        for name in ("mean", "shape"):
            value = as_float(f"a law's {name}", getattr(self, name))
            least = 0.0 if (self.kind, name) == ("fixed", "mean") else math.ulp(0.0)
            if not (math.isfinite(value) and value >= least):
                need = "at least 0" if least == 0 else "above 0"
                raise MachineError(f"a law's {name} is a number {need}, got {value:g}")
            object.__setattr__(self, name, value)
        if self.mean > LONGEST:
            raise MachineError(f"a law's mean is at most {LONGEST:g} seconds, got {self.mean:g}")
        least, most = SHAPES.get(self.kind, (0.0, math.inf))
        if not least <= self.shape <= most:
            raise MachineError(
                f"the shape (sigma) of a {self.kind} law is from {least:g} to {most:g}, "
                f"got {self.shape:g}"
            )

    @classmethod
    def of(cls, given: str | float | Law | Draws) -> Draws:
        """Take a law as text, a constant in seconds, or anything that draws."""
        if isinstance(given, str):
            return cls.parse(given)
        if isinstance(given, int | float):
            return cls("fixed", given)
        if isinstance(given, Draws):
            return given
        raise MachineError(
            f"{given!r} is no law; write e.g. 'weibull(shape=0.7, mean=30d)' or a duration"
        )

    @classmethod
    def parse(cls, text: str) -> Law:
        """Read the text form.

        Examples
        --------
        >>> Law.parse("exponential(mean=1h)")
        Law(kind='exponential', mean=3600.0, shape=1.0)
        """
        found = re.fullmatch(r"\s*([a-zA-Z-]+)\s*\(([^()]*)\)\s*", text)
        if found is None:
            return cls("fixed", _seconds(text, text))
        kind = found[1].lower().replace("-", "")
        if kind not in KINDS:
            raise MachineError(f"unknown law in {text!r}; {suggest(kind, KINDS)}")
        given: dict[str, float] = {}
        for part in filter(None, (one.strip() for one in found[2].split(","))):
            name, equals, value = (word.strip() for word in part.partition("="))
            if not equals:  # the only parameter that needs no name
                name, value = "mean", part
            if name in given:
                raise MachineError(f"{name} is given twice in {text!r}")
            given[name] = _number(value, text) if name in PLAIN_NUMBERS else _seconds(value, text)
        if frozenset(given) not in KINDS[kind]:
            ways = " or ".join(f"{kind}({', '.join(sorted(way))})" for way in KINDS[kind])
            raise MachineError(f"{text!r} doesn't determine a law; accepted: {ways}")
        if "sd" in given:
            _check_spread(kind, given, text)
        try:
            return cls(kind, *_MOMENTS[kind](given))
        except OverflowError:
            raise MachineError(f"{text!r}: the moments of this law are no numbers") from None

    def draw(self, count: int, rng: Generator) -> Floats:
        """Draw durations in seconds."""
        if self.kind == "fixed":
            return np.full(count, self.mean)
        if self.kind == "exponential":
            return np.asarray(rng.exponential(self.mean, count))
        if self.kind == "gamma":
            return np.asarray(rng.gamma(self.shape, self.mean / self.shape, count))
        if self.kind == "weibull":
            scale = self.mean / math.gamma(1 + 1 / self.shape)
            return np.asarray(scale * rng.weibull(self.shape, count))
        centre = math.log(self.mean) - self.shape**2 / 2
        return np.asarray(rng.lognormal(centre, self.shape, count))

    def __str__(self) -> str:
        """Write the text form, which `parse` reads back."""
        shaped = {"weibull": "shape", "gamma": "shape", "lognormal": "sigma"}.get(self.kind)
        first = f"{shaped}={self.shape!r}, " if shaped else ""
        return f"{self.kind}({first}mean={self.mean!r})"


def draw_durations(law: Draws, count: int, seed: SeedSequence, stream: int) -> Floats:
    """Draw durations from a stream of their own; refuse what is none."""
    values = np.asarray(law.draw(count, generator(child(seed, stream))), dtype=np.float64)
    if values.shape != (count,) or not 0 <= values.min(initial=0) <= values.max(initial=0) < np.inf:
        raise MachineError(f"the law {law} draws something that is no duration")
    return values


def _check_spread(kind: str, given: Mapping[str, float], text: str) -> None:
    """Refuse a mean and a standard deviation that are too far apart for numbers."""
    least, most = SPREADS[kind]
    ratio = _above_zero("sd", given["sd"]) / _above_zero("mean", given["mean"])
    if not least <= ratio <= most:
        raise MachineError(
            f"{text!r}: the moments of this law are no numbers: sd / mean of a {kind} law is from "
            f"{least:.2g} to {most:g}, got {ratio:.3g}"
        )


def _weibull(given: Mapping[str, float]) -> tuple[float, float]:
    shape = _above_zero("shape", given["shape"])
    return given.get("mean", given.get("scale", 0.0) * math.gamma(1 + 1 / shape)), shape


def _gamma(given: Mapping[str, float]) -> tuple[float, float]:
    if "sd" in given:
        return given["mean"], (given["mean"] / given["sd"]) ** 2
    shape = _above_zero("shape", given["shape"])
    return given.get("mean", given.get("scale", 0.0) * shape), shape


def _lognormal(given: Mapping[str, float]) -> tuple[float, float]:
    if "sd" in given:
        return given["mean"], math.sqrt(math.log1p((given["sd"] / given["mean"]) ** 2))
    sigma = _above_zero("sigma", given["sigma"])
    return given.get("mean", given.get("median", 0.0) * math.exp(sigma**2 / 2)), sigma


_MOMENTS: Final[Mapping[str, Callable[[Mapping[str, float]], tuple[float, float]]]] = {
    "exponential": lambda given: (given["mean"], 1.0),
    "weibull": _weibull,
    "gamma": _gamma,
    "lognormal": _lognormal,
    "fixed": lambda given: (given["mean"], 1.0),
}
"""Mean and shape from what was given."""


def _above_zero(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise MachineError(f"a law's {name} is a number above 0, got {value:g}")
    return value


def _number(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise MachineError(f"{value!r} in {text!r} is not a number") from None


def _seconds(value: str, text: str) -> float:
    try:
        return duration(value)
    except ValueError:
        raise MachineError(
            f"{value!r} in {text!r} is neither a duration (90, 15m, 30d) nor a law such as "
            "'weibull(shape=0.7, mean=30d)'"
        ) from None

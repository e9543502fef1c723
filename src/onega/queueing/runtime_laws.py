"""Laws of run times: what C depends on besides the widths.

Text form, a kind and its parameters; only the shape counts, the mean is given apart:

==============================================  ====================================================
``exponential``                                 C of Rumyantsev (2014), exactly at every size
``fixed``                                       all jobs run equally long; exactly at every size
``erlang(4)``                                   4 exponential phases in a row; exactly if small
``hyperexponential(0.9:0.1, 0.1:9.1)``          mean 0.1 with probability 0.9, mean 9.1 with 0.1;
                                                exactly if small
``hyperexponential(cv2=4)``                     two phases of equal shares of the work, with that
                                                squared coefficient of variation
``lognormal(sigma=1.5)``, ``weibull(…)``, …     what `onega.core.machine.laws` has, by saturation
==============================================  ====================================================
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError, SimulationError, suggest
from onega.core.machine.laws import KINDS as DRAWN
from onega.core.machine.laws import Law
from onega.core.types import Floats

LARGEST_MEAN: Final = 1e9
"""Means of phases are from its inverse to it; beyond, the mean of all is lost in rounding."""

MOST_PHASES: Final = 200
"""Largest number of phases of a law."""

EXAMPLES: Final = (
    "exponential",
    "fixed",
    "erlang(4)",
    "hyperexponential(0.9:0.1, 0.1:9.1)",
    "hyperexponential(cv2=4)",
    "lognormal(sigma=1.5)",
    "weibull(shape=0.7)",
)


@dataclass(frozen=True, eq=False)
class RuntimeLaw:
    """A law of run times with mean 1.

    Attributes
    ----------
    name
        The text form.
    start, generator
        Of a phase-type law: the probabilities α of the first phase, and the matrix T of rates
        between phases, with −(total rate) on the diagonal; None for another law.
    drawn
        A law that can only be drawn from; None for a phase-type law.
    """

    name: str
    start: Floats | None = None
    generator: Floats | None = None
    drawn: Law | None = None

    @property
    def fixed(self) -> bool:
        """Whether all jobs run equally long."""
        return self.drawn is not None and self.drawn.kind == "fixed"

    @property
    def exponential(self) -> bool:
        """Whether it is the exponential law."""
        return self.start is not None and self.start.size == 1

    @property
    def exits(self) -> Floats:
        """The rate at which a job ends, by phase."""
        assert self.generator is not None
        result: Floats = np.maximum(0.0, -self.generator.sum(axis=1))
        return result

    @classmethod
    def phase_type(cls, start: npt.ArrayLike, generator: npt.ArrayLike, name: str) -> RuntimeLaw:
        """Take any phase-type law (α, T), scaled to mean 1."""
        alpha = np.atleast_1d(np.asarray(start, dtype=np.float64))
        rates = np.atleast_2d(np.asarray(generator, dtype=np.float64))
        if alpha.ndim != 1 or rates.shape != (alpha.size, alpha.size):
            raise QueueingError(
                f"a phase-type law has n first probabilities and an n × n matrix; got "
                f"{alpha.size} and {' × '.join(map(str, rates.shape))}"
            )
        if alpha.size > MOST_PHASES:
            raise QueueingError(f"a law may have {MOST_PHASES} phases; got {alpha.size}")
        off = rates - np.diag(np.diag(rates))
        wrong = (
            not (np.all(np.isfinite(alpha)) and np.all(np.isfinite(rates)))
            or np.any(alpha < 0)
            or abs(alpha.sum() - 1) > 1e-6
            or np.any(off < 0)
            or np.any(rates.sum(axis=1) > 1e-9 * np.abs(rates).max())
        )
        if wrong or np.linalg.slogdet(rates).sign == 0:
            raise QueueingError(
                f"law {name!r}: first probabilities must sum to 1, rates between phases must not "
                "be negative, and every phase must lead to an end"
            )
        mean = float(-(alpha / alpha.sum()) @ np.linalg.solve(rates, np.ones(alpha.size)))
        return cls(name, alpha / alpha.sum(), rates * mean)

    @classmethod
    def of(cls, given: RuntimeLaw | str) -> RuntimeLaw:
        """Take a law, or its text."""
        return given if isinstance(given, RuntimeLaw) else cls.parse(given)

    @classmethod
    def parse(cls, text: str) -> RuntimeLaw:
        """Read a text form; see the module."""
        found = re.fullmatch(r"\s*([a-zA-Z-]+)\s*(?:\(([^()]*)\))?\s*", text)
        kind, inside = (found[1].lower(), (found[2] or "").strip()) if found else ("", "")
        if kind in ("constant", "deterministic"):
            kind = "fixed"
        if kind == "exponential" and "mean" not in inside:
            return cls.phase_type([1.0], [[-1.0]], "exponential")
        if kind == "erlang":
            return _erlang(inside, text)
        if kind == "hyperexponential":
            return _hyperexponential(inside, text)
        if kind not in DRAWN:
            raise QueueingError(
                f"law of run times {text!r} not known; "
                f"{suggest(kind, (*DRAWN, 'erlang', 'hyperexponential'))}; for example "
                f"{', '.join(EXAMPLES)}"
            )
        if not re.search(r"\b(mean|scale|median)\s*=", inside):
            inside = f"{inside}, mean=1" if inside else "mean=1"
        try:
            law = Law.parse(f"{kind}({inside})")
        except SimulationError as error:
            raise QueueingError(f"law of run times: {error}") from None
        if not law.mean > 0:
            raise QueueingError(f"law of run times {text!r} has no positive mean")
        return cls("fixed" if kind == "fixed" else text.strip(), drawn=law)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw run times of mean 1."""
        if self.drawn is not None:
            return self.drawn.draw(count, rng) / self.drawn.mean
        assert self.start is not None
        assert self.generator is not None
        total = -np.diag(self.generator)
        onward = (self.generator + np.diag(total)) / total[:, None]
        reach = np.cumsum(np.column_stack([onward, self.exits / total]), axis=1)
        phase = rng.choice(self.start.size, count, p=self.start)
        runtime = np.zeros(count)
        running = np.arange(count)
        while running.size:
            now = phase[running]
            runtime[running] += rng.exponential(1.0, running.size) / total[now]
            after = (rng.random(running.size)[:, None] > reach[now]).sum(axis=1)
            phase[running] = np.minimum(after, self.start.size)
            running = running[phase[running] < self.start.size]
        return runtime

    def __str__(self) -> str:
        """Return the text form."""
        return self.name


def _erlang(inside: str, text: str) -> RuntimeLaw:
    number = _numbers([inside.removeprefix("phases=").removeprefix("k=")], text)[0]
    if number < 1 or number % 1 or number > MOST_PHASES:
        raise QueueingError(f"an Erlang law has 1 to {MOST_PHASES} phases; got {text!r}")
    size = int(number)
    rates = float(size) * (np.eye(size, k=1) - np.eye(size))
    return RuntimeLaw.phase_type(np.eye(size)[0], rates, f"erlang({size})")


def _hyperexponential(inside: str, text: str) -> RuntimeLaw:
    parts = [part.replace(" ", "") for part in inside.split(",")]
    if len(parts) == 1 and parts[0].startswith("cv2="):
        spread = _numbers([parts[0].removeprefix("cv2=")], text)[0]
        if not spread >= 1:
            raise QueueingError(
                f"a hyperexponential law varies at least as much as the exponential one: cv2 from "
                f"1; got {text!r}"
            )
        often = 0.5 * (1 + math.sqrt((spread - 1) / (spread + 1)))
        pairs = [(often, 0.5 / often), (1 - often, 0.5 / (1 - often))]
    else:
        halves = [part.split(":") for part in parts]
        if any(len(one) != 2 for one in halves):
            raise QueueingError(
                f"law {text!r} not understood; write hyperexponential(PROBABILITY:MEAN, …), for "
                f"example {EXAMPLES[3]}, or {EXAMPLES[4]}"
            )
        pairs = [tuple(_numbers(one, text)) for one in halves]  # type: ignore[misc]
    probs, means = np.array(pairs).T
    if not np.all((means >= 1 / LARGEST_MEAN) & (means <= LARGEST_MEAN)):
        raise QueueingError(
            f"law {text!r}: means must be positive, from {1 / LARGEST_MEAN:g} to {LARGEST_MEAN:g}"
        )
    return RuntimeLaw.phase_type(probs, -np.diag(1 / means), text.strip())


def _numbers(texts: list[str], whole: str) -> list[float]:
    try:
        return [float(one) for one in texts]
    except ValueError:
        raise QueueingError(
            f"law of run times {whole!r} not understood; for example {', '.join(EXAMPLES)}"
        ) from None

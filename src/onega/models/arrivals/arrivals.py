"""When jobs come: a process of gaps in operational time, and a daily cycle over it.

``Arrivals`` joins the two. Every process of gaps can stand under every cycle: Poisson under the
polynomial is the thesis's daily cycle (§7.1), Poisson under day and night is Downey's, a chain of
gaps under the polynomial keeps bursts and days.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError, suggest
from onega.core.types import Floats, Ints
from onega.core.workload.chains import floor_power, transition_counts, transition_matrix
from onega.models.arrivals.cycles import CYCLES, Cycle
from onega.models.jobs.laws import Observed, draw_by_class, fit_gamma, truncated_gamma
from onega.models.parts import Part, Shapes, frozen_array

SHORTEST = 0.5
"""Seconds. In a log stamped in whole seconds a gap of 0 stands for less than one."""


class Gaps(Part):
    """Base of the processes of gaps: a family says `fit` and `draw`."""

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Learn from gaps in seconds of operational time (at least `SHORTEST`)."""
        raise NotImplementedError

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps, in seconds."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Poisson(Gaps):
    """Exponential gaps: every instant is as likely as another."""

    KIND: ClassVar[str] = "poisson"
    mean: float

    def _check(self) -> None:
        _positive(self.KIND, mean=self.mean)

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Take the mean."""
        return cls(mean=float(gaps.mean()))

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        return rng.exponential(self.mean, n)


@dataclass(frozen=True, eq=False)
class ShapedGaps(Gaps):
    """Base of laws with a shape and a scale (s), both positive."""

    shape: float
    scale: float

    def _check(self) -> None:
        _positive(self.KIND, shape=self.shape, scale=self.scale)


@dataclass(frozen=True, eq=False)
class GammaGaps(ShapedGaps):
    """Independent Gamma gaps, fitted by maximum likelihood."""

    KIND: ClassVar[str] = "gamma"

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Maximum likelihood."""
        return cls(*fit_gamma(gaps))

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        return rng.gamma(self.shape, self.scale, n)


@dataclass(frozen=True, eq=False)
class WeibullGaps(ShapedGaps):
    """Independent Weibull gaps, fitted by maximum likelihood."""

    KIND: ClassVar[str] = "weibull"

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Solve Σ x^k log x / Σ x^k − 1/k = mean(log x) for the shape k."""
        from scipy.optimize import brentq

        logs = np.log(gaps)
        logs = logs - logs.max()  # x^k without overflow

        def equation(shape: float) -> float:
            powers = np.exp(shape * logs)
            return float(powers @ logs / powers.sum() - 1 / shape - logs.mean())

        if np.ptp(logs) == 0:
            raise ModelError("weibull: all gaps are equal")
        shape = float(brentq(equation, 1e-3, 1e3))
        scale = float(np.mean(np.exp(shape * logs)) ** (1 / shape) * gaps.max())
        return cls(shape, scale)

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        return self.scale * rng.weibull(self.shape, n)


@dataclass(frozen=True, eq=False)
class HyperExponentialGaps(Gaps):
    """A mixture of two exponentials: short gaps within a burst, long ones between."""

    KIND: ClassVar[str] = "hyperexp"
    share: float
    short: float
    long: float

    def _check(self) -> None:
        _positive(self.KIND, short=self.short, long=self.long)
        if not 0 <= self.share <= 1:
            raise ModelError(f"hyperexp: share must lie in [0, 1], got {self.share}")

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Maximise the likelihood by EM, started at the halves below and above the median."""
        middle = np.median(gaps)
        low, high = gaps <= middle, gaps > middle
        share, short = 0.5, float(gaps[low].mean())
        long = float(gaps[high].mean()) if high.any() else short * 2
        for _ in range(500):
            first = share / short * np.exp(-gaps / short)
            second = (1 - share) / long * np.exp(-gaps / long)
            belongs = first / (first + second + 1e-300)
            weight = belongs.sum()
            new_short = max(float(belongs @ gaps / max(weight, 1e-12)), 1e-3)
            new_long = float((1 - belongs) @ gaps / max(gaps.size - weight, 1e-12))
            done = abs(new_short - short) < 1e-7 * short and abs(new_long - long) < 1e-7 * long
            share, short, long = float(weight / gaps.size), new_short, max(new_long, 1e-3)
            if done:
                break
        return cls(share, short, long)

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        means = np.where(rng.random(n) < self.share, self.short, self.long)
        return rng.exponential(1.0, n) * means


@dataclass(frozen=True, eq=False)
class LogGammaGaps(Gaps):
    """exp(G) seconds with G from a Gamma law, as in Lublin and Feitelson's model.

    Draws of G above ``limit`` are drawn anew (their exp(13), five days).
    """

    KIND: ClassVar[str] = "log-gamma"
    shape: float
    scale: float
    limit: float = 13.0

    def _check(self) -> None:
        _positive(self.KIND, shape=self.shape, scale=self.scale, limit=self.limit)

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Choose the law whose log gaps and gaps have the means of the log's.

        Maximum likelihood in logarithms says little of the mean gap, and with it of the load; the
        model's authors correct it by a factor of the shape (their ARAR), which on logs with
        another spread than theirs moves the whole law. Here the mean of the logarithm stays, and
        the spread is what gives the mean gap.
        """
        from scipy.stats import gamma

        centre = float(np.mean(np.log(gaps + 0.5)))
        if centre <= 0:
            raise ModelError(
                "log-gamma: the gaps are shorter than a second; take other arrivals, say poisson"
            )
        limit = max(13.0, float(np.log1p(gaps.max())))
        grid = (np.arange(4000) + 0.5) / 4000 * limit

        def mean(scale: float) -> float:
            logs = gamma.logpdf(grid, centre / scale, scale=scale)
            density = np.exp(logs - logs.max())
            return float(density @ np.exp(grid) / density.sum())

        low, high = 1e-3, 10.0
        for _ in range(60):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if mean(middle) < gaps.mean() else (low, middle)
        scale = float(np.sqrt(low * high))
        return cls(centre / scale, scale, limit)

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        return np.exp(truncated_gamma(self.shape, self.scale, rng, n=n, limit=self.limit))


def gap_classes(gaps: Floats) -> Ints:
    """Class of each gap: consecutive numbers of the powers of two that occur, shortest first."""
    powers = np.where(gaps < 1, 0.0, floor_power(np.maximum(gaps, 1)))
    return np.unique(powers, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class GapChain(Gaps):
    """A Markov chain over powers of two of the gap: bursts survive.

    Class 0 holds gaps under a second; class k those in [2^(k−1), 2^k). Within a class gaps are
    drawn from what was observed.
    """

    KIND: ClassVar[str] = "chain"
    counts: Ints
    within: tuple[Observed, ...]

    def _check(self) -> None:
        size = len(self.within)
        object.__setattr__(self, "counts", frozen_array(self.counts, np.int64, shape=(size, size)))

    @classmethod
    def fit(cls, gaps: Floats) -> Self:
        """Count the transitions."""
        path = gap_classes(gaps)
        within = Observed.by_class(gaps, path, most=200)
        return cls(transition_counts(path, len(within)), within)

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        from onega.kernels.models.chain import pick, walk

        matrix = np.cumsum(transition_matrix(self.counts), axis=1)
        start = np.cumsum(self.counts.sum(axis=1) + self.counts.sum(axis=0))
        uniforms = rng.random((2, n))
        path = walk(pick(start / max(start[-1], 1), uniforms[0, 0]), matrix, uniforms[0])
        return draw_by_class(self.within, path, uniforms[1])


@dataclass(frozen=True, eq=False)
class MarkovModulated(Gaps):
    """Two Poisson processes that take turns (MMPP): calm and busy spells of random length.

    Attributes
    ----------
    rates
        Submissions per second in the two phases.
    leave
        Rate, per second, at which each phase ends.
    """

    KIND: ClassVar[str] = "mmpp"
    SHAPES: ClassVar[Shapes] = {"rates": (2,), "leave": (2,)}
    rates: Floats
    leave: Floats

    def _check(self) -> None:
        for name in ("rates", "leave"):
            if np.any(getattr(self, name) <= 0):
                raise ModelError(f"mmpp: {name} must be positive, got {getattr(self, name)}")

    @classmethod
    def fit(cls, gaps: Floats, *, most: int = 20_000) -> Self:
        """Maximise the exact likelihood Π exp((Q − Λ)g) Λ, by simplex search in logarithms.

        Of longer logs ``most`` gaps in a row are taken from the middle.
        """
        from scipy.optimize import minimize

        from onega.kernels.models.mmpp import log_likelihood

        begin = max((gaps.size - most) // 2, 0)
        part = np.ascontiguousarray(gaps[begin : begin + most])
        mean = part.mean()
        middle = max(float(np.median(part)), 1e-3 * mean)
        start = np.log([1 / middle, 0.5 / mean, 0.2 / mean, 0.1 / mean])

        def cost(logs: Floats) -> float:
            p = np.exp(np.clip(logs, -40, 5))
            return -float(log_likelihood(part, p[:2], p[2:]))

        answer = minimize(
            cost, start, method="Nelder-Mead", options={"maxfev": 600, "xatol": 1e-3, "fatol": 1e-2}
        )
        p = np.exp(np.clip(answer.x, -40, 5))
        order = np.argsort(-p[:2])
        return cls(p[:2][order], p[2:][order])

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n gaps."""
        from onega.kernels.models.mmpp import draw_gaps

        return np.asarray(draw_gaps(n, self.rates, self.leave, rng))


GAPS: dict[str, type[Gaps]] = {
    cls.KIND: cls
    for cls in (
        Poisson,
        GammaGaps,
        WeibullGaps,
        HyperExponentialGaps,
        LogGammaGaps,
        GapChain,
        MarkovModulated,
    )
}
"""Names accepted as ``arrivals=``."""


@dataclass(frozen=True, eq=False)
class Arrivals(Part):
    """A process of gaps under a daily cycle (or none).

    ``gaps`` is None in models that draw the gaps together with the jobs.
    """

    KIND: ClassVar[str] = "arrivals"
    gaps: Gaps | None
    cycle: Cycle | None = None

    @classmethod
    def fit(
        cls, clock: Floats, *, gaps: str | None = "chain", cycle: str | None = "polynomial"
    ) -> Arrivals:
        """Learn from submission times.

        Parameters
        ----------
        clock
            Submissions, ascending, in seconds after a Monday's midnight.
        gaps
            One of `GAPS`, or None to learn the cycle only.
        cycle
            One of `cycles.CYCLES`, or None (``"none"``) for no cycle. A log shorter
            than two days has no cycle to show and gets none.
        """
        if gaps is not None and gaps not in GAPS:
            raise ModelError(f"no arrivals {gaps!r}; {suggest(gaps, GAPS)}")
        if cycle not in (None, "none", *CYCLES):
            raise ModelError(f"no cycle {cycle!r}; {suggest(str(cycle), [*CYCLES, 'none'])}")
        times = np.asarray(clock, dtype=np.float64)
        if times.size < 2 or times[-1] <= times[0]:
            raise ModelError("arrivals need at least two different submission times")
        over = None
        if cycle not in (None, "none") and times[-1] - times[0] >= 2 * 86400:
            over = CYCLES[str(cycle)].fit(times)
        bare = cls(None, over)
        if gaps is None:
            return bare
        return cls(GAPS[gaps].fit(bare.operational_gaps(times)[1:]), over)

    def operational_gaps(self, clock: Floats) -> Floats:
        """Gaps before each job in seconds of operational time; the first job's is the mean."""
        times = clock if self.cycle is None else self.cycle.operational(clock)
        stamped = bool(np.all(clock == np.rint(clock)))
        gaps = np.maximum(np.diff(times), SHORTEST if stamped else SHORTEST / 1000)
        return np.concatenate(([gaps.mean()], gaps))

    def submissions(self, gaps: Floats, *, start: float, span: float | None = None) -> Floats:
        """Turn gaps into submissions on the clock, the first one gap after ``start``.

        Parameters
        ----------
        gaps
            Seconds of operational time.
        start
            Seconds after a Monday's midnight.
        span
            If given, the gaps after the first are stretched alike so that the last job comes
            ``span`` seconds after the first; the cycle stays. One job alone has no span.
        """
        elapsed = np.cumsum(gaps)
        if span is not None and elapsed[-1] > elapsed[0]:
            first = self._on_clock(elapsed[:1], start)
            length = self._on_operational(first + span) - self._on_operational(first)
            elapsed = elapsed[0] + (elapsed - elapsed[0]) * (length / (elapsed[-1] - elapsed[0]))
        return self._on_clock(elapsed, start)

    def _on_operational(self, clock: Floats) -> Floats:
        return clock if self.cycle is None else self.cycle.operational(clock)

    def _on_clock(self, elapsed: Floats, start: float) -> Floats:
        if self.cycle is None:
            return start + elapsed
        return self.cycle.clock(float(self.cycle.operational(start)) + elapsed)


def _positive(kind: str, **values: Any) -> None:  # noqa: ANN401
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{kind}: {name} must be positive, got {value}")

"""Jann's model: hyper-Erlang laws of common order, by three moments, per range of widths.

J. Jann, P. Pattnaik, H. Franke, F. Wang, J. Skovira, J. Riordan, *Modeling of workload in MPPs*,
JSSPP 1997. Every range of widths (1, 2, 3–4, 5–8, …) has its own law of run times and its own
stream of submissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.arrivals.arrivals import SHORTEST
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import Observed, categorical
from onega.models.parts import Part

HIGHEST_ORDER = 50


@dataclass(frozen=True, eq=False)
class HyperErlang(Part):
    """A mixture of two Erlang laws of one order.

    f(t) = Σ pᵢ λᵢ (λᵢ t)^(n−1) e^(−λᵢ t) / (n−1)!; its k-th moment is
    n(n+1)…(n+k−1) · Σ pᵢ λᵢ^(−k).
    """

    KIND: ClassVar[str] = "hyper-erlang"
    order: int
    share: float
    rate1: float
    rate2: float

    def _check(self) -> None:
        if self.order < 1 or not 0 <= self.share <= 1 or min(self.rate1, self.rate2) <= 0:
            raise ModelError(
                "hyper-erlang: order ≥ 1, share in [0, 1] and positive rates are needed"
            )

    @classmethod
    def of_moments(cls, first: float, second: float, third: float) -> HyperErlang:
        """Match three moments with the smallest order that can.

        With m_k = μ_k / (n(n+1)…(n+k−1)) a law on two points x = 1/λ has to be found whose moments
        are m₁, m₂, m₃: x² − s x + q = 0 with s = (m₃ − m₁m₂)/(m₂ − m₁²) and
        q = (m₁m₃ − m₂²)/(m₂ − m₁²). It needs m₂ > m₁² and q > 0. A law more even than order
        `HIGHEST_ORDER` allows is taken as that Erlang law with the right mean.
        """
        for order in range(1, HIGHEST_ORDER + 1):
            m1 = first / order
            m2 = second / (order * (order + 1))
            m3 = third / (order * (order + 1) * (order + 2))
            spread = m2 - m1 * m1
            if spread <= 1e-9 * m1 * m1:
                continue
            s, q = (m3 - m1 * m2) / spread, (m1 * m3 - m2 * m2) / spread
            root = s * s - 4 * q
            if q <= 0 or root <= 0 or s <= 0:
                continue
            high = (s + np.sqrt(root)) / 2
            low = q / high
            share = (high - m1) / (high - low)
            if low > 0 and 0 <= share <= 1:
                return cls(order, float(share), float(1 / low), float(1 / high))
        rate = HIGHEST_ORDER / first
        return cls(HIGHEST_ORDER, 1.0, rate, rate)

    @classmethod
    def fit(cls, values: Floats) -> HyperErlang:
        """Match the first three moments of a sample."""
        x = np.asarray(values, dtype=np.float64)
        return cls.of_moments(*(float(np.mean(x**k)) for k in (1, 2, 3)))

    @property
    def mean(self) -> float:
        """The law's mean."""
        return self.order * (self.share / self.rate1 + (1 - self.share) / self.rate2)

    def draw(self, n: int, rng: Generator) -> Floats:
        """Draw n values."""
        rate = np.where(rng.random(n) < self.share, self.rate1, self.rate2)
        return rng.gamma(self.order, 1.0, n) / rate


@dataclass(frozen=True, eq=False)
class WidthRange(Part):
    """One range of widths: its widths, run times, and gaps between its own submissions."""

    KIND: ClassVar[str] = "width-range"
    procs: Observed
    runtime: HyperErlang
    gap: HyperErlang
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Jann(WorkloadModel):
    """Hyper-Erlang run times and gaps, by moments, for every range of widths.

    With arrivals of its own (the default) the ranges' streams are laid over each other; with other
    arrivals each job's range is drawn by its share.
    """

    KIND: ClassVar[str] = "jann"
    TITLE: ClassVar[str] = "Jann et al. 1997"
    OWN_GAPS: ClassVar[bool] = True
    ranges: tuple[WidthRange, ...]

    def _check(self) -> None:
        if not self.ranges:
            raise ModelError("jann: at least one range of widths is needed")

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator) -> dict[str, Any]:
        # 1, 2, 3–4, 5–8, 9–16 …: the exponent of the next power of two.
        place = np.frexp(jobs.procs - 0.5)[1]
        when = np.cumsum(jobs.gaps)
        total = when[-1]
        ranges = []
        for k in np.unique(place):
            inside = place == k
            count = int(inside.sum())
            if count < 10:  # moments of a handful say nothing: an even stream at their rate
                gap = HyperErlang(1, 1.0, count / total, count / total)
            else:
                gap = HyperErlang.fit(np.maximum(np.diff(when[inside]), SHORTEST))
            procs = Observed.of(jobs.procs[inside], most=None)
            law = HyperErlang.fit(jobs.runtime[inside])
            ranges.append(WidthRange(procs, law, gap, count / len(jobs)))
        return {"ranges": tuple(ranges)}

    def _draw(self, n: int, rng: Generator) -> Drawn:
        own = self.arrivals.gaps is None
        gaps = None
        if own:
            place, gaps = self._streams(n, rng)
        else:
            place = categorical([one.share for one in self.ranges], rng.random(n))
        procs, runtime = np.empty(n), np.empty(n)
        for k, one in enumerate(self.ranges):
            inside = np.flatnonzero(place == k)
            procs[inside] = one.procs.draw(rng.random(inside.size))
            runtime[inside] = one.runtime.draw(inside.size, rng)
        return Drawn(procs, np.maximum(runtime, 1.0), gaps)

    def _streams(self, n: int, rng: Generator) -> tuple[np.ndarray, Floats]:
        """Lay the ranges' streams over each other and take the first n jobs."""
        rates = np.array([1 / one.gap.mean for one in self.ranges])
        horizon = n / rates.sum()
        while True:
            horizon *= 1.05
            streams = [_renewals(one.gap, horizon, rng) for one in self.ranges]
            if sum(stream.size for stream in streams) >= n:
                break
        times = np.concatenate(streams)
        place = np.repeat(np.arange(len(streams)), [stream.size for stream in streams])
        order = np.argsort(times, kind="stable")[:n]
        return place[order], np.diff(times[order], prepend=0.0)


def _renewals(law: HyperErlang, horizon: float, rng: Generator) -> Floats:
    """Draw the times of one stream up to the horizon."""
    pieces: list[Floats] = []
    now = 0.0
    while now < horizon:
        count = int((horizon - now) / law.mean * 1.1) + 20
        times = now + np.cumsum(law.draw(count, rng))
        pieces.append(times)
        now = float(times[-1])
    joined = np.concatenate(pieces)
    within: Floats = joined[joined <= horizon]
    return within

"""Feitelson's 1996 model: harmonic widths with favourite numbers, and repeated runs.

D. G. Feitelson, *Packing schemes for gang scheduling*, JSSPP 1996: small widths and powers of two
are common (a harmonic law with emphasis), run times are hyper-exponential with more long jobs among
the wide, and a job is run several times over, r times with probability ∝ r^(−2.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import categorical
from onega.models.jobs.mixtures import em, gather, line
from onega.models.parts import Shapes

EMPHASIS = ("serial", "powers of two", "multiples of ten", "squares", "the whole machine")
LONGEST_RUN = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class Feitelson96(WorkloadModel):
    """Harmonic widths, two-stage hyper-exponential run times, repeated runs.

    Attributes
    ----------
    order
        P(n) ∝ n^(−order), times the emphasis; the paper has 1.5.
    emphasis
        Factors for serial jobs, powers of two, multiples of ten, squares and the whole machine.
        The defaults, like those of ``short`` and ``long``, are round numbers for a first look, not
        the paper's: fit a log for anything else.
    short, long
        Mean run times (seconds) of the two kinds of jobs.
    slope, level
        Share of short jobs: slope · width + level, kept in [0, 1]; the paper has
        0.95 − 0.2 · width / machine.
    repeat
        A job is run r times with probability ∝ r^(−repeat); the paper has 2.5.
    unit
        Widths are multiples of it (LANL's smallest partition has 32 processors); the harmonic law
        and the favourite numbers count units.
    adjacent, apart
        The next run of a job is the very next submission with probability ``adjacent``; else other
        people's jobs come between, ``apart`` of them on average.
    """

    KIND: ClassVar[str] = "feitelson96"
    TITLE: ClassVar[str] = "Feitelson 1996"
    SHAPES: ClassVar[Shapes] = {"emphasis": (len(EMPHASIS),)}
    order: float = 1.5
    emphasis: Floats = field(default_factory=lambda: np.array([1.0, 4.0, 1.0, 1.0, 1.0]))
    short: float = 57.0
    long: float = 7200.0
    slope: float = -0.2 / 128
    level: float = 0.95
    repeat: float = 2.5
    adjacent: float = 0.0
    apart: float = 10.0
    unit: int = 1

    def _check(self) -> None:
        if np.any(self.emphasis <= 0) or min(self.short, self.long) <= 0:
            raise ModelError("feitelson96: emphasis and mean run times must be positive")
        if self.unit < 1:
            raise ModelError(f"feitelson96: unit must be at least 1, got {self.unit}")
        if self.repeat <= 1:
            raise ModelError(f"feitelson96: repeat must exceed 1, got {self.repeat}")

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator) -> dict[str, Any]:
        procs = jobs.procs.astype(np.int64)
        unit = int(np.gcd.reduce(procs))
        order, emphasis = _fit_widths(procs // unit, max(jobs.machine // unit, 1))
        # EM over run times in steps of 1 % is as good and far quicker.
        logs, width, weight = gather(np.log(jobs.runtime), jobs.procs, 0.01)
        values = np.exp(logs)
        start = ((float(np.quantile(jobs.runtime, 0.3)),), (float(jobs.runtime.mean()) * 2,))
        first, second, slope, level = em(
            values, width, weight, start=start, density=_exponential, update=_mean
        )
        repeat, adjacent, apart = _fit_repeats(jobs)
        return {
            "order": order,
            "emphasis": emphasis,
            "short": first[0],
            "long": second[0],
            "slope": slope,
            "level": level,
            "repeat": repeat,
            "adjacent": adjacent,
            "apart": apart,
            "unit": unit,
        }

    def _draw(self, n: int, rng: Generator) -> Drawn:
        by_length = np.arange(1, LONGEST_RUN + 1) ** (-self.repeat)
        runs = 1 + categorical(by_length, rng.random(n))
        first = np.concatenate(([0], np.cumsum(runs)))
        different = int(np.searchsorted(first, n))
        most = max(self.machine // self.unit, 1)
        widths = np.arange(1, most + 1)
        weights = _harmonic(widths, most, self.order, self.emphasis)
        chosen = categorical(weights, rng.random(different))
        procs = (widths[chosen] * self.unit).astype(np.float64)
        quick = rng.random(different) < line(procs, self.slope, self.level)
        runtime = rng.exponential(1.0, different) * np.where(quick, self.short, self.long)
        which = np.repeat(np.arange(different), runs[:different])
        which = which[np.argsort(self._places(which, rng), kind="stable")][:n]
        return Drawn(procs[which], np.maximum(runtime, 1.0)[which])

    def _places(self, which: npt.NDArray[np.int64], rng: Generator) -> Floats:
        """Where each run stands in the stream: after the run before it, near or far."""
        size = which.size
        far = rng.random(size) >= self.adjacent
        steps = np.where(far, 1 + rng.exponential(self.apart, size), 1e-6)
        begins = np.concatenate(([True], which[1:] != which[:-1]))
        steps[begins] = 0.0
        walked = np.cumsum(steps)
        first = np.flatnonzero(begins)
        offset = walked - np.repeat(walked[first], np.diff(np.append(first, size)))
        places: Floats = np.repeat(first, np.diff(np.append(first, size))) + offset
        return places


def _features(widths: npt.NDArray[np.int64], machine: int) -> Floats:
    roots = np.rint(np.sqrt(widths))
    marks = (
        widths == 1,
        (widths & (widths - 1) == 0) & (widths > 1),
        widths % 10 == 0,
        (roots * roots == widths) & (widths & (widths - 1) != 0),
        widths == machine,
    )
    return np.column_stack(marks).astype(np.float64)


def _harmonic(
    widths: npt.NDArray[np.int64], machine: int, order: float, emphasis: Floats
) -> Floats:
    marks = _features(widths, machine)
    favour = np.exp(marks @ np.log(emphasis))
    return np.asarray(widths ** (-order) * favour, dtype=np.float64)


def _fit_widths(procs: npt.NDArray[np.int64], machine: int) -> tuple[float, Floats]:
    """Maximum likelihood of the log-linear law; its likelihood is concave."""
    from scipy.optimize import minimize

    widths = np.arange(1, machine + 1)
    counts = np.bincount(procs, minlength=machine + 1)[1:].astype(np.float64)
    basis = np.column_stack((-np.log(widths), _features(widths, machine)))
    target = counts @ basis / counts.sum()

    def cost(c: Floats) -> tuple[float, Floats]:
        logs = basis @ c
        top = logs.max()
        weights = np.exp(logs - top)
        total = weights.sum()
        gradient = weights @ basis / total - target
        # A little ridge: an emphasis on widths that no job has would run away.
        return float(top + np.log(total) - target @ c + 1e-5 * c @ c), gradient + 2e-5 * c

    start = np.zeros(basis.shape[1])
    start[0] = 1.0
    found = minimize(cost, start, jac=True, method="L-BFGS-B")
    return float(found.x[0]), np.exp(np.clip(found.x[1:], -20, 20))


def _fit_repeats(jobs: Jobs) -> tuple[float, float, float]:
    """Maximum likelihood of P(r) ∝ r^(−repeat) for runs of one width of one user, and spacing.

    Without users, runs in the whole log are taken: other people's jobs interrupt them.
    """
    from scipy.optimize import minimize_scalar

    order = np.argsort(jobs.user, kind="stable") if jobs.has_users else np.arange(len(jobs))
    key = np.column_stack((jobs.user[order], jobs.procs[order]))
    starts = np.flatnonzero(np.concatenate(([True], np.any(key[1:] != key[:-1], axis=1))))
    lengths = np.minimum(np.diff(np.append(starts, len(jobs))), LONGEST_RUN)
    mean_log = float(np.mean(np.log(lengths)))
    runs = np.arange(1, LONGEST_RUN + 1)

    def cost(exponent: float) -> float:
        return exponent * mean_log + float(np.log(np.sum(runs ** (-exponent))))

    exponent = float(minimize_scalar(cost, bounds=(1.01, 6.0), method="bounded").x)
    inner = np.ones(len(jobs), dtype=np.bool_)
    inner[starts] = False
    between = np.minimum(np.diff(order, prepend=0)[inner] - 1, LONGEST_RUN)
    adjacent = float(np.mean(between == 0)) if between.size else 0.0
    apart = float(between[between > 0].mean()) if np.any(between > 0) else 10.0
    return exponent, adjacent, apart


def _exponential(x: Floats, parameters: tuple[float, ...]) -> Floats:
    (mean,) = parameters
    return np.exp(-x / mean) / mean


def _mean(x: Floats, weight: Floats) -> tuple[float, ...]:
    return (max(float(np.average(x, weights=weight)) if weight.sum() > 0 else 1.0, 1e-3),)

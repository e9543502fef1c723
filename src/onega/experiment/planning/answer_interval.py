"""How far the answer of a search can be trusted: another seed draws other workloads.

**Resamples of a log.** Workload k needs at least m_k processors. The answer at confidence γ is the
γ-quantile of the m_k, estimated by the ⌈γn⌉-th of n. How many of the n lie at or below the true
quantile is binomial, K ~ B(n, γ), so it is between the l-th and the u-th of them with probability
at least P(l ≤ K < u), whatever their distribution (David and Nagaraja 2003, §7.1). 40 resamples
tell the 95 % quantile with 82 %; more replicates make it surer.

**Draws from a model.** The expected value reaches the limit somewhere between the place where
its one-sided bound from below does and the one where that from above does, the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onega.experiment.planning.search import find_boundary

if TYPE_CHECKING:
    from collections.abc import Callable

    from onega.experiment.planning.axes import Axis
    from onega.experiment.planning.trials import Trial, Trials

LEVEL: Final = 0.9
"""Of the interval, where there are replicates enough for it."""

FINEST: Final = 0.01
"""Part of a place's size to which the interval's ends are told."""

STRIDES: Final = (1.02, 1.05, 1.1, 1.25)
"""How far steps away from the answer go: it is near."""


@dataclass(frozen=True, slots=True)
class AnswerInterval:
    """Between which values the answer is, and how surely; an end that is open is None."""

    low: int | float | None
    high: int | float | None
    level: float


def order_statistics(n: int, confidence: float) -> tuple[int, int, float]:
    """Return l, u and P(l ≤ K < u) for K ~ B(n, confidence); u is n if fewer won't do.

    Examples
    --------
    >>> order_statistics(40, 0.95)
    (36, 40, 0.823...)
    """
    from scipy.special import bdtr

    tail = (1 - LEVEL) / 2
    low = max(k for k in range(1, n + 1) if k == 1 or bdtr(k - 1, n, confidence) <= tail)
    high = next((k for k in range(low + 1, n) if 1 - bdtr(k - 1, n, confidence) <= tail), n)
    covered = float(bdtr(high - 1, n, confidence) - bdtr(low - 1, n, confidence))
    return low, high, covered


def answer_interval(
    trials: Trials, axis: Axis, answer: int, run: Callable[[int, float | None], Trial]
) -> AnswerInterval | None:
    """Return the interval of the place that a search found; None if one log decided alone.

    ``run`` tries a place, stopping after so many failures.
    """
    if trials.rule == "value":
        return None
    if trials.rule == "student":
        allowed = 1 - trials.confidence
        worse = _edge(axis, answer, lambda place: run(place, None).searched >= allowed)
        return _between(axis, worse, answer, 2 * trials.confidence - 1)
    low, high, level = order_statistics(trials.n, trials.confidence)

    def holds_in(place: int, number: int) -> bool:
        trial = run(place, trials.n - low)
        return trial.replicates == trials.n and round(trial.searched * trials.n) >= number

    worse = _edge(axis, answer, lambda place: holds_in(place, low))
    better = _edge(axis, answer, lambda place: holds_in(place, high))
    return _between(axis, worse, better, level)


def _edge(axis: Axis, answer: int, meets: Callable[[int], bool]) -> int | None:
    """Return the place nearest to the worst that meets a condition, looking near the answer."""
    found = find_boundary(
        meets,
        answer,
        worst=axis.worst,
        best=axis.best,
        finest=max(FINEST, axis.finest),
        strides=STRIDES,
        # More of the same changes nothing where twice as much doesn't.
        hopeless=lambda place: max(place, answer) > 2 * min(place, answer),
    )
    return found.met


def _between(axis: Axis, worse: int | None, better: int | None, level: float) -> AnswerInterval:
    ends = [None if place is None else axis.value(place) for place in (worse, better)]
    low, high = reversed(ends) if axis.vary == "load" else ends
    return AnswerInterval(low, high, level)

"""The system of `onega.queueing.limits`, simulated: a witness for the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onega.core.errors import QueueingError
from onega.core.intervals import Interval, mean_interval
from onega.core.renamed import renamed
from onega.core.rng import Rng, child, generator, seed_sequence
from onega.core.types import Floats
from onega.queueing.limits.limits import Limits


@dataclass(frozen=True)
class Measured:
    """A simulated quantity: one value per replicate."""

    values: Floats

    @property
    def value(self) -> float:
        """The mean over replicates."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Its standard error."""
        return float(self.values.std(ddof=1)) / math.sqrt(self.values.size)

    @renamed(level="confidence")
    def interval(self, confidence: float = 0.95) -> Interval:
        """Student's interval."""
        return mean_interval(self.values, confidence=confidence)

    def distance(self, expected: float) -> float:
        """Return how many standard errors lie between the simulated value and a formula's."""
        if self.error == 0:
            return 0.0 if self.value == expected else math.inf
        return (self.value - expected) / self.error


def simulate_limits(
    model: Limits, *, requests: int = 20_000, replicates: int = 20, rng: Rng = None
) -> dict[str, Measured]:
    """Simulate requests, tasks and limits one by one.

    Returns ``mean_busy``, ``var_busy``, ``p_serv`` and ``p_0``, ``p_1``, … (for each listed state
    with a probability above 1 %). Each replicate starts empty and drops a warm-up of ten mean
    service times.
    """
    if requests < 100 or replicates < 2:
        raise QueueingError("a simulation needs at least 100 requests and 2 replicates")
    states = np.flatnonzero(model.probabilities > 0.01)
    seed = seed_sequence(rng)
    rows = [_one_run(model, requests, states, generator(child(seed, k))) for k in range(replicates)]
    names = ["mean_busy", "var_busy", "p_serv", *(f"p_{n}" for n in states)]
    return {name: Measured(values) for name, values in zip(names, np.array(rows).T)}


def _one_run(
    model: Limits, requests: int, states: npt.NDArray[np.int64], rng: np.random.Generator
) -> list[float]:
    arrival = np.cumsum(rng.exponential(1 / model.arrival_rate, requests))
    width = rng.choice(model.widths.values, requests, p=model.widths.probs)
    begin = np.repeat(arrival, width)
    first = np.concatenate([[0], np.cumsum(width)[:-1]])
    own = rng.exponential(1 / model.service_rate, begin.size)
    if model.shared:
        cut = np.repeat(model.limit.draw(requests, rng), width)
    else:
        cut = model.limit.draw(begin.size, rng)
    served = np.logical_and.reduceat(own < cut, first)
    end = begin + np.minimum(own, cut)
    warm = min(10 / model.service_rate, 0.5 * float(arrival[-1]))
    times = np.concatenate([begin, end])
    step = np.concatenate([np.ones(begin.size), -np.ones(end.size)])
    order = np.argsort(times, kind="stable")
    times, busy = times[order], np.cumsum(step[order])
    inside = (times >= warm) & (times < arrival[-1])
    spent = np.diff(times, append=times[-1])[inside]
    busy = busy[inside]
    total = float(spent.sum())
    mean = float(np.dot(busy, spent)) / total
    # The known mean, not the run's own, keeps the variance unbiased.
    variance = float(np.dot((busy - model.mean_busy) ** 2, spent)) / total
    at = [float(spent[busy == n].sum()) / total for n in states]
    return [mean, variance, float(served.mean()), *at]

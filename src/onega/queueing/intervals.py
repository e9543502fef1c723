"""Confidence levels, and intervals of means of jobs that depend on each other."""

from __future__ import annotations

import math
from typing import Final

from onega.core.errors import QueueingError
from onega.core.intervals import batch_means
from onega.core.types import Floats

BATCHES: Final = 40
"""Batches of consecutive values; each is long enough to be nearly independent of the next."""


def check_confidence(confidence: float) -> float:
    """Refuse a level outside (0, 1)."""
    if not 0 < confidence < 1:
        raise QueueingError(
            f"the confidence level must lie between 0 and 1, 0.95 say; got {confidence}"
        )
    return float(confidence)


def normal_quantile(confidence: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + check_confidence(confidence) / 2)


def factor_interval(value: float, influence: Floats, confidence: float) -> tuple[float, float]:
    """Return the interval of a positive value, from each job's influence on its logarithm."""
    reach = math.exp(batch_half_width(influence, confidence))
    return value / reach, value * reach


def batch_half_width(influence: Floats, confidence: float) -> float:
    """Half-width of the interval of a mean, by means of consecutive batches.

    Values that follow each other may depend on each other (users submit alike jobs in a row);
    batches of them depend far less. NaN for fewer than four values.
    """
    number = min(BATCHES, influence.size // 2)
    if number < 2:
        return math.nan
    return batch_means(
        influence, batches=number, confidence=check_confidence(confidence)
    ).half_width

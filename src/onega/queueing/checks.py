"""How far a log is from what a formula assumes: each assumption with a measure and a named test.

An assumption *holds* if the data are near it by a measure of their own (so that a formula that is
built on it can be taken at its word) and a test doesn't reject it at the level `LEVEL`. A log of a
few dozen jobs is near to nothing, a log of a million jobs fails every test: both are then measured
instead of calculated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from onega.core.types import Floats
from onega.core.units import percent
from onega.core.workload.chains import pair_counts
from onega.core.workload.report import Report
from onega.queueing.widths import Widths

LEVEL: Final = 0.01
"""An assumption is rejected if its test's p-value is below."""

NEEDED: Final = ("exponential_runtimes", "one_law", "independent_widths", "independent_runtimes")
"""What ρ = λ·C·E[S] < 1 needs. Poisson arrivals aren't among them: by the saturation rule of
Baccelli and Foss (1995) any stationary stream of arrivals has the same boundary."""

RUNTIME_CLASSES: Final = 5
"""Columns of the χ² table: fifths of the run times."""

LEAST_IN_CLASS: Final = 25
"""Jobs of a class of widths, so that five are expected in each cell."""


@dataclass(frozen=True)
class Check:
    """How far the data are from one assumption of a formula.

    Attributes
    ----------
    assumption
        Its short name: ``"poisson_arrivals"``.
    holds
        Whether the data are near enough to it for the formula to be taken at its word.
    measures
        The numbers behind.
    words
        One sentence.
    test, p_value
        The name of the statistical test, and its p-value; None where the data can't be tested.
    """

    assumption: str
    holds: bool
    measures: dict[str, float]
    words: str
    test: str | None = None
    p_value: float | None = None

    def summary(self) -> dict[str, Any]:
        """Return the numbers under keys that begin with the assumption."""
        found = {"holds": self.holds, "test": self.test, "p_value": self.p_value, **self.measures}
        return {f"{self.assumption}_{key}": value for key, value in found.items()}


@dataclass(frozen=True)
class Jobs:
    """The usable jobs of a log, in the order of submission."""

    gaps: Floats
    runtimes: Floats
    procs: npt.NDArray[np.int64]
    report: Report


def checks(jobs: Jobs, law: Widths) -> tuple[Check, ...]:
    """Compare a log with the assumptions of ρ = λ·C·E[S] < 1 (Rumyantsev 2014)."""
    return (
        exponential_check("poisson_arrivals", "gaps between submissions", jobs.gaps),
        exponential_check("exponential_runtimes", "run times", jobs.runtimes),
        _one_law(jobs),
        _independent_widths(jobs, law),
        _independent_runtimes(jobs),
    )


def exponential_check(name: str, what: str, values: Floats) -> Check:
    """Squared coefficient of variation (1 if exponential) and the distance sup|F − F_exp|."""
    mean = float(values.mean()) if values.size else 0.0
    if values.size < 2 or mean <= 0:
        return _untold(name, f"too few {what} to tell whether they are exponential")
    spread = float(values.var()) / mean**2
    ordered = np.sort(values)
    expected = -np.expm1(-ordered / mean)
    steps = np.arange(values.size + 1) / values.size
    distance = float(max(np.max(steps[1:] - expected), np.max(expected - steps[:-1])))
    p = lilliefors_p(distance, values.size)
    near = abs(math.log(max(spread, 1e-12))) < math.log(1.5) and distance < 0.05
    if near and p >= LEVEL:
        verdict = "close to exponential"
    elif spread > 1.5:
        verdict = "burstier than exponential" if "gaps" in what else "more varied than exponential"
    elif spread < 1 / 1.5:
        verdict = "more regular than exponential"
    else:
        verdict = "not exponential, though as varied"
    words = (
        f"the {what} are {verdict}: squared coefficient of variation {spread:.3g} "
        f"(exponential: 1), largest gap between the distribution functions {distance:.2f}, "
        f"Lilliefors' test {p_words(p)}"
    )
    measures = {"cv2": spread, "distance": distance}
    return Check(name, near and p >= LEVEL, measures, words, "Lilliefors", p)


def lilliefors_p(distance: float, count: int) -> float:
    """p-value of the largest distance from an exponential law whose mean was estimated.

    With T = (D − 0.2/n)(√n + 0.26 + 0.5/√n), the table of Stephens (1974) is met by
    p = exp(0.775 − 3.15·T²) to two digits from 15 % to 1 %.
    """
    root = math.sqrt(count)
    statistic = max(0.0, distance - 0.2 / count) * (root + 0.26 + 0.5 / root)
    return min(1.0, math.exp(0.775 - 3.15 * statistic**2))


def _one_law(jobs: Jobs) -> Check:
    """Compare the run times of wide and narrow jobs: E[N·S]/(E[N]·E[S]) is 1 for one law."""
    from scipy.stats import rankdata

    mean_width, mean_runtime = float(jobs.procs.mean()), float(jobs.runtimes.mean())
    ratio = float(np.mean(jobs.procs * jobs.runtimes)) / (mean_width * mean_runtime)
    correlation = _correlation(rankdata(jobs.procs), rankdata(jobs.runtimes))
    measures = {"work_ratio": ratio, "rank_correlation": correlation}
    near = abs(math.log(ratio)) < math.log(1.1) and abs(correlation) < 0.1
    p = _independence_p(jobs)
    holds = near and p is not None and p >= LEVEL
    trend = "longer" if ratio > 1 else "shorter"
    if holds:
        verdict = "run about as long as"
    elif near:
        verdict = "run otherwise than"
    else:
        verdict = f"run {trend} than"
    test = "too few jobs for a χ² test" if p is None else f"χ² test of independence {p_words(p)}"
    words = (
        f"wide jobs {verdict} narrow ones: the work per job is {ratio:.3g} times what equal laws "
        f"would give, rank correlation of width and run time {correlation:.2f}, {test}"
    )
    return Check("one_law", holds, measures, words, "chi-square of independence", p)


def _independence_p(jobs: Jobs) -> float | None:
    """Pearson's χ² test of widths × fifths of the run times; None if there are too few jobs."""
    from scipy.stats import chi2_contingency

    edges = np.quantile(jobs.runtimes, np.arange(1, RUNTIME_CLASSES) / RUNTIME_CLASSES)
    column = np.searchsorted(np.unique(edges), jobs.runtimes, side="left")
    values, place, counts = np.unique(jobs.procs, return_inverse=True, return_counts=True)
    if values.size == 1 or np.ptp(jobs.runtimes) == 0:
        return 1.0  # a constant is independent of everything
    row = _merged(counts)[place]
    table = pair_counts(row, column, (int(row.max()) + 1, int(column.max()) + 1))
    table = table[:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return None
    return float(chi2_contingency(table, correction=False).pvalue)


def _merged(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Give numbers to classes of neighbouring widths with at least `LEAST_IN_CLASS` jobs each."""
    number = np.zeros(counts.size, np.int64)
    current, filled = 0, 0
    for i, count in enumerate(counts):
        if filled >= LEAST_IN_CLASS:
            current, filled = current + 1, 0
        number[i] = current
        filled += int(count)
    if filled < LEAST_IN_CLASS and current > 0:
        number[number == current] = current - 1
    return number


def _independent_widths(jobs: Jobs, law: Widths) -> Check:
    """Compare how often a job has the width of the one before with chance.

    For independent widths the number of repeats in n jobs has the mean (n−1)·Σp² and the variance
    (n−1)(Σp² − (Σp²)²) + 2(n−2)(Σp³ − (Σp²)²).
    """
    count = jobs.procs.size
    if count < 2:
        return _untold("independent_widths", "too few jobs to tell whether widths repeat")
    repeats = float(np.mean(jobs.procs[1:] == jobs.procs[:-1]))
    chance, triple = float(np.sum(law.probs**2)), float(np.sum(law.probs**3))
    spread = (count - 1) * (chance - chance**2) + 2 * (count - 2) * (triple - chance**2)
    p = _normal_p((repeats - chance) * (count - 1) / math.sqrt(spread)) if spread > 1e-9 else 1.0
    words = (
        f"{percent(repeats)} of the jobs are as wide as the job before them, "
        f"by chance {percent(chance)} would be (normal test {p_words(p)})"
    )
    holds = abs(repeats - chance) < 0.05 and p >= LEVEL
    measures = {"repeats": repeats, "by_chance": chance}
    return Check("independent_widths", holds, measures, words, "normal, number of repeats", p)


def _independent_runtimes(jobs: Jobs) -> Check:
    """Correlate the rank of each run time with that of the one before: normal with sd 1/√n."""
    from scipy.stats import rankdata

    count = jobs.runtimes.size
    if count < 3:
        return _untold("independent_runtimes", "too few jobs to tell whether run times repeat")
    ranks = rankdata(jobs.runtimes)
    correlation = _correlation(ranks[1:], ranks[:-1])
    p = _normal_p(correlation * math.sqrt(count - 1))
    holds = abs(correlation) < 0.1 and p >= LEVEL
    words = (
        f"the rank correlation of a job's run time with that of the job before is "
        f"{correlation:.2f} (normal test {p_words(p)})"
    )
    measures = {"rank_correlation": correlation}
    return Check("independent_runtimes", holds, measures, words, "normal, rank correlation", p)


def p_words(p: float) -> str:
    """Write a p-value: ``p = 0.03``, ``p below 0.001``."""
    return "p below 0.001" if p < 0.001 else f"p = {p:.2g}"


def _normal_p(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


def _untold(name: str, words: str) -> Check:
    return Check(name, holds=False, measures={}, words=words)


def _correlation(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
